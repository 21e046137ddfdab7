"""Files of series that `classify` reads: in the form of the UCR and UEA archives, with labels or without."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from seqwright.cli.tables import GivenRow, GivenTable
from seqwright.cli.terminal import say
from seqwright.data.files import extension_of
from seqwright.data.labelled_series import (
    FORMS,
    LabelledSeriesFilesSettings,
    SeriesExample,
    header_remarks,
    label_place,
    series_of,
)
from seqwright.data.rows import dialect_beside, dialect_of
from seqwright.data.table_forms import form_of
from seqwright.errors import DataError
from seqwright.kinds import TASKS

EXAMPLES = "labelled-series"


def series_table(file: Path | None, run: Any) -> GivenTable | None:
    """The series of a file for a run that learnt labelled ones; None where its lines are texts as they are typed."""
    learnt = TASKS[run.recipe.task].examples[0] == EXAMPLES
    if not learnt or file is None or not file.is_file() or extension_of(file) not in FORMS:
        return None
    data = run.recipe.data
    usual = data.label if isinstance(data, LabelledSeriesFilesSettings) else "first"
    dialect = dialect_beside(file, dialect_of(data))
    place = label_place(file, usual, run.output.labels, dialect)
    if place is None:
        return None
    for remark in header_remarks(file, place, dialect):
        say(remark)
    if place != "none" and extension_of(file) != ".ts":
        say(f"the {place} cell of each row of {file} is taken for its label, not for a value")
    names = ["series"] if place == "none" else ["label", "series"]
    rows = _rows(series_of(file, label=place, dialect=dialect), file, names)
    return GivenTable(names, rows, form=form_of(file, dialect), path=file)


def labelled_row(row: GivenRow) -> SeriesExample:
    """A series of such a file, with its label where it has one."""
    if not len(row.given):
        raise DataError(f"{row.where} is blank: there is nothing to read")
    return SeriesExample(row.given, row.cells[0] if row.names[0] == "label" else "")


def _rows(series: Iterator[SeriesExample], file: Path, names: list[str]) -> Iterator[GivenRow]:
    for number, (values_TC, label, _) in enumerate(series, start=1):
        text = ":".join(" ".join(map(repr, channel)) for channel in values_TC.T.tolist())
        cells = [label, text][-len(names) :]
        yield GivenRow(f"{file}, series {number}", names, cells, values_TC if len(values_TC) else np.zeros(0))
