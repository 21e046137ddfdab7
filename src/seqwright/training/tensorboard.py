"""The journal as TensorBoard events, where the optional extra is installed."""

from pathlib import Path
from typing import Any

from seqwright.errors import SettingError


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

    def begin(self, step: int, steps: int) -> None:
        """Open the events, forgetting those after `step`."""
        self.writer = self.open(self.folder, purge_step=step + 1)

    def step(self, step: int, loss: float, speed: float) -> None:
        """Nothing: the journal has the means."""

    def wrote(self, line: dict[str, Any]) -> None:
        """Every number of the line, under the name of its event."""
        for name, value in line.items():
            if name not in {"step", "event"}:
                self.writer.add_scalar(f"{line['event']}/{name}", value, line["step"])
        self.writer.flush()

    def say(self, sentence: str) -> None:
        """Nothing."""

    def end(self) -> None:
        """Close the events."""
        self.writer.close()
