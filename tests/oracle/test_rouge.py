"""ROUGE against counting by hand, over texts in which nothing is stemmed."""

from collections import Counter

import pytest

from seqwright.errors import DataError
from seqwright.metrics.summaries import rouge

PAIRS = [
    ("the cat sat on the mat", "the cat was on the red mat"),
    ("a dog ran", "a dog ran home"),
    ("red green blue", "one two three"),
]


def grams(words: list[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + size]) for i in range(len(words) - size + 1))


def longest_common(one: list[str], other: list[str]) -> int:
    if not one or not other:
        return 0
    if one[-1] == other[-1]:
        return 1 + longest_common(one[:-1], other[:-1])
    return max(longest_common(one[:-1], other), longest_common(one, other[:-1]))


def f_score(same: int, said: int, wanted: int) -> float:
    return 2 * same / (said + wanted) if same else 0.0


def test_it_is_the_mean_f_score_of_words_pairs_and_longest_common_rows() -> None:
    found = rouge([said for said, _ in PAIRS], [wanted for _, wanted in PAIRS])
    words = [(said.split(), wanted.split()) for said, wanted in PAIRS]
    for name, size in (("rouge_1", 1), ("rouge_2", 2)):
        each = []
        for said, wanted in words:
            one, other = grams(said, size), grams(wanted, size)
            each.append(f_score((one & other).total(), one.total(), other.total()))
        assert found[name].value == pytest.approx(100 * sum(each) / 3)
    common = [f_score(longest_common(said, wanted), len(said), len(wanted)) for said, wanted in words]
    assert found["rouge_l"].value == pytest.approx(100 * sum(common) / 3)


def test_case_and_endings_of_words_do_not_count() -> None:
    found = rouge(["The dogs jumped."], ["the dog jumps"])
    assert found["rouge_1"].value == pytest.approx(100)
    assert found["rouge_1"].signature.startswith("F1|nrefs:1|case:lc|stemmer:porter|mean|rouge-score:")


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(DataError, match="1 hypotheses for 2 references"):
        rouge(["a"], ["a", "b"])
