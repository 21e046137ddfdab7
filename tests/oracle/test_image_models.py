"""ViT, CNN and ResNet against formulas by hand, torch's own convolutions and `transformers`' ResNet."""

import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.layers.blocks import LayerScale, PreNormThrough
from seqwright.layers.dropout import StochasticDepth
from seqwright.layers.image_convolution import NormalisedConvolution, normalisation
from seqwright.layers.patches import PatchEmbedding, patches, reassembled
from seqwright.layers.positions import GridPositions, SinusoidalGrid, resampled_grid
from seqwright.layers.taps import listen, views
from seqwright.models.cnn import CNNSettings
from seqwright.models.resnet import ResNetSettings
from seqwright.models.vit import ViTSettings


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def small_vit(**settings: Any) -> Any:
    torch.manual_seed(1)
    plain = {"width": 12, "heads": 3, "layers": 2, "patch": 3, **settings}
    return ViTSettings.model_validate(plain).body(channels=2, rows=6, columns=9).eval()


def resnet(**settings: Any) -> ResNetSettings:
    return ResNetSettings.model_validate(settings)


# ------------------------------------------------------------------------------------------------------- patches


def test_patches_reassemble_bit_for_bit() -> None:
    x_BCYX = drawn(2, 3, 10, 15)
    patch_BPF = patches(x_BCYX, 5)
    assert patch_BPF.shape == (2, 6, 75)
    assert torch.equal(patch_BPF[1, 4].view(3, 5, 5), x_BCYX[1, :, 5:10, 5:10])  # the second of the second row
    assert torch.equal(reassembled(patch_BPF, 5, columns=15), x_BCYX)


def test_a_patch_embedding_is_a_convolution_whose_filters_do_not_overlap() -> None:
    layer, x_BCYX = PatchEmbedding(channels=3, size=4, width=11), drawn(2, 3, 8, 12)
    wanted_BDYX = F.conv2d(x_BCYX, layer.filters(), layer.linear.bias, stride=4)
    torch.testing.assert_close(layer(x_BCYX), wanted_BDYX.flatten(2).transpose(1, 2), atol=1e-5, rtol=0)
    assert layer.grid(8, 12) == (2, 3)


def test_an_image_that_patches_do_not_tile_is_filled_up_with_zeros() -> None:
    layer, x_BCYX = PatchEmbedding(channels=1, size=4, width=5), drawn(2, 1, 7, 9)
    filled_BCYX = torch.zeros(2, 1, 8, 12)
    filled_BCYX[:, :, :7, :9] = x_BCYX
    assert torch.equal(layer(x_BCYX), layer(filled_BCYX))
    assert layer.grid(7, 9) == (2, 3)


# ----------------------------------------------------------------------------------------------------- positions


def keys(distance: float) -> float:
    """The kernel of bicubic interpolation (Keys 1981) with a = -0.75."""
    a, x = -0.75, abs(distance)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def spread(old: int, new: int) -> np.ndarray[Any, Any]:
    """What each new place takes of each old one along an axis; beyond the edge the last one is repeated."""
    weight = np.zeros((new, old))
    for place in range(new):
        at = (place + 0.5) * old / new - 0.5
        for near in range(math.floor(at) - 1, math.floor(at) + 3):
            weight[place, min(max(near, 0), old - 1)] += keys(at - near)
    return weight


def test_learnt_positions_are_resampled_for_another_grid() -> None:
    place_YXD = drawn(4, 3, 5)
    wanted = np.einsum("yi,xj,ijd->yxd", spread(4, 7), spread(3, 2), place_YXD.double().numpy())
    np.testing.assert_allclose(resampled_grid(place_YXD, 7, 2).numpy(), wanted, atol=1e-5)
    assert resampled_grid(place_YXD, 4, 3) is place_YXD


def test_learnt_positions_begin_as_far_apart_as_is_said() -> None:
    for deviation in (0.02, 1.0):
        places = small_vit(position_deviation=deviation, width=192).positions.place_YXD
        assert places.std().item() == pytest.approx(deviation, rel=0.1)


def test_what_stands_before_a_grid_keeps_its_positions() -> None:
    positions = GridPositions(4, 3, width=5, before=2)
    same_PD, other_PD = positions(4, 3), positions(6, 6)
    assert (same_PD.shape, other_PD.shape) == ((14, 5), (38, 5))
    assert torch.equal(same_PD[:2], other_PD[:2])
    assert torch.equal(same_PD[2 + 3 + 1], positions.place_YXD[1, 1])  # row by row


def test_sinusoids_say_the_row_and_the_column_and_no_grid_is_the_largest() -> None:
    positions, width = SinusoidalGrid(width=8, before=1), 4
    place_YXD = positions(3, 5)[1:].view(3, 5, 8)
    for unit in range(width):
        rate = 10000 ** (-2 * (unit // 2) / width)
        wave = math.cos if unit % 2 else math.sin
        assert place_YXD[2, 4, unit].item() == pytest.approx(wave(2 * rate), abs=1e-6)
        assert place_YXD[2, 4, width + unit].item() == pytest.approx(wave(4 * rate), abs=1e-6)
    assert not positions(3, 5)[0].any()
    assert torch.equal(positions(9, 9)[1:].view(9, 9, 8)[:3, :5], place_YXD)


# ----------------------------------------------------------------------------------------------------------- ViT


@torch.no_grad()
def test_a_vit_is_torchs_own_encoder_over_patches() -> None:
    body, x_BCYX = small_vit(dropout=0.0), drawn(2, 2, 6, 9)
    layer = nn.TransformerEncoderLayer(
        12, 3, 48, dropout=0.0, activation="gelu", layer_norm_eps=1e-6, batch_first=True, norm_first=True
    )
    first_B1D = body.class_ND.expand(2, -1, -1)
    wanted_BPD = torch.cat((first_B1D, body.patches(x_BCYX)), dim=1) + body.positions(2, 3)
    for block in body.blocks:
        attention, fed = block.attention, block.feed_forward
        layer.self_attn.in_proj_weight.copy_(torch.cat((attention.query.weight, attention.key_value.weight)))
        layer.self_attn.in_proj_bias.copy_(torch.cat((attention.query.bias, attention.key_value.bias)))
        for ours, theirs in (
            (attention.output, layer.self_attn.out_proj),
            (fed.widen, layer.linear1),
            (fed.narrow, layer.linear2),
            (block.around_attention.norm, layer.norm1),
            (block.around_feed_forward.norm, layer.norm2),
        ):
            theirs.load_state_dict(ours.state_dict())
        wanted_BPD = layer.train()(wanted_BPD)  # in use torch takes another path
    torch.testing.assert_close(body(x_BCYX), body.norm(wanted_BPD), atol=1e-5, rtol=0)


@torch.no_grad()
def test_registers_stand_behind_the_class_token_without_a_place() -> None:
    body, x_BCYX = small_vit(registers=2), drawn(2, 2, 6, 9)
    with listen(body) as heard:
        h_BPD = body(x_BCYX)
    (embedded_BPD,) = heard["embedded"]
    assert h_BPD.shape == embedded_BPD.shape == (2, 1 + 2 + 6, 12)
    assert torch.equal(embedded_BPD[0, 1:3], body.register_ND)
    assert torch.equal(embedded_BPD[0, 0], (body.class_ND + body.positions.before_ND)[0])


@torch.no_grad()
def test_what_stands_for_an_image() -> None:
    h_BPD, real_B1 = drawn(2, 2 + 3 + 6, 12), torch.ones(2, 1, dtype=torch.bool)
    seen = {
        name: small_vit(pooling=name, class_tokens=2, registers=3).pool()
        for name in ("class", "patches", "class-and-patches", "class-tokens")
    }
    mean_BD = h_BPD[:, 5:].mean(1)
    wanted = {
        "class": h_BPD[:, 0],
        "patches": mean_BD,
        "class-and-patches": torch.cat((h_BPD[:, 0], mean_BD), dim=1),
        "class-tokens": torch.cat((h_BPD[:, 0], h_BPD[:, 1]), dim=1),
    }
    for name, pool in seen.items():
        assert torch.equal(pool(h_BPD, real_B1), wanted[name])
        assert wanted[name].shape[1] == 12 * pool.vectors


@torch.no_grad()
def test_a_vit_reads_images_of_another_size() -> None:
    body = small_vit()
    assert body(drawn(1, 2, 12, 6)).shape == (1, 1 + 4 * 2, 12)


@torch.no_grad()
def test_every_head_can_be_heard_over_the_patches() -> None:
    body = small_vit()
    with listen(body) as heard:
        body(drawn(2, 2, 6, 9))
    ((view, names),) = views(body).items()
    assert (view.rows, view.columns) == ("patches", "patches")
    assert [heard[name][0].shape for name in names] == [(2, 3, 7, 7)] * 2


def test_a_scale_and_stochastic_depth_stand_around_a_sublayer() -> None:
    x_BTD, change_BTD = drawn(1000, 3, 5), drawn(1000, 3, 5, seed=2)
    scale, depth = LayerScale(0.1, width=5), StochasticDepth(0.3)
    around = PreNormThrough(nn.Sequential(scale, depth), width=5)
    nn.init.normal_(scale.scale_D)
    used_BTD = change_BTD * scale.scale_D
    torch.testing.assert_close(around.eval().after(x_BTD, change_BTD), x_BTD + used_BTD)
    torch.testing.assert_close(around.before(x_BTD), F.layer_norm(x_BTD, (5,)))
    torch.manual_seed(1)
    drawn_BTD = around.train().after(x_BTD, change_BTD) - x_BTD
    stays_B = drawn_BTD.abs().flatten(1).amax(1) > 0
    assert stays_B.float().mean().item() == pytest.approx(0.7, abs=0.05)
    torch.testing.assert_close(drawn_BTD[stays_B], used_BTD[stays_B] / 0.7, atol=1e-5, rtol=1e-4)


def test_stochastic_depth_rises_with_the_blocks() -> None:
    body = small_vit(layers=5, stochastic_depth=0.2)
    shares = [each.share for each in body.modules() if isinstance(each, StochasticDepth)]
    assert shares == pytest.approx([0.05, 0.05, 0.1, 0.1, 0.15, 0.15, 0.2, 0.2])


# --------------------------------------------------------------------------------------------------- CNN, ResNet


@torch.no_grad()
def test_a_group_is_normalised_within_each_image() -> None:
    norm, x_BCYX = normalisation("group", 12), drawn(2, 12, 5, 7)
    groups_BGCYX = x_BCYX.view(2, 3, 4, 5, 7)
    mean = groups_BGCYX.mean((2, 3, 4), keepdim=True)
    deviation = (groups_BGCYX.var((2, 3, 4), correction=0, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(norm(x_BCYX), ((groups_BGCYX - mean) / deviation).view_as(x_BCYX), atol=1e-5, rtol=0)
    groups = {channels: normalisation("group", channels).num_groups for channels in (1, 3, 7, 16, 64, 96, 512)}
    assert groups == {1: 1, 3: 1, 7: 1, 16: 4, 64: 16, 96: 24, 512: 32}


@torch.no_grad()
def test_a_cnn_is_convolutions_and_the_largest_of_four() -> None:
    torch.manual_seed(1)
    body: Any = CNNSettings(width=4, stages=2, convolutions=1, kernel=5).body(channels=3, rows=7, columns=10).eval()
    x_BCYX = drawn(2, 3, 7, 10)
    first, second = (stage.convolutions[0] for stage in body.stages)
    y_BCYX = F.conv2d(x_BCYX, first.filters.weight, padding=2)
    y_BCYX = F.group_norm(y_BCYX, 1, first.norm.weight, first.norm.bias).relu()
    y_BCYX = F.max_pool2d(F.pad(y_BCYX, (0, 0, 0, 1)), 2)  # an odd row is kept; after ReLU zeros do not matter
    y_BCYX = F.conv2d(y_BCYX, second.filters.weight, padding=2)
    y_BCYX = F.group_norm(y_BCYX, 2, second.norm.weight, second.norm.bias).relu()
    h_BPD = body(x_BCYX)
    torch.testing.assert_close(h_BPD, y_BCYX.permute(0, 2, 3, 1).reshape(2, 4 * 5, 8), atol=1e-5, rtol=0)
    assert body.width == 8


def test_a_single_pixel_passes_every_stage() -> None:
    assert CNNSettings(width=4, stages=5).body(channels=1, rows=1, columns=1)(drawn(2, 1, 1, 1)).shape == (2, 1, 64)
    assert resnet(layers=18).body(channels=1, rows=1, columns=1)(drawn(2, 1, 1, 1)).shape == (2, 1, 512)


@torch.no_grad()
def test_of_shortcut_a_every_second_pixel_is_kept_and_new_channels_are_zero() -> None:
    torch.manual_seed(1)
    body: Any = resnet(layers=20).body(channels=3, rows=8, columns=8).eval()
    x_BCYX = drawn(2, 16, 5, 8).relu()
    block = body.blocks[3]
    assert (block.stride, block.new, block.shortcut) == (2, 16, None)
    nn.init.zeros_(block.second.norm.weight)  # of the block only what leads around it is left
    y_BCYX = block(x_BCYX)
    assert torch.equal(y_BCYX[:, :16], x_BCYX[:, :, ::2, ::2])
    assert not y_BCYX[:, 16:].any()


@torch.no_grad()
def test_resnet_18_is_that_of_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.ResNetConfig(
        num_channels=3, embedding_size=64, hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2], layer_type="basic"
    )
    torch.manual_seed(1)
    theirs = transformers.ResNetModel(config)
    ours: Any = resnet(layers=18, norm="batch").body(channels=3, rows=37, columns=45)
    copied(theirs.embedder.embedder, ours.stem)
    layers = [layer for stage in theirs.encoder.stages for layer in stage.layers]
    for layer, block in zip(layers, ours.blocks, strict=True):
        copied(layer.layer[0], block.first)
        copied(layer.layer[1], block.second)
        assert isinstance(layer.shortcut, nn.Identity) == (block.shortcut is None)
        if block.shortcut is not None:
            copied(layer.shortcut, block.shortcut)
    x_BCYX = drawn(3, 3, 37, 45)
    for mode in (True, False):  # the first pass teaches the norms what they use in the second
        wanted_BDYX = theirs.train(mode)(x_BCYX).last_hidden_state
        h_BPD = ours.train(mode)(x_BCYX)
        torch.testing.assert_close(h_BPD, wanted_BDYX.flatten(2).transpose(1, 2), atol=1e-4, rtol=1e-4)
    theirs, ours = theirs.double(), ours.double()
    for size in (1, 3, 17):
        x_BCYX = drawn(size, 3, 37, 45).double()
        wanted_BDYX = theirs(x_BCYX).last_hidden_state
        torch.testing.assert_close(ours(x_BCYX), wanted_BDYX.flatten(2).transpose(1, 2), atol=1e-10, rtol=0)


def copied(theirs: Any, ours: NormalisedConvolution) -> None:
    ours.filters.load_state_dict(theirs.convolution.state_dict())
    ours.norm.load_state_dict(theirs.normalization.state_dict())
