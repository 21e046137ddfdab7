"""Classifying texts with a trained model: text in, label and probabilities out, many at once.

B batch · N texts · C classes
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from seqwright.batches import Ids
from seqwright.batches.labelled import labelled
from seqwright.devices import device_of
from seqwright.inputs.labelled_text import LabelledText, ReadText

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

    def __call__(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> list[Classification]:
        """The likeliest label of each text, or pair of texts, and the probabilities of all."""
        filled = non_blank(texts, seconds)
        results = [NOTHING] * len(texts)
        others = None if seconds is None else [seconds[place] for place in filled]
        probability_NC = self.log_probabilities([texts[place] for place in filled], others).exp()
        for place, probability_C in zip(filled, probability_NC.tolist(), strict=True):
            # Between equals the order of the labels decides, as everywhere.
            ranked = sorted(zip(self.inputs.labels, probability_C, strict=True), key=lambda pair: -pair[1])
            results[place] = Classification(*ranked[0], dict(ranked))
        return results

    @torch.inference_mode()
    def log_probabilities(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Tensor:
        """`logp_NC`: log p(label | text) of every label for every text, in double precision."""
        logits_NC = predict_logits(self.model, self.inputs, self.inputs.encode(texts, seconds), len(self.inputs.labels))
        return logits_NC.log_softmax(-1)


def non_blank(texts: Sequence[str], seconds: Sequence[str] | None) -> list[int]:
    """Which texts, or pairs of texts, are not blank."""
    both = zip(texts, texts if seconds is None else seconds, strict=True)
    return [place for place, (text, second) in enumerate(both) if text.strip() and second.strip()]


@torch.inference_mode()
def predict_logits(model: nn.Module, inputs: ReadText, rows: Sequence[Ids], outputs: int) -> Tensor:
    """`said_NC`: what a model says of token rows, those of like length together, in double precision."""
    said_NC = torch.zeros(len(rows), outputs, dtype=torch.float64)
    waiting = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    while waiting:
        count = max(1, TOKENS_AT_ONCE // (len(rows[waiting[-1]]) + 1))
        waiting, some = waiting[:-count], waiting[-count:]
        batch = labelled([rows[place] for place in some], end=inputs.end, begin=inputs.begin)
        said_BC, _ = model(batch.to(device_of(model)), None)
        said_NC[some] = said_BC.double().cpu()
    return said_NC
