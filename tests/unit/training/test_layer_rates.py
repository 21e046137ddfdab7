"""Layer-wise learning rates: each parameter takes the step that its own rate allows, also after a resumption."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from seqwright.batches import Place
from seqwright.errors import SettingError
from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.training.checkpoint import newest_whole
from seqwright.training.loop import fit
from seqwright.training.optimizer import layer_scales, optimizer_for
from seqwright.training.settings import TrainingSettings

RATE, DECAY = 0.01, 0.5


class Rows(NamedTuple):
    """What the tower reads."""

    x_BD: Tensor

    @property
    def tokens(self) -> int:
        return len(self.x_BD)

    def to(self, device: torch.device) -> "Rows":
        return Rows(self.x_BD.to(device))


class RowBatches:
    """The same rows again and again."""

    def at(self, place: Place) -> Rows:
        return Rows(torch.randn(5, 3, generator=torch.Generator().manual_seed(place.batch)))

    def after(self, place: Place) -> Place:
        return Place(place.epoch, place.batch + 1)

    def in_epoch(self, epoch: int) -> int:
        return 100

    def once(self) -> Iterator[Rows]:
        return iter([self.at(Place())])

    def padding(self, epoch: int = 0) -> float:
        return 0.0


class Tower(nn.Module):
    """Twelve layers one above the other, with an embedding below and a head above; `blocks.1` is not `blocks.11`."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Linear(3, 3)
        self.blocks = nn.ModuleList(nn.Linear(3, 3) for _ in range(12))
        self.head = nn.Linear(3, 1)

    def depths(self) -> dict[str, int]:
        return {"embedding": 0} | {f"blocks.{place}": place + 1 for place in range(12)}

    def forward(self, x_BD: Tensor) -> Tensor:
        x_BD = self.embedding(x_BD)
        for block in self.blocks:
            x_BD = x_BD + block(x_BD)
        said: Tensor = self.head(x_BD)
        return said


class Small(Objective):
    """Σ said², with a scale of its own that learns too."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def counts(self, batch: Rows) -> dict[str, int]:
        return {"loss": len(batch.x_BD)}

    def forward(self, model: nn.Module, batch: Rows, carry: None) -> tuple[Loss, None]:
        return Loss({"loss": LossPart((self.scale * model(batch.x_BD)).square().sum(), len(batch.x_BD))}), None


def tower() -> Tower:
    torch.manual_seed(1)
    return Tower()


def trained(model: nn.Module, objective: Objective, run: Path | None = None, **settings: Any) -> nn.Module:
    usual: dict[str, Any] = {"schedule": "constant", "warmup": 0, "rate": RATE, "layer_decay": DECAY, "steps": 1}
    chosen = TrainingSettings.model_validate({**usual, **settings})
    return fit(model, objective, RowBatches(), settings=chosen, run=run)


def test_the_first_step_of_adam_is_as_long_as_the_rate_of_its_layer() -> None:
    """Adam's first step has the length of the learning rate for every value whose gradient is not tiny."""
    model, objective = tower(), Small()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    trained(model, objective, epsilon=1e-30)
    for name, parameter in model.named_parameters():
        above = {"embedding": 13, "head": 0}.get(name.split(".")[0])
        above = 12 - int(name.split(".")[1]) if above is None else above
        step = (parameter - before[name]).abs().detach()
        torch.testing.assert_close(step, torch.full_like(step, RATE * DECAY**above), rtol=1e-2, atol=1e-7)
    assert abs(float(objective.scale.detach()) - 1) == pytest.approx(RATE, rel=1e-4)


def test_the_scales_are_exact_powers() -> None:
    model = tower()
    both = nn.ModuleDict({"model": model, "objective": Small()})
    scales = layer_scales(model, dict(both.named_parameters()), 0.9)
    assert scales["model.embedding.weight"] == 0.9**13
    assert scales["model.blocks.1.bias"] == 0.9**11
    assert scales["model.blocks.11.bias"] == 0.9**1
    assert scales["model.head.weight"] == scales["objective.scale"] == 1.0


def test_without_layer_decay_there_are_two_groups_of_one_rate() -> None:
    parameters = dict(tower().named_parameters())
    groups = optimizer_for(parameters, TrainingSettings(optimizer="adamw", decay=0.1)).param_groups
    assert [(group["weight_decay"], group["scale"]) for group in groups] == [(0.1, 1.0), (0.0, 1.0)]
    assert sum(len(group["params"]) for group in groups) == len(parameters)


def test_a_decay_of_one_changes_no_bit() -> None:
    plain, same = tower(), tower()
    trained(plain, Small(), layer_decay=None, steps=3)
    trained(same, Small(), layer_decay=1.0, steps=3)
    for one, other in zip(plain.parameters(), same.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_resumed_training_ends_in_the_same_bytes(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "steps": 7,
        "save_every": 3,
        "validate_every": 100,
        "clip": 1.0,
        "optimizer": "adamw",
        "decay": 0.1,
    }
    whole = trained(tower(), Small(), **settings)
    trained(tower(), Small(), tmp_path, **{**settings, "steps": 3})
    found = newest_whole(tmp_path)
    assert found is not None
    assert found[0] == 3
    resumed = trained(tower(), Small(), tmp_path, **settings)
    for one, other in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_model_whose_layers_nobody_knows_is_refused() -> None:
    with pytest.raises(
        SettingError, match=r"training.layer_decay is 0.5, but a model of the class Linear has no layers"
    ):
        trained(nn.Linear(3, 1), Small())
