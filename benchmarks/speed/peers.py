"""The environments of the peers that several questions have, and what is common to reading them."""

import importlib
from pathlib import Path
from typing import Any

from benchmarks.speed.environments import Environment
from benchmarks.speed.harness import Settings

CTRANSLATE2 = Environment("ctranslate2", ("ctranslate2",))
TRANSFORMERS = Environment("transformers", ("transformers",))
ONNX = Environment("onnxruntime", ("transformers", "onnxruntime", "onnx", "onnxscript"))
KENLM = Environment("kenlm", ("ufal.kenlm",))
# JoeyNMT asks for an old protobuf, which what is shared does not have; without it, it runs.
JOEYNMT = Environment(
    "joeynmt",
    ("joeynmt==2.3.0", "importlib_metadata==8.5.0", "zipp==3.21.0", "sentencepiece==0.2.1", "subword_nmt==0.3.8"),
    whole=False,
)
NANOGPT_FILES = ("model.py", "train.py")


def without_nanogpt(settings: Settings) -> str | None:
    """Why nanoGPT is not measured, if it is not."""
    return None if settings["nanogpt"] else "not measured: it has no package; name a checkout with --nanogpt FOLDER"


def is_nanogpt(folder: Path) -> bool:
    """Whether a folder is a checkout of it."""
    return all((folder / name).is_file() for name in NANOGPT_FILES)


def package(name: str) -> Any:
    """A module of a peer, which only its environment has, so that nothing is known of its types here."""
    return importlib.import_module(name)
