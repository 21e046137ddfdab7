"""Tagging sentences with a trained model: words in, tags out, many sentences at once.

N words that are judged · C classes, the tags
"""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import torch
from torch import Tensor, nn

from seqwright.batches.tagged import Tagged, tagged
from seqwright.devices import device_of
from seqwright.inputs.tagged_text import TaggedText

TOKENS_AT_ONCE = 8192


class Tagging(NamedTuple):
    """The words of a sentence, the likeliest tag of each, and how probable it is."""

    words: list[str]
    tags: list[str]
    probabilities: list[float]


class Tagger:
    """A trained model with its inputs: `tagger([["Angela", "Merkel", "smiles"], …])`."""

    def __init__(self, model: nn.Module, inputs: TaggedText) -> None:
        self.model = model.eval()
        self.inputs = inputs

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[Tagging]:
        """The likeliest tag of every word; a sentence without words has none."""
        results = [Tagging(list(words), [], []) for words in sentences]
        encoded = self.inputs.encode(sentences)
        rows = [(number, row) for number, tokens in enumerate(encoded) for row in self.inputs.stretches(tokens)]
        answers: list[list[tuple[str, float]]] = [[]] * len(rows)
        waiting = sorted(range(len(rows)), key=lambda place: len(rows[place][1].tokens))
        while waiting:
            count = max(1, TOKENS_AT_ONCE // (len(rows[waiting[-1]][1].tokens) + 1))
            waiting, some = waiting[:-count], waiting[-count:]
            batch = tagged([rows[place][1] for place in some], end=self.inputs.end, begin=self.inputs.begin)
            logp_N, tag_N = log_probabilities(self.model, batch).max(-1)
            said = zip((self.inputs.tags[tag] for tag in tag_N.tolist()), logp_N.exp().tolist(), strict=True)
            for place in some:
                answers[place] = list(islice(said, len(rows[place][1].length_W)))
        for (number, _), answer in zip(rows, answers, strict=True):
            results[number].tags.extend(tag for tag, _ in answer)
            results[number].probabilities.extend(probability for _, probability in answer)
        return results


@torch.inference_mode()
def log_probabilities(model: nn.Module, batch: Tagged) -> Tensor:
    """`logp_NC`: log p(tag | sentence) of every tag for every word of a batch, row by row, in double precision."""
    logits_BTC, _ = model(batch.to(device_of(model)), None)
    logp_NC: Tensor = logits_BTC.cpu()[batch.loss_mask].double().log_softmax(-1)
    return logp_NC
