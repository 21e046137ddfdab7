"""Translation with rows that are segmented anew in each epoch, as BPE-dropout has them: text × text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from seqwright.batches import Ids, Rows
from seqwright.inputs import Examples, Room
from tests.contract.fake_tasks.parts import Drawn, Example, Words, WrittenText, ids, readable

DROPPED = 0.5


@dataclass(frozen=True)
class Pieces(Words):
    """Words, which an epoch may spell letter by letter."""

    key: ClassVar[str] = "source"

    @classmethod
    def learn(cls, train: Examples[Example], settings: Any, *, room: Room, like: Any = None) -> Self:
        words = {word for example in train for word in cls.split(example[cls.key])}
        return cls(tuple(sorted(words | set("".join(words)))))

    def encode(self, examples: Examples[Example], *, seed: int = 0) -> Rows[Any]:
        texts, example_N = readable(examples, self.key)
        return Drawn([self.split(text) for text in texts], self.segmented, seed=seed, example_N=example_N)

    def segmented(self, words: Sequence[str], rng: np.random.Generator | None) -> Ids:
        if rng is not None:
            words = [piece for word in words for piece in (word if rng.random() < DROPPED else [word])]
        return ids(words, self.vocabulary)


class Translation(WrittenText):
    """The translation, in a vocabulary of its own."""
