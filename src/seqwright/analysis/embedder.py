"""Texts as vectors: what the last layer of a trained model makes of a whole text.

B batch · T time · N texts · D width
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.analysis.pooled import PooledEmbedder
from seqwright.analysis.reading import context_of, read_rows, reads_text, row_batch
from seqwright.batches import Ids, Numbers
from seqwright.batches.pairs import sources
from seqwright.calls import listed_texts
from seqwright.devices import Precision, device_of, in_precision
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs import Examples
from seqwright.inputs.prompt import PromptInput
from seqwright.inputs.running_text import RunningTextInput
from seqwright.inputs.spelling import TokenInput
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.layers.embeddings import HasSentenceVectors, HasTokenVectors, body_of
from seqwright.layers.taps import listen
from seqwright.objectives.labels_and_next_token import has_next_token_body
from seqwright.runs import Pooling, Run
from seqwright.tasks.ensembles import EnsembleWires

TOKENS_AT_ONCE = 8192
MARKS = 2  # special tokens around a text


class Embedder:
    """A trained model that reads texts: `embedder(["…", "…"])` has a vector for each.

    `mean` is that of the vectors of all tokens that are read, special ones included, as Sentence-BERT has it (Reimers
    & Gurevych 2019, section 3); `first` is the vector of [CLS]; `thought` is the one vector into which a translation
    without attention reads its source (Sutskever et al. 2014). Left out: thought where the model has one, else mean.
    `context` is how many tokens the model reads at once. An `engine` computes the vectors in place of the model.
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: Any,
        *,
        pooling: Pooling | None = None,
        context: int | None = None,
        precision: Precision = "float32",
        engine: Any = None,
    ) -> None:
        if not isinstance(model, HasTokenVectors):
            raise RunError("the model has no vectors for what it reads; embed is for models that learn them")
        thinks = isinstance(body_of(model), HasSentenceVectors)
        if pooling == "thought" and not thinks:
            raise SettingError(
                "--pooling thought is the vector between an encoder and a decoder without attention, as seq2seq has "
                "it; this model has none: use mean"
            )
        self.pooling = pooling or ("thought" if thinks else "mean")
        if engine is not None and (told := engine.lacks_vectors(self.pooling, precision)):
            if not engine.optional:
                raise SettingError(told)
            engine = None
        self.engine, self.precision = engine, precision
        self.model, self.inputs = in_precision(model.eval(), precision) if engine is None else model.eval(), inputs
        self.tokenizer: Tokenizer = inputs.tokenizer
        self.reads: TokenInput[Any, Any] = inputs.reads_tokens
        self.most = None if context is None else context - MARKS
        self._contextual = next(iter(cast(HasTokenVectors, self.model).token_vectors().values())).contextual

    def encode(self, texts: Sequence[str]) -> list[Ids]:
        """The tokens of each text, all of them: only the first `most` can be read."""
        return self.reads.tokenised(texts)

    def __call__(self, texts: Sequence[str], *, normalise: bool = False) -> Tensor:
        """`vector_ND`, each of length 1 where that is asked for."""
        rows = [row[: self.most] for row in self.encode(texts)]
        waiting = sorted(range(len(texts)), key=lambda n: len(rows[n]))
        found: dict[int, Tensor] = {}
        while waiting:
            count = max(1, TOKENS_AT_ONCE // (len(rows[waiting[-1]]) + MARKS))
            waiting, some = waiting[:-count], waiting[-count:]
            found |= dict(zip(some, self._read([rows[n] for n in some]), strict=True))
        vector_ND = torch.stack([found[n] for n in range(len(texts))])
        return F.normalize(vector_ND, dim=1) if normalise else vector_ND

    def of(self, examples: Examples[Any]) -> tuple[Tensor, Numbers]:
        """`vector_ND` of the texts of labelled examples that are not blank, and their numbers."""
        every = list(examples)
        if any(example.text_pair is not None for example in every):
            raise DataError(
                f"{examples.name} has pairs of texts, and a vector is made of a single one; give single texts"
            )
        numbers = [number for number, example in enumerate(every) if example.text.strip()]
        return self([every[number].text for number in numbers]), np.array(numbers, dtype=np.int64)

    @property
    def width(self) -> int:
        """D, of a vector."""
        return self(["a"]).shape[1]

    @torch.inference_mode()
    def _read(self, rows: list[Ids]) -> Tensor:
        if self.pooling == "thought":
            thinking: Any = body_of(self.model)
            batch = sources(rows, end=self.tokenizer.end).to(device_of(self.model))
            vector_BD: Tensor = thinking.sentence_vectors(batch.source_BS, batch.source_real_BS)
            return vector_BD.float().cpu()
        joined = [self.reads.joined([row]) for row in rows]
        if self.engine is None:
            with listen(self._contextual):  # to nothing else, so that the fused kernels serve
                read = read_rows(self.model, self.inputs, joined)
                contextual_BTD = torch.cat(self._contextual.heard or [], dim=1).float().cpu()
        else:
            batch, read = row_batch(self.inputs, joined)
            contextual_BTD = self.engine.contextual(batch.input, batch.real, self.precision)
        if self.pooling == "first":
            forwards = isinstance(self.reads, RunningTextInput | PromptInput) or has_next_token_body(self.model)
            if not read.before or forwards:
                raise SettingError(
                    "--pooling first is the vector of [CLS], which reads the whole text; this model has none: use mean"
                )
            return contextual_BTD[:, 0]
        marks = contextual_BTD.shape[1] - max(map(len, rows))
        length_B1 = torch.tensor([len(row) + marks for row in rows]).unsqueeze(1)
        real_BT = torch.arange(contextual_BTD.shape[1]) < length_B1
        return (contextual_BTD * real_BT.unsqueeze(-1)).sum(1) / length_B1


def vectors_of(run: Run, given: Any, *, pooling: Pooling | None, normalise: bool, precision: Precision) -> Any:
    """`vector_ND` of a list of texts, images, …; `vector_D` of a single one."""
    embedder = embedder_of(run, pooling, precision)
    if isinstance(embedder, Embedder):
        vector_ND = embedder(listed_texts(given), normalise=normalise).numpy()
        return vector_ND[0] if isinstance(given, str) else vector_ND
    if isinstance(given, list) and not given:
        raise DataError(f"there are no {run.input.noun} in an empty list; give one or more")
    several = [run.input.parse(each) for each in (given if isinstance(given, list) else [given])]
    vector_ND = embedder(several, normalise=normalise).numpy()
    return vector_ND if isinstance(given, list) else vector_ND[0]


def embedder_of(
    run: Run, pooling: Pooling | None = None, precision: Precision = "float32"
) -> Embedder | PooledEmbedder:
    """What makes vectors of texts with the model of a run, or of what else it reads."""
    if isinstance(run.inputs, EnsembleWires):
        raise RunError("an ensemble has several models, and each has vectors of its own; load one run")
    if not reads_text(run):
        return PooledEmbedder(run, pooling, precision)
    if not isinstance(run.model, HasTokenVectors):
        raise RunError(f"{run.folder} is of kind {run.recipe.model.kind}, which has no vectors for what it reads")
    options: dict[str, Any] = {"precision": precision, "engine": run.engine, "context": context_of(run)}
    return Embedder(run.model, run.inputs, pooling=pooling, **options)
