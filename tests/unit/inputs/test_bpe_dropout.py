import json
import random
from collections import Counter, defaultdict
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqwright.errors import SettingError
from seqwright.inputs.bpe_dropout import BPEDropout
from seqwright.inputs.tokenizers import Kind, Tokenizer, TokenizerSettings

Outcomes = dict[tuple[str, ...], float]

CORPUS = ["low lower lowest, newest and widest: 10 lowlands", "banana bandana, an anana and a ban"] * 5
TOKENIZER = Tokenizer.train(CORPUS, TokenizerSettings(vocabulary=97))


@settings(max_examples=200, deadline=None)
@given(text=st.text(st.sampled_from("lowernstidab  ,.10猫"), max_size=60))
def test_without_dropout_it_is_the_library(text: str) -> None:
    plain = BPEDropout(TOKENIZER, 0.0).encode(text, random.Random(0))
    np.testing.assert_array_equal(plain, TOKENIZER.encode([text])[0])
    assert plain.dtype == TOKENIZER.encode([text])[0].dtype


def test_with_every_merge_dropped_letters_are_left() -> None:
    ids = BPEDropout(TOKENIZER, 1.0).encode("lowest banana", random.Random(0))
    assert TOKENIZER.pieces(ids) == list("▁lowest▁banana")


@pytest.mark.parametrize("probability", [0.01, 0.1, 0.5, 0.9])
def test_the_text_stays_the_same_however_it_is_cut(probability: float) -> None:
    dropout, draw = BPEDropout(TOKENIZER, probability), random.Random(3)
    for text in CORPUS * 3:
        assert TOKENIZER.decode(dropout.encode(text, draw)) == text


def test_the_generator_decides_and_nothing_else() -> None:
    dropout = BPEDropout(TOKENIZER, 0.3)
    cuts = [dropout.encode(CORPUS[0], random.Random(seed)).tolist() for seed in range(7)]
    dropout.encode(CORPUS[1], random.Random(99))  # what was read before leaves no trace
    again = [BPEDropout(TOKENIZER, 0.3).encode(CORPUS[0], random.Random(seed)).tolist() for seed in range(7)]
    assert cuts == [dropout.encode(CORPUS[0], random.Random(seed)).tolist() for seed in range(7)] == again
    assert len({tuple(cut) for cut in cuts}) > 1


def distribution(pieces: tuple[str, ...], ranks: dict[tuple[str, ...], int], probability: float) -> Outcomes:
    """Every outcome of algorithm 1 with its exact probability: at each step, every way to drop the possible merges."""
    places = [place for place, pair in enumerate(pairwise(pieces)) if pair in ranks]
    outcomes: Outcomes = defaultdict(float)
    for dropped in product([True, False], repeat=len(places)):
        chance = probability ** sum(dropped) * (1 - probability) ** (len(places) - sum(dropped))
        left = [place for place, gone in zip(places, dropped, strict=True) if not gone]
        if not left:
            outcomes[pieces] += chance
            continue
        place = min(left, key=lambda place: (ranks[pieces[place], pieces[place + 1]], place))
        merged = (*pieces[:place], pieces[place] + pieces[place + 1], *pieces[place + 2 :])
        for outcome, rest in distribution(merged, ranks, probability).items():
            outcomes[outcome] += chance * rest
    return outcomes


def merges_of(tokenizer: Tokenizer) -> dict[tuple[str, ...], int]:
    return {tuple(pair): rank for rank, pair in enumerate(json.loads(tokenizer.json())["model"]["merges"])}


@pytest.mark.parametrize("probability", [0.1, 0.4, 0.8])
def test_segmentations_are_as_frequent_as_algorithm_1_has_them(probability: float) -> None:
    ranks = merges_of(TOKENIZER)
    first, second = (distribution(tuple(word), ranks, probability) for word in ("▁banana", "▁low"))
    expected = {(*one, *two): first[one] * second[two] for one in first for two in second}  # units are independent
    assert sum(expected.values()) == pytest.approx(1)
    assert len(expected) > 20
    dropout, draw, trials = BPEDropout(TOKENIZER, probability), random.Random(11), 20_000
    seen = Counter(tuple(TOKENIZER.pieces(dropout.encode("banana low", draw))) for _ in range(trials))
    assert set(seen) <= set(expected)
    for pieces, chance in expected.items():
        spread = (trials * chance * (1 - chance)) ** 0.5
        assert abs(seen[pieces] - trials * chance) < 5 * spread + 1, pieces


def test_only_bpe_has_merges_to_drop() -> None:
    kinds: list[Kind] = ["characters", "words", "unigram", "wordpiece"]
    for kind in kinds:
        other = Tokenizer.train(CORPUS, TokenizerSettings(tokenizer=kind))
        with pytest.raises(SettingError, match=f"is of kind '{kind}'"):
            BPEDropout(other, 0.1)


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_a_probability_lies_between_0_and_1(probability: float) -> None:
    with pytest.raises(SettingError, match="between 0 and 1"):
        BPEDropout(TOKENIZER, probability)
