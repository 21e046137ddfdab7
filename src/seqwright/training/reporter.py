"""What a training says while it runs: to nobody, as plain lines, or as a progress bar."""

import sys
import time
from typing import Any, Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Reporter(Protocol):
    """Told of every step and every event of a training."""

    def begin(self, step: int, steps: int) -> None:
        """Training starts (or resumes) at `step` of `steps`."""

    def step(self, step: int, loss: float, speed: float) -> None:
        """A step is done; `speed` is in real tokens per second."""

    def wrote(self, line: dict[str, Any]) -> None:
        """A line was written to the journal."""

    def say(self, sentence: str) -> None:
        """Something worth a line."""

    def end(self) -> None:
        """Training is over."""


class Quiet:
    """Says nothing."""

    def begin(self, step: int, steps: int) -> None:
        """Nothing."""

    def step(self, step: int, loss: float, speed: float) -> None:
        """Nothing."""

    def wrote(self, line: dict[str, Any]) -> None:
        """Nothing."""

    def say(self, sentence: str) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


class LineReporter:
    """A plain line every few seconds: for logs and pipes."""

    def __init__(self, stream: TextIO | None = None, seconds: float = 10.0) -> None:
        self.stream = stream or sys.stderr
        self.seconds = seconds
        self.first = self.steps = 0
        self.began = self.spoken = time.monotonic()

    def begin(self, step: int, steps: int) -> None:
        """Remember where it starts, for the time left."""
        self.first, self.steps, self.began = step, steps, time.monotonic()

    def step(self, step: int, loss: float, speed: float) -> None:
        """A line, if the last one is some seconds old."""
        now = time.monotonic()
        if now - self.spoken >= self.seconds or step == self.steps:
            left = (now - self.began) / max(1, step - self.first) * max(0, self.steps - step)
            self.say(f"step {step}/{self.steps}  loss {loss:.3f}  {speed:,.0f} tokens/s  {_clock(left)} left")
            self.spoken = now

    def wrote(self, line: dict[str, Any]) -> None:
        """Nothing: it stands in the journal."""

    def say(self, sentence: str) -> None:
        """The sentence."""
        print(sentence, file=self.stream, flush=True)

    def end(self) -> None:
        """Nothing to close."""


class Bar:
    """A progress bar with loss, speed and time left."""

    def __init__(self, console: Console) -> None:
        self.progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TextColumn("loss {task.fields[loss]}"),
            TextColumn("{task.fields[speed]} tokens/s"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self.task: TaskID | None = None

    def begin(self, step: int, steps: int) -> None:
        """Draw the bar."""
        self.task = self.progress.add_task("train", total=steps, completed=step, loss="–", speed="–")
        self.progress.start()

    def step(self, step: int, loss: float, speed: float) -> None:
        """Move the bar."""
        assert self.task is not None
        self.progress.update(self.task, completed=step, loss=f"{loss:.3f}", speed=f"{speed:,.0f}")

    def wrote(self, line: dict[str, Any]) -> None:
        """Nothing: it stands in the journal."""

    def say(self, sentence: str) -> None:
        """A line above the bar."""
        self.progress.console.print(sentence, highlight=False, markup=False)

    def end(self) -> None:
        """Leave the bar as it is."""
        self.progress.stop()


class Both:
    """Two reporters told the same."""

    def __init__(self, one: Reporter, other: Reporter) -> None:
        self.each = (one, other)

    def begin(self, step: int, steps: int) -> None:
        """Tell both."""
        for reporter in self.each:
            reporter.begin(step, steps)

    def step(self, step: int, loss: float, speed: float) -> None:
        """Tell both."""
        for reporter in self.each:
            reporter.step(step, loss, speed)

    def wrote(self, line: dict[str, Any]) -> None:
        """Tell both."""
        for reporter in self.each:
            reporter.wrote(line)

    def say(self, sentence: str) -> None:
        """Tell both."""
        for reporter in self.each:
            reporter.say(sentence)

    def end(self) -> None:
        """Tell both."""
        for reporter in self.each:
            reporter.end()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"
