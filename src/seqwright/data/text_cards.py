"""Dataset cards of running text: what the corpus is, and what of it is a document, validated on, tested on.

Files are looked for as `seqwright.data.catalog` says.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from seqwright.data.catalog import Card, CardFile, download_folder, located
from seqwright.data.examples import PartName
from seqwright.data.text import Form, TextFiles, TextFilesSettings
from seqwright.errors import DataError, DownloadError, nearest
from seqwright.settings import Settings


class TextCard(NamedTuple):
    """A public corpus of running text, and how it is read; a part without a file of its own is a share of another."""

    card: Card  # its `parts` are paths of files, its `examples` count `unit`
    unit: str
    documents: Form
    split: Literal["scattered", "end"] = "scattered"
    valid: str = ""  # a share of the training text, where no file is the validation part
    test: str = ""
    stripped: bool = False  # of the spaces around each line, which were put there by the program that cut it into words

    def file(self, part: PartName) -> CardFile:
        """The file of a part that has one."""
        return next(file for file in self.card.files if file.path == self.card.parts[part])


TEXT_CARDS: Mapping[str, TextCard] = {
    "wikitext2": TextCard(
        Card(
            name="wikitext2",
            title="WikiText-2: good articles of the English Wikipedia, words separated by spaces, rare ones replaced "
            "by <unk>; the training articles in another order than published",
            languages=("en",),
            licence="CC BY-SA 3.0",
            files=(
                CardFile(
                    "train_article_permuted.txt.gz",
                    "",
                    "3c53dba14f9ec961612056e9fc699481952bbe4486a5236f79702ecfc74b6490",
                    3679020,
                ),
                CardFile(
                    "valid.txt.gz",
                    "",
                    "55d1bffbbe2b2a6787efc8f445d0f6b2161cab5c21046b351d774b0dfabc85c0",
                    374909,
                ),
            ),
            parts={"train": "train_article_permuted.txt.gz", "valid": "valid.txt.gz"},
            examples={"train": 36718, "valid": 3760},
            cite="Merity, Xiong, Bradbury and Socher 2017, Pointer Sentinel Mixture Models (arXiv:1609.07843)",
        ),
        unit="lines",
        documents="lines",
        stripped=True,
    ),
    "tinyshakespeare": TextCard(
        Card(
            name="tinyshakespeare",
            title="Tiny Shakespeare: 40,000 lines of Shakespeare's plays; its last tenth is the validation part",
            languages=("en",),
            licence="public domain",
            files=(
                CardFile(
                    "input.txt",
                    "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
                    "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
                    1115394,
                ),
            ),
            parts={"train": "input.txt"},
            examples={"train": 1115394},
            cite="Karpathy 2015, The Unreasonable Effectiveness of Recurrent Neural Networks (char-rnn)",
        ),
        unit="characters",
        documents="files",
        split="end",
        valid="10%",
    ),
    "names": TextCard(
        Card(
            name="names",
            title="Names: 32,033 first names, one a line; a tenth is the validation part, a tenth the test part, and "
            "no name is in two",
            languages=("en",),
            licence="public domain",
            files=(
                CardFile(
                    "names.txt",
                    "https://raw.githubusercontent.com/karpathy/makemore/master/names.txt",
                    "0a30b5557f192f32ab962680889aac5f6fda0f4cecf40a6d0b5694f58ea8cc4d",
                    228145,
                ),
            ),
            parts={"train": "names.txt"},
            examples={"train": 32033},
            cite="Karpathy 2022, makemore; the names are those of the United States Social Security Administration",
        ),
        unit="names",
        documents="lines",
        valid="10%",
        test="10%",
    ),
}


def text_card(name: str) -> TextCard:
    """The card of a corpus of running text."""
    if name not in TEXT_CARDS:
        known = list(TEXT_CARDS)
        raise DataError(f"there is no text card '{name}'; there are {', '.join(known)}.{nearest(name, known)}")
    return TEXT_CARDS[name]


def require_addresses(card: Card) -> None:
    """Refuse to download what is published nowhere in the form that the card describes."""
    for file in card.files:
        if not file.address and located(card, file) is None:
            raise DownloadError(
                f"{file.path} of {card.name} cannot be downloaded: no address is known for it; put a copy with the "
                f"sha256 {file.sha256} into $SEQWRIGHT_DATA/{card.name}"
            )


class TextCardSettings(Settings):
    """Running text of the catalogue."""

    kind: Literal["text-card"] = "text-card"

    name: str
    """The dataset's name in the catalogue: "wikitext2", "tinyshakespeare" or "names"."""

    documents: Form | None = None
    """What stands for itself, as in files of your own; left out: as the card says. The articles of WikiText-2, whose
    card gives lines, are "articles"."""


class CardText:
    """A corpus of the catalogue (a `TextData`)."""

    def __init__(self, settings: TextCardSettings) -> None:
        self.settings = settings
        self.card = text_card(settings.name)
        self._files = TextFiles(
            TextFilesSettings(
                train=self._located("train", ""),
                valid=self._located("valid", self.card.valid),
                test=self._located("test", self.card.test) or None,
                documents=settings.documents or self.card.documents,
                split=self.card.split,
            )
        )

    def parts(self) -> list[PartName]:
        """The parts that exist, in the order train, valid, test."""
        return self._files.parts()

    def paths(self) -> list[Path]:
        """Every file the corpus is read from, each once."""
        return self._files.paths()

    def texts(self, part: PartName) -> Iterator[str]:
        """Every document of a part in the order of the files."""
        texts = self._files.texts(part)
        return map(_stripped, texts) if self.card.stripped else texts

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the contents; it does not depend on where the files lie."""
        found = self._files.fingerprint(part)
        return f"{found} stripped" if self.card.stripped else found

    def _located(self, part: PartName, share: str) -> str:
        """Where the file of a part lies; the share where it has none."""
        card = self.card.card
        if part not in card.parts:
            return share
        file = self.card.file(part)
        path = located(card, file)
        if path is None:
            remedy = f"run `seqwright data get {card.name}`" if file.address else "put it there"
            raise DataError(
                f"{file.path} of {card.name} is neither in $SEQWRIGHT_DATA/{card.name} nor in {download_folder(card)}: "
                f"{remedy}"
            )
        return str(path)


def _stripped(text: str) -> str:
    """A text without the spaces around each of its lines."""
    return "\n".join(line.strip() for line in text.split("\n"))
