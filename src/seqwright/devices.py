"""Where tensors are, and what is fast there."""

import copy
import ctypes
import importlib.util
import logging
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeVar

import torch
from torch import nn

from seqwright.errors import SettingError
from seqwright.layers.int8 import in_int8

Precision = Literal["float32", "int8", "bfloat16"]
ModuleT = TypeVar("ModuleT", bound=nn.Module)


def device_of(module: nn.Module) -> torch.device:
    """Where a module's tensors are; a module without any is at home on the CPU."""
    return next((tensor.device for tensor in module.state_dict().values()), torch.device("cpu"))


def seed_device(device: torch.device, seed: int) -> None:
    """Seed what draws on the CPU and on the device: `torch.manual_seed` asks every kind of it, and that takes time."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)
    elif device.type == "mps":
        torch.mps.manual_seed(seed)


@contextmanager
def drawn_from(seed: int) -> Iterator[None]:
    """What is drawn inside, on the CPU, follows from the seed; afterwards torch draws as if nothing had been."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def cores() -> int:
    """How many cores this process may use: fewer than there are where it was confined to some."""
    there = len(os.sched_getaffinity(0)) if sys.platform.startswith("linux") else os.cpu_count()
    return there or 1


def computes_bfloat16(device: torch.device) -> bool:
    """Whether the device has instructions for bfloat16: without them it would be slower than float32."""
    if device.type == "cpu":
        return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return device.type == "cuda" and torch.cuda.is_bf16_supported()


def in_precision(model: ModuleT, precision: Precision) -> ModuleT:
    """The model itself, or a copy whose weights are rounded to bfloat16, where the device has instructions for it.

    In int8 products are rounded, on x86 processors. A model that has counted instead of learnt has nothing to round.
    """
    if precision == "int8":
        _refuse_int8(model)
        return in_int8(model)
    if precision == "float32" or not computes_bfloat16(device_of(model)) or not any(True for _ in model.parameters()):
        return model
    return copy.deepcopy(model).bfloat16()


def compiles(device: torch.device) -> bool:
    """Whether `torch.compile` finds what it needs: Triton for a GPU, otherwise a C++ compiler, by default torch's."""
    if device.type == "cuda":
        return importlib.util.find_spec("triton") is not None
    return shutil.which(os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")) is not None


def compile_in_place(module: nn.Module, device: torch.device) -> None:
    """Compile a module that is about to be trained, where there is what that needs."""
    if not compiles(device):
        raise SettingError(
            "training.compile is true, but torch.compile needs a C++ compiler ($CXX or g++, for a GPU Triton), which "
            "this machine does not have; install one, or set training.compile=false"
        )
    logging.getLogger("torch._dynamo").setLevel(logging.ERROR)  # a count that is read ends a graph, which it tells
    module.compile(dynamic=True)


def computes_int8(device: torch.device) -> bool:
    """Whether the device has kernels for products in int8."""
    return device.type == "cpu" and not {"x86", "fbgemm"}.isdisjoint(torch.backends.quantized.supported_engines)


def _refuse_int8(model: nn.Module) -> None:
    """It is asked for by name, so that nothing else is computed in its place."""
    if not any(True for _ in model.parameters()):
        raise SettingError("int8 rounds what a model multiplies by, and this one has counted: use --precision float32")
    if not computes_int8(device_of(model)):
        raise SettingError("int8 is computed on x86 processors, and the model is elsewhere: use --precision float32")


def keep_freed_memory() -> bool:
    """Let the process keep the memory of freed tensors for the next ones; whether the C library could be told so.

    Left alone, glibc hands the pages of a large tensor back to the system, which has to clear them again for the
    next one: a fifth of the time of a training step or of a beam search on a CPU. Large tensors also get large pages,
    where the system gives them on demand and torch has made no tensor yet: reading weights takes a sixth less.
    """
    if not sys.platform.startswith("linux"):
        return False
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    try:
        told = ctypes.CDLL(None).mallopt
    except AttributeError:  # another C library
        return False
    mmap_threshold, trim_threshold, top_pad = -3, -1, -2  # the names of malloc.h, in lower case
    largest = {mmap_threshold: 1 << 30, trim_threshold: (1 << 31) - 1, top_pad: 1 << 26}
    return all(told(name, size) == 1 for name, size in largest.items())


def training_device(wanted: str) -> torch.device:
    """Where a recipe wants to compute: auto is the fastest that there is."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if wanted == "auto":
        wanted = next(name for name in ("cuda", "mps", "cpu") if there[name])
    if not there[wanted]:
        raise SettingError(f"training.device is '{wanted}', which this machine does not have; set it to auto or cpu")
    # Under torchrun each process of a machine has a GPU of its own.
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if wanted == "cuda" else torch.device(wanted)
