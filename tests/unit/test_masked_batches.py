"""What is hidden, what follows what, and that a batch depends on nothing but its place."""

from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from seqwright.batches import InMemory, Zipped
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.masked import Masked, masked_rows
from seqwright.batches.masks import MaskedText, Masks, TokenMasks, WordMasks
from seqwright.batches.sentences import FullSentences, SentencePairs, SentenceRow, SentenceRows, Sentences, WholeTexts
from seqwright.inputs.sentences import SentencesInput
from seqwright.outputs.masked import MaskedOutput
from tests.columns import by_column

BEGIN, END, MASK, FIRST, V = 2, 3, 4, 5, 97
ORDINARY_V = np.arange(V) >= FIRST
LONGEST = 29


def corpus(documents: int = 23, seed: int = 7) -> list[list[list[int]]]:
    """Documents of sentences in which no token occurs twice anywhere: each says where it stands."""
    chance, token, made = np.random.default_rng(seed), 100, []
    for _ in range(documents):
        document = []
        for length in chance.integers(1, 19, size=chance.integers(2, 17)).tolist():
            document.append(list(range(token, token + length)))
            token += length
        made.append(document)
    return made


def rows_of(documents: Sequence[Sequence[Sequence[int]]]) -> InMemory:
    closed = [[token for sentence in document for token in [*sentence, END]] for document in documents]
    return InMemory([np.array(row, dtype=np.uint16) for row in closed])


def pairs_of(documents: Sequence[Sequence[Sequence[int]]]) -> SentencePairs:
    sentences = Sentences(rows_of(documents), end=END, most=SentencePairs.most(LONGEST))
    return SentencePairs(sentences, longest=LONGEST, begin=BEGIN)


def beginnings(documents: Sequence[Sequence[Sequence[int]]]) -> set[int]:
    """The tokens that begin a sentence, or a part of a long one."""
    most = (LONGEST - 3) // 2
    return {part for document in documents for sentence in document for part in sentence[::most]}


def stretches(tokens: NDArray[np.integer]) -> list[list[int]]:
    """What stands between the special tokens."""
    assert tokens[0] == BEGIN
    assert tokens[-1] == END
    found: list[list[int]] = [[]]
    for token in tokens[1:-1].tolist():
        if token == END:
            found.append([])
        else:
            found[-1].append(token)
    return found


def many(masks: Masks, tokens: NDArray[np.int64], times: int) -> list[MaskedText]:
    return [masks(tokens, np.random.default_rng(seed)) for seed in range(times)]


def words_of_three(ids: list[int]) -> list[tuple[str, list[int]]]:
    """Three ordinary tokens are a word; special ones stand alone."""
    found: list[tuple[str, list[int]]] = []
    for place, token in enumerate(ids):
        if token >= FIRST and found and ids[place - 1] >= FIRST and len(found[-1][1]) < 3:
            found[-1][1].append(place)
        else:
            found.append(("", [place]))
    return found


TEXT = np.concatenate(([BEGIN], np.arange(FIRST, 65), [END], np.arange(30, 71), [1, END]))


def test_fifteen_percent_are_chosen_and_never_a_special_token() -> None:
    ordinary = TEXT >= FIRST
    for hidden in many(TokenMasks(mask=MASK, ordinary_V=ORDINARY_V), TEXT, 200):
        assert hidden.chosen_T.sum() == round(0.15 * ordinary.sum())
        assert not hidden.chosen_T[~ordinary].any()
        assert (hidden.input_T == TEXT)[~hidden.chosen_T].all()


def test_every_ordinary_token_is_chosen_equally_often() -> None:
    every = many(TokenMasks(mask=MASK, ordinary_V=ORDINARY_V), TEXT, 3000)
    share = np.mean([hidden.chosen_T[TEXT >= FIRST] for hidden in every], axis=0)
    assert abs(share - 0.15).max() < 0.04  # six deviations


def test_eighty_ten_ten() -> None:
    chosen = replaced = stayed = 0
    drawn = Counter[int]()
    for hidden in many(TokenMasks(mask=MASK, ordinary_V=ORDINARY_V), TEXT, 2000):
        given, true = hidden.input_T[hidden.chosen_T], TEXT[hidden.chosen_T]
        chosen += len(given)
        stayed += int((given == true).sum())
        others = given[(given != true) & (given != MASK)]
        replaced += len(others)
        drawn.update(others.tolist())
    assert abs((chosen - stayed - replaced) / chosen - 0.8) < 0.01
    assert abs(replaced / chosen - 0.1) < 0.01
    assert abs(stayed / chosen - 0.1) < 0.01
    assert set(drawn) == set(range(FIRST, V))  # any word of the vocabulary, and nothing else


def test_one_token_is_hidden_of_the_shortest_text() -> None:
    hidden = TokenMasks(mask=MASK, ordinary_V=ORDINARY_V)(np.array([BEGIN, 50, 51, END]), np.random.default_rng(1))
    assert hidden.chosen_T.sum() == 1


def test_whole_words_are_hidden_whole() -> None:
    words = [places for _, places in words_of_three(TEXT.tolist())]
    masks = WordMasks(mask=MASK, ordinary_V=ORDINARY_V, words=words_of_three)
    shares = []
    for hidden in many(masks, TEXT, 300):
        assert all(len(set(hidden.chosen_T[places].tolist())) == 1 for places in words)
        assert not hidden.chosen_T[TEXT < FIRST].any()
        shares.append(hidden.chosen_T.sum() / (TEXT >= FIRST).sum())
    assert 0.13 < np.mean(shares) <= 0.15
    assert max(shares) < 0.16


def test_the_pieces_of_a_hidden_word_have_fates_of_their_own() -> None:
    masks = WordMasks(mask=MASK, ordinary_V=ORDINARY_V, words=words_of_three)
    given = np.concatenate([hidden.input_T[hidden.chosen_T] for hidden in many(masks, TEXT, 500)])
    assert abs((given == MASK).mean() - 0.8) < 0.02


def test_a_second_stretch_really_follows_or_is_from_another_document() -> None:
    documents = corpus()
    pairs = pairs_of(documents)
    document_of = {token: n for n, document in enumerate(documents) for sentence in document for token in sentence}
    begins = beginnings(documents)
    for number in range(len(pairs.length_N)):
        for seed in range(5):
            tokens, second, follows = pairs.drawn(number, np.random.default_rng(seed))
            one, other = stretches(tokens)
            assert len(tokens) <= min(LONGEST, int(pairs.length_N[number]))
            assert second == len(one) + 2
            assert {one[0], other[0]} <= begins
            for stretch in (one, other):
                assert stretch == list(range(stretch[0], stretch[0] + len(stretch)))
                assert len({document_of[token] for token in stretch}) == 1
            same = document_of[one[0]] == document_of[other[0]]
            assert same == bool(follows)
            assert not follows or other[0] == one[-1] + 1


def test_half_of_the_second_stretches_follow() -> None:
    pairs = pairs_of(corpus())
    draws = [
        pairs.drawn(n, np.random.default_rng((s, n))).follows for n in range(len(pairs.length_N)) for s in range(40)
    ]
    assert abs(np.mean(draws) - 0.5) < 5 * 0.5 / len(draws) ** 0.5


def test_every_sentence_of_other_documents_can_be_drawn() -> None:
    documents = corpus(5)
    pairs = pairs_of(documents)
    first = {stretches(pairs.drawn(0, np.random.default_rng(s)).tokens)[1][0] for s in range(3000)}
    assert {token for token in first if token > documents[0][-1][-1]} == beginnings(documents[1:])


def test_all_of_a_document_is_read_where_its_second_stretches_follow() -> None:
    documents = corpus()
    pairs = pairs_of(documents)
    seen = set[int]()
    for number in range(len(pairs.length_N)):
        drawn = next(d for s in range(99) if (d := pairs.drawn(number, np.random.default_rng(s))).follows)
        seen.update(token for stretch in stretches(drawn.tokens) for token in stretch)
    assert seen == {token for document in documents for sentence in document for token in sentence}


def test_a_document_of_one_sentence_is_left_out_and_counted() -> None:
    documents = [*corpus(4), [[9001, 9002, 9003]]]
    pairs = pairs_of(documents)
    assert pairs.left_out == 1
    assert 4 not in set(pairs.sentences.document_P[pairs.first_N].tolist())


def test_full_sentences_hold_everything_once_and_cut_no_sentence_that_fits() -> None:
    documents = corpus()
    sentences = Sentences(rows_of(documents), end=END, most=FullSentences.most(LONGEST))
    full = FullSentences(sentences, longest=LONGEST, begin=BEGIN)
    drawn = [full.drawn(number, np.random.default_rng(0)) for number in range(len(full.length_N))]
    read = [token for each in drawn for stretch in stretches(each.tokens) for token in stretch]
    assert read == [token for document in documents for sentence in document for token in sentence]
    assert [len(each.tokens) for each in drawn] == full.length_N.tolist()
    assert max(full.length_N) <= LONGEST
    assert {each.follows for each in drawn} == {-1}
    ends = {sentence[-1] for document in documents for sentence in document}
    assert all(each.tokens[-2] in ends for each in drawn)
    borders = {document[-1][-1] for document in documents}
    inner = [stretch[-1] for each in drawn for stretch in stretches(each.tokens)[:-1]]
    assert set(inner) <= borders
    assert inner  # some examples go on with the next document


def some_masked_rows(seed: int = 3) -> Zipped:
    small = [[[token % 80 + FIRST for token in s] for s in document] for document in corpus()]
    rows = SentenceRows(pairs_of(small), np.arange(len(small)), seed=seed)
    return Zipped(rows, masked_rows(rows, TokenMasks(mask=MASK, ordinary_V=ORDINARY_V), MASK))


def masked(rows: Sequence[SentenceRow], hidden: Sequence[MaskedText]) -> Masked:
    tokenizer: Any = SimpleNamespace(mask=MASK)
    stacked = SentencesInput(tokenizer, LONGEST, LONGEST, "sentence-pairs").stack(rows)
    return MaskedOutput(tokenizer, "tokens", 0.15, True).collate(stacked, hidden)


def test_what_a_user_masked_is_asked_for_and_nothing_else() -> None:
    typed = [np.array([BEGIN, 50, MASK, 52, MASK, END]), np.array([BEGIN, MASK, END])]
    rows = SentenceRows(WholeTexts(typed), np.arange(2))
    for row, hidden in zip(
        typed,
        masked_rows(rows, TokenMasks(mask=MASK, ordinary_V=ORDINARY_V), MASK).take(np.arange(2), None),
        strict=True,
    ):
        assert hidden.input_T.tolist() == row.tolist()
        assert hidden.chosen_T.tolist() == (row == MASK).tolist()


def test_rows_know_the_document_they_begin_with() -> None:
    documents = [*corpus(4), [[9001, 9002, 9003]], *corpus(1)]
    rows = SentenceRows(pairs_of(documents), np.array([0, 2, 3, 5, 7, 8]))
    assert sorted(set(rows.example_N.tolist())) == [0, 2, 3, 5, 8]  # the one of one sentence is left out
    assert (np.diff(rows.example_N) >= 0).all()


def test_another_epoch_or_seed_draws_other_pairs_and_hides_other_words() -> None:
    rows, other = some_masked_rows(), some_masked_rows(seed=4)
    number_N = np.arange(len(rows.example_N))
    first, second, third = rows.take(number_N, 0), rows.take(number_N, 1), other.take(number_N, 0)
    for some in (second, third):
        assert [row.drawn.tokens.tolist() for row, _ in first] != [row.drawn.tokens.tolist() for row, _ in some]
        assert [hidden.chosen_T.tolist() for _, hidden in first] != [hidden.chosen_T.tolist() for _, hidden in some]


@pytest.mark.parametrize("epoch", [None, 0])
def test_a_batch_says_what_stood_where_something_is_hidden(epoch: int | None) -> None:
    batches = Bucketed(some_masked_rows(), by_column(masked), tokens=150, seed=3)
    for batch in (batches.batch(numbers, epoch) for numbers in batches.plan(epoch)):
        unchosen = ~batch.chosen_BT
        assert torch.equal(batch.input_BT[unchosen], batch.target_BT[unchosen])
        assert bool(batch.real_BT[batch.chosen_BT].all())
        assert bool((batch.target_N >= FIRST).all())
        assert not bool((batch.target_BT == MASK).any())
        ends_BT = (batch.target_BT == END) & batch.real_BT
        assert ends_BT.sum(1).tolist() == [2] * len(ends_BT)
        after_first_BT = (ends_BT.long().cumsum(1) - ends_BT.long()) > 0  # strictly after the first END
        assert torch.equal(batch.segment_BT.bool(), after_first_BT & batch.real_BT)
        assert batch.tokens == int(batch.real_BT.sum())
        assert batch.real_BT.numel() <= 150
