"""`count`: the other way to learn. One pass over the data, no gradient; the same run folder as `fit` writes."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from torch import nn

from seqwright.batches import Batches
from seqwright.training.checkpoint import Checkpoint, newest_whole, write_checkpoint, write_mark
from seqwright.training.journal import Journal
from seqwright.training.reporter import Quiet, Reporter
from seqwright.training.weights import load_tensors, unique_tensors


@runtime_checkable
class Counter(Protocol):
    """A model that learns by counting."""

    def observe(self, batch: Any) -> None:
        """Take a batch into account."""

    def conclude(self) -> None:
        """Turn the counts into probabilities, after the last batch."""


@runtime_checkable
class Stored(Protocol):
    """A model that says what its counts take."""

    def storage(self) -> Sequence[Any]:
        """For each length: its `order`, how many `ngrams`, their `bytes`, those `pruned`, and those `possible`."""


def count(
    model: nn.Module,
    batches: Batches[Any],
    *,
    run: Path | None = None,
    evaluate: Callable[[nn.Module], dict[str, float]] | None = None,
    reporter: Reporter | None = None,
    metadata: Mapping[str, str] | None = None,
) -> nn.Module:
    """Show the model every example once. A run that has counted already is only loaded."""
    assert isinstance(model, Counter), f"{type(model).__name__} does not learn by counting"
    reporter = reporter or Quiet()
    if run is not None and (found := newest_whole(run)) is not None:
        load_tensors(model, found[1].files["model"])
        _mark_only_step(run)  # the training may have been killed between the checkpoint and its marks
        reporter.say("everything is counted already")
        return model
    if run is not None:
        run.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    for batch in batches.once():
        model.observe(batch)
    model.conclude()
    scores = {} if evaluate is None else evaluate(model)
    if run is not None:
        Journal(run / "journal.jsonl").cut_back(0)
        Journal(run / "journal.jsonl").write({"step": 1, "event": "valid", "epoch": 1, **scores})
        write_only_step(model, run, metadata=metadata or {}, seconds=time.monotonic() - began)
    return model


def write_only_step(model: nn.Module, run: Path, *, metadata: Mapping[str, str], seconds: float = 0.0) -> None:
    """The only checkpoint of a model that is learnt at once, or was learnt elsewhere."""
    state = {"place": (1, 0), "sums": {}, "best": {}, "seconds": seconds}
    write_checkpoint(run, 1, Checkpoint({"model": unique_tensors(model)}, state), metadata)
    _mark_only_step(run)


def _mark_only_step(run: Path) -> None:
    for mark in ("last", "best"):
        write_mark(run, mark, 1)
