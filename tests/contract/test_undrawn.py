"""Models that are built to be loaded: nothing is drawn, nothing is left undrawn, and no compiler is imported."""

import subprocess
import sys

import pytest
import torch

from seqwright.layers.undrawn import Undrawn, without_memory
from seqwright.lineage import MODELS, Model
from seqwright.training.weights import load_tensors, unique_tensors
from tests import small_models

LEARNING = [row for row in MODELS if "gradient" in row.promises]
every_model = pytest.mark.parametrize("row", LEARNING, ids=[f"{row.task}-{row.kind}" for row in LEARNING])
WEIGHT_NORM = "convs2s"  # whose norms torch computes by way of its compiler

SCRIPT = f"""
import sys
from seqwright.layers.undrawn import without_memory
from seqwright.lineage import MODELS
from tests import small_models
for row in MODELS:
    if "gradient" in row.promises and row.kind != "{WEIGHT_NORM}":
        with without_memory():
            small_models.small(row.kind, row.task)
        assert not {{"sympy", "torch._dynamo"}} & set(sys.modules), row
"""


@every_model
def test_a_loaded_model_has_nothing_of_what_was_not_drawn(row: Model) -> None:
    torch.manual_seed(1)
    model = small_models.small(row.kind, row.task)
    with Undrawn():
        torch.manual_seed(2)
        before = torch.get_rng_state()
        other = small_models.small(row.kind, row.task)
        assert torch.equal(torch.get_rng_state(), before)
    load_tensors(other, unique_tensors(model))
    for (name, mine), (_, found) in zip(everything(model), everything(other), strict=True):
        assert torch.equal(found, mine), name


def everything(model: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    """Parameters and buffers, those that no checkpoint has too."""
    return [*model.named_parameters(), *model.named_buffers()]


@every_model
def test_without_memory_a_model_has_its_shapes(row: Model) -> None:
    with without_memory():
        planned = small_models.small(row.kind, row.task)
    assert all(parameter.is_meta for parameter in planned.parameters())
    shapes = {name: parameter.shape for name, parameter in planned.named_parameters()}
    assert shapes == {name: each.shape for name, each in small_models.small(row.kind, row.task).named_parameters()}


def test_planning_a_model_imports_no_compiler() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, timeout=120)
