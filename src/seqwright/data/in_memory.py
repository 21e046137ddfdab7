"""Examples that somebody has in memory and gives to Python, in place of files."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from seqwright.data.examples import PartName
from seqwright.data.generated import WithoutFiles
from seqwright.setting_classes import Settings


class InMemorySettings(Settings):
    """Examples that were given in memory; a run that learnt from them does not keep them."""

    in_memory: str
    """What they were, in words."""

    def absence(self) -> str:
        """Why there are no examples any more, and what to do."""
        return (
            f"the run learnt from {self.in_memory} in memory, which it does not keep; score the estimator on examples "
            "of yours, or give some with --data"
        )


class GivenData(WithoutFiles):
    """Parts of examples in memory; an example is a tuple of texts, numbers and arrays."""

    def __init__(self, parts: Mapping[PartName, Sequence[Any]]) -> None:
        self._parts = {part: list(examples) for part, examples in parts.items()}

    def parts(self) -> list[PartName]:
        """Those that were given."""
        return list(self._parts)

    def examples(self, part: PartName) -> Iterator[Any]:
        """Every example of a part."""
        return iter(self._parts[part])

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of all examples of a part."""
        found = hashlib.sha256()
        for example in self._parts[part]:
            for each in example:
                found.update(each.tobytes() if isinstance(each, np.ndarray) else repr(each).encode())
        return found.hexdigest()
