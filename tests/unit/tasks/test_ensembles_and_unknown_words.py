"""Translators of several runs, unknown words replaced through the alignment, and models that are listened to."""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqwright.batches.pairs import pairs
from seqwright.data.examples import Pair
from seqwright.decoding.coverage import Aligns
from seqwright.decoding.settings import DecodingSettings
from seqwright.errors import RunError, SettingError
from seqwright.inputs import Given
from seqwright.inputs.dictionary import learnt_dictionary, load_dictionary, save_dictionary
from seqwright.layers.taps import Tap, View
from seqwright.models.transformer import TransformerSettings, transformer
from seqwright.outputs.alignments import Aligner, Attentive, alignment_taps
from seqwright.outputs.text_search import Search, Searcher
from seqwright.outputs.unknown_words import replaced
from seqwright.tasks.ensembles import ensemble_of, whole_batches
from seqwright.tasks.wired import Wires
from tests.small_models import small, some_pairs
from tests.small_texts import wires_of, written

PAIRS = [("ein Hund schläft", "a dog sleeps"), ("eine Katze schläft", "a cat sleeps")] * 2
OTHER = [("ein Hund schläft", "a dog sleeps"), ("eine Katze rennt", "a cat runs")] * 2


class Made(NamedTuple):
    folder: Path
    model: nn.Module
    inputs: Wires


def made(name: str, seed: int, inputs: Wires) -> Made:
    torch.manual_seed(seed)
    settings = TransformerSettings(width=8, heads=2, encoder_layers=1, decoder_layers=2, feed_forward=13, dropout=0.0)
    sizes: dict[str, Any] = dict(inputs.sizes())
    return Made(Path(name), transformer(settings, **sizes), inputs)


def learnt(pairs: Any = PAIRS, *, dictionary: Any = None, **settings: Any) -> Wires:
    wires = wires_of(pairs, **{"tokenizer": "words", "shared": False, **settings})
    output: Any = wires.output
    return replace(wires, output=replace(output, dictionary=dictionary))


# ------------------------------------------------------------------------------------------------ ensembles


@pytest.mark.parametrize("settings", [{}, {"beam": 3, "n_best": 3}, {"temperature": 1.0, "n_best": 2}])
def test_a_run_with_itself_translates_as_alone(settings: dict[str, Any]) -> None:
    run, texts = made("one", 1, learnt()), ["ein Hund", "Katze schläft ein"]
    alone = written(run.model, run.inputs, texts, longest=7, **settings)
    wires, model = ensemble_of([run, run])
    twice = written(model, wires, texts, longest=7, **settings)
    assert [[each.tokens for each in row] for row in twice] == [[each.tokens for each in row] for row in alone]
    assert twice[1][0].score == pytest.approx(alone[1][0].score, abs=1e-5)


def test_sources_may_be_cut_otherwise_and_the_score_is_of_the_mean() -> None:
    """Words and characters on the source side, the same words on the target side."""
    first = made("words", 1, learnt())
    characters = learnt(tokenizer="characters")
    second = made("characters", 2, replace(characters, output=first.inputs.output))
    sentences, targets = ["Katze schläft", "Katze", "ein Hund"], ["a cat sleeps", "a", "a dog"]
    wires, model = ensemble_of([first, second])
    examples = [Pair(*both) for both in zip(sentences, targets, strict=True)]
    together = [
        wires.output.log_probability(model, whole_batches(wires.members, Given([each]), 100))[0] for each in examples
    ]
    for row, (sentence, target) in enumerate(zip(sentences, targets, strict=True)):
        shares = []
        for run in (first, second):
            tokens = run.inputs.output.tokenizer
            sides = run.inputs.tokenizer.encode([sentence]), tokens.encode([target])
            batch = pairs(*sides, begin=tokens.begin, end=tokens.end)
            logits_BTV = run.model.eval()(batch)[0].detach()
            shares.append(logits_BTV.softmax(-1).gather(-1, batch.target_BT.unsqueeze(-1)).squeeze(-1).numpy())
        assert together[row] == pytest.approx(float(np.log(np.mean(shares, axis=0)).sum()), abs=1e-4)


def test_runs_of_different_vocabularies_are_named_with_what_differs() -> None:
    one, other = made("runs/one", 1, learnt()), made("runs/other", 1, learnt(OTHER))
    with pytest.raises(RunError, match=r"runs/one and runs/other write different vocabularies: they have \d+ and \d+"):
        ensemble_of([one, other])
    letters = made("runs/letters", 1, learnt(tokenizer="characters"))
    with pytest.raises(RunError, match="of kind 'words' and 'characters'"):
        ensemble_of([one, letters])
    swapped = made("runs/swapped", 1, learnt([(a, b.replace("dog", "hog")) for a, b in PAIRS]))
    with pytest.raises(RunError, match=r"token \d+ is '▁\w+' and '▁\w+'"):
        ensemble_of([one, swapped])


# ------------------------------------------------------------------------------------------------ unknown words


class Pointer(nn.Module):
    """Writes the target that it was made with, looking at the source places that it was made with."""

    def __init__(self, tokens: list[int], looks: list[int], vocabulary: int) -> None:
        super().__init__()
        self.weights = Tap(View("cross-attention", rows="target", columns="source"))
        self.tokens, self.looks, self.vocabulary = tokens, looks, vocabulary
        self.home = nn.Parameter(torch.zeros(1))

    def forward(self, batch: Any, carry: None = None) -> tuple[Tensor, None]:
        S = batch.source_BS.shape[1]
        places_T = torch.tensor(self.looks)[: batch.input_BT.shape[1]]
        self.weights(nn.functional.one_hot(places_T, S).float().expand(len(batch.source_BS), -1, -1))
        return torch.zeros(*batch.input_BT.shape, self.vocabulary), carry

    def start(self, batch: Any) -> Tensor:
        return torch.zeros(len(batch.source_BS), 1, dtype=torch.long)

    def step(self, tokens_B: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        target_B = torch.tensor(self.tokens)[state[:, 0]]
        return 9.0 * nn.functional.one_hot(target_B, self.vocabulary).float(), state + 1


def pointer(wires: Any) -> Pointer:
    """Of "Otto sieht Zürich ." it makes "<unk> dog <unk> </s>", looking at Otto, at sieht and at Zürich."""
    target = wires.output.tokenizer
    dog = target.encode(["dog"])[0].tolist()
    return Pointer([target.unknown, *dog, target.unknown, target.end], [0, 1, 2, 3], target.size)


SENTENCE = "Otto sieht Zürich"


@pytest.mark.parametrize("settings", [{}, {"beam": 2}])
@pytest.mark.parametrize(
    ("unknown", "text"),
    [("keep", "<unk> dog <unk>"), ("copy", "Otto dog Zürich"), ("dictionary", "Otto dog Zurich")],
)
def test_unknown_words_become_what_they_look_at(unknown: Any, text: str, settings: dict[str, Any]) -> None:
    wires = learnt(dictionary={"Zürich": "Zurich", "sieht": "sees"})
    decoding = DecodingSettings(unknown=unknown, **settings)
    found = wires.predict(pointer(wires), [SENTENCE, "", SENTENCE], decoding)
    assert [each.text for each in found] == [text, "", text]


def test_a_word_with_an_unknown_piece_is_replaced_once() -> None:
    pairs = [("der Otto", "the Smith"), ("Zürich", "Smart , the math")] * 5
    tokenizer = wires_of(pairs, tokenizer="bpe", vocabulary=60).tokenizer
    unknown = tokenizer.unknown
    assert unknown is not None
    tokens = tokenizer.encode(["the Smxxth ,"])[0].tolist()  # x is a letter that nobody has seen
    assert tokens.count(unknown) == 2
    places = len(tokenizer.encode(["der Zürich"])[0])
    weights_TS = np.zeros((len(tokens), places + 1))
    weights_TS[:, 0] = 1.0  # "der"
    weights_TS[[index for index, token in enumerate(tokens) if token == unknown], places - 1] = 2.0
    assert replaced(tokenizer, tokenizer, "der Zürich", tokens, weights_TS, None) == "the Zürich ,"


def test_unknown_words_are_never_written_unless_asked_for() -> None:
    wires: Any = learnt()
    found = wires.predict(pointer(wires), SENTENCE)
    assert wires.output.tokenizer.unknown not in found.best.tokens


def test_the_dictionary_spells_words_as_the_vocabulary_does() -> None:
    wires = learnt(lowercase=True, dictionary={"zürich": "zurich"})
    found = wires.predict(pointer(wires), SENTENCE, DecodingSettings(unknown="dictionary"))
    assert found.text == "Otto dog zurich"


def test_what_unknown_words_cannot_be_replaced_by_is_said_in_words() -> None:
    wires = learnt()
    with pytest.raises(SettingError, match="the run has learnt no dictionary; learn one with `seqwright align RUN`"):
        wires.predict(pointer(wires), SENTENCE, DecodingSettings(unknown="dictionary"))
    blind = nn.Linear(1, 1)
    with pytest.raises(SettingError, match=r"unknown is .copy., .* this one has no attention to its source"):
        wires.predict(blind, SENTENCE, DecodingSettings(unknown="copy"))


def test_a_dictionary_is_what_was_seen_together_most(tmp_path: Path) -> None:
    together = {"Hund": Counter(dog=2, hound=1), "der": Counter(the=3), "alle": Counter(b=1, a=1)}
    entries = list(learnt_dictionary(together))
    assert entries == [("Hund", "dog", 2), ("alle", "a", 1), ("der", "the", 3)]
    save_dictionary(entries, tmp_path)
    assert load_dictionary(tmp_path) == {"Hund": "dog", "alle": "a", "der": "the"}
    assert load_dictionary(tmp_path / "elsewhere") is None
    save_dictionary([("a\u0085b", "c\u2028d", 1)], tmp_path)
    assert load_dictionary(tmp_path) == {"a\u0085b": "c\u2028d"}
    (tmp_path / "dictionary.tsv").write_text("Hund\tdog\t2\nKatze cat\n")
    with pytest.raises(RunError, match=r"dictionary\.tsv:2: expected a source word, a tab and a target word"):
        load_dictionary(tmp_path)
    (tmp_path / "dictionary.tsv").write_bytes(b"Hund\tdog\nB\xe4r\tbear\n")
    with pytest.raises(RunError, match=r"dictionary\.tsv is not UTF-8 \(0xe4 at byte 11\): convert it, or learn"):
        load_dictionary(tmp_path)


# ------------------------------------------------------------------------------------------------ listening


@torch.no_grad()
def test_a_model_that_is_listened_to_says_the_same_and_where_it_looked() -> None:
    torch.manual_seed(1)
    model, batch = small("transformer", "translation").eval(), some_pairs()
    listened = Attentive(model)
    assert isinstance(listened, Aligns)
    assert len(alignment_taps(model)) == 3
    targets = [row[real].numpy()[:-1] for row, real in zip(batch.target_BT, batch.real_BT, strict=True)]
    sources = [row[real].numpy()[:-1] for row, real in zip(batch.source_BS, batch.source_real_BS, strict=True)]

    class Ends(NamedTuple):
        begin: int = 2
        end: int = 3

    ends: Any = Ends()
    whole = Aligner(model, ends, ends)(sources, targets)
    state = listened.start(batch)
    logits_BTV, after = listened.read(batch.input_BT, batch.real_BT, state)
    torch.testing.assert_close(logits_BTV, model.read(batch.input_BT, batch.real_BT, model.start(batch))[0])
    weight_BS = listened.attention_of(after)
    assert weight_BS is not None
    for row, weights_TS in enumerate(whole):
        np.testing.assert_allclose(weights_TS.sum(-1), 1, atol=1e-5)
        np.testing.assert_allclose(weight_BS[row, : weights_TS.shape[1]], weights_TS[-1], atol=1e-5)
        assert weight_BS[row, weights_TS.shape[1] :].sum() == 0
    for place in range(2):
        logits_BV, state = listened.step(batch.input_BT[:, place], state)
        torch.testing.assert_close(logits_BV, logits_BTV[:, place], rtol=0, atol=1e-5)
        looked_BS = listened.attention_of(state)
        assert looked_BS is not None
        for row, weights_TS in enumerate(whole):
            np.testing.assert_allclose(looked_BS[row, : weights_TS.shape[1]], weights_TS[min(place, 1)], atol=1e-5)
    assert looked_BS is not None
    _, later = listened.read(batch.input_BT[:, 2:3], torch.tensor([[True], [False], [True]]), state)
    assert later.weight_BS is not None
    assert torch.equal(later.weight_BS[1], looked_BS[1])
    assert not torch.equal(later.weight_BS[0], looked_BS[0])


def test_a_transformer_is_listened_to_only_where_coverage_counts() -> None:
    """Two tokens look at six places for two tokens altogether, so that coverage costs at least β 6 log(2/6)."""
    run, source = made("one", 3, learnt()), "ein Hund schläft eine Katze"
    output: Any = run.inputs.output
    assert not isinstance(Searcher(output, run.model, Search(DecodingSettings(beam=3))).model, Attentive)
    (one,) = written(run.model, run.inputs, [source], beam=3, longest=2)
    (other,) = written(run.model, run.inputs, [source], beam=3, longest=2, coverage_penalty=0.5)
    assert len(one[0].tokens) <= 2
    assert other[0].score <= one[0].score + 0.5 * 6 * math.log(2 / 6) + 0.1
