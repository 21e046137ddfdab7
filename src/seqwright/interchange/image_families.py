"""ViT and its children there: DeiT, DINO (which is a ViT), DINOv2 with registers and without.

Names of tensors are those of `transformers`. Ours are flat: a patch's filter is a row, class tokens and positions have
no axis for the batch; `flat` and `unflat` lead from one form to the other. What is `FIXED` is not a setting here.

N vectors before the patches · D width
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from seqwright.interchange.names import TensorNames, TensorRow, layer, single

Rows = tuple[TensorRow, ...]
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # mean and deviation of red, green and blue
HALF = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
BEFORE, PLACES = ".before", ".places"  # the two parts of the positions
TEACHER = ("cls_classifier", "distillation_classifier")


class ImageFamily(NamedTuple):
    """A kind of model, there."""

    model_type: str
    stem: str  # of the names of its classes
    body: Rows
    tokens: tuple[str, ...]  # the class tokens
    settings: Mapping[str, str]  # ours → theirs
    architectures: Mapping[str, str]  # pooling → the class that pools so
    colours: tuple[tuple[float, ...], tuple[float, ...]]  # mean and deviation where no file says them
    registers: bool = False
    scales: bool = False  # what each sublayer says

    @property
    def prefix(self) -> str:
        """Of the tensors of the body, where it has a head."""
        return f"{self.model_type}."

    @property
    def bare(self) -> str:
        """How a body without a head is called there."""
        return f"{self.stem}Model"

    @property
    def positions(self) -> str:
        """The tensor of the positions."""
        return f"{self.prefix}embeddings.position_embeddings"

    @property
    def filters(self) -> str:
        """The tensor of the patches' filters."""
        return f"{self.prefix}embeddings.patch_embeddings.projection.weight"

    @property
    def names(self) -> TensorNames:
        """The tensors of the body and the classifier."""
        return TensorNames(self.body + layer("head.output", "classifier"))

    def flat(self, theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Their tensors in our form, still by their names; two classifiers whose mean decides are one over both."""
        found = dict(theirs)
        for name, tensor in theirs.items():
            if name == self.filters:
                found[name] = tensor.flatten(1)
            elif name.startswith(f"{self.prefix}embeddings.") and tensor.dim() == 3:
                found[name] = tensor.squeeze(0)
        position_PD, before = found.pop(self.positions), len(self.tokens)
        side = round((len(position_PD) - before) ** 0.5)
        found[self.positions + BEFORE] = position_PD[:before]
        found[self.positions + PLACES] = position_PD[before:].view(side, side, -1)
        if all(f"{name}.{part}" in found for name in TEACHER for part in ("weight", "bias")):
            weights, biases = ([found.pop(f"{name}.{part}") for name in TEACHER] for part in ("weight", "bias"))
            found |= {"classifier.weight": torch.cat(weights, dim=1) / 2, "classifier.bias": sum(biases) / 2}  # type: ignore[dict-item]
        return found

    def unflat(self, flat: Mapping[str, Tensor], *, patch: int, pooling: str) -> dict[str, Tensor]:
        """The same the other way."""
        found = dict(flat)
        before_ND, place_YXD = found.pop(self.positions + BEFORE), found.pop(self.positions + PLACES)
        found[self.positions] = torch.cat((before_ND, place_YXD.flatten(0, 1)))
        for name, tensor in list(found.items()):
            if name == self.filters:
                found[name] = tensor.view(len(tensor), -1, patch, patch)
            elif name.startswith(f"{self.prefix}embeddings.") and tensor.dim() == 2:
                found[name] = tensor.unsqueeze(0)
        if pooling == "class-tokens":
            weight, bias = found.pop("classifier.weight"), found.pop("classifier.bias")
            for name, part in zip(TEACHER, weight.chunk(2, dim=1), strict=True):
                found |= {f"{name}.weight": (2 * part).contiguous(), f"{name}.bias": bias.clone()}
        return found


SETTINGS = {
    "width": "hidden_size",
    "heads": "num_attention_heads",
    "layers": "num_hidden_layers",
    "patch": "patch_size",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "epsilon": "layer_norm_eps",
}
FIXED: dict[str, tuple[Any, ...]] = {
    "hidden_act": ("gelu",),
    "qkv_bias": (True,),
    "use_swiglu_ffn": (False,),
}


def _embeddings(prefix: str, tokens: tuple[str, ...], *, registers: bool) -> Rows:
    there = f"{prefix}embeddings."
    return (
        *layer("body.patches.linear", f"{there}patch_embeddings.projection"),
        TensorRow(("body.class_ND",), tuple(f"{there}{token}" for token in tokens)),
        *(single("body.register_ND", f"{there}register_tokens") if registers else ()),
        *single("body.positions.before_ND", f"{there}position_embeddings{BEFORE}"),
        *single("body.positions.place_YXD", f"{there}position_embeddings{PLACES}"),
        *layer("body.norm", f"{prefix}layernorm"),
    )


def _blocks(prefix: str, names: Mapping[str, str]) -> Rows:
    """The tensors of each block; four of them are called otherwise in each family."""
    block, theirs = "body.blocks.{n}", f"{prefix}encoder.layer.{{n}}"
    attention = [f"{block}.attention.{part}" for part in ("query", "key_value")]
    return (
        *layer(attention, [f"{theirs}.attention.attention.{part}" for part in ("query", "key", "value")]),
        *layer(f"{block}.attention.output", f"{theirs}.attention.output.dense"),
        *(row for ours, there in names.items() for row in layer(f"{block}.{ours}", f"{theirs}.{there}")),
    )


def _vit(
    model_type: str,
    stem: str,
    tokens: tuple[str, ...],
    architectures: Mapping[str, str],
    colours: tuple[tuple[float, ...], tuple[float, ...]],
) -> ImageFamily:
    names = {
        "around_attention.norm": "layernorm_before",
        "around_feed_forward.norm": "layernorm_after",
        "feed_forward.widen": "intermediate.dense",
        "feed_forward.narrow": "output.dense",
    }
    prefix = f"{model_type}."
    return ImageFamily(
        model_type=model_type,
        stem=stem,
        body=_embeddings(prefix, tokens, registers=False) + _blocks(prefix, names),
        tokens=tokens,
        settings={**SETTINGS, "feed_forward": "intermediate_size"},
        architectures=architectures,
        colours=colours,
    )


def _dinov2(model_type: str, stem: str, *, registers: bool) -> ImageFamily:
    names = {
        "around_attention.norm": "norm1",
        "around_feed_forward.norm": "norm2",
        "feed_forward.widen": "mlp.fc1",
        "feed_forward.narrow": "mlp.fc2",
    }
    prefix, block = f"{model_type}.", "body.blocks.{n}.around_"
    scales = (
        *single(f"{block}attention.change.scale.scale_D", f"{prefix}encoder.layer.{{n}}.layer_scale1.lambda1"),
        *single(f"{block}feed_forward.change.scale.scale_D", f"{prefix}encoder.layer.{{n}}.layer_scale2.lambda1"),
    )
    own = {"stochastic_depth": "drop_path_rate", "layer_scale": "layerscale_value"}
    return ImageFamily(
        model_type=model_type,
        stem=stem,
        body=_embeddings(prefix, ("cls_token",), registers=registers) + _blocks(prefix, names) + scales,
        tokens=("cls_token",),
        settings={**SETTINGS, **own, **({"registers": "num_register_tokens"} if registers else {})},
        architectures={"class-and-patches": f"{stem}ForImageClassification"},
        colours=IMAGENET,
        registers=registers,
        scales=True,
    )


IMAGE_FAMILIES: dict[str, ImageFamily] = {
    family.model_type: family
    for family in (
        _vit("vit", "ViT", ("cls_token",), {"class": "ViTForImageClassification"}, HALF),
        _vit(
            "deit",
            "DeiT",
            ("cls_token", "distillation_token"),
            {"class": "DeiTForImageClassification", "class-tokens": "DeiTForImageClassificationWithTeacher"},
            IMAGENET,
        ),
        _dinov2("dinov2", "Dinov2", registers=False),
        _dinov2("dinov2_with_registers", "Dinov2WithRegisters", registers=True),
    )
}
