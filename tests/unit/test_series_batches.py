"""Windows of series: what is past, what follows it, and an order that can be resumed anywhere."""

import numpy as np
import torch

from seqwright.batches import Place
from seqwright.batches.series import Series, SeriesWindows, first_steps, pasts, windows

T, N, C = 5, 3, 2


def series(*lengths: int) -> list[np.ndarray]:
    """Each value says which series, step and channel it is."""
    return [
        np.array([[100 * number + step + 0.5 * channel for channel in range(C)] for step in range(length)])
        for number, length in enumerate(lengths)
    ]


def batches(*lengths: int, every: bool = False, rows: int = 4, seed: int = 1) -> SeriesWindows:
    tokens = rows * T * C + C  # not enough for another row
    return SeriesWindows(series(*lengths), history=T, horizon=N, tokens=tokens, seed=seed, every=every)


def firsts(batch: Series) -> list[float]:
    return [float(value) for value in batch.input_BTC[:, 0, 0]]


def test_the_future_is_what_follows_the_past() -> None:
    (batch,) = batches(9).once()
    assert batch.input_BTC.shape == (2, T, C)
    assert batch.target_BSNC.shape == (2, 1, N, C)
    assert batch.input_BTC[1, :, 0].tolist() == [1, 2, 3, 4, 5]
    assert batch.target_BSNC[1, 0].tolist() == [[6, 6.5], [7, 7.5], [8, 8.5]]


def test_with_every_step_the_values_after_each_are_wanted() -> None:
    (batch,) = batches(9, every=True).once()
    assert batch.target_BSNC.shape == (2, T, N, C)
    for step in range(T):
        assert batch.target_BSNC[1, step, :, 0].tolist() == [step + 2, step + 3, step + 4]
    (last,) = batches(9).once()
    assert torch.equal(batch.target_BSNC[:, -1:], last.target_BSNC)


def test_no_window_reaches_over_the_end_of_a_series() -> None:
    assert first_steps([9, 7, 8], T + N).tolist() == [0, 1, 16]
    found = [value for batch in batches(9, 7, 8).once() for value in firsts(batch)]
    assert found == [0, 1, 200]


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
    tight = SeriesWindows(series(9), history=T, horizon=N, tokens=1, seed=1)
    assert [len(batch.input_BTC) for batch in tight.once()] == [1, 1]


def test_everything_counts_and_everything_is_fresh() -> None:
    batch = windows(torch.zeros(4, T + N, C), horizon=N, every=True)
    assert batch.loss_mask.shape == (4, T)
    assert bool(batch.loss_mask.all())
    assert batch.fresh_B.tolist() == [True] * 4
    assert batch.to(torch.device("cpu")).tokens == 4 * T * C


def test_a_past_alone_asks_for_one_forecast() -> None:
    batch = pasts(torch.ones(4, T, C), horizon=N)
    assert batch.target_BSNC.shape == (4, 1, N, C)
