"""Made-up sentence pairs, so that no question needs a download: speed hangs on lengths and sizes, not on words.

B batch · S source · T target
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from benchmarks.speed.harness import Settings
from seqwright.batches import Place
from seqwright.data.examples import Pair
from seqwright.inputs.source_text import SourceTextInput, SourceTextSettings
from seqwright.inputs.tokenizers import BEGIN, END, PAD
from seqwright.outputs.text import TextOutput
from seqwright.tasks.wired import Wires

MEAN, DEVIATION, LONGEST = 2.5, 0.35, 40  # of the logarithm of a length: 12 words in the middle, as in captions


class Corpus(NamedTuple):
    """Pairs as tokens, in the batches that our training reads."""

    wires: Wires
    batches: Any

    def random_rows(self, sentences: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Pairs in random order, a fixed number in a batch: `x end` and `begin y end`, padded."""
        rng, count = np.random.default_rng(1), len(self.batches.rows.lengths(None))
        while True:
            yield self.padded(rng.choice(count, sentences, replace=False))

    def sorted_rows(self, sentences: int) -> Iterator[tuple[Tensor, Tensor]]:
        """The same with pairs of like length together."""
        rng = np.random.default_rng(1)
        order = np.argsort(self.batches.rows.lengths(None).sum(1), kind="stable")
        groups = [order[low : low + sentences] for low in range(0, len(order) - sentences + 1, sentences)]
        while True:
            yield self.padded(groups[int(rng.integers(len(groups)))])

    def padded(self, numbers: Any) -> tuple[Tensor, Tensor]:
        """Some pairs as two tensors."""
        source, target = zip(*self.batches.rows.take(numbers, None), strict=True)
        source_BS = pad_sequence([torch.tensor([*row.tolist(), END]) for row in source], True, PAD)
        target_BT = pad_sequence([torch.tensor([BEGIN, *row.tolist(), END]) for row in target], True, PAD)
        return source_BS, target_BT


def corpus(settings: Settings, tokens: int) -> Corpus:
    """The same pairs in every process."""
    rng = np.random.default_rng(1)
    shares = 1 / np.arange(1, settings["vocabulary"] - 3)  # Zipf's law; four tokens are special

    lengths = np.clip(np.round(rng.lognormal(MEAN, DEVIATION, 2 * settings["pairs"])), 3, LONGEST).astype(int)
    words = rng.choice(len(shares), lengths.sum(), p=shares / shares.sum())
    texts = [" ".join(f"w{number}" for number in some) for some in np.split(words, lengths.cumsum()[:-1])]
    every = " ".join(f"w{number}" for number in range(len(shares)))  # so that the vocabulary has all
    pairs = [Pair(*both) for both in zip(texts[::2], texts[1::2], strict=True)]
    chosen = SourceTextSettings(tokenizer="whitespace", vocabulary=settings["vocabulary"], longest=LONGEST)
    wires = Wires.learn(SourceTextInput, TextOutput, [*pairs, Pair(every, every)], chosen)
    return Corpus(wires, wires.training_batches(pairs, tokens=tokens))


def our_training(found: Corpus, model: Any, objective: Any, training: Any) -> Callable[[], int]:
    """Training by `fit` as a recipe does it; how many target tokens were read."""
    from seqwright.training.loop import fit

    tokens: int = sum(
        found.batches.at(Place(0, number)).tokens for number in range(training.steps * training.accumulate)
    )

    def turn() -> int:
        fit(model, objective, found.batches, settings=training, rate=lambda step: 0.0005)
        return tokens

    return turn
