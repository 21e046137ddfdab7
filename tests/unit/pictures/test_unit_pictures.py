from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from seqwright.errors import UserError
from seqwright.pictures import save
from seqwright.pictures.units import (
    SIGNED,
    Course,
    UnitsPanel,
    colour_of,
    coloured_text,
    lines_of,
    signed,
    state_map,
    unit_lines,
)
from seqwright.pictures.units_page import units_page

PIECES = ["The", " cat", " sat", ".", "\n"]
VALUES = np.array([-1.0, -0.4, 0.0, 0.6, 1.0])


def rows(pieces: list[str], widest: int) -> list[str]:
    return ["".join(letter.text for letter in line) for line in lines_of(pieces, widest)]


def test_a_text_is_broken_where_it_breaks_and_after_a_space_where_a_line_is_full() -> None:
    assert rows(["one two", "\n", "three"], 84) == ["one two↵", "three"]
    assert rows([*"one two three"], 9) == ["one two ", "three"]
    assert rows(["abcdefghij"], 4) == ["abcd", "efgh", "ij"]
    assert rows(["ada\n", "bob\n"], 84) == ["ada", "bob"], "a line break that ends a token is not a token of its own"


def test_every_letter_knows_its_cell_and_its_token() -> None:
    (line,) = lines_of(["a", "e\u0301b", "中c"])
    assert [(letter.text, letter.cell, letter.cells, letter.token) for letter in line] == [
        ("a", 0, 1, 0),
        ("e\u0301", 1, 1, 1),
        ("b", 2, 1, 1),
        ("中", 3, 2, 2),
        ("c", 5, 1, 2),
    ]
    first, second = lines_of([*"ab cd"], 4)
    assert [(letter.text, letter.cell, letter.token) for letter in second] == [("c", 0, 3), ("d", 1, 4)]
    assert [letter.token for letter in first] == [0, 1, 2]


def test_below_zero_is_blue_and_above_it_is_red_as_in_the_colour_map() -> None:
    assert colour_of(0) == (255, 255, 255)
    assert colour_of(-1) == colour_of(-7) == tuple(round(255 * part) for part in to_rgb(SIGNED[0]))
    assert colour_of(1) == tuple(round(255 * part) for part in to_rgb(SIGNED[-1]))
    for value in np.linspace(-1, 1, 37):
        wanted = [255 * part for part in signed()((value + 1) / 2)[:3]]
        assert np.abs(np.subtract(colour_of(value), wanted)).max() < 3


def test_a_map_has_a_panel_for_all_that_was_heard_and_names_units_and_tokens() -> None:
    value_UT = np.stack([VALUES, -VALUES])
    panels = [
        UnitsPanel("hidden state", [3, 17], value_UT, True),
        UnitsPanel("update gate", [3, 17], np.abs(value_UT), False),
    ]
    figure: Any = state_map(panels, PIECES, [1.0, 2, 3, 4, 5], title="mine")
    bits, hidden, gate, *bars = figure.axes
    assert len(bars) == 2
    assert [bar.get_height() for bar in bits.patches] == [1, 2, 3, 4, 5]
    assert [axes.get_title(loc="left") for axes in (bits, hidden, gate)] == [
        "surprisal in bits",
        "hidden state",
        "update gate",
    ]
    assert [label.get_text() for label in hidden.get_yticklabels()] == ["3", "17"]
    assert [label.get_text() for label in gate.get_xticklabels()] == ["The", "cat", "sat", ".", "↵"]
    assert np.array_equal(hidden.images[0].get_array(), value_UT)
    assert (hidden.images[0].get_clim(), gate.images[0].get_clim()) == ((-1, 1), (0, 1))


def test_a_coloured_text_has_every_letter_on_its_colour_and_underlines_what_is_on(tmp_path: Path) -> None:
    on_T = np.array([0, 1, 1, 0, 0.0])
    figure: Any = coloured_text(PIECES, on_T, [Course("unit 1:3", VALUES), Course("unit 1:4", -VALUES)], title="mine")
    first, second, _ = figure.axes
    assert "".join(text.get_text() for text in first.texts) == "Thecatsat.↵"
    grounds, underlines = first.collections
    colours = grounds.get_facecolors()
    assert len(colours) == len("The cat sat.↵")
    assert np.allclose(colours[0], signed()(0.0))
    assert np.allclose(colours[-1], signed()(1.0))
    assert len(underlines.get_paths()) == len(" cat sat")
    assert np.allclose(second.collections[0].get_facecolors()[0], signed()(1.0))
    assert [text.get_text() for text in figure.texts] == ["unit 1:3", "unit 1:4", "mine"]
    png, svg = save(figure, tmp_path / "units")
    assert png.stat().st_size > 5_000
    assert "unit 1:4" in svg.read_text(encoding="utf-8")


def test_the_page_escapes_the_text_and_needs_nothing_else() -> None:
    pieces = ["<b>", " & {x}", "\n"]
    page = units_page(pieces, np.array([0.0, 1, 0]), [Course("unit 1:3 <i>", np.array([-1.0, 0.25, 1]))])
    assert "<b>" not in page
    assert "<i>" not in page
    assert "&lt;b&gt;</span>" in page
    assert 'class="on"' in page
    assert 'title="0.25"> &amp; {x}</span>' in page
    assert "://" not in page
    assert "<script" not in page


def test_the_terminal_shows_marks_where_it_has_no_colours() -> None:
    plain = unit_lines(PIECES, VALUES, width=80, colour=False).plain
    assert plain == "The cat sat.↵\n" + "===" + "----" + "    " + "+" + "#" + "\n"
    coloured = unit_lines(PIECES, VALUES, width=80, colour=True)
    assert coloured.plain == "The cat sat.↵\n"
    assert any("rgb(33,102,172)" in str(span.style) for span in coloured.spans)


def test_values_that_are_no_match_for_the_tokens_are_refused() -> None:
    with pytest.raises(UserError, match="a value for every token"):
        coloured_text(PIECES, np.zeros(5), [Course("unit", VALUES[:2])])
    with pytest.raises(UserError, match="a value for every token"):
        state_map([UnitsPanel("hidden state", [1], VALUES[None, :2], True)], PIECES)
    with pytest.raises(UserError, match="at least one panel"):
        state_map([], PIECES)
