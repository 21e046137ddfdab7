"""Which examples a model takes for alike: those whose vectors have nearly the same direction.

N examples of the bank · M asked · D width
"""

from typing import Any, NamedTuple

import numpy as np
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from seqwright.analysis.embedder import Embedder, embedder_of
from seqwright.batches import Numbers
from seqwright.errors import DataError, RunError
from seqwright.inputs import Examples
from seqwright.runs import Pooling, Run

SAME = 1 - 1e-6  # the cosine above which the very same was read


class Alike(NamedTuple):
    """An example of a bank, and the cosine of the angle between its vector and the one that was asked about."""

    example: Any
    cosine: float


def nearest_vectors(vector_ND: Tensor, asked_MD: Tensor, top: int) -> tuple[NDArray[np.float64], Numbers]:
    """`cosine_MK` and `place_MK`: for each vector that is asked about the most alike of a bank, the nearest first."""
    from sklearn.neighbors import NearestNeighbors

    bank = NearestNeighbors(n_neighbors=min(top, len(vector_ND)), metric="cosine")
    distance_MK, place_MK = bank.fit(vector_ND.double().numpy()).kneighbors(asked_MD.double().numpy())
    return 1 - distance_MK, place_MK


def alike(
    run: Run, asked: Examples[Any], bank: Examples[Any], *, top: int, pooling: Pooling | None = None
) -> list[list[Alike]]:
    """For each example its nearest ones in a bank, but for those of which the very same is read."""
    embedder = embedder_of(run, pooling)
    if isinstance(embedder, Embedder):
        raise RunError(f"{run.folder} reads texts; this is for what is read as a whole, such as images")
    (vector_ND, example_N), (asked_MD, asked_M) = embedder.of(bank), embedder.of(asked)
    if not len(vector_ND):
        raise DataError(f"{bank.name} has nothing that can be read: give other {run.input.noun} to look among")
    if len(asked_M) < sum(1 for _ in asked):
        raise DataError(f"{' and '.join(run.input.blank_remarks(asked))}, and so has no vector: leave it out")
    examples = list(bank)
    cosine_MN = F.normalize(asked_MD.double(), dim=1) @ F.normalize(vector_ND.double(), dim=1).T
    cosine_MN[cosine_MN > SAME] = float("-inf")
    place_MN = cosine_MN.argsort(dim=1, descending=True, stable=True)[:, :top]
    pairs = zip(place_MN.tolist(), cosine_MN.gather(1, place_MN).tolist(), strict=True)
    return [
        [Alike(examples[example_N[place]], cosine) for place, cosine in zip(*pair, strict=True) if cosine >= -1.5]
        for pair in pairs
    ]
