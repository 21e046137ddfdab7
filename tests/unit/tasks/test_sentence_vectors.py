"""Sentences as vectors by models that translate: a thought vector where there is one, the encoder's mean elsewhere."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from seqwright.analysis.embedder import Embedder
from seqwright.batches.pairs import sources
from seqwright.errors import SettingError
from seqwright.models.context_rnn import ContextRNNSettings, context_rnn
from seqwright.models.headed import GPTClassifierSettings, pooled_model
from seqwright.models.seq2seq import Seq2SeqSettings, seq2seq
from seqwright.models.transformer import TransformerSettings, transformer
from tests.small_texts import wires_of
from tests.wires import classifier_wires

TEXTS = ["a cat sat", "dog", "a dog ran far away", "cat"]
INPUTS = wires_of([(text, text) for text in TEXTS], tokenizer="words")


def built(model: Callable[..., Any], settings: Any) -> Any:
    torch.manual_seed(1)
    return model(settings, **INPUTS.sizes()).eval()


def rows(*texts: str) -> Any:
    return sources(INPUTS.tokenizer.encode(list(texts)), end=INPUTS.tokenizer.end)


def test_the_thought_is_what_the_layers_show_after_the_last_token() -> None:
    model = built(seq2seq, Seq2SeqSettings(width=7, embedding=5, layers=2, reversed=False))
    found = Embedder(model, INPUTS)(TEXTS)
    assert found.shape == (4, 14)
    for text, vector in zip(TEXTS, found, strict=True):
        x, expected = model.body.embedding(rows(text).source_BS), []
        for layer in model.body.recurrent.stack():
            (cell,) = layer.directions()
            state, said = cell.start(1), []
            for step in x.unbind(1):
                state = cell(step, state)
                said.append(state.hidden_BD)
            x = torch.stack(said, dim=1)
            expected.append(state.hidden_BD)
        torch.testing.assert_close(vector, torch.cat(expected, 1)[0])


def test_the_thought_of_a_context_fed_model_is_its_summary() -> None:
    model = built(context_rnn, ContextRNNSettings(width=7, embedding=5))
    found = Embedder(model, INPUTS, pooling="thought")(TEXTS)
    for text, vector in zip(TEXTS, found, strict=True):  # alone, so that padding cannot help
        torch.testing.assert_close(vector, model.start(rows(text)).summary_BD[0])


def test_a_transformer_gives_the_mean_of_what_its_encoder_says() -> None:
    settings = TransformerSettings(width=8, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=13, dropout=0.1)
    model = built(transformer, settings)
    found = Embedder(model, INPUTS)(TEXTS)
    for text, vector in zip(TEXTS, found, strict=True):
        batch = rows(text)
        torch.testing.assert_close(vector, model.body(batch.source_BS, batch.source_real_BS)[0].mean(0))
    with pytest.raises(SettingError, match=r"--pooling thought .* this model has none: use mean"):
        Embedder(model, INPUTS, pooling="thought")


def test_the_mean_can_be_asked_of_a_model_that_has_a_thought() -> None:
    model = built(seq2seq, Seq2SeqSettings(width=7, embedding=5, reversed=False))
    (vector,) = Embedder(model, INPUTS, pooling="mean")(["a dog ran far away"])
    batch = rows("a dog ran far away")
    hidden, _ = model.body.recurrent(model.body.embedding(batch.source_BS), None, batch.source_real_BS)
    torch.testing.assert_close(vector, hidden[0].mean(0))


def test_the_first_token_of_a_model_that_reads_forwards_has_read_nothing() -> None:
    inputs = classifier_wires(TEXTS, {"a": 1, "b": 1}, begins=True)
    settings = GPTClassifierSettings(width=8, heads=2, layers=1, context=16, feed_forward=16)
    model = pooled_model(settings, vocabulary=inputs.sizes()["vocabulary"], classes=2)
    assert Embedder(model, inputs)(TEXTS).shape == (4, 8)
    with pytest.raises(SettingError, match=r"--pooling first .* this model has none: use mean"):
        Embedder(model, inputs, pooling="first")(TEXTS)
