"""Every verb reads a table by its column and writes it back whole, with what it predicts in further columns."""

import csv
import datetime
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from seqwright.cli.table_writing import table_writer
from seqwright.cli.tables import GivenRow, GivenTable, given_table
from seqwright.data.labelled import LabelledFilesSettings
from seqwright.data.table_forms import TableForm
from seqwright.data.tables import Usual
from tests.contract.tiny_tasks import CONTEXT, TINY, Tiny
from tests.contract.workshop import Workshop, one_sentence, typed

PAIR = ("text1", "text2")
ADDED = {
    "translate": (("source",), ("translation",)),
    "summarize": (("source",), ("summary",)),
    "pronounce": (("word",), ("pronunciation",)),
    "reply": (("prompt",), ("reply",)),
    "score": (("text",), ("bits", "bits_per_token", "perplexity")),
    "classify": (("text",), ("predicted_label", "probability")),
    "predict": (PAIR, ("value",)),
    "tag": (("sentence",), ("words", "tags")),
    "answer": (("question", "context"), ("answer", "probability", "begin", "end")),
    "describe": (("size", "age"), ("text",)),
    "track": (("film",), ("places",)),
    "caption": (("image",), ("caption",)),
}
WRITE = {"translate", "summarize", "pronounce", "reply", "describe", "caption"}
TABLES = [tiny for tiny in TINY if tiny.verb[0] in ADDED and tiny.name != "series-classification"]
VALUES = {
    "image": "images/test-1.pgm",
    "film": "films/test-1",
    "question": "who is red",
    "context": CONTEXT,
    "word": "rc",
    "size": "3",
    "age": "1.5",
}


def read(name: str) -> list[list[str]]:
    with Path(name).open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.fixture(params=TABLES, ids=lambda tiny: tiny.name)
def tiny(request: pytest.FixtureRequest, workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Tiny:
    """A tiny task, in its folder."""
    found: Tiny = request.param
    workshop.enter(found, monkeypatch)
    return found


def columns(tiny: Tiny) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names, added = ADDED[tiny.verb[0]]
    if tiny.name in {"image-classification", "film-classification"}:
        return (tiny.name.partition("-")[0],), added
    return (PAIR if "--text-pair" in tiny.verb else names), added


def rows(tiny: Tiny) -> list[list[str]]:
    """An id that is no text, what the run reads, and a column called like one that is added; one row is blank."""
    names, _ = columns(tiny)
    texts = [VALUES.get(name, "red cat") for name in names]
    return [["id", *names, "label"], ["7", *texts, "a,\nb"], ["", *("" for _ in names), ""], ["11", *texts, "ü"]]


def written(name: str, table: list[list[str]]) -> str:
    with Path(name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(table)
    return name


def test_a_table_comes_back_whole_with_the_answers_as_columns(tiny: Tiny) -> None:
    given = rows(tiny)
    said = typed(tiny.verb[0], "RUN", "--file", written("in.csv", given), "--output", "out.csv", "--yes")
    assert said.code == 0, said.err
    assert said.out == ""
    found, (names, added) = read("out.csv"), columns(tiny)
    width = len(given[0])
    assert found[0] == ["id", *names, "label", *added]
    assert [row[:width] for row in found] == given
    first, blank, last = (row[width:] for row in found[1:])
    assert first == last
    assert set(blank) == {""}
    assert "rows with nothing to read: 1" in said.err
    assert "wrote 3 rows to out.csv" in said.err


def test_the_answers_of_a_table_are_those_of_its_texts(tiny: Tiny) -> None:
    verb = tiny.verb[0]
    written("in.csv", [row for row in rows(tiny) if any(row)])
    printed = typed(verb, "RUN", "--file", "in.csv", "--json")
    assert printed.code == 0, printed.err
    first, last = map(json.loads, printed.out.splitlines())
    near = {name: pytest.approx(each, rel=1e-4) if isinstance(each, float) else each for name, each in first.items()}
    assert last == near
    assert typed(verb, "RUN", "--file", "in.csv", "--output", "out.jsonl", "--yes").code == 0
    told = json.loads(Path("out.jsonl").read_text(encoding="utf-8").splitlines()[0])
    for name in columns(tiny)[1]:
        field = "text" if verb in WRITE else name.removeprefix("predicted_")
        assert told[name] == near[field]


def test_what_is_refused_leaves_no_file(tiny: Tiny) -> None:
    names, _ = columns(tiny)
    table = [["id", *(f"{name} of ours" for name in names)], ["7", *(VALUES.get(name, "red") for name in names)]]
    said = typed(tiny.verb[0], "RUN", "--file", written("in.csv", table), "--output", "none.csv")
    assert said.code == 2
    assert one_sentence(said.err)
    assert "in.csv:1 has no column" in said.err
    assert "--column" in said.err
    assert not Path("none.csv").exists()
    chosen = [word for name in table[0][1:] for word in ("--column", name)]
    said = typed(tiny.verb[0], "RUN", "--file", "in.csv", *chosen)
    assert said.code == 0, said.err


def test_a_file_like_the_runs_own_without_names_is_read_by_position_and_that_is_told(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.enter(next(tiny for tiny in TINY if tiny.name == "translation"), monkeypatch)
    written = [line.split("\t") for line in Path("train.tsv").read_text().splitlines()[:3]]
    Path("in.tsv").write_text("".join("\t".join(row) + "\n" for row in written))
    said = typed("translate", "RUN", "--file", "in.tsv", "--output", "out.tsv", "--yes")
    assert said.code == 0, said.err
    assert "in.tsv names no column: its first is read, as in the run's own data; --column chooses another" in said.err
    assert [line.split("\t")[:-1] for line in Path("out.tsv").read_text().splitlines()] == written
    alone = typed("translate", "RUN", *(row[0] for row in written)).out.splitlines()
    assert [line.split("\t")[-1] for line in Path("out.tsv").read_text().splitlines()] == alone
    Path("in.tsv").write_text("en\tde\tid\nred\trot\t7\n")  # these may well be names
    assert "has no column 'source' but 'en', 'de', 'id'" in typed("translate", "RUN", "--file", "in.tsv").err


def test_numbers_of_json_lines_and_of_a_table_without_names_are_read_too(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.enter(next(tiny for tiny in TINY if tiny.name == "vector-to-text"), monkeypatch)
    Path("in.jsonl").write_text('{"age": 1.5, "size": 3}\n{"age": null, "size": 3}\n')
    Path("in.csv").write_text("7,1.5,3\n11,,\n")
    for words in (["in.jsonl"], ["in.csv", "--column", "3", "--column", "2"]):
        said = typed("describe", "RUN", "--file", *words)
        assert said.code == 0, said.err
        assert said.out.splitlines() == [typed("describe", "RUN", "3,1.5").out.rstrip("\n"), ""]
        assert "text 2 is blank" in said.err


def test_a_table_has_the_likeliest_of_each_masked_word(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    workshop.enter(next(tiny for tiny in TINY if tiny.name == "masked-language-modeling"), monkeypatch)
    Path("in.csv").write_text("id,text\n7,red <mask> dog\n,\n11,<mask> cat ___\n")
    said = typed("fill", "RUN", "--file", "in.csv", "--output", "out.csv", "--yes")
    assert said.code == 0, said.err
    best = [
        [mask[0] for mask in json.loads(typed("fill", "RUN", text, "--json").out)["masks"]]
        for text in ("red <mask> dog", "<mask> cat ___")
    ]
    top, first, blank, last = read("out.csv")
    assert top == ["id", "text", "words", "probability"]
    assert first[2:] == [best[0][0]["token"], str(best[0][0]["probability"])]
    assert blank == ["", "", "", ""]
    assert last[2] == " ".join(each["token"] for each in best[1])
    assert json.loads(last[3]) == [each["probability"] for each in best[1]]
    assert "one answer in each row" in typed("fill", "RUN", "red ___", "--output", "none.csv", "--top", "2").err


@pytest.fixture
def classifier(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a classifier of texts."""
    return workshop.enter(next(tiny for tiny in TINY if tiny.name == "text-classification"), monkeypatch)


@pytest.mark.usefixtures("classifier")
class TestOfAClassifier:
    """What is the same for all is tried with one."""

    def test_a_file_that_is_there_is_replaced_only_if_that_is_said(self) -> None:
        Path("in.csv").write_text("text\nred cat\n")
        Path("kept.csv").write_text("precious")
        said = typed("classify", "RUN", "--file", "in.csv", "--output", "kept.csv")
        assert said.code == 2
        assert "say --yes to replace it" in said.err
        assert Path("kept.csv").read_text() == "precious"
        assert typed("classify", "RUN", "--file", "in.csv", "--output", "kept.csv", "--yes").code == 0
        assert read("kept.csv")[0] == ["text", "label", "probability"]

    def test_a_table_without_a_header_is_read_by_number_and_gets_none(self) -> None:
        Path("in.tsv").write_text("7\tred cat\n11\told sea\n")
        said = typed("classify", "RUN", "--file", "in.tsv", "--column", "2", "--output", "out.tsv", "--yes")
        assert said.code == 0, said.err
        found = [line.split("\t") for line in Path("out.tsv").read_text().splitlines()]
        assert [row[:2] for row in found] == [["7", "red cat"], ["11", "old sea"]]
        assert [len(row) for row in found] == [4, 4]

    def test_plain_lines_become_a_table_of_texts(self) -> None:
        Path("in.txt").write_text("red cat\n\nold, sea\n")
        assert typed("classify", "RUN", "--file", "in.txt", "--output", "out.csv", "--yes").code == 0
        found = read("out.csv")
        assert [row[0] for row in found] == ["text", "red cat", "", "old, sea"]
        assert found[2] == ["", "", ""]

    def test_a_spreadsheet_and_a_table_with_semicolons_are_read_too(self) -> None:
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in (["n", "text"], [1, "red cat"], [None, None], [2, "old sea"]):
            book.active.append(row)
        book.save("in.xlsx")
        Path("in.csv").write_bytes("n;text\n1;red, cät\n".encode("cp1252"))
        for name, kept in (("in.xlsx", ["1", "", "2"]), ("in.csv", ["1"])):
            said = typed("classify", "RUN", "--file", name, "--output", "out.jsonl", "--yes")
            assert said.code == 0, said.err
            assert "data." not in said.err  # which only a recipe can set
            found = [json.loads(line) for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]
            assert list(found[0]) == ["n", "text", "label", "probability"]
            assert [row["n"] for row in found] == kept

    @pytest.mark.parametrize(
        ("encoding", "separator", "ending", "decimal"),
        [
            ("windows-1252", ";", "\r\n", ","),
            ("utf-8-sig", ";", "\r\n", ","),
            ("utf-16", "\t", "\r\n", ","),
            ("utf-8", ",", "\n", "."),
            ("utf-8", "|", "\n", "."),
        ],
    )
    def test_a_table_comes_back_in_the_form_it_came(
        self, encoding: str, separator: str, ending: str, decimal: str
    ) -> None:
        rows = [["n", "text", "price"], ["1", "red cät", f"3{decimal}5"], ["2", f'old "s{separator}a"', "7"]]
        text = io.StringIO()
        csv.writer(text, delimiter=separator, lineterminator=ending).writerows(rows)
        Path("in.csv").write_bytes(text.getvalue().encode(encoding))
        said = typed("classify", "RUN", "--file", "in.csv", "--output", "out.csv", "--yes")
        assert said.code == 0, said.err
        raw = Path("out.csv").read_bytes()
        assert raw.startswith("n".encode(encoding))  # with its mark, if there is one
        back = raw.decode(encoding)
        assert back.endswith(ending)
        assert back.count(ending) == 3
        found = list(csv.reader(io.StringIO(back, newline=""), delimiter=separator))
        assert found[0] == [*rows[0], "label", "probability"]
        assert [row[:3] for row in found] == rows
        assert all(0 < float(row[4].replace(decimal, ".")) <= 1 and decimal in row[4] for row in found[1:])
        again = typed("classify", "RUN", "--file", "out.csv", "--output", "again.csv", "--yes")
        assert again.code == 0, again.err
        assert Path("again.csv").read_bytes().startswith("n".encode(encoding))

    def test_semicolons_without_numbers_go_with_decimal_commas_and_that_is_told(self) -> None:
        Path("in.csv").write_text("text;note\nred cat;a\n")
        said = typed("classify", "RUN", "--file", "in.csv", "--output", "out.csv", "--yes")
        assert "out.csv is written like in.csv: a semicolon between its cells, decimal commas" in said.err
        assert "," in Path("out.csv").read_text().splitlines()[1].split(";")[3]
        said = typed("classify", "RUN", "--file", "in.csv", "--output", "out.tsv", "--yes")
        assert Path("out.tsv").read_text().splitlines()[0] == "text\tnote\tlabel\tprobability"
        Path("in.csv").write_text("text\tnote\nred cat\ta\n")
        said = typed("classify", "RUN", "--file", "in.csv", "--output", "out.csv", "--yes")
        assert "out.csv is written like in.csv: a tab between its cells" in said.err

    def test_a_letter_that_the_encoding_lacks_makes_it_utf_8(self) -> None:
        Path("in.jsonl").write_text('{"text": "red cat"}\n')
        table = GivenTable(["text"], iter(()), form=TableForm(encoding="windows-1252"), path=Path("in.csv"))
        with table_writer(Path("out.csv"), table, ["label"]) as writer:
            writer.write(GivenRow("in.csv:2", ["text"], ["red cät"], ""), ["Łódź"])
        assert Path("out.csv").read_bytes() == "text,label\nred cät,Łódź\n".encode("utf-8-sig")

    def test_a_workbook_is_written_and_keeps_numbers_dates_and_texts(self) -> None:
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        day = datetime.datetime(2016, 7, 1, 13)
        for row in (["n", "text", "day", "code"], [1.5, "red cat", day, "007"], [2, "=1+1", None, "x"]):
            book.active.append(row)
        book.active["B3"].data_type = "s"
        book.save("in.xlsx")
        said = typed("classify", "RUN", "--file", "in.xlsx", "--output", "out.xlsx", "--yes")
        assert said.code == 0, said.err
        top, first, second = openpyxl.load_workbook("out.xlsx").active.iter_rows()
        assert [cell.value for cell in top] == ["n", "text", "day", "code", "label", "probability"]
        assert [cell.value for cell in first[:4]] == [1.5, "red cat", day, "007"]
        assert isinstance(first[5].value, float)
        assert [second[0].value, second[1].value, second[1].data_type] == [2, "=1+1", "s"]
        Path("in.csv").write_text("n;text;id\n3,5;red cat;0042\n1.049;old;12345678901234567890\n")
        assert typed("classify", "RUN", "--file", "in.csv", "--output", "out.xlsx", "--yes").code == 0
        rows = [[cell.value for cell in row][:3] for row in openpyxl.load_workbook("out.xlsx").active.iter_rows()]
        assert rows[1:] == [["3,5", "red cat", "0042"], ["1.049", "old", "12345678901234567890"]]
        Path("in.csv").write_text("n;text\n3,5;red cat\n-12;old\n")
        assert typed("classify", "RUN", "--file", "in.csv", "--output", "out.xlsx", "--yes").code == 0
        rows = [[cell.value for cell in row][:1] for row in openpyxl.load_workbook("out.xlsx").active.iter_rows()]
        assert rows[1:] == [[3.5], [-12]]

    def test_parquet_is_written_with_the_types_that_it_had(self) -> None:
        parquet = pytest.importorskip("pyarrow.parquet")
        arrow = pytest.importorskip("pyarrow")
        parquet.write_table(
            arrow.table({"text": ["red cat", "old"], "n": [1, 2], "raw": [b"\xff", b"a"]}), "in.parquet"
        )
        said = typed("classify", "RUN", "--file", "in.parquet", "--output", "out.parquet", "--yes")
        assert said.code == 0, said.err
        found = parquet.read_table("out.parquet")
        assert found.column_names == ["text", "n", "raw", "label", "probability"]
        assert [found["n"].to_pylist(), found["raw"].to_pylist()] == [[1, 2], [b"\xff", b"a"]]
        assert str(found["probability"].type) == "double"
        for name in ("none.csv", "none.jsonl"):
            said = typed("classify", "RUN", "--file", "in.parquet", "--output", name)
            assert said.code == 2
            assert one_sentence(said.err)
            assert "write a .parquet file" in said.err
            assert not Path(name).exists()

    def test_without_its_library_a_form_is_refused_before_anything_is_computed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path("in.csv").write_text("text\nred cat\n")
        for name, library in (("out.xlsx", "openpyxl"), ("out.parquet", "pyarrow.parquet")):
            monkeypatch.setitem(sys.modules, library, None)
            said = typed("classify", "RUN", "--file", "in.csv", "--output", name)
            assert said.code == 2
            assert one_sentence(said.err)
            assert "which is not here: install seqwright[tables], or give a name that ends in .csv" in said.err

    def test_json_lines_keep_what_they_hold(self) -> None:
        objects: list[dict[str, object]] = [
            {"text": "red cat", "n": 0.1234567891, "tags": ["a", "b"]},
            {"n": None, "text": None},
        ]
        Path("in.jsonl").write_text("".join(json.dumps(each) + "\n" for each in objects))
        assert typed("classify", "RUN", "--file", "in.jsonl", "--output", "out.jsonl", "--yes").code == 0
        found = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
        assert [{name: each[name] for name in before} for before, each in zip(objects, found, strict=True)] == objects
        assert found[1]["label"] is None
        assert typed("classify", "RUN", "--file", "in.jsonl", "--output", "out.csv", "--yes").code == 0
        assert read("out.csv")[1][:3] == ["red cat", "0.1234567891", '["a", "b"]']

    def test_a_field_of_a_later_object_is_never_overwritten(self) -> None:
        objects = [{"text": "red cat"}, {"text": "old sea", "label": "mine", "probability": "certain"}]
        Path("in.jsonl").write_text("".join(json.dumps(each) + "\n" for each in objects))
        assert typed("classify", "RUN", "--file", "in.jsonl", "--output", "out.jsonl", "--yes").code == 0
        found = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
        assert list(found[0]) == ["text", "predicted_label", "predicted_probability"]
        assert {name: found[1][name] for name in objects[1]} == objects[1]

    def test_what_a_form_cannot_hold_is_refused(self) -> None:
        Path("in.csv").write_text('text,note\nred cat,"two\nlines"\n')
        said = typed("classify", "RUN", "--file", "in.csv", "--output", "none.tsv")
        assert said.code == 2
        assert "in.csv:3: 'two lines' has a tab or a line feed" in said.err
        assert not Path("none.tsv").exists()

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (("--output", "out.txt"), "--output is out.txt; end its name in .csv, .tsv, .jsonl, .xlsx or .parquet"),
            (("--output", "out.xlsx.gz"), "--output is out.xlsx.gz, but .xlsx is compressed anyway; leave .gz out"),
            (("--output", "out.csv", "--json"), "--json prints and --output writes a file"),
            (("--output", "new.csv", "--top", "2"), "a table has one answer in each row"),
            (("--column", "0"), "--column is 0, but columns are counted from 1"),
            (("--column", "a", "--column", "b"), "--column is given 2 times, but the run reads text"),
        ],
    )
    def test_options_that_do_not_fit_are_refused(self, words: tuple[str, ...], sentence: str) -> None:
        Path("in.csv").write_text("text\nred cat\n")
        said = typed("classify", "RUN", "--file", "in.csv", *words)
        assert said.code == 2
        assert one_sentence(said.err)
        assert sentence in said.err

    def test_a_column_of_no_table_is_refused(self) -> None:
        said = typed("classify", "RUN", "red cat", "--column", "text")
        assert said.code == 2
        assert "there is none; leave it out" in said.err

    def test_a_row_with_too_many_cells_is_refused(self) -> None:
        Path("in.csv").write_text("text,note\nred cat, old,sea\n")
        said = typed("classify", "RUN", "--file", "in.csv", "--output", "none.csv")
        assert said.code == 2
        assert "in.csv:2" in said.err
        assert "data." not in said.err  # which only a recipe can set
        assert not Path("none.csv").exists()
        Path("in.csv").write_text("note,text\nred,cat\nold\n")
        said = typed("classify", "RUN", "--file", "in.csv", "--output", "none.csv")
        assert said.code == 2
        assert "in.csv:3 has 1 column" in said.err
        assert "data." not in said.err

    def test_json_has_the_probability_of_every_label(self) -> None:
        every = json.loads(typed("classify", "RUN", "red cat", "--json").out)["probabilities"]
        assert len(every) > 1
        assert sum(every.values()) == pytest.approx(1, abs=1e-3)
        assert len(json.loads(typed("classify", "RUN", "red cat", "--json", "--top", "1").out)["probabilities"]) == 1

    def test_vectors_are_columns_or_an_array(self) -> None:
        Path("in.csv").write_text("text,n\nred cat,1\n,2\n")
        assert typed("embed", "RUN", "--file", "in.csv", "--output", "out.csv", "--yes").code == 0
        found = read("out.csv")
        assert found[0][:3] == ["text", "n", "vector_1"]
        assert set(found[2][2:]) == {""}
        array = ("embed", "RUN", "--file", "in.csv", "--output", "out.npy", "--yes")
        assert typed(*array).code == 2  # a blank row has no vector, and an array has no empty rows
        Path("in.csv").write_text("text,n\nred cat,1\n")
        assert typed(*array).code == 0
        assert np.load("out.npy")[0].tolist() == pytest.approx([float(value) for value in found[1][2:]], abs=1e-5)


@pytest.mark.parametrize(
    ("encoding", "separator", "text"),
    [
        ("utf-8", ";", "n;text\n1;schön, alt\n2;rot\n"),  # as the file tells, not as the run's own data is written
        ("windows-1252", ",", "n,text\n1,schön\n2,rot\n"),
        ("utf-16", "\t", "n\ttext\n1\tschön\n2\trot\n"),
        ("iso-8859-2", "^", "n^text\n1^Łódź\n"),  # nothing tells it but the run's own data
    ],
)
def test_a_table_is_read_as_it_is_written_itself(encoding: str, separator: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(text.encode(encoding))
    learnt = LabelledFilesSettings(
        train="mine.csv",
        encoding="iso-8859-2" if encoding == "iso-8859-2" else "cp1252",
        separator="^",
        bad_rows="skip",
    )
    table = given_table(path, {"text": Usual(("text",))}, learnt, [])
    assert [",".join(row.cells) for row in table.rows] == [
        line.replace(separator, ",") for line in text.splitlines()[1:]
    ]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (["1,2", "3,"], "in.csv:3 has no value in column 'low': fill it in\n"),
        (["1,2", "3,x"], "in.csv:3 has 'x' in column 'low', expected a number: correct it\n"),
        (['1,"3,5"', "3,4"], "in.csv:2 has '3,5' in column 'low', expected a number with a decimal point\n"),
    ],
)
def test_a_verb_advises_what_can_be_done_there(
    rows: list[str], sentence: str, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.enter(next(tiny for tiny in TINY if tiny.name == "forecasting"), monkeypatch)
    Path("in.csv").write_text("\n".join(["high,low", *rows]) + "\n", encoding="utf-8")
    for words in (("forecast", "RUN", "--file", "in.csv"), ("eval", "RUN", "--data", "in.csv")):
        said = typed(*words)
        assert said.code == 2
        assert said.err.endswith(f"seqwright {words[0]}: {sentence}")


def test_a_forecast_has_the_form_of_the_file_that_it_continues(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.enter(next(tiny for tiny in TINY if tiny.name == "forecasting"), monkeypatch)
    columns = next(csv.reader(io.StringIO(typed("forecast", "RUN").out)))[1:]
    rows = [columns, *([f"{n % 7},25" for _ in columns] for n in range(40))]
    text = "".join(";".join(row) + "\r\n" for row in rows)
    Path("in.csv").write_bytes(text.encode("utf-8-sig"))
    said = typed("forecast", "RUN", "--file", "in.csv", "--output", "out.csv", "--yes")
    assert said.code == 0, said.err
    raw = Path("out.csv").read_bytes()
    assert raw.startswith("step;".encode("utf-8-sig"))
    first = raw.decode("utf-8-sig").split("\r\n")[1].split(";")
    assert "," in first[1]
    assert all("." not in cell for cell in first)


def test_a_forecast_is_a_table_of_the_rows_to_come(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    workshop.enter(next(tiny for tiny in TINY if tiny.name == "forecasting"), monkeypatch)
    printed = list(csv.reader(io.StringIO(typed("forecast", "RUN").out)))
    said = typed("forecast", "RUN", "--output", "out.csv", "--yes")
    assert said.code == 0, said.err
    assert said.out == ""
    width, told = len(printed[0]), [json.loads(line) for line in typed("forecast", "RUN", "--json").out.splitlines()]
    written = read("out.csv")
    assert [row[:width] for row in written] == printed
    column = printed[0][1]
    for level in told[0].get("intervals", {}):
        low, high = (written[0].index(f"{column}_{side}_{level}") for side in ("low", "high"))
        bounds = [[float(row[low]), float(row[high])] for row in written[1:]]
        assert bounds == [each["intervals"][level][column] for each in told]
