"""The picture of what layers cost against their size."""

from itertools import pairwise
from typing import Any

import pytest

from seqwright.errors import UserError
from seqwright.pictures.complexity import NEAR, CostPanel, Curve, complexity_picture

SIZES = [4, 8, 16]
PANELS = [
    CostPanel(
        "milliseconds",
        "length",
        [
            Curve("attention", SIZES, [1.0, 3.0, 11.0], [4.0, 16.0, 64.0], 1.73),
            Curve("recurrent", SIZES, [5.0, 8.0, 11.1], [4.0, 8.0, 16.0], 0.58),
        ],
    ),
    CostPanel("MB", "length", [Curve("attention", SIZES, [1.0, 2.0, 4.0], [1.0, 2.0, 4.0], 1.0)]),
]


def axes_of(number: int) -> Any:
    return complexity_picture(PANELS).axes[number]


def test_theory_passes_through_the_largest_size() -> None:
    measured, theory = axes_of(0).lines[:2]
    assert list(measured.get_ydata()) == [1.0, 3.0, 11.0]
    assert list(theory.get_ydata()) == pytest.approx([11 / 16, 11 / 4, 11.0])
    assert (axes_of(1).get_xscale(), axes_of(1).get_yscale()) == ("log", "log")


def test_every_size_is_named_and_exponents_do_not_touch() -> None:
    axes = axes_of(0)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["4", "8", "16"]
    assert {text.get_text() for text in axes.texts} == {"1.73", "0.58"}
    heights = sorted(text.xy[1] for text in axes.texts)
    assert all(above - below >= NEAR - 1e-9 for below, above in pairwise(heights))


def test_the_legend_names_every_layer_once() -> None:
    (legend,) = complexity_picture(PANELS).legends
    assert [text.get_text() for text in legend.get_texts()] == ["attention", "recurrent", "theory, by the table"]


def test_nothing_cannot_be_drawn() -> None:
    with pytest.raises(UserError, match="nothing measured"):
        complexity_picture([])
