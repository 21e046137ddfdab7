"""What the models of sentence pairs are tried with: a batch, and the vocabularies of the model that reads it."""

from typing import Any

import torch

from seqwright.batches.pairs import Pairs, pairs

# Two vocabularies, so that mixing them up shows.
SMALL: dict[str, Any] = {"source_vocabulary": 17, "target_vocabulary": 11, "shared": False}


def example() -> Pairs:
    """A batch for a model of those vocabularies, with padding on both sides."""
    draw = torch.Generator().manual_seed(1)
    source = [torch.randint(4, 17, (length,), generator=draw).numpy() for length in (5, 2, 7)]
    target = [torch.randint(4, 11, (length,), generator=draw).numpy() for length in (6, 3, 1)]
    return pairs(source, target, begin=2, end=3)
