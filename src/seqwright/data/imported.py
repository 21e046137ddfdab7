"""Where a model came from that was not trained here: data without a single example."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NoReturn

from seqwright.data.examples import PartName
from seqwright.errors import DataError
from seqwright.settings import Settings


class ArpaFileSettings(Settings):
    """An ARPA file that `seqwright import` made a run of; it holds a model and no text."""

    kind: Literal["arpa"] = "arpa"
    file: str
    """Its name."""
    sha256: str
    """The sha256 of its content."""


class ArpaFile:
    """A corpus (a `TextData`) of which nothing is known but the n-grams that were made of it."""

    def __init__(self, settings: ArpaFileSettings) -> None:
        self.settings = settings

    def parts(self) -> list[PartName]:
        """None: refused, whoever asks."""
        self._refuse()

    def examples(self, part: PartName) -> Iterator[str]:
        """Refused."""
        self._refuse()

    def fingerprint(self, part: PartName) -> str:
        """Refused."""
        self._refuse()

    def paths(self) -> list[Path]:
        """No file of the user's is read."""
        return []

    def _refuse(self) -> NoReturn:
        raise DataError(f"the model came from {self.settings.file}, which has no text in it; give some with --data")


class CheckpointSettings(Settings):
    """A checkpoint of `transformers` that `seqwright import` made a run of; it holds a model and no examples."""

    kind: Literal["text-checkpoint", "labelled-checkpoint", "tagged-checkpoint", "questions-checkpoint"]
    file: str
    """The name of its file or folder."""
    sha256: str
    """The sha256 of its weights."""


class Checkpoint:
    """Data of which nothing is known but the model that was made of it."""

    def __init__(self, settings: CheckpointSettings) -> None:
        self.settings = settings

    def parts(self) -> list[PartName]:
        """None: refused, whoever asks."""
        self._refuse()

    def fingerprint(self, part: PartName) -> str:
        """Refused."""
        self._refuse()

    def paths(self) -> list[Path]:
        """No file of the user's is read."""
        return []

    def _refuse(self) -> NoReturn:
        raise DataError(
            f"the model came from {self.settings.file}, which has no examples in it; give some with --data, or train a "
            "recipe of your own with model.weights set to this run"
        )
