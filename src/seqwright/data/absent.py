"""Data of which a run knows that it was there, but of which it has not a single example."""

from typing import Any, NoReturn

from seqwright.data.examples import PartName
from seqwright.data.generated import WithoutFiles
from seqwright.data.imported import ImportedSettings
from seqwright.data.in_memory import InMemorySettings
from seqwright.errors import DataError


class AbsentData(WithoutFiles):
    """What an imported model was trained on, or examples that somebody had in memory: refused, whoever asks."""

    def __init__(self, settings: ImportedSettings | InMemorySettings) -> None:
        self.settings = settings

    def parts(self) -> list[PartName]:
        """None."""
        self._refuse()

    def examples(self, part: PartName) -> Any:
        """None."""
        self._refuse()

    def fingerprint(self, part: PartName) -> str:
        """None."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise DataError(self.settings.absence())
