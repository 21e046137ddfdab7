"""Labelled text in the user's own files: a table with a text and a label in each row, or a folder for each label.

Everything streams: it is read as often as it is asked for and never held in memory. A share such as `valid = "10%"` is
cut from the training data by a hash of the text, so the parts do not depend on the order of the rows and never have a
text in common. Of pairs of texts, it is the first text's.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import Field, model_validator

from seqwright.data.cards import CardSettings, card
from seqwright.data.examples import PartName
from seqwright.data.imported import CheckpointSettings
from seqwright.data.labelled_folders import LabelFolders
from seqwright.data.labelled_tables import Example, LabelledTable
from seqwright.data.pieces import Piece, piece_of, pieces_of, refuse_impossible_shares, some
from seqwright.data.tables import Column
from seqwright.errors import SettingError
from seqwright.settings import Settings


class LabelledData(Protocol):
    """Texts with labels: they can be read again and again, part by part, without being held in memory."""

    def parts(self) -> list[PartName]:
        """The parts that exist: always "train" and "valid", perhaps "test"."""

    def examples(self, part: PartName) -> Iterator[Example]:
        """Every example of a part in its fixed order, blank ones included."""

    def fingerprint(self, part: PartName) -> str:
        """A sha256 that changes whenever `examples(part)` would give something else."""

    def paths(self) -> list[Path]:
        """Every file or folder of the user's that is read, each once."""

    def remarks(self) -> list[str]:
        """What the user should look at twice, a sentence each."""


class LabelledFilesSettings(Settings):
    """Labelled text in files of the user's own."""

    kind: Literal["labelled"] = "labelled"

    train: str
    """A .tsv, .csv or .jsonl file, plain or .gz, with a text and its label in each row; or a folder in which the texts
    of each label are the files of a folder with its name, also inside of a .tar or .tar.gz file, as in
    "aclImdb_v1.tar.gz/aclImdb/train"."""

    valid: str = "10%"
    """The same, or a share of the training data such as "10%"."""

    test: str | None = None
    """The same, or a share of the training data; without it there is no test part."""

    text: Column = None
    """Where the text stands in a table: the name of a key or of a column in the header line, with or without capitals,
    or the number of a column counted from 1 in a file without a header line. Left out: what is named "text" or a word
    like it ("sentence", "review", "message"), or else the first column that is not the label's."""

    label: Column = None
    """Where the label stands, told in the same way. Left out: what is named "label" or a word like it ("class",
    "category", "sentiment"), or else the second column, or the first where the text is the second."""

    second: Column = None
    """Where a second text stands, if the label is of two texts together, told in the same way. Left out: what is named
    "sentence2" beside a "sentence1", or another such pair ("text1" and "text2", "question1" and "question2", "premise"
    and "hypothesis"); a table without it has single texts."""

    labels: tuple[str, ...] | None = None
    """Read only what has one of these labels. Left out: everything."""

    names: dict[str, str] = Field(default={})
    """What the labels shall be called, as in { 0 = "negative", 1 = "positive" }; others stay as they are."""

    @model_validator(mode="after")
    def _fit_together(self) -> "LabelledFilesSettings":
        refuse_impossible_shares(self.train, self.valid, self.test)
        if self.labels is not None and len(set(self.labels)) < 2:
            raise SettingError(f"data.labels names {len(set(self.labels))} label, expected two or more")
        return self


class LabelledFiles:
    """Labelled text read from the user's files (a `LabelledData`); of a published corpus nothing is remarked on."""

    def __init__(self, settings: LabelledFilesSettings, *, published: bool = False) -> None:
        self.settings, self._published = settings, published
        self._pieces = pieces_of(
            settings.train, settings.valid, settings.test, opened=partial(_source, settings=settings)
        )

    def parts(self) -> list[PartName]:
        """The parts that exist, in the order train, valid, test."""
        return list(self._pieces)

    def paths(self) -> list[Path]:
        """Every file or folder that is read, each once."""
        return list(dict.fromkeys(piece.source.location for piece in self._pieces.values()))

    def examples(self, part: PartName) -> Iterator[Example]:
        """Every example of a part in the order of the file, blank ones included."""
        piece = piece_of(self._pieces, part)
        return some(
            self._read(piece),
            f"the {part} part is empty: nothing of {piece.source.path} falls into it; "
            f"{self._unmet()}give more data, another share, or a file for this part",
        )

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the contents and of the settings that decide what `examples(part)` gives; paths do not count."""
        piece = piece_of(self._pieces, part)
        said = json.dumps(
            [piece.source.fingerprint(), self.settings.labels, self.settings.names, piece.low, piece.high]
        )
        return hashlib.sha256(said.encode()).hexdigest()

    def remarks(self) -> list[str]:
        """What the user should look at twice, a sentence each."""
        if self._published:
            return []
        sources = {piece.source.path: piece.source for piece in self._pieces.values()}
        return [remark for source in sources.values() for remark in source.remarks()]

    def _read(self, piece: Piece[LabelledTable | LabelFolders]) -> Iterator[Example]:
        examples, labels = piece.source.examples(), self.settings.labels
        if labels is not None:
            examples = (example for example in examples if example.label in labels)
        names = self.settings.names
        return (
            example._replace(label=names.get(example.label, example.label))
            for example in examples
            if piece.holds(example.text)
        )

    def _unmet(self) -> str:
        labels = self.settings.labels
        return "" if labels is None else f"see whether it has the labels {', '.join(labels)} of data.labels, or "


def _source(name: str, settings: LabelledFilesSettings) -> LabelledTable | LabelFolders:
    path = Path(name).expanduser()
    if LabelFolders.fits(path):
        if any(column is not None for column in (settings.text, settings.label, settings.second)):
            chosen = "data.text and data.label" if settings.second is None else "data.text, data.label and data.second"
            raise SettingError(
                f"{chosen} choose columns, but {path} is a folder, where each label has a folder of "
                "its own: leave them out"
            )
        return LabelFolders(path)
    return LabelledTable(path, settings.text, settings.label, settings.second)


def other_files(path: Path, known: LabelledFilesSettings | CardSettings | CheckpointSettings) -> dict[str, Any]:
    """Data settings in which every part is this one file or folder, read as the data that a run was trained on.

    Of a model that was trained elsewhere that data is not known; the file is read like any that is seen first.
    """
    plain: dict[str, Any] = {"kind": "labelled", **dict.fromkeys(("train", "valid", "test"), str(path))}
    if isinstance(known, CheckpointSettings):
        return plain
    read_as = card(known.name).reading if isinstance(known, CardSettings) else known.model_dump(exclude_none=True)
    columns = () if LabelFolders.fits(path) else ("text", "label", "second")
    read = {column: read_as[column] for column in columns if column in read_as}
    return plain | {"names": dict(read_as.get("names", {}))} | read


def usable(examples: Iterable[Example]) -> Iterator[Example]:
    """The examples that have a text and a label, and if there are two texts, both."""
    return (example for example in examples if not is_blank(example))


def is_blank(example: Example) -> bool:
    """Whether it lacks a text or the label."""
    return not (example.text.strip() and example.label and (example.second is None or example.second.strip()))
