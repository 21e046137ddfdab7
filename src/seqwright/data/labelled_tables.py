"""Tables and JSONL with a text, or a pair of texts, and a label in each row."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from seqwright.data.faults import RowError
from seqwright.data.files import content_hash
from seqwright.data.rows import OBJECTS, PLAIN, Dialect, cells
from seqwright.data.tables import FORMS, Column, Record, TableFile, Usual, find

# What people write above the columns, the plainest first.
TEXT_WORDS = ("text", "sentence", "review", "message", "tweet", "comment", "content", "document", "body", "utterance")
LABEL_WORDS = (
    *("label", "labels", "class", "category", "sentiment", "polarity", "intent", "topic", "target"),
    *("score", "rating"),
)
PAIR_WORDS = (("sentence1", "sentence2"), ("text1", "text2"), ("question1", "question2"), ("premise", "hypothesis"))
USUAL = {
    "text": Usual(TEXT_WORDS, (0, 1)),
    "label": Usual(LABEL_WORDS, (1, 0), text=False),
    "text_pair": Usual(needed=False),
}


class Example(NamedTuple):
    """A text, and the label somebody gave it; either may be blank. A label may also be of two texts together."""

    text: str
    label: str
    text_pair: str | None = None  # None where texts stand alone


class LabelledColumns(NamedTuple):
    """The columns that the settings ask for."""

    text: Column = None
    label: Column = None
    text_pair: Column = None


class LabelledTable:
    """A file with a text and a label in each row; without an extension, or with .txt, tabs are between its columns."""

    def __init__(self, path: Path, asked: LabelledColumns, dialect: Dialect = PLAIN) -> None:
        self.path, self.location, self.asked, self.dialect = path, path, asked, dialect
        otherwise, forms = ", a folder, or a folder inside of a .tar.gz file", ("", ".txt", *FORMS)
        self._as_asked = TableFile(path, USUAL, asked._asdict(), forms, otherwise, dialect=dialect)

    def examples(self) -> Iterator[Example]:
        """Every row in the order of the file; an empty line is a blank example."""
        return self._table().read(self._example)

    def _example(self, record: Record) -> Example:
        if not record.values:
            return Example("", "")
        label = self.dialect.point(_label(record))
        return Example(record.values["text"], label, record.values["text_pair"])

    def fingerprint(self) -> str:
        """Changes with the content and with the columns that are read."""
        said = [self._as_asked.form, content_hash(self.path), self.asked.text, self.asked.label]
        return json.dumps([*said, "pairs", self.asked.text_pair] if self._of_pairs() else said)

    def remarks(self) -> list[str]:
        """What the first line leaves open."""
        written = self._table().remarks()
        if self._as_asked.form in OBJECTS or self.asked != LabelledColumns():
            return written
        top = next(cells(self.path, self.dialect))
        if self._table().layout(top).header or len(top.cells) < 3:
            return written
        return [
            *written,
            f"{self.path} has {len(top.cells)} columns: the first was taken for the text, the second for the label; "
            "numbers choose others, as in data.text=3 data.label=1",
        ]

    def _of_pairs(self) -> bool:
        return next((example.text_pair is not None for example in self.examples() if example.text), False)

    def _table(self) -> TableFile:
        """The table; where no setting says otherwise, two names that belong together are those of its texts."""
        return replace(self._as_asked, asked=_with_pair(self.asked, self._as_asked.names())._asdict())


def _with_pair(asked: LabelledColumns, names: Sequence[str]) -> LabelledColumns:
    """The columns that are asked for, and those of two texts if there are names that belong together."""
    named = any(isinstance(column, str) for column in asked)
    if not named and (asked != LabelledColumns() or find(None, LABEL_WORDS, names) is None):
        return asked
    folded = [name.casefold() for name in names]
    if asked.text is None and not isinstance(asked.text_pair, int):
        for one, other in PAIR_WORDS:
            if one in folded and other in folded and (asked.text_pair is None or asked.text_pair.casefold() == other):
                return asked._replace(text=names[folded.index(one)], text_pair=names[folded.index(other)])
    return asked


def _label(record: Record) -> str:
    """The label as text: 1 and true are labels too; null is a blank one."""
    value = record.values["label"]
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dict | list):
        raise RowError(
            f"{record.where} has {json.dumps(value)[:30]} for a label, expected one label, as text or a number: "
            "several labels a text are not supported",
            record.line,
            "several labels",
        )
    return json.dumps(value)
