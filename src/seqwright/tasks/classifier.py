"""Classifying texts with a trained model: text in, label and probabilities out, many at once.

B batch · N texts · C classes
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from seqwright.batches.labelled import labelled
from seqwright.devices import home_of
from seqwright.inputs.labelled_text import LabelledText

TOKENS_AT_ONCE = 8192


class Classification(NamedTuple):
    """What a text is taken for; a blank text is taken for nothing."""

    label: str
    probability: float
    probabilities: dict[str, float]  # of every label, the likeliest first


NOTHING = Classification("", 0.0, {})


class Classifier:
    """A trained model with its inputs: `classifier(["…", "…"])`."""

    def __init__(self, model: nn.Module, inputs: LabelledText) -> None:
        self.model = model.eval()
        self.inputs = inputs
        self.device = home_of(model)

    def __call__(self, texts: Sequence[str]) -> list[Classification]:
        """The likeliest label of each text, and the probabilities of all."""
        filled = [place for place, text in enumerate(texts) if text.strip()]
        results = [NOTHING] * len(texts)
        probability_NC = self.log_probabilities([texts[place] for place in filled]).exp()
        for place, probability_C in zip(filled, probability_NC.tolist(), strict=True):
            # Between equals the order of the labels decides, as everywhere.
            ranked = sorted(zip(self.inputs.labels, probability_C, strict=True), key=lambda pair: -pair[1])
            results[place] = Classification(*ranked[0], dict(ranked))
        return results

    @torch.inference_mode()
    def log_probabilities(self, texts: Sequence[str]) -> Tensor:
        """`logp_NC`: log p(label | text) of every label for every text, in double precision."""
        encoded = self.inputs.encode(list(texts))
        logp_NC = torch.zeros(len(texts), len(self.inputs.labels), dtype=torch.float64)
        waiting = sorted(range(len(texts)), key=lambda place: len(encoded[place]))
        while waiting:
            count = max(1, TOKENS_AT_ONCE // (len(encoded[waiting[-1]]) + 1))
            waiting, rows = waiting[:-count], waiting[-count:]
            batch = labelled([encoded[place] for place in rows], end=self.inputs.end).to(self.device)
            logits_BC, _ = self.model(batch, None)
            logp_NC[rows] = logits_BC.double().log_softmax(-1).cpu()
        return logp_NC
