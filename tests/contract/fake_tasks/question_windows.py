"""Questions about contexts that are read in windows, several rows an example: question × span.

B batch · T time
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from seqwright.batches import Batches, Ids, Rows, padded
from seqwright.batches.questions import Asked, window_starts
from seqwright.inputs import Examples, Stacked
from seqwright.outputs import Targets, each_row
from tests.contract.fake_tasks.parts import BEGIN, END, Derived, Drawn, Example, FakeOutput, Words, ids

ROOM, STRIDE = 5, 3


class Window(NamedTuple):
    tokens: Ids  # begin question end context end
    first: int  # where the context stands in the row
    begin: int  # its first word in the whole context


@dataclass(frozen=True)
class Questions(Words):
    key: ClassVar[str] = "context"

    def encode(self, examples: Examples[Example], *, seed: int = 0) -> Rows[Any]:
        windows, numbers = [], []
        for number, example in enumerate(examples):
            context, question = (ids(example[key].split(), self.vocabulary) for key in ("context", "question"))
            for start in window_starts(len(context), room=ROOM, stride=STRIDE) if len(context) else []:
                row = np.concatenate(([BEGIN], question, [END], context[start : start + ROOM], [END]))
                windows.append(Window(row, len(question) + 2, start))
                numbers.append(number)
        example_N, length = np.array(numbers, dtype=np.int64), lambda row: [len(row.tokens)]
        return Drawn(windows, lambda row, rng: row, seed=seed, example_N=example_N, lengths=length)

    def stack(self, rows: Sequence[Any]) -> Stacked:
        input_BT, real_BT = padded([row.tokens for row in rows])
        first_B1, place_T = torch.tensor([[row.first] for row in rows]), torch.arange(input_BT.shape[1])
        allowed_BT = (place_T == 0) | ((place_T >= first_B1) & (place_T < real_BT.sum(1, keepdim=True) - 1))
        offset_B = torch.tensor([row.begin - row.first for row in rows])
        place_BT2, token_B = torch.zeros((*input_BT.shape, 2)), torch.tensor([row.begin for row in rows])
        known = {"input_BT": input_BT, "real_BT": real_BT, "allowed_BT": allowed_BT, "offset_B": offset_B}
        return {**known, "place_BT2": place_BT2, "token_B": token_B}


@dataclass(frozen=True)
class WindowBatch(Asked):
    offset_B: Tensor  # what turns a place in the row into the number of a word of the context


class Answer(NamedTuple):
    score: float
    words: tuple[int, ...]  # the numbers of the first and the last; none where nothing is the answer


@dataclass(frozen=True)
class Span(FakeOutput[WindowBatch, Answer]):
    empty: ClassVar[Answer] = Answer(0.0, ())
    score_names: ClassVar[tuple[str, ...]] = ("exact",)

    def encode(self, examples: Examples[Example], rows: Rows[Any], *, seed: int = 0) -> Targets:
        answers = [example["answer"] for example in examples]

        def place(row: Window, number: int) -> tuple[int, int]:
            low, high = (word - row.begin + row.first for word in answers[number] or (-99, -99))
            return (low, high) if row.first <= low and high < len(row.tokens) - 1 else (0, 0)

        return Targets(Derived(rows, place), np.arange(len(rows.example_N)))

    def collate(self, stacked: Stacked, targets: Sequence[Any] | None) -> WindowBatch:
        start_B, end_B = torch.tensor(targets or [(0, 0)] * len(stacked["input_BT"])).unbind(1)
        return WindowBatch(**stacked, segment_BT=stacked["real_BT"].long(), start_B=start_B, end_B=end_B)

    def predict(
        self, model: nn.Module, batches: Batches[WindowBatch], examples: Examples[Example], decoding: Any
    ) -> Iterator[Answer]:
        best: dict[int, Answer] = {}
        for batch, logits_BT2 in each_row(model, batches):
            spans = zip(batch.example_B.tolist(), batch.offset_B.tolist(), best_spans(logits_BT2, batch), strict=True)
            for number, at, (score, low, high) in spans:
                answer = Answer(score, (low + at, high + at) if low else ())
                best[number] = max(answer, best.get(number, answer))
        return self.in_order(best, examples)

    def scores(self, predictions: Sequence[Answer], examples: Examples[Example]) -> dict[str, float]:
        both = zip(predictions, examples, strict=True)
        return {"exact": float(np.mean([found.words == tuple(example["answer"]) for found, example in both]))}


def best_spans(logits_BT2: Tensor, batch: Asked) -> Iterator[tuple[float, int, int]]:
    """The log-probability, the first and the last place of the best span of each row."""
    logp_BT2 = logits_BT2.masked_fill(~batch.allowed_BT.unsqueeze(-1), -torch.inf).log_softmax(1)
    span_BTT = logp_BT2[:, :, None, 0] + logp_BT2[:, None, :, 1]
    backwards_BTT = torch.ones_like(span_BTT).tril(-1).bool()
    for span_TT in span_BTT.masked_fill(backwards_BTT, -torch.inf):
        yield float(span_TT.max()), *divmod(int(span_TT.argmax()), len(span_TT))
