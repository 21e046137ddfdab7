"""Ctrl-C and SIGTERM: the first asks training to save and stop, the second stops at once."""

import signal
import threading
from types import FrameType
from typing import Any


class Interrupted(Exception):  # noqa: N818 - it is not an error: the user asked for it
    """Training was asked to stop and has saved at `step`; at 0 it had not begun, and has saved nothing."""

    def __init__(self, step: int) -> None:
        super().__init__(f"stopped at step {step}")
        self.step = step

    def told(self, again: str, where: str = "") -> str:
        """What became of the run, and how `again`, the same command or call, resumes it."""
        if not self.step:
            return f"stopped before the first step, and nothing is left behind; {again} starts over"
        return f"stopped and saved at step {self.step}{where}; {again} resumes from there"


class Interruption:
    """`with Interruption() as interruption: … if interruption.asked: save and stop`."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
