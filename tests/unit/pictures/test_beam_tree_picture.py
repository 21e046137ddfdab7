"""Drawings of a beam search and of alignments side by side: nothing runs into anything, nothing of the user is code."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.text import Text

from seqwright.errors import UserError
from seqwright.pictures.alignments import AlignmentPanel, side_by_side
from seqwright.pictures.alignments_page import alignments_page
from seqwright.pictures.beam_tree import Twig, beam_tree
from seqwright.pictures.beam_tree_page import beam_tree_page

WORDS = ["the", "a", "extraordinarily", "dog", "</s>", "sleeps", "on", "<script>", "$5", "red"]


def twigs(steps: int = 20, width: int = 5) -> list[Twig]:
    """A made-up search: five kept, five dropped at each step, from the fourth on one finished."""
    found: list[Twig] = []
    living: list[int | None] = [None]
    for step in range(1, steps + 1):
        now: list[int | None] = []
        for rank in range(2 * width):
            finished = rank == 2 and step > 3
            fate = "finished" if finished else "kept" if len(now) < width else "dropped"
            if fate == "kept":
                now.append(len(found))
            word = "</s>" if finished else WORDS[(rank * step) % len(WORDS)]
            found.append(Twig(living[rank % len(living)], step, word, -0.3 * step, -0.1 * step - rank, 0.5, fate))
        living = now
    return found


def test_words_of_a_tree_do_not_run_into_each_other() -> None:
    every = twigs()
    figure = beam_tree(every, [0, 10], title="beam search")
    drawn = {text.get_gid(): text.get_window_extent() for text in figure.axes[0].texts if text.get_gid()}
    assert len(drawn) == len(every)
    for step in range(1, 21):
        column = [drawn[f"twig-{number}"] for number, twig in enumerate(every) if twig.step == step]
        for above, below in pairwise(column):
            assert above.y0 > below.y1
        if step < 20:
            later = [drawn[f"twig-{number}"] for number, twig in enumerate(every) if twig.step == step + 1]
            assert max(box.x1 for box in column) < min(box.x0 for box in later)
    whole = figure.get_window_extent()
    for box in drawn.values():
        assert whole.x0 <= box.x0
        assert box.x1 <= whole.x1
        assert whole.y0 <= box.y0
        assert box.y1 <= whole.y1


def test_a_branch_shows_log_probabilities_and_its_end_the_score() -> None:
    every = twigs(5)
    drawn = beam_tree(every, [0]).axes[0].texts
    words = {str(text.get_gid()): text.get_text() for text in drawn if text.get_gid()}
    below = [text.get_text() for text in drawn if text.get_fontsize() == 5.5]
    assert below == [f"{twig.log_probability:.2f}" for twig in every]
    for number, twig in enumerate(every):
        assert (f"{twig.score:.2f}" in words[f"twig-{number}"]) == (twig.fate == "finished")
    page = beam_tree_page(every, [0], ["x"] * len(every), title="", source="")
    assert page.count("; score") == sum(twig.fate == "finished" for twig in every)


def test_a_page_of_a_tree_needs_nothing_and_runs_nothing_of_the_user() -> None:
    every = twigs(5)
    texts = [f"<img src=x> {number}" for number in range(len(every))]
    page = beam_tree_page(every, [0], texts, title="a <b> c", source="<script>alert(1)</script>")
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("<title>") == len(every) + 1
    assert page.index("-2.400") < page.index("-2.500"), "the best that finished comes first"


def test_a_tree_of_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="no beam search to draw"):
        beam_tree([], [])


def panels() -> list[AlignmentPanel]:
    draw = np.random.default_rng(1)
    sizes = [(4, 5), (7, 3)]
    return [
        AlignmentPanel(
            draw.dirichlet(np.ones(columns), size=rows),
            [f"source{number}" for number in range(columns)],
            [f"target{number}" for number in range(rows)],
            (f"runs/number-{rows}", f"→ {rows} a translation that is longer than its map", "entropy 1.00 bits"),
        )
        for rows, columns in sizes
    ]


def test_alignments_stand_side_by_side_without_touching() -> None:
    figure = side_by_side(panels(), title="alignments", row_axis="target word", column_axis="source word")
    first, second, bar = figure.axes
    assert first.get_window_extent().x1 < min(label.get_window_extent().x0 for label in second.get_yticklabels())
    assert second.get_window_extent().x1 < bar.get_window_extent().x0
    captions: dict[str, Text] = {text.get_text(): text for text in figure.texts}
    boxes = [text.get_window_extent() for text in captions.values() if "translation" in text.get_text()]
    whole = figure.get_window_extent()
    assert all(box.x1 <= whole.x1 for box in boxes)
    assert len(boxes) == 2
    assert boxes[0].x1 < captions["runs/number-7"].get_window_extent().x0
    colours = [axes.collections[0].get_clim() for axes in (first, second)]
    assert colours[0] == colours[1], "one scale for all"


def test_a_page_of_alignments_has_every_weight() -> None:
    some = panels()
    page = alignments_page(some, title="<i>", source="a & b")
    assert page.count("<td style") == sum(panel.weights_TS.size for panel in some)
    assert f"target3 ← source4: {some[0].weights_TS[3, 4]:.3f}" in page
    assert "<i>" not in page
    assert "a &amp; b" in page
