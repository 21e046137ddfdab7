import math
import subprocess
import sys
from collections.abc import Callable

import pytest

from seqwright.errors import DataError, SettingError
from seqwright.metrics import TextScore, bleu, chrf, exact_match, exact_match_by_kind, perplexity

REFERENCES = ["The cat sat on the mat.", "It is raining again today.", "Two plus two is four."]
WORSE = ["The cat sat on a mat.", "it is raining again today.", "Two plus two is five."]


@pytest.mark.parametrize("metric", [bleu, chrf, exact_match])
def test_the_references_themselves_score_a_hundred(metric: Callable[..., TextScore]) -> None:
    assert metric(REFERENCES, REFERENCES).value == pytest.approx(100)
    assert 0 <= metric(WORSE, REFERENCES).value < 100


@pytest.mark.parametrize("metric", [bleu, chrf, exact_match])
def test_case_counts_unless_told_otherwise_and_the_signature_says_so(metric: Callable[..., TextScore]) -> None:
    shouted = [text.upper() for text in REFERENCES]
    cased, lower = metric(shouted, REFERENCES), metric(shouted, REFERENCES, lowercase=True)
    assert cased.value < 100
    assert lower.value == pytest.approx(100)
    assert "case:mixed" in cased.signature
    assert "case:lc" in lower.signature


def test_the_tokenizer_stands_in_the_signature() -> None:
    assert "tok:13a" in bleu(WORSE, REFERENCES).signature
    assert "tok:char" in bleu(WORSE, REFERENCES, tokenize="char").signature


def test_an_unknown_tokenizer_is_refused_with_the_nearest_known() -> None:
    with pytest.raises(SettingError, match=r"no tokenizer 'itnl'.* Did you mean 'intl'"):
        bleu(WORSE, REFERENCES, tokenize="itnl")


def test_exact_match_is_a_percentage_and_overlooks_spaces_around() -> None:
    assert exact_match(["a b", " c ", "d  e", "f"], ["a b", "c", "d e", "g"]).value == 50.0


def test_exact_matches_are_counted_by_kind() -> None:
    found = exact_match_by_kind(["a", "b", "x", "d", "y"], ["a", "b", "c", "d", "e"], ["t", "t", "t", "l", "d"])
    assert found == {"d": (0, 1), "l": (1, 1), "t": (2, 3)}
    assert list(found) == ["d", "l", "t"]


@pytest.mark.parametrize("metric", [bleu, chrf, exact_match])
def test_a_missing_hypothesis_is_an_error_and_so_is_nothing_at_all(metric: Callable[..., TextScore]) -> None:
    with pytest.raises(DataError, match="2 hypotheses for 3 references"):
        metric(WORSE[:2], REFERENCES)
    with pytest.raises(DataError, match="no sentences"):
        metric([], [])


def test_a_missing_kind_is_an_error() -> None:
    with pytest.raises(DataError, match="2 kinds for 3 references"):
        exact_match_by_kind(WORSE, REFERENCES, ["a", "b"])


def test_perplexity_of_an_even_choice_is_the_number_of_choices() -> None:
    assert perplexity(7 * math.log(11), 7) == pytest.approx(11)
    assert perplexity(1e6, 2) == math.inf
    with pytest.raises(DataError, match="0 tokens"):
        perplexity(0.0, 0)


def test_importing_the_metrics_does_not_import_sacrebleu() -> None:
    code = "import sys, seqwright.metrics.text; sys.exit('sacrebleu' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
