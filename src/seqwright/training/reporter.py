"""What a training says while it runs: to nobody, as plain lines, or as a progress bar."""

import html
import sys
import time
from typing import Any, Protocol, TextIO, runtime_checkable

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

TRAIN = "train"  # what a reporter is told of, unless it is something else
TOKENS = "tokens"  # what speed counts, unless it is something else
WIDE = 72  # columns of a terminal: in fewer the bar itself makes room for the numbers


@runtime_checkable
class Reporter(Protocol):
    """Told of every step and every event of a training."""

    def begin(self, step: int, steps: int, doing: str = TRAIN, unit: str = TOKENS) -> None:
        """Training, or other work of so many steps, starts (or resumes) at `step` of `steps`."""

    def step(self, step: int, loss: float, speed: float) -> None:
        """A step is done; `speed` is in real tokens per second, or in what `begin` calls the unit."""

    def wrote(self, line: dict[str, Any]) -> None:
        """A line was written to the journal."""

    def say(self, sentence: str) -> None:
        """Something worth a line."""

    def end(self) -> None:
        """It is over."""


class Quiet:
    """Says nothing."""

    def begin(self, step: int, steps: int, doing: str = TRAIN, unit: str = TOKENS) -> None:
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
        self.doing, self.unit = "", TOKENS
        self.began = self.spoken = time.monotonic()

    def begin(self, step: int, steps: int, doing: str = TRAIN, unit: str = TOKENS) -> None:
        """Remember where it starts, for the time left."""
        self.first, self.steps, self.began = step, steps, time.monotonic()
        self.doing, self.unit = "" if doing == TRAIN else f"{doing}: ", unit

    def step(self, step: int, loss: float, speed: float) -> None:
        """A line, if the last one is some seconds old."""
        now = time.monotonic()
        if now - self.spoken >= self.seconds or step == self.steps:
            left = (now - self.began) / max(1, step - self.first) * max(0, self.steps - step)
            told = f"loss {loss:.3f}  {speed:,.0f} {self.unit}/s  {_clock(left)} left"
            self.say(f"{self.doing}step {step}/{self.steps}  {told}")
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
        drawn = (TextColumn("[bold]{task.description}"), BarColumn()) if console.width >= WIDE else ()
        self.progress = Progress(
            *drawn,
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TextColumn("loss {task.fields[loss]}"),
            TextColumn("{task.fields[speed]} {task.fields[unit]}/s"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self.task: TaskID | None = None

    def begin(self, step: int, steps: int, doing: str = TRAIN, unit: str = TOKENS) -> None:
        """Draw the bar."""
        if self.task is not None:  # of other work, whose bar stays above
            self.progress.remove_task(self.task)
        self.task = self.progress.add_task(doing, total=steps, completed=step, loss="–", speed="–", unit=unit)
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


class NotebookBar:
    """A progress bar in the output of a notebook's cell; every line said stands above it."""

    def __init__(self, seconds: float = 0.2) -> None:
        self.seconds = seconds
        self.said: list[str] = []
        self.at = self.steps = 0
        self.doing, self.told, self.unit = "", "", TOKENS
        self.drawn = 0.0
        self.handle: Any = None

    def _repr_html_(self) -> str:
        lines = "".join(f"<div>{html.escape(line)}</div>" for line in self.said)
        bar = f'<progress value="{self.at}" max="{self.steps}"></progress> {html.escape(self._line())}'
        return f"{lines}<div>{bar}</div>" if self.steps else lines

    def __repr__(self) -> str:
        return "\n".join([*self.said, *([self._line()] if self.steps else [])])

    def _line(self) -> str:
        return f"{self.doing}step {self.at:,}/{self.steps:,}{self.told}"

    def begin(self, step: int, steps: int, doing: str = TRAIN, unit: str = TOKENS) -> None:
        """Draw the bar."""
        self.at, self.steps, self.doing, self.told = step, steps, "" if doing == TRAIN else f"{doing}: ", ""
        self.unit = unit
        self._draw()

    def step(self, step: int, loss: float, speed: float) -> None:
        """Move the bar, some times a second."""
        self.at, self.told = step, f"  loss {loss:.3f}  {speed:,.0f} {self.unit}/s"
        if step == self.steps or time.monotonic() - self.drawn >= self.seconds:
            self._draw()

    def wrote(self, line: dict[str, Any]) -> None:
        """Nothing: it stands in the journal."""

    def say(self, sentence: str) -> None:
        """A line above the bar."""
        self.said.append(sentence)
        self._draw()

    def end(self) -> None:
        """Leave the bar as it is."""
        self._draw()

    def _draw(self) -> None:
        from IPython.display import display

        self.drawn = time.monotonic()
        if self.handle is None:
            self.handle = display(self, display_id=True)
        else:
            self.handle.update(self)


class Both:
    """Two reporters told the same."""

    def __init__(self, one: Reporter, other: Reporter) -> None:
        self.each = (one, other)

    def begin(self, step: int, steps: int, doing: str = TRAIN, unit: str = TOKENS) -> None:
        """Tell both."""
        for reporter in self.each:
            reporter.begin(step, steps, doing, unit)

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


class Counting(Both):
    """A reporter that is told what a training counts, where that is not tokens."""

    def __init__(self, reporter: Reporter, unit: str) -> None:
        super().__init__(reporter, Quiet())
        self.unit = unit

    def begin(self, step: int, steps: int, doing: str = TRAIN, unit: str = TOKENS) -> None:
        """Tell it."""
        self.each[0].begin(step, steps, doing, self.unit)


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this, which draws what it is given."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


def usual_reporter() -> Reporter:
    """A progress bar where somebody watches, in a notebook or a terminal, plain lines where not."""
    from seqwright.training.distributed import World

    if World.rank_here():
        return Quiet()
    if in_notebook():
        return NotebookBar()
    console = Console(stderr=True)
    return Bar(console) if console.is_terminal else LineReporter()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"
