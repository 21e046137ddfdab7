"""The seam between a model and training: what an objective is and what it returns."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor, nn


class LossPart(NamedTuple):
    """A sum over `over` things (tokens, sentences). Weight 0 is reported but not learnt from."""

    sum: Tensor
    over: int
    weight: float = 1.0


class Loss(NamedTuple):
    """The parts of a loss. What is descended is the weighted sum of their means."""

    parts: dict[str, LossPart]

    def total(self, counts: Mapping[str, float]) -> Tensor:
        """The weighted sum of each part's sum over its count in `counts`.

        `counts` are those of everything that shares the update (micro-batches, processes), so that adding up
        the gradients of all totals gives the gradient of one big batch.
        """
        terms = [part.sum * (part.weight / max(counts[name], 1)) for name, part in self.parts.items() if part.weight]
        total: Tensor = sum(terms[1:], start=terms[0])
        return total


class Objective(nn.Module):
    """What is learnt from a batch. Heads, teachers and centres live in it: they are trained and saved with the model.

    `carry` is what flows from batch to batch: recurrent state under truncated back-propagation, usually None.
    """

    def start(self, model: nn.Module, batch: Any) -> Any:
        """The carry into a batch before which nothing was read: a NamedTuple of tensors (or of such).

        None where nothing flows into the batch: its rows are all fresh, or the objective carries nothing at all.
        """
        return None

    def prepare(self, model: nn.Module, batch: Any) -> Any:
        """The batch with what has to be computed for it first, on the training thread: what a teacher sees in it that
        is too large to be kept, or what the model itself writes. Usually the batch as it is.
        """
        return batch

    @abstractmethod
    def counts(self, batch: Any) -> dict[str, int]:
        """The counts of the parts that `forward` will give for this batch, known before it is computed."""

    @abstractmethod
    def forward(self, model: nn.Module, batch: Any, carry: Any) -> tuple[Loss, Any]:
        """The loss on a batch and the carry for the next; rows where `batch.fresh_B` start without a carry."""

    def before_step(self, model: nn.Module) -> None:
        """Precedes each update, when the gradients of all micro-batches are there: where some are held back."""
        return

    def after_step(self, model: nn.Module, step: int, steps: int) -> None:
        """Follows update number `step` of `steps`, from 1: where a teacher takes a step after its student."""
        return
