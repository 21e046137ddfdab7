"""Sides of pairs that are cut into tokens in different ways."""

import pytest
from pydantic import ValidationError
from seqwright.inputs.pair_text import PairText, PairTextSettings

PAIRS = [("hello", "HH AH L OW"), ("low", "L OW")]


def test_letters_on_one_side_and_words_on_the_other() -> None:
    settings = PairTextSettings(tokenizer="whitespace", source_kind="characters", shared=False, lowercase=True)
    inputs = PairText.learnt(PAIRS, settings)
    assert inputs.source.pieces(inputs.source.encode(["HELLO"])[0].tolist()) == list("hello")
    sounds = inputs.target.encode(["HH AH L OW"])[0].tolist()
    assert len(sounds) == 4
    assert inputs.target.decode(sounds) == "hh ah l ow"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tokenizer": "whitespace", "source_kind": "characters"}, "cannot share a vocabulary; set shared = false"),
        (
            {"source_kind": "words", "shared": False, "bpe_dropout": 0.1},
            "bpe_dropout is 0.1, but the tokenizer is words",
        ),
    ],
)
def test_kinds_that_do_not_fit_are_told(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        PairTextSettings.model_validate(settings)


def test_the_same_kind_twice_can_be_shared() -> None:
    assert PairText.learnt(PAIRS, PairTextSettings(tokenizer="words", source_kind="words")).shared
