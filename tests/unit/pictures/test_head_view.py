from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from seqwright.pictures import Array, save
from seqwright.pictures.attention import AttentionMap
from seqwright.pictures.head_view import FAINT, head_colours, head_view


def a_map(layers: int, heads: int, rows: int, columns: int) -> AttentionMap:
    grown = np.exp(3 * np.random.default_rng(0).normal(size=(layers, heads, rows, columns)))
    weights: Array = grown / grown.sum(axis=-1, keepdims=True)
    words = [f"r{number}" for number in range(rows)], [f"c{number}" for number in range(columns)]
    return AttentionMap(weights, *words, "who reads", "what is read")


def lines_of(figure: Figure) -> tuple[Array, Array]:
    """The colours of all lines, and where they begin and end."""
    (lines,) = [found for axes in figure.axes for found in axes.collections if isinstance(found, LineCollection)]
    return np.asarray(lines.get_colors()), np.asarray(lines.get_segments())


def test_every_weight_that_can_be_seen_is_a_line_in_the_colour_of_its_head() -> None:
    kind = a_map(2, 3, 5, 7)
    shades, segments = lines_of(head_view(kind, 1, range(3)))
    expected = sorted(
        (round(float(weight), 6), to_rgba(head_colours(3)[head])[:3], row, column)
        for (head, row, column), weight in np.ndenumerate(kind.weights[1])
        if weight >= FAINT
    )
    found = sorted(
        (round(float(shade[3]), 6), tuple(shade[:3]), int(start[1]), int(end[1]))
        for shade, (start, end) in zip(shades, segments, strict=True)
    )
    assert [each[2:] for each in found] == [each[2:] for each in expected]
    np.testing.assert_allclose([each[0] for each in found], [each[0] for each in expected])
    np.testing.assert_allclose([each[1] for each in found], [each[1] for each in expected])
    assert {tuple(x for x, _ in segment) for segment in segments} == {(0.0, 1.0)}


def test_the_strongest_line_is_drawn_last() -> None:
    shades, _ = lines_of(head_view(a_map(1, 2, 5, 7), 0, range(2)))
    assert list(shades[:, 3]) == sorted(shades[:, 3])


def test_one_head_keeps_its_number_and_its_colour() -> None:
    figure = head_view(a_map(1, 5, 3, 4), 0, [3], title="a title")
    said = {text.get_text() for text in figure.texts} | {text.get_text() for axes in figure.axes for text in axes.texts}
    assert {"a title", "head", "4", "who reads", "what is read", "r2", "c3"} <= said
    assert "3" not in said
    assert {tuple(shade[:3]) for shade in lines_of(figure)[0]} == {to_rgba(head_colours(5)[3])[:3]}


@pytest.mark.parametrize("count", [1, 12, 13, 96])
def test_no_two_heads_share_a_colour(count: int) -> None:
    assert len(set(head_colours(count))) == count


def test_the_same_view_is_the_same_bytes(tmp_path: Path) -> None:
    first, second = (save(head_view(a_map(1, 2, 3, 4), 0, range(2)), tmp_path / name) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
