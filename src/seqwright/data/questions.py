"""Questions about texts, in the user's own files: the answer is some characters of the text, or there is none.

A share such as `valid = "10%"` is cut from the training data by a hash of the context, so that the parts do not depend
on the order of the questions and no context is in two of them. Where the parts are files of their own, training
questions about a context that another part has are left out, and counted.
"""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from seqwright.data.examples import PartName
from seqwright.data.files import existing
from seqwright.data.pieces import FilesSettings, PartedFiles, Share
from seqwright.data.question_files import Overlap, Question, QuestionFile
from seqwright.data.rows import BadRows, Separator, dialect_of
from seqwright.data.tables import Column


class QuestionFilesSettings(FilesSettings):
    """Questions in files of the user's own."""

    train: str
    """SQuAD's JSON, version 1.1 or 2.0, or a .csv, .tsv or .jsonl file with a question, a context and an answer in each
    row, plain or .gz. Rows with the same question and context are one question with several right answers."""

    valid: str = "10%"
    """The same, or a share of the training data such as "10%"; no context is in two parts."""

    question: Column = None
    """The column or key of the question, by name or by number from 1. Left out: "question" or "query"."""

    context: Column = None
    """That of the text that holds the answer. Left out: "context", "passage", "paragraph", "document", "review"."""

    answer: Column = None
    """That of the answer, or of a list of answers. Left out: "answer", "answers" and the like; an empty one means that
    there is no answer."""

    start: Column = None
    """That of the number, from 0, of the answer's first character in the context. Left out: "start", "answer_start";
    without such a column an answer is looked for in the context."""

    no_answer: str = ""
    """What is written in place of an answer where there is none, as "ANSWERNOTFOUND"."""

    overlap: Overlap = "drop"
    """What becomes of training questions about a context that another part has too: with keep they are learnt from, and
    the scores of that part are optimistic."""

    separator: Separator = None
    bad_rows: BadRows = "refuse"


class QuestionFiles(PartedFiles[QuestionFile, Question]):
    """Questions read from the user's files; none is blank, nor is a context."""

    example = "no question"

    def __init__(self, settings: QuestionFilesSettings) -> None:
        super().__init__(settings, cache(partial(_source, settings=settings)))
        if settings.overlap == "drop" and self._of_other_files():
            left_out = "training questions about contexts of another part, which data.overlap = 'drop' leaves out"
            self.remedy = f"see whether they are {left_out}, or {PartedFiles.remedy}"

    def read(self, part: PartName, piece: Share[QuestionFile]) -> Iterator[Question]:
        """Every question of a part, in training those about contexts that no other part has."""
        held_out = self._held_out() if part == "train" else frozenset[bytes]()
        return (each for each in _whole(piece) if not held_out or _digest(each.context) not in held_out)

    def causes(self, part: PartName, piece: Share[QuestionFile]) -> list[Any]:
        """The contents, columns and stretches of all parts that decide it."""
        pieces = [piece]
        if part == "train" and self.settings.overlap == "drop":
            pieces += [other for name, other in self._pieces.items() if name != "train"]
        return [[each.source.fingerprint(), each.low, each.high] for each in pieces]

    def remarks(self) -> list[str]:
        """How many training questions are left out, or had better be, since another part has their contexts."""
        written, held_out = super().remarks(), self._contexts_of_others()
        count = sum(_digest(each.context) in held_out for each in _whole(self._pieces["train"]))
        if not count:
            return written
        return [
            *written,
            f"{count:,} training questions about contexts that another part has too are "
            + (
                "left out"
                if self.settings.overlap == "drop"
                else "learnt from: the scores of that part will be optimistic"
            ),
        ]

    def source_remarks(self, source: QuestionFile) -> list[str]:
        """How the file is written."""
        return source.remarks()

    def _held_out(self) -> frozenset[bytes]:
        return self._contexts_of_others() if self.settings.overlap == "drop" else frozenset()

    def _contexts_of_others(self) -> frozenset[bytes]:
        """The contexts of the parts that are files of their own; shares of the training file have others anyway."""
        return frozenset(_digest(each.context) for piece in self._of_other_files() for each in _whole(piece))

    def _of_other_files(self) -> list[Share[QuestionFile]]:
        return [piece for piece in self._pieces.values() if piece.source is not self._pieces["train"].source]


class QuestionSubsets:
    """Several files of questions, one after another: the subsets of a corpus, by their names."""

    def __init__(self, subsets: Mapping[str, QuestionFiles]) -> None:
        self.subsets = subsets

    def parts(self) -> list[PartName]:
        """The parts that exist, in the order train, valid, test."""
        return next(iter(self.subsets.values())).parts()

    def paths(self) -> list[Path]:
        """Every file that is read, each once."""
        return [path for files in self.subsets.values() for path in files.paths()]

    def examples(self, part: PartName) -> Iterator[Question]:
        """Every question of a part, one subset after another."""
        return chain.from_iterable(files.examples(part) for files in self.subsets.values())

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of what the subsets follow from."""
        several = "".join(files.fingerprint(part) for files in self.subsets.values())
        return hashlib.sha256(several.encode()).hexdigest()

    def remarks(self) -> list[str]:
        """What became of questions that are in no part, subset by subset."""
        return [f"{name}: {told}" for name, files in self.subsets.items() for told in files.remarks()]


def _source(name: str, settings: QuestionFilesSettings) -> QuestionFile:
    columns = {"question": settings.question, "context": settings.context, "answer": settings.answer}
    return QuestionFile(existing(name), columns | {"start": settings.start}, settings.no_answer, dialect_of(settings))


def _whole(piece: Share[QuestionFile]) -> Iterator[Question]:
    return (each for each in piece.source.questions if piece.holds(each.context))


def _digest(context: str) -> bytes:
    return hashlib.blake2b(context.strip().encode(), digest_size=8).digest()
