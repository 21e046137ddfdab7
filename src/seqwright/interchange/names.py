"""One table of names serves both directions: tensors of another program become ours, and ours become theirs.

A row says which of our tensors hold the same numbers as which of theirs. Where one side has several and the other has
them stacked (queries, keys and values), both sides are laid one above the other, and cut apart as each has them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from seqwright.errors import DataError, RunError

Turned = Literal["", "transposed", "flipped"]
BLOCK = "{n}"  # in a name: the number of a block


class TensorRow(NamedTuple):
    """The same numbers here and there. `turned` is how theirs stand: as ours, columns for rows, or upside down."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    turned: Turned = ""

    def numbered(self, block: int) -> "TensorRow":
        """The row for a block."""
        ours, theirs = (tuple(name.replace(BLOCK, str(block)) for name in side) for side in self[:2])
        return TensorRow(ours, theirs, self.turned)


def single(ours: str, theirs: str) -> tuple[TensorRow]:
    """One tensor on each side."""
    return (TensorRow((ours,), (theirs,)),)


def layer(ours: str | Sequence[str], theirs: str | Sequence[str], turned: Turned = "") -> tuple[TensorRow, TensorRow]:
    """The weight and the bias of a layer, or of several that are stacked; a bias has no columns to be turned."""
    weight = TensorRow(_parts(ours, "weight"), _parts(theirs, "weight"), turned)
    return weight, TensorRow(_parts(ours, "bias"), _parts(theirs, "bias"), "" if turned == "transposed" else turned)


def _parts(layers: str | Sequence[str], part: str) -> tuple[str, ...]:
    return tuple(f"{name}.{part}" for name in ([layers] if isinstance(layers, str) else layers))


class TensorNames(NamedTuple):
    """All names of a kind of model: the rows, tensors of theirs that repeat another, and those that hold nothing."""

    rows: tuple[TensorRow, ...]
    copies: Mapping[str, str] = {}  # what repeats → what is repeated
    useless: tuple[str, ...] = ()  # buffers that are computed again

    def ours(self, theirs: Mapping[str, Tensor], shapes: Mapping[str, torch.Size], where: str) -> dict[str, Tensor]:
        """Our tensors, which must have these shapes, from all of theirs; whatever is left or missing is named."""
        theirs = self._without_copies(theirs, where)
        needed = list(self._for(shapes))
        missing = [name for row in needed for name in row.theirs if name not in theirs]
        unknown = sorted(set(theirs) - {name for row in needed for name in row.theirs})
        if missing or unknown:
            raise DataError(f"{where} {_misfit(missing, unknown)}; such a model cannot be imported")
        found: dict[str, Tensor] = {}
        for row in needed:
            stacked = torch.cat([_turned(theirs[name], row.turned) for name in row.theirs])
            sizes = [shapes[name][0] for name in row.ours]
            if stacked.shape != (sum(sizes), *shapes[row.ours[0]][1:]):
                there = " and ".join(f"{name} {tuple(theirs[name].shape)}" for name in row.theirs)
                here = " and ".join(str(tuple(shapes[name])) for name in row.ours)
                raise DataError(f"{where} has {there}, but its settings make that {here}; it is damaged or mixed up")
            found |= dict(zip(row.ours, (part.contiguous() for part in torch.split(stacked, sizes)), strict=True))
        return found

    def left_out(self, theirs: Iterable[str]) -> str:
        """Which of their tensors hold nothing, for a sentence; blank where there are none."""
        return _gathered([name for name in theirs if _pattern(name) in self.useless])

    def theirs(self, ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Their tensors from all of ours."""
        rows = list(self._for(ours))
        left = sorted(set(ours) - {name for row in rows for name in row.ours})
        if left:
            raise RunError(f"there is no place for {', '.join(left)} in the other program's model")
        found: dict[str, Tensor] = {}
        for row in rows:
            stacked = torch.cat([ours[name] for name in row.ours])
            parts = [_turned(part, row.turned).contiguous() for part in stacked.chunk(len(row.theirs))]
            found |= dict(zip(row.theirs, parts, strict=True))
        return found

    def _for(self, ours: Mapping[str, object]) -> Iterator[TensorRow]:
        """The rows that a model has tensors for, a row of each block for those of blocks."""
        blocks = 1 + max((int(part) for name in ours for part in name.split(".") if part.isdecimal()), default=-1)
        for row in self.rows:
            several = BLOCK in row.ours[0]
            for each in (row.numbered(block) for block in range(blocks)) if several else (row,):
                if all(name in ours for name in each.ours):
                    yield each

    def _without_copies(self, theirs: Mapping[str, Tensor], where: str) -> dict[str, Tensor]:
        found = {name: tensor for name, tensor in theirs.items() if _pattern(name) not in self.useless}
        for copy, original in self.copies.items():
            if copy not in found:
                continue
            tensor = found.pop(copy)
            if not torch.equal(found.setdefault(original, tensor), tensor):
                raise DataError(f"{where} has another {copy} than {original}; only models where they are one are read")
        return found


def _pattern(name: str) -> str:
    """A name as the table has it: without the number of a block."""
    return ".".join(BLOCK if part.isdecimal() else part for part in name.split("."))


def _turned(tensor: Tensor, turned: Turned) -> Tensor:
    match turned:
        case "transposed":
            return tensor.T
        case "flipped":
            return tensor.flip(0)
        case _:
            return tensor


def _misfit(missing: Sequence[str], unknown: Sequence[str]) -> str:
    found = [f"lacks {_gathered(missing)}"] if missing else []
    return " and ".join([*found, *([f"has the unknown {_gathered(unknown)}"] if unknown else [])])


def _gathered(names: Sequence[str]) -> str:
    """Names in a sentence; those that differ by the number of a block stand there once."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_pattern(name), []).append(name)
    return ", ".join(
        f"{pattern} ({len(several)} times)" if len(several) > 1 else several[0] for pattern, several in alike.items()
    )
