from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style

from seqwright.errors import UserError
from seqwright.pictures import Array
from seqwright.pictures.terminal import TreeLine, family_tree, fitted_label, heat_map

WEIGHTS = np.array([[1.0, 0.0, 0.0], [0.25, 0.5, 0.25]])


def softmax(*shape: int) -> Array:
    grown = np.exp(np.random.default_rng(0).normal(size=shape))
    result: Array = grown / grown.sum(axis=-1, keepdims=True)
    return result


def drawn(weights: Array, source: list[str], target: list[str], width: int = 80) -> str:
    return heat_map(weights, source, target, width=width, colour=False).plain


def test_a_map_without_colour_is_made_of_shades() -> None:
    expected = [
        "        the dog sleeps ",
        "   Hund ████           ",
        "schläft ░░░░▒▒▒▒░░░░░░░",
        "0   ░░▒▒▓▓██ 1",
    ]
    assert drawn(WEIGHTS, ["the", "dog", "sleeps"], ["Hund", "schläft"]).split("\n") == expected


def test_words_that_do_not_fit_side_by_side_are_numbered_and_listed() -> None:
    lines = drawn(np.eye(2), ["the", "dogs"], ["a", "b"], width=9).split("\n")
    assert lines[:3] == ["  1 2 ", "a ██  ", "b   ██"]
    assert lines[4:] == ["1 the", "2 dogs"]


def test_of_many_columns_those_that_do_not_fit_go_on_below() -> None:
    weights_TS = np.zeros((2, 31))
    weights_TS[1, 30] = 1
    lines = drawn(weights_TS, [f"word{place}" for place in range(31)], ["a", "b"], width=38).split("\n")
    assert [line.split()[0] for line in lines[:9:3]] == ["1", "13", "25"]
    assert lines[8] == "b " + " " * 18 + "███"
    listed = " ".join(lines[10:]).split()
    assert listed == [part for place in range(31) for part in (str(place + 1), f"word{place}")]


def test_a_faint_map_is_drawn_on_a_finer_scale() -> None:
    weights_TS = np.zeros((1, 11))
    weights_TS[0, 3] = 0.25
    lines = drawn(weights_TS, ["w"] * 11, ["a"]).split("\n")
    assert lines[1] == "a " + " " * 6 + "██" + " " * 14
    assert lines[2].endswith(" 0.25")


@pytest.mark.parametrize("width", [20, 37, 80, 113])
@pytest.mark.parametrize(
    "source", [["昨日", "は", "東京", "で"] * 5, ["Wirtschaftsraum", "e\u0301te\u0301"] * 11, ["a" * 90]]
)
def test_no_line_is_wider_than_the_terminal(width: int, source: list[str]) -> None:
    for line in drawn(softmax(3, len(source)), source, ["ein", "Donaudampfschiff" * 3, "友達"], width).split("\n"):
        assert cell_len(line) <= width


def test_wide_characters_keep_the_columns_aligned() -> None:
    lines = drawn(np.eye(3), ["昨日", "a", "は"], ["友達", "in", "東"], width=40).split("\n")
    assert [cell_len(line) for line in lines[:4]] == [cell_len(lines[0])] * 4
    start = cell_len("友達 ")
    assert lines[1] == "友達 █████     ", "the first word takes its four cells and a space"
    assert lines[3] == " " * 2 + "東 " + " " * (cell_len(lines[0]) - start - 3) + "███"


def test_a_heavier_weight_is_lighter_on_the_screen() -> None:
    text = heat_map(np.array([[0.1, 0.2, 0.7]]), ["a", "b", "c"], ["d"], width=80, colour=True)
    grounds = [Style.parse(str(span.style)).bgcolor for span in text.spans[:3]]
    light = [sum(ground.get_truecolor()) for ground in grounds if ground]
    assert light[0] < light[1] < light[2]
    assert not set("░▒▓█") & set(text.plain)


def test_a_coloured_map_prints_with_its_colours() -> None:
    console = Console(width=40, force_terminal=True, color_system="truecolor")
    with console.capture() as captured:
        console.print(heat_map(WEIGHTS, ["a", "b", "c"], ["[bold]d", "e"], width=40, colour=True))
    assert "\x1b[48;2;" in captured.get()
    assert "[bold]d" in captured.get()


def test_words_cannot_command_the_terminal() -> None:
    assert "\x1b" not in drawn(np.eye(2), ["\x1b[2J", "b"], ["\x1b]0;x\x07", "c\n"])


@pytest.mark.parametrize(
    ("label", "cells", "shown"),
    [
        ("Hund", 4, "Hund"),
        ("Hunde", 4, "Hun…"),
        ("東京都", 5, "東京…"),
        ("東京都", 4, "東…"),
        ("e\u0301te\u0301s", 3, "e\u0301t…"),
    ],
)
def test_labels_are_shortened_by_cells(label: str, cells: int, shown: str) -> None:
    assert fitted_label(label, cells) == shown


def test_words_that_do_not_fit_the_weights_are_refused() -> None:
    with pytest.raises(UserError, match=r"shape \(2, 3\) .* 3 target and 2 source words"):
        drawn(WEIGHTS, ["a", "b"], ["a", "b", "c"])


def test_the_family_is_drawn_by_year() -> None:
    rows: list[tuple[Any, ...]] = [
        (2017, "transformer", "seq2seq", True, "transformer, moe"),
        (1948, "n-gram", None, True),
        (2018, "gpt", "transformer", True),
        (2016, "bytenet", "seq2seq", False),
        (2014, "seq2seq", "n-gram", True),
        (2017, "convs2s", "bytenet", True),
        (1969, "image", None, True),
    ]
    assert family_tree([TreeLine(*row) for row in rows]).split("\n") == [
        "1948  n-gram",
        "2014  └── seq2seq",
        "2016      ├── bytenet  (not here yet)",
        "2017      │   └── convs2s",
        "2017      └── transformer  transformer, moe",
        "2018          └── gpt",
        "1969  image",
    ]


def test_an_unknown_parent_is_named() -> None:
    with pytest.raises(UserError, match=r"'gpt' .* 'transfromer'"):
        family_tree([TreeLine(2018, "gpt", "transfromer", available=True)])


def test_nobody_is_their_own_ancestor() -> None:
    with pytest.raises(UserError, match="own ancestors"):
        family_tree(
            [
                TreeLine(1948, "n-gram", None, available=True),
                TreeLine(2000, "a", "b", available=True),
                TreeLine(2001, "b", "a", available=True),
            ]
        )
