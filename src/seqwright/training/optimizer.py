"""Adam over the parameters of a model and its objective, saved and loaded by parameter name."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from seqwright.errors import RunError, SettingError
from seqwright.training.settings import TrainingSettings


@runtime_checkable
class HasDepths(Protocol):
    """A model whose layers lie one above the other."""

    def depths(self) -> dict[str, int]:
        """How many layers lie below each part, by how the names of its parameters begin; what is not named is the head,
        which lies above them all.
        """


def total_norm(gradients: Sequence[Tensor]) -> Tensor:
    """The Euclidean norm of all gradients together, to the last bit the same in whatever order they come.

    torch's own sums in the order in which a model names its tensors: where blocks are nested otherwise, the last bit of
    the norm would be another one, and with it every clipped update.
    """
    if not gradients:
        return torch.zeros(())
    norms_P = torch.stack(torch._foreach_norm(list(gradients)))
    total: Tensor = torch.linalg.vector_norm(norms_P.sort().values)
    return total


def optimizer_for(
    parameters: Mapping[str, nn.Parameter], settings: TrainingSettings, scales: Mapping[str, float] | None = None
) -> torch.optim.Optimizer:
    """Adam (Kingma & Ba 2015), or AdamW whose decay spares vectors (norms and biases).

    Parameters of one `scale`, by which their learning rate is multiplied, are a group.
    """
    kind = torch.optim.AdamW if settings.optimizer == "adamw" else torch.optim.Adam
    decay = settings.decay if settings.optimizer == "adamw" else 0.0
    groups: dict[tuple[bool, float], dict[str, Any]] = {}
    for vector in (False, True):
        for name, parameter in parameters.items():
            if vector == (parameter.dim() <= 1):
                scale = 1.0 if scales is None else scales[name]
                alike = {"params": [], "weight_decay": 0.0 if vector else decay, "scale": scale}
                groups.setdefault((vector, scale), alike)["params"].append(parameter)
    return kind(list(groups.values()), lr=0.0, betas=settings.betas, eps=settings.epsilon, fused=True)


def layer_scales(model: nn.Module, parameters: Mapping[str, nn.Parameter], decay: float) -> dict[str, float]:
    """decay^(layers above) for each parameter (Howard & Ruder 2018, section 3.2; Clark et al. 2020, appendix B).

    The names are as `Fitting` has them, `model.` or `objective.` first; an objective belongs to the head.
    """
    if not isinstance(model, HasDepths):
        raise SettingError(
            f"training.layer_decay is {decay}, but a model of the class {type(model).__name__} has no layers to tell "
            "apart: leave it out"
        )
    depths = {f"model.{start}.": depth for start, depth in model.depths().items()}
    head = 1 + max(depths.values())

    def depth(name: str) -> int:
        return next((depth for start, depth in depths.items() if f"{name}.".startswith(start)), head)

    return {name: decay ** (head - depth(name)) for name in parameters}


def optimizer_tensors(optimizer: torch.optim.Optimizer, parameters: Mapping[str, nn.Parameter]) -> dict[str, Tensor]:
    """What the optimizer remembers, as `parameter.memory` → tensor."""
    return {
        f"{name}.{memory}": tensor
        for name, parameter in parameters.items()
        for memory, tensor in optimizer.state[parameter].items()
    }


def restore_optimizer(
    optimizer: torch.optim.Optimizer, parameters: Mapping[str, nn.Parameter], tensors: Mapping[str, Tensor]
) -> None:
    """Give the optimizer back what `optimizer_tensors` took."""
    if not tensors:
        raise RunError("the newest checkpoint lacks the optimizer's memory, so the run cannot be resumed; use --fresh")
    for key, tensor in tensors.items():
        name, memory = key.rsplit(".", 1)
        if name not in parameters:
            raise RunError(f"the optimizer's checkpoint has a tensor '{key}' that this model does not")
        parameter = parameters[name]
        optimizer.state[parameter][memory] = tensor.to(parameter.device, copy=True)
