"""What the columns of a table probably are."""

import json
from pathlib import Path
from typing import Any

import pytest

from seqwright.data.first_look import Sample, text_and_label, time_and_values
from seqwright.errors import DataError

TEXTS = [f"what somebody wrote of film number {number}" for number in range(12)]
LABELS = ["good", "bad", "so-so"] * 4


def written(path: Path, rows: list[list[str]], mark: str = ",") -> Path:
    path.write_text("".join(mark.join(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([["text", "label"], *zip(TEXTS, LABELS, strict=True)], {"text": "text", "label": "label"}),
        ([["Comment", "stars"], *zip(TEXTS, LABELS, strict=True)], {"text": "Comment", "label": "stars"}),
        (
            [["id", "stars", "said"], *([str(n), LABELS[n], TEXTS[n]] for n in range(12))],
            {"text": "said", "label": "stars"},
        ),
        ([list(row) for row in zip(TEXTS, LABELS, strict=True)], {}),
        ([list(row) for row in zip(LABELS, TEXTS, strict=True)], {"text": 2, "label": 1}),
        # The longest column is the text only where no name says otherwise.
        (
            [["review", "sentiment", "address"], *([f"r{n}", LABELS[n], TEXTS[n]] for n in range(12))],
            {"text": "review", "label": "sentiment"},
        ),
        ([["x", "good"], ["y", "bad"]], {}),
        # A label that only the first row has makes it no header, if the text beside it is a text.
        ([["a text of a rare label, longer than a name", "rare"], *zip(TEXTS, LABELS, strict=True)], {}),
        ([["only", "texts"], *([text, text] for text in TEXTS)], {}),
    ],
)
def test_text_and_label_are_found_by_name_or_by_what_they_hold(
    tmp_path: Path, rows: list[list[str]], found: dict[str, Any]
) -> None:
    assert text_and_label(written(tmp_path / "mine.csv", rows)).settings == found
    assert text_and_label(written(tmp_path / "mine.tsv", rows, "\t")).settings == found


def test_keys_are_found_like_columns(tmp_path: Path) -> None:
    records = [{"n": n, "grade": n % 3, "essay": text} for n, text in enumerate(TEXTS)]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    assert text_and_label(path).settings == {"text": "essay", "label": "grade"}
    path.write_text("[1]\n", encoding="utf-8")
    assert text_and_label(path).settings == {}


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([["when", "load"], ["1", "2"]], {"time": "when"}),
        ([["measured", "load"], ["2024-01-01 13:00", "2"]], {"time": "measured"}),
        ([["measured", "load"], ["01.02.2024", "2"]], {"time": "measured"}),
        (
            [["place", "day", "load", "wind"], ["Graz", "2024-01-01", "2", ""], ["Linz", "2024-01-02", "-3", "1e-3"]],
            {"time": "day", "columns": ["load", "wind"]},
        ),
        ([["2024-01", "2"], ["2024-02", "3"]], {"time": 1}),
        ([["load", "wind"], ["1.5", "2"]], {}),
        ([["name"], ["Graz"]], {}),
    ],
)
def test_time_and_what_to_forecast_are_found(tmp_path: Path, rows: list[list[str]], found: dict[str, Any]) -> None:
    assert time_and_values(written(tmp_path / "mine.csv", rows)).settings == found


def test_a_dash_is_a_missing_value_and_its_column_is_forecast_all_the_same(tmp_path: Path) -> None:
    rows = [
        ["date", "load", "note"],
        *([f"2024-01-{day:02}", "-" if day == 5 else "7.5", "calm"] for day in range(1, 15)),
    ]
    assert time_and_values(written(tmp_path / "mine.csv", rows)).settings == {"time": "date", "columns": ["load"]}


CHANNELS = ["web", "phone"] * 6
STARS = ["4.5", "1", "3"] * 4


def shop(*names: str) -> list[list[str]]:
    """A table with a channel, a verdict in words and one in stars beside each text."""
    columns = {"id": [str(n) for n in range(12)], "channel": CHANNELS, "stars": STARS, "verdict": LABELS, "said": TEXTS}
    return [list(names), *([columns[name][n] for name in names] for n in range(12))]


def test_of_several_columns_that_could_be_the_label_the_user_chooses(tmp_path: Path) -> None:
    path = written(tmp_path / "mine.csv", shop("id", "channel", "said", "verdict"))
    with pytest.raises(DataError) as error:
        text_and_label(path)
    assert "several columns that could be the label: channel (web, phone); verdict (good, bad, so-so)" in str(
        error.value
    )
    assert "choose one, as in data.label=channel" in str(error.value)
    assert text_and_label(path, {"label": "verdict"}) == ({"text": "said", "label": "verdict"}, [])
    with pytest.raises(DataError, match="could be the label"):
        text_and_label(path, {"text": "said"})
    assert text_and_label(path, {"label": "vredict"}) == ({}, [])


def test_a_usual_name_decides_and_the_others_are_told(tmp_path: Path) -> None:
    rows = shop("id", "channel", "said", "verdict")
    path = written(tmp_path / "mine.csv", [["id", "channel", "said", "sentiment"], *rows[1:]])
    settings, remarks = text_and_label(path)
    assert settings == {"text": "said", "label": "sentiment"}
    assert remarks == ["other columns that data.label could choose: channel (web, phone)"]


def test_a_value_is_a_column_of_numbers_that_does_not_count_the_rows(tmp_path: Path) -> None:
    path = written(tmp_path / "mine.csv", shop("id", "channel", "verdict", "stars", "said"))
    assert text_and_label(path, numbers=True) == ({"text": "said", "label": "stars"}, [])
    words = [["text", "label", "grade"], *([TEXTS[n], LABELS[n], STARS[n]] for n in range(12))]
    assert text_and_label(written(tmp_path / "b.csv", words), numbers=True).settings == {
        "text": "text",
        "label": "grade",
    }


@pytest.mark.parametrize("missing", ["-", "n/a", "NaN", ""])
@pytest.mark.parametrize(("shown", "decimal"), [("{}.5", {}), ("1.{:03},5", {"decimal": ","})])
def test_values_that_are_not_known_leave_the_column_as_it_is(
    tmp_path: Path, missing: str, shown: str, decimal: dict[str, str]
) -> None:
    stars = [missing if n == 3 else shown.format(n % 5) for n in range(len(TEXTS))]
    rows = [["said", "mark"], *map(list, zip(TEXTS, stars, strict=True))]
    found = text_and_label(written(tmp_path / "mine.tsv", rows, "\t"), numbers=True)
    assert found.settings == {"text": "said", "label": "mark", **decimal}


def test_values_with_decimal_commas_are_found(tmp_path: Path) -> None:
    rows = [["said", "mark"], *([text, f"{n % 5},5"] for n, text in enumerate(TEXTS))]
    path = written(tmp_path / "mine.csv", rows, ";")
    assert text_and_label(path, numbers=True).settings == {"text": "said", "label": "mark", "decimal": ","}


def test_commas_that_may_mark_thousands_are_asked_about(tmp_path: Path) -> None:
    rows = [["said", "price"], *([text, f"{n + 1},250"] for n, text in enumerate(TEXTS))]
    path = written(tmp_path / "mine.tsv", rows, "\t")
    with pytest.raises(DataError, match=r"has '1,250' in price, where the comma may be decimal .* data\.decimal=','"):
        text_and_label(path, numbers=True)
    assert text_and_label(path, {"decimal": ","}, numbers=True).settings == {"text": "said", "label": "price"}


def test_a_label_of_many_values_is_found_by_its_name_alone(tmp_path: Path) -> None:
    texts = [f"what somebody wrote of film number {number}" for number in range(240)]
    rows = [["said", "category", "channel"], *([text, f"c{n % 60}", "ab"[n % 2]] for n, text in enumerate(texts))]
    assert text_and_label(written(tmp_path / "mine.csv", rows)).settings == {"text": "said", "label": "category"}


def test_a_column_that_is_not_forecast_is_told_with_its_first_text(tmp_path: Path) -> None:
    rows = [["date", "load", "note"], ["2024-01-01", "1", ""], ["2024-01-02", "n/a", "calm"], ["2024-01-03", "3", "-"]]
    settings, remarks = time_and_values(written(tmp_path / "mine.csv", rows))
    assert settings == {"time": "date", "columns": ["load"]}
    assert remarks == ["'note' is left out: line 3 has 'calm', which is no number"]


@pytest.mark.parametrize("missing", ["-", "n/a", "N/A", "null", "None", "?", "", "NaN", "na", "–", "#N/A"])
def test_missing_values_as_people_write_them_leave_no_column_out(tmp_path: Path, missing: str) -> None:
    rows = [["date", "load", "wind"], *([f"2024-01-{n:02}", str(n), missing if n == 7 else "1"] for n in range(1, 15))]
    assert time_and_values(written(tmp_path / "mine.csv", rows)) == ({"time": "date"}, [])


@pytest.mark.parametrize(("shown", "decimal"), [("1.{:03},50", ","), ("1,{:03}.50", ".")])
def test_marks_between_thousands_tell_the_decimal_mark(tmp_path: Path, shown: str, decimal: str) -> None:
    rows = [["said", "price"], *([text, shown.format(n)] for n, text in enumerate(TEXTS))]
    settings, remarks = text_and_label(written(tmp_path / "mine.tsv", rows, "\t"), numbers=True)
    assert settings == {"text": "said", "label": "price", "decimal": decimal}
    assert remarks == [f"price has marks between thousands, as in {shown.format(0)}, and is read so"]


def test_a_column_with_marks_between_thousands_is_forecast(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("day,load,note\n" + '2016-07-01,"1.049,50",x\n2016-07-02,"950,00",y\n' * 6, encoding="utf-8")
    assert time_and_values(path).settings == {"time": "day", "columns": ["load"]}


def test_the_names_of_many_columns_are_not_read_again_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def names(sample: Sample) -> list[str]:
        asked.append(len(sample.top))
        return sample.top

    monkeypatch.setattr(Sample, "names", property(names))
    time_and_values(written(tmp_path / "mine.csv", [["load"] * 97, ["low"] * 97]))
    assert 1 <= len(asked) < 9
