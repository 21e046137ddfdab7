"""A tokenizer of words that another program chose."""

from pathlib import Path

import pytest

from seqwright.inputs.own_tokenizers import OwnTokenizer
from seqwright.inputs.tokenizers import UNKNOWN, Tokenizer, TokenizerSettings

WORDS = ["the", "cat", "U.S.", "don't", "1,000", "x" * 200, "</S>"]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("the cat U.S. don't 1,000", [4, 5, 6, 7, 8]),
        ("  the\t cat \n", [4, 5]),
        ("", []),
        (" \t", []),
        ("the cat, The <s> ▁the", [4, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]),
        ("x" * 200 + " </S>", [9, 10]),
    ],
)
def test_a_word_is_whatever_stands_between_white_space(text: str, numbers: list[int], tmp_path: Path) -> None:
    given = OwnTokenizer.of_words(WORDS)
    given.save(tmp_path / "text.json")
    for tokenizer in (given, Tokenizer.load(tmp_path / "text.json")):
        (found,) = tokenizer.encode([text])
        assert found.tolist() == numbers
        if UNKNOWN not in numbers:
            assert tokenizer.decode(numbers) == " ".join(text.split())
        assert tokenizer.spellings() == ["<pad>", "<unk>", "<s>", "</s>", *WORDS]


def test_spellings_are_all_different_and_without_a_space() -> None:
    plain = Tokenizer.train(["the cat, the"], TokenizerSettings(tokenizer="words"))
    assert plain.spellings()[4:] == ["▁", "▁the", ",", "▁cat"]  # `cat` could also stand after a bracket


def test_a_word_that_is_spelled_like_a_reserved_token_is_another() -> None:
    """As `<unk>` in WikiText-2."""
    learnt = Tokenizer.train(["the <unk> <s>"], TokenizerSettings(tokenizer="whitespace"))
    given = OwnTokenizer.of_words(learnt.spellings()[4:])
    for tokenizer in (learnt, given):
        assert tokenizer.spellings() == ["<pad>", "<unk>", "<s>", "</s>", "▁<s>", "▁<unk>", "the"]
        assert tokenizer.encode(["<unk> the <s> none"])[0].tolist() == [5, 6, 4, UNKNOWN]
