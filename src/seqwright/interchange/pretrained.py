"""A checkpoint as `transformers` writes it: a folder with config.json, its weights and its tokenizer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seqwright.errors import DataError, RunError
from seqwright.inputs.text import reads_pairs
from seqwright.inputs.tokenizers import ROLES, Tokenizer, tokenizer_of
from seqwright.interchange.configs import architecture_of, in_words, refuse_otherwise, refuse_wrong_numbers
from seqwright.interchange.families import FAMILIES, Family
from seqwright.interchange.heads import Head, Pretrained
from seqwright.interchange.image_families import IMAGE_FAMILIES
from seqwright.interchange.image_models import PretrainedImages, read_images_model, write_images_model
from seqwright.interchange.mean_pooling import TYPE, write_code
from seqwright.interchange.tokenizer_files import read_tokenizer, write_tokenizer
from seqwright.interchange.weight_files import (
    read_json,
    read_tensors,
    refuse_pickle,
    weight_files,
    write_json,
    write_tensors,
)
from seqwright.lineage import MODELS, Model
from seqwright.tasks.wired import Wires
from seqwright.whole_file import folder_whole

CONFIG = "config.json"
IMAGES = "vit"  # the kind of our models of images that are exchanged
NEEDED = ("width", "heads", "layers", "context")
PAIRS = "text_pairs"  # in a config of ours: that what is read are two texts
SHARES = {"dropout", "attention_dropout", "epsilon"}  # of our settings; the others are sizes


Found = Pretrained | PretrainedImages


def read_pretrained(path: Path) -> Found:
    """A folder, or the safetensors file in it."""
    refuse_pickle(path)
    if not path.exists():
        raise DataError(f"there is no {path}; expected a folder with {CONFIG}, model.safetensors and a tokenizer")
    folder = path if path.is_dir() else path.parent
    where = folder / CONFIG
    config = read_json(where)
    if str(config.get("model_type")) in IMAGE_FAMILIES:
        return read_images_model(path, config)
    family, head = _recognised(config, where)
    files = weight_files(folder) if path.is_dir() else [path]
    tensors = _with_prefix(read_tensors(files), family)
    labels = head.labels(config, tensors, where)
    settings = _settings(config, family, head, tensors, where)
    idle = [name for name in tensors if name.startswith(f"{family.prefix}pooler.") and not settings.get("pooler", True)]
    tensors = {name: tensor for name, tensor in tensors.items() if name not in idle}
    tokenizer = read_tokenizer(folder, causal=head.causal)
    if settings.get("head") and tokenizer.mask is None:
        raise DataError(
            f"{folder} finds words that are masked, but its tokenizer has no token for a mask, expected "
            f"{' or '.join(ROLES['mask'])}: copy the tokenizer there that the model came with"
        )
    vectors = _vectors(tensors, family, folder)
    refuse_tokenizer_of_another(tokenizer.size, vectors, folder)
    return Pretrained(
        head=head,
        names=family.names(head),
        settings=settings,
        labels=labels,
        pairs=bool(config.get(PAIRS)),
        first=config.get("bos_token_id"),
        tokenizer=tokenizer.with_special([f"<unused-{number}>" for number in range(tokenizer.size, vectors)]),
        tensors=tensors,
        unused=vectors - tokenizer.size,
        idle=idle,
        files=files,
    )


def _recognised(config: Mapping[str, Any], where: Path) -> tuple[Family, Head]:
    """The family and the head of a model; what it computes otherwise than ours is refused."""
    name = config.get("model_type")
    family = FAMILIES.get(str(name).removeprefix(TYPE))
    if family is None:
        types = ", ".join([*FAMILIES, *IMAGE_FAMILIES])
        raise DataError(f"{where} is of model_type '{name}'; those that can be imported are {types}")
    architecture = architecture_of(config, where)
    head = family.head_of(architecture)
    if head is None:
        known = [family.bare, *(name for head in family.heads for name in head.architectures)]
        names = in_words(known)
        raise DataError(f"{where} is of the architecture {architecture}; those that can be imported are {names}")
    refuse_otherwise(config, family.fixed, where)
    return family, head


def _settings(
    config: Mapping[str, Any], family: Family, head: Head, tensors: Mapping[str, Tensor], where: Path
) -> dict[str, Any]:
    """Our settings of the model; what of it is there at all is told by the tensors."""
    named = {ours: config[theirs] for ours, theirs in family.settings.items() if config.get(theirs) is not None}
    missing = [family.settings[name] for name in NEEDED if name not in named]
    if missing:
        raise DataError(f"{where} lacks {', '.join(missing)}: get it again")
    shares = {theirs for ours, theirs in family.settings.items() if ours in SHARES} | {*family.head_dropouts}
    sizes = {*family.settings.values()} - shares
    refuse_wrong_numbers(config, tensors, where, sizes=sizes, shares=shares, layers=family.settings["layers"])
    if family.kind == "roberta":  # the token of padding also stands in the count of positions
        pad = config.get("pad_token_id", 1)
        if not isinstance(pad, int):
            raise DataError(f"{where} has pad_token_id = {pad!r:.60}, expected the number of a token: get it again")
        named["first_position"] = pad + 1
        named["context"] -= named["first_position"]
    named |= head.settings(tensors)
    if any("body.pooler.weight" in row.ours for row in family.body):  # under many heads it lies idle, and is left out
        pooler = f"{family.prefix}pooler.dense.weight"
        named["pooler"] = pooler in tensors and head.reads_pooler(pooler, tensors)
    if head.drops:
        given = next((config[key] for key in family.head_dropouts if config.get(key) is not None), None)
        named["head_dropout"] = config.get(family.settings["dropout"], 0.1) if given is None else given
    return {"kind": family.kind, **named}


def _with_prefix(tensors: dict[str, Tensor], family: Family) -> dict[str, Tensor]:
    """A bare body is saved without the prefix that it has under a head."""
    if any(name.startswith(family.prefix) for name in tensors):
        return tensors
    heads = {name for head in family.heads for name in head.copies}
    return {name if name in heads else family.prefix + name: tensor for name, tensor in tensors.items()}


def _vectors(tensors: Mapping[str, Tensor], family: Family, folder: Path) -> int:
    """How many tokens the weights have vectors for."""
    name = family.body[0].theirs[0]
    if name not in tensors:
        raise DataError(f"{folder} lacks {name}; such a model cannot be imported")
    return len(tensors[name])


def refuse_tokenizer_of_another(tokens: int, vectors: int, folder: Path) -> None:
    """The weights may have vectors for more than there are tokens, but no model leaves over half of them unused."""
    if not tokens <= vectors <= 2 * tokens:
        raise DataError(
            f"the tokenizer of {folder} has {tokens:,} tokens, but the weights have vectors for {vectors:,}: they "
            "do not belong together; get both from the same place"
        )


def write_pretrained(
    folder: Path,
    row: Model,
    settings: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    wires: Wires,
    *,
    first: int | None = None,
) -> str:
    """Write a folder that `transformers` loads; the name of the class that it is there, and how it is loaded.

    `row` is that of the lineage, `first` the token that stands before a text if it is not `begin`.
    """
    if row.kind == IMAGES:
        return write_images_model(folder, settings, tensors, wires)
    family = next((family for family in FAMILIES.values() if family.kind == row.kind), None)
    like_ours = (row.thing, settings.get("pooling", "first"))
    heads = () if family is None else (head for head in family.heads if (head.model, head.pooling) == like_ours)
    head = next(iter(heads), None)
    if family is None or head is None:
        raise RunError(f"a {row.kind} for {row.task} has no equal in transformers; those that have are {_exported()}")
    tokenizer = tokenizer_of(wires.input)
    pad = tokenizer.pad
    if family.kind == "roberta" and pad is not None and pad + 1 != settings["first_position"]:
        tensors, settings = _counted_from(pad + 1, tensors, settings)
    theirs = family.names(head).theirs(head.scaled(tensors, wires.output))
    architecture = family.bare if settings.get("head") is False else head.architecture(settings)
    if architecture == family.bare:
        theirs = {name.removeprefix(family.prefix): tensor for name, tensor in theirs.items()}
    config: dict[str, Any] = {"architectures": [architecture], "model_type": family.model_type}
    config |= _config(family, settings, tokenizer) | head.label_config(wires.output)
    config |= {"bos_token_id": tokenizer.begin if first is None else first} | (
        {PAIRS: True} if reads_pairs(wires.input) else {}
    )
    segments = settings.get("segments", 0) > 1
    with folder_whole(folder) as aside:
        write_tensors(theirs, aside)
        config |= write_code(aside, family) if head.pooling == "mean" else {}
        write_json(aside / CONFIG, config)
        write_tokenizer(tokenizer, aside, context=settings["context"], around=not head.causal, segments=segments)
    code = ", which transformers loads with trust_remote_code=True," if head.pooling == "mean" else ""
    return architecture + code


def _exported() -> str:
    """Which models can be written, for which tasks."""
    tasks = {
        family.kind: [
            row.task for row in MODELS if row.kind == family.kind and row.thing in {head.model for head in family.heads}
        ]
        for family in FAMILIES.values()
    }
    tasks[IMAGES] = [row.task for row in MODELS if row.kind == IMAGES]
    return in_words(f"{kind} for {in_words(several)}" for kind, several in tasks.items())


def _counted_from(
    first: int, tensors: Mapping[str, Tensor], settings: Mapping[str, Any]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The same model with another number for its first position: there it is that of the token of padding, and one."""
    position_PD = tensors["body.positions.weight"][settings["first_position"] :]
    before_PD = position_PD.new_zeros(first, position_PD.shape[1])
    moved = {**tensors, "body.positions.weight": torch.cat([before_PD, position_PD])}
    return moved, {**settings, "first_position": first}


def _config(family: Family, settings: Mapping[str, Any], tokenizer: Tokenizer) -> dict[str, Any]:
    config = {theirs: settings[ours] for ours, theirs in family.settings.items()}
    config |= {key: allowed[0] for key, allowed in family.fixed.items()}
    config |= {"vocab_size": tokenizer.size, "eos_token_id": tokenizer.end, "pad_token_id": tokenizer.pad}
    match family.kind:
        case "gpt":
            config["embd_pdrop"] = settings["dropout"]
        case "roberta":
            config["max_position_embeddings"] += settings["first_position"]
            config["pad_token_id"] = settings["first_position"] - 1
    config |= {key: settings["head_dropout"] for key in family.head_dropouts if "head_dropout" in settings}
    return config
