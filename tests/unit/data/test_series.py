"""Series from the user's files: the right rows in the right parts, and every fault told by file and line."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqwright.data.series import SeriesFiles, SeriesFilesSettings, ending_of
from seqwright.errors import DataError, SettingError

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str, name: str = "mine.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return written


def counted(rows: int) -> str:
    """A column that counts the rows, and one that counts backwards."""
    return "up,down\n" + "".join(f"{row},{-row}\n" for row in range(rows))


def read(path: Path, **settings: Any) -> SeriesFiles:
    return SeriesFiles(SeriesFilesSettings.model_validate({"train": str(path), "history": 3, "horizon": 2, **settings}))


def column(data: SeriesFiles, part: Any) -> list[float]:
    (values_TC,) = data.series(part)
    return [float(value) for value in values_TC[:, 0]]


def test_the_last_rows_are_held_out_and_only_their_past_is_looked_back_into(write: Write) -> None:
    data = read(write(counted(40)), valid="10%", test=5)
    assert column(data, "train") == list(range(31))
    assert column(data, "valid") == list(range(31 - 3, 35))
    assert column(data, "test") == list(range(35 - 3, 40))


def test_no_value_to_forecast_is_in_two_parts(write: Write) -> None:
    data = read(write(counted(40)))
    wanted = {part: set(column(data, part)[3:]) for part in data.parts()}
    assert wanted["train"] | wanted["valid"] | wanted["test"] == set(range(3, 40))
    assert sum(map(len, wanted.values())) == 37


def test_parts_may_be_files_of_their_own(write: Write) -> None:
    data = read(write(counted(9)), valid=str(write(counted(7), "later.csv")), test=0)
    assert data.parts() == ["train", "valid"]
    assert [len(column(data, part)) for part in data.parts()] == [9, 7]


def test_each_of_several_files_is_a_series_that_is_cut_by_itself(write: Write) -> None:
    paths = [str(write(counted(rows), f"{rows}.csv")) for rows in (20, 30)]
    data = read(Path(), train=paths, valid="20%", test=0)
    assert [len(values_TC) for values_TC in data.series("train")] == [16, 24]
    assert [values_TC[:, 0].tolist() for values_TC in data.series("valid")] == [[*range(13, 20)], [*range(21, 30)]]


def test_a_window_knows_its_times_in_every_part_of_every_file(write: Write) -> None:
    day = "2024-01-{:02}".format
    texts = ["day,a\n" + "".join(f"{day(row)},{row}\n" for row in range(1, rows)) for rows in (24, 31)]
    data = read(Path(), train=[str(write(text, f"{n}.csv")) for n, text in enumerate(texts)], time="day")
    for part in data.parts():
        for window in data.examples(part):
            value_T = np.concatenate([window.values_TC, window.future_NC])[:, 0]
            assert window.times == [day(round(value)) for value in value_T]
    assert next(iter(read(write(counted(40))).examples("test"))).times == []


def test_columns_are_chosen_by_name_or_by_number(write: Write) -> None:
    path = write("when,a,b,c\n" + "".join(f"{row},{row},{2 * row},{3 * row}\n" for row in range(30)))
    assert read(path, time="when").columns == ("a", "b", "c")
    assert read(path, columns=["c", "A"]).columns == ("c", "a")
    assert read(path, columns="b").series("train")[0][2].tolist() == [4]
    assert read(path, columns=[4, 2]).columns == ("c", "a")


def test_a_file_without_a_header_numbers_its_columns(write: Write) -> None:
    data = read(write("".join(f"{row}\t{-row}\n" for row in range(30)), "mine.tsv.gz"), columns=2)
    assert data.columns == ("column 2",)
    assert column(data, "train")[:3] == [0, -1, -2]


def test_a_column_without_a_name_is_left_out_and_told(write: Write) -> None:
    data = read(write(",a\n" + "".join(f"{row},{row}\n" for row in range(30))))
    assert data.columns == ("a",)
    assert "column 1 of" in data.remarks()[0]
    assert "no name" in data.remarks()[0]


def test_only_the_first_rows_are_read_where_so_is_asked(write: Write) -> None:
    assert column(read(write(counted(40)), first_rows=30, valid=4, test=3), "test")[-1] == 29


def test_missing_values_are_refused_or_filled_and_counted(write: Write) -> None:
    rows = [f"{row},1" for row in range(30)]
    rows[4], rows[5] = ",1", "NaN,1"
    path = write("a,b\n" + "\n".join(rows) + "\n\n\n")
    with pytest.raises(DataError, match=r"mine\.csv:6 has no value in column 'a': fill it in, or set data\.missing=la"):
        read(path).series("train")
    data = read(path, missing="last")
    assert column(data, "train")[3:7] == [3, 3, 3, 6]
    assert "in whose place the value before stands: 2" in data.remarks()[0]


@pytest.mark.parametrize(
    ("text", "settings", "sentence"),
    [
        ("a\n1\n2\nx\n4\n", {}, r"mine\.csv:4 has 'x' in column 'a', expected a number"),
        ('a\n1\n2\n"3,5"\n', {}, r"mine\.csv:4 has '3,5' .* with a decimal point: set data\.decimal=','"),
        ("a\n1\n1e999\n", {}, r"mine\.csv:3 has '1e999' .* that is finite"),
        ("a\n1\ninf\n", {}, r"mine\.csv:3 has 'inf'"),
        ("day,a\n2016-07-01,1\n", {}, r"mine\.csv:2 has '2016-07-01' in column 'day'.* set data\.time=day"),
        ("a\n1\n\n3\n", {}, r"mine\.csv:3 is blank"),
        ("a,b\n1,2\n3\n", {}, r"mine\.csv:3 has 1 column, expected at least 2"),
        ("a;b\n1;2\n3\n", {}, r"mine\.csv:2 has '1;2' .*it has ';', so set data\.separator=';'"),
        ("a;b\n1;2\n3\n", {"columns": "b"}, r"mine\.csv:1 has no column 'b' but 'a;b': it has ';'"),
        ("temperature\n1\n", {"columns": "temprature"}, r"has no column 'temprature'.* Did you mean 'temperature'\?"),
        ("a\n1\n", {"columns": 3}, r"mine\.csv:1 has 1 columns, but data\.columns asks for column 3"),
        ("a\n1\n", {"time": "when"}, r"mine\.csv:1 has no column 'when'.* set data\.time"),
        ("a,a\n1,2\n", {}, r"has the column 'a' twice"),
        ("t\n1\n2\n", {"time": "t"}, r"has no column to forecast"),
        ("a\n", {}, r"mine\.csv has no row of values below its header"),
        ("a\n,\n", {"missing": "last"}, r"mine\.csv has no row of values"),
        ("a,b\n,1\n", {"missing": "last"}, r"mine\.csv:2 has no value in column 'a'.*there is none before it"),
        ("a\n1\n2\n3\n4\n5\n", {"valid": 1, "test": 0}, r"the train part has 4 of its 5 rows .* need 5"),
        ("a\n" + "1\n" * 20, {"valid": 1, "test": 0}, r"the valid part has 1 of its 20 rows .* need 2"),
        ("a\n" + "1\n" * 20, {"valid": 30}, r"part has 0 of its 20 rows"),
        ("t,a\n1,1\n2,1\n4,1\n5,1\n", {"time": "t"}, r"mine\.csv:4 is 2 after the row before"),
    ],
)
def test_a_fault_is_told_where_it_stands(write: Write, text: str, settings: dict[str, Any], sentence: str) -> None:
    data = read(write(text), **settings)
    with pytest.raises(DataError, match=sentence):
        [data.series(part) for part in data.parts()]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"train": "50%"}, r"data\.train is '50%', expected a file"),
        ({"valid": "60%", "test": "40%"}, r"leave nothing to train on"),
        ({"valid": 0}, r"data\.valid is empty"),
        ({"valid": "120%"}, r"expected a share above 0% and below 100%"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        SeriesFilesSettings.model_validate({"train": "mine.csv", **settings})


def test_time_cannot_be_forecast(write: Write) -> None:
    with pytest.raises(SettingError, match=r"'a' is in data\.columns and is data\.time too"):
        read(write("a,b\n1,2\n"), columns=["a", "b"], time="a").series("train")


def test_files_with_other_columns_do_not_go_together(write: Write) -> None:
    data = read(write(counted(30)), valid=str(write("up\n1\n", "other.csv")))
    with pytest.raises(DataError, match=r"other\.csv has the columns up, but .*mine\.csv has up, down"):
        data.series("train")


def test_other_kinds_of_files_are_refused(write: Write) -> None:
    with pytest.raises(DataError, match=r"has the extension '\.ods', expected \.csv, \.tsv, .*: export the table"):
        read(write("a\n1\n", "mine.ods")).series("train")
    with pytest.raises(DataError, match=r"no file .*mein\.csv.*Did you mean 'mine\.csv'"):
        read(write("a\n1\n").with_name("mein.csv"))


def test_the_fingerprint_follows_the_content_and_not_the_path(write: Write) -> None:
    one, same = read(write(counted(40))), read(write(counted(40), "copy.csv"))
    assert one.fingerprint("train") == same.fingerprint("train")
    others = [read(write(counted(41), "longer.csv")), read(write(counted(40)), columns="up"), one]
    marks = [data.fingerprint(part) for data in others for part in data.parts()]
    assert len(set(marks)) == len(marks)


def test_the_end_of_another_file_is_read_by_the_names_of_the_run(write: Write) -> None:
    settings = read(write(counted(30))).settings
    other = write("t,down,up,more\n2024-01,1,2,3\n2024-02,4,5,6\n", "other.csv")
    ending = ending_of(other, ("up", "down"), settings)
    assert ending.values_TC.tolist() == [[2, 1], [5, 4]]
    with_time = ending_of(other, ("up", "down"), settings.model_copy(update={"time": "t", "columns": ("up", "down")}))
    assert with_time.rhythm is not None
    assert (with_time.time, with_time.rhythm.later(1)) == ("t", "2024-03")
    with pytest.raises(DataError, match=r"has 1 columns \(a\), but the run forecasts 2 \(up, down\)"):
        ending_of(write("a\n1\n", "narrow.csv"), ("up", "down"), settings)


def test_another_file_is_read_as_it_is_written_itself(write: Write) -> None:
    settings = SeriesFilesSettings(train="mine.csv", separator=";", encoding="utf-16")
    ending = ending_of(write(counted(9), "other.csv"), ("up", "down"), settings)
    assert ending.values_TC.tolist() == [[row, -row] for row in range(9)]


def test_a_published_series_is_read_whole(shared_data: Path) -> None:
    data = read(
        shared_data / "ett" / "ETTh1.csv.gz", time="date", first_rows=14_400, valid=2880, test=2880, history=336
    )
    assert data.columns == ("HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT")
    assert [data.series(part)[0].shape for part in data.parts()] == [(8640, 7), (336 + 2880, 7), (336 + 2880, 7)]
    assert data.series("train")[0][0].tolist() == pytest.approx([5.827, 2.009, 1.599, 0.462, 4.203, 1.34, 30.531])
    rhythm = data.ending().rhythm
    assert rhythm is not None
    assert (rhythm.step, rhythm.later(1)) == ("1:00:00", "2018-02-21 00:00:00")
    assert np.isfinite(data.series("test")[0]).all()


def test_several_columns_are_a_list_and_a_name_with_commas_is_told_so(write: Write) -> None:
    with pytest.raises(DataError, match=r"write several as a list, data.columns=\[\"up\", \"down\"\]"):
        read(write(counted(30)), columns="up,down").series("train")
