"""What a config.json says of a model, checked before anything is built by it."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from seqwright.errors import DataError

SEVERAL_LABELS = "multi_label_classification"


def architecture_of(config: Mapping[str, Any], where: Path) -> str | None:
    """The class of the model there, if it is said."""
    listed = config.get("architectures") or [None]
    architecture = listed[0] if isinstance(listed, list) else listed
    if not isinstance(architecture, str | None):
        raise DataError(f"{where} has architectures = {listed!r:.60}, expected a list of names: get it again")
    return architecture


def refuse_otherwise(config: Mapping[str, Any], fixed: Mapping[str, tuple[Any, ...]], where: Path) -> None:
    """Refuse a model that computes something else than ours."""
    for key, allowed in fixed.items():
        if config.get(key) is not None and config[key] not in allowed:
            raise DataError(f"{where} has {key} = {config[key]!r}; only {in_words(map(repr, allowed))} can be imported")
    if config.get("problem_type") == SEVERAL_LABELS:
        raise DataError(
            f"{where} gives an example several labels at once (problem_type); only one for each can be imported"
        )


def refuse_wrong_numbers(
    config: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    where: Path,
    *,
    sizes: Collection[str],
    shares: Collection[str],
    layers: str,
) -> None:
    """Each number is one, and no size is beyond what the weights can hold, nor the number of layers."""
    for key in sorted(key for key in {*shares, *sizes} if config.get(key) is not None):
        found = config[key]
        right = isinstance(found, int) if key in sizes else isinstance(found, int | float) and 0 <= found < 1
        if isinstance(found, bool) or not right:
            expected = "a whole number" if key in sizes else "a number from 0 to 1"
            raise DataError(f"{where} has {key} = {found!r:.60}, expected {expected}: get it again")
    largest = max((size for tensor in tensors.values() for size in tensor.shape), default=0)
    most = dict.fromkeys(sizes, largest) | {layers: len(tensors)}
    for key, limit in most.items():
        if config.get(key) is not None and config[key] > limit:
            raise DataError(
                f"{where} has {key} = {config[key]:,}, which is beyond what its {len(tensors):,} tensors hold: they do "
                "not belong together; get both from the same place"
            )


def in_words(names: Iterable[Any]) -> str:
    """Several names in a sentence."""
    *others, last = map(str, names)
    return f"{', '.join(others)} and {last}" if others else last
