"""Tables as people have them, for every reader of tables: rows of other lengths, separators, encodings, forms."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from seqwright.data.described import DescribedFiles, DescribedFilesSettings
from seqwright.data.labelled import LabelledFiles, LabelledFilesSettings
from seqwright.data.pairs import PairFiles, PairFilesSettings
from seqwright.data.questions import QuestionFiles, QuestionFilesSettings
from seqwright.data.series import SeriesFiles, SeriesFilesSettings
from seqwright.data.tagged import TaggedFiles, TaggedFilesSettings
from seqwright.errors import DataError


class Reader(NamedTuple):
    """A reader of tables, a table that it reads, and the settings it needs."""

    data: Callable[[Any], Any]
    settings: Any
    rows: list[list[str]]
    needed: dict[str, Any] = {}

    def read(self, path: Path, **settings: Any) -> Any:
        return self.data(self.settings(**{"train": str(path), "valid": str(path), **self.needed, **settings}))


READERS = {
    "labelled": Reader(
        LabelledFiles, LabelledFilesSettings, [["text", "label"], ["Great phone", "pos"], ["Dead on day one", "neg"]]
    ),
    "pairs": Reader(PairFiles, PairFilesSettings, [["source", "target"], ["ein Hund", "a dog"], ["zwei", "two"]]),
    "described": Reader(
        DescribedFiles, DescribedFilesSettings, [["n", "text"], ["1", "warm"], ["2", "cold"]], {"columns": "n"}
    ),
    "questions": Reader(
        QuestionFiles,
        QuestionFilesSettings,
        [["question", "context", "answer"], ["Who?", "Ada sang.", "Ada"], ["Where?", "In Rome.", "Rome"]],
        {"overlap": "keep"},
    ),
    "series": Reader(
        SeriesFiles,
        SeriesFilesSettings,
        [["load", "wind"], *([str(n), str(n % 3)] for n in range(9))],
        {"history": 2, "test": 0},
    ),
}
TEXTS = [name for name in READERS if name != "series"]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def table(rows: list[list[str]], name: str = "mine.csv", separator: str = ",", encoding: str = "utf-8") -> Path:
    path = Path(name)
    path.write_bytes("".join(separator.join(row) + "\n" for row in rows).encode(encoding))
    return path


def examples(data: Any) -> str:
    return repr(list(data.examples("train")))


# Rows of other lengths


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(("form", "separator"), [(".csv", ","), (".tsv", "\t")])
def test_a_row_with_more_cells_than_the_first_line_is_refused(name: str, form: str, separator: str) -> None:
    reader = READERS[name]
    longer = [*reader.rows[:2], [*reader.rows[2], "7"], *reader.rows[3:]]
    path = table(longer, f"mine{form}", separator)
    with pytest.raises(DataError, match=rf"mine\{form}:3 has {len(longer[2])} cells, but line 1 has {len(longer[0])}"):
        examples(reader.read(path))


def test_an_unquoted_comma_in_a_text_never_moves_its_label() -> None:
    path = table([["text", "label"], ["Great phone", " loved it", "pos"], ["Dead on day one", "neg"]])
    with pytest.raises(DataError, match=r"mine\.csv:2 has 3 cells.*put that cell in quotes"):
        examples(READERS["labelled"].read(path))


@pytest.mark.parametrize("name", READERS)
def test_blank_cells_behind_the_last_column_change_nothing(name: str) -> None:
    reader = READERS[name]
    whole = examples(reader.read(table(reader.rows)))
    assert examples(reader.read(table([reader.rows[0], *([*row, "", " "] for row in reader.rows[1:])]))) == whole


def test_a_word_with_a_space_in_it_does_not_move_its_tag() -> None:
    path = table([["Ada", "B-per"], ["New York", "B-loc"]], "mine.conll", " ")
    data = TaggedFiles(TaggedFilesSettings(train=str(path), valid=str(path), token=1, tag=2))
    with pytest.raises(DataError, match=r"mine\.conll:2 has 3 columns but the lines before it 2.*put tabs between"):
        examples(data)
