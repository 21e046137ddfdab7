"""What is seen inside a model of images, against computations by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

import seqwright as sw
from seqwright.analysis.images import (
    first_filters,
    image_attention,
    pixel_saliency,
    place_similarity,
    position_similarity,
    rollout,
)
from seqwright.data.cards import card
from seqwright.errors import RunError, SettingError
from seqwright.layers.patches import patches
from seqwright.runs import Run

FEW = ("training.epochs=", "training.steps=2", "training.threads=1", "training.device=cpu", "training.warmup=0")
VIT = ("model.width=12", "model.heads=3", "model.layers=2", "model.patch=3")  # patches of 3 do not tile 8 × 8 pixels


@pytest.fixture(scope="module")
def digit() -> Any:
    return next(card("digits").open().examples("test"))


@pytest.fixture(scope="module", params=["class", "patches"])
def vit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    pooled = (f"model.pooling={request.param}", "model.class_tokens=1", "model.registers=2")
    folder = tmp_path_factory.mktemp("vit")
    return sw.train("digits-vit", *FEW, *VIT, *pooled, run=folder / "run", quiet=True)


@pytest.fixture(scope="module")
def cnn(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return sw.train("digits-cnn", *FEW, "model.width=4", run=tmp_path_factory.mktemp("cnn") / "run", quiet=True)


def scaled(run: Run, digit: Any) -> Tensor:
    """`x_BCYX`, as the model reads it."""
    pixels_YX = digit.pixels_YXC[:, :, 0].astype(np.float32) / 255
    return torch.from_numpy((pixels_YX - run.input.mean_C[0]) / run.input.deviation_C[0])[None, None].float()


# ------------------------------------------------------------------------------------------------------ rollout


def test_a_rollout_follows_attention_by_hand() -> None:
    """The first of two vectors looks at the second in one head and at itself in the other, then only at itself."""
    looks, stays = [[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]
    share_TS = rollout(torch.tensor([[looks, stays], [stays, stays]]))
    torch.testing.assert_close(share_TS, torch.tensor([[0.75, 0.25], [0.0, 1.0]]))


def test_a_rollout_is_the_product_of_the_layers_in_their_order() -> None:
    draw = torch.Generator().manual_seed(3)
    weight_LHTS = torch.rand(3, 2, 5, 5, generator=draw, dtype=torch.float64)
    weight_LHTS = weight_LHTS / weight_LHTS.sum(-1, keepdim=True)
    wanted = np.eye(5)
    for weight_HTS in weight_LHTS.numpy():
        joined = weight_HTS.mean(0) + np.eye(5)
        wanted = (joined / joined.sum(1, keepdims=True)) @ wanted
    np.testing.assert_allclose(rollout(weight_LHTS).numpy(), wanted)
    np.testing.assert_allclose(rollout(weight_LHTS).sum(1).numpy(), np.ones(5))


# ---------------------------------------------------------------------------------------------------- attention


def test_the_maps_are_what_the_label_is_found_from_reads_of_each_patch(vit: Run, digit: Any) -> None:
    found = image_attention(vit, digit)
    assert found.every_LHTT.shape == (2, 3, 12, 12)  # a class token, two registers, nine patches
    np.testing.assert_allclose(found.every_LHTT.sum(-1), 1, atol=1e-5)
    rows = found.every_LHTT[:, :, 0] if found.reader == "the class token" else found.every_LHTT[:, :, 3:].mean(2)
    np.testing.assert_allclose(found.weight_LHPQ.reshape(2, 3, 9), rows[..., 3:], atol=1e-6)
    assert found.seen.label == vit(digit).label
    assert found.seen.probability == pytest.approx(vit(digit).probability)
    assert (found.seen.patch, found.seen.target) == ((3.0, 3.0), digit.label)
    np.testing.assert_array_equal(found.seen.pixels_YXC, digit.pixels_YXC)


def test_the_first_layer_attends_as_the_formula_has_it(vit: Run, digit: Any) -> None:
    body: Any = vit.model.body
    block = body.blocks[0]
    with torch.inference_mode():
        e_PD = body.patches(scaled(vit, digit))[0] + body.positions.place_YXD.flatten(0, 1)
        x_TD = torch.cat((body.class_ND + body.positions.before_ND, body.register_ND, e_PD))
        y_TD = F.layer_norm(x_TD, (12,), block.around_attention.norm.weight, block.around_attention.norm.bias, 1e-6)
        q_THK, k_THK = (
            each.view(12, 3, 4) for each in (block.attention.query(y_TD), block.attention.key_value(y_TD)[:, :12])
        )
        weight_HTS = (torch.einsum("thk,shk->hts", q_THK, k_THK) / 2).softmax(-1)
    np.testing.assert_allclose(image_attention(vit, digit).every_LHTT[0], weight_HTS.numpy(), atol=1e-5)


# --------------------------------------------------------------------------------------------- what is alike


def cosine(one: NDArray[Any], other: NDArray[Any]) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def test_places_are_compared_by_the_vectors_after_each_layer(vit: Run, digit: Any) -> None:
    found = place_similarity(vit, digit, (2, 1))
    assert found.layers == ("embedding", "layer 1", "layer 2")
    assert [map_PQ.shape for map_PQ in found.cosine_LPQ] == [(3, 3)] * 3
    assert all(map_PQ[2, 1] == pytest.approx(1) for map_PQ in found.cosine_LPQ)
    body: Any = vit.model.body
    with torch.inference_mode():
        e_PD = (body.patches(scaled(vit, digit))[0] + body.positions.place_YXD.flatten(0, 1)).numpy()
    assert found.cosine_LPQ[0][0, 2] == pytest.approx(cosine(e_PD[2], e_PD[7]), abs=1e-5)


def test_of_a_cnn_maps_become_coarser_and_the_place_goes_along(cnn: Run, digit: Any) -> None:
    found = place_similarity(cnn, digit, (5, 2))
    assert [map_PQ.shape for map_PQ in found.cosine_LPQ] == [(8, 8), (4, 4), (2, 2)]
    assert [
        map_PQ[place] for map_PQ, place in zip(found.cosine_LPQ, [(5, 2), (2, 1), (1, 0)], strict=True)
    ] == pytest.approx([1, 1, 1])
    with pytest.raises(SettingError, match=r"no place of row 9 and column 1: .* sees 8 rows and 8 columns"):
        place_similarity(cnn, digit, (8, 0))


def test_positions_are_compared_by_their_cosine(vit: Run) -> None:
    place_YXD = vit.model.state_dict()["body.positions.place_YXD"].numpy()
    found = position_similarity(vit)
    assert found.shape == (3, 3, 3, 3)
    assert found[0, 2, 1, 0] == pytest.approx(cosine(place_YXD[0, 2], place_YXD[1, 0]), abs=1e-5)


def test_only_a_vit_has_positions_and_attention(cnn: Run, digit: Any) -> None:
    with pytest.raises(RunError, match="kind 'cnn', which has no positions"):
        position_similarity(cnn)
    with pytest.raises(RunError, match="kind 'cnn', which has no attention"):
        image_attention(cnn, digit)


# ------------------------------------------------------------------------------------------ gradients and filters


@pytest.mark.parametrize("kind", ["vit", "cnn"])
def test_saliency_is_the_slope_of_the_log_probability(kind: str, vit: Run, cnn: Run, digit: Any) -> None:
    run = {"vit": vit, "cnn": cnn}[kind]
    model, x_BCYX = run.model.double(), scaled(run, digit).double()

    def logp(x: Tensor) -> Tensor:
        with torch.no_grad():
            batch = run.output.collate({"input_B": x, "real_BT": torch.ones(1, 1, dtype=torch.bool)}, None)
            logits_BC: Tensor = model(batch)[0]
        return logits_BC.log_softmax(-1)[0]

    best = int(logp(x_BCYX).argmax())
    slopes = np.zeros((8, 8))
    for row in range(8):
        for column in range(8):
            step = torch.zeros_like(x_BCYX)
            step[0, 0, row, column] = 1e-5
            slopes[row, column] = abs(float(logp(x_BCYX + step)[best] - logp(x_BCYX - step)[best]))
    model.float()
    np.testing.assert_allclose(pixel_saliency(run, digit).saliency_YX, slopes / slopes.sum(), atol=1e-4)


def test_the_components_of_a_patch_embedding_rebuild_its_filters(vit: Run) -> None:
    found, told = first_filters(vit)
    assert (found.shape, "100 % of their squares" in told) == ((9, 3, 3, 1), True)
    unit_NF = torch.from_numpy(found.reshape(9, 9))
    filter_DF = vit.model.state_dict()["body.patches.linear.weight"].double()
    torch.testing.assert_close(unit_NF @ unit_NF.T, torch.eye(9, dtype=torch.float64), atol=1e-6, rtol=0)
    size_N = (filter_DF @ unit_NF.T).norm(dim=0)
    assert (size_N[:-1] >= size_N[1:] - 1e-6).all()  # the strongest first


def test_a_filter_of_a_patch_answers_what_it_shows(vit: Run) -> None:
    embedding = vit.model.body.patches  # type: ignore[union-attr]
    filter_DCYX = embedding.filters()  # type: ignore[union-attr,operator]
    answer_BPD = embedding(filter_DCYX[4:5]) - embedding.linear.bias  # type: ignore[operator,union-attr]
    assert answer_BPD[0, 0, 4].item() == pytest.approx((patches(filter_DCYX[4:5], 3) ** 2).sum().item(), rel=1e-5)


def test_the_filters_of_a_convolution_stand_in_the_order_of_their_size(cnn: Run) -> None:
    found, told = first_filters(cnn)
    weight_DYX = cnn.model.state_dict()["body.stages.0.convolutions.0.filters.weight"][:, 0].numpy()
    sizes = np.linalg.norm(weight_DYX.reshape(4, 9), axis=1)
    np.testing.assert_allclose(found[:, :, :, 0], weight_DYX[np.argsort(-sizes)])
    assert told.startswith("4 of the 4 filters")


def test_the_folder_of_a_run_is_not_needed_for_what_it_reads(vit: Run, digit: Any, tmp_path: Path) -> None:
    moved = sw.load(vit.folder.rename(tmp_path / "moved"))
    assert moved.look(digit, "rollout").data.found[0].seen.label == vit(digit).label
    moved.folder.rename(vit.folder)
