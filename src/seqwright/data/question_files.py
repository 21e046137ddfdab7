"""From files to questions: SQuAD's JSON, tables with a question, its context and an answer in each row, and JSONL.

A question that several rows ask of the same context is one, with the answers of all of them; for that the questions of
a file are held in memory while it is used.
"""

import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from seqwright.data.encodings import encoding_remarks
from seqwright.data.faults import RowError
from seqwright.data.files import content_hash, extension_of, joined, lines
from seqwright.data.rows import OBJECTS, PLAIN, Dialect
from seqwright.data.tables import FORMS, Column, Record, TableFile, Usual, require_form, require_text
from seqwright.errors import DataError

# What people write above each column, the plainest first.
WORDS: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "query"),
    "context": ("context", "passage", "paragraph", "document", "review", "text"),
    "answer": ("answer", "answers", "answer_text", "human_ans_spans"),
    "start": ("start", "answer_start", "begin", "human_ans_indices"),
}
NEEDED = ("question", "context", "answer")
_NUMBER = re.compile(r"(?<!\d)\d{1,18}(?!\d)")  # no context is longer
_WHOLE = re.compile(r"-?\d{1,15}(\.0*)?")
Overlap = Literal["drop", "keep"]


class RightAnswer(NamedTuple):
    """Characters of the context; `begin` is where they stand, or None where they stand nowhere in it."""

    text: str
    begin: int | None


class Question(NamedTuple):
    """A question about a context, with every right answer; one that cannot be answered has none.

    `moved` of the answers did not stand where the file says, and were found elsewhere or with other spaces.
    """

    question: str
    context: str
    answers: tuple[RightAnswer, ...]
    name: str = ""
    moved: int = 0

    @property
    def texts(self) -> list[str]:
        """The right answers in words."""
        return [answer.text for answer in self.answers]

    @property
    def lost(self) -> bool:
        """Whether there are answers but none stands in the context, so that nothing can be learnt from it."""
        return bool(self.answers) and all(answer.begin is None for answer in self.answers)


class QuestionFile:
    """Questions in one file; `.json` is read as SQuAD's, .csv, .tsv and .jsonl by their columns."""

    def __init__(self, path: Path, columns: Mapping[str, Column], no_answer: str, dialect: Dialect = PLAIN) -> None:
        self.path, self.columns, self.no_answer, self.dialect = path, columns, no_answer, dialect

    def fingerprint(self) -> str:
        """A sha256 of the content, and of what is read as what."""
        said = json.dumps([content_hash(self.path), extension_of(self.path), [*self.columns.values(), self.no_answer]])
        return hashlib.sha256(said.encode()).hexdigest()

    @functools.cached_property
    def questions(self) -> list[Question]:
        """Every question in the order of the file."""
        require_form(self.path, (".json", *FORMS))
        rows = self._squad() if extension_of(self.path) == ".json" else self._records()
        return _joined(_usable(row, self.path) for row in rows)

    def _squad(self) -> Iterator[Question]:
        try:
            articles = json.loads(joined(lines(self.path, self.dialect.encoding_of(self.path)), "\n", self.path))[
                "data"
            ]
            for article in articles:
                for paragraph in article["paragraphs"]:
                    context = _text(paragraph["context"])
                    for asked in paragraph["qas"]:
                        name = str(asked.get("id", ""))
                        given = [] if asked.get("is_impossible") else asked["answers"]
                        answers = [RightAnswer(_text(each["text"]), _place(each["answer_start"])) for each in given]
                        yield Question(_text(asked["question"]), context, tuple(answers), name)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{self.path} is not valid JSON ({error}); JSON lines belong into a .jsonl file") from error
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{self.path} is not as SQuAD's JSON ({type(error).__name__}: {error}), expected "
                '{"data": [{"paragraphs": [{"context": …, "qas": [{"id": …, "question": …, "answers": [{"text": …, '
                '"answer_start": …}]}]}]}]}: write it so, or as .csv or .jsonl'
            ) from error

    def remarks(self) -> list[str]:
        """How the file is written, where that was told by itself."""
        if extension_of(self.path) == ".json":
            return encoding_remarks(self.path, self.dialect.encoding)
        return self._table().remarks()

    def _table(self) -> TableFile:
        usual = {name: Usual(words, needed=name in NEEDED, text=False) for name, words in WORDS.items()}
        if extension_of(self.path) in OBJECTS:
            usual["id"] = Usual(("id",), needed=False, text=False)
        return TableFile(self.path, usual, self.columns, dialect=self.dialect)

    def _records(self) -> Iterator[Question]:
        return (row for row in self._table().read(self._raw) if row is not None)

    def _raw(self, record: Record) -> Question | None:
        """A row, if it is not blank; its answers are yet to be found in the context."""
        found = record.values
        if not found:
            return None
        for what in ("question", "context"):
            if not isinstance(found[what], str) or not found[what].strip():
                raise RowError(
                    f"{record.where} has no {what}: give it one, or leave the row out", record.line, f"no {what}"
                )
        context, name = self._unmarked(found["context"]), found.get("id")
        given = _answers(found["answer"], found["start"], record)
        answers = (RightAnswer(self._unmarked(text), begin) for text, begin in given)
        right = tuple(each for each in answers if each.text.strip())
        return Question(found["question"], context, right, "" if name is None else str(name))

    def _unmarked(self, text: str) -> str:
        """A text without the mark for no answer: SubjQA has it behind every context, for annotators to choose it."""
        nothing = self.no_answer
        return text.rstrip().removesuffix(nothing).rstrip() if nothing and text.rstrip().endswith(nothing) else text


def _answers(given: Any, start: Any, record: Record) -> Iterator[tuple[str, int | None]]:
    """The answers of a row: a text and its place, lists of both, or a list of {"text": …, "answer_start": …}."""
    if isinstance(given, dict):  # as the datasets library keeps SQuAD
        given, start = given.get("text"), given.get("answer_start", given.get("start"))
    if isinstance(given, list) and all(isinstance(each, dict) for each in given):
        start = [each.get("answer_start", each.get("start")) for each in given]
        given = [each.get("text") for each in given]
    texts = given if isinstance(given, list) else [] if given is None else [given]
    starts = start if isinstance(start, list) else [start] * len(texts)
    if len(starts) != len(texts) or not all(isinstance(text, str) for text in texts):
        raise RowError(
            f"{record.where} has the answer {json.dumps(given)[:40]} at {json.dumps(start)[:20]}, expected a text and "
            "its place in the context, or as many places as texts",
            record.line,
            "answers that do not fit their places",
        )
    for text, begin in zip(texts, starts, strict=True):
        yield text, _number(begin, record)


def _number(start: Any, record: Record) -> int | None:
    """A place: 547, "547", or SubjQA's "(547, 561)"; None where none is said."""
    if start is None or isinstance(start, int) or not str(start).strip():
        return start if isinstance(start, int) else None
    found = _NUMBER.search(str(start))
    if found is None:
        raise RowError(
            f"{record.where} has the place '{str(start)[:20]}', expected the number of the answer's first character in "
            "the context, from 0",
            record.line,
            "no number for a place",
        )
    return int(found[0])


def _place(value: Any) -> int:
    """A place in SQuAD's JSON, which always says one."""
    if isinstance(value, str | float) and _WHOLE.fullmatch(str(value)):
        return int(float(value))
    if not isinstance(value, int):
        raise TypeError(f"answer_start is {json.dumps(value)[:30]}, no place")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{json.dumps(value)[:30]} is no text")
    return value


def _usable(row: Question, path: Path) -> Question:
    """A row that can be read; JSON can spell out what is no text."""
    where = f"{path}{f', question {row.name},' if row.name else ''}"
    for what, text in (("question", row.question), ("context", row.context)):
        if not text.strip():
            raise DataError(f"{where} has a blank {what}: fill it in, or leave the question out")
        require_text(text, where, f"in its {what}")
    return row


# Where answers stand


def _joined(rows: Iterator[Question]) -> list[Question]:
    """One question for all rows that ask it of the same context, in the order in which each first comes."""
    found: dict[tuple[str, str, str], Question] = {}
    for row in rows:
        answers, moved = [], 0
        for text, said in row.answers:
            answer = placed(row.context, text, said)
            answers.append(answer)
            moved += answer.begin is not None and said is not None and answer != (text, said)
        key = (row.name, row.question, row.context)
        before = found.get(key, Question(row.question, row.context, (), row.name))
        found[key] = before._replace(answers=(*before.answers, *answers), moved=before.moved + moved)
    return list(found.values())


def placed(context: str, text: str, begin: int | None) -> RightAnswer:
    """An answer where it stands: at `begin`, else where the same characters are nearest to it, spaces not counted."""
    text = text.strip()
    if begin is not None and begin >= 0 and text and context.startswith(text, begin):
        return RightAnswer(text, begin)
    place_K = [place for place, character in enumerate(context) if not character.isspace()]
    dense, wanted = "".join(context[place] for place in place_K), "".join(text.split())
    found = [match.start() for match in re.finditer(f"(?={re.escape(wanted)})", dense)] if wanted else []
    if not found:
        return RightAnswer(text, None)
    first = min(found, key=lambda place: abs(place_K[place] - (begin or 0)))
    low, high = place_K[first], place_K[first + len(wanted) - 1] + 1
    return RightAnswer(context[low:high], low)
