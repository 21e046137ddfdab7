"""BPE-dropout: a word is cut into other pieces each time it is read (Provilkov et al. 2020)."""

import json
import math
import random
import sys
from itertools import pairwise
from typing import NamedTuple, final

import numpy as np

from seqwright.errors import SettingError
from seqwright.inputs.own_tokenizers import OwnTokenizer
from seqwright.inputs.tokenizers import UNKNOWN, Numbers, Tokenizer

# Words whose merges are remembered; rarer ones that come later are worked out each time.
REMEMBERED = 100_000


class Plain(NamedTuple):
    """How a unit of text is merged when nothing is dropped."""

    letters: list[int]
    merges: list[tuple[int, int]]  # where, and the token that stands there afterwards
    result: list[int]


@final
class BPEDropout:
    """BPE that leaves out merges at random (Provilkov et al. 2020, algorithm 1).

        repeat
            of all merges that are possible now, drop each with probability p
            do the best of those that are left
        until none is left

    Only the best that is left is done, so it is enough to try the possible ones, best first, until one is not dropped.
    These trials are one long row of equal coins, from unit to unit: drawn is not each coin, but how many trials succeed
    until the next one fails (a geometric number). A unit with fewer merges than that is encoded as without dropout.

    The paper leaves open what happens where a pair stands twice: here each place is a merge of its own, done and
    dropped independently of the other.
    """

    def __init__(self, tokenizer: Tokenizer, probability: float) -> None:
        if tokenizer.kind != "bpe":
            raise SettingError(
                f"BPE-dropout needs a tokenizer of kind 'bpe', but this one is of kind '{tokenizer.kind}'"
            )
        if not isinstance(tokenizer, OwnTokenizer):
            raise SettingError("BPE-dropout needs a tokenizer that was learnt here, but this one is another program's")
        if not 0 <= probability <= 1:
            raise SettingError(f"the probability of BPE-dropout must lie between 0 and 1, but is {probability}")
        self.probability = probability
        self._tokenizer = tokenizer
        model = json.loads(tokenizer.json())["model"]
        self._numbers: dict[str, int] = model["vocab"]
        self._merged = [self._numbers[left + right] for left, right in model["merges"]]
        self._ranks = {
            (self._numbers[left], self._numbers[right]): rank for rank, (left, right) in enumerate(model["merges"])
        }
        self._never = len(self._merged)  # the rank of a pair that no merge joins
        self._remembered: dict[str, Plain] = {}

    def encode(self, text: str, generator: random.Random) -> Numbers:
        """The token numbers of a text, cut as the generator's draws have it."""
        numbers: list[int] = []
        lucky = self._successes(generator)
        for unit in self._tokenizer.units(text):
            plain = self._remembered.get(unit) or self._plain(unit)
            if len(plain.merges) <= lucky:
                lucky -= len(plain.merges)
                numbers += plain.result
            else:
                pieces, lucky = self._with_drops(plain, lucky, generator)
                numbers += pieces
        return np.array(numbers, dtype=self._tokenizer.dtype)

    def _successes(self, generator: random.Random) -> int:
        """How many trials succeed before the next one fails."""
        if self.probability in (0, 1):
            return 0 if self.probability else sys.maxsize
        return int(math.log(1 - generator.random()) / math.log1p(-self.probability))

    def _plain(self, unit: str) -> Plain:
        letters = [self._numbers.get(letter, UNKNOWN) for letter in unit]
        pieces, ranks = letters.copy(), self._ranked(letters)
        merges = []
        while (best := min(ranks)) != self._never:
            place = ranks.index(best)
            self._merge(pieces, ranks, place)
            merges.append((place, pieces[place]))
        plain = Plain(letters, merges, pieces)
        if len(self._remembered) < REMEMBERED:
            self._remembered[unit] = plain
        return plain

    def _with_drops(self, plain: Plain, lucky: int, generator: random.Random) -> tuple[list[int], int]:
        """The pieces of a unit whose first `lucky` merges succeed while the next one fails; the successes left over."""
        pieces = plain.letters.copy()
        for place, merged in plain.merges[:lucky]:
            pieces[place : place + 2] = [merged]
        ranks = self._ranked(pieces)
        lucky = 0
        while (best := min(ranks)) != self._never:
            place = ranks.index(best)
            if not lucky:
                left = ranks.copy()
                while not lucky:
                    left[place] = self._never
                    lucky = self._successes(generator)
                    if (best := min(left)) == self._never:
                        return pieces, lucky
                    place = left.index(best)
            lucky -= 1
            self._merge(pieces, ranks, place)
        return pieces, lucky

    def _ranked(self, pieces: list[int]) -> list[int]:
        """The rank of the merge of each piece with the next; the last has none."""
        get, never = self._ranks.get, self._never
        return [get(pair, never) for pair in pairwise(pieces)] + [never]

    def _merge(self, pieces: list[int], ranks: list[int], place: int) -> None:
        """Join the piece at `place` with the next."""
        pieces[place] = merged = self._merged[ranks[place]]
        del pieces[place + 1], ranks[place]
        if place:
            ranks[place - 1] = self._ranks.get((pieces[place - 1], merged), self._never)
        if place + 1 < len(pieces):
            ranks[place] = self._ranks.get((merged, pieces[place + 1]), self._never)
