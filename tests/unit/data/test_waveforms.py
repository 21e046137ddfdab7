"""Made-up waveforms: each series is a matter of (seed, part, number), and the forms take turns."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from seqwright.data.examples import PartName
from seqwright.data.labelled_series import SeriesExample
from seqwright.data.waveforms import FORMS, Waveforms, WaveformsSettings
from seqwright.errors import DataError

PARTS: tuple[PartName, ...] = ("train", "valid", "test")


def made(part: PartName = "train", **settings: Any) -> list[SeriesExample]:
    return list(Waveforms(WaveformsSettings.model_validate({"examples": 31, **settings})).examples(part))


def same(one: SeriesExample, other: SeriesExample) -> bool:
    return one.label == other.label and np.array_equal(one.values_TC, other.values_TC)


@pytest.mark.parametrize("part", PARTS)
def test_a_series_depends_on_seed_part_and_number_alone(part: PartName) -> None:
    few, many = made(part, examples=7, valid=7, test=7), made(part, examples=53, valid=53, test=53)
    assert len(many) == 53
    assert all(same(*both) for both in zip(few, many[:7], strict=True))


def test_another_seed_and_another_part_have_other_series() -> None:
    every = [made(part, seed=seed, examples=7, valid=7, test=7) for part in PARTS for seed in (1, 2)]
    assert len({series.values_TC.tobytes() for part in every for series in part}) == 6 * 7


def test_lengths_are_in_their_range_and_reach_its_ends() -> None:
    lengths = {len(series.values_TC) for series in made(examples=211, shortest=17, longest=23)}
    assert lengths == set(range(17, 24))
    assert {series.values_TC.shape[1] for series in made()} == {1}


def test_labels_are_balanced() -> None:
    counts = Counter(series.label for series in made(examples=31))
    assert counts.keys() == FORMS.keys()
    assert set(counts.values()) == {5, 6}


def test_without_noise_a_form_is_as_high_as_it_was_drawn() -> None:
    for series in made(noise=0, examples=61):
        height = np.abs(series.values_TC).max()
        assert height <= 1.3
        assert height > (0.3 if series.label == "burst" else 0.6), series.label
        if series.label == "square":
            assert len(np.unique(np.abs(series.values_TC))) == 1


def test_noise_is_as_strong_as_it_is_asked_for() -> None:
    still, noisy = made(noise=0, examples=61), made(noise=0.25, examples=61)
    rest = np.concatenate([b.values_TC - a.values_TC for a, b in zip(still, noisy, strict=True)])
    assert rest.std() == pytest.approx(0.25, rel=0.05)
    assert abs(rest.mean()) < 0.02


def test_parts_that_are_empty_are_none() -> None:
    assert Waveforms(WaveformsSettings()).parts() == ["train", "valid", "test"]
    assert Waveforms(WaveformsSettings(test=0)).parts() == ["train", "valid"]


def test_the_fingerprint_changes_with_settings_and_part() -> None:
    settings = [WaveformsSettings(), WaveformsSettings(seed=2), WaveformsSettings(noise=0.2)]
    found = [Waveforms(each).fingerprint(part) for each in settings for part in PARTS]
    assert len(set(found)) == 9
    assert Waveforms(WaveformsSettings()).fingerprint("train") == found[0]


def test_a_shortest_beyond_the_longest_is_refused() -> None:
    with pytest.raises(DataError, match=r"data\.shortest = 90 is more than data\.longest = 50; lower it"):
        Waveforms(WaveformsSettings(shortest=90, longest=50))
