"""Dataset cards of tagged text. Files are looked for as `seqwright.data.catalog` says."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from seqwright.data.catalog import Card, CardFile, download_folder, located
from seqwright.data.examples import PartName
from seqwright.data.tagged import TaggedFiles, TaggedFilesSettings
from seqwright.data.tagged_columns import Sentence
from seqwright.errors import DataError, nearest
from seqwright.settings import Settings

_WNUT17_ADDRESS = "https://raw.githubusercontent.com/leondz/emerging_entities_17/master"

# Their `parts` are paths of files: the word in the first column, the tag in the last.
TAGGED_CARDS: Mapping[str, Card] = {
    "wnut17": Card(
        name="wnut17",
        title="WNUT 17: names of people, places, groups, firms, products and works in tweets and comments, most of "
        "them rare",
        languages=("en",),
        licence="CC BY 4.0",
        files=(
            CardFile(
                "wnut17train.conll",
                f"{_WNUT17_ADDRESS}/wnut17train.conll",
                "731820e13f71af324c6b55a1575ec2ce59fbaa2a0806f8f0400b98d56cd6a7a5",
                493781,
            ),
            CardFile(
                "emerging.dev.conll",
                f"{_WNUT17_ADDRESS}/emerging.dev.conll",
                "e053b752b8155113ca66e7db08af5f2f5f43ab993694e4774f1ec5bad42312d8",
                114749,
            ),
        ),
        parts={"train": "wnut17train.conll", "valid": "emerging.dev.conll"},
        examples={"train": 3394, "valid": 1009},
        cite="Derczynski, Nichols, van Erp and Limsopatham 2017, Results of the WNUT2017 Shared Task on Novel and "
        "Emerging Entity Recognition (W-NUT)",
    ),
}


def tagged_card(name: str) -> Card:
    """The card of a corpus of tagged text."""
    if name not in TAGGED_CARDS:
        known = list(TAGGED_CARDS)
        there = f"there {'is' if len(known) == 1 else 'are'} {', '.join(known)}"
        raise DataError(f"there is no card '{name}' of tagged text; {there}.{nearest(name, known)}")
    return TAGGED_CARDS[name]


class TaggedCardSettings(Settings):
    """Tagged text of the catalogue."""

    kind: Literal["tagged-card"] = "tagged-card"

    name: str
    """The dataset's name in the catalogue: "wnut17"."""


class CardTagged:
    """A corpus of the catalogue (a `TaggedData`)."""

    def __init__(self, settings: TaggedCardSettings) -> None:
        self.settings = settings
        self.card = tagged_card(settings.name)
        paths = {part: str(self._located(path)) for part, path in self.card.parts.items()}
        self._files = TaggedFiles(
            TaggedFilesSettings(train=paths["train"], valid=paths["valid"], test=paths.get("test"))
        )

    def parts(self) -> list[PartName]:
        """The parts that exist, in the order train, valid, test."""
        return self._files.parts()

    def paths(self) -> list[Path]:
        """Every file that is read, each once."""
        return self._files.paths()

    def sentences(self, part: PartName) -> Iterator[Sentence]:
        """Every sentence of a part in the published order."""
        return self._files.sentences(part)

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the contents; it does not depend on where the files lie."""
        return self._files.fingerprint(part)

    def _located(self, name: str) -> Path:
        card = self.card
        path = located(card, next(file for file in card.files if file.path == name))
        if path is None:
            raise DataError(
                f"{name} of {card.name} is neither in $SEQWRIGHT_DATA/{card.name} nor in {download_folder(card)}: "
                f"run `seqwright data get {card.name}`"
            )
        return path
