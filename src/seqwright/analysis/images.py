"""What happens inside a model while it reads an image: where it looks, what its label hangs on, what it looks for.

B batch · C channels · Y rows of pixels · X columns · P rows of a grid of places · Q its columns · T vectors, those
before the patches first · L layers · H heads · D width
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.devices import device_of
from seqwright.errors import DataError, RunError, SettingError, instead
from seqwright.inputs import Given
from seqwright.inputs.image import ImageInput
from seqwright.layers.embeddings import body_of
from seqwright.layers.patches import PatchEmbedding
from seqwright.layers.taps import listen
from seqwright.models.vit import ViT
from seqwright.pictures import Array
from seqwright.pictures.image_maps import ImageAttention, ImageSaliency, PlaceSimilarity, SeenImage
from seqwright.runs import Run, data_of

MOST_IMAGES = 6  # of the validation part, each of another label
MOST_LAYERS = 11  # of which similarities are shown
COMPONENTS = 30  # of a patch embedding that are shown, and filters
SIGHTS = ("attention", "rollout", "similarity", "saliency", "positions", "filters")
OF_WEIGHTS = ("positions", "filters")  # for which no image is read


def labels_images(run: Run) -> bool:
    """Whether a run reads images, and writes nothing about them."""
    return isinstance(run.input, ImageInput) and not run.output.decodes


def attends_patches(run: Run) -> bool:
    """Whether its model looks from patch to patch: a ViT."""
    return isinstance(body_of(run.model), ViT)


def images_of(run: Run, given: Any) -> list[Any]:
    """One image or a list of them, as a user gives them; left out, the first of each label that it was validated on."""
    if given is not None:
        several = given if isinstance(given, list) else [given]
        if not several:
            raise DataError("there is nothing to look at: give an image")
        return [run.input.parse(each) for each in several]
    found: dict[str, Any] = {}
    most = min(MOST_IMAGES, len(run.output.labels))
    for number, example in enumerate(data_of(run.recipe).examples("valid")):
        if example.label and example.label not in found and not run.input.blank_remarks(Given([example]), number):
            found[example.label] = example
        if len(found) == most:
            break
    return [found[label] for label in sorted(found)]


# ------------------------------------------------------------------------------------------------ what was read


def _read(run: Run, example: Any) -> tuple[Any, Any]:
    """A batch of one image, and its pixels as the model reads them."""
    rows = run.input.encode(Given([example]))
    taken = rows.take(np.arange(1), None)
    batch = run.output.collate(run.input.stack(taken), None).to(device_of(run.model))
    return batch, taken[0]


def _seen(run: Run, example: Any, pixels_YXC: Any, logits_BC: Tensor, cell: tuple[float, float]) -> SeenImage:
    p_C = logits_BC[0].double().softmax(-1)
    best = int(p_C.argmax())
    return SeenImage(example.name, pixels_YXC, run.output.labels[best], float(p_C[best]), example.label, cell)


def _vit(run: Run, sight: str) -> ViT:
    body = body_of(run.model)
    if not isinstance(body, ViT):
        raise RunError(
            f"{run.folder} has a model of kind '{run.recipe.model.kind}', which has no {sight}: a ViT has; see the "
            "pixels that its label hangs on (saliency), or its filters"
        )
    return body


# ---------------------------------------------------------------------------------------------------- attention


@torch.inference_mode()
def image_attention(run: Run, example: Any) -> ImageAttention:
    """The attention of every head, from the class token or in the mean of the patches, and its rollout."""
    body = _vit(run, "attention")
    batch, pixels_YXC = _read(run, example)
    with listen(run.model) as heard:
        logits_BC, _ = run.model.eval()(batch, None)
    every_LHTT = torch.stack([calls[0][0] for name, calls in heard.items() if name.endswith("attention.weights")])
    before, grid = _before(body), body.patches.grid(*batch.input.shape[2:])
    pooled = body.settings.pooling if body.settings.class_tokens else "patches"
    by_class = pooled != "patches"

    def over_patches(weights: Tensor) -> Array:
        """What is read of each patch by what the label is found from."""
        read = weights[..., 0, before:] if by_class else weights[..., before:, before:].mean(-2)
        found: Array = read.reshape(*read.shape[:-1], *grid).float().cpu().numpy()
        return found

    rolled_TT, side = rollout(every_LHTT), float(body.patches.size)
    return ImageAttention(
        _seen(run, example, pixels_YXC, logits_BC, (side, side)),
        "the class token" if by_class else "the mean of the patches",
        over_patches(every_LHTT),
        over_patches(rolled_TT),
        every_LHTT.float().cpu().numpy(),
        rolled_TT.float().cpu().numpy(),
    )


def rollout(weight_LHTS: Tensor) -> Tensor:
    """`share_TS`: how much of each input reaches each vector of the last layer (Abnar & Zuidema 2020, section 3).

        R_l = A_l R_{l-1}        A_l = ½ mean over heads of W_l + ½ I        R_0 = I

    The identity stands for what flows around the attention. Rows of W sum to 1, and so do those of R.
    """
    share_TS = torch.eye(weight_LHTS.shape[-1], dtype=weight_LHTS.dtype, device=weight_LHTS.device)
    for weight_HTS in weight_LHTS:
        share_TS = 0.5 * (weight_HTS.mean(0) @ share_TS + share_TS)
    return share_TS


def names_before(run: Run) -> tuple[str, ...]:
    """What the vectors are called that stand before the patches."""
    settings = _vit(run, "attention").settings
    tokens = ("class token", "distillation token")[: settings.class_tokens]
    return (*tokens, *(f"register {number}" for number in range(1, settings.registers + 1)))


def _before(body: ViT) -> int:
    """How many vectors stand before the patches."""
    return body.settings.class_tokens + body.settings.registers


# --------------------------------------------------------------------------------------------------- similarity


@torch.inference_mode()
def place_similarity(run: Run, example: Any, place: tuple[int, int]) -> PlaceSimilarity:
    """The cosine of one place's vector with those of all others, in the embeddings and after each layer."""
    batch, pixels_YXC = _read(run, example)
    with listen(run.model) as heard:
        logits_BC, _ = run.model.eval()(batch, None)
    maps = _maps(run, batch, heard)
    first = next(iter(maps.values()))
    rows, columns = first.shape[:2]
    if not (0 <= place[0] < rows and 0 <= place[1] < columns):
        raise SettingError(
            f"there is no place of row {place[0] + 1} and column {place[1] + 1}: {run.folder} sees {rows} rows and "
            f"{columns} columns of places"
        )
    cosines = [_cosines(map_PQD, place, (rows, columns)) for map_PQD in maps.values()]
    high, wide = pixels_YXC.shape[:2]
    body = body_of(run.model)
    cell = (body.patches.size, body.patches.size) if isinstance(body, ViT) else (high / rows, wide / columns)
    return PlaceSimilarity(_seen(run, example, pixels_YXC, logits_BC, cell), place, tuple(maps), cosines)


def _maps(run: Run, batch: Any, heard: Mapping[str, Sequence[Tensor]]) -> dict[str, Tensor]:
    """`map_PQD`: a vector for each place, after each layer or after some of many."""
    body = body_of(run.model)
    streams = [calls[0][0] for name, calls in heard.items() if name.endswith("stream")]
    if isinstance(body, ViT):
        grid = body.patches.grid(*batch.input.shape[2:])
        vectors = {"embedding": next(calls[0][0] for name, calls in heard.items() if name.endswith("embedded"))}
        vectors |= {f"layer {number}": each for number, each in enumerate(streams, start=1)}
        found = {name: vector_TD[_before(body) :].view(*grid, -1) for name, vector_TD in vectors.items()}
    else:
        noun = "stage" if any(".stages." in name for name in heard) else "block"
        found = {f"{noun} {number}": each.permute(1, 2, 0) for number, each in enumerate(streams, start=1)}
    kept = np.unique(np.linspace(0, len(found) - 1, min(len(found), MOST_LAYERS)).round().astype(int)).tolist()
    names = list(found)
    return {names[number]: found[names[number]] for number in kept}


def _cosines(map_PQD: Tensor, place: tuple[int, int], finest: tuple[int, int]) -> Array:
    unit_PQD = F.normalize(map_PQD.double(), dim=-1)
    row, column = (place[axis] * map_PQD.shape[axis] // finest[axis] for axis in (0, 1))
    cosine_PQ: Array = (unit_PQD @ unit_PQD[row, column]).cpu().numpy()
    return cosine_PQ


# --------------------------------------------------------------------------------------------------- saliency


def pixel_saliency(run: Run, example: Any) -> ImageSaliency:
    """The pixels that the predicted label hangs on: |∂ log p / ∂x| (Simonyan et al. 2014, section 3)."""
    batch, pixels_YXC = _read(run, example)
    x_BCYX = batch.input_B.clone().requires_grad_()
    with torch.enable_grad():
        logits_BC, _ = run.model.eval()(replace(batch, input_B=x_BCYX), None)
        logp_BC = logits_BC.log_softmax(-1)
        (gradient_BCYX,) = torch.autograd.grad(logp_BC[0, int(logits_BC[0].argmax())], x_BCYX)
    saliency_YX: Array = gradient_BCYX[0].abs().amax(0).double().cpu().numpy()
    seen = _seen(run, example, pixels_YXC, logits_BC.detach(), (1.0, 1.0))
    return ImageSaliency(seen, saliency_YX / (saliency_YX.sum() or 1.0))


# ---------------------------------------------------------------------------------------------------- weights


@torch.inference_mode()
def position_similarity(run: Run) -> Array:
    """`cosine_PQPQ`: how alike the positions of every two places are."""
    body, frame = _vit(run, "positions"), run.input.frame
    grid = body.patches.grid(frame.rows, frame.columns)
    position_PD: Tensor = body.positions(*grid)[body.settings.class_tokens :]
    unit_PD = F.normalize(position_PD.double(), dim=-1)
    cosine_PQPQ: Array = (unit_PD @ unit_PD.T).view(*grid, *grid).cpu().numpy()
    return cosine_PQPQ


@torch.inference_mode()
def first_filters(run: Run) -> tuple[Array, str]:
    """`filter_NYXC`: what the first layer looks for, and what they are in words.

    Of a patch embedding its principal components over the units (Dosovitskiy et al. 2021, figure 7, left); of a
    convolution its filters, the strongest first.
    """
    body: nn.Module = body_of(run.model)
    first = next((each for each in body.modules() if isinstance(each, PatchEmbedding | nn.Conv2d)), None)
    if first is None:
        raise RunError(f"{run.folder} has a model of kind '{run.recipe.model.kind}', without filters")
    if isinstance(first, PatchEmbedding):
        filter_DCYX = first.filters().double()
        _, size_N, unit_NF = torch.linalg.svd(filter_DCYX.flatten(1), full_matrices=False)
        share = float((size_N[:COMPONENTS] ** 2).sum() / (size_N**2).sum())
        count = min(COMPONENTS, len(unit_NF))
        told = f"{count} principal components of {len(filter_DCYX)} patch filters: {100 * share:.0f} % of their squares"
        return _as_images(unit_NF[:count].view(count, *filter_DCYX.shape[1:])), told
    filter_DCYX = first.weight.double()
    order_D = filter_DCYX.flatten(1).norm(dim=1).argsort(descending=True)[: 2 * COMPONENTS]
    told = f"{len(order_D)} of the {len(filter_DCYX)} filters of the first convolution, the strongest first"
    return _as_images(filter_DCYX[order_D]), told


def _as_images(filter_NCYX: Tensor) -> Array:
    filter_NYXC: Array = filter_NCYX.permute(0, 2, 3, 1).cpu().numpy()
    return filter_NYXC


def image_sight(run: Run, sight: str | None) -> str:
    """What is looked at: what is asked for, or attention where there is some, else what the label hangs on."""
    found = sight or ("attention" if attends_patches(run) else "saliency")
    if found not in SIGHTS:
        raise SettingError(f"there is no '{found}' to look at{instead(found, SIGHTS)}")
    return found
