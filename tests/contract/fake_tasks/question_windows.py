"""Questions about contexts that are read in windows, several rows an example: question × span.

B batch · T time
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from seqwright.batches import Batches, Derived, Rows
from seqwright.batches.questions import Asked, PlacedTokens, position_in, stacked_windows, window, window_starts
from seqwright.inputs import Examples, Stacked
from seqwright.outputs import Targets, each_row
from tests.contract.fake_tasks.parts import BEGIN, END, Drawn, Example, FakeOutput, Nested, Words, ids

ROOM, STRIDE = 5, 3


@dataclass(frozen=True)
class Questions(Words):
    """A window knows its tokens by their numbers in the whole context."""

    key: ClassVar[str] = "context"

    def encode(self, examples: Examples[Example], *, seed: int = 0) -> Rows[Any]:
        windows = []
        for number, example in enumerate(examples):
            context, question = (ids(example[key].split(), self.vocabulary) for key in ("context", "question"))
            placed = PlacedTokens(context, np.arange(len(context)), np.arange(len(context)) + 1)
            for start in window_starts(len(context), room=ROOM, stride=STRIDE) if len(context) else []:
                windows.append((number, window(np.append(question, END), placed, start, ROOM)))
        number_N, length = np.array([number for number, _ in windows], dtype=np.int64), lambda row: [len(row.tokens)]
        return Drawn(windows, lambda row, rng: row[1], seed=seed, example_N=number_N, lengths=length)

    def stack(self, rows: Sequence[Any]) -> Stacked:
        return stacked_windows(rows, begin=BEGIN, end=END)


@dataclass(frozen=True)
class Span(FakeOutput[Asked, Nested]):
    """The log-probability of the best span, and its first and last token; none where nothing is the answer."""

    empty: ClassVar[Nested] = (0.0, ())
    score_names: ClassVar[tuple[str, ...]] = ("exact",)

    def encode(self, examples: Examples[Example], rows: Rows[Any], *, seed: int = 0) -> Targets:
        answers = [example["answer"] or (-99, -99) for example in examples]
        return Targets(Derived(rows, lambda row, n: position_in(row, answers[n])), np.arange(len(rows.example_N)))

    def collate(self, stacked: Stacked, targets: Sequence[Any] | None) -> Asked:
        start_B, end_B = torch.tensor(targets or [(0, 0)] * len(stacked["input_BT"])).unbind(1)
        return Asked(**stacked, start_B=start_B, end_B=end_B)

    def predict(
        self, model: nn.Module, batches: Batches[Asked], examples: Examples[Example], decoding: Any
    ) -> Iterator[Nested]:
        best: dict[int, Nested] = {}
        for batch, logits_BT2 in each_row(model, batches):
            logp_BT2 = logits_BT2.masked_fill(~batch.allowed_BT.unsqueeze(-1), -torch.inf).log_softmax(1)
            span_BTT = logp_BT2[:, :, None, 0] + logp_BT2[:, None, :, 1]
            for number, place_T2, span_TT in zip(batch.example_B.tolist(), batch.place_BT2, span_BTT, strict=True):
                low, high = divmod(int(span_TT.exp().triu().argmax()), len(span_TT))
                answer = float(span_TT[low, high]), tuple(place_T2[[low, high], 0].tolist()) if low else ()
                best[number] = max(answer, best.get(number, answer))
        return self.in_order(best, examples)

    def scores(self, predictions: Sequence[Nested], examples: Examples[Example]) -> dict[str, float]:
        both = zip(predictions, examples, strict=True)
        return {"exact": float(np.mean([found[1] == example["answer"] for found, example in both]))}
