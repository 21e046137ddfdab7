"""Adam over the parameters of a model and its objective, saved and loaded by parameter name."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from seqwright.errors import RunError
from seqwright.training.settings import TrainingSettings


def optimizer_for(parameters: Mapping[str, nn.Parameter], settings: TrainingSettings) -> torch.optim.Optimizer:
    """Adam (Kingma & Ba 2015), or AdamW whose decay spares vectors (norms and biases)."""
    kind = torch.optim.AdamW if settings.optimizer == "adamw" else torch.optim.Adam
    matrices = [p for p in parameters.values() if p.dim() > 1]
    vectors = [p for p in parameters.values() if p.dim() <= 1]
    decay = settings.decay if settings.optimizer == "adamw" else 0.0
    groups = [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]
    return kind([g for g in groups if g["params"]], lr=0.0, betas=settings.betas, eps=settings.epsilon, fused=True)


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
    for key, tensor in tensors.items():
        name, memory = key.rsplit(".", 1)
        if name not in parameters:
            raise RunError(f"the optimizer's checkpoint has a tensor '{key}' that this model does not")
        parameter = parameters[name]
        optimizer.state[parameter][memory] = tensor.to(parameter.device, copy=True)
