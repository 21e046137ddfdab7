"""A checkpoint as `transformers` writes it: a folder with config.json, its weights and its tokenizer."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from seqwright.errors import DataError, RunError
from seqwright.inputs.tokenizers import ROLES, Tokenizer
from seqwright.interchange.families import FAMILIES, Family, Head
from seqwright.interchange.tokenizer_files import read_tokenizer, write_tokenizer
from seqwright.interchange.weight_files import (
    read_json,
    read_tensors,
    refuse_pickle,
    weight_files,
    write_json,
    write_tensors,
)

CONFIG = "config.json"
NEEDED = ("width", "heads", "layers", "context")
PAIRS = "text_pairs"  # in a config of ours: that what is classified or rated are two texts
REGRESSION, SEVERAL_LABELS = "regression", "multi_label_classification"
# A vocabulary is rounded up so that its matrix is divided well: to a multiple of 64 (BERT's 30,522 to 30,528), of 128
# (GPT-2's 50,257 to 50,304), or of 128 for each of up to eight devices (51,200). What that adds is less than what the
# number divides by.
ROUNDED = 1024
ADDED = 8  # fewer may also be tokens that somebody added without writing them into the tokenizer


class Checkpoint(NamedTuple):
    """What was found in a folder: what it is for, our settings of the model, its tensors by their names there."""

    family: Family
    task: str
    settings: dict[str, Any]
    labels: list[str]  # of a classifier or a tagger
    pairs: bool  # whether what is classified or rated are two texts, as far as the config says it
    first: int | None  # the token that stands before a text that is written on, as far as the config says it
    tokenizer: Tokenizer
    tensors: dict[str, Tensor]
    unused: int  # vectors that belong to no token of the tokenizer's file
    idle: list[str]  # tensors that nothing reads under this head
    files: list[Path]


def read_checkpoint(path: Path) -> Checkpoint:
    """A folder, or the safetensors file in it."""
    refuse_pickle(path)
    if not path.exists():
        raise DataError(f"there is no {path}; expected a folder with {CONFIG}, model.safetensors and a tokenizer")
    folder = path if path.is_dir() else path.parent
    where = folder / CONFIG
    config = read_json(where)
    family, task = _recognised(config, where)
    files = weight_files(folder) if path.is_dir() else [path]
    tensors = _with_prefix(read_tensors(files), family)
    labels = (
        _labels(config, tensors, family.heads[task], where)
        if task in {"text-classification", "token-classification"}
        else []
    )
    if task == "text-classification" and (len(labels) == 1 or config.get("problem_type") == REGRESSION):
        task, labels = "text-regression", []
    settings = _settings(config, family, task, tensors, where)
    idle = [name for name in tensors if name.startswith(f"{family.prefix}pooler.") and not settings.get("pooler", True)]
    tensors = {name: tensor for name, tensor in tensors.items() if name not in idle}
    tokenizer = read_tokenizer(folder, causal=task == "language-modeling")
    if settings.get("head") and tokenizer.mask is None:
        raise DataError(
            f"{folder} finds words that are masked, but its tokenizer has no token for a mask, expected "
            f"{' or '.join(ROLES['mask'])}: copy the tokenizer there that the model came with"
        )
    vectors = _vectors(tensors, family, folder)
    refuse_other_vocabulary(tokenizer.size, vectors, folder)
    return Checkpoint(
        family=family,
        task=task,
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


def _recognised(config: Mapping[str, Any], where: Path) -> tuple[Family, str]:
    """The family and the task of a model; what it computes otherwise than ours is refused."""
    name = config.get("model_type")
    family = FAMILIES.get(str(name))
    if family is None:
        raise DataError(f"{where} is of model_type '{name}'; those that can be imported are {', '.join(FAMILIES)}")
    listed = config.get("architectures") or []
    architecture = listed if isinstance(listed, str) else next(iter(listed), None)
    task = family.task_of(architecture)
    if task is None:
        known = [family.bare, *dict.fromkeys(name for head in family.heads.values() for name in head.architectures)]
        raise DataError(f"{where} is of the architecture {architecture}; those that can be imported are {_list(known)}")
    for key, allowed in family.fixed.items():
        if config.get(key) is not None and config[key] not in allowed:
            raise DataError(f"{where} has {key} = {config[key]!r}; only {_list(map(repr, allowed))} can be imported")
    if config.get("problem_type") == SEVERAL_LABELS:
        raise DataError(
            f"{where} gives a text several labels at once (problem_type); only one for each can be imported"
        )
    return family, task


def _settings(
    config: Mapping[str, Any], family: Family, task: str, tensors: Mapping[str, Tensor], where: Path
) -> dict[str, Any]:
    """Our settings of the model; what of it is there at all is told by the tensors."""
    named = {ours: config[theirs] for ours, theirs in family.settings.items() if config.get(theirs) is not None}
    missing = [family.settings[name] for name in NEEDED if name not in named]
    if missing:
        raise DataError(f"{where} lacks {', '.join(missing)}: get it again")
    if family.kind == "roberta":  # the token of padding also stands in the count of positions
        named["first_position"] = config.get("pad_token_id", 1) + 1
        named["context"] -= named["first_position"]
    head = family.heads[task]
    if task == "masked-language-modeling":
        named["head"] = any(name in tensors for row in head.rows for name in row.theirs)
    if any("body.pooler.weight" in row.ours for row in family.body):
        named["pooler"] = _reads_pooler(family, task, tensors, bare=named.get("head") is False)
    if task not in {"language-modeling", "masked-language-modeling"}:
        given = next((config[key] for key in family.head_dropouts if config.get(key) is not None), None)
        named["head_dropout"] = config.get(family.settings["dropout"], 0.1) if given is None else given
    return {"kind": family.kind, **named}


def _reads_pooler(family: Family, task: str, tensors: Mapping[str, Tensor], *, bare: bool) -> bool:
    """Whether there is a pooler in the body that something reads; under many heads it lies idle, and is left out."""
    pooler = f"{family.prefix}pooler.dense.weight"
    rows = family.heads[task].rows
    match task:
        case "masked-language-modeling":
            reading = bare or any(row.theirs[0] in tensors for row in rows if "follows.weight" in row.ours)
        case "text-classification" | "text-regression":
            reading = any(pooler in row.theirs for row in rows)
        case _:
            reading = False
    return reading and pooler in tensors


def _with_prefix(tensors: dict[str, Tensor], family: Family) -> dict[str, Tensor]:
    """A bare body is saved without the prefix that it has under a head."""
    if any(name.startswith(family.prefix) for name in tensors):
        return tensors
    return {name if name in _head_names(family) else family.prefix + name: tensor for name, tensor in tensors.items()}


def _head_names(family: Family) -> set[str]:
    return {name for head in family.heads.values() for name in head.copies}


def _labels(config: Mapping[str, Any], tensors: Mapping[str, Tensor], head: Head, where: Path) -> list[str]:
    """The names of the classes, by their numbers; the config need not name them."""
    named = config.get("id2label") or {}
    if named:
        numbers = [str(number) for number in range(len(named))] if isinstance(named, dict) else []
        if not numbers or set(named) != set(numbers) or not all(map(_is_name, named.values())):
            raise DataError(
                f"{where} has id2label = {_short(json.dumps(named, ensure_ascii=False))}, expected a name in one line "
                'for each number from 0 on, as in {"0": "bad", "1": "good"}: write it so, or get the file again'
            )
        names = [str(named[number]) for number in numbers]
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            numbers = [number for number in numbers if str(named[number]) == name]
            raise DataError(
                f"{where} has one name, '{name}', for the labels {_list(numbers)} in id2label: give each a name of its "
                "own there, since they could not be told apart"
            )
        return names
    (output,) = (row.theirs[0] for row in head.rows if row.ours == ("head.output.bias",))
    return [f"LABEL_{number}" for number in range(len(tensors.get(output, ())))]


def _is_name(name: Any) -> bool:
    """Whether a label can be called so: in one line, and not blank."""
    return isinstance(name, str | int | float) and bool(str(name).strip()) and len(f"{name}.".splitlines()) == 1


def _vectors(tensors: Mapping[str, Tensor], family: Family, folder: Path) -> int:
    """How many tokens the weights have vectors for."""
    name = family.body[0].theirs[0]
    if name not in tensors:
        raise DataError(f"{folder} lacks {name}; such a model cannot be imported")
    return len(tensors[name])


def refuse_other_vocabulary(tokens: int, vectors: int, folder: Path) -> None:
    """The weights may have vectors for more than there are tokens, but no model leaves over half of them unused."""
    if not tokens <= vectors <= 2 * tokens:
        raise DataError(
            f"the tokenizer of {folder} has {tokens:,} tokens, but the weights have vectors for {vectors:,}: they "
            "do not belong together; get both from the same place"
        )


def is_rounded_up(tokens: int, vectors: int) -> bool:
    """Whether rounding, or a few added tokens, explains that there are more vectors than tokens."""
    return vectors - tokens < max(ADDED, math.gcd(vectors, ROUNDED))


def write_checkpoint(
    folder: Path,
    task: str,
    settings: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    tokenizer: Tokenizer,
    *,
    labels: list[str],
    pairs: bool,
    first: int,
) -> str:
    """Write a folder that `transformers` loads; the name of the class that it is there.

    `first` is the token that stands before a text.
    """
    family = next((family for family in FAMILIES.values() if family.kind == settings["kind"]), None)
    if family is None or task not in family.heads:
        known = _list(f"{family.kind} for {_list(family.heads)}" for family in FAMILIES.values())
        raise RunError(f"a {settings['kind']} for {task} has no equal in transformers; those that have are {known}")
    if settings.get("pooling", "first") != "first":
        raise RunError(f"model.pooling is '{settings['pooling']}', which no classifier of transformers has")
    pad = tokenizer.pad
    if family.kind == "roberta" and pad is not None and pad + 1 != settings["first_position"]:
        tensors, settings = _counted_from(pad + 1, tensors, settings)
    theirs = family.names(task).theirs(tensors)
    architecture = _architecture(family, task, settings)
    if architecture == family.bare:
        theirs = {name.removeprefix(family.prefix): tensor for name, tensor in theirs.items()}
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(theirs, folder)
    config: dict[str, Any] = {"architectures": [architecture], "model_type": family.model_type}
    config |= _config(family, task, settings, tokenizer, labels)
    config |= {"bos_token_id": first} | ({PAIRS: True} if pairs else {})
    write_json(folder / CONFIG, config)
    segments = settings.get("segments", 0) > 1
    write_tokenizer(
        tokenizer, folder, context=settings["context"], around=task != "language-modeling", segments=segments
    )
    return architecture


def _counted_from(
    first: int, tensors: Mapping[str, Tensor], settings: Mapping[str, Any]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The same model with another number for its first position: there it is that of the token of padding, and one."""
    position_PD = tensors["body.positions.weight"][settings["first_position"] :]
    before_PD = position_PD.new_zeros(first, position_PD.shape[1])
    moved = {**tensors, "body.positions.weight": torch.cat([before_PD, position_PD])}
    return moved, {**settings, "first_position": first}


def _architecture(family: Family, task: str, settings: Mapping[str, Any]) -> str:
    """What the model is called there; BERT has a name of its own with and without the question what follows."""
    if task == "masked-language-modeling" and not settings["head"]:
        return family.bare
    names = family.heads[task].architectures
    return names[0] if task != "masked-language-modeling" or settings["pooler"] else names[-1]


def _config(
    family: Family, task: str, settings: Mapping[str, Any], tokenizer: Tokenizer, labels: list[str]
) -> dict[str, Any]:
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
    if labels:
        config["id2label"] = {str(number): label for number, label in enumerate(labels)}
        config["label2id"] = {label: number for number, label in enumerate(labels)}
    if task == "text-regression":
        config |= {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "problem_type": REGRESSION}
    return config


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def _list(names: Any) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else str(last)
