"""The journal as TensorBoard events, where the optional extra is installed."""

from pathlib import Path
from typing import Any

from seqwright.errors import SettingError
from seqwright.training.reporter import TOKENS, TRAIN


class TensorBoard:
    """A reporter that writes each number of the journal to `folder`."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise SettingError(
                "TensorBoard is not installed; pip install 'seqwright[tensorboard]', or train without --tensorboard"
            ) from error
        self.open: Any = SummaryWriter
        self.folder = str(folder)
        self.writer: Any = None
        self.after = 0

    def begin(self, step: int, steps: int, doing: str = TRAIN, unit: str = TOKENS) -> None:
        """Events after `step` will be forgotten as soon as there is one to write."""
        self.after = step

    def step(self, step: int, loss: float, speed: float) -> None:
        """Nothing: the journal has the means."""

    def wrote(self, line: dict[str, Any]) -> None:
        """Every number of the line, under the name of its event."""
        if self.writer is None:
            self.writer = self.open(self.folder, purge_step=self.after + 1)
        for name, value in line.items():
            if name not in {"step", "event"}:
                self.writer.add_scalar(f"{line['event']}/{name}", value, line["step"])
        self.writer.flush()

    def say(self, sentence: str) -> None:
        """Nothing."""

    def end(self) -> None:
        """Close the events."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None
