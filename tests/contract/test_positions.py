"""What attention is told of places is a module that it is given: the rotation of GPT-J and the bias of T5, as fakes.

B batch · T query positions · S memory positions · D width · H heads · K head width
"""

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from seqwright.layers.attention import Attention, Causal
from seqwright.layers.blocks import Block, GELUFeedForward, PreNorm
from seqwright.layers.positions import NoPositions
from seqwright.layers.taps import listen

B, T, D, H = 3, 7, 8, 2


class Rotation(NoPositions):
    """Pairs of values turned by an angle that grows with the position (Su et al. 2021, section 3.2)."""

    def turned(self, x_BHTK: Tensor, position_BT: Tensor | None) -> Tensor:
        assert position_BT is not None
        half = x_BHTK.shape[-1] // 2
        angle_B1TK = (position_BT.unsqueeze(-1) * 0.1 ** torch.arange(half)).unsqueeze(1)
        one, other = x_BHTK[..., :half], x_BHTK[..., half:]
        cos, sin = angle_B1TK.cos(), angle_B1TK.sin()
        return torch.cat((one * cos - other * sin, one * sin + other * cos), dim=-1)


class DistanceBias(NoPositions):
    """A number for each distance and head is added to the scores (Raffel et al. 2020, section 2.1)."""

    def __init__(self) -> None:
        super().__init__()
        self.bias_HN = nn.Parameter(torch.randn(H, T))

    def bias(self, position_BT: Tensor | None, position_BS: Tensor | None) -> Tensor | None:
        assert position_BT is not None
        assert position_BS is not None
        distance_BTS = (position_BT.unsqueeze(2) - position_BS.unsqueeze(1)).clamp(0, T - 1)
        return self.bias_HN[:, distance_BTS].transpose(0, 1)


def block(kind: type[NoPositions]) -> Block:
    torch.manual_seed(1)
    attention = Attention(width=D, heads=H, positions=kind())
    return Block(attention, GELUFeedForward(width=D, inner=13), partial(PreNorm, width=D, dropout=0.0)).eval()


def drawn() -> Tensor:
    return torch.randn(B, T, D, generator=torch.Generator().manual_seed(2))


def close(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5)


KINDS = pytest.mark.parametrize("kind", [Rotation, DistanceBias])


@KINDS
@torch.no_grad()
def test_only_distances_matter_and_they_do(kind: type[NoPositions]) -> None:
    x_BTD, position_1T = drawn(), torch.arange(T).unsqueeze(0)
    found_BTD, _ = block(kind)(x_BTD, Causal(), None, position_1T)
    moved_BTD, _ = block(kind)(x_BTD, Causal(), None, position_1T + 11)
    wider_BTD, _ = block(kind)(x_BTD, Causal(), None, position_1T * 2)
    close(moved_BTD, found_BTD)
    assert not torch.allclose(wider_BTD, found_BTD, atol=1e-3)


@KINDS
@torch.no_grad()
def test_what_was_remembered_is_read_as_if_it_were_read_at_once(kind: type[NoPositions]) -> None:
    each, x_BTD, position_1T = block(kind), drawn(), torch.arange(T).unsqueeze(0)
    whole_BTD, _ = each(x_BTD, Causal(), None, position_1T)
    past = None
    for t in range(T):
        found_B1D, past = each(x_BTD[:, t : t + 1], None, past, position_1T[:, : t + 1])
        close(found_B1D[:, 0], whole_BTD[:, t])


@KINDS
@torch.no_grad()
def test_listening_changes_nothing(kind: type[NoPositions]) -> None:
    each, x_BTD, position_1T = block(kind), drawn(), torch.arange(T).unsqueeze(0)
    before_BTD, _ = each(x_BTD, Causal(), None, position_1T)
    with listen(each):
        heard_BTD, _ = each(x_BTD, Causal(), None, position_1T)
    close(heard_BTD, before_BTD)


def test_what_is_learnt_of_distances_learns() -> None:
    each = block(DistanceBias)
    each(drawn(), Causal(), None, torch.arange(T).unsqueeze(0))[0].square().sum().backward()
    gradient = each.attention.positions.bias_HN.grad
    assert isinstance(gradient, Tensor)
    assert bool(gradient.all())
