"""Unknown words in a translation, replaced through the alignment (Luong et al. 2015b, "Addressing the rare word
problem in neural machine translation", section 3.3; "PosUnk" in Zhou et al. 2016).

The source word that an unknown target word looks at most takes its place: as it is, which is right for names and
numbers, or as a dictionary has it.

Differs from the papers: the place in the source is said by the model's own attention, not by special tokens that it
learns to write (PosUnk_d); the dictionary comes from that attention over the training data, not from another aligner.
"""

from collections.abc import Sequence
from itertools import pairwise
from unicodedata import category

import numpy as np

from seqwright.inputs.dictionary import Dictionary, spelled
from seqwright.inputs.spelling import given_words
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.metrics.alignments import Array
from seqwright.outputs.alignments import between_words


def replaced(
    source: Tokenizer,
    target: Tokenizer,
    sentence: str,
    tokens: Sequence[int],
    weights_TS: Array,
    dictionary: Dictionary | None,
) -> str:
    """The text of the tokens with a word of the sentence, or its translation, for each unknown one.

    Where words are cut into pieces, an unknown piece makes its whole word unknown. `weights_TS` is how much each token
    looks at each of the sentence's, the ends last.
    """
    words = given_words(source, sentence)
    rows = [(str(place), [place]) for place in range(len(tokens))]
    weights_TS = between_words(weights_TS, rows, words)[:, :-1]
    read = [target.decode(tokens[:place]) for place in range(len(tokens) + 1)]
    pieces = [after[len(before) :] for before, after in pairwise(read)]
    unknown = [token == target.unknown for token in tokens]
    text, done = "", 0
    for place in np.flatnonzero(unknown).tolist():
        if place < done:
            continue
        begin, end = _word_around(pieces, unknown, place, done)
        looked_S = sum(weights_TS[at] for at in range(begin, end) if unknown[at])
        before = pieces[begin][: len(pieces[begin]) - len(pieces[begin].lstrip())]
        word = words[int(np.argmax(looked_S))][0]
        text += "".join(pieces[done:begin]) + before + translated(source, word, dictionary)
        done = end
    return text + "".join(pieces[done:])


def _word_around(pieces: Sequence[str], unknown: Sequence[bool], place: int, least: int) -> tuple[int, int]:
    """Where the word begins and ends that a piece stands in: at spaces and at marks."""

    def goes_on(at: int) -> bool:
        piece = pieces[at].strip()
        # Chinese and its like put no spaces between words: there a piece is a word as good as any.
        return unknown[at] or (piece.isalnum() and not any(category(letter) == "Lo" for letter in piece))

    begin, end = place, place + 1
    while begin > least and not pieces[begin][:1].isspace() and goes_on(begin - 1):
        begin -= 1
    while end < len(pieces) and not pieces[end][:1].isspace() and goes_on(end):
        end += 1
    return begin, end


def translated(source: Tokenizer, word: str, dictionary: Dictionary | None) -> str:
    """The word as the dictionary has it, or the word itself."""
    return word if dictionary is None else dictionary.get(spelled(source, word), word)
