"""A training whose batches do not all use the same parameters, in as many processes as it was started in.

python -m tests.unit.training.uneven_parts        prints what it found as JSON
"""

import json
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from seqwright.batches import Place
from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.training.loop import fit
from seqwright.training.settings import TrainingSettings

EVERY, STEPS, ACCUMULATE = (0, 1, 2, 3), 2, 4
USED = [EVERY, EVERY, EVERY, EVERY, (0, 1), (0, 2), (0, 1), (0,)]  # of each batch; two of two processes have 0 and 2


class Using:
    """A batch that uses some of the parameters."""

    def __init__(self, number: int) -> None:
        self.number, self.tokens, self.used = number, number + 1, USED[number]

    def to(self, device: torch.device) -> "Using":
        return self


class UnevenBatches:
    """Each once."""

    def at(self, place: Place) -> Using:
        return Using(place.batch)

    def after(self, place: Place) -> Place:
        return Place(0, place.batch + 1)

    def in_epoch(self, epoch: int) -> int:
        return len(USED)

    def once(self) -> Iterator[Using]:
        return map(Using, range(len(USED)))

    def padding(self, epoch: int = 0) -> float:
        return 0.0


class Parts(nn.Module):
    """As many parameters as a batch can use."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ParameterList(torch.full((2, 3), 1.0 + number) for number in EVERY)

    def forward(self, batch: Using) -> Tensor:
        return torch.stack([(self.parts[used] * (batch.number + used)).sin().sum() for used in batch.used]).sum()


class Scaled(Objective):
    """The model's sum times a factor that is learnt with it; the last part is told everywhere, and learnt in `loss`."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(1.5))
        self.gradients: list[list[Any]] = []

    def counts(self, batch: Using) -> dict[str, int]:
        return {"loss": batch.tokens, "told": batch.tokens}

    def forward(self, model: Any, batch: Using, carry: None) -> tuple[Loss, None]:
        told = LossPart(model.parts[-1].sum(), batch.tokens, weight=0.0)
        return Loss({"loss": LossPart(model(batch) * self.factor, batch.tokens), "told": told}), None

    def before_step(self, model: nn.Module) -> None:
        every = [*model.parameters(), *self.parameters()]
        self.gradients.append([None if p.grad is None else p.grad.tolist() for p in every])


def trained() -> dict[str, Any]:
    """The gradients of each update, and the weights after the last."""
    torch.set_num_threads(1)
    model, objective = Parts(), Scaled()
    settings = TrainingSettings(steps=STEPS, accumulate=ACCUMULATE, schedule="constant", clip=2.0)
    fit(model, objective, UnevenBatches(), settings=settings, rate=lambda step: 0.1)
    return {"gradients": objective.gradients, "weights": [p.tolist() for p in model.parameters()]}


def main() -> None:
    kept, no_sync = [], DistributedDataParallel.no_sync

    def keeping(joined: DistributedDataParallel) -> Any:
        kept.append(joined)
        return no_sync(joined)

    DistributedDataParallel.no_sync = keeping  # type: ignore[assignment, method-assign]
    print(json.dumps({**trained(), "kept": len(kept)}))


if __name__ == "__main__":
    main()
