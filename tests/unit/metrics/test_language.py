"""Scores of language models, against numbers worked by hand."""

import math

import pytest

from seqwright.errors import DataError
from seqwright.metrics.language import (
    Extent,
    bits_per,
    bits_per_byte,
    bits_per_character,
    extent,
    language_scores,
    word_perplexity,
)

LN2 = math.log(2)


def test_a_document_is_as_long_as_its_characters_bytes_and_words() -> None:
    # "Füße sind\nkalt ☃" has 16 characters, two of them two bytes long and one three; four words and the end.
    assert extent("Füße sind\nkalt ☃") == Extent(documents=1, characters=16, bytes=20, words=5)


def test_a_blank_document_is_only_its_end() -> None:
    assert extent(" ").words == 1
    assert extent("") == Extent(1, 0, 0, 1)


def test_two_texts_are_as_long_as_both() -> None:
    assert extent("ab").plus(extent("c d")) == Extent(2, 5, 5, 5)


def test_a_fair_coin_costs_a_bit() -> None:
    assert bits_per(10 * LN2, 10) == pytest.approx(1)


def test_bits_are_those_of_the_whole_text_over_its_characters_or_bytes() -> None:
    text = extent("äöü")  # three characters, six bytes
    assert bits_per_character(12 * LN2, text) == pytest.approx(4)
    assert bits_per_byte(12 * LN2, text) == pytest.approx(2)


def test_the_end_counts_as_a_word() -> None:
    """Three words and an end, each a choice among five: the perplexity is five."""
    assert word_perplexity(4 * math.log(5), extent("a rose is")) == pytest.approx(5)


def test_uniform_guessing_among_the_tokens_has_their_number_as_perplexity() -> None:
    """Five characters and an end, each one of eight symbols: three bits each, 18 in all, over five characters."""
    scores = language_scores(6 * math.log(8), 6, extent("ab cd"))
    assert scores["loss"] == pytest.approx(math.log(8))
    assert scores["perplexity"] == pytest.approx(8)
    assert scores["bits_per_character"] == scores["bits_per_byte"] == pytest.approx(18 / 5)
    assert scores["word_perplexity"] == pytest.approx(8**2)  # "ab", "cd" and the end share six choices


def test_finer_tokens_change_the_perplexity_of_a_token_alone() -> None:
    few, many = (language_scores(20.0, tokens, extent("some words")) for tokens in (3, 11))
    assert few.pop("perplexity") > many.pop("perplexity")
    assert few.pop("loss") > many.pop("loss")
    assert few == many


def test_hopeless_models_are_infinitely_perplexed() -> None:
    assert language_scores(1e9, 2, extent("a"))["perplexity"] == math.inf


def test_nothing_cannot_be_scored() -> None:
    with pytest.raises(DataError, match="at least one"):
        bits_per_character(1.0, extent(""))
    with pytest.raises(DataError, match="at least one"):
        language_scores(1.0, 0, extent("a"))
