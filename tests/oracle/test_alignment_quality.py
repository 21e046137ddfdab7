"""Numbers of alignments against hand-computed cases, and alignments on disk."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis
from hypothesis import strategies as st

from seqwright.data.alignments import alignment_line, read_alignments
from seqwright.errors import DataError, UserError
from seqwright.inputs.spelling import spaced_words
from seqwright.inputs.tokenizers import Kind, Tokenizer, TokenizerSettings
from seqwright.metrics.alignments import (
    Array,
    Gold,
    Quality,
    alignment_scores,
    coverage,
    diagonality,
    entropy,
    links,
    mean_quality,
    merged,
    quality,
)


def softmax(*shape: int) -> Array:
    grown = np.exp(3 * np.random.default_rng(0).normal(size=shape))
    result: Array = grown / grown.sum(axis=-1, keepdims=True)
    return result


# Words from pieces


def test_keys_add_up_and_queries_are_averaged() -> None:
    weights_TS = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
    np.testing.assert_allclose(merged(weights_TS, [[0, 1]], [[0, 1], [2]]), [[0.45, 0.55]])


def test_merged_rows_still_sum_to_one_under_layers_and_heads() -> None:
    weights_LHTS = softmax(2, 3, 5, 7)
    result = merged(weights_LHTS, [[0], [1, 2], [3, 4]], [[0, 1, 2], [3], [4, 5], [6]])
    assert result.shape == (2, 3, 3, 4)
    np.testing.assert_allclose(result.sum(axis=-1), 1)
    assert result[1, 2, 1, 2] == pytest.approx(weights_LHTS[1, 2, 1:3, 4:6].sum() / 2)


def test_a_word_without_pieces_is_refused() -> None:
    with pytest.raises(UserError, match="without pieces"):
        merged(softmax(2, 3), [[0], []], [[0, 1, 2]])


@pytest.mark.parametrize("kind", ["words", "bpe", "unigram", "wordpiece", "characters"])
def test_words_between_spaces_share_out_all_tokens_in_order(kind: Kind) -> None:
    tokenizer = Tokenizer.train(["the small dog, who sleeps."], TokenizerSettings(tokenizer=kind, vocabulary=40))
    text = " the  dog, who? sleeps. "
    words = spaced_words(tokenizer, text)
    assert [word for word, _ in words] == text.split()
    places = [place for _, places in words for place in places]
    assert places == list(range(len(tokenizer.encode([text])[0])))
    ids = tokenizer.encode([text])[0].tolist()
    if kind in {"bpe", "characters"}:
        assert tokenizer.decode([ids[place] for place in words[1][1]]).strip() == "dog,"


# Numbers


def test_entropy_is_in_bits() -> None:
    assert entropy(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])) == 0
    assert entropy(np.full((3, 8), 1 / 8)) == pytest.approx(3)
    assert entropy(np.array([[0.5, 0.5], [1.0, 0.0]])) == pytest.approx(0.5)


def test_coverage_is_the_share_of_the_source_that_got_its_due() -> None:
    assert coverage(np.eye(4)) == 1
    assert coverage(np.array([[1.0, 0.0], [1.0, 0.0]])) == 0.5
    assert coverage(np.array([[0.5, 0.5], [0.75, 0.25]])) == pytest.approx((1 + 0.75) / 2)


def test_diagonality_is_a_correlation() -> None:
    assert diagonality(np.eye(5)) == pytest.approx(1)
    assert diagonality(np.eye(5)[::-1]) == pytest.approx(-1)
    assert diagonality(np.full((3, 4), 1 / 4)) == pytest.approx(0, abs=1e-9)
    assert math.isnan(diagonality(np.ones((1, 1))))
    weights_TS = softmax(4, 6)
    times_TS = np.rint(weights_TS * 10_000).astype(int)
    pairs = [(t, s) for t in range(4) for s in range(6) for _ in range(times_TS[t, s])]
    assert diagonality(weights_TS) == pytest.approx(np.corrcoef(np.array(pairs).T)[0, 1], abs=1e-3)


def test_an_alignment_of_nothing_says_so_in_words() -> None:
    assert str(Quality(math.nan, math.nan, math.nan)).endswith("undefined: nothing was written")
    assert str(Quality(1.0, 0.5, math.nan)) == "entropy 1.00 bits, coverage 0.50, diagonality undefined"


def test_the_ends_of_the_sentences_are_no_words() -> None:
    whole = np.array([[0.9, 0.0, 0.1], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    found = quality(whole)
    assert found.coverage == pytest.approx((0.9 + 0.5) / 2)
    assert found.diagonality == pytest.approx(1)
    assert found.entropy == pytest.approx((-0.9 * math.log2(0.9) - 0.1 * math.log2(0.1) + 1) / 2)
    assert str(found) == f"entropy {found.entropy:.2f} bits, coverage 0.70, diagonality +1.00"
    assert "undefined" in str(quality(np.array([[0.5, 0.5], [0.0, 1.0]])))
    nothing = Quality(1.0, 0.5, math.nan)
    assert mean_quality([nothing, Quality(2.0, 1.0, 0.25)]) == Quality(1.5, 0.75, 0.25)


# The error rate


def test_the_error_rate_by_hand() -> None:
    """A = {0-0, 1-1, 2-2, 3-3}; sure 0-0, 1-1, 4-4; possible also 2-2: AER = 1 - (2 + 3) / (4 + 3)."""
    found = [frozenset({(0, 0), (1, 1)}), frozenset({(2, 2), (3, 3)})]
    sure = [frozenset({(0, 0), (1, 1)}), frozenset({(4, 4)})]
    gold = [Gold(sure[0], sure[0]), Gold(sure[1], sure[1] | {(2, 2)})]
    scores = alignment_scores(found, gold)
    assert scores.error_rate == pytest.approx(1 - 5 / 7)
    assert scores.precision == pytest.approx(3 / 4)
    assert scores.recall == pytest.approx(2 / 3)


@hypothesis(max_examples=40, deadline=None)
@given(st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1))
def test_what_is_right_has_no_errors_and_what_is_wrong_nothing_else(right: frozenset[tuple[int, int]]) -> None:
    assert alignment_scores([right], [Gold(right, right)]).error_rate == pytest.approx(0)
    moved = frozenset((source + 9, target) for source, target in right)
    assert alignment_scores([moved], [Gold(right, right)]).error_rate == pytest.approx(1)


def test_each_target_word_is_linked_with_what_it_looks_at_most() -> None:
    assert links(np.array([[0.2, 0.8], [0.9, 0.1], [0.3, 0.7]])) == {(1, 0), (0, 1), (1, 2)}


# On disk


def test_alignments_are_read_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "gold.txt"
    path.write_text("0-0 1-2 3?4\n\n10-2 9-3\n")
    found = read_alignments(path)
    assert found[0] == (frozenset({(0, 0), (1, 2)}), frozenset({(0, 0), (1, 2), (3, 4)}))
    assert found[1] == (frozenset(), frozenset())
    assert alignment_line(found[2][0]) == "9-3 10-2"


@pytest.mark.parametrize("broken", ["0:1", "1-", "-1-2", "a-b", "1-2-3"])
def test_a_broken_line_is_named(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "gold.txt"
    path.write_text(f"0-0\n1-1 {broken}\n")
    with pytest.raises(DataError, match=rf"gold\.txt:2: '{broken}' is no link; expected numbers from 0"):
        read_alignments(path)


def test_scores_need_as_many_gold_alignments_as_found_ones() -> None:
    with pytest.raises(DataError, match="1 alignments for 2 gold ones"):
        alignment_scores([frozenset()], [Gold(frozenset(), frozenset())] * 2)
    with pytest.raises(DataError, match="nothing to compare"):
        alignment_scores([frozenset({(0, 0)})], [Gold(frozenset(), frozenset())])
