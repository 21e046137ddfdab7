"""Translating: each text once however it can be segmented, best first, and nothing where nothing was asked.

B batch · V vocabulary
"""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqwright.decoding import DecodingRules, DecodingSettings, beam_search
from seqwright.inputs.tokenizers import END, PAD, UNKNOWN
from seqwright.tasks.wired import Wires
from tests.small_texts import wires_of, written

WIDTH, STEPS = 7, 5


class Babbler(nn.Module):
    """Writes the same for every source: what follows a token is drawn once and for all."""

    logits_VV: Tensor

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        chance = torch.Generator().manual_seed(35)
        self.register_buffer("logits_VV", torch.randn(vocabulary, vocabulary, generator=chance))
        self.logits_VV[:, END] += 1  # so that it comes to an end

    def start(self, batch: Any) -> Tensor:
        return torch.zeros(len(batch.source_BS), 1)

    def step(self, tokens_B: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return self.logits_VV[tokens_B], state


@pytest.fixture(scope="module")
def wires() -> Wires:
    """A vocabulary in which "aba" is one token, two or three."""
    return wires_of([("aba aba", "aba ab")] * 3, tokenizer="bpe", vocabulary=11)


@pytest.fixture(scope="module")
def model(wires: Wires) -> Babbler:
    return Babbler(wires.output.tokenizer.size)


def found_by_the_search(model: Any, wires: Any) -> list[tuple[str, float]]:
    """All that a beam holds at the end, as texts with their scores."""
    target = wires.output.tokenizer
    (row,) = beam_search(
        model,
        torch.zeros(1, 1),
        DecodingRules(target.end, forbidden=(PAD, UNKNOWN, target.begin)),
        first_B=torch.tensor([target.begin]),
        width=WIDTH,
        steps=STEPS,
        n_best=WIDTH,
    )
    return [(target.decode(hypothesis.tokens), hypothesis.score) for hypothesis in row]


def test_a_text_found_in_several_segmentations_is_given_once_and_others_take_its_places(model: Babbler, wires: Any):
    found = found_by_the_search(model, wires)
    wanted = 4
    assert len({text for text, _ in found[:wanted]}) < wanted, "nothing repeats: the test could not fail"
    best: dict[str, float] = {}
    for text, score in found:
        best[text] = max(score, best.get(text, score))
    (given,) = written(model, wires, ["aba"], beam=WIDTH, n_best=wanted, longest=STEPS)
    assert len(given) == min(wanted, len(best))
    expected = sorted(best.items(), key=lambda item: -item[1])[:wanted]
    assert [each.text for each in given] == [text for text, _ in expected]
    assert [each.score for each in given] == pytest.approx([score for _, score in expected])


def test_there_are_fewer_candidates_where_the_beam_holds_fewer_texts(model: Babbler, wires: Any):
    texts = {text for text, _ in found_by_the_search(model, wires)}
    assert len(texts) < WIDTH
    (given,) = written(model, wires, ["aba"], beam=WIDTH, n_best=WIDTH, longest=STEPS)
    assert {each.text for each in given} == texts
    assert len(given) == len(texts)


def test_samples_come_best_first(model: Babbler, wires: Any):
    (given,) = written(model, wires, ["aba"], temperature=1.5, n_best=9, longest=STEPS)
    scores = [each.score for each in given]
    assert len(set(scores)) > 2
    assert len(scores) == 9
    assert scores == sorted(scores, reverse=True)


def test_a_blank_sentence_has_the_blank_translation_alone(model: Babbler, wires: Any):
    blank, some = wires.predict(model, [" ", "aba"], DecodingSettings(beam=3, n_best=2, longest=STEPS))
    assert (blank.text, blank.candidates) == ("", ())
    assert len(some.candidates) == 2


def test_one_text_is_one_text_and_no_list_of_letters(model: Babbler, wires: Any):
    settings = DecodingSettings(longest=STEPS)
    assert wires.predict(model, "aba", settings) == wires.predict(model, ["aba"], settings)[0]
