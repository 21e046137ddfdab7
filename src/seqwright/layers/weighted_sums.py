"""Weighted sums of the rows of a table, by torch's kernel for bags of words.

N rows of the table · M its columns · G sums · I rows in a sum
"""

from functools import cache, lru_cache

import torch
from torch import Tensor

WIDE = frozenset({"AVX2", "AVX512"})  # instructions, as torch names them


def weighted_sums(table_NM: Tensor, row_GI: Tensor, weight_GI: Tensor) -> Tensor:
    """`sum_GM`: Σ_i weight[g, i] · table[row[g, i]].

    Many small products of a vector with a matrix are such sums, and the kernel neither packs anything nor is called for
    each of them. Rows may be asked for in any order and several times.
    """
    begins_G1 = _begins(*row_GI.shape, row_GI.device)
    given = row_GI.flatten(), begins_G1, False, 0, False, weight_GI.flatten(), True
    sum_GM: Tensor = torch.embedding_bag(table_NM, *given)[0]
    return sum_GM


def sums_are_quick(x: Tensor) -> bool:
    """Whether that kernel is the fast one, which torch has for float32 on x86 processors."""
    return x.device.type == "cpu" and x.dtype is torch.float32 and _has_kernel() and not torch.is_grad_enabled()


@cache
def _has_kernel() -> bool:
    return "fbgemm" in torch.backends.quantized.supported_engines and torch.backends.cpu.get_cpu_capability() in WIDE


@lru_cache(maxsize=8)
def _begins(groups: int, size: int, device: torch.device) -> Tensor:
    """Where each sum begins among all rows, and where the last one ends."""
    return torch.arange(0, groups * size + 1, size, device=device)
