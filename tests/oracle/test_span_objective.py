"""The loss of start and end, and the choice of answers, against loops over every position.

B batch · T time
"""

import math
import random

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqwright.batches.questions import Asked, PlacedTokens, position_in, stacked_windows, window
from seqwright.objectives.span import Span
from seqwright.outputs.span_search import Spans


class Given(nn.Module):
    """A model that always says the same."""

    def __init__(self, logits_BT2: Tensor) -> None:
        super().__init__()
        self.logits_BT2 = nn.Parameter(logits_BT2)

    def forward(self, batch: Asked, carry: None) -> tuple[Tensor, None]:
        return self.logits_BT2, carry


def example() -> Asked:
    rows = [
        window(np.array(question), PlacedTokens(*[np.array([9] * length)] * 3))
        for question, length in (([7, 8, 3], 5), ([7, 3], 2))
    ]
    start_B, end_B = torch.tensor([position_in(rows[0], (1, 3)), (0, 0)]).unbind(1)
    return Asked(**stacked_windows(rows, begin=2, end=3), start_B=start_B, end_B=end_B)


def test_the_loss_is_the_likelihood_of_start_and_end_among_what_is_allowed() -> None:
    batch = example()
    torch.manual_seed(1)
    logits_BT2 = torch.randn(2, 10, 2)
    wanted = 0.0
    for row, places in enumerate(([0, 4, 5, 6, 7, 8], [0, 3, 4])):
        for side, right in enumerate((batch.start_B, batch.end_B)):
            exps = {place: math.exp(float(logits_BT2[row, place, side])) for place in places}
            wanted -= math.log(exps[int(right[row])] / sum(exps.values()))
    assert batch.start_B.tolist() == [5, 0]
    assert batch.end_B.tolist() == [7, 0]
    loss, _ = Span()(Given(logits_BT2), batch, None)
    assert float(loss.parts["loss"].sum.detach()) == pytest.approx(wanted, rel=1e-5)
    assert loss.parts["loss"].over == 2 == Span().counts(batch)["loss"]


def test_what_is_not_allowed_learns_nothing() -> None:
    batch, logits_BT2 = example(), torch.zeros(2, 10, 2)
    model = Given(logits_BT2)
    loss, _ = Span()(model, batch, None)
    loss.total({"loss": 2}).backward()
    moved = model.logits_BT2.grad
    assert moved is not None
    assert moved.isfinite().all()
    assert (moved.abs().sum(-1) > 0).tolist() == batch.allowed_BT.tolist()


@pytest.mark.parametrize("seed", range(6))
def test_the_best_answers_are_those_of_a_search_through_all(seed: int) -> None:
    draw = random.Random(seed)
    tokens, longest, room, stride = 23, 4, 9, 5
    windows = []
    for begin in range(0, tokens - room + stride, stride):
        count = min(room, tokens - begin)
        logits = np.array([[draw.gauss(0, 2), draw.gauss(0, 2)] for _ in range(count + 1)], dtype=np.float32)
        windows.append((begin, logits))
    spans, scores = Spans(tokens, longest), dict[tuple[int, int], float]()
    for begin, logits in windows:
        spans.add(begin, logits)
        for first in range(len(logits) - 1):
            for last in range(first, min(first + longest, len(logits) - 1)):
                score = float(logits[1 + first, 0]) + float(logits[1 + last, 1])
                place = (begin + first, begin + last)
                scores[place] = max(score, scores.get(place, -math.inf))
    assert spans.silence == pytest.approx(min(float(logits[0].sum()) for _, logits in windows))
    assert spans.total() == pytest.approx(math.log(sum(map(math.exp, scores.values()))), rel=1e-5)
    chosen: list[tuple[int, int]] = []
    for first, last in sorted(scores, key=lambda place: -scores[place]):
        if all(last < other_first or first > other_last for other_first, other_last in chosen):
            chosen.append((first, last))
    found = spans.best(5)
    assert [(first, last) for first, last, _ in found] == chosen[:5]
    assert [score for _, _, score in found] == pytest.approx([scores[place] for place in chosen[:5]], rel=1e-5)
    assert [(first, last) for first, last, _ in spans.best(1000)] == chosen  # until nothing is left


def test_a_context_without_tokens_has_no_answer() -> None:
    spans = Spans(0, 4)
    spans.add(0, np.zeros((1, 2), dtype=np.float32))
    assert spans.best(3) == []
    assert spans.total() == -math.inf
