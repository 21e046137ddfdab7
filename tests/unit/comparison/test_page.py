"""The page of a comparison: its tables fit a window without being moved sideways."""

import copy
import json
import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath

from seqwright.comparison.page import STYLE, written_page
from seqwright.comparison.table import tabled
from seqwright.recipe import read_recipe

WINDOW, REM = 1100, 16  # pixels
RESULTS = Path(__file__).resolve().parents[3] / "results"
LADDER: dict[str, Any] = json.loads((RESULTS / "ladder.json").read_text(encoding="utf-8"))


def rems(pattern: str) -> float:
    """A length of the page's style, in pixels."""
    found = re.search(pattern, STYLE)
    assert found is not None, pattern
    return REM * float(found[1])


def wide(text: str, *, bold: bool = False) -> float:
    """Pixels of a text in the font of a table, or in one that is as wide."""
    size = rems(r"tabular-nums; font-size: (\S+)rem")
    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", size=size)
    width, _, _ = TextToPath().get_text_width_height_descent(text, font, ismath=False)
    return float(width)


def widths(page: str) -> list[float]:
    """Of each table: the words of titles may stand below each other, numbers may not, names are as narrow as can be."""
    padding, name = 2 * rems(r"th, td { padding: \S+rem (\S+)rem"), rems(r"min-width: (\S+)rem")
    found = []
    for table in re.findall(r"<table>.*?</table>", page, re.S):
        titles = re.findall(r'<th scope="col">(.*?)</th>', table)
        rows = [
            re.findall(r"<td( class=\"best\")?>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)[1:]
        ]
        columns = [
            max(
                *(wide(unescape(word), bold=True) for word in title.split()),
                *(wide(unescape(text), bold=bool(best)) for best, text in column),
            )
            for title, column in zip(titles[1:], zip(*rows, strict=True), strict=True)
        ]
        found.append(name + padding + sum(columns) + padding * len(columns))
    return found


def classification() -> dict[str, Any]:
    """Four scores over five seeds, each with an interval, a p and a best row: as many columns as there can be."""
    found = copy.deepcopy(LADDER)
    found["shown"], found["lower_is_better"] = ["accuracy", "macro_f1", "f1", "matthews"], []
    for row in found["rows"]:
        sure = {"interval": 10.2468, "p": 0.0001, "best": True, "test": "McNemar's exact test"}
        row["scores"] = {name: {"mean": 88.8888, "deviation": 10.8888, **sure} for name in found["shown"]}
    return found


@pytest.mark.parametrize("found", [LADDER, classification()], ids=["ladder", "classification"])
def test_the_tables_fit_a_window(found: dict[str, Any]) -> None:
    plan: Any = SimpleNamespace(rows=[SimpleNamespace(name="elsewhere", recipe=read_recipe("sst2"))])
    tables = widths(written_page(plan, found, tabled(found)))
    assert len(tables) == (2 if found is LADDER else 3)
    assert max(tables) <= WINDOW - 2 * rems(r"max-width: 84rem; padding: (\S+)rem")
