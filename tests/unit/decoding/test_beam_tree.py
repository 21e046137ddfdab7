"""The record of a beam search, against a search by hand."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from seqwright.decoding import BeamTree, DecodingRules, beam_search, beam_steps, run_search

BEGIN, END, V, WIDTH, STEPS = 0, 1, 7, 3, 6


class Bigram:
    """A random table of what follows a token, another for each row."""

    def __init__(self, seed: int) -> None:
        self.logits = 2 * torch.randn(2, V, V, generator=torch.Generator().manual_seed(seed))

    def start(self, rows: int) -> Tensor:
        return torch.arange(rows)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        raise AssertionError

    def step(self, tokens_B: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return self.logits[state, tokens_B], state

    def follows(self, row: int, last: int) -> list[float]:
        found: list[float] = self.logits[row, last].double().log_softmax(-1).tolist()
        return found


def by_hand(model: Bigram, row: int, steps: int) -> list[list[tuple[tuple[int, ...], str]]]:
    """For each step the 2·WIDTH best hypotheses, best first, and what becomes of them."""
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    found = []
    for _ in range(steps):
        grown = [
            (total + logp, (*text, token))
            for total, text in live
            for token, logp in enumerate(model.follows(row, text[-1] if text else BEGIN))
        ]
        grown = sorted(grown, reverse=True)[: 2 * WIDTH]
        live = [each for each in grown if each[1][-1] != END][:WIDTH]
        fates = [
            "kept" if each in live else "finished" if each[1][-1] == END and place < WIDTH else "dropped"
            for place, each in enumerate(grown)
        ]
        found.append([(text, fate) for (_, text), fate in zip(grown, fates, strict=True)])
    return found


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_tree_is_what_the_search_did(seed: int, row: int) -> None:
    model, tree = Bigram(seed), BeamTree(WIDTH, row)
    first_B = torch.full((2,), BEGIN)
    arguments: dict[str, Any] = {"first_B": first_B, "width": WIDTH, "steps": STEPS}
    found = run_search(beam_steps(model, model.start(2), DecodingRules(END), **arguments), tree)
    assert found == beam_search(model, model.start(2), DecodingRules(END), **arguments), "watching changes nothing"
    texts = [tuple(tree.nodes[place].token for place in tree.path(number)) for number in range(len(tree.nodes))]
    last = max(node.step for node in tree.nodes)
    wanted = by_hand(model, row, last)
    for step in range(1, last + 1):
        here = [(text, node.fate) for text, node in zip(texts, tree.nodes, strict=True) if node.step == step]
        assert here == wanted[step - 1]
    for text, node in zip(texts, tree.nodes, strict=True):
        total = sum(model.follows(row, before)[token] for before, token in zip((BEGIN, *text), text, strict=False))
        assert node.score == pytest.approx(total / ((5 + len(text)) / 6) ** 0.6, abs=1e-4)
        assert math.exp(node.log_probability) <= 1
    best = found[row][0]
    winner = tree.winner()
    assert winner is not None
    assert list(texts[winner]) == best.tokens + [END] * best.finished
    assert {"kept", "finished", "dropped"} >= {node.fate for node in tree.nodes} > {"dropped"}


def test_a_tree_of_nothing_has_no_winner() -> None:
    assert BeamTree(3).winner() is None
    assert BeamTree(3).path(None) == []


def test_a_search_can_be_stopped_between_two_steps() -> None:
    model, steps = Bigram(1), 0

    def counted(tokens_B: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        nonlocal steps
        steps += 1
        return Bigram.step(model, tokens_B, state)

    model.step = counted  # type: ignore[method-assign]
    search = beam_steps(
        model,
        model.start(2),
        DecodingRules(END),
        first_B=torch.full((2,), BEGIN),
        width=WIDTH,
        steps=STEPS,
        length_penalty=0.0,
    )
    grown = [next(search).token_BC.shape, next(search).token_BC.shape]
    search.close()
    assert (grown, steps) == ([(2, 2 * WIDTH)] * 2, 2)
    with pytest.raises(StopIteration):
        next(search)
