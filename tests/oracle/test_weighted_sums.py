"""Weighted sums of rows are those of a plain product, whatever rows are asked for."""

import pytest
import torch

from seqwright.layers import weighted_sums as summing
from seqwright.layers.weighted_sums import sums_are_quick, weighted_sums

ROWS, SUMS, SIZE = 13, 7, 5


@pytest.mark.parametrize("columns", [1, 3, 16, 37])
@pytest.mark.parametrize("size", [SIZE, 1])
@torch.inference_mode()
def test_they_are_products_with_the_rows_that_are_asked_for(columns: int, size: int) -> None:
    generator = torch.Generator().manual_seed(1)
    table_NM = torch.randn(ROWS, columns, generator=generator)
    row_GI = torch.randint(ROWS, (SUMS, size), generator=generator)
    weight_GI = torch.randn(SUMS, size, generator=generator)
    sum_GM = weighted_sums(table_NM, row_GI, weight_GI)
    torch.testing.assert_close(sum_GM, torch.einsum("gi,gim->gm", weight_GI, table_NM[row_GI]))


def test_they_are_quick_only_where_the_kernel_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summing, "_has_kernel", lambda: True)
    x = torch.zeros(3)
    assert not sums_are_quick(x)  # a gradient may be asked for
    with torch.no_grad():
        assert sums_are_quick(x)
        assert not sums_are_quick(x.bfloat16())
        assert not sums_are_quick(x.to("meta"))
        monkeypatch.setattr(summing, "_has_kernel", lambda: False)
        assert not sums_are_quick(x)
