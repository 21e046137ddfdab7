"""Dataset cards of texts with summaries: what the corpus is, and in which columns they stand.

Files are looked for as `seqwright.data.catalog` says.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from seqwright.data.catalog import Card, CardFile, download_folder, located
from seqwright.data.examples import Pair, PartName
from seqwright.data.pairs import PairFiles, PairFilesSettings
from seqwright.errors import DataError, nearest
from seqwright.settings import Settings


class SummaryCard(NamedTuple):
    """A public corpus of texts with summaries, in tables with a header line."""

    card: Card  # its `parts` are paths of files
    text: str  # the column of the texts
    summary: str


SUMMARY_CARDS: Mapping[str, SummaryCard] = {
    "dialogsum": SummaryCard(
        Card(
            name="dialogsum",
            title="DialogSum: spoken dialogues of daily life, each with a summary of a sentence or two",
            languages=("en",),
            licence="CC BY-NC-SA 4.0 (non-commercial)",
            files=(
                CardFile(
                    "train.csv.gz",
                    "",
                    "0d26a83773b1ceb2667490af491da74f7bce374eafb83c82d46a8f9dc8eba6e7",
                    3729224,
                ),
                CardFile(
                    "validation.csv.gz",
                    "",
                    "2ecacb0accdd048c6a05a001bf561422be7a22fe99283505e5a469f978ed546a",
                    148540,
                ),
            ),
            parts={"train": "train.csv.gz", "valid": "validation.csv.gz"},
            examples={"train": 12460, "valid": 500},
            cite="Chen, Liu, Chen and Zhang 2021, DialogSum: A Real-Life Scenario Dialogue Summarization Dataset "
            "(doi:10.18653/v1/2021.findings-acl.449)",
        ),
        text="dialogue",
        summary="summary",
    ),
}


def summary_card(name: str) -> SummaryCard:
    """The card of a corpus of summaries."""
    if name not in SUMMARY_CARDS:
        known = list(SUMMARY_CARDS)
        raise DataError(f"there is no card '{name}' of summaries; there is {', '.join(known)}.{nearest(name, known)}")
    return SUMMARY_CARDS[name]


class SummaryCardSettings(Settings):
    """Texts with summaries of the catalogue."""

    kind: Literal["summaries-card"] = "summaries-card"

    name: str
    """The dataset's name in the catalogue: "dialogsum"."""


class CardSummaries:
    """A corpus of the catalogue (a `PairData` from texts to their summaries)."""

    def __init__(self, settings: SummaryCardSettings) -> None:
        self.settings = settings
        self.card = summary_card(settings.name)
        paths = {part: self._located(part) for part in self.card.card.parts}
        self._files = PairFiles(
            PairFilesSettings(
                kind="summaries",
                train=paths["train"],
                valid=paths["valid"],
                test=paths.get("test"),
                source=self.card.text,
                target=self.card.summary,
            )
        )

    def parts(self) -> list[PartName]:
        """The parts that exist, in the order train, valid, test."""
        return self._files.parts()

    def paths(self) -> list[Path]:
        """Every file that is read, each once."""
        return self._files.paths()

    def pairs(self, part: PartName) -> Iterator[Pair]:
        """Every text of a part with its summary, in the published order."""
        return self._files.pairs(part)

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the contents; it does not depend on where the files lie."""
        return self._files.fingerprint(part)

    def _located(self, part: PartName) -> str:
        card = self.card.card
        file = next(file for file in card.files if file.path == card.parts[part])
        path = located(card, file)
        if path is None:
            raise DataError(
                f"{file.path} of {card.name} is neither in $SEQWRIGHT_DATA/{card.name} nor in {download_folder(card)}: "
                f"{f'run `seqwright data get {card.name}`' if file.address else 'put it there'}"
            )
        return str(path)
