import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from seqwright.errors import UserError
from seqwright.pictures.curves import loss_curve, series, smoothed

Journal = list[dict[str, Any]]


def training(steps: Iterable[int]) -> Journal:
    return [{"step": step, "event": "train", "loss": 5 / step, "rate": 1e-3, "norm": 0.5} for step in steps]


def labels(figure: Figure) -> list[str]:
    figure.canvas.draw()
    return [axes.get_ylabel() for axes in figure.axes]


def lines(axes: Axes) -> dict[str, Line2D]:
    return {str(line.get_label()): line for line in axes.lines}


def steps_of(line: Line2D) -> list[float]:
    return [float(step) for step in np.asarray(line.get_xdata())]


def values_of(line: Line2D) -> list[float]:
    return [float(value) for value in np.asarray(line.get_ydata())]


def test_the_smoothed_course_is_the_mean_around_each_point() -> None:
    values = np.random.default_rng(0).normal(size=503)
    expected = [np.mean(values[max(0, place - 5) : place + 6]) for place in range(503)]
    np.testing.assert_allclose(smoothed(values), expected)


def test_few_points_are_not_smoothed() -> None:
    values = np.array([3.0, 1.0, 2.0])
    np.testing.assert_allclose(smoothed(values), values)


def test_a_series_keeps_finite_values_and_remembers_broken_steps() -> None:
    found = series(
        [{"step": 1, "loss": 2.0}, {"step": 2, "loss": math.nan}, {"step": 3}, {"step": 5, "loss": math.inf}], "loss"
    )
    assert (found.steps.tolist(), found.values.tolist(), found.broken.tolist()) == ([1], [2], [2, 5])


def test_losses_scores_and_pace_have_their_panels() -> None:
    journal = training(range(1, 12))
    journal += [
        {"step": 5, "event": "valid", "loss": 2.5, "perplexity": 12.2, "bleu": 11.0, "accuracy": 0.5, "seconds": 3.0}
    ]
    assert labels(loss_curve(journal)) == ["loss", "BLEU", "accuracy", "learning rate", "gradient norm"]


def test_scores_of_one_size_share_a_panel() -> None:
    journal = [{"step": step, "event": "valid", "bleu": 10.0 + step, "chrf": 40.0} for step in (3, 7)]
    figure = loss_curve(journal)
    assert labels(figure) == ["loss", "score"]
    assert values_of(lines(figure.axes[1])["BLEU (last 17)"]) == [13, 17]


def test_scores_of_other_sizes_have_panels_of_their_own_and_legends_that_fit() -> None:
    scores = {"bits_per_character": 3.9, "bits_per_byte": 3.8, "word_perplexity": 3e6}
    figure = loss_curve([{"step": 7, "event": "valid", "loss": 2.0, **scores}])
    assert labels(figure) == ["loss", "score", "word perplexity"]
    figure.canvas.draw()
    legends = [legend for axes in figure.axes if (legend := axes.get_legend()) is not None]
    assert len(legends) == 3
    assert all(legend.get_window_extent().x1 <= figure.bbox.x1 for legend in legends)


def test_scores_that_meet_in_one_point_are_told_apart() -> None:
    scores = dict.fromkeys(("accuracy", "macro_f1", "f1", "matthews", "exact"), 100.0)
    figure = loss_curve([{"step": 7, "event": "valid", **scores}])
    drawn = figure.axes[1].lines
    assert len({line.get_marker() for line in drawn}) == len({line.get_color() for line in drawn}) == 5
    assert sorted({line.get_markersize() for line in drawn}) == [line.get_markersize() for line in drawn]
    assert {line.get_markerfacecolor() for line in drawn} == {"none"}


@pytest.mark.parametrize("name", ["bleu", "accuracy", "macro_f1", "f1", "rouge_l"])
@pytest.mark.parametrize("values", [(100.0,), (97.0, 100.0), (99.98, 100.0), (0.0,), (0.0, 11.0), (31.0, 32.0)])
def test_the_axis_of_a_score_between_0_and_100_does_not_leave_them(name: str, values: tuple[float, ...]) -> None:
    journal = [{"step": 3 + step, "event": "valid", name: value} for step, value in enumerate(values)]
    low, high = loss_curve(journal).axes[1].get_ylim()
    assert 0 <= low <= min(values)
    assert max(values) <= high <= 100
    assert high - low >= 0.9, "and small differences do not fill it"


def test_a_correlation_may_fall_below_0_and_small_numbers_keep_their_scale() -> None:
    journal = [{"step": step, "event": "valid", "matthews": -5.0 * step, "mse": 0.3 + step / 9} for step in (1, 2)]
    low, _ = loss_curve(journal).axes[1].get_ylim()
    assert -100 < low < -10
    low, high = loss_curve(journal).axes[2].get_ylim()
    assert 0.1 < high - low < 0.2


def test_another_score_may_pass_100() -> None:
    assert loss_curve([{"step": 3, "event": "valid", "ter": 117.0}]).axes[1].get_ylim()[1] > 117


@pytest.mark.parametrize("steps", [[50], [50, 100], [0]])
def test_the_steps_are_counted_from_zero(steps: list[int]) -> None:
    left, right = loss_curve([{"step": step, "event": "train", "loss": 2.0} for step in steps]).axes[0].get_xlim()
    assert left == 0
    assert steps[-1] < right <= max(1, 1.1 * steps[-1])


def test_an_older_journal_says_nll_for_what_is_now_the_loss() -> None:
    journal = [
        {"step": 3, "event": "train", "loss": 5.0, "nll": 4.0},
        {"step": 7, "event": "train", "loss": 3.0, "smoothed": 3.5},
    ]
    assert values_of(lines(loss_curve(journal).axes[0])["training"]) == [4, 3]


def test_without_validation_there_is_no_score_panel() -> None:
    assert labels(loss_curve(training(range(1, 8)))) == ["loss", "learning rate", "gradient norm"]


def test_the_best_validation_loss_is_named() -> None:
    journal = [{"step": 1000 * step, "event": "valid", "loss": loss} for step, loss in ((1, 3.0), (2, 1.25), (3, 2.0))]
    assert "validation (best 1.25 at 2,000)" in lines(loss_curve(journal).axes[0])


def test_many_points_are_drawn_light_with_the_smoothed_course_over_them() -> None:
    raw, smooth = loss_curve(training(range(1, 212))).axes[0].lines
    assert raw.get_alpha() == 0.3
    np.testing.assert_allclose(values_of(raw), 5 / np.arange(1, 212))
    np.testing.assert_allclose(values_of(smooth), smoothed(5 / np.arange(1, 212)))


def test_lines_are_drawn_in_the_order_of_their_steps() -> None:
    drawn = lines(loss_curve(training([5, 2, 3])).axes[0])["training"]
    assert steps_of(drawn) == [2, 3, 5]


def test_a_loss_that_was_not_finite_is_marked_and_does_not_stretch_the_axis() -> None:
    journal = [*training([1, 2, 4]), {"step": 3, "event": "train", "loss": math.nan}]
    axes = loss_curve(journal).axes[0]
    assert steps_of(lines(axes)["not finite (first at 3)"]) == [3]
    assert axes.get_ylim()[0] > 1.02, "the marks stand on the edge, not at their height among the losses"


@pytest.mark.parametrize(
    "journal",
    [
        training([1]),
        [{"step": 3, "event": "valid", "loss": 2.0}],
        [{"step": 3, "event": "train"}],
        [{"step": step, "event": "train", "loss": math.nan, "rate": math.nan, "norm": math.inf} for step in (1, 2)],
        [
            {"step": 2, "event": "train", "loss": None, "rate": 0.0, "norm": 0.0},
            {"event": "train", "loss": 1.0},
            {"note": "hello"},
        ],
        [*training([1, 2, 3]), {"step": 4, "event": "train", "norm": 1e9}],
    ],
)
def test_gaps_and_single_points_are_no_obstacle(journal: Journal) -> None:
    figure = loss_curve(journal)
    figure.canvas.draw()
    assert figure.axes[0].get_ylabel() == "loss"


def test_a_single_point_is_visible() -> None:
    assert lines(loss_curve(training([7])).axes[0])["training"].get_marker() == "o"


@pytest.mark.parametrize("journal", [[], [{"event": "start"}], [{"event": "train", "loss": 1.0}]])
def test_an_empty_journal_is_said_to_be_empty(journal: Journal) -> None:
    with pytest.raises(UserError, match="nothing to draw"):
        loss_curve(journal)
