"""Labelled text in the user's own files: a table with a text and a label in each row, or a folder for each label.

Everything streams: it is read as often as it is asked for and never held in memory. A share such as `valid = "10%"` is
cut from the training data by a hash of the text, so the parts do not depend on the order of the rows and never have a
text in common. Of pairs of texts, it is the first text's.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from seqwright.data.examples import Data, PartName
from seqwright.data.files import expanded
from seqwright.data.labelled_folders import LabelFolders
from seqwright.data.labelled_tables import Example, LabelledColumns, LabelledTable
from seqwright.data.labels import FoldLabels, folded, spelling_remarks
from seqwright.data.pieces import FilesSettings, PartedFiles, Share
from seqwright.data.rows import BadRows, DecimalMark, Separator, dialect_of
from seqwright.data.tables import Column
from seqwright.errors import SettingError

LabelledData = Data[Example]
LabelledSource = LabelledTable | LabelFolders


class LabelledFilesSettings(FilesSettings):
    """Labelled text in files of the user's own."""

    train: str
    """A .tsv, .csv, .jsonl, .xlsx or .parquet file (the first three plain, .gz or alone in a .zip) with a text and its
    label in each row; or a folder in which the texts of each label are the files of a folder with its name, also inside
    of a .tar or .tar.gz file, as in "aclImdb_v1.tar.gz/aclImdb/train"."""

    text: Column = None
    """Where the text stands in a table: the name of a key or of a column in the header line, with or without capitals,
    or the number of a column counted from 1 in a file without a header line. Left out: what is named "text" or a word
    like it ("sentence", "review", "message"), or else the first column that is not the label's."""

    label: Column = None
    """Where the label stands, told in the same way. Left out: what is named "label" or a word like it ("class",
    "category", "sentiment"), or else the second column, or the first where the text is the second."""

    text_pair: Column = None
    """Where a second text stands, if the label is of two texts together, told in the same way. Left out: what is named
    "sentence2" beside a "sentence1", or another such pair ("text1" and "text2", "question1" and "question2", "premise"
    and "hypothesis"); a table without it has single texts."""

    labels: tuple[str, ...] | None = None
    """Read only what has one of these labels. Left out: everything."""

    label_names: dict[str, str] = Field(default={})
    """What the labels shall be called, as in { 0 = "negative", 1 = "positive" }; others stay as they are."""

    fold_labels: FoldLabels = False
    separator: Separator = None
    decimal: DecimalMark = None
    bad_rows: BadRows = "refuse"

    @model_validator(mode="after")
    def _fit_together(self) -> "LabelledFilesSettings":
        if self.labels is not None and len(set(self.labels)) < 2:
            raise SettingError(f"data.labels names {len(set(self.labels))} label, expected two or more")
        return self


class LabelledFiles(PartedFiles[LabelledSource, Example]):
    """Labelled text read from the user's files; of a published corpus nothing is remarked on."""

    def __init__(self, settings: LabelledFilesSettings, *, published: bool = False) -> None:
        super().__init__(settings, partial(_source, settings=settings))
        self._published = published
        if settings.labels is not None:
            unmet = f"see whether it has the labels {', '.join(settings.labels)} of data.labels"
            self.remedy = f"{unmet}, or {PartedFiles.remedy}"

    def located(self, source: LabelledSource) -> list[Path]:
        """The table, the folder, or the archive that has it."""
        return [source.location]

    def read(self, part: PartName, piece: Share[LabelledSource]) -> Iterator[Example]:
        """Every example of a part."""
        spelled = folded if self.settings.fold_labels else str
        labels = None if self.settings.labels is None else set(map(spelled, self.settings.labels))
        names = {spelled(label): name for label, name in self.settings.label_names.items()}
        for example in piece.source.examples():
            label = spelled(example.label)
            if (labels is None or label in labels) and piece.holds(example.text):
                yield example._replace(label=names.get(label, label))

    def causes(self, part: PartName, piece: Share[LabelledSource]) -> list[Any]:
        """The content, the columns, the labels and the stretch."""
        said = [piece.source.fingerprint(), self.settings.labels, self.settings.label_names, piece.low, piece.high]
        return [*said, "folded"] if self.settings.fold_labels else said

    def remarks(self) -> list[str]:
        """Also labels that are spelled in several ways."""
        if self._published:
            return []
        return [*super().remarks(), *spelling_remarks(example.label for example in self.examples("train"))]

    def source_remarks(self, source: LabelledSource) -> list[str]:
        """What the table or the folders leave open."""
        return source.remarks()


def _source(name: str, settings: LabelledFilesSettings) -> LabelledTable | LabelFolders:
    path = expanded(name)
    if LabelFolders.fits(path):
        if any(column is not None for column in (settings.text, settings.label, settings.text_pair)):
            three = settings.text_pair is not None
            chosen = "data.text, data.label and data.text_pair" if three else "data.text and data.label"
            raise SettingError(
                f"{chosen} choose columns, but {path} is a folder, where each label has a folder of "
                "its own: leave them out"
            )
        return LabelFolders(path, settings.encoding)
    columns = LabelledColumns(settings.text, settings.label, settings.text_pair)
    return LabelledTable(path, columns, dialect_of(settings))


def with_labels(examples: Iterable[Example]) -> Iterator[Example]:
    """The examples that have a text and a label, and if there are two texts, both."""
    return (example for example in examples if not is_blank(example))


def is_blank(example: Example) -> bool:
    """Whether it lacks a text or the label."""
    return not (example.text.strip() and example.label and (example.text_pair is None or example.text_pair.strip()))
