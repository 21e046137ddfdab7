"""Linear maps by oneDNN are those of torch, with their gradients, and are left to torch wherever it knows better."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seqwright.layers import linear as linears
from seqwright.layers.int8 import in_int8
from seqwright.layers.linear import Linear, linear_map, onednn_is_faster, product

there = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch has no oneDNN here")
SHAPES = [(6, 3), (4, 5, 3), (2, 1, 4, 3), (1, 3)]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes that oneDNN was called with; every product is left to it."""
    shapes: list[tuple[int, ...]] = []

    def counted(x_NC: Tensor, weight_DC: Tensor, bias_D: Tensor | None) -> Tensor:
        shapes.append(tuple(x_NC.shape))
        return product(x_NC, weight_DC, bias_D)

    monkeypatch.setattr(linears, "product", counted)
    monkeypatch.setattr(linears, "onednn_is_faster", lambda: True)
    monkeypatch.setattr(linears, "WORTH", 1)
    return shapes


def given(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(1)
    return tuple(torch.randn(size, dtype=dtype, requires_grad=True) for size in (shape, (7, 3), (7,)))  # type: ignore[return-value]


@there
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bias", [False, True])
def test_it_is_the_product_of_torch_with_its_gradients(
    shape: tuple[int, ...], bias: bool, calls: list[tuple[int, ...]]
) -> None:
    x_NC, weight_DC, bias_D = given(shape)
    inputs = (x_NC, weight_DC, bias_D)[: 2 + bias]
    mine, theirs = linear_map(*inputs), F.linear(*inputs)
    torch.testing.assert_close(mine, theirs)
    towards = torch.randn_like(mine)
    for found, target in zip(
        torch.autograd.grad(mine, inputs, towards), torch.autograd.grad(theirs, inputs, towards), strict=True
    ):
        torch.testing.assert_close(found, target)
    assert len(calls) == 3  # the product and both gradients


@there
def test_gradients_of_gradients_are_those_of_torch(calls: list[tuple[int, ...]]) -> None:
    found = []
    for function in (linear_map, F.linear):
        inputs = given((4, 5, 3))
        first = torch.autograd.grad(function(*inputs).square().sum(), inputs, create_graph=True)
        found.append(torch.autograd.grad(torch.stack([each.square().sum() for each in first]).sum(), inputs))
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)
    assert len(calls) > 3


@there
def test_only_asked_for_gradients_are_computed(calls: list[tuple[int, ...]]) -> None:
    x_NC, weight_DC, bias_D = given((6, 3))
    frozen = linear_map(x_NC.detach(), weight_DC, bias_D)
    assert frozen.requires_grad
    frozen.sum().backward()
    assert len(calls) == 2
    assert not linear_map(x_NC.detach(), weight_DC.detach()).requires_grad


def jacobian(x_NC: Tensor, weight_DC: Tensor, bias_D: Tensor) -> Tensor:
    return torch.func.vmap(lambda x_C: linear_map(x_C.unsqueeze(0), weight_DC, bias_D))(x_NC.detach())


def autocast(*inputs: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return linear_map(*inputs)


@pytest.mark.parametrize(
    "call",
    [
        jacobian,
        autocast,
        lambda *inputs: linear_map(*(each.double() for each in inputs)),
        lambda *inputs: linear_map(*(each.to("meta") for each in inputs)),
        lambda x_NC, *rest: linear_map(x_NC[0], *rest),
        lambda x_NC, *_: in_int8(Linear(3, 7))(x_NC.detach()),
        lambda *inputs: linear_map(*(each[:0] if each.ndim > 1 and len(each) == 6 else each for each in inputs)),
    ],
    ids=["vmap", "autocast", "float64", "another device", "one vector", "int8", "nothing"],
)
def test_everything_else_is_left_to_torch(call: Callable[..., Any], calls: list[tuple[int, ...]]) -> None:
    assert call(*given((6, 3))).shape[-1] == 7
    assert not calls


def test_a_compiled_model_has_the_product_that_the_compiler_knows(calls: list[tuple[int, ...]]) -> None:
    exported = torch.export.export(Linear(3, 7), (torch.randn(6, 3),))
    assert "aten.linear.default" in {str(node.target) for node in exported.graph.nodes}
    assert not calls


@pytest.mark.parametrize(
    ("told", "faster"), [("vendor_id : GenuineIntel", False), ("vendor_id : AuthenticAMD", True), (None, False)]
)
@there
def test_who_made_the_processor_decides(
    told: str | None, faster: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    file = tmp_path / "cpuinfo"
    if told is not None:
        file.write_text(told)
    monkeypatch.setattr(linears, "PROCESSOR", file)
    onednn_is_faster.cache_clear()
    try:
        assert onednn_is_faster() is (faster and torch.backends.mkl.is_available())
    finally:
        onednn_is_faster.cache_clear()


def test_small_products_are_left_to_torch(monkeypatch: pytest.MonkeyPatch, calls: list[tuple[int, ...]]) -> None:
    monkeypatch.setattr(linears, "WORTH", 6 * 3 * 7 + 1)
    linear_map(*given((6, 3)))
    assert not calls
