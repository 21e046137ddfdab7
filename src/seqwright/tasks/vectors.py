"""Words as vectors: what a trained model's embeddings say of a word, and what the model makes of it in a text.

V vocabulary · D width
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.batches.labelled import labelled
from seqwright.batches.pairs import pairs
from seqwright.batches.text import texts as running_text
from seqwright.devices import home_of
from seqwright.errors import DataError, RunError, SettingError, instead, nearest
from seqwright.inputs.labelled_text import LabelledText
from seqwright.inputs.pair_text import PairText
from seqwright.inputs.plain_text import PlainText
from seqwright.inputs.tokenizers import BEGIN, UNKNOWN, Numbers, Tokenizer
from seqwright.inputs.vocabularies import CONTINUATION, RESERVED, SPACE
from seqwright.layers.embeddings import HasTokenVectors, TokenVectors
from seqwright.layers.taps import listen


class Word(NamedTuple):
    """A word, the numbers of its tokens, and its vector: the mean of theirs."""

    text: str
    tokens: list[int]
    vector_D: Tensor


class Neighbour(NamedTuple):
    """A token, and the cosine of the angle between its vector and the one that was asked about."""

    token: str
    cosine: float


class Occurrence(NamedTuple):
    """A word where it stands: the number of its text, its embedding, and what the last layer made of it there."""

    text: int
    embedding_D: Tensor
    contextual_D: Tensor


class WordVectors:
    """The vectors that a trained model has for words: `vectors = WordVectors(run.model, run.inputs)`.

    `spellings` are the tokens as they are shown, `embedding_VD` has their vectors in the same order. A model of two
    vocabularies has two `side`s, source and target. `first` is the token that stands before a text
    (`seqwright.tasks.language.first_token`).
    """

    def __init__(self, model: nn.Module, inputs: Any, *, side: str | None = None, first: int = BEGIN) -> None:
        self.model, self.inputs, self.first = model.eval(), inputs, first
        self.side, self._found = _chosen(model, side)
        self.tokenizer: Tokenizer = getattr(inputs, self.side) if isinstance(inputs, PairText) else inputs.tokenizer
        self.embedding_VD = self._found.embedding_VD.detach().float().cpu()
        self.spellings = self.tokenizer.spellings()

    def word(self, text: str) -> Word:
        """A word of the vocabulary, or one that its tokens can spell; a token as it is spelled, "▁the", is itself."""
        tokens = self._tokens(text)
        return Word(text, tokens, self.embedding_VD[tokens].mean(0))

    def neighbours(self, vector_D: Tensor, *, top: int = 10, without: Collection[int] = ()) -> list[Neighbour]:
        """The tokens whose vectors have nearly the same direction, the nearest first; `without` some."""
        cosine_V = F.cosine_similarity(self.embedding_VD.double(), vector_D.double(), dim=1)
        cosine_V[[*range(len(RESERVED)), *without]] = -torch.inf
        best = cosine_V.topk(min(top, int(cosine_V.isfinite().sum())))
        pairs_found = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [Neighbour(self.spellings[token], cosine) for token, cosine in pairs_found]

    @torch.inference_mode()
    def occurrences(self, word: str, texts: Sequence[str]) -> list[Occurrence]:
        """Every place where a word stands in some texts; of several tokens both vectors are the mean."""
        rows = self.tokenizer.encode(list(texts))
        batch, before = _read(self.inputs, rows, self.side, self.first)
        with listen(self.model):
            self.model(batch.to(home_of(self.model)), None)
            contextual_BTD = torch.cat(self._found.contextual.heard or [], dim=1).float().cpu()
        asked = [spelled for spelled, _ in self.tokenizer.words(self._tokens(word))]
        found = []
        for number, row in enumerate(rows):
            for places in _places(self.tokenizer.words(row.tolist()), asked):
                some = self._without_space(places, row[places].tolist())
                contextual_D = contextual_BTD[number, [before + place for place in some]].mean(0)
                found.append(Occurrence(number, self.embedding_VD[row[some].tolist()].mean(0), contextual_D))
        return found

    def _tokens(self, text: str) -> list[int]:
        """The tokens of a word, without a space that would stand alone before it."""
        if text.startswith((SPACE, CONTINUATION)) and text in self.spellings:
            return [self.spellings.index(text)]
        tokens = self.tokenizer.encode([text])[0].tolist()
        tokens = self._without_space(tokens, tokens)
        if not tokens or UNKNOWN in tokens:
            known = [spelled.lstrip(SPACE) for spelled in self.spellings[len(RESERVED) :]]
            raise DataError(f"'{text}' is not in the model's vocabulary.{nearest(text, known)}")
        return tokens

    def _without_space(self, places: list[int], tokens: list[int]) -> list[int]:
        """The places of tokens, but for the first if it is nothing but the space before the others."""
        return places[1:] if len(tokens) > 1 and self.tokenizer.pieces(tokens[:1]) == [SPACE] else places


def cosine(one_D: Tensor, other_D: Tensor) -> float:
    """The cosine of the angle between two vectors."""
    return float(F.cosine_similarity(one_D.double(), other_D.double(), dim=0))


def _chosen(model: nn.Module, side: str | None) -> tuple[str, TokenVectors]:
    """The vectors that are asked for; where both sides share one embedding, it does not matter which."""
    if not isinstance(model, HasTokenVectors):
        raise RunError("the model reads no tokens through an embedding, so it has no word vectors")
    found = model.token_vectors()
    if side is None:
        first, *others = found.values()
        if any(each.embedding_VD is not first.embedding_VD for each in others):
            raise SettingError(f"the model has vectors of {' and of '.join(found)}; choose with --side")
        side = next(iter(found))
    if side not in found:
        raise SettingError(f"there is no --side '{side}'{instead(side, found)}")
    return side, found[side]


def _read(inputs: Any, rows: list[Numbers], side: str, first: int) -> tuple[Any, int]:
    """A batch in which a model reads some rows, and how many tokens stand before each row."""
    match inputs:
        case PairText() if side == "target":
            raise SettingError("what a translation makes of its target depends on a source; choose --side source")
        case PairText():
            nothing = [row[:0] for row in rows]
            return pairs(rows, nothing, begin=inputs.begin, end=inputs.end), 0
        case LabelledText():
            return labelled(rows, end=inputs.end), 0
        case PlainText():
            return running_text(rows, begin=first, end=inputs.end), 1
        case _:
            raise RunError("vectors in a text are there for language models, classifiers and translation only")


def _places(words: list[tuple[str, list[int]]], asked: list[str]) -> Iterator[list[int]]:
    """The tokens of every place where the asked words stand one after the other."""
    for start in range(len(words) - len(asked) + 1):
        some = words[start : start + len(asked)]
        if [spelled for spelled, _ in some] == asked:
            yield [place for _, places in some for place in places]
