"""The picture of right answers over the number of examples."""

from itertools import pairwise
from typing import Any

from seqwright.pictures.few_shot import NEAR, shots_picture

SHARES = {"stars": [0.1, 0.4, 0.98], "opposites": [0.0, 0.2, 0.97], "all": [0.05, 0.3, 0.975]}


def axes_of(**options: Any) -> Any:
    figure = shots_picture([0, 1, 8], SHARES, **options)
    figure.canvas.draw()
    return figure.axes[0]


def test_every_kind_has_its_line_over_the_numbers_of_examples() -> None:
    axes = axes_of()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "1", "8"]
    drawn = [
        line.get_ydata().tolist() if hasattr(line.get_ydata(), "tolist") else list(line.get_ydata())
        for line in axes.lines
    ]
    assert drawn == [[100 * share for share in SHARES[kind]] for kind in ("stars", "opposites", "all")]
    assert axes.get_ylabel() == "right answers (%)"


def test_labels_do_not_touch() -> None:
    heights = sorted(text.xy[1] for text in axes_of().texts)
    assert all(above - below >= NEAR - 1e-9 for below, above in pairwise(heights))
    assert [text.get_text() for text in axes_of().texts] == ["stars  98 %", "opposites  97 %", "all  98 %"]


def test_chance_is_drawn_where_it_is_known() -> None:
    assert [text.get_text() for text in axes_of(chance=0.07).texts][-1] == "chance"
