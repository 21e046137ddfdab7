"""Dataset cards of labelled text: what the corpus is, and where in it texts and labels stand.

Files are looked for as `seqwright.data.catalog` says.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from seqwright.data.catalog import Card, CardFile, download_folder, located
from seqwright.data.examples import PartName
from seqwright.data.imported import CheckpointSettings
from seqwright.data.labelled import LabelledFiles, LabelledFilesSettings
from seqwright.data.labelled_folders import LabelFolders
from seqwright.data.labelled_tables import Example
from seqwright.data.tables import Column
from seqwright.errors import DataError, nearest
from seqwright.settings import Settings


class LabelledCard(NamedTuple):
    """A public corpus of labelled text, and how it is read; a part without a path of its own is a share of another."""

    card: Card  # its `parts` are paths of files, or of folders inside of them
    text: Column = None  # the column, from 1 or by name
    label: Column = None
    second: Column = None
    names: Mapping[str, str] = {}  # what the labels of the files mean
    valid: str = ""  # a share of the training data, where no file is the validation part
    test: str = ""

    def file(self, part: PartName) -> CardFile:
        """The file that a part is, or lies in."""
        path = self.card.parts[part]
        return next(file for file in self.card.files if path == file.path or path.startswith(f"{file.path}/"))


def _glue(folder: str, *, train: tuple[str, int, int], dev: tuple[str, int, int], **known: str) -> Card:
    """A task of GLUE (Wang et al. 2019); each file's sha256, its size and its examples."""
    paths = {"train": f"{folder}/train.tsv", "dev": f"{folder}/dev.tsv"}
    return Card(
        name=known["name"],
        title=f"{known['title']}; the published dev part is the test part, a tenth of training the validation part",
        languages=("en",),
        licence=known["licence"],
        files=(CardFile(paths["train"], "", *train[:2]), CardFile(paths["dev"], "", *dev[:2])),
        parts={"train": paths["train"], "test": paths["dev"]},
        examples={"train": train[2], "test": dev[2]},
        cite=f"{known['cite']}; in GLUE: Wang et al. 2019 (ICLR)",
        folder="glue",
    )


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
    "cola": LabelledCard(
        _glue(
            "CoLA",
            name="cola",
            title="CoLA: sentences from books on grammar, acceptable English or not",
            licence="free for research",
            cite="Warstadt, Singh and Bowman 2019, Neural Network Acceptability Judgments (TACL)",
            train=("cb368ebeb9f27d7ad03720d27ddc95687a311bdb100781a2fe59a5f5b1bc0624", 428590, 8551),
            dev=("8c013e21dc39957cac37378d87bebe225b694a0d5fe13eded66c2856628833fd", 53717, 1043),
        ),
        text=4,
        label=2,
        names={"0": "unacceptable", "1": "acceptable"},
        valid="10%",
    ),
    "rte": LabelledCard(
        _glue(
            "RTE",
            name="rte",
            title="RTE: whether a first text entails a second",
            licence="free for research",
            cite="Dagan et al. 2006; Bar Haim et al. 2006; Giampiccolo et al. 2007; Bentivogli et al. 2009",
            train=("41e3a9b063433392343fad9e962cf2f58b681c78d8f71592f4186f0837246c5c", 846226, 2490),
            dev=("80230dfa1347282e7b532b06a1004a76a710087541189bf874223ddf0e3819fb", 90343, 277),
        ),
        text="sentence1",
        label="label",
        second="sentence2",
        valid="10%",
    ),
    "mrpc": LabelledCard(
        _glue(
            "MRPC",
            name="mrpc",
            title="MRPC: whether two sentences of the news say the same",
            licence="Microsoft Research, for research",
            cite="Dolan and Brockett 2005, Automatically Constructing a Corpus of Sentential Paraphrases (IWP)",
            train=("15d9c71e62d662b1cc9237e2015047cad4c1f62552d49858a9bce2b944d79897", 941468, 3668),
            dev=("9e8f284788040f7c9ecde2e1b3c07237c756f926bd9ef8548ef5d34b56f69f17", 105616, 408),
        ),
        text="#1 String",
        label="Quality",
        second="#2 String",
        names={"0": "different", "1": "equivalent"},
        valid="10%",
    ),
    "stsb": LabelledCard(
        _glue(
            "STS-B",
            name="stsb",
            title="STS-B: how alike in meaning two sentences are, from 0 to 5",
            licence="CC BY-SA 4.0",
            cite="Cer et al. 2017, SemEval-2017 Task 1: Semantic Textual Similarity",
            train=("41c4d978b6162abdcada7e49a982211954cca5459c228db478af333124b257a2", 984099, 5749),
            dev=("fe7dc0632a5033562f3cadff991f6e8d9b9b6311861660e78c3c82eb7db67f59", 276928, 1500),
        ),
        text="sentence1",
        label="score",
        second="sentence2",
        valid="10%",
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
    """The dataset's name in the catalogue: "sst2", "imdb", "sms_spam"; of GLUE "cola", "rte", "mrpc", and "stsb", whose
    labels are numbers."""


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
                second=self.card.second,
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
                f"{file.path} of {card.name} is neither in $SEQWRIGHT_DATA/{card.home} nor in {download_folder(card)}: "
                f"{remedy}"
            )
        return str(path) + card.parts[part].removeprefix(file.path)


def other_files(path: Path, known: LabelledFilesSettings | LabelledCardSettings | CheckpointSettings) -> dict[str, Any]:
    """Data settings in which every part is this one file or folder, read as the data that a run was trained on.

    Of a model that was trained elsewhere that data is not known; the file is read like any that is seen first.
    """
    plain: dict[str, Any] = {"kind": "labelled", **dict.fromkeys(("train", "valid", "test"), str(path))}
    if isinstance(known, CheckpointSettings):
        return plain
    read_as = labelled_card(known.name) if isinstance(known, LabelledCardSettings) else known
    plain["names"] = dict(read_as.names)
    columns = {"text": read_as.text, "label": read_as.label, "second": read_as.second}
    if LabelFolders.fits(path):
        columns = {}
    return plain | {name: column for name, column in columns.items() if column is not None}
