"""A language model that reads all documents as one text, carried from batch to batch: text × next token."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import nn

from seqwright.batches import Batches, Padded, Rows, begun
from seqwright.batches.text import StreamBatches, Text
from seqwright.inputs import Examples, Input, Stacked
from seqwright.outputs import Targets
from tests.contract.fake_tasks.parts import BEGIN, END, Example, FakeOutput


class Scored(NamedTuple):
    logp: float
    tokens: int


@dataclass(frozen=True)
class StreamedText(FakeOutput[Text, Scored]):
    """`rows` is what a recipe says under input.rows: the text as a stream, or each document for itself."""

    rows: str = "stream"
    empty: ClassVar[Scored] = Scored(0.0, 0)
    score_names: ClassVar[tuple[str, ...]] = ("perplexity",)
    lower_is_better: ClassVar[frozenset[str]] = frozenset({"perplexity"})

    def encode(self, examples: Examples[Example], rows: Rows[Any], *, seed: int = 0) -> Targets:
        return Targets(rows, np.arange(len(rows.example_N)))

    def collate(self, stacked: Stacked, targets: Sequence[Any] | None) -> Text:
        target_BT, real_BT = stacked.values()
        return Text(begun(Padded(target_BT, real_BT), BEGIN).tokens_BT[:, :-1], target_BT, real_BT)

    def batches(
        self, rows: Rows[Any], targets: Targets | None, input: Input[Example, Any], *, tokens: int, seed: int = 0
    ) -> Batches[Text]:
        if self.rows == "stream":
            return StreamBatches(rows, streams=2, segment=tokens // 2, begin=BEGIN, end=END)
        return super().batches(rows, None, input, tokens=tokens, seed=seed)

    @torch.inference_mode()
    def predict(
        self, model: nn.Module, batches: Batches[Text], examples: Examples[Example], decoding: Any
    ) -> Iterator[Scored]:
        carry, found = None, defaultdict[int, list[float]](list)
        for batch in batches.once():
            logp_BT, carry = model.log_probability(batch, None if batch.fresh_B.all() else carry)  # type: ignore[operator]
            target = batch.examples()[batch.real_BT].tolist(), logp_BT[batch.real_BT].tolist()
            for number, logp in zip(*target, strict=True):
                found[number].append(logp)
        return self.in_order({number: Scored(sum(logp), len(logp)) for number, logp in found.items()}, examples)

    def scores(self, predictions: Sequence[Scored], examples: Examples[Example]) -> dict[str, float]:
        logp, tokens = (sum(column) for column in zip(*predictions, strict=True))
        return {"perplexity": float(np.exp(-logp / tokens))}
