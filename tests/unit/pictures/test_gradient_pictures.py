from typing import Any

import numpy as np
import pytest

from seqwright.errors import UserError
from seqwright.pictures.gradients import HIGHEST, LOWEST, Reach, gradient_picture
from seqwright.pictures.initialisations import Beginning, initialisation_picture

K = np.arange(11)
ROWS_RK = np.stack([0.8**K, 0.7**K, 0.5**K])


def test_each_line_is_the_median_over_the_rows_in_the_panel_of_its_layer() -> None:
    reaches = [
        Reach("a", 1, True, ROWS_RK),
        Reach("a", 2, True, ROWS_RK**2),
        Reach("a", 1, False, ROWS_RK**3),
        Reach("b", 1, True, ROWS_RK[:, :6]),
    ]
    figure: Any = gradient_picture(reaches)
    first, second = figure.axes
    trained, begun, other, explodes, vanishes = first.lines
    np.testing.assert_allclose(trained.get_ydata(), 0.7**K)
    np.testing.assert_allclose(begun.get_ydata(), 0.7 ** (3 * K))
    assert len(other.get_ydata()) == 6
    assert trained.get_color() == begun.get_color() != other.get_color()
    assert not trained.is_dashed()
    assert begun.is_dashed()
    np.testing.assert_allclose(explodes.get_ydata(), 1.1**K)
    np.testing.assert_allclose(vanishes.get_ydata(), 0.9**K)
    np.testing.assert_allclose(second.lines[0].get_ydata(), 0.7 ** (2 * K))
    assert first.get_yscale() == "log"
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["layer 1", "layer 2"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    assert "dashed: the weights it began with" in figure.get_supxlabel()


def test_the_scale_ends_where_numbers_lose_their_meaning() -> None:
    figure: Any = gradient_picture(
        [Reach("a", 1, True, np.stack([1e-4 ** K.astype(float), 0.0 * K, 1e5 ** K.astype(float)]))]
    )
    assert figure.axes[0].get_ylim() == (LOWEST, HIGHEST)


def test_the_ways_to_begin_are_drawn_beside_one_another() -> None:
    spread_TQ = np.tile([-0.9, -0.4, 0.4, 0.9], (7, 1))
    ways = [
        Beginning("orthogonal", " (this run's)", np.full(7, 0.1), spread_TQ, 0.9**K),
        Beginning("too wide", "", np.full(7, 0.9), spread_TQ, 1.1**K),
    ]
    figure: Any = initialisation_picture(ways, title="rnn of width 5")
    share, reach, first, second = figure.axes
    assert [float(line.get_ydata()[0]) for line in share.lines] == [10, 90]
    np.testing.assert_allclose(reach.lines[1].get_ydata(), 1.1**K)
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["orthogonal", "too wide"]
    outer, inner = (np.asarray(band.get_paths()[0].vertices)[:, 1] for band in first.collections)
    assert (outer.min(), outer.max(), inner.min(), inner.max()) == (-0.9, 0.9, -0.4, 0.4)


def test_nothing_is_not_drawn() -> None:
    with pytest.raises(UserError, match="at least one layer"):
        gradient_picture([])
    with pytest.raises(UserError, match="at least one"):
        initialisation_picture([])
