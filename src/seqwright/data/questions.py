"""Questions about texts, in the user's own files: the answer is some characters of the text, or there is none.

A share such as `valid = "10%"` is cut from the training data by a hash of the context, so that the parts do not depend
on the order of the questions and no context is in two of them. Where the parts are files of their own, training
questions about a context that another part has are left out, and counted.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import model_validator

from seqwright.data.cards import QuestionCardSettings, card
from seqwright.data.examples import PartName
from seqwright.data.pieces import Piece, piece_of, pieces_of, refuse_impossible_shares, some
from seqwright.data.question_files import Question, QuestionColumns, QuestionFile, Shared
from seqwright.data.tables import Column
from seqwright.settings import Settings


class QuestionData(Protocol):
    """Questions with contexts and answers: they can be read again and again, part by part."""

    def parts(self) -> list[PartName]:
        """The parts that exist: always "train" and "valid", perhaps "test"."""

    def examples(self, part: PartName) -> Iterator[Question]:
        """Every question of a part in its fixed order; none is blank, nor is a context."""

    def fingerprint(self, part: PartName) -> str:
        """A sha256 that changes whenever `examples(part)` would give something else."""

    def remarks(self) -> list[str]:
        """What became of questions that are in no part."""


class QuestionFilesSettings(Settings):
    """Questions in files of the user's own."""

    kind: Literal["questions"] = "questions"

    train: str
    """SQuAD's JSON, version 1.1 or 2.0, or a .csv, .tsv or .jsonl file with a question, a context and an answer in each
    row, plain or .gz. Rows with the same question and context are one question with several right answers."""

    valid: str = "10%"
    """The same, or a share of the training data such as "10%"; no context is in two parts."""

    test: str | None = None
    """The same, or a share of the training data; without it there is no test part."""

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

    shared: Shared = "drop"
    """What becomes of training questions about a context that another part has too: with keep they are learnt from, and
    the scores of that part flatter."""

    @model_validator(mode="after")
    def _fit_together(self) -> "QuestionFilesSettings":
        refuse_impossible_shares(self.train, self.valid, self.test)
        return self


class QuestionFiles:
    """Questions read from the user's files (a `QuestionData`)."""

    def __init__(self, settings: QuestionFilesSettings) -> None:
        self.settings = settings
        self._pieces = pieces_of(
            settings.train, settings.valid, settings.test, opened=cache(partial(_source, settings=settings))
        )

    def parts(self) -> list[PartName]:
        """The parts that exist, in the order train, valid, test."""
        return list(self._pieces)

    def paths(self) -> list[Path]:
        """Every file that is read, each once."""
        return list(dict.fromkeys(piece.source.path for piece in self._pieces.values()))

    def examples(self, part: PartName) -> Iterator[Question]:
        """Every question of a part in the order of the file."""
        piece = piece_of(self._pieces, part)
        held_out = self._held_out() if part == "train" else frozenset[bytes]()
        kept = (each for each in self._whole(part) if not held_out or _digest(each.context) not in held_out)
        told = f", or all are about contexts of another part, which data.shared = '{self.settings.shared}' leaves out"
        return some(
            kept,
            f"the {part} part is empty: no question of {piece.source.path} falls into it{told if held_out else ''}; "
            "give more data, another share, or a file for this part",
        )

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the contents and of the settings that decide what `examples(part)` gives; paths do not count."""
        said = [[piece.source.fingerprint(), piece.low, piece.high] for piece in self._deciding(part)]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()

    def remarks(self) -> list[str]:
        """How many training questions are left out, or had better be, since another part has their contexts."""
        held_out = self._contexts_of_others()
        count = sum(_digest(each.context) in held_out for each in self._whole("train"))
        if not count:
            return []
        return [
            f"{count:,} training questions about contexts that another part has too are "
            + (
                "left out"
                if self.settings.shared == "drop"
                else "learnt from: the scores of that part will be optimistic"
            )
        ]

    def _whole(self, part: PartName) -> Iterator[Question]:
        piece = piece_of(self._pieces, part)
        return (each for each in piece.source.questions if piece.holds(each.context))

    def _held_out(self) -> frozenset[bytes]:
        return self._contexts_of_others() if self.settings.shared == "drop" else frozenset()

    def _contexts_of_others(self) -> frozenset[bytes]:
        """The contexts of the parts that are files of their own; shares of the training file have others anyway."""
        others = [part for part, piece in self._pieces.items() if piece.source is not self._pieces["train"].source]
        return frozenset(_digest(each.context) for part in others for each in self._whole(part))

    def _deciding(self, part: PartName) -> list[Piece[QuestionFile]]:
        pieces = [piece_of(self._pieces, part)]
        if part == "train" and self.settings.shared == "drop":
            pieces += [piece for other, piece in self._pieces.items() if other != "train"]
        return pieces


class QuestionSubsets:
    """Several files of questions, one after another (a `QuestionData`): the subsets of a corpus, by their names."""

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
    columns = QuestionColumns(settings.question, settings.context, settings.answer, settings.start, settings.no_answer)
    return QuestionFile(Path(name).expanduser(), columns)


def _digest(context: str) -> bytes:
    return hashlib.blake2b(context.strip().encode(), digest_size=8).digest()


def other_questions(path: Path, known: QuestionFilesSettings | QuestionCardSettings) -> dict[str, Any]:
    """Data settings in which every part is this one file, read as the data that a run was trained on."""
    plain: dict[str, Any] = {"kind": "questions", **dict.fromkeys(("train", "valid", "test"), str(path))}
    if isinstance(known, QuestionCardSettings):
        return plain | {"no_answer": card(known.name).reading.get("no_answer", "")}
    read_as = known.model_dump(include={"question", "context", "answer", "start", "no_answer"}, exclude_none=True)
    return plain | read_as
