"""Where a translation model looks in its source: heard while it reads, between tokens or between words.

B batch · H heads · T target · S source · V vocabulary
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from seqwright.batches import Ids
from seqwright.batches.pairs import pairs
from seqwright.data.examples import Pair
from seqwright.decoding.stepper import State
from seqwright.devices import device_of
from seqwright.errors import SettingError
from seqwright.inputs.spelling import Words, given_words, spaced_words
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.layers.taps import listen, views
from seqwright.metrics.alignments import Array, Link, Quality, links, merged, quality

AXES = ("target", "source")  # of the views that are alignments
CELLS_AT_ONCE = 100_000  # of all maps that one head of one layer makes of a batch


def alignment_taps(model: nn.Module) -> list[str]:
    """The names of the taps at which a model's alignments are heard; none where it has no attention to its source."""
    return [tap for view, taps in views(model).items() if (view.rows, view.columns) == AXES for tap in taps]


def mean_weights(heard: dict[str, list[Tensor]], taps: Sequence[str]) -> Tensor:
    """`weight_BTS`, the mean over layers and heads; a model that goes step by step is heard once per step."""
    layers = [torch.cat(heard[tap], dim=-2) for tap in taps]
    return torch.stack([layer if layer.dim() == 3 else layer.mean(1) for layer in layers]).float().mean(0)


class AttentiveState(NamedTuple):
    """The state of a model, and where it looked after the last token that it read."""

    own: State
    weight_BS: Tensor | None


class Attentive:
    """A Stepper that also remembers where it looks: any model that can be listened to.

    While somebody listens the fused kernel is not used, so this is for searches that need to know it.
    """

    def __init__(self, model: Any) -> None:
        self.model, self.taps = model, alignment_taps(model)

    def start(self, batch: Any) -> AttentiveState:
        """See `Stepper.start`."""
        return AttentiveState(self.model.start(batch), None)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: AttentiveState) -> tuple[Tensor, AttentiveState]:
        """See `Stepper.read`."""
        with listen(self.model) as heard:
            logits_BTV, own = self.model.read(tokens_BT, real_BT, state.own)
        weight_BTS, read_B = mean_weights(heard, self.taps), real_BT.sum(1)
        row_B = torch.arange(len(read_B), device=read_B.device)
        weight_BS = weight_BTS[row_B, (read_B - 1).clamp_min(0)]
        if state.weight_BS is not None:
            weight_BS = torch.where((read_B > 0).unsqueeze(1), weight_BS, state.weight_BS)
        return logits_BTV, AttentiveState(own, weight_BS)

    def step(self, tokens_B: Tensor, state: AttentiveState) -> tuple[Tensor, AttentiveState]:
        """See `Stepper.step`."""
        with listen(self.model) as heard:
            logits_BV, own = self.model.step(tokens_B, state.own)
        return logits_BV, AttentiveState(own, mean_weights(heard, self.taps)[:, -1])

    def attention_of(self, state: AttentiveState) -> Tensor | None:
        """See `Aligns`."""
        return state.weight_BS


class Aligner:
    """Alignments of a trained model by one forced pass over sentences and their translations, whoever made these."""

    def __init__(self, model: nn.Module, source: Tokenizer, target: Tokenizer) -> None:
        self.model, self.source, self.target = model.eval(), source, target
        self.taps = alignment_taps(model)
        if not self.taps:
            raise SettingError(
                "this model has no attention from the target to the source, so that nothing says which words belong "
                "together; use one that has"
            )

    @torch.inference_mode()
    def __call__(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[Array]:
        """`weights_TS` between the tokens of each pair, the mean over layers and heads; both ends come last."""
        found: list[Array] = [np.zeros((0, 0))] * len(sources)
        waiting = sorted(range(len(sources)), key=lambda i: (len(sources[i]) + 1) * (len(targets[i]) + 1))
        while waiting:
            cells = (len(sources[waiting[-1]]) + 1) * (len(targets[waiting[-1]]) + 1)
            count = max(1, CELLS_AT_ONCE // cells)
            waiting, rows = waiting[:-count], waiting[-count:]
            some = [sources[i] for i in rows], [targets[i] for i in rows]
            batch = pairs(*some, begin=self.target.begin, end=self.target.end)
            with listen(self.model) as heard:
                self.model(batch.to(device_of(self.model)))
            weight_BTS = mean_weights(heard, self.taps).cpu().numpy()
            for i, weight_TS in zip(rows, weight_BTS, strict=True):
                found[i] = weight_TS[: len(targets[i]) + 1, : len(sources[i]) + 1]
        return found

    def pairs(self, some: Sequence[Pair]) -> list["Aligned"]:
        """The words of each sentence and of its translation that belong together."""
        read = self.source.encode([pair.source for pair in some])
        weights = self(read, self.target.encode([pair.target for pair in some]))
        return [self._aligned(pair, weights_TS) for pair, weights_TS in zip(some, weights, strict=True)]

    def _aligned(self, pair: Pair, weights_TS: Array) -> "Aligned":
        spaced_TS = between_words(
            weights_TS, spaced_words(self.target, pair.target), spaced_words(self.source, pair.source)
        )
        targets, sources = given_words(self.target, pair.target), given_words(self.source, pair.source)
        words_TS = between_words(weights_TS, targets, sources)
        looked_at = words_TS[:-1, :-1].argmax(-1)
        words = [(sources[place][0], target) for place, (target, _) in zip(looked_at, targets, strict=True)]
        return Aligned(links(spaced_TS[:-1, :-1]), words, quality(words_TS))


class Aligned(NamedTuple):
    """Which words of a pair belong together: each target word and the source word that it looks at most."""

    links: frozenset[Link]  # by number, words being what stands between spaces
    words: list[tuple[str, str]]  # source and target, punctuation being words of its own
    quality: Quality


def between_words(weights_TS: Array, targets: Words, sources: Words) -> Array:
    """Weights between words from those between tokens, the ends as words of their own, last."""
    rows, columns = ([places for _, places in words] for words in (targets, sources))
    ends = [weights_TS.shape[0] - 1], [weights_TS.shape[1] - 1]
    return merged(np.asarray(weights_TS, dtype=float), [*rows, ends[0]], [*columns, ends[1]])
