"""Finding hidden words of a text with a trained model: `The capital of France is <mask>.`

N hidden words · V vocabulary
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from seqwright.batches import Ids
from seqwright.batches.masked import masked
from seqwright.batches.masks import Hidden
from seqwright.batches.sentences import UNASKED, Drawn
from seqwright.devices import device_of
from seqwright.errors import DataError
from seqwright.inputs.masked_text import MaskedText
from seqwright.inputs.tokenizers import Tokenizer

HOLE = re.compile(r"<mask>|\[MASK\]|_{3,}")
AT_ONCE = 64  # texts
UNIT = "0"  # what follows a digit is cut into tokens as if anything else stood there


class Candidate(NamedTuple):
    """A token that may stand where a word is hidden, and the text with it."""

    token: str
    probability: float
    text: str


class Filler:
    """A model that finds hidden words: `filler(["The <mask> barks."])`. It reads `context` tokens at once."""

    def __init__(self, model: nn.Module, inputs: MaskedText, *, context: int) -> None:
        self.model: Any = model.eval()
        self.inputs, self.context = inputs, context
        self.device = device_of(model)
        self.ordinary_V = torch.from_numpy(inputs.ordinary())

    def __call__(self, texts: Sequence[str], *, top: int = 5) -> list[list[list[Candidate]]]:
        """For each hidden word of each text the `top` likeliest tokens; each word on its own, the others hidden."""
        rows = [self.encoded(text) for text in texts]
        found = []
        for first in range(0, len(texts), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            probability_NV = iter(self._probabilities(rows[some]))
            for text in texts[some]:
                holes = list(HOLE.finditer(text))
                found.append([self._candidates(text, hole, next(probability_NV), top) for hole in holes])
        return found

    @torch.inference_mode()
    def _probabilities(self, rows: Sequence[Ids]) -> Tensor:
        """Of every token at every mask, row by row."""
        drawn = [Drawn(row, len(row), UNASKED) for row in rows]
        batch = masked(drawn, [Hidden(row, row == self.inputs.mask) for row in rows])
        logits_NV, _ = self.model.both(batch.to(self.device))
        probability_NV: Tensor = logits_NV.double().softmax(-1).cpu()
        return probability_NV

    def encoded(self, text: str) -> Ids:
        """`begin … mask … end`."""
        if not HOLE.search(text):
            raise DataError(f"'{_short(text)}' hides no word: write <mask>, [MASK] or ___ in its place")
        parts: list[Ids] = [np.array([self.inputs.begin])]
        for number, stretch in enumerate(HOLE.split(text)):
            parts += [np.array([self.inputs.mask])] if number else []
            parts.append(_continued(self.inputs.tokenizer, stretch) if number else self._opening(stretch))
        row = np.concatenate([*parts, [self.inputs.end]]).astype(np.int64)
        if len(row) > self.context:
            raise DataError(
                f"'{_short(text)}' has {len(row):,} tokens, special ones included; the model reads {self.context:,} at "
                "once: shorten it"
            )
        return row

    def _opening(self, stretch: str) -> Ids:
        """What stands before the first hidden word, which brings the space before it along."""
        kept = stretch if self.inputs.tokenizer.kind == "characters" else stretch.rstrip()
        return self.inputs.tokenizer.encode([kept])[0] if kept else np.zeros(0, dtype=np.int64)

    def _candidates(self, text: str, hole: re.Match[str], probability_V: Tensor, top: int) -> list[Candidate]:
        ranked = probability_V.masked_fill(~self.ordinary_V, -1).topk(min(top, int(self.ordinary_V.sum())))
        found = []
        for number, probability in zip(ranked.indices.tolist(), ranked.values.tolist(), strict=True):
            [(token, _)] = self.inputs.tokenizer.words([number])
            found.append(Candidate(token, probability, text[: hole.start()] + token + text[hole.end() :]))
        return found


def _continued(tokenizer: Tokenizer, stretch: str) -> Ids:
    """The tokens of what follows a hidden word: `.` after a word is another token than one that begins a text."""
    kept = stretch if tokenizer.kind == "characters" else stretch.rstrip()
    if not kept:
        return np.zeros(0, dtype=np.int64)
    alone, before, together = tokenizer.encode([kept, UNIT, UNIT + kept])
    fits = np.array_equal(together[: len(before)], before)
    return together[len(before) :] if fits else alone


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"
