"""Words as vectors: neighbours against NumPy, and the lectures' example, the banks of a river and of money."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from seqwright.analysis.vectors import WordVectors, similarity
from seqwright.errors import DataError, RunError, SettingError
from seqwright.models.headed import RecurrentClassifierSettings, pooled_model
from seqwright.models.language_model import LanguageModel
from seqwright.models.mlp_lm import MLPLM, MLPLMSettings
from seqwright.models.ngram import Ngram, NgramSettings
from seqwright.models.rnn_lm import RecurrentLM, RecurrentLMSettings
from seqwright.models.transformer import TransformerSettings, transformer
from seqwright.tasks.wired import Wires
from tests.small_texts import wires_of
from tests.wires import classifier_wires, running_wires

RIVER, MONEY = "he sat on the bank of the river", "she took money to the bank of england"
SAME_PREFIX = "he sat on the bank and took money"
CORPUS = [RIVER, MONEY, SAME_PREFIX, "a bank, the river (banks) and england"]


class Reader(NamedTuple):
    model: Any
    inputs: Any
    sees_what_follows: bool


def running_text(kind: str = "words") -> Wires:
    return running_wires(CORPUS, tokenizer=kind, rows="documents")


def recurrent(kind: str) -> Callable[[], Reader]:
    def made() -> Reader:
        inputs = running_text()
        settings = RecurrentLMSettings.model_validate({"kind": kind, "width": 11, "embedding": 7, "layers": 2})
        return Reader(LanguageModel(RecurrentLM(settings, **inputs.sizes())), inputs, sees_what_follows=False)

    return made


def mlp() -> Reader:
    inputs = running_text()
    settings = MLPLMSettings(window=3, embedding=7, width=11)
    return Reader(LanguageModel(MLPLM(settings, **inputs.sizes())), inputs, False)


def translator(*, shared: bool = True) -> Reader:
    inputs = wires_of([(text, text.upper()) for text in CORPUS], tokenizer="words", shared=shared)
    settings = TransformerSettings(
        width=8, heads=2, encoder_layers=2, decoder_layers=1, feed_forward=13, dropout=0.1, block="pre-norm"
    )
    sizes: dict[str, Any] = inputs.sizes()
    return Reader(transformer(settings, **sizes), inputs, sees_what_follows=True)


def classifier() -> Reader:
    inputs = classifier_wires(CORPUS, {"land": 2, "money": 2})
    settings = RecurrentClassifierSettings(width=5, embedding=7, layers=2)
    return Reader(pooled_model(settings, **inputs.sizes()), inputs, sees_what_follows=True)


READERS = {
    "rnn": recurrent("rnn"),
    "lstm": recurrent("lstm"),
    "mlp": mlp,
    "transformer": translator,
    "classifier": classifier,
}


def made(reader: Callable[[], Reader]) -> Reader:
    torch.manual_seed(1)
    return reader()


def words_of(reader: Reader, **given: Any) -> WordVectors:
    return WordVectors(reader.model, reader.inputs, **given)


# ------------------------------------------------------------------------------------------------ in a text


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_the_bank_of_a_river_and_the_bank_of_money_differ_only_in_context(reader: Callable[[], Reader]) -> None:
    found = made(reader)
    river, money = words_of(found).occurrences("bank", [RIVER, MONEY])
    assert (river.text, money.text) == (0, 1)
    assert torch.equal(river.embedding_D, money.embedding_D)
    assert similarity(river.embedding_D, money.embedding_D) == pytest.approx(1.0)
    assert similarity(river.contextual_D, money.contextual_D) < 0.999


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_what_follows_changes_a_word_only_where_the_model_sees_it(reader: Callable[[], Reader]) -> None:
    """Both texts begin with `he sat on the bank`."""
    found = made(reader)
    one, other = words_of(found).occurrences("bank", [RIVER, SAME_PREFIX])
    change = float((one.contextual_D - other.contextual_D).abs().max())
    assert change > 1e-3 if found.sees_what_follows else change < 1e-6


@torch.no_grad()
@pytest.mark.parametrize("kind", ["rnn", "lstm"])
def test_in_context_a_word_is_the_state_after_reading_as_far_as_it(kind: str) -> None:
    found = made(recurrent(kind))
    model, tokenizer = found.model.eval(), found.inputs.tokenizer
    tokens = tokenizer.encode(["he sat on the bank"])[0].tolist()
    state = model.body.start(1)
    for token in [found.inputs.input.first, *tokens]:
        _, state = model.step(torch.tensor([token]), state)
    (river,) = words_of(found).occurrences("bank", [RIVER])
    torch.testing.assert_close(river.contextual_D, state[-1][0].hidden_BD[0], rtol=0, atol=1e-6)


@torch.no_grad()
def test_in_context_a_source_word_is_what_the_encoder_says_there() -> None:
    found = made(translator)
    tokens = [*found.inputs.tokenizer.encode([MONEY])[0].tolist(), 3]
    source_1S = torch.tensor([tokens])
    memory_1SD = found.model.eval().body(source_1S, torch.ones_like(source_1S, dtype=torch.bool))
    vectors = words_of(found)
    other, money = vectors.occurrences("bank", ["a bank", MONEY])  # a shorter row, so that there is padding
    assert (other.text, money.text) == (0, 1)
    torch.testing.assert_close(money.contextual_D, memory_1SD[0, MONEY.split().index("bank")], rtol=0, atol=1e-5)


def test_every_place_of_a_word_is_found_also_beside_a_bracket_and_in_pieces() -> None:
    inputs = running_text("bpe")
    torch.manual_seed(1)
    model = LanguageModel(RecurrentLM(RecurrentLMSettings(kind="rnn", width=7), **inputs.sizes()))
    vectors = WordVectors(model, inputs)
    texts = ["banks, a bank (bank)", "the river", "bank"]
    assert [place.text for place in vectors.occurrences("bank", texts)] == [0, 0, 2]
    tokens = inputs.tokenizer.encode(["moneyed"])[0].tolist()
    assert len(tokens) > 1
    (place,) = vectors.occurrences("moneyed", ["he moneyed the bank"])
    target_D = model.body.embedding.weight.detach()[tokens].mean(0)
    torch.testing.assert_close(place.embedding_D, target_D)
    torch.testing.assert_close(vectors.word("moneyed").vector_D, target_D)


# ------------------------------------------------------------------------------------------------ neighbours


def test_neighbours_are_those_of_the_largest_cosine() -> None:
    found = made(recurrent("lstm"))
    vectors = words_of(found)
    matrix = found.model.body.embedding.weight.detach().double().numpy()
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    pieces = found.inputs.tokenizer.pieces(range(found.inputs.tokenizer.size))
    bank = pieces.index("▁bank")
    order = [i for i in np.argsort(-(unit @ unit[bank])) if i > 3 and i != bank][:5]
    word = vectors.word("bank")
    nearest = vectors.neighbours(word.vector_D, top=5, without=word.tokens)
    assert [neighbour.token for neighbour in nearest] == [pieces[i] for i in order]
    assert [neighbour.cosine for neighbour in nearest] == pytest.approx((unit[order] @ unit[bank]).tolist(), abs=1e-6)
    every = vectors.neighbours(word.vector_D, top=1000)
    assert len(every) == len(pieces) - 4
    assert every[0].token == "▁bank"


def test_a_word_can_be_asked_for_as_it_is_said_or_as_its_token_is_spelled() -> None:
    vectors = words_of(made(recurrent("rnn")))
    assert vectors.word("bank").tokens == vectors.word("▁bank").tokens
    assert [vectors.spellings[token] for token in vectors.word("(").tokens] == ["("]  # not also the space before it


def test_an_unknown_word_is_refused_with_the_nearest_known_one() -> None:
    vectors = words_of(made(recurrent("rnn")))
    with pytest.raises(DataError, match=r"'rivr' is not in the model's vocabulary. Did you mean 'river'\?"):
        vectors.word("rivr")
    with pytest.raises(DataError, match="'' is not in"):
        vectors.word("")


# ------------------------------------------------------------------------------------------------ sides


def test_a_translation_with_two_vocabularies_has_two_sides() -> None:
    found = made(lambda: translator(shared=False))
    with pytest.raises(SettingError, match="vectors of source and of target; choose with --side"):
        words_of(found)
    with pytest.raises(SettingError, match=r"there is no --side 'targte'\. Did you mean 'target'"):
        words_of(found, side="targte")
    source, target = words_of(found, side="source"), words_of(found, side="target")
    assert ("▁bank" in source.spellings, "▁BANK" in source.spellings) == (True, False)
    assert ("▁bank" in target.spellings, "▁BANK" in target.spellings) == (False, True)
    assert torch.equal(source.embedding_VD, found.model.body.embedding.tokens.weight)
    assert torch.equal(target.embedding_VD, found.model.decoder.embedding.tokens.weight)
    with pytest.raises(SettingError, match="choose --side source"):
        target.occurrences("BANK", ["THE BANK"])


def test_where_both_sides_share_their_vectors_none_need_be_chosen() -> None:
    found = made(translator)
    assert torch.equal(words_of(found).embedding_VD, words_of(found, side="target").embedding_VD)


def test_a_model_without_embeddings_has_no_word_vectors() -> None:
    inputs = running_text()
    with pytest.raises(RunError, match="no word vectors"):
        WordVectors(Ngram(NgramSettings(order=2), **inputs.sizes()), inputs)
