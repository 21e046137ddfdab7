"""Dataset cards of labelled text: what the corpus is, and where in it texts and labels stand.

Files are looked for as `seqwright.data.catalog` says.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from seqwright.data.catalog import Card, CardFile, download_folder, located
from seqwright.data.examples import PartName
from seqwright.data.labelled import LabelledFiles, LabelledFilesSettings
from seqwright.data.labelled_folders import LabelFolders
from seqwright.data.labelled_tables import Example
from seqwright.errors import DataError, nearest
from seqwright.settings import Settings


class LabelledCard(NamedTuple):
    """A public corpus of labelled text, and how it is read; a part without a path of its own is a share of another."""

    card: Card  # its `parts` are paths of files, or of folders inside of them
    text: int | None = None  # the column, from 1
    label: int | None = None
    names: Mapping[str, str] = {}  # what the labels of the files mean
    valid: str = ""  # a share of the training data, where no file is the validation part
    test: str = ""

    def file(self, part: PartName) -> CardFile:
        """The file that a part is, or lies in."""
        path = self.card.parts[part]
        return next(file for file in self.card.files if path == file.path or path.startswith(f"{file.path}/"))


_SST2_ADDRESS = "https://raw.githubusercontent.com/clairett/pytorch-sentiment-classification/master/data/SST2"

LABELLED_CARDS: Mapping[str, LabelledCard] = {
    "sst2": LabelledCard(
        Card(
            name="sst2",
            title="SST-2: sentences of film reviews, positive or negative, words separated by spaces, lower case; the "
            "published dev sentences are the test part, a tenth of the training ones the validation part",
            languages=("en",),
            licence="free for research",
            files=(
                CardFile(
                    "train.tsv",
                    f"{_SST2_ADDRESS}/train.tsv",
                    "ec192f833a64da08f475488a77b0d0b47db47acd0f458bd18433fc793b569920",
                    720259,
                ),
                CardFile(
                    "dev.tsv",
                    f"{_SST2_ADDRESS}/dev.tsv",
                    "eddea6b39e601dd4e7a672b53cc40fdf6019fa80522f351206c24340ca5d9359",
                    92057,
                ),
            ),
            parts={"train": "train.tsv", "test": "dev.tsv"},
            examples={"train": 6920, "test": 872},
            cite="Socher et al. 2013, Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank "
            "(EMNLP)",
        ),
        text=1,
        label=2,
        names={"0": "negative", "1": "positive"},
        valid="10%",
    ),
    "imdb": LabelledCard(
        Card(
            name="imdb",
            title="IMDB: film reviews, positive or negative; a tenth of the training part is the validation part",
            languages=("en",),
            licence="free for research",
            files=(
                CardFile(
                    "aclImdb_labeled.tar.gz",
                    "",
                    "b2143bb3cb9e0fb4e6098911db529a2d88a8ae392c8a5a98caa9ed13728ec774",
                    27994369,
                ),
            ),
            parts={"train": "aclImdb_labeled.tar.gz/aclImdb/train", "test": "aclImdb_labeled.tar.gz/aclImdb/test"},
            examples={"train": 25000, "test": 25000},
            cite="Maas et al. 2011, Learning Word Vectors for Sentiment Analysis (ACL)",
        ),
        names={"neg": "negative", "pos": "positive"},
        valid="10%",
    ),
    "sms_spam": LabelledCard(
        Card(
            name="sms_spam",
            title="SMS Spam Collection: text messages, wanted (ham) or not (spam); a fifth is the test part, a tenth "
            "the validation part, and no message is in two",
            languages=("en",),
            licence="free, with citation",
            files=(
                CardFile(
                    "SMSSpamCollection",
                    "",
                    "7d039a24a6083ed9ef0f806ebad56bbb976e3aeb8de05669173bfdc4996c239d",
                    477907,
                ),
            ),
            parts={"train": "SMSSpamCollection"},
            examples={"train": 5574},
            cite="Almeida, Gómez Hidalgo and Yamakami 2011, Contributions to the Study of SMS Spam Filtering: New "
            "Collection and Results (DocEng)",
        ),
        text=2,
        label=1,
        valid="10%",
        test="20%",
    ),
}


def labelled_card(name: str) -> LabelledCard:
    """The card of a corpus of labelled text."""
    if name not in LABELLED_CARDS:
        known = list(LABELLED_CARDS)
        raise DataError(
            f"there is no card '{name}' of labelled text; there are {', '.join(known)}.{nearest(name, known)}"
        )
    return LABELLED_CARDS[name]


class LabelledCardSettings(Settings):
    """Labelled text of the catalogue."""

    kind: Literal["labelled-card"] = "labelled-card"

    name: str
    """The dataset's name in the catalogue: "sst2", "imdb" or "sms_spam"."""


class CardLabelled:
    """A corpus of the catalogue (a `LabelledData`)."""

    def __init__(self, settings: LabelledCardSettings) -> None:
        self.settings = settings
        self.card = labelled_card(settings.name)
        shares: dict[PartName, str] = {"train": "", "valid": self.card.valid, "test": self.card.test}
        train, valid, test = (
            self._located(part) if part in self.card.card.parts else share for part, share in shares.items()
        )
        self._files = LabelledFiles(
            LabelledFilesSettings(
                train=train,
                valid=valid,
                test=test or None,
                text=self.card.text,
                label=self.card.label,
                names=dict(self.card.names),
            )
        )

    def parts(self) -> list[PartName]:
        """The parts that exist, in the order train, valid, test."""
        return self._files.parts()

    def paths(self) -> list[Path]:
        """Every file that is read, each once."""
        return self._files.paths()

    def examples(self, part: PartName) -> Iterator[Example]:
        """Every example of a part in the order of the file, its label in words."""
        return self._files.examples(part)

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the contents; it does not depend on where the files lie."""
        return self._files.fingerprint(part)

    def remarks(self) -> list[str]:
        """Nothing: a published corpus is as it is."""
        return []

    def _located(self, part: PartName) -> str:
        card, file = self.card.card, self.card.file(part)
        path = located(card, file)
        if path is None:
            remedy = f"run `seqwright data get {card.name}`" if file.address else "put it there"
            raise DataError(
                f"{file.path} of {card.name} is neither in $SEQWRIGHT_DATA/{card.name} nor in {download_folder(card)}: "
                f"{remedy}"
            )
        return str(path) + card.parts[part].removeprefix(file.path)


def other_files(path: Path, known: LabelledFilesSettings | LabelledCardSettings) -> dict[str, Any]:
    """Data settings in which every part is this one file or folder, read as the data that a run was trained on."""
    read_as = labelled_card(known.name) if isinstance(known, LabelledCardSettings) else known
    plain: dict[str, Any] = {"kind": "labelled", **dict.fromkeys(("train", "valid", "test"), str(path))}
    plain["names"] = dict(read_as.names)
    columns = {} if LabelFolders.fits(path) else {"text": read_as.text, "label": read_as.label}
    return plain | {name: column for name, column in columns.items() if column is not None}
