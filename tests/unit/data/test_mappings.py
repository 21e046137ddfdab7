"""Made-up mappings: what a prompt promises, and that what is asked was never trained on."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from seqwright.data.examples import Pair, PartName
from seqwright.data.mappings import FAMILIES, PLAIN, STAR, WORDS, MadeUp, Mappings, MappingsSettings
from seqwright.errors import SettingError
from seqwright.recipe import recipe_from


def prompts(part: PartName, **settings: Any) -> list[list[Pair]]:
    data = Mappings(MappingsSettings(examples=600, valid=150, test=150, **settings))
    return [[*pair.shots, pair.after(0)] for pair in data.examples(part)]


def learnt(prompt: list[Pair]) -> frozenset[tuple[str, str]]:
    """Found out from the pairs alone: what becomes of the words that change."""
    changes = set()
    for pair in prompt:
        both = zip(pair.source.split(), pair.target.split(), strict=True)
        changes |= {(word, other) for word, other in both if word != other}
    return frozenset(changes)


def replacing(part: PartName) -> Iterator[list[Pair]]:
    return (prompt for prompt in prompts(part) if prompt[0].kind in FAMILIES)


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_a_prompt_has_one_mapping_which_its_pairs_agree_on(part: PartName) -> None:
    for prompt in replacing(part):
        assert {pair.kind for pair in prompt} == {prompt[0].kind}
        changes = learnt(prompt)
        becomes = dict(changes)
        assert len(becomes) == len(changes)  # no word becomes two
        unchanged = {w for p in prompt for w in p.source.split() if w in p.target.split()}
        if prompt[0].kind.startswith("stars"):
            assert set(becomes.values()) == {STAR}
            assert not unchanged & set(becomes)
        else:
            assert STAR not in becomes.values()
            assert all(becomes.get(other, word) == word for word, other in becomes.items())


def test_copy_and_reverse_are_what_they_are_called() -> None:
    found = Counter(prompt[0].kind for prompt in prompts("train"))
    assert set(found) == {*PLAIN, *FAMILIES}
    for prompt in prompts("train"):
        for pair in prompt:
            if prompt[0].kind == "copy":
                assert pair.target == pair.source
            if prompt[0].kind == "reverse":
                assert pair.target.split() == pair.source.split()[::-1]


def test_families_are_about_equally_likely() -> None:
    found = Counter(prompt[0].kind for prompt in prompts("test"))
    assert set(found) == set(FAMILIES)
    assert min(found.values()) > 50  # of 150, in which 75 are expected


def test_no_mapping_of_the_test_or_validation_part_is_trained_on() -> None:
    """The pairs that a prompt shows may be a part of its mapping: so those are compared that show all of it."""
    whole = {part: {learnt(p) for p in prompts(part, shots=30) if p[0].kind in FAMILIES} for part in PARTS}
    for part, other in combinations(PARTS, 2):
        assert not whole[part] & whole[other]
        assert whole[part]


PARTS: tuple[PartName, ...] = ("train", "valid", "test")


def test_the_part_depends_on_nothing_but_the_mapping() -> None:
    assert MadeUp("opposites", {"a": "b", "b": "a"}).part == MadeUp("opposites", {"b": "a", "a": "b"}).part
    drawn = [MadeUp("stars", dict.fromkeys(several, STAR)) for several in combinations(WORDS, 3)]
    shares = Counter(mapping.part for mapping in drawn)
    assert shares["train"] > 400  # of 560, in which 448 are expected
    assert min(shares["valid"], shares["test"]) > 30


def test_the_question_is_new_and_its_words_are_not() -> None:
    for prompt in prompts("test"):
        *shots, question = (pair.source for pair in prompt)
        assert question not in shots
        assert set(question.split()) <= {word for shot in shots for word in shot.split()}


def test_in_every_sentence_a_word_changes_where_words_are_replaced() -> None:
    for prompt in replacing("test"):
        assert all(learnt([pair]) for pair in prompt)


def test_sentences_have_the_length_that_was_asked_for_and_no_word_twice() -> None:
    for prompt in prompts("test", length=4):
        assert {len(set(pair.source.split())) for pair in prompt} == {4}
        assert {len(pair.target.split()) for pair in prompt} == {4}


def test_the_words_of_a_prompt_are_as_many_as_was_asked_for() -> None:
    def numbers(part: PartName, **settings: Any) -> set[int]:
        return {len({w for pair in each for w in pair.source.split()}) for each in prompts(part, shots=40, **settings)}

    assert numbers("train") == {4, 5, 6, 7, 8}
    assert numbers("train", fewest=7) == {7, 8}
    assert numbers("test") == {8}


def test_the_same_settings_give_the_same_prompts_and_fewer_are_their_beginning() -> None:
    assert prompts("test") == prompts("test")
    fewer = list(Mappings(MappingsSettings(test=3)).examples("test"))
    assert [[*pair.shots, pair.after(0)] for pair in fewer] == prompts("test")[:3]
    assert prompts("test", seed=2) != prompts("test")


def test_the_fingerprint_follows_the_settings() -> None:
    one, other = (Mappings(MappingsSettings(seed=seed)) for seed in (1, 2))
    assert one.fingerprint("test") == Mappings(MappingsSettings()).fingerprint("test")
    assert len({one.fingerprint("test"), one.fingerprint("train"), other.fingerprint("test")}) == 3


def test_sentences_that_do_not_fit_the_words_are_refused() -> None:
    with pytest.raises(SettingError, match=r"fewest = 4 and words = 5 for sentences of length = 4"):
        recipe_from({"task": "instruction", "data": {"card": "mappings", "words": 5, "length": 4}})
