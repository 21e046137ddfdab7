from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqwright.analysis.attention import maps_of
from seqwright.inputs.spelling import given_words, written_words
from seqwright.inputs.tokenizers import Kind, Tokenizer, TokenizerSettings
from seqwright.layers.taps import Tap, View, listen, views
from seqwright.models.transformer import TransformerSettings, transformer

TEXTS = ["Saturday, May 5, 1951", "May Day on a Saturday", "a day in May"]


def learnt(kind: Kind, **settings: Any) -> Tokenizer:
    return Tokenizer.train(TEXTS, TokenizerSettings(tokenizer=kind, vocabulary=100, **settings))


def spelled(tokenizer: Tokenizer, text: str) -> list[str]:
    words = given_words(tokenizer, text)
    places = [place for _, places in words for place in places]
    assert places == list(range(len(tokenizer.encode([text])[0]))), "every token belongs to one word"
    return [word for word, _ in words]


@pytest.mark.parametrize("kind", ["words", "bpe", "unigram", "wordpiece"])
def test_words_are_shown_as_the_user_wrote_them(kind: Kind) -> None:
    assert spelled(learnt(kind), "Saturday, May 5, 1951")[:4] == ["Saturday", ",", "May", "5"]
    assert spelled(learnt(kind, lowercase=True), "SATURDAY in MAY") == ["SATURDAY", "in", "MAY"]


@pytest.mark.parametrize("kind", ["words", "wordpiece"])
def test_an_unknown_word_keeps_its_letters(kind: Kind) -> None:
    assert spelled(learnt(kind), "May in Żürich, Ł") == ["May", "in", "Żürich", ",", "Ł"]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_an_unknown_letter_is_shown_and_no_space_stands_alone(kind: Kind) -> None:
    shown = spelled(learnt(kind), "a Ża May ▁")
    assert "".join(shown) == "aŻaMay▁"
    assert shown[1].startswith("Ż")
    assert spelled(learnt(kind), "Ł  in  May") == ["Ł", "in", "May"]


def test_an_accent_stays_on_its_letter() -> None:
    assert spelled(learnt("bpe"), "e\u0301 a") == ["e\u0301", "a"]
    assert spelled(learnt("characters"), "ae\u0301 a") == ["a", "e\u0301", " ", "a"]


def test_a_decoded_space_is_a_space() -> None:
    tokenizer = learnt("characters")
    assert written_words(tokenizer, tokenizer.encode(["a M"])[0].tolist()) == [("a", [0]), (" ", [1]), ("M", [2])]


class Batch(NamedTuple):
    source_BSD: Tensor
    input_BTD: Tensor


class Stepping(nn.Module):
    """Looks at the source anew at each step, and has experts: none of it is named as in a Transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Tap(View("expert", rows="input", columns="experts"))
        self.hidden = Tap(View("hidden state", rows="steps", columns="units"))
        self.silent = Tap()
        self.glance = Tap(View("glances", rows="target", columns="source"))

    def forward(self, batch: Batch) -> None:
        self.silent(self.hidden(self.gate(batch.input_BTD.sigmoid())))
        for step_B1D in batch.input_BTD.split(1, dim=1):
            self.glance((step_B1D @ batch.source_BSD.transpose(1, 2)).softmax(-1))


def test_a_model_says_itself_what_can_be_drawn_of_it() -> None:
    draw = torch.Generator().manual_seed(1)
    batch = Batch(torch.randn(1, 5, 3, generator=draw), torch.randn(1, 4, 3, generator=draw))
    words = {
        "source": [("Sat", [0, 1]), ("May", [2]), ("5", [3]), ("</s>", [4])],
        "input": [("<s>", [0]), ("Mai", [1, 2]), ("5", [3])],
        "target": [("Mai", [0, 1]), ("5", [2]), ("</s>", [3])],
    }
    model = Stepping()
    with listen(model) as heard:
        model(batch)
    maps = maps_of(model, heard, words)
    assert list(maps) == ["glances", "expert"], "what is written against what is read comes first, units not at all"
    glances, gate = maps.values()
    assert (glances.row_axis, glances.column_axis) == ("target word being written", "source word")
    assert (gate.row_axis, gate.column_axis) == ("target word already written", "experts")
    assert (list(gate.rows), list(gate.columns)) == (["<s>", "Mai", "5"], ["1", "2", "3"])
    assert list(glances.columns) == ["Sat", "May", "5", "</s>"]
    whole_TS = (batch.input_BTD @ batch.source_BSD.transpose(1, 2)).softmax(-1)[0].numpy()
    assert glances.weights.shape == (1, 1, 3, 4)
    assert glances.weights[0, 0, 1, 0] == pytest.approx(whole_TS[2, :2].sum())
    np.testing.assert_allclose(gate.weights[0, 0, 2], batch.input_BTD[0, 3].sigmoid())


def test_the_taps_of_a_transformer_are_the_layers_of_three_pictures() -> None:
    settings = TransformerSettings(width=8, heads=2, encoder_layers=2, decoder_layers=3, feed_forward=13, dropout=0.1)
    found = views(transformer(settings, source_vocabulary=11, target_vocabulary=11))
    assert {(view.name, view.rows, view.columns): len(taps) for view, taps in found.items()} == {
        ("encoder self-attention", "source", "source"): 2,
        ("decoder self-attention", "target", "input"): 3,
        ("cross-attention", "target", "source"): 3,
    }
    assert found[View("cross-attention", "target", "source")][2] == "decoder.blocks.2.source_attention.weights"
