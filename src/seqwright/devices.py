"""Where tensors are, and what is fast there."""

import torch
from torch import nn


def home_of(module: nn.Module) -> torch.device:
    """Where a module's tensors are; a module without any is at home on the CPU."""
    return next((tensor.device for tensor in module.state_dict().values()), torch.device("cpu"))


def computes_bfloat16(device: torch.device) -> bool:
    """Whether the device has instructions for bfloat16: without them it would be slower than float32."""
    if device.type == "cpu":
        return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return device.type == "cuda" and torch.cuda.is_bf16_supported()
