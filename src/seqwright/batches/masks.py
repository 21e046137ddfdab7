"""Which words of a text are hidden, and what stands in their place (Devlin et al. 2019, section 3.1).

15 % of the tokens are chosen. Of those 80 % are replaced by the mask, 10 % by a token drawn from the vocabulary, and
10 % stay as they are, so that the model cannot rely on what it sees. Special tokens are never chosen and never drawn.

T time · V vocabulary
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqwright.batches import Ids

MASKED, REPLACED = 0.8, 0.1

Words = Callable[[list[int]], list[tuple[str, list[int]]]]  # of tokens, each with the places of its own


class MaskedText(NamedTuple):
    """A text some of whose tokens are hidden: what is read, and where something was chosen."""

    input_T: Ids
    chosen_T: NDArray[np.bool_]


Masks = Callable[[Ids, np.random.Generator], MaskedText]
"""A way to choose what is hidden: the tokens with some of them hidden."""


class TokenMasks:
    """Every token with the same probability."""

    def __init__(self, *, mask: int, ordinary_V: NDArray[np.bool_], share: float = 0.15) -> None:
        """`ordinary_V` is False for special tokens."""
        self.mask, self.ordinary_V, self.share = mask, ordinary_V, share

    def __call__(self, tokens_T: Ids, rng: np.random.Generator) -> MaskedText:
        """The tokens with some of them hidden; one at least, where there are any."""
        place_N = np.flatnonzero(self.ordinary_V[tokens_T])
        chosen = rng.permutation(place_N)[: hidden_count(len(place_N), self.share)]
        return hidden(tokens_T, chosen.tolist(), self.mask, self.ordinary_V, rng)


class WordMasks:
    """Whole words: where one piece of a word is chosen, all of them are (BERT, whole word masking).

    Words are sampled as long as they fit into the share; of one that is chosen, each piece is replaced, drawn
    or left on its own.
    """

    def __init__(self, *, mask: int, ordinary_V: NDArray[np.bool_], words: Words, share: float = 0.15) -> None:
        """`ordinary_V` is False for special tokens."""
        self.mask, self.ordinary_V, self.words, self.share = mask, ordinary_V, words, share

    def __call__(self, tokens_T: Ids, rng: np.random.Generator) -> MaskedText:
        """The tokens with some words of them hidden; one at least, where there are any."""
        every = [places for _, places in self.words(tokens_T.tolist()) if self.ordinary_V[tokens_T[places]].all()]
        left = hidden_count(sum(map(len, every)), self.share)
        chosen: list[int] = []
        for number in rng.permutation(len(every)).tolist():
            if len(every[number]) <= left or not chosen:
                chosen += every[number]
                left -= len(every[number])
            if left <= 0:
                break
        return hidden(tokens_T, chosen, self.mask, self.ordinary_V, rng)


def hidden_count(tokens: int, share: float) -> int:
    """How many of some tokens are to be hidden: the share, and one at least."""
    return max(1, round(share * tokens))


def hidden(
    tokens_T: Ids, places: Sequence[int], mask: int, ordinary_V: NDArray[np.bool_], rng: np.random.Generator
) -> MaskedText:
    """The tokens with the mask, another token, or still the same at some places."""
    chosen_T = np.zeros(len(tokens_T), dtype=np.bool_)
    chosen_T[list(places)] = True
    fate_T = rng.random(len(tokens_T))
    other_T = rng.choice(np.flatnonzero(ordinary_V), len(tokens_T))
    input_T = np.where(chosen_T & (fate_T < MASKED), mask, tokens_T)
    replaced_T = chosen_T & (fate_T >= MASKED) & (fate_T < MASKED + REPLACED)
    return MaskedText(np.where(replaced_T, other_T, input_T), chosen_T)
