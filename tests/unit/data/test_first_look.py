"""What the columns of a table probably are."""

import json
from pathlib import Path
from typing import Any

import pytest

from seqwright.data.first_look import text_and_label, time_and_values

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
    assert text_and_label(written(tmp_path / "mine.csv", rows)) == found
    assert text_and_label(written(tmp_path / "mine.tsv", rows, "\t")) == found


def test_keys_are_found_like_columns(tmp_path: Path) -> None:
    records = [{"n": n, "grade": n % 3, "essay": text} for n, text in enumerate(TEXTS)]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    assert text_and_label(path) == {"text": "essay", "label": "grade"}
    path.write_text("[1]\n", encoding="utf-8")
    assert text_and_label(path) == {}


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
    assert time_and_values(written(tmp_path / "mine.csv", rows)) == found


def test_a_dash_is_a_missing_value_and_its_column_is_forecast_all_the_same(tmp_path: Path) -> None:
    rows = [
        ["date", "load", "note"],
        *([f"2024-01-{day:02}", "-" if day == 5 else "7.5", "calm"] for day in range(1, 15)),
    ]
    assert time_and_values(written(tmp_path / "mine.csv", rows)) == {"time": "date", "columns": ["load"]}
