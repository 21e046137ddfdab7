"""Numbers spelled out: which there are, which part they belong to, and what they are called."""

from collections import Counter

import pytest

from seqwright.data.dates_values import PortableRandom, part_of
from seqwright.data.numbers import Numbers, NumbersSettings, shuffled
from seqwright.errors import DataError, SettingError


def numbers(**settings) -> Numbers:
    return Numbers(NumbersSettings(**{"examples": 700, "valid": 40, "test": 60, **settings}))


def given(data: Numbers, part) -> list[int]:
    return [int(example.source) for example in data.examples(part)]


@pytest.mark.parametrize(
    ("language", "number", "words"),
    [
        ("en", 0, "zero"),
        ("en", 21, "twenty-one"),
        ("en", 40_013, "forty thousand and thirteen"),
        ("en", 999_999, "nine hundred and ninety-nine thousand, nine hundred and ninety-nine"),
        ("de", 21, "einundzwanzig"),
        ("fr", 80, "quatre-vingts"),
    ],
)
def test_a_number_is_spelled_in_its_language(language: str, number: int, words: str) -> None:
    assert numbers(language=language).spelled(number) == words


def test_no_number_is_in_two_parts_or_asked_twice() -> None:
    parts = {part: given(numbers(), part) for part in numbers().parts()}
    assert {part: len(each) for part, each in parts.items()} == {"train": 700, "valid": 40, "test": 60}
    assert (len(set(parts["valid"])), len(set(parts["test"]))) == (40, 60)
    assert len(set().union(*parts.values())) == len(set(parts["train"])) + 100
    assert max(map(max, parts.values())) <= 999_999


def test_what_is_held_out_is_held_out_whatever_the_seed_and_in_the_dates_corpus_too() -> None:
    held_out = {number for seed in (1, 2, 3) for number in given(numbers(seed=seed), "test")}
    assert not held_out & {number for seed in (4, 5) for number in given(numbers(seed=seed), "train")}
    assert {part_of([f"number {number}"]) for number in held_out} == {"test"}
    assert set(range(21)) <= set(given(numbers(), "train"))


def test_numbers_of_every_length_take_turns() -> None:
    kinds = Counter(example.kind for example in numbers().examples("train"))
    assert set(kinds) == {"1 digit", *(f"{digits} digits" for digits in range(2, 7))}
    assert set(kinds.values()) == {116, 117}
    times = Counter(number for number in given(numbers(), "train") if number < 10)
    assert len(times) == 10
    assert set(times.values()) == {11, 12}  # each comes again only when all have come


def test_fewer_are_the_beginning_of_more_and_another_seed_gives_others() -> None:
    few, more = given(numbers(examples=100), "train"), given(numbers(), "train")
    assert more[:100] == few
    assert given(numbers(seed=2, examples=100), "train") != few


def test_a_range_that_ends_in_the_middle_of_a_length_is_used_up() -> None:
    found = {number for number in given(numbers(largest=250), "train") if number >= 100}
    assert max(found) <= 250
    assert 110 < len(found) < 145  # about 85 % of 151


def test_the_fingerprint_changes_with_the_part_and_the_settings() -> None:
    prints = {numbers(seed=seed).fingerprint(part) for seed in (1, 2) for part in ("train", "valid", "test")}
    assert len(prints) == 6
    assert numbers().fingerprint("train") == numbers().fingerprint("train")


def test_shuffled_gives_each_number_once_and_every_order() -> None:
    found = list(shuffled(range(10, 60), PortableRandom("x")))
    assert sorted(found) == list(range(10, 60)) != found
    orders = Counter(tuple(shuffled(range(3), PortableRandom(str(seed)))) for seed in range(600))
    assert len(orders) == 6
    assert min(orders.values()) > 60


def test_what_cannot_be_is_refused_in_a_sentence() -> None:
    with pytest.raises(SettingError, match=r"data\.language is 'eng', which num2words does not know.*Did you mean"):
        numbers(language="eng")
    with pytest.raises(SettingError, match=r"num2words cannot say 999,999 in 'am'; lower data\.largest"):
        numbers(language="am")
    with pytest.raises(SettingError, match=r"data\.test = 500 asks for more than the 8 numbers up to data\.largest"):
        next(numbers(largest=99, examples=50, valid=1, test=500).examples("test"))
    with pytest.raises(DataError, match=r"no test part: data\.test is 0"):
        next(numbers(test=0).examples("test"))
    assert numbers(test=0).parts() == ["train", "valid"]
