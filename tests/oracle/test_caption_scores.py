"""Scores of captions against what COCO's own code says; `caption_scores.py` makes the file, and says how."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from seqwright.errors import DataError
from seqwright.metrics.captions import NAMES, caption_scores, caption_words

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("caption_scores.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[f"{len(case['hypotheses'])} images" for case in CASES])
def test_the_scores_are_those_of_the_code_of_coco(case: dict[str, Any]) -> None:
    found = caption_scores(case["hypotheses"], case["references"])
    assert set(found) == set(NAMES) == {*case["scores"], "exact"}
    for name, value in case["scores"].items():
        assert found[name].value == pytest.approx(100 * value, rel=1e-9, abs=1e-9), name


def test_a_caption_is_exact_where_it_is_any_of_its_references() -> None:
    said, right = [" A dog", "a cat", "a cow"], [["a bird", "a dog "], ["a cat"], ["a dog"]]
    assert caption_scores(said, right)["exact"].value == pytest.approx(100 / 3)
    assert caption_scores(said, right, lowercase=True)["exact"].value == pytest.approx(200 / 3)


def test_a_caption_that_is_its_reference_among_others_has_the_highest_scores() -> None:
    texts = ["a dog runs in the snow", "two men play ball today", "the red ball jumps over a dog"]
    found = caption_scores(texts, [[text] for text in texts])
    assert found["cider"].value == pytest.approx(1000)
    assert {name: found[name].value for name in NAMES[1:]} == pytest.approx(dict.fromkeys(NAMES[1:], 100.0))


def test_words_are_small_and_without_punctuation() -> None:
    text = "A man's T-shirt isn't red, he's jumping — two (or 3) dogs watch ."
    assert caption_words(text) == [
        *("a", "man", "'s", "t-shirt", "is", "n't", "red", "he", "'s", "jumping", "two", "or", "3", "dogs", "watch"),
    ]
    assert caption_words("Ein großer Kreis über einer Raute!") == ["ein", "großer", "kreis", "über", "einer", "raute"]
    assert caption_words(" .,") == []


def test_a_blank_caption_scores_nothing_and_is_no_fault() -> None:
    found = caption_scores(["", "a dog"], [["a dog runs"], ["a dog"]])
    assert found["rouge_l"].value == pytest.approx(50)
    assert 0 < found["bleu_1"].value < 100
    assert caption_scores(["a"], [[""]])["rouge_l"].value == 0


def test_images_without_references_are_refused() -> None:
    with pytest.raises(DataError, match="2 captions for 2 images, of which 1 have references"):
        caption_scores(["a", "b"], [["a"], []])
    with pytest.raises(DataError, match="1 captions for 2 images"):
        caption_scores(["a"], [["a"], ["b"]])


def test_captions_that_are_too_short_pay_for_it() -> None:
    """exp(1 - r/c), of the closest references: 2 + 3 words were said where 4 + 3 would have been right."""
    found = caption_scores(["a dog", "a red ball"], [["a dog runs away", "the dogs of my aunt run"], ["a red ball"]])
    assert found["bleu_1"].value == pytest.approx(100 * math.exp(1 - 7 / 5))
    assert found["bleu_2"].value == pytest.approx(100 * math.exp(1 - 7 / 5))
