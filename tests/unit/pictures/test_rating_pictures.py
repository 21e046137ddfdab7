"""The picture of ratings: every text a point, at its rating and at what was said of it."""

from pathlib import Path

import numpy as np
import pytest

from seqwright.errors import UserError
from seqwright.pictures import save
from seqwright.pictures.ratings import rating_cloud

TRUE, SAID = [0.0, 2.5, 5.0], [0.5, -1.0, 4.0]


def test_every_text_is_a_point_at_its_rating() -> None:
    (axes,) = rating_cloud(SAID, TRUE).axes
    points = np.asarray(axes.collections[0].get_offsets())
    assert points.tolist() == [[true, said] for true, said in zip(TRUE, SAID, strict=True)]
    assert axes.get_xlabel() == "rating"
    assert axes.get_ylabel() == "said"
    low, high = axes.get_xlim()
    assert (low, high) == axes.get_ylim()
    assert low < -1
    assert high > 5


def test_the_line_is_where_both_are_equal() -> None:
    (line,) = rating_cloud(SAID, TRUE).axes[0].lines
    assert np.array_equal(np.asarray(line.get_xdata()), np.asarray(line.get_ydata()))


def test_it_is_saved_though_all_ratings_are_alike(tmp_path: Path) -> None:
    paths = save(rating_cloud([1.0, 1.0], [1.0, 1.0], title="a run"), tmp_path / "ratings")
    assert [path.name for path in paths] == ["ratings.png", "ratings.svg"]


def test_answers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UserError, match="1 answers for 3 ratings"):
        rating_cloud([1.0], TRUE)
