"""Questions about guests who are made up: always right, always the same, and no context in two parts."""

import pytest

from seqwright.data.guests import Guests, GuestsSettings
from seqwright.errors import DataError

FEW = GuestsSettings(examples=400, valid=50, test=50)


def test_answers_are_what_the_context_says_of_the_one_asked_for() -> None:
    data = Guests(FEW)
    silent = 0
    for question in data.examples("train"):
        name = next(word.strip("?") for word in question.question.split()[1:] if word[0].isupper())
        if not question.answers:
            silent += 1
            assert name not in question.context.split()
            continue
        ((text, begin),) = question.answers
        assert text.split()[0] == name
        assert begin is not None
        assert question.context[begin : begin + len(text)] == text
        assert question.context.split().count(name) == 1
    assert 0.12 < silent / 400 < 0.28


def test_the_same_settings_give_the_same_and_fewer_are_the_beginning_of_more() -> None:
    assert list(Guests(FEW).examples("train")) == list(Guests(FEW).examples("train"))
    more = list(Guests(FEW.model_copy(update={"examples": 500})).examples("train"))
    assert more[:400] == list(Guests(FEW).examples("train"))
    other = FEW.model_copy(update={"seed": 2})
    assert list(Guests(other).examples("valid")) != list(Guests(FEW).examples("valid"))


def test_no_context_is_in_two_parts_whatever_the_seed() -> None:
    parts = {part: {each.context for each in Guests(FEW).examples(part)} for part in Guests(FEW).parts()}
    other = {each.context for each in Guests(FEW.model_copy(update={"seed": 2})).examples("train")}
    assert [len(contexts) for contexts in parts.values()] == [400, 50, 50]
    assert (parts["train"] | other).isdisjoint(parts["valid"] | parts["test"])
    assert parts["valid"].isdisjoint(parts["test"])


def test_fingerprints_follow_the_settings_and_the_part() -> None:
    prints = {Guests(FEW).fingerprint(part) for part in Guests(FEW).parts()}
    assert len(prints | {Guests(FEW.model_copy(update={"guests": 4})).fingerprint("train")}) == 4


def test_a_part_of_nothing_is_refused() -> None:
    data = Guests(GuestsSettings(test=0))
    assert data.parts() == ["train", "valid"]
    with pytest.raises(DataError, match=r"there is no test part: data.test is 0"):
        data.examples("test")
