"""Whole series as rows: their scale, what a user gives, and that padding changes nothing."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from seqwright.batches import Place
from seqwright.data.labelled_series import SeriesExample
from seqwright.errors import DataError
from seqwright.inputs import Given, Room
from seqwright.inputs.series import POINTS, SeriesInput, SeriesSettings
from seqwright.outputs.label import LabelOutput
from seqwright.tasks.wired import Wires
from tests.small_models import small

LENGTHS = (11, 3, 7, 1, 5)
STEPS = [[1, 4], [2, 5], [3, 6]]


def drawn(channels: int = 2, lengths: tuple[int, ...] = LENGTHS, seed: int = 1) -> list[NDArray[np.float64]]:
    draw = np.random.default_rng(seed)
    return [draw.normal(3, 2, size=(length, channels)) * [1, 50][:channels] for length in lengths]


def examples(channels: int = 2, **drawing: Any) -> Given[SeriesExample]:
    found = drawn(channels, **drawing)
    return Given(SeriesExample(series_TC, "abc"[number % 3]) for number, series_TC in enumerate(found))


def learnt(channels: int = 2) -> SeriesInput:
    return SeriesInput.learn(examples(channels), SeriesSettings(), room=Room())


def wires() -> Wires:
    return Wires(learnt(), LabelOutput({"a": 2, "b": 2, "c": 1}))


def test_every_step_of_the_training_part_counts_alike_for_the_scale() -> None:
    every_LC = np.concatenate(drawn())
    assert np.allclose(learnt().scale.mean_C, every_LC.mean(0))
    assert np.allclose(learnt().scale.deviation_C, every_LC.std(0))
    other = examples(seed=2)
    rows = learnt().encode(other)
    for row_TC, example in zip(rows.take(np.arange(5), None), other, strict=True):
        assert np.allclose(row_TC, (example.values_TC - every_LC.mean(0)) / every_LC.std(0), atol=1e-5)
    assert rows.lengths(None).tolist() == [[length] for length in LENGTHS]


def test_rows_of_one_length_and_of_several_are_scaled_alike() -> None:
    whole = drawn(lengths=(4, 4, 6))
    rows = learnt().encode(Given(map(SeriesExample, whole)))
    same, mixed = rows.take(np.array([0, 1]), None), rows.take(np.array([0, 1, 2]), None)
    assert all(np.array_equal(*both) for both in zip(same, mixed[:2], strict=True))
    assert {row.dtype for row in (*same, *mixed)} == {np.dtype(np.float32)}


def test_padding_is_zeros_behind_what_is_real() -> None:
    input = learnt()
    rows = input.encode(examples()).take(np.arange(5), None)
    stacked = input.stack(rows)
    assert stacked["input_B"].shape == (5, 11, 2)
    assert stacked["real_BT"].sum(1).tolist() == list(LENGTHS)
    for number, row_TC in enumerate(rows):
        assert np.array_equal(stacked["input_B"][number, : len(row_TC)], row_TC)
        assert not stacked["input_B"][number, len(row_TC) :].any()
        assert stacked["real_BT"][number, : len(row_TC)].all()


@pytest.mark.parametrize("kind", ["rnn", "ugrnn", "gru", "lstm"])
def test_padding_changes_nothing_through_the_model(kind: str) -> None:
    torch.manual_seed(1)
    model, chosen = small(kind, "series-classification").eval(), wires()
    every = [example.values_TC for example in examples()]
    together = chosen.predictions(model, Given(map(chosen.input.parse, every)), tokens=10_000)
    for series_TC, found in zip(every, together, strict=True):
        alone = chosen.predict(model, series_TC)
        assert alone.probabilities == pytest.approx(found.probabilities, abs=1e-6)
    assert len({round(found.probability, 5) for found in together}) == len(LENGTHS)
    batch = chosen.batches(examples(), tokens=10_000).at(Place(0, 0))
    wild = batch.input.masked_fill(~batch.real_BT.unsqueeze(-1), 1e3)
    assert not torch.equal(wild, batch.input)
    with torch.no_grad():
        torch.testing.assert_close(model(batch.replace(input_B=wild))[0], model(batch)[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("given", ["1, 2.5, -3e-1", "1 2.5 -0.3", "1,2.5,-.3", [1, 2.5, -0.3], [[1], [2.5], [-0.3]]])
def test_one_channel_is_given_as_a_text_or_as_values(given: Any) -> None:
    assert learnt(1).parse(given).values_TC.tolist() == [[1.0], [2.5], [-0.3]]
    assert learnt(1).parse(np.array([1, 2.5, -0.3], dtype=np.float32)).values_TC.shape == (3, 1)


@pytest.mark.parametrize("given", ["1, 2, 3: 4, 5, 6", STEPS, np.array(STEPS), torch.tensor(STEPS)])
def test_several_channels_are_given_as_a_text_with_colons_or_as_values(given: Any) -> None:
    assert learnt().parse(given).values_TC.tolist() == STEPS


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("1, two, 3", "'1, two, 3' is no series: give numbers"),
        ("1, 2 : 3", "as many in each channel"),
        ([[1, 2], [3]], "as many in each channel"),
        (["a"], "is no series: give numbers"),
        ("x " * 40, "…' is no series"),
        (0.5, r"values of the shape \(\) are no series: give \(steps\) or \(steps, channels\)"),
        (np.zeros((2, 3, 4)), r"values of the shape \(2, 3, 4\) are no series"),
        ("1, nan, 3", "a missing or infinite value: fill it or leave it out"),
        ([1.0, float("inf")], "a missing or infinite value"),
    ],
)
def test_what_is_no_series_is_refused(given: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        learnt().parse(given)


def test_another_number_of_channels_is_refused_with_the_number_of_the_series() -> None:
    mixed = Given([SeriesExample(np.zeros((3, 2))), SeriesExample(np.zeros((3, 1)))])
    with pytest.raises(DataError, match="series 2 of the input has 1 channels, but the run reads 2: give as many"):
        learnt().encode(mixed)
    with pytest.raises(DataError, match="series of the input have from 1 to 2 channels: give as many to each"):
        SeriesInput.learn(mixed, SeriesSettings(), room=Room())


def test_a_blank_series_is_not_read_and_has_no_label() -> None:
    torch.manual_seed(1)
    model, chosen = small("gru", "series-classification").eval(), wires()
    blank, one = SeriesExample(np.zeros((0, 2)), "a"), SeriesExample(drawn()[0], "b")
    rows = chosen.input.encode(Given([blank, one]))
    assert rows.example_N.tolist() == [1]
    assert chosen.input.part_sentence(Given([blank, one]), rows) == ("1 series", "; left out: 1 with nothing to read")
    nothing, something = chosen.predict(model, ["", drawn()[0]])
    assert (nothing.label, nothing.probabilities) == ("", {})
    assert something.label in {"a", "b", "c"}
    assert chosen.predict(model, "").label == ""
    assert chosen.input.part_remarks(Given([blank])) == []
    assert [len(points) for points in chosen.input.features(Given([blank, one]))] == [2 * POINTS] * 2


def test_a_training_part_of_blank_series_is_refused() -> None:
    with pytest.raises(DataError, match="no series of the input has a value"):
        SeriesInput.learn(Given([SeriesExample(np.zeros((0, 1)))]), SeriesSettings(), room=Room())


def test_a_blank_series_does_not_count_for_the_scale() -> None:
    some = [SeriesExample(np.zeros((0, 2))), *examples()]
    found = SeriesInput.learn(Given(some), SeriesSettings(), room=Room())
    assert found.fingerprint() == learnt().fingerprint()


def test_the_linear_baseline_sees_each_channel_from_its_beginning_to_its_end() -> None:
    ramp_TC = np.stack([np.linspace(0, 1, 17), np.linspace(5, 3, 17)], axis=1)
    (points,) = learnt().features(Given([SeriesExample(ramp_TC)]))
    assert np.allclose(points, np.concatenate([np.linspace(0, 1, POINTS), np.linspace(5, 3, POINTS)]))


def test_series_of_the_same_values_have_the_same_digest() -> None:
    one, same, other = (SeriesExample(drawn(seed=seed)[0]) for seed in (1, 1, 2))
    assert learnt().digest(one) == learnt().digest(same) != learnt().digest(other)
    assert learnt(1).example_fields(SeriesExample(np.array([[1 / 3], [2.0]]))) == {"series": [0.333333, 2.0]}
