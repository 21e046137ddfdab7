"""Dataset cards of pronouncing dictionaries, whose form `seqwright.data.pronunciations` tells.

Files are looked for as `seqwright.data.catalog` says.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from seqwright.data.catalog import Card, CardFile, download_folder, located
from seqwright.data.examples import Pair, PartName
from seqwright.data.pairs import PairFiles, PairFilesSettings
from seqwright.errors import DataError, nearest
from seqwright.settings import Settings

_ADDRESS = (
    "https://raw.githubusercontent.com/microsoft/CNTK/9bb7e86bb11d57a8c8eb6bba329a134b75f10fb3/"
    "Examples/SequenceToSequence/CMUDict/Data"
)
_FILES = [
    ("cmudict-0.7b.train-dev-20-21", 2714997, "61faa823e4a4bc64401522eb68db9543d33ee6f10dcacf5be65b1ef5fe08b6f3"),
    ("cmudict-0.7b.train-dev-1-21", 136085, "c8bbfb8d57d8e0c1d2ce6fbc8891325fc4570ac2b9ae068088bc59e804a9c295"),
]

PRONUNCIATION_CARDS: Mapping[str, Card] = {
    "cmudict": Card(
        name="cmudict",
        title="CMUdict: English words and how they are pronounced in North America, in 39 sounds without stress; the "
        "split is that of the CNTK examples",
        languages=("en",),
        licence="BSD",
        files=tuple(CardFile(path, f"{_ADDRESS}/{path}", sha256, size) for path, size, sha256 in _FILES),
        parts={"train": _FILES[0][0], "valid": _FILES[1][0]},
        examples={"train": 108952, "valid": 5447},
        cite="Carnegie Mellon University 2014, The CMU Pronouncing Dictionary, version 0.7b",
    ),
}


def pronunciation_card(name: str) -> Card:
    """The card of a pronouncing dictionary."""
    if name not in PRONUNCIATION_CARDS:
        known = list(PRONUNCIATION_CARDS)
        raise DataError(
            f"there is no card '{name}' of pronunciations; there is {', '.join(known)}.{nearest(name, known)}"
        )
    return PRONUNCIATION_CARDS[name]


class PronunciationCardSettings(Settings):
    """A pronouncing dictionary of the catalogue."""

    kind: Literal["pronunciations-card"] = "pronunciations-card"

    name: str
    """The dataset's name in the catalogue: "cmudict"."""


class CardPronunciations:
    """A dictionary of the catalogue (a `PairData` from words to their sounds).

    The published split is by lines. Words of the validation part are left out of the training part: they would mostly
    be learnt with another of their pronunciations, which would then count as an error.
    """

    def __init__(self, settings: PronunciationCardSettings) -> None:
        self.settings = settings
        self.card = pronunciation_card(settings.name)
        paths = {part: self._located(part) for part in self.card.parts}
        self._files = PairFiles(PairFilesSettings(kind="pronunciations", train=paths["train"], valid=paths["valid"]))

    def parts(self) -> list[PartName]:
        """The parts that exist, in the order train, valid, test."""
        return self._files.parts()

    def paths(self) -> list[Path]:
        """Every file that is read, each once."""
        return self._files.paths()

    def pairs(self, part: PartName) -> Iterator[Pair]:
        """Every word of a part with its sounds, in the published order; no word is in two parts."""
        if part != "train":
            return self._files.pairs(part)
        held_out = {pair.source for pair in self._files.pairs("valid")}
        return (pair for pair in self._files.pairs("train") if pair.source not in held_out)

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the contents; it does not depend on where the files lie."""
        own = self._files.fingerprint(part)
        return f"{own} without {self._files.fingerprint('valid')}" if part == "train" else own

    def _located(self, part: PartName) -> str:
        file = next(file for file in self.card.files if file.path == self.card.parts[part])
        path = located(self.card, file)
        if path is None:
            name = self.card.name
            raise DataError(
                f"{file.path} of {name} is neither in $SEQWRIGHT_DATA/{name} nor in {download_folder(self.card)}: "
                f"run `seqwright data get {name}`"
            )
        return str(path)
