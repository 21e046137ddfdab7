"""Images, films and series as vectors: what a trained model's body makes of a whole example.

B batch · T time, patches or places · N examples · D width
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.batches import Numbers
from seqwright.devices import Precision, device_of, in_precision
from seqwright.errors import RunError, SettingError
from seqwright.inputs import Examples, Given
from seqwright.layers.embeddings import body_of
from seqwright.models.heads import Body, Headed, Mean, Pool, PooledHead, real_vectors
from seqwright.models.vit import ViT
from seqwright.runs import Pooling, Run


class PooledEmbedder:
    """A trained model whose body reads something else than texts: `embedder([image, …])` has a vector for each.

    Left out, `pooling` is that of the run's own head, so that a vector is what the label was found from; `mean` is that
    of the vectors of all places, of a ViT its patches, `first` the vector of a ViT's class token. `input` parses and
    encodes examples as for every verb.
    """

    def __init__(self, run: Run, pooling: Pooling | None = None, precision: Precision = "float32") -> None:
        body = body_of(run.model)
        if not isinstance(body, Body):
            raise RunError(f"{run.folder} is of kind {run.recipe.model.kind}, which has no vectors for what it reads")
        self.inputs, self.input = run.inputs, run.input
        self.pool = cast(nn.Module, _pool(run.model, body, pooling)).eval()
        self.model = in_precision(run.model.eval(), precision)

    def __call__(self, examples: Sequence[Any], *, normalise: bool = False) -> Tensor:
        """`vector_ND`, each of length 1 where that is asked for; of an example that cannot be read no numbers (NaN)."""
        found_ND, example_N = self.of(Given(examples))
        vector_ND = torch.full((len(examples), found_ND.shape[1]), float("nan"))
        vector_ND[torch.from_numpy(example_N)] = found_ND
        return F.normalize(vector_ND, dim=1) if normalise else vector_ND

    def of(self, examples: Examples[Any]) -> tuple[Tensor, Numbers]:
        """`vector_ND` of the examples that can be read, and their numbers."""
        found: dict[int, Tensor] = {}
        for batch in self.inputs.batches(examples).once():
            found |= dict(zip(batch.example_B.tolist(), self._read(batch), strict=True))
        numbers = np.array(sorted(found), dtype=np.int64)
        vectors = [found[number] for number in numbers.tolist()]
        return torch.stack(vectors) if vectors else torch.zeros(0, self.width), numbers

    @property
    def width(self) -> int:
        """D, of a vector."""
        return int(body_of(self.model).width) * cast(Pool, self.pool).vectors  # type: ignore[arg-type]

    @torch.inference_mode()
    def _read(self, batch: Any) -> Iterator[Tensor]:
        model, there = self.model, batch.to(device_of(self.model))
        body: Any = body_of(model)
        h_BTD = model.read(there) if isinstance(model, Headed) else body.hidden(there.input, there.real)
        vector_BD: Tensor = self.pool(h_BTD, real_vectors(h_BTD, there))
        return iter(vector_BD.float().cpu())


def _pool(model: nn.Module, body: Body, pooling: Pooling | None) -> Pool:
    """What makes one vector of a body's, as it is asked for."""
    if pooling == "thought" or (pooling == "first" and not (isinstance(body, ViT) and body.settings.class_tokens)):
        told = "the vector between an encoder and a decoder" if pooling == "thought" else "that of a class token"
        raise SettingError(f"--pooling {pooling} is {told}, and this model has none: leave it out, or use mean")
    if pooling is None:
        head = model.head if isinstance(model, Headed) else None
        return head.pool if isinstance(head, PooledHead) else body.pool()
    if isinstance(body, ViT):
        return body.pool("class" if pooling == "first" else "patches")
    return Mean()
