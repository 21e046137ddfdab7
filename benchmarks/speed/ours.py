"""What several questions ask of ours: a model as the verbs decode with it, and a translation of a batch."""

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.speed.worker import Work
from seqwright.batches.pairs import sources
from seqwright.decoding import DecodingSettings, decoded
from seqwright.devices import Precision, in_precision, keep_freed_memory
from seqwright.inputs.tokenizers import BEGIN, END, PAD, UNKNOWN
from seqwright.layers.prepared import prepared

FORBIDDEN = (PAD, UNKNOWN, BEGIN)


def writer_of(model: Any, precision: Precision = "float32") -> Any:
    """A model made ready as every verb that writes does it."""
    keep_freed_memory()
    return prepared(in_precision(model, precision))


def translating(model: Any, rows: list[Any], steps: int) -> Callable[[int], Work]:
    """The translation of a batch with a beam, the reading of the sources included; so many tokens each."""

    @torch.inference_mode()
    def decode(beam: int) -> Work:
        found = decoded(
            model,
            model.start(sources(rows, end=END)),
            DecodingSettings(beam=beam, shortest=steps, longest=steps),
            first_B=torch.full((len(rows),), BEGIN),
            end=END,
            steps=steps,
            forbidden=FORBIDDEN,
        )
        return written([hypotheses[0].tokens for hypotheses in found], steps)

    return decode


def written(texts: list[list[int]], steps: int) -> Work:
    """Texts that have as many tokens as asked for."""
    if any(len(text) != steps for text in texts):
        raise RuntimeError(f"a text does not have {steps} tokens")
    return Work(len(texts) * steps, texts)
