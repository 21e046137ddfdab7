"""The picture of which label was taken for which."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray

from seqwright.errors import UserError
from seqwright.pictures import save
from seqwright.pictures.confusion import confusion_table

COUNTS = np.array([[953, 8], [9, 151]])


def drawn(figure: Figure) -> NDArray[np.float64]:
    """The shares that are drawn as shades."""
    return np.asarray(figure.axes[0].images[0].get_array(), dtype=np.float64)


def texts(figure: Figure) -> list[str]:
    figure.canvas.draw()
    return [text.get_text() for text in figure.axes[0].texts]


def table(classes: int) -> NDArray[np.int64]:
    return np.random.default_rng(1).integers(0, 50, (classes, classes))


def test_a_shade_is_the_share_of_the_row() -> None:
    np.testing.assert_allclose(drawn(confusion_table(COUNTS, ["ham", "spam"])).sum(axis=1), 1)
    assert drawn(confusion_table(COUNTS, ["ham", "spam"]))[1, 0] == pytest.approx(9 / 160)


def test_a_cell_says_count_and_share() -> None:
    assert texts(confusion_table(COUNTS, ["ham", "spam"])) == ["953\n99.2 %", "8\n0.8 %", "9\n5.6 %", "151\n94.4 %"]


def test_rows_are_true_and_columns_predicted() -> None:
    axes = confusion_table(COUNTS, ["ham", "spam"], title="SMS").axes[0]
    assert (axes.get_ylabel(), axes.get_xlabel(), axes.get_title(loc="left")) == ("true", "predicted", "SMS")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["ham", "spam"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["ham", "spam"]


def test_a_class_that_does_not_occur_is_white() -> None:
    assert drawn(confusion_table(np.array([[3, 0], [0, 0]]), ["a", "b"])).tolist() == [[1, 0], [0, 0]]


def test_with_many_classes_counts_stand_alone_then_labels_then_nothing() -> None:
    assert all("%" not in text for text in texts(confusion_table(table(23), [f"l{i}" for i in range(23)])))
    hundred = confusion_table(table(101), [f"l{i}" for i in range(101)])
    assert texts(hundred) == []
    assert len(hundred.axes[0].get_yticklabels()) == 101
    assert confusion_table(table(211), [f"l{i}" for i in range(211)]).axes[0].get_yticklabels() == []


@pytest.mark.parametrize("labels", [["ham", "spam"], ["a label of a good many words", "заказ", "$5"]])
def test_nothing_runs_out_of_the_picture(labels: list[str]) -> None:
    figure = confusion_table(table(len(labels)), labels, title="what was taken for what")
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    axes = figure.axes[0]
    for text in [*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels(), axes.xaxis.label, axes.yaxis.label]:
        box = text.get_window_extent()
        assert -1 <= box.x0 <= box.x1 <= width + 1
        assert -1 <= box.y0 <= box.y1 <= height + 1


def test_the_same_table_makes_the_same_bytes(tmp_path: Path) -> None:
    one, other = (save(confusion_table(COUNTS, ["ham", "spam"]), tmp_path / name) for name in ("one", "other"))
    assert [path.suffix for path in one] == [".png", ".svg"]
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_a_row_and_a_column_for_each_label_are_needed() -> None:
    with pytest.raises(UserError, match="with 3 labels; it needs a row and a column for each"):
        confusion_table(COUNTS, ["a", "b", "c"])
