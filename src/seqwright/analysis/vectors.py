"""Words as vectors: what a trained model's embeddings say of a word, and what the model makes of it in a text.

L layers · N places of a word · V vocabulary · D width
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from seqwright.analysis.reading import read_rows
from seqwright.errors import DataError, RunError, SettingError, instead, nearest
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.inputs.vocabularies import CONTINUATION, SPACE
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
    """A word where it stands: the number of its text, its embedding, and what the last layer made of it there.

    `layer_LD` is what each block made of it, the lowest first; of a model without blocks only what the last layer did.
    `begin` and `end` are where it stands among the characters of the text.
    """

    text: int
    embedding_D: Tensor
    contextual_D: Tensor
    layer_LD: Tensor
    begin: int
    end: int


class WordVectors:
    """The vectors that a trained model has for words: `vectors = WordVectors(run.model, run.inputs)`.

    `spellings` are the tokens as they are shown, `embedding_VD` has their vectors in the same order. A model of two
    vocabularies has two sides, source and target.
    """

    def __init__(self, model: nn.Module, inputs: Any, *, side: str | None = None) -> None:
        self.model, self.inputs = model.eval(), inputs
        self.side, self._found = _chosen(model, side)
        self.tokenizer: Tokenizer = inputs.output.tokenizer if self.side == "target" else inputs.tokenizer
        self.embedding_VD = self._found.embedding_VD.detach().float().cpu()
        self.spellings = self.tokenizer.spellings()

    def word(self, text: str) -> Word:
        """A word of the vocabulary, or one that its tokens can spell; a token as it is spelled, "▁the", is itself."""
        tokens = self._tokens(text)
        return Word(text, tokens, self.embedding_VD[tokens].mean(0))

    def neighbours(self, vector_D: Tensor, *, top: int = 10, without: Collection[int] = ()) -> list[Neighbour]:
        """The tokens whose vectors have nearly the same direction, the nearest first; `without` some."""
        from sklearn.neighbors import NearestNeighbors

        left_out = {*self.tokenizer.special.values(), *without}
        tokens = [token for token in range(len(self.embedding_VD)) if token not in left_out]
        if not tokens:
            return []
        search = NearestNeighbors(n_neighbors=min(top, len(tokens)), metric="cosine")
        search.fit(self.embedding_VD[tokens].double().numpy())
        distance_1N, place_1N = search.kneighbors(vector_D.double().unsqueeze(0).numpy())
        pairs_found = zip(place_1N[0].tolist(), distance_1N[0].tolist(), strict=True)
        return [Neighbour(self.spellings[tokens[place]], 1 - distance) for place, distance in pairs_found]

    def compared(self, word: str, texts: Sequence[str]) -> list[Occurrence]:
        """The places where a word stands, of which there must be two."""
        found = self.occurrences(word, texts)
        if len(found) < 2:
            times = "once" if found else "nowhere"
            raise DataError(f"'{word}' stands {times} in the texts; give texts that have it in two places or more")
        return found

    @torch.inference_mode()
    def occurrences(self, word: str, texts: Sequence[str]) -> list[Occurrence]:
        """Every place where a word stands in some texts; of several tokens every vector is the mean."""
        reads = self.inputs.reads_tokens
        spelled = [reads.spelled(text) for text in texts]
        rows = [reads.joined([each.tokens]) for each in spelled]
        with listen(self.model) as heard:
            read = read_rows(self.model, self.inputs, rows, side=self.side)
            contextual_BTD = torch.cat(self._found.contextual.heard or [], dim=1).float().cpu()
        streams = [torch.cat(calls, dim=1).float().cpu() for name, calls in heard.items() if name.endswith("stream")]
        layer_BLTD = torch.stack(streams or [contextual_BTD], dim=1)
        asked = [each.strip(SPACE) for each, _ in self.tokenizer.words(self._tokens(word))]
        found = []
        for number, (row, spans, *_) in enumerate(spelled):
            for places in _places(self.tokenizer.words(row.tolist()), asked):
                some = self._without_space(places, row[places].tolist())
                there = [read.before + place for place in some]
                embedding_D = self.embedding_VD[row[some].tolist()].mean(0)
                contextual_D, layer_LD = contextual_BTD[number, there].mean(0), layer_BLTD[number][:, there].mean(1)
                begin, end = _trimmed(texts[number], spans[some[0]][0], spans[some[-1]][1])
                found.append(Occurrence(number, embedding_D, contextual_D, layer_LD, begin, end))
        return found

    def _tokens(self, text: str) -> list[int]:
        """The tokens of a word, without a space that would stand alone before it."""
        if text.startswith((SPACE, CONTINUATION)) and text in self.spellings:
            return [self.spellings.index(text)]
        tokens = self.tokenizer.encode([self.tokenizer.opening + text])[0].tolist()
        tokens = self._without_space(tokens, tokens)
        if (not tokens or self.tokenizer.unknowns(tokens)) and text in self.spellings:
            return [self.spellings.index(text)]  # a word that never has a space before it
        if not tokens or self.tokenizer.unknowns(tokens):
            known = [spelled.lstrip(SPACE) for spelled in self.spellings if spelled not in self.tokenizer.special]
            raise DataError(f"'{text}' is not in the model's vocabulary.{nearest(text, known)}")
        return tokens

    def _without_space(self, places: list[int], tokens: list[int]) -> list[int]:
        """The places of tokens, but for the first if it is nothing but the space before the others."""
        return places[1:] if len(tokens) > 1 and self.tokenizer.pieces(tokens[:1]) == [SPACE] else places


def cosines_of(found: Sequence[Occurrence]) -> NDArray[np.float64]:
    """`cosine_LNN`: between every two places, of the embeddings first and then of each layer."""
    embedding_ND = torch.stack([each.embedding_D for each in found])
    layer_LND = torch.stack([each.layer_LD for each in found], dim=1)
    together = [_cosines(embedding_ND), *(_cosines(vector_ND) for vector_ND in layer_LND)]
    return torch.stack(together).numpy()


def _cosines(vector_ND: Tensor) -> Tensor:
    unit_ND = F.normalize(vector_ND.double(), dim=-1)
    return unit_ND @ unit_ND.T


def similarity(one_D: Tensor, other_D: Tensor) -> float:
    """The cosine of the angle between two vectors."""
    return float(F.cosine_similarity(one_D.double(), other_D.double(), dim=0))


def _chosen(model: nn.Module, side: str | None) -> tuple[str, TokenVectors]:
    """The vectors that are asked for; where both sides share one embedding, it does not matter which."""
    found = model.token_vectors() if isinstance(model, HasTokenVectors) else {}
    if not found:
        raise RunError("the model reads no tokens through an embedding, so it has no word vectors")
    if side is None:
        first, *others = found.values()
        if any(each.embedding_VD is not first.embedding_VD for each in others):
            raise SettingError(f"the model has vectors of {' and of '.join(found)}; choose with --side")
        side = next(iter(found))
    if side not in found:
        raise SettingError(f"there is no --side '{side}'{instead(side, found)}")
    return side, found[side]


def _places(words: list[tuple[str, list[int]]], asked: list[str]) -> Iterator[list[int]]:
    """The tokens of every place where the asked words stand one after the other."""
    for start in range(len(words) - len(asked) + 1):
        some = words[start : start + len(asked)]
        if [spelled.strip(SPACE) for spelled, _ in some] == asked:
            yield [place for _, places in some for place in places]


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    """A stretch of a text without the spaces around it, which some tokenizers count to a word."""
    word = text[begin:end]
    return begin + len(word) - len(word.lstrip()), end - len(word) + len(word.rstrip())
