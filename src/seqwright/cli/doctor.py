"""`doctor`: what this machine has, and what is missing."""

import importlib.metadata
import os
import platform
import shutil
import sys
from pathlib import Path

from seqwright.busy_cores import Watched
from seqwright.cli.terminal import command, print_table
from seqwright.data.cards import cache_folder, card, located
from seqwright.errors import UserError

LIBRARIES = ("torch", "numpy", "tokenizers", "safetensors", "sacrebleu", "pydantic", "typer", "rich", "matplotlib")
MORE_LIBRARIES = ("Babel", "num2words", "filelock", "tomlkit")


def examine() -> None:
    """Print what was found; what would stop a training is marked."""
    from seqwright import __version__

    watched = Watched.now()
    rows = [
        ("seqwright", __version__, ""),
        ("python", platform.python_version(), "" if sys.version_info >= (3, 11) else "needs 3.11 or newer"),
        ("system", f"{platform.system()} {platform.machine()}", "use WSL" if sys.platform == "win32" else ""),
    ]
    rows += [_library(name) for name in (*LIBRARIES, *MORE_LIBRARIES)]
    rows += [_library("tensorboard", "'seqwright[tensorboard]'"), _ctranslate2()]
    rows += [_library(name, "'seqwright[onnx]'") for name in ("onnx", "onnxscript")]
    rows.append(_library("onnxruntime", "onnxruntime"))
    rows += [
        ("cores", str(os.cpu_count()), ""),
        ("memory", _memory(), ""),
        *_torch(watched),
        ("cache", f"{cache_folder()}", _room(cache_folder())),
        ("SEQWRIGHT_DATA", os.environ.get("SEQWRIGHT_DATA", "not set"), ""),
    ]
    multi30k = card("multi30k")
    here = all(located(multi30k, file) is not None for file in multi30k.files)
    remark = "" if here else command("data", "get", multi30k.name)
    rows.append((f"data {multi30k.name}", "here" if here else "not here", remark))
    print_table(("what", "found", "remark"), rows)


def _library(name: str, optional: str = "") -> tuple[str, str, str]:
    """A library and its version; one that is `optional` is a part of what pip installs under that name."""
    try:
        return name, importlib.metadata.version(name), ""
    except importlib.metadata.PackageNotFoundError:
        return name, "missing", f"optional: pip install {optional}" if optional else f"pip install {name}"


def _ctranslate2() -> tuple[str, str, str]:
    """Whether it is there, and what it computes with on this processor."""
    name, found, remark = _library("ctranslate2", "'seqwright[ctranslate2]'")
    if remark:
        return name, found, remark
    try:
        from seqwright.interchange.ctranslate2 import ctranslate2_library

        known = ctranslate2_library().get_supported_compute_types("cpu")
    except (UserError, ImportError, OSError) as error:
        return name, "cannot be loaded", str(error)
    return name, found, f"--engine ctranslate2: {', '.join(sorted({'float32', 'int8', 'bfloat16'} & known))}"


def _memory() -> str:
    try:
        pages, free = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_AVPHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return "unknown"
    size = os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{pages * size:.1f} GiB, {free * size:.1f} GiB free"


def _torch(watched: Watched) -> list[tuple[str, str, str]]:
    """What torch says of the machine, or why it cannot."""
    try:
        import torch

        from seqwright.devices import computes_bfloat16, cores
    except (ImportError, OSError) as error:
        return [("torch", "cannot be loaded", str(error))]
    gpu = torch.cuda.is_available()
    bfloat16 = computes_bfloat16(torch.device("cuda" if gpu else "cpu"))
    threads = torch.get_num_threads()
    crowded = " ".join(watched.remarks(threads, cores()))
    device = torch.cuda.get_device_name() if gpu else "Apple GPU" if torch.backends.mps.is_available() else "CPU"
    return [
        ("torch threads", str(threads), crowded or "set training.threads or OMP_NUM_THREADS to change it"),
        ("device", device, ""),
        ("bfloat16", "yes" if bfloat16 else "no", "training.precision = 'bfloat16' pays off" if bfloat16 else ""),
    ]


def _room(folder: Path) -> str:
    while not folder.exists():
        folder = folder.parent
    return f"{shutil.disk_usage(folder).free / 2**30:.1f} GiB free on its disk"
