"""Windows of series: what is past, what follows it, and an order that can be resumed anywhere."""

from typing import Any

import numpy as np
import pytest
import torch

from seqwright.batches import Column, Place
from seqwright.batches.series import Series, every_step, pasts, windows
from seqwright.batches.shuffled import Shuffled
from seqwright.data.series import SeriesWindow
from seqwright.errors import DataError
from seqwright.inputs import Given, Room
from seqwright.inputs.series import SeriesInput, SeriesSettings
from seqwright.outputs.values import ValuesOutput, ValuesOutputSettings

T, N, C = 5, 3, 2


def series(*lengths: int) -> list[np.ndarray]:
    """Each value says which series, step and channel it is."""
    return [
        np.array([[100 * number + step + 0.5 * channel for channel in range(C)] for step in range(length)])
        for number, length in enumerate(lengths)
    ]


def examples(*lengths: int) -> Given[SeriesWindow]:
    cut = [(each, first) for each in series(*lengths) for first in range(len(each) - T - N + 1)]
    return Given(SeriesWindow(each, ("a", "b"), first, T, N) for each, first in cut)


def batches(*lengths: int, tokens: int = 4 * T * C + C, seed: int = 1) -> Shuffled[Any, Series]:
    """Four windows in a batch, for the tokens are not enough for another."""
    given, settings = examples(*lengths), SeriesSettings(scaling="none")
    input = SeriesInput.learn(given, settings, room=Room())
    output, rows = ValuesOutput.learn(given, ValuesOutputSettings(), input), input.encode(given)
    return output.batches(rows, output.encode(given, rows), input, tokens=tokens, seed=seed)


def firsts(batch: Series) -> list[float]:
    return [float(value) for value in batch.input_BTC[:, 0, 0]]


def test_the_future_is_what_follows_the_past() -> None:
    (batch,) = batches(9).once()
    assert batch.input_BTC.shape == (2, T, C)
    assert batch.target_BSNC.shape == (2, 1, N, C)
    assert batch.input_BTC[1, :, 0].tolist() == [1, 2, 3, 4, 5]
    assert batch.target_BSNC[1, 0].tolist() == [[6, 6.5], [7, 7.5], [8, 8.5]]


def test_asked_after_every_step_the_values_after_each_are_targets() -> None:
    (last,) = batches(9).once()
    batch = every_step(last)
    assert batch.target_BSNC.shape == (2, T, N, C)
    for step in range(T):
        assert batch.target_BSNC[1, step, :, 0].tolist() == [step + 2, step + 3, step + 4]
    assert torch.equal(batch.target_BSNC[:, -1:], last.target_BSNC)
    assert torch.equal(batch.example_B, last.example_B)
    assert torch.equal(every_step(batch).target_BSNC, batch.target_BSNC)


def test_every_window_comes_once_in_the_order_of_the_series() -> None:
    found = batches(9, 7, 8).once()
    assert [
        (value, number)
        for batch in found
        for value, number in zip(firsts(batch), batch.example_B.tolist(), strict=True)
    ] == [
        (0, 0),
        (1, 1),
        (200, 2),
    ]


def test_every_window_comes_once_an_epoch_in_another_order() -> None:
    several = batches(30)
    place, seen = Place(), []
    for _ in range(3):
        epoch = []
        for _ in range(several.in_epoch(place.epoch)):
            epoch += firsts(several.at(place))
            place = several.after(place)
        seen.append(epoch)
    assert place == Place(3, 0)
    assert all(sorted(epoch) == list(range(23)) for epoch in seen)
    assert seen[0] != seen[1] != seen[2]
    assert [float(value) for batch in several.once() for value in batch.input_BTC[:, 0, 0]] == list(range(23))


def test_the_order_follows_from_the_place_and_the_seed_alone() -> None:
    assert firsts(batches(30).at(Place(2, 1))) == firsts(batches(30).at(Place(2, 1)))
    assert firsts(batches(30).at(Place(2, 1))) != firsts(batches(30, seed=2).at(Place(2, 1)))


def test_a_batch_keeps_to_its_size_and_holds_at_least_one_window() -> None:
    assert [len(batch.input_BTC) for batch in batches(30).once()] == [4, 4, 4, 4, 4, 3]
    assert batches(30).at(Place()).tokens == 4 * T * C
    assert [len(batch.input_BTC) for batch in batches(9, tokens=1).once()] == [1, 1]


def test_a_batch_knows_the_numbers_of_its_examples() -> None:
    rows = Column(np.array([[10.0], [11.0], [12.0]], dtype=np.float32), np.array([4, 6, 9]))
    few = Shuffled(rows, lambda some: pasts(torch.tensor(np.stack(some))[:, None], horizon=1), size=2)
    for batch in [*few.once(), few.at(Place(1, 0))]:
        known = {10.0: 4, 11.0: 6, 12.0: 9}
        assert batch.example_B.tolist() == [known[value] for value in firsts(batch)]


def test_of_a_longer_series_the_last_steps_are_read_and_a_shorter_one_is_refused() -> None:
    given, settings = examples(30), SeriesSettings(scaling="none")
    input = SeriesInput.learn(given, settings, room=Room())
    output = ValuesOutput.learn(given, ValuesOutputSettings(), input)
    longer = input.encode(Given([input.parse(series(9)[0])]))
    (batch,) = output.batches(longer, None, input, tokens=1).once()
    assert batch.input_BTC[0, :, 0].tolist() == [4, 5, 6, 7, 8]
    assert batch.target_BSNC.shape == (1, 1, N, C)
    shorter = input.encode(Given([input.parse(series(4)[0])]))
    with pytest.raises(DataError, match="the series has 4 rows, but the model looks back 5"):
        list(output.batches(shorter, None, input, tokens=1).once())


def test_everything_counts_and_everything_is_fresh() -> None:
    batch = windows(torch.zeros(4, T + N, C), horizon=N, every=True)
    assert batch.loss_mask.shape == (4, T)
    assert bool(batch.loss_mask.all())
    assert batch.fresh_B.tolist() == [True] * 4
    assert batch.to(torch.device("cpu")).tokens == 4 * T * C


def test_a_past_alone_asks_for_one_forecast() -> None:
    batch = pasts(torch.ones(4, T, C), horizon=N)
    assert batch.target_BSNC.shape == (4, 1, N, C)
