"""A vector that a text is written from: the digits of a number, one of several labels, or the numbers of some columns.

B batch · N rows · K numbers of a code · X numbers of a vector
"""

import hashlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch

from seqwright.batches import Column
from seqwright.data.decimals import is_number
from seqwright.data.described import GivenText
from seqwright.data.labelled_tables import LABEL_WORDS
from seqwright.data.tables import Usual
from seqwright.errors import DataError
from seqwright.inputs import Examples, Input, Room, Stacked
from seqwright.inputs.saved import load_json, save_json
from seqwright.inputs.vectors import Codes, Digits, KnownLabels, ScaledNumbers, Vectors, from_plain, plain_vectors


@dataclass(frozen=True)
class VectorInput(Input[GivenText, Codes]):
    """How vectors are made of what is given. A row is a short code: the digits, the label's number, the numbers."""

    vectors: Vectors
    noun: ClassVar[str] = "vectors"
    marks: ClassVar[int] = 1  # of the text that is written: the vector itself has no length

    @classmethod
    def learn(cls, train: Examples[GivenText], settings: Any, *, room: Room, like: Any = None) -> Self:
        """The labels, or the scale of the numbers; of those alone that have a text."""
        first = next(iter(train))
        if first.largest is not None:
            return cls(Digits(first.largest))
        if not first.columns:
            described = (example.source for example in train if example.target.strip())
            return cls(KnownLabels.learnt({source for source in described if source.strip()}))
        unscaled = ScaledNumbers.unscaled(first.columns)
        rows, known = cls(unscaled).encode(train), np.array([bool(example.target.strip()) for example in train])
        return cls(unscaled.scaled(rows.value_N[known[rows.example_N]]))

    def facts(self) -> dict[str, str]:
        """What can be given."""
        return {"given": self.vectors.expected}

    def encode(self, examples: Examples[GivenText], *, seed: int = 0) -> Column:
        """The code of whatever is given."""
        numbers, codes = [], array("d")
        for number, example in enumerate(examples):
            if example.source.strip():
                numbers.append(number)
                codes.extend(self._code(example, examples.name))
        code_NK: Codes = np.asarray(codes, dtype=np.float64).reshape(len(numbers), -1 if numbers else 0)
        return Column(code_NK, np.array(numbers, dtype=np.int64))

    def _code(self, example: GivenText, where: str) -> list[float]:
        try:
            return self.vectors.code(example.source)
        except DataError as error:
            raise DataError(f"{where}: {error}") from error

    def stack(self, rows: Sequence[Codes]) -> Stacked:
        """`vector_BX`."""
        return {"vector_BX": torch.from_numpy(self.vectors.vectors(np.stack(rows)).astype(np.float32, copy=False))}

    def table_columns(self) -> dict[str, Usual]:
        """The columns of numbers; otherwise that of the label or of the whole number."""
        if isinstance(self.vectors, ScaledNumbers):
            return {name: Usual((name.casefold(),), text=False, number=True) for name in self.vectors.columns}
        if isinstance(self.vectors, Digits):
            return {"number": Usual(("number",), text=False, number=True)}
        return {"label": Usual(LABEL_WORDS, text=False, number=all(map(is_number, self.vectors.names)))}

    def parse(self, given: Any) -> GivenText:
        """A number, a label, or several numbers: a tuple, an array, a mapping of the columns, or with commas."""
        if isinstance(given, Mapping):
            given = tuple(given[name] for name in self.table_columns() if given.get(name, "") != "")
        several = isinstance(given, tuple) or (isinstance(given, np.ndarray) and given.ndim)
        text = ",".join(map(str, given)) if several else str(given)
        if text.strip():
            self.vectors.code(text)
        return GivenText(text, "")

    def example_fields(self, example: GivenText) -> dict[str, Any]:
        """What is read."""
        return {"input": example.source}

    def digest(self, example: GivenText) -> bytes:
        """Of what is given and the text: many texts may be written for one label."""
        return hashlib.blake2b(f"{example.source}\n{example.target}".encode(), digest_size=8).digest()

    def sizes(self) -> dict[str, int]:
        """The numbers of a vector."""
        return {"inputs": self.vectors.size}

    def save(self, folder: str | Path) -> None:
        """Write how vectors are made."""
        save_json(Path(folder, "vectors.json"), plain_vectors(self.vectors))

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote."""
        return load_json(Path(folder, "vectors.json"), lambda plain: cls(from_plain(plain)))
