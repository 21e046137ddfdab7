"""The picture of values: every text a point, at its value and at the predicted one."""

from pathlib import Path

import numpy as np
import pytest

from seqwright.errors import UserError
from seqwright.pictures import save
from seqwright.pictures.values import value_scatter

TRUE, PREDICTED = [0.0, 2.5, 5.0], [0.5, -1.0, 4.0]


def test_every_text_is_a_point_at_its_value() -> None:
    (axes,) = value_scatter(PREDICTED, TRUE).axes
    points = np.asarray(axes.collections[0].get_offsets())
    assert points.tolist() == [[true, said] for true, said in zip(TRUE, PREDICTED, strict=True)]
    assert axes.get_xlabel() == "true"
    assert axes.get_ylabel() == "predicted"
    low, high = axes.get_xlim()
    assert (low, high) == axes.get_ylim()
    assert low < -1
    assert high > 5


def test_the_line_is_where_both_are_equal() -> None:
    (line,) = value_scatter(PREDICTED, TRUE).axes[0].lines
    assert np.array_equal(np.asarray(line.get_xdata()), np.asarray(line.get_ydata()))


def test_it_is_saved_though_all_ratings_are_alike(tmp_path: Path) -> None:
    paths = save(value_scatter([1.0, 1.0], [1.0, 1.0], title="a run"), tmp_path / "values")
    assert [path.name for path in paths] == ["values.png", "values.svg"]


def test_answers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UserError, match="1 predictions for 3 values"):
        value_scatter([1.0], TRUE)
