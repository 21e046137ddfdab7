"""Contestants of the bench that are known to the last turn, for processes that tests start."""

import os
import time
from pathlib import Path
from typing import Any

from benchmarks.speed.worker import Turns, Work

BUSY = 0.05  # seconds of the processor in a turn


def busy(name: str, amount: float, settings: dict[str, Any]) -> Work:
    """So much work in a fixed time, noted in a file."""
    with Path(settings["diary"]).open("a", encoding="utf-8") as file:
        file.write(f"{name}\n")
    end = time.process_time() + BUSY
    while time.process_time() < end:
        pass
    return Work(amount, [name])


def slow(settings: dict[str, Any]) -> Turns:
    """Two units in a turn; also what nobody else does."""
    print("ready or not")  # what a library might say
    return {"work": lambda: busy("slow", 2, settings), "alone": lambda: Work(1)}


def fast(settings: dict[str, Any]) -> Turns:
    """Six units in the same time."""
    return {"work": lambda: busy("fast", 6, settings)}


def broken(settings: dict[str, Any]) -> Turns:
    """Not ready."""
    raise ValueError("no such model\nand more")


def tired(settings: dict[str, Any]) -> Turns:
    """Ends in its first turn."""
    return {"work": lambda: os._exit(3)}
