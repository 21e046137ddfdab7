"""Tables that verbs read, and write back: every row as it was, with what was predicted in further columns."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from seqwright.cli.terminal import make_sure, say
from seqwright.data.files import expanded, extension_of, require_file
from seqwright.data.labelled_tables import PAIR_WORDS
from seqwright.data.rows import OBJECTS, dialect_beside, dialect_of
from seqwright.data.spreadsheets import SHEETS, sheet_library
from seqwright.data.table_forms import PLAIN_FORM, TableForm, form_of
from seqwright.data.tables import FORMS, Column, TableFile, Usual, find, require_text, several
from seqwright.errors import DataError, SettingError

WRITTEN = (".csv", ".tsv", ".jsonl", ".xlsx", ".parquet")


class GivenRow(NamedTuple):
    """A row of a table: where it stands, the names and the cells of all its columns, and what a run reads of it."""

    where: str
    names: Sequence[str]  # none where no line says them
    cells: Sequence[Any]
    given: Any  # as the input parses it; None where it is blank


class GivenTable(NamedTuple):
    """The names of a table's columns, none where no line says them, and its rows."""

    names: Sequence[str]
    rows: Iterator[GivenRow]
    later: Callable[[], Collection[str]] = tuple  # names that only later rows have, for which the file is read again
    form: TableForm = PLAIN_FORM  # how it is written, if it is text
    path: Path | None = None


def is_table(file: Path | None) -> bool:
    """Whether a file is read by its columns, told by the ending of its name; any other has a text in each line."""
    return file is not None and extension_of(file) in FORMS


# ---------------------------------------------------------------------------------------------------- reading


def given_table(file: Path, columns: Mapping[str, Usual], data: Any, chosen: Sequence[str]) -> GivenTable:
    """A file, of which the columns are read that are chosen, that the run learnt, or that have usual names.

    `data` are the settings of the data that the run learnt from; how this file is written, it tells itself if it can.
    """
    require_file(file)
    written = dialect_beside(file, dialect_of(data))._replace(bad_rows="refuse")  # an answer belongs to every row
    asked = _asked(columns, data, chosen)
    table = TableFile(file, columns, asked, advice=_advice, dialect=written)
    if list(columns) == ["text", "text_pair"] and not any(table.asked.values()):
        folded = {name.casefold(): name for name in table.names()}
        named = next((pair for pair in PAIR_WORDS if folded.keys() >= {*pair}), None)
        asked = dict(zip(columns, (folded[word] for word in named), strict=True)) if named else {}
        table = replace(table, asked=asked)
    if not any(asked.values()) and _is_unnamed(table) and _is_like_own(table, data):
        say(f"{file} names no column: its first is read, as in the run's own data; --column chooses another")
        table = replace(table, asked=dict.fromkeys(islice(columns, 1), 1))
    for remark in table.remarks():
        say(remark)
    form = form_of(file, table.dialect)
    return GivenTable(table.header(), _rows_of(table), lambda: _later_names(table), form, file)


def _is_unnamed(table: TableFile) -> bool:
    """Whether the one column that is read can be told by no name."""
    words = [usual.words for usual in table.usual.values() if usual.needed]
    return len(words) == 1 and table.form not in OBJECTS and find(None, words[0], table.names()) is None


def _is_like_own(table: TableFile, data: Any) -> bool:
    """Whether it has the form of the file that the run learnt from, which is still here and has no names either."""
    fields = type(data).model_fields.keys()
    if any(getattr(data, name) is not None for name in fields & {"source", "target", "text", "label"}):
        return False
    if "train" not in fields or not isinstance(data.train, str):
        return False
    path = expanded(data.train)
    if not path.is_file() or extension_of(path) != table.form:
        return False
    own = replace(table, path=path, asked={}, dialect=dialect_of(data))
    return _is_unnamed(own) and len(table.names()) <= len(own.names())


def _asked(columns: Mapping[str, Usual], data: Any, chosen: Sequence[str]) -> dict[str, Column]:
    """The columns by name or number: those that are chosen, or those of the run's own data where it names them."""
    if not chosen:
        known = type(data).model_fields
        if "columns" in known and data.columns is not None:
            return dict(zip(columns, several(data.columns), strict=False))
        return {name: getattr(data, name) for name, usual in columns.items() if usual.needed and name in known}
    if len(chosen) > len(columns) or len(chosen) < sum(usual.needed for usual in columns.values()):
        raise SettingError(
            f"--column is given {len(chosen)} times, but the run reads {' and '.join(columns)}: give it once for each"
        )
    return {name: _column(each) for name, each in zip(columns, chosen, strict=False)}


def _column(chosen: str) -> Column:
    """A column by its name or number."""
    if not chosen.isdecimal():
        return chosen
    if int(chosen) < 1:
        raise SettingError(f"--column is {chosen}, but columns are counted from 1: give the number of one, or its name")
    return int(chosen)


def _advice(names: Sequence[str]) -> str:
    return "choose one with --column, by its number if the file has no header line"


def _rows_of(table: TableFile) -> Iterator[GivenRow]:
    for record in table.records():
        yield GivenRow(record.where, record.names, record.cells, _given(table, record.values, record.where))


def _later_names(table: TableFile) -> set[str]:
    """The keys of objects that the first one lacks; all rows of other tables have the same names."""
    return {name for record in table.records() for name in record.names} if table.form == ".jsonl" else set()


def _given(table: TableFile, values: Mapping[str, Any], where: str) -> Any:
    """What the run reads of a row; nothing of one that lacks something."""
    texts = {name: values[name] for name in table.usual if values.get(name) is not None}
    for name in (name for name in texts if table.usual[name].number):
        texts[name] = table.dialect.point(texts[name] if isinstance(texts[name], str) else json.dumps(texts[name]))
    for name, text in texts.items():
        require_text(text, where, f"for {name}")
    texts = {name: text for name, text in texts.items() if text.strip()}
    if any(usual.needed and name not in texts for name, usual in table.usual.items()):
        return None
    return texts if len(table.usual) > 1 else next(iter(texts.values()))


def plain_table(blocks: Iterable[list[str]], columns: Sequence[str]) -> GivenTable:
    """Lines and typed texts as a table of one column, or of two with a tab between them."""
    names = columns if len(columns) > 1 else ["text"]

    def rows() -> Iterator[GivenRow]:
        for number, text in enumerate(chain.from_iterable(blocks), start=1):
            parts = text.split("\t")
            found = parts if len(parts) == len(names) else [text]
            yield GivenRow(f"text {number}", names, found, text if text.strip() else None)

    return GivenTable(names, rows())


# ---------------------------------------------------------------------------------------------------- writing


def refuse_output(output: Path, forms: Sequence[str], *, as_json: bool, yes: bool) -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    if as_json:
        raise SettingError("--json prints and --output writes a file; give one of them (a .jsonl file has JSON lines)")
    if extension_of(output) not in forms:
        raise SettingError(f"--output is {output}; end its name in {', '.join(forms[:-1])} or {forms[-1]}")
    if output.suffix.lower() in SHEETS:
        sheet_library(output, "written")
    elif extension_of(output) in SHEETS:
        raise SettingError(f"--output is {output}, but {extension_of(output)} is compressed anyway; leave .gz out")
    if output.is_dir():
        raise DataError(f"{output} is a folder; name a file in it")
    make_sure(output, yes=yes)
