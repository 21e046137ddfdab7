"""A model of images as `transformers` writes it: a folder with config.json, its weights and how images are prepared."""

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from seqwright.data.files import content_hash
from seqwright.errors import DataError, RunError
from seqwright.inputs.image import ImageInput
from seqwright.interchange.configs import architecture_of, in_words, refuse_otherwise, refuse_wrong_numbers
from seqwright.interchange.heads import label_names, numbered
from seqwright.interchange.image_families import FIXED, IMAGE_FAMILIES, ImageFamily
from seqwright.interchange.image_preparing import prepared_as, preparing
from seqwright.interchange.names import TensorNames
from seqwright.interchange.weight_files import read_tensors, weight_files, write_json, write_tensors
from seqwright.kinds import task_between, usual_kind
from seqwright.outputs.label import LabelOutput
from seqwright.tasks.wired import Wires
from seqwright.whole_file import folder_whole

CONFIG = "config.json"
NEEDED = ("width", "heads", "layers", "patch")
SHARES = {"dropout", "attention_dropout", "epsilon", "stochastic_depth"}  # of our settings; the others are sizes
IDLE = ("pooler.dense.weight", "pooler.dense.bias", "embeddings.mask_token")  # which no model of ours has


class PretrainedImages(NamedTuple):
    """What was read from a folder: our settings of the model, its tensors by their names there, how images are read."""

    names: TensorNames
    settings: dict[str, Any]
    labels: list[str]
    tensors: dict[str, Tensor]
    read: ImageInput
    loaded: int  # tensors
    notes: list[str]  # what a user should know
    files: list[Path]
    pairs: bool = False
    reads_pairs: bool = False

    @property
    def task(self) -> str:
        """What the model is for."""
        return task_between(ImageInput, LabelOutput)

    @property
    def told(self) -> str:
        """Its size beside its parameters."""
        frame = self.read.frame
        return f"{self.loaded:,} tensors loaded, images of {frame.rows} × {frame.columns}, {len(self.labels):,} labels"

    def recipe(self, name: str) -> dict[str, Any]:
        """A recipe in plain values; `name` is that of the file or folder."""
        return {
            "description": f"a {self.settings['kind']} that came from {name}",
            "task": self.task,
            "data": {"imported": name, "sha256": content_hash(self.files[0])},
            "input": {"size": self.read.frame.rows},
            "model": self.settings,
            "objective": {"kind": usual_kind("objective", self.task)},
        }

    def inputs(self, settings: Any) -> Wires:
        """What a run has to read and to predict; how many training images had each label is not known."""
        return Wires(self.read, LabelOutput(dict.fromkeys(self.labels, 0)))

    def remarks(self) -> list[str]:
        """What a user should know of what was read."""
        return self.notes


def read_images_model(path: Path, config: Mapping[str, Any]) -> PretrainedImages:
    """A folder whose config.json names one of these families, or the safetensors file in it."""
    folder = path if path.is_dir() else path.parent
    where, family = folder / CONFIG, IMAGE_FAMILIES[config["model_type"]]
    pooling = _pooling(config, family, where)
    refuse_otherwise(config, FIXED, where)
    files = weight_files(folder) if path.is_dir() else [path]
    tensors, notes = _with_prefix(read_tensors(files), family), list[str]()
    settings = _settings(config, family, tensors, where)
    if idle := [f"{family.prefix}{name}" for name in IDLE if f"{family.prefix}{name}" in tensors]:
        notes.append(f"left out, since nothing reads them here: {', '.join(idle)}")
    used = {name: tensor for name, tensor in tensors.items() if name not in idle}
    tensors = family.flat(used)
    if pooling is None:
        pooling = next(iter(family.architectures))
        labels, wide = ["LABEL_0"], settings["width"] * (1 + (pooling == "class-and-patches"))
        tensors |= {"classifier.weight": torch.zeros(1, wide), "classifier.bias": torch.zeros(1)}
        notes.append(
            "new, since there is no classifier: head.output, all zeros, with one label; the run is a body to embed "
            "images with, or to train on (model.weights)"
        )
    else:
        labels = label_names(_told_apart(config, notes), tensors, family.names.rows, where)
    read, side = preparing(folder, config, family.colours, notes), config["image_size"]
    if read.frame.rows != side:
        settings["grid"] = side // settings["patch"]
        here = -(-read.frame.rows // settings["patch"])
        there = ", and there also smoothed" if family.registers else ""
        grid = settings["grid"]
        notes.append(f"resampled in use: positions from {grid} × {grid} to {here} × {here}{there}")
    return PretrainedImages(
        names=family.names,
        settings={"kind": "vit", "class_tokens": len(family.tokens), "pooling": pooling, **settings},
        labels=labels,
        tensors=tensors,
        read=read,
        loaded=len(used),
        notes=notes,
        files=files,
    )


def _pooling(config: Mapping[str, Any], family: ImageFamily, where: Path) -> str | None:
    """What a class pools that has a classifier; None for a bare body."""
    architecture = architecture_of(config, where)
    if architecture in {None, family.bare}:
        return None
    for pooling, name in family.architectures.items():
        if architecture == name:
            return pooling
    known = in_words([family.bare, *family.architectures.values()])
    raise DataError(f"{where} is of the architecture {architecture}; those that can be imported are {known}")


def _settings(
    config: Mapping[str, Any], family: ImageFamily, tensors: Mapping[str, Tensor], where: Path
) -> dict[str, Any]:
    """Our settings of the body; each number is checked before anything is built by it."""
    named = {ours: config[theirs] for ours, theirs in family.settings.items() if config.get(theirs) is not None}
    missing = [family.settings[name] for name in NEEDED if name not in named]
    missing += [key for key in ("image_size", "num_channels") if config.get(key) is None]
    missing += [name for name in (family.positions, family.filters) if name not in tensors]
    if missing:
        raise DataError(f"{where.parent} lacks {', '.join(missing)}: get it again")
    shares = {theirs for ours, theirs in family.settings.items() if ours in SHARES}
    sizes = {*family.settings.values(), "num_channels"} - shares - {"layerscale_value"}
    refuse_wrong_numbers(config, tensors, where, sizes=sizes, shares=shares, layers="num_hidden_layers")
    patch, side, channels = config["patch_size"], config["image_size"], config["num_channels"]
    filters, positions = tensors[family.filters], tensors[family.positions]
    places = positions.shape[1] - len(family.tokens) if positions.dim() == 3 else -1
    if not isinstance(side, int) or patch < 1 or side % patch or (side // patch) ** 2 != places:
        raise DataError(
            f"{where} has image_size = {side!r:.60} and patch_size = {patch!r:.60}, and the weights positions of "
            f"{max(places, 0):,} patches; only square images that patches tile, with a position for each, can be "
            "imported"
        )
    if filters.shape[1:] != (channels, patch, patch) or channels not in {1, 3}:
        raise DataError(
            f"{where} has num_channels = {channels} and patch_size = {patch}, and the weights filters of "
            f"{tuple(filters.shape[1:])}; only gray or coloured images, as their filters are, can be imported"
        )
    if family.scales:
        ratio, scale = config.get("mlp_ratio", 4), config.get("layerscale_value", 1.0)
        widest = max(max(tensor.shape, default=0) for tensor in tensors.values())
        right = all(isinstance(each, int | float) and 0 < each < math.inf for each in (ratio, scale))
        if not right or named["width"] * ratio > widest:
            raise DataError(
                f"{where} has mlp_ratio = {ratio!r:.60} and layerscale_value = {scale!r:.60}, expected numbers above 0 "
                "that fit the weights: get both from the same place"
            )
        named |= {"feed_forward": int(named["width"] * ratio), "layer_scale": scale}
    return named


def _told_apart(config: Mapping[str, Any], notes: list[str]) -> Mapping[str, Any]:
    """The config with another name for each label that has that of one before: ImageNet has two kinds of crane."""
    named = config.get("id2label")
    if not isinstance(named, dict):
        return config
    counts = Counter(map(str, named.values()))
    twice = {number: f"{name} ({number})" for number, name in named.items() if counts[str(name)] > 1}
    if not twice:
        return config
    notes.append(f"labels of one name are told apart by their numbers: {', '.join(list(twice.values())[:4])}")
    return {**config, "id2label": {**named, **twice}}


def _with_prefix(tensors: dict[str, Tensor], family: ImageFamily) -> dict[str, Tensor]:
    """A bare body is saved without the prefix that it has under a head."""
    if any(name.startswith(family.prefix) for name in tensors):
        return tensors
    return {family.prefix + name: tensor for name, tensor in tensors.items()}


# ------------------------------------------------------------------------------------------------------- writing


def write_images_model(folder: Path, settings: Mapping[str, Any], tensors: Mapping[str, Tensor], wires: Wires) -> str:
    """Write a folder that `transformers` loads; the name of the class that it is there."""
    read: ImageInput = wires.input
    family = _family(settings)
    _refuse_without_equal(settings, family, read)
    flat = family.names.theirs(tensors)
    theirs = family.unflat(flat, patch=settings["patch"], pooling=settings["pooling"])
    architecture = family.architectures[settings["pooling"]]
    grid = math.isqrt(theirs[family.positions].shape[1] - len(family.tokens))
    config = {theirs: settings[ours] for ours, theirs in family.settings.items()}
    config |= {key: allowed[0] for key, allowed in FIXED.items()}
    config |= {"mlp_ratio": settings["feed_forward"] // settings["width"]} if family.scales else {}
    config |= {"use_mask_token": False} if family.scales and not family.registers else {}
    config |= {"architectures": [architecture], "model_type": family.model_type}
    config |= {"image_size": grid * settings["patch"], "num_channels": read.frame.channels}
    with folder_whole(folder) as aside:
        write_tensors(theirs, aside)
        write_json(aside / CONFIG, config | numbered(wires.output.counts))
        prepared_as(read, aside)
    return architecture


def _family(settings: Mapping[str, Any]) -> ImageFamily:
    """That which computes so."""
    if settings["layer_scale"] is not None:
        return IMAGE_FAMILIES["dinov2_with_registers" if settings["registers"] else "dinov2"]
    return IMAGE_FAMILIES["vit" if settings["class_tokens"] == 1 else "deit"]


def _refuse_without_equal(settings: Mapping[str, Any], family: ImageFamily, read: ImageInput) -> None:
    """What `transformers` cannot compute is refused, each thing by its setting."""
    patch, frame = settings["patch"], read.frame
    square, tiled = frame.rows == frame.columns, frame.rows % patch == 0 and frame.columns % patch == 0
    whole = settings["feed_forward"] % settings["width"] == 0 or not family.scales
    checks = {
        f"positions = '{settings['positions']}'": settings["positions"] == "learnt",
        f"class_tokens = {settings['class_tokens']}": settings["class_tokens"] == len(family.tokens),
        f"registers = {settings['registers']}": bool(settings["registers"]) == family.registers,
        f"pooling = '{settings['pooling']}'": settings["pooling"] in family.architectures,
        f"feed_forward = {settings['feed_forward']}": whole,
        f"images of {frame.rows} × {frame.columns}": square,
        f"patch = {patch}, which does not tile the images,": tiled,
    }
    if wrong := [what for what, right in checks.items() if not right]:
        raise RunError(f"a vit with {wrong[0]} has no equal in transformers; nothing was written")
