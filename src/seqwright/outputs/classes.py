"""Classes that something is taken for: the labels of examples, the tags of words."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from seqwright.data.labels import FEW_LABELS, short
from seqwright.inputs import ExampleT
from seqwright.inputs.saved import load_json, save_json
from seqwright.outputs import BatchT, Output, PredictionT


@dataclass(frozen=True)
class ClassesOutput(Output[ExampleT, BatchT, PredictionT]):
    """Each class with how often training has it; none is there at all where the model was trained elsewhere."""

    counts: Mapping[str, int]

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes, by their numbers."""
        return tuple(self.counts)

    @property
    def trained_here(self) -> bool:
        """Whether any class was in training."""
        return any(self.counts.values())

    def numbers(self) -> dict[str, int]:
        """The number of each class."""
        return {name: number for number, name in enumerate(self.counts)}

    def averaged(self, some: Collection[str], noun: str) -> str:
        """Which classes macro F1 is the mean of, and which not: what nothing has or was taken for has no F1."""
        left_out = [name for name in self.labels if name not in set(some)]
        if not left_out:
            return f"mean over the {noun}"
        told = f"mean over {len(some)} of {len(self.labels)} {noun}: {listed(some, FEW_LABELS)}"
        return f"{told}; left out, for nothing has them or was taken for them: {listed(left_out, FEW_LABELS)}"

    def rare(self) -> list[str]:
        """The classes that training has once, which a model can hardly learn."""
        return [name for name, count in self.counts.items() if count == 1]

    def sizes(self) -> dict[str, int]:
        """The number of classes."""
        return {"classes": len(self.counts)}

    def save(self, folder: str | Path) -> None:
        """Write the counts."""
        save_json(Path(folder, self.file), dict(self.counts))

    @classmethod
    def load(cls, folder: str | Path, input: Any) -> Self:
        """Read what `save` wrote."""
        path = Path(folder, cls.file)
        return load_json(path, lambda plain: cls({str(name): int(count) for name, count in plain.items()}))


def listed(names: Collection[str], most: int) -> str:
    """Some names in quotes, and that there are more."""
    return ", ".join(f"'{short(name)}'" for name in list(names)[:most]) + (", …" if len(names) > most else "")
