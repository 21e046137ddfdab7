"""Which devices multiply in bfloat16 faster than in float32."""

import torch


def computes_bfloat16(device: torch.device) -> bool:
    """Whether the device has instructions for it: otherwise bfloat16 would be slower, and we keep to float32."""
    if device.type == "cpu":
        return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return device.type == "cuda" and torch.cuda.is_bf16_supported()
