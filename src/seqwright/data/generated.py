"""What all corpora share that are made up while they are read: their settings decide everything."""

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from seqwright.data.examples import PartName
from seqwright.errors import DataError
from seqwright.setting_classes import Settings


class CardSettings(Settings):
    """A corpus of the catalogue."""

    card: str
    """Its name in the catalogue, which `seqwright data list` shows."""


TrainCount = Annotated[int, Field(ge=1, description="How many training examples there are.")]
ValidCount = Annotated[int, Field(ge=1, description="How many validation examples there are.")]
TestCount = Annotated[int, Field(ge=0, description="How many test examples there are.")]


class GeneratedSettings(CardSettings):
    """A corpus that is made up: how much of it, and which."""

    examples: TrainCount = 20_000
    valid: ValidCount = 500
    test: TestCount = 1000
    seed: int = 1
    """Another number gives other examples; which are held out stays the same."""


class WithoutFiles:
    """Data that no file of the user's is read for."""

    def paths(self) -> list[Path]:
        """No file of the user's is read."""
        return []

    def remarks(self) -> list[str]:
        """Nothing: what is not the user's has no surprises."""
        return []


class Generated(WithoutFiles):
    """Examples that are made up, so many for each part: what all such corpora share."""

    format = 1  # another number whenever the same settings come to give other examples
    settings: Any  # `GeneratedSettings`, and what else they are made from

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    def causes(self) -> list[str]:
        """What the examples follow from beside the settings, such as the version of a library."""
        return []

    def parts(self) -> list[PartName]:
        """The parts that are not empty."""
        return ["train", "valid", "test"] if self.settings.test else ["train", "valid"]

    def size(self, part: PartName) -> int:
        """How many examples a part has; of one that is empty it is said how to have it."""
        if part not in self.parts():
            raise DataError(f"there is no {part} part: data.{part} is 0; set it to how many examples it shall have")
        return int({"train": self.settings.examples, "valid": self.settings.valid, "test": self.settings.test}[part])

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of all that the examples of a part follow from."""
        causes = [self.format, part, self.settings.model_dump(mode="json", exclude_none=True), *self.causes()]
        return hashlib.sha256(json.dumps(causes, sort_keys=True).encode()).hexdigest()
