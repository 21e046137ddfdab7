"""Unknown words in a translation, replaced through the alignment (Luong et al. 2015b, "Addressing the rare word
problem in neural machine translation", section 3.3; "PosUnk" in Zhou et al. 2016).

The source word that an unknown target word looks at most takes its place: as it is, which is right for names and
numbers, or as a dictionary has it.

Differs from the papers: the place in the source is said by the model's own attention, not by special tokens that it
learns to write (PosUnk_d); the dictionary comes from that attention over the training data, not from another aligner.
"""

from collections.abc import Sequence

import numpy as np

from seqwright.inputs.dictionary import Dictionary, spelled
from seqwright.inputs.pair_text import PairText
from seqwright.inputs.words import given_words
from seqwright.metrics.alignments import Array
from seqwright.tasks.alignments import between_words


def replaced(
    inputs: PairText, sentence: str, tokens: Sequence[int], weights_TS: Array, dictionary: Dictionary | None
) -> str:
    """The text of the tokens with a word of the sentence, or its translation, for each unknown one.

    `weights_TS` is how much each token looks at each of the sentence's, the ends last.
    """
    words = given_words(inputs.source, sentence)
    rows = [(str(place), [place]) for place in range(len(tokens))]
    weights_TS = between_words(weights_TS, rows, words)[:, :-1]
    text, done = "", 0
    for place, token in enumerate(tokens):
        whole = inputs.target.decode(tokens[: place + 1])
        piece, done = whole[done:], len(whole)
        if token == inputs.target.unknown:
            word = words[int(np.argmax(weights_TS[place]))][0]
            piece = piece[: len(piece) - len(piece.lstrip())] + translated(inputs, word, dictionary)
        text += piece
    return text


def translated(inputs: PairText, word: str, dictionary: Dictionary | None) -> str:
    """The word as the dictionary has it, or the word itself."""
    return word if dictionary is None else dictionary.get(spelled(inputs.source, word), word)
