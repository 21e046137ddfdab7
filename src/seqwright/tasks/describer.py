"""Writing the text for a number, a label or the like: a trained model with its inputs and decoding settings.

B batch · X numbers of a vector
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from seqwright.batches.described import vectors_alone
from seqwright.decoding.scoring import Hypothesis
from seqwright.decoding.settings import DecodingSettings, decoded
from seqwright.decoding.stopping import before_stop
from seqwright.devices import device_of, in_precision
from seqwright.inputs.vector_text import VectorText
from seqwright.inputs.vectors import Values
from seqwright.outputs.text_search import TextCandidate

AT_ONCE = 512  # texts written together


class Describer:
    """A model that writes a text for what it is given: `describer(["1234", "56"])`."""

    def __init__(self, model: nn.Module, inputs: VectorText, settings: DecodingSettings | None = None) -> None:
        self.inputs = inputs
        self.settings = settings or DecodingSettings()
        self.model: Any = in_precision(model.eval(), self.settings.precision)
        self.device = device_of(model)

    def __call__(self, given: Sequence[str]) -> list[list[TextCandidate]]:
        """For each thing given its `n_best` texts, best first; samples are drawn from (seed, place in the list)."""
        code_NK = self.inputs.codes(given)
        found: list[list[TextCandidate]] = []
        for first in range(0, len(given), AT_ONCE):
            some = range(first, min(first + AT_ONCE, len(given)))
            vector_BX = self.inputs.vectors.vectors(code_NK[some.start : some.stop])
            for candidates in self._decoded(vector_BX, some):
                found.append([self._candidate(each) for each in candidates])
        return found

    def best(self, given: Sequence[str]) -> list[str]:
        """The best text for each thing given; the same for the same, which is searched for once."""
        different = list(dict.fromkeys(given))
        texts = {each: candidates[0].text for each, candidates in zip(different, self(different), strict=True)}
        return [texts[each] for each in given]

    @torch.inference_mode()
    def _decoded(self, vector_BX: Values, rows: range) -> list[list[Hypothesis]]:
        batch = vectors_alone(torch.from_numpy(vector_BX.astype(np.float32))).to(self.device)
        return decoded(
            self.model,
            self.model.start(batch),
            self.settings,
            first_B=torch.full((len(rows),), self.inputs.begin, device=self.device),
            end=self.inputs.end,
            steps=self.settings.longest or self.inputs.longest + 1,
            forbidden=self.inputs.tokenizer.unwritten(),
            rows=rows,
            text_of=lambda row, tokens: self.inputs.tokenizer.decode(tokens),
        )

    def _candidate(self, hypothesis: Hypothesis) -> TextCandidate:
        return TextCandidate(
            before_stop(self.inputs.tokenizer.decode(hypothesis.tokens), self.settings.stop),
            hypothesis.score,
            hypothesis.log_probability,
            hypothesis.tokens,
            hypothesis.log_probabilities,
            hypothesis.finished,
        )
