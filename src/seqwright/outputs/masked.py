"""Masked words: the tokens that stand where a text was masked, and whether its second half follows the first.

B batch · T time · N masked words · V vocabulary
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from seqwright.batches import Batches, Ids, Rows, padded
from seqwright.batches.masked import Masked, masked_rows
from seqwright.batches.masks import MaskedText, Masks, TokenMasks, WordMasks
from seqwright.devices import device_of
from seqwright.errors import RunError
from seqwright.inputs import Examples, Given, Input, Stacked
from seqwright.inputs.sentences import HOLE, mask_of
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.metrics.text import perplexity
from seqwright.outputs import Output, Targets
from seqwright.setting_classes import Settings

Masking = Literal["tokens", "whole-words"]
SIGNATURES = {
    "loss": "nats per masked token, the same ones each time",
    "perplexity": "per masked token",
    "accuracy": "masked tokens found, %",
    "next_accuracy": "texts of which it was rightly predicted whether one follows the other, %",
}


class MaskedOutputSettings(Settings):
    """What of a text is masked."""

    masking: Masking = "tokens"
    """What is masked: single tokens, or whole words with all their pieces."""
    masking_rate: float = Field(default=0.15, gt=0, lt=1)
    """How much of the text is masked."""


class FoundTokens(NamedTuple):
    """What a model says of a row: at each masked word, and whether its second stretch follows the first."""

    input: Ids
    target: Ids  # what stood at the masks
    predicted: Ids
    log_probability: float  # of the target
    follows: int  # negative where nobody asks
    predicted_follows: int

    def __repr__(self) -> str:
        right = int((self.target == self.predicted).sum())
        return f"FoundTokens({right} of {len(self.target)} masked tokens right)"


class Candidate(NamedTuple):
    """A token that may stand where a word is masked, and the text with it."""

    token: str
    probability: float
    text: str


@dataclass(frozen=True)
class MaskedOutput(Output[str, Masked, list[FoundTokens]]):
    """Which words are masked, and whether it is asked what follows. The words are those of the input's tokenizer.

    A prediction is a list: a document is several rows, one after another.
    """

    tokenizer: Tokenizer
    masking: Masking
    masking_rate: float
    asks_next: bool
    most: int = field(default=5, compare=False)  # tokens for each mask that a user types
    file: ClassVar[str] = "masks.json"
    lower_is_better: ClassVar[frozenset[str]] = frozenset({"loss", "perplexity"})  # all but the accuracies
    signatures: ClassVar[Mapping[str, str]] = SIGNATURES
    settings: ClassVar[type[Settings]] = MaskedOutputSettings

    @classmethod
    def learn(cls, train: Examples[str], settings: MaskedOutputSettings, input: Any, *, like: Any = None) -> Self:
        """As the settings say; where the input reads sentence pairs, it is asked whether one follows the other."""
        return cls(input.tokenizer, settings.masking, settings.masking_rate, input.form == "sentence-pairs")

    def ordinary(self) -> NDArray[np.bool_]:
        """`ordinary_V`: False for special tokens, which are never masked and stand for nothing masked."""
        ordinary_V = np.ones(self.tokenizer.size, dtype=np.bool_)
        ordinary_V[list(self.tokenizer.special.values())] = False
        return ordinary_V

    def masks(self) -> Masks:
        """What masks words of a text."""
        mask, ordinary_V = mask_of(self.tokenizer), self.ordinary()
        if self.masking == "whole-words":
            return WordMasks(mask=mask, ordinary_V=ordinary_V, words=self.tokenizer.words, share=self.masking_rate)
        return TokenMasks(mask=mask, ordinary_V=ordinary_V, share=self.masking_rate)

    def encode(self, examples: Examples[str], rows: Rows[Any], *, seed: int = 0) -> Targets:
        """Which words of each row are masked, and by what; drawn like the row."""
        return Targets(masked_rows(rows, self.masks(), mask_of(self.tokenizer)), np.arange(len(rows.example_N)))

    def batches(
        self, rows: Rows[Any], targets: Targets | None, input: Input[str, Any], *, tokens: int, seed: int = 0
    ) -> Batches[Masked]:
        """Also where nothing is learnt words are masked, the same ones each time, unless a user masked some."""
        return super().batches(rows, targets or self.encode(Given(()), rows), input, tokens=tokens, seed=seed)

    def collate(self, stacked: Stacked, targets: Sequence[MaskedText] | None) -> Masked:
        """What is read with some words masked; without targets, as it is."""
        target_BT = stacked["input_BT"]
        if targets is None:
            return Masked(**stacked, chosen_BT=target_BT.eq(mask_of(self.tokenizer)), target_BT=target_BT)
        input_BT, _ = padded([row.input_T for row in targets])
        chosen_BT, _ = padded([row.chosen_T.astype(np.int64) for row in targets])
        return Masked(**stacked | {"input_BT": input_BT}, chosen_BT=chosen_BT.bool(), target_BT=target_BT)

    def predict(
        self, model: nn.Module, batches: Batches[Masked], examples: Examples[str], decoding: Any = None
    ) -> Iterator[list[FoundTokens]]:
        """The likeliest token at each mask, row by row."""
        found: dict[int, dict[int, FoundTokens]] = defaultdict(dict)
        for batch, logits_NV, next_B in _each_batch(model, batches):
            logp_NV = logits_NV.float().log_softmax(-1).cpu()
            predicted_N = logp_NV.argmax(-1)
            logp_N = logp_NV.gather(1, batch.target_N.unsqueeze(1)).squeeze(1).double()
            each = batch.chosen_BT.sum(1).tolist()
            parts = (torch.split(some_N, each) for some_N in (batch.target_N, predicted_N, logp_N))
            for row, (target, predicted, logp) in enumerate(zip(*parts, strict=True)):
                read = batch.input[row][batch.real_BT[row]]
                tokens = (read.numpy(), target.numpy(), predicted.numpy(), float(logp.sum()))
                follows = int(batch.next_B[row]), int(next_B[row])
                found[int(batch.example_B[row])][_number(batch, row)] = FoundTokens(*tokens, *follows)
        for number, _ in enumerate(examples):
            rows = found.get(number, {})
            yield [rows[place] for place in sorted(rows)]

    def ranking(self, top: int) -> Self:
        """The likeliest tokens for each mask."""
        return replace(self, most=top)

    def fill(
        self, model: nn.Module, batches: Batches[Masked], examples: Examples[str], decoding: Any = None
    ) -> Iterator[list[list[Candidate]]]:
        """For each mask of each text the likeliest tokens; each mask on its own, the others masked."""
        found: dict[int, Tensor] = {}
        for batch, logits_NV, _ in _each_batch(model, batches):
            each = torch.split(logits_NV.double().softmax(-1).cpu(), batch.chosen_BT.sum(1).tolist())
            found |= dict(zip(batch.example_B.tolist(), each, strict=True))
        ordinary_V = torch.from_numpy(self.ordinary())
        for number, text in enumerate(examples):
            holes = zip(HOLE.finditer(text), found[number], strict=True)
            yield [self._candidates(text, hole, p_V.masked_fill(~ordinary_V, -1)) for hole, p_V in holes]

    def _candidates(self, text: str, hole: re.Match[str], probability_V: Tensor) -> list[Candidate]:
        ranked = probability_V.topk(min(self.most, int((probability_V >= 0).sum())))
        found = []
        for number, probability in zip(ranked.indices.tolist(), ranked.values.tolist(), strict=True):
            [(token, _)] = self.tokenizer.words([number])
            found.append(Candidate(token, probability, text[: hole.start()] + token + text[hole.end() :]))
        return found

    # ------------------------------------------------------------------------------------------------ scores

    @property
    def score_names(self) -> tuple[str, ...]:
        """Of what follows, only where it is asked."""
        return tuple(name for name in SIGNATURES if name != "next_accuracy" or self.asks_next)

    def scores(self, predictions: Sequence[list[FoundTokens]], examples: Examples[str]) -> dict[str, float]:
        """Loss and accuracy of masked words; of what follows, only where it was asked."""
        rows = [row for rows in predictions for row in rows]
        words, nats = sum(len(row.target) for row in rows), -sum(row.log_probability for row in rows)
        right = sum(int((row.target == row.predicted).sum()) for row in rows)
        scores = {"loss": nats / words, "perplexity": perplexity(nats, words), "accuracy": 100 * right / words}
        asked = [row.follows == row.predicted_follows for row in rows if row.follows >= 0]
        return scores | ({"next_accuracy": 100 * sum(asked) / len(asked)} if asked else {})

    def refuse_model(self, settings: Any) -> None:
        """Refuse a model without an output for words."""
        if not settings.head:
            raise RunError("the model was imported without the output that predicts masked tokens; embed can use it")

    def target(self, example: str) -> str:
        """Its own words."""
        return example

    # ------------------------------------------------------------------------------------------------ told

    def line(self, prediction: list[FoundTokens], top: int = 1) -> str:
        """The predicted tokens."""
        return " ".join(token for row in prediction for token in self.tokenizer.pieces(row.predicted.tolist()))

    def fields(self, prediction: list[FoundTokens], top: int = 1) -> dict[str, Any]:
        """The predicted tokens of every row."""
        return {"rows": [self._answer(row) for row in prediction]}

    def answered(self, predictions: Sequence[list[FoundTokens]]) -> list[int]:
        """One for each row."""
        return [number for number, rows in enumerate(predictions) for _ in rows]

    def answers(
        self, predictions: Sequence[list[FoundTokens]], examples: Examples[str], input: Input[str, Any]
    ) -> Iterator[dict[str, Any]]:
        """One for each row: what was read, what stood at the masks, and what was predicted there."""
        return (self._answer(row) for rows in predictions for row in rows)

    def _answer(self, row: FoundTokens) -> dict[str, Any]:
        spelled = self.tokenizer.pieces
        follows = {"follows": bool(row.follows), "predicted_follows": bool(row.predicted_follows)}
        return {
            "text": self.tokenizer.decode(row.input.tolist()),
            "hidden": spelled(row.target.tolist()),
            "predicted": spelled(row.predicted.tolist()),
            "log_probability": round(row.log_probability, 4),
            **(follows if row.follows >= 0 else {}),
        }


def _number(batch: Masked, row: int) -> int:
    """The number of a row, if it has one."""
    return row if batch.row_B is None else int(batch.row_B[row])


@torch.inference_mode()
def _each_batch(model: Any, batches: Batches[Masked]) -> Iterator[tuple[Masked, Tensor, Tensor]]:
    """A batch, `logits_NV` of its masks, and `next_B`: whether each second stretch is predicted to follow."""
    device = device_of(model)
    for batch in batches.once():
        logits_NV, next_B2 = model.both(batch.to(device))
        asked_B = batch.next_B >= 0
        next_B = batch.next_B if next_B2 is None else next_B2.argmax(-1).cpu().where(asked_B, batch.next_B)
        yield batch, logits_NV, next_B
