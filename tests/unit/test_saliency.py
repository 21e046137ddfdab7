"""What the label of a series hangs on, against differences that are computed one value at a time."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqwright.analysis.saliency import MOST_ENDS, saliency_of
from seqwright.data.labelled_series import SeriesExample
from seqwright.kinds import task_of
from seqwright.pictures.saliency import MOST_CHANNELS, Saliency, saliency_picture
from seqwright.recipe import read_recipe
from seqwright.runs import Run, data_of, model_of

FEW = ["data.examples=60", "data.valid=7", "data.test=7", "model.width=5", "input.scaling=none"]


@pytest.fixture(scope="module")
def run() -> Run:
    """A classifier that has learnt nothing, in double precision, so that small differences can be told."""
    recipe = read_recipe("waveforms", FEW)
    wires = task_of(recipe.task).learnt_inputs(recipe, data_of(recipe))
    model = model_of(recipe, wires.sizes()).double().eval()
    return Run(Path("waveforms"), recipe, InDoubles(wires), model, 1)


class InDoubles:
    """Wires whose batches are in double precision."""

    def __init__(self, wires: Any) -> None:
        self.input, self.output = wires.input, OutputInDoubles(wires.output)


class OutputInDoubles:
    def __init__(self, output: Any) -> None:
        self.labels, self.output = output.labels, output

    def collate(self, stacked: Any, targets: Any) -> Any:
        return self.output.collate({**stacked, "input_B": stacked["input_B"].double()}, targets)


def test_saliency_is_how_fast_the_log_probability_changes(run: Run) -> None:
    value_T = np.sin(0.7 * np.arange(11)).astype(np.float32)

    def logp(values: np.ndarray, label: int) -> float:
        batch = run.output.collate(run.input.stack([values[:, None]]), None)
        return float(run.model(batch, None)[0].detach().log_softmax(-1)[0, label])

    found = saliency_of(run, SeriesExample(value_T[:, None].astype(np.float64)))
    label = run.output.labels.index(found.label)
    step, slopes = 1e-3, []
    for t in range(11):
        shift = np.where(np.arange(11) == t, step, 0.0)
        slopes.append(abs(logp(value_T + shift, label) - logp(value_T - shift, label)) / (2 * step))
    assert found.saliency_TC[:, 0] == pytest.approx(np.array(slopes) / sum(slopes), rel=1e-3)


def test_the_course_is_what_each_beginning_of_the_series_is_taken_for(run: Run) -> None:
    value_TC = np.cos(0.3 * np.arange(7))[:, None]
    found = saliency_of(run, SeriesExample(value_TC, "sine"))
    assert found.end_K.tolist() == [1, 2, 3, 4, 5, 6, 7]
    for end, p_L in zip(found.end_K, found.probability_KL, strict=True):
        short = saliency_of(run, SeriesExample(value_TC[:end]))
        assert dict(zip(found.labels, p_L.tolist(), strict=True)) == pytest.approx(
            dict(zip(short.labels, short.probability_KL[-1].tolist(), strict=True)), rel=1e-5
        )
    assert (found.target, found.probability_KL[-1].argmax()) == ("sine", 0)


def test_a_long_series_ends_at_some_places_only(run: Run) -> None:
    found = saliency_of(run, SeriesExample(np.zeros((1009, 1))))
    assert len(found.end_K) == MOST_ENDS
    assert (found.end_K[0], found.end_K[-1]) == (1, 1009)


def seen(channels: int = 1) -> Saliency:
    share_T = np.array([0.05, 0.4, 0.05, 0.2, 0.3])
    value_TC = np.arange(5.0)[:, None] * np.arange(1, channels + 1)
    p_KL = np.array([[0.2, 0.8], [0.6, 0.4], [0.3, 0.7], [0.9, 0.1], [0.95, 0.05]])
    saliency_TC = share_T[:, None] * np.arange(1, channels + 1) / sum(range(1, channels + 1))
    return Saliency(value_TC, saliency_TC, (), "up", "down", ("up", "down"), np.array([1, 2, 3, 4, 5]), p_KL)


def test_the_sentence_says_where_the_label_was_decided() -> None:
    assert seen().sentence == (
        "up 0.9500 (it is down): half of the saliency lies on 2 of 5 steps, most on step 2; decided from step 4 on"
    )


@pytest.mark.parametrize("channels", [1, 3, MOST_CHANNELS + 2])
def test_each_channel_has_a_panel_up_to_some(channels: int) -> None:
    axes = saliency_picture(seen(channels), title="shapes: up").axes
    assert len(axes) == min(channels, MOST_CHANNELS) + 1
    names = [each.get_ylabel() for each in axes[:-1]]
    kept = range(max(0, channels - MOST_CHANNELS) + 1, channels + 1)  # those on which most hangs
    assert names == (["value"] if channels == 1 else [f"channel {number}" for number in kept])
    assert {text.get_text() for text in axes[-1].texts} == {"up", "down ✓"}
