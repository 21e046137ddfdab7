"""Dataset cards of questions about texts. Files are looked for as `seqwright.data.catalog` says."""

import hashlib
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from seqwright.data.catalog import Card, CardFile, download_folder, located
from seqwright.data.examples import PartName
from seqwright.data.question_files import Question
from seqwright.data.questions import QuestionFiles, QuestionFilesSettings, Shared
from seqwright.errors import DataError, SettingError, nearest
from seqwright.settings import Settings


class QuestionCard(NamedTuple):
    """A public corpus of questions: the files of each subset for training and validation, and how they are read."""

    card: Card
    subsets: Mapping[str, tuple[str, str]]  # the second is a file, or a share of the first
    together: bool = False  # whether all subsets can be asked for at once
    no_answer: str = ""


_SUBJQA_FILES = [
    ("electronics_train.csv.gz", 1509411, "4b9bce2e3b80997f7b5f8ec166f350b5f778416d60b428e28066d925f81e6c5b"),
    ("electronics_dev.csv.gz", 175252, "83032d94e6c15b98e8a37c9bc40aa3a867fbee56c481755647ae5baf6e5384d0"),
    ("grocery_train.csv.gz", 925503, "2b4440f55e900c08154a4078318dfc75aeda5358e619a7916f52a7598b41da84"),
    ("grocery_dev.csv.gz", 108496, "df1a668087bb27b49180416aaea5dcbe0675fd00a7fadd1f97edc545c7a61ef7"),
    ("restaurants_train.csv.gz", 1328584, "9d57765164ec641219db382cac0bf5be00a023a4a26ae6ecf8d72bbb413ca3bc"),
    ("restaurants_dev.csv.gz", 150684, "d09d03fbbfe6dde1c279beb7133f4c0b623b62f240969950cb50e2b4cf61121a"),
    ("tripadvisor_train.csv.gz", 1015341, "851a3f82dc6a340829cd5409c3a0ecffc7361f84e6f409c4ada478a4a6e481bf"),
    ("tripadvisor_dev.csv.gz", 119107, "8cf46ca6546fe9af85dfde7f45e03208af2e7f14948f76c7ae3a31ce616d8b55"),
]
_SUBJQA_DOMAINS = ("electronics", "grocery", "restaurants", "tripadvisor")
_XQUAD_ADDRESS = "https://raw.githubusercontent.com/google-deepmind/xquad/master"
_XQUAD_FILES = [
    ("xquad.en.json", 609383, "e4c57d1c9143aaa1c5d265ba5987a65f4e69528d2a98f29d6e75019b10344f29"),
    ("xquad.de.json", 669810, "990b5d746746ed65ed4702ea5f35f99ffa4e2f1c390c07d003642acd937916f9"),
    ("xquad.es.json", 684322, "dcbae93ec3a9f4b9e78fd834a171d6f96c1a875e10e15b7530b7e4ef4971e37e"),
]
_SQUAD_FILE = "dev-v1.1.json.gz"

QUESTION_CARDS: Mapping[str, QuestionCard] = {
    "subjqa": QuestionCard(
        Card(
            name="subjqa",
            title="SubjQA: what reviews of electronics, groceries, restaurants and hotels say about something, if they "
            "do; nearly all reviews of the published dev part are in the training part too, and are left out of that",
            languages=("en",),
            licence="free for research",
            files=tuple(CardFile(path, "", sha256, size) for path, size, sha256 in _SUBJQA_FILES),
            parts={"train": "train", "valid": "dev"},
            examples={"train": 3943, "valid": 970},
            cite="Bjerva, Bhutani, Golshan, Tan and Augenstein 2020, SubjQA: A Dataset for Subjectivity and Review "
            "Comprehension (EMNLP)",
        ),
        subsets={domain: (f"{domain}_train.csv.gz", f"{domain}_dev.csv.gz") for domain in _SUBJQA_DOMAINS},
        together=True,
        no_answer="ANSWERNOTFOUND",
    ),
    "xquad": QuestionCard(
        Card(
            name="xquad",
            title="XQuAD: 240 paragraphs of Wikipedia with 1,190 questions, translated by hand; of the one published "
            "file of a language a fifth of the paragraphs is the validation part",
            languages=("en", "de", "es"),
            licence="CC BY-SA 4.0",
            files=tuple(
                CardFile(path, f"{_XQUAD_ADDRESS}/{path}", sha256, size) for path, size, sha256 in _XQUAD_FILES
            ),
            parts={"train": "xquad"},
            examples={"train": 1190},
            cite="Artetxe, Ruder and Yogatama 2020, On the Cross-lingual Transferability of Monolingual "
            "Representations (ACL)",
        ),
        subsets={language: (f"xquad.{language}.json", "20%") for language in ("en", "de", "es")},
    ),
    "squad": QuestionCard(
        Card(
            name="squad",
            title="SQuAD 1.1, the published dev part: questions about paragraphs of Wikipedia; a fifth of the "
            "paragraphs is the validation part",
            languages=("en",),
            licence="CC BY-SA 4.0",
            files=(
                CardFile(
                    _SQUAD_FILE,
                    "",
                    "56bf1464e6152abfb68a483a93d25074369c92c9977a8119367d24ca34f65131",
                    1040229,
                ),
            ),
            parts={"train": "dev"},
            examples={"train": 10570},
            cite="Rajpurkar, Zhang, Lopyrev and Liang 2016, SQuAD: 100,000+ Questions for Machine Comprehension of "
            "Text (EMNLP)",
        ),
        subsets={"dev": (_SQUAD_FILE, "20%")},
    ),
}


def question_card(name: str) -> QuestionCard:
    """The card of a corpus of questions."""
    if name not in QUESTION_CARDS:
        known = list(QUESTION_CARDS)
        raise DataError(f"there is no card '{name}' of questions; there are {', '.join(known)}.{nearest(name, known)}")
    return QUESTION_CARDS[name]


class QuestionCardSettings(Settings):
    """Questions of the catalogue."""

    kind: Literal["questions-card"] = "questions-card"

    name: str
    """The dataset's name in the catalogue: "subjqa", "xquad" or "squad"."""

    subset: str | None = None
    """One domain of subjqa (electronics, grocery, restaurants or tripadvisor; left out: all of them), or one language
    of xquad (en, de or es; left out: en)."""

    shared: Shared = "drop"
    """What becomes of training questions about a context that the validation part has too: with keep the parts are as
    they were published, and the scores flatter."""


class CardQuestions:
    """A corpus of the catalogue (a `QuestionData`)."""

    def __init__(self, settings: QuestionCardSettings) -> None:
        self.settings = settings
        self.card = question_card(settings.name)
        self._files = {name: self._read(*self.card.subsets[name]) for name in self._chosen()}

    def parts(self) -> list[PartName]:
        """Always train and valid."""
        return ["train", "valid"]

    def paths(self) -> list[Path]:
        """Every file that is read, each once."""
        return [path for files in self._files.values() for path in files.paths()]

    def questions(self, part: PartName) -> Iterator[Question]:
        """Every question of a part in the published order, one subset after another."""
        return chain.from_iterable(files.questions(part) for files in self._files.values())

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the contents; it does not depend on where the files lie."""
        several = "".join(files.fingerprint(part) for files in self._files.values())
        return hashlib.sha256(several.encode()).hexdigest()

    def remarks(self, part: PartName) -> list[str]:
        """What became of the questions that are not in it, subset by subset."""
        return [f"{name}: {told}" for name, files in self._files.items() for told in files.remarks(part)]

    def _chosen(self) -> list[str]:
        """The names of the subsets that are read."""
        known, asked = list(self.card.subsets), self.settings.subset
        if asked is None:
            return known if self.card.together else known[:1]
        if asked not in known:
            raise SettingError(
                f"data.subset is '{asked}', but {self.settings.name} has only {', '.join(known)}."
                f"{nearest(asked, known)}"
            )
        return [asked]

    def _read(self, train: str, valid: str) -> QuestionFiles:
        valid = valid if valid.endswith("%") else str(self._located(valid))
        return QuestionFiles(
            QuestionFilesSettings(
                train=str(self._located(train)),
                valid=valid,
                no_answer=self.card.no_answer,
                shared=self.settings.shared,
            )
        )

    def _located(self, name: str) -> Path:
        card = self.card.card
        file = next(file for file in card.files if file.path == name)
        path = located(card, file)
        if path is None:
            remedy = f"run `seqwright data get {card.name}`" if file.address else "put it there"
            raise DataError(
                f"{name} of {card.name} is neither in $SEQWRIGHT_DATA/{card.name} nor in {download_folder(card)}: "
                f"{remedy}"
            )
        return path


def other_questions(path: Path, known: QuestionFilesSettings | QuestionCardSettings) -> dict[str, Any]:
    """Data settings in which every part is this one file, read as the data that a run was trained on."""
    plain: dict[str, Any] = {"kind": "questions", **dict.fromkeys(("train", "valid", "test"), str(path))}
    if isinstance(known, QuestionCardSettings):
        return plain | {"no_answer": question_card(known.name).no_answer}
    read_as = known.model_dump(include={"question", "context", "answer", "start", "no_answer"}, exclude_none=True)
    return plain | read_as
