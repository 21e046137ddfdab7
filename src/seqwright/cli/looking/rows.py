"""A text, or two, as the row of tokens that a model reads, with its words and pieces as the user wrote them."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from seqwright.batches import Ids
from seqwright.cli.looking.texts import warn_of_unknown
from seqwright.cli.opening import AROUND, context_of
from seqwright.cli.terminal import say
from seqwright.errors import DataError, SettingError
from seqwright.inputs.prompt import PromptInput
from seqwright.inputs.sentences import HOLE
from seqwright.inputs.spelling import Spelled, Words, written_words
from seqwright.inputs.text import reads_pairs
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.layers.taps import listen
from seqwright.runs import Run
from seqwright.tasks.reading import Read, between, joined, read_rows, spelling_of
from seqwright.tasks.wired import Wires

Heard = dict[str, list[Any]]


class Row(NamedTuple):
    """What a model read of some texts: every token of the row, those that begin and end texts included."""

    tokens: Ids
    words: Words
    pieces: list[str]  # the text of each token
    heard: Heard  # what passed the model's taps


def row_of(run: Run, texts: Sequence[str], most: int) -> Row:
    """Let the run read one text, or two in a row, as many tokens as can be shown."""
    refuse_number(run, texts)
    warn_of_unknown(run, [HOLE.sub("", text) for text in texts])
    room = min(most, (context_of(run) or most + AROUND) - AROUND)
    parts: list[TextPart] = []
    for text in texts:
        parts.append(_part(run, text))
        if len(parts[-1].tokens) > room:
            say(f"the first {room:,} of {len(parts[-1].tokens):,} tokens of the text are looked at")
        parts[-1] = parts[-1].first(room)
        room = max(1, room - len(parts[-1].tokens))
    with listen(run.model) as heard:
        tokens = joined([part.tokens for part in parts], run.inputs)
        if isinstance(run.inputs, Wires) and isinstance(run.inputs.input, PromptInput):
            tokens = np.append(tokens, run.inputs.input.tokens.task)  # which asks for an answer
        read = read_rows(run.model, run.inputs, [tokens])
    return _laid_out(run.inputs.tokenizer, read, parts, len(between(run.inputs)), heard)


class TextPart(NamedTuple):
    """A text as tokens, the words they spell, and the text of each."""

    tokens: Ids
    words: Words
    pieces: list[str]

    def first(self, count: int) -> "TextPart":
        """The same of so many tokens from the beginning."""
        words = [(word, places) for word, places in self.words if places[-1] < count]
        return TextPart(self.tokens[:count], words, self.pieces[:count])


def _part(run: Run, text: str) -> TextPart:
    if run.recipe.task == "masked-language-modeling" and HOLE.search(text):  # as `fill` reads it
        tokens = run.inputs.input.row(text)[1:-1]
        tokenizer: Tokenizer = run.inputs.tokenizer
        pieces = [written_words(tokenizer, [token])[0][0] for token in tokens.tolist()]
        return TextPart(tokens, written_words(tokenizer, tokens.tolist()), pieces)
    found = tokens_of(run, text)
    if not len(found.tokens):
        raise DataError(f"there is nothing to look at: the vocabulary of {run.folder} has no token for {text!r}")
    return TextPart(found.tokens, found.words, [text[begin:end] for begin, end in found.spans])


def _laid_out(tokenizer: Tokenizer, read: Read, parts: Sequence[TextPart], apart: int, heard: Heard) -> Row:
    """The texts at their places in the row, so many tokens apart, and the names of the special tokens around them."""
    tokens = read.tokens_BT[0].cpu().numpy()
    names = {number: name for name, number in tokenizer.special.items()}
    pieces = [names.get(token, "") for token in tokens.tolist()]
    words: Words = []
    first = read.before
    for part in parts:
        pieces[first : first + len(part.tokens)] = part.pieces
        words += [(word, [first + place for place in places]) for word, places in part.words]
        first += len(part.tokens) + apart
    taken = {place for _, places in words for place in places}
    words += [(pieces[place], [place]) for place in range(len(tokens)) if place not in taken]
    return Row(tokens, sorted(words, key=lambda word: word[1][0]), pieces, heard)


def verdict_on(run: Run, texts: Sequence[str]) -> str:
    """What a classifier takes a text, or a pair of texts, for; nothing where the run is none."""
    if run.recipe.task != "text-classification":
        return ""
    (found,) = run.inputs.predict(run.model, ["\t".join(texts)])
    return f"{found.label} ({100 * found.probability:.0f} %)"


def refuse_number(run: Run, texts: Sequence[str]) -> None:
    """Two texts are for runs that read two, one for the others."""
    two = run.recipe.task == "question-answering" or (isinstance(run.inputs, Wires) and reads_pairs(run.inputs.input))
    if len(texts) == 1 + two or (len(texts) == 2 and run.recipe.task == "masked-language-modeling"):
        return
    if two:
        raise SettingError(f"{run.folder} reads two texts at a time, and there are {len(texts)}; give two")
    raise SettingError(f"{run.folder} reads one text at a time, and there are {len(texts)}; give one, in quotes")


def tokens_of(run: Run, text: str) -> Spelled:
    """The tokens of a text, and from where to where each of them stands in it: up to where the next begins."""
    found = spelling_of(text, run.inputs)
    edges = [0, *(begin for begin, _ in found.spans[1:]), len(text)]
    return found._replace(tokens=found.tokens.astype(np.int64), spans=list(pairwise(edges)))
