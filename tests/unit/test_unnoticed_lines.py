"""Lines of the core that could be changed without any other test failing: `python -m benchmarks.mutants` found them."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from seqwright.data.dates_values import ROUND_NUMBERS, PortableRandom
from seqwright.data.numbers import NumbersSettings
from seqwright.decoding.stepper import moved
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs.spelling import Spelled
from seqwright.inputs.tokenizers import TokenizerSettings
from seqwright.inputs.vocabularies import _settled
from seqwright.interchange.heads import MaskedLM
from seqwright.interchange.names import TensorNames, layer
from seqwright.layers.attention import Attention
from seqwright.layers.positions import SinusoidalPositions
from seqwright.metrics import significance
from seqwright.metrics.significance import LEVEL, confidences, mean_over
from seqwright.objectives.labels_and_next_token import LabelsAndNextTokenSettings
from seqwright.training.weights import transferred


def test_every_round_number_that_is_drawn_is_one() -> None:
    rng = PortableRandom("1")
    assert all(ROUND_NUMBERS.holds(ROUND_NUMBERS.draw(rng)) for _ in range(2000))


def test_the_smallest_largest_number_is_99() -> None:
    assert NumbersSettings(largest=99).largest == 99
    with pytest.raises(SettingError):
        NumbersSettings(largest=98)


def test_any_positive_weight_of_the_next_token_is_accepted() -> None:
    assert LabelsAndNextTokenSettings(next_token=0.25).next_token == 0.25
    with pytest.raises(SettingError):
        LabelsAndNextTokenSettings(next_token=0.0)


@pytest.mark.parametrize("shape", ["nothing", "shorter"])
def test_a_state_of_another_form_than_the_first_is_moved_whole(shape: str) -> None:
    state = (torch.arange(3), torch.arange(6).view(3, 2))
    rows_B = torch.tensor([2, 0, 0])
    after, first = moved(state, None if shape == "nothing" else (state[0],), rows_B, within=True)
    assert [part.tolist() for part in after] == [[2, 0, 0], [[4, 5], [0, 1], [0, 1]]]
    assert first == (None, None)


def test_a_word_that_has_every_token_is_kept() -> None:
    text = Spelled(np.array([5, 7]), [(0, 2), (2, 4)], [("abcd", [0, 1])], ["ab", "cd"])
    assert text.at(np.array([0, 1])).words == [("abcd", [0, 1])]
    assert text.at(np.array([1])).words == []


def test_only_letters_that_training_could_spare_get_the_lowest_score() -> None:
    scored = [("a", -6.0), ("b", -8.0), ("c", -7.9999), ("ab", -1.0)]
    settled = dict(_settled(scored, ["a", "b", "c"], TokenizerSettings(tokenizer="unigram", vocabulary=50)))
    assert {piece: settled[piece] for piece in ("a", "b", "c", "ab")} == {"a": -6.0, "b": -8.0, "c": -8.0, "ab": -1.0}


def test_two_tensors_that_differ_by_their_block_are_named_once() -> None:
    names = TensorNames(layer("blocks.{n}.norm", "h.{n}.ln"))
    shapes = {f"blocks.{n}.norm.{part}": torch.Size([3]) for n in range(2) for part in ("weight", "bias")}
    with pytest.raises(DataError, match=r"lacks h\.\{n\}\.ln\.weight \(2 times\), h\.\{n\}\.ln\.bias \(2 times\)"):
        names.ours({}, shapes, "x")


def test_attention_drops_nothing_unless_told() -> None:
    attention, x_BTD = Attention(width=6, heads=2), torch.randn(3, 5, 6, generator=torch.Generator().manual_seed(1))
    assert torch.equal(attention.train()(x_BTD, x_BTD), attention.eval()(x_BTD, x_BTD))


def test_sinusoids_are_computed_and_not_saved() -> None:
    assert SinusoidalPositions(width=6).state_dict() == {}


def stacked(blocks: int) -> nn.Module:
    return nn.ModuleDict({"blocks": nn.ModuleList(nn.Linear(2, 3) for _ in range(blocks))})


def test_the_blocks_that_are_asked_for_become_the_targets() -> None:
    source, target = stacked(3), stacked(2)
    transferred(source, target, "x", [2, 0])
    there, here = source.state_dict(), target.state_dict()
    assert torch.equal(here["blocks.0.weight"], there["blocks.2.weight"])
    assert torch.equal(here["blocks.1.bias"], there["blocks.0.bias"])
    with pytest.raises(RunError, match=r"model\.init_layers is \[3, 0\], but the blocks of x are 0 to 2"):
        transferred(source, target, "x", [3, 0])


def test_a_row_whose_p_is_the_level_itself_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_the_level(*_: object) -> float:
        return LEVEL

    monkeypatch.setitem(significance.TESTS, at_the_level, "made up")
    rows = {"other": mean_over(np.arange(5.0)), "best": mean_over(np.arange(5.0) + 1)}
    found = confidences(rows, baseline="other", best="best", test=at_the_level, resamples=40)
    assert {name: each.best for name, each in found.items()} == {"other": False, "best": True}


@pytest.mark.parametrize(("rows", "asks"), [("sentence-pairs", True), ("full-sentences", False)])
def test_an_imported_model_of_pairs_is_asked_whether_the_second_follows(rows: str, asks: bool) -> None:
    found: Any = SimpleNamespace(tokenizer=SimpleNamespace())
    wires = MaskedLM(("BertForPreTraining",)).inputs(found, SimpleNamespace(longest=8, rows=rows))
    assert wires.output.asks_next is asks
