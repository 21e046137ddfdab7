"""Where a model came from that was not trained here: data without a single example."""

from typing import Any, NoReturn

from seqwright.data.examples import PartName
from seqwright.data.generated import WithoutFiles
from seqwright.errors import DataError
from seqwright.settings import Settings


class ImportedSettings(Settings):
    """A file that `seqwright import` made a run of; it holds a model and no examples."""

    imported: str
    """Its name, or that of its folder."""
    sha256: str
    """The sha256 of its content."""


class Imported(WithoutFiles):
    """Data of which nothing is known but the model that was made of it."""

    def __init__(self, settings: ImportedSettings) -> None:
        self.settings = settings

    def parts(self) -> list[PartName]:
        """None: refused, whoever asks."""
        self._refuse()

    def examples(self, part: PartName) -> Any:
        """Refused."""
        self._refuse()

    def fingerprint(self, part: PartName) -> str:
        """Refused."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise DataError(
            f"the model came from {self.settings.imported}, which has no examples in it; give some with --data, or "
            "train a recipe of your own, a neural one with model.weights set to this run"
        )
