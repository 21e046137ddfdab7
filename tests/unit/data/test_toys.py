"""The toy tasks: the right answers, no sequence in two parts, and the same pairs every time."""

import itertools
from typing import Literal

import pytest
from pydantic import ValidationError

from seqwright.data.examples import PartName
from seqwright.data.toys import Toy, ToySettings
from seqwright.errors import SettingError

PARTS: list[PartName] = ["train", "valid", "test"]


def sources(settings: ToySettings, part: PartName) -> list[str]:
    return [pair.source for pair in Toy(settings).examples(part)]


@pytest.mark.parametrize("kind", ["copy", "reverse", "sort"])
def test_the_target_is_what_the_kind_says(kind: Literal["copy", "reverse", "sort"]) -> None:
    pairs = list(Toy(ToySettings(card=kind, examples=300)).examples("train"))
    for pair in pairs:
        numbers = [int(word) for word in pair.source.split(" ")]
        answer = [int(word) for word in pair.target.split(" ")]
        if kind == "sort":
            assert all(left <= right for left, right in itertools.pairwise(answer))
            assert all(numbers.count(number) == answer.count(number) for number in numbers + answer)
        else:
            step = 1 if kind == "copy" else -1
            assert all(answer[::step][place] == numbers[place] for place in range(len(numbers)))
            assert len(answer) == len(numbers)
        assert pair.kind == kind
    assert any(pair.source != pair.target for pair in pairs) == (kind != "copy")


def test_sorting_is_by_number_not_by_spelling() -> None:
    targets = [pair.target.split() for pair in Toy(ToySettings(card="sort", examples=500)).examples("train")]
    assert any("9" in target and "10" in target and target.index("9") < target.index("10") for target in targets)


def test_no_sequence_is_in_two_parts_and_held_out_ones_are_different() -> None:
    found = {part: sources(ToySettings(longest=3, examples=5000), part) for part in PARTS}
    for one, other in itertools.combinations(PARTS, 2):
        assert not set(found[one]) & set(found[other])
    assert [len(found[part]) for part in PARTS] == [5000, 200, 200]
    assert len(set(found["valid"])) == len(set(found["test"])) == 200


def test_held_out_sequences_stay_held_out_under_another_seed() -> None:
    trained = sources(ToySettings(longest=3, seed=2, examples=5000), "train")
    assert not set(sources(ToySettings(longest=3), "test")) & set(trained)


def test_lengths_and_symbols_keep_to_their_bounds_and_reach_them() -> None:
    sequences = [source.split() for source in sources(ToySettings(symbols=7, shortest=3, longest=5), "train")]
    assert {len(sequence) for sequence in sequences} == {3, 4, 5}
    assert {symbol for sequence in sequences for symbol in sequence} == set("0123456")


def test_held_out_sequences_can_be_longer_than_all_in_training() -> None:
    settings = ToySettings(symbols=50, longest=3, held_out_longest=5, examples=2000)
    lengths = {part: {len(source.split()) for source in sources(settings, part)} for part in PARTS}
    assert lengths == {"train": {1, 2, 3}, "valid": {1, 2, 3, 4, 5}, "test": {1, 2, 3, 4, 5}}
    with pytest.raises(SettingError, match=r"data\.shortest = 7 is more than data\.held_out_longest = 5"):
        Toy(ToySettings(shortest=7, held_out_longest=5))


def test_the_seed_alone_decides_and_fewer_pairs_are_the_beginning_of_more() -> None:
    many = sources(ToySettings(examples=500), "train")
    assert sources(ToySettings(examples=83), "train") == many[:83]
    assert sources(ToySettings(examples=500, seed=2), "train") != many


def test_pairs_are_drawn_while_they_are_read() -> None:
    assert next(Toy(ToySettings(examples=10**12)).examples("train")).source


def test_an_empty_test_part_does_not_exist() -> None:
    assert Toy(ToySettings()).parts() == PARTS
    assert Toy(ToySettings(test=0)).parts() == ["train", "valid"]


def test_too_few_sequences_for_a_held_out_part_are_refused() -> None:
    with pytest.raises(
        SettingError, match=r"data\.valid = 200 asks for more different sequences than there are of 1 to 2"
    ):
        sources(ToySettings(symbols=3, longest=2), "valid")


def test_bounds_that_cross_are_refused() -> None:
    with pytest.raises(SettingError, match=r"data\.shortest = 7 is more than data\.longest = 5"):
        Toy(ToySettings(shortest=7, longest=5))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValidationError):
        ToySettings.model_validate({"kind": "shuffle"})


def test_the_fingerprint_follows_the_part_and_every_setting() -> None:
    changes: list[dict[str, object]] = [
        {"card": "sort"},
        {"symbols": 7},
        {"shortest": 2},
        {"longest": 7},
        {"held_out_longest": 7},
        {"examples": 7},
        {"valid": 7},
        {"test": 7},
        {"seed": 7},
    ]
    settings = [ToySettings(), *(ToySettings.model_validate(change) for change in changes)]
    prints = [Toy(each).fingerprint(part) for each in settings for part in PARTS]
    assert len(set(prints)) == 10 * 3
    assert Toy(ToySettings()).fingerprint("train") == prints[0]
