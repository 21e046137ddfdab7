"""Searching for texts with a model that writes token by token, whatever it writes them from.

B batch · T target · S source
"""

from collections.abc import Generator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from seqwright.batches import Ids
from seqwright.batches.joint import Joint
from seqwright.decoding.beam_tree import Watch
from seqwright.decoding.coverage import Aligns
from seqwright.decoding.ensemble import Ensemble
from seqwright.decoding.scoring import Hypothesis
from seqwright.decoding.searching import ChosenTokens
from seqwright.decoding.settings import DecodingSettings, decoded, search
from seqwright.decoding.stepper import Prefix
from seqwright.decoding.stopping import before_stop, sure
from seqwright.devices import device_of, in_precision
from seqwright.errors import SettingError
from seqwright.inputs.dictionary import Dictionary
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.layers.prepared import prepared_for
from seqwright.outputs.alignments import Aligner, Attentive, alignment_taps
from seqwright.outputs.unknown_words import replaced


class Search(NamedTuple):
    """How texts are searched for, and what all of them begin with.

    `first` numbers the examples where they are a part of more: samples are drawn from (seed, number). `watch` is shown
    the steps of beam search. An `engine` searches in place of `decoding`.
    """

    settings: DecodingSettings = DecodingSettings()
    prefix: str = ""
    first: int = 0
    watch: Watch | None = None
    engine: "Engine | None" = None


class TextCandidate(NamedTuple):
    """One text that a search found."""

    text: str
    score: float  # what it was ranked by: in beam search the log-probability over the length penalty
    log_probability: float
    tokens: list[int]
    token_log_probabilities: list[float]  # of each token, and of the end where it was reached; an engine gives none
    finished: bool

    def __repr__(self) -> str:
        return f"TextCandidate({self.text!r}, score={self.score:.4g})"


class Opening(NamedTuple):
    """What the rows of a batch begin with, and how many tokens may follow."""

    first_B: Tensor
    prefix: Prefix | None
    steps: int | Tensor


class EngineHypothesis(NamedTuple):
    """One continuation as an engine found it, which tells no probabilities of single tokens."""

    tokens: list[int]
    log_probability: float
    score: float
    finished: bool

    @property
    def log_probabilities(self) -> list[float]:
        """None are known."""
        return []


class Engine(Protocol):
    """Another program that searches with the same weights."""

    optional: bool
    """Whether `decoding` serves where it cannot; otherwise that is an error."""

    def lacks(self, search: Search, batch: Any, opening: Opening) -> str | None:
        """A sentence where it cannot do what a search asks for."""

    def decoded(
        self, batch: Any, settings: DecodingSettings, opening: Opening, *, forbidden: Sequence[int]
    ) -> Sequence[Sequence[EngineHypothesis]]:
        """The `n_best` continuations of each row, best first."""


def serving(search: Search, batch: Any, opening: Opening) -> Engine | None:
    """The engine that searches, if one is asked for that can."""
    told = None if search.engine is None else search.engine.lacks(search, batch, opening)
    if search.engine is not None and told and not search.engine.optional:
        raise SettingError(told)
    return None if told else search.engine


class Writes(Protocol):
    """What a search asks of an output."""

    tokenizer: Tokenizer
    source: Tokenizer | None
    dictionary: Dictionary | None

    def opening(self, model: Any, batch: Any, forced: Ids, settings: DecodingSettings) -> Opening:
        """What the rows of a batch begin with; every text is made to begin with `forced`."""


class Searcher:
    """A model, or an ensemble, and how it is searched: `searcher(batch, texts)` has the candidates of each row."""

    def __init__(self, output: Writes, model: nn.Module | Ensemble, search: Search) -> None:
        self.output, self.search, settings = output, search, search.settings
        several = settings.n_best > 1 and not settings.temperature
        # A text may be found in several segmentations: with all that the beam holds, others can take their places.
        self.settings = settings.model_copy(update={"n_best": settings.beam}) if several else settings
        members: Sequence[Any] = model.members if isinstance(model, Ensemble) else (model,)
        self.given, self.members, self.device = model, members, device_of(members[0])
        self.aligner = self._aligner_of(self.members[0])
        self.forced = output.tokenizer.encode([search.prefix])[0]

    @cached_property
    def model(self) -> Any:
        """The model, or the ensemble, as `decoding` asks it: in the precision of the search."""
        rounded = [in_precision(member, self.settings.precision) for member in self.members]
        ready = [self._attentive(rounded[0]), *(prepared_for(member, self.settings.beam) for member in rounded[1:])]
        return Ensemble(ready, self.given.average) if isinstance(self.given, Ensemble) else ready[0]

    @torch.inference_mode()
    def __call__(self, batch: Any, sources: Sequence[str]) -> list[list[TextCandidate]]:
        """The `n_best` candidates of each row, best first. `sources` is what each was written from, as text.

        Those of beam search are different texts, fewer than `n_best` where it met no more; samples may be equal.
        """
        batch = batch.to(self.device)
        first = batch.first if isinstance(batch, Joint) else batch
        opening = self.output.opening(self.given, first, self.forced, self.settings)
        engine = serving(self.search, first, opening)
        if engine is not None:
            found = engine.decoded(first, self.settings, opening, forbidden=self._forbidden())
            return [self._ranked(several) for several in self._candidates(sources, found)]
        asked = self._asked(first, opening)
        hypotheses = decoded(self.model, self.model.start(batch), self.settings, **asked, watch=self.search.watch)
        return [self._ranked(several) for several in self._candidates(sources, hypotheses)]

    @torch.inference_mode()
    def stream(self, batch: Any, source: str) -> Generator[str, None, TextCandidate]:
        """The text of one row, piece by piece as soon as it is sure; the generator returns the whole.

        Beam search cannot be sure before its end, nor can who replaces unknown words.
        """
        batch, written, told = batch.to(self.device), list[int](), 0
        opening = self.output.opening(self.given, batch, self.forced, self.settings)
        steps = search(self.model, self.model.start(batch), self.settings, **self._asked(batch, opening))
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                ((found, *_),) = self._candidates([source], end.value)
                if len(found.text) > told:
                    yield found.text[told:]
                return found
            if isinstance(step, ChosenTokens) and self.aligner is None:
                written += [token for token in step.token_B.tolist() if token != self.output.tokenizer.end]
                text = sure(self.output.tokenizer.decode([*self.forced.tolist(), *written]), self.settings.stop)
                if len(text) > told:
                    yield text[told:]
                    told = len(text)

    def _forbidden(self) -> list[int]:
        """The tokens that are never written."""
        tokenizer, unknown = self.output.tokenizer, self.settings.unknown != "never"
        return [token for token in tokenizer.unwritten() if not unknown or token != tokenizer.unknown]

    def _asked(self, batch: Any, opening: Opening) -> dict[str, Any]:
        """What a search is asked for beside the model, its state and the settings."""
        tokenizer = self.output.tokenizer
        return {
            **opening._asdict(),
            "end": tokenizer.end,
            "forbidden": self._forbidden(),
            "source_real_BS": None if self.output.source is None else batch.real,
            "rows": [self.search.first + number for number in batch.example_B.tolist()],
            "text_of": lambda row, tokens: tokenizer.decode(tokens),
        }

    def _ranked(self, candidates: list[TextCandidate]) -> list[TextCandidate]:
        """As many candidates as asked for, best first."""
        if self.settings.temperature:
            return sorted(candidates, key=lambda candidate: -candidate.score)
        by_text: dict[str, TextCandidate] = {}
        for candidate in candidates:  # the search gives them best first, so the first of a text is its best
            by_text.setdefault(candidate.text, candidate)
        return list(by_text.values())[: self.search.settings.n_best]

    def _candidates(
        self, sources: Sequence[str], hypotheses: Sequence[Sequence[Hypothesis | EngineHypothesis]]
    ) -> list[list[TextCandidate]]:
        """The hypotheses of each row as text, unknown words replaced where that is asked for."""
        found = [[self._candidate(each) for each in several] for several in hypotheses]
        self._replace_unknown(sources, found)
        stops = self.settings.stop
        return [[each._replace(text=before_stop(each.text, stops)) for each in several] for several in found]

    def _candidate(self, found: Hypothesis | EngineHypothesis) -> TextCandidate:
        tokens = [*self.forced.tolist(), *found.tokens]
        scores = found.score, found.log_probability
        text = self.output.tokenizer.decode(tokens)
        return TextCandidate(text, *scores, tokens, found.log_probabilities, found.finished)

    def _replace_unknown(self, sources: Sequence[str], found: list[list[TextCandidate]]) -> None:
        """Give candidates that have unknown words another text."""
        if self.aligner is None:
            return
        unknown = self.aligner.target.unknown
        places = [(i, n) for i, several in enumerate(found) for n, each in enumerate(several) if unknown in each.tokens]
        read = self.aligner.source.encode([sources[i] for i, _ in places])
        weights = self.aligner(read, [np.array(found[i][n].tokens) for i, n in places])
        dictionary = self.output.dictionary if self.settings.unknown == "dictionary" else None
        sides = self.aligner.source, self.aligner.target
        for (i, n), weights_TS in zip(places, weights, strict=True):
            text = replaced(*sides, sources[i], found[i][n].tokens, weights_TS, dictionary)
            found[i][n] = found[i][n]._replace(text=text)

    def _attentive(self, model: Any) -> Any:
        """The model, listened to where a search needs to know where it looks and it does not remember that itself.

        Otherwise it is prepared where that pays.
        """
        penalised = self.settings.coverage_penalty and self.settings.beam > 1
        listens = penalised and not isinstance(model, Aligns) and alignment_taps(model)
        return Attentive(model) if listens else prepared_for(model, self.settings.beam)

    def _aligner_of(self, model: Any) -> Aligner | None:
        """What finds the source of unknown words, where they are to be replaced."""
        if self.settings.unknown not in {"copy", "dictionary"}:
            return None
        if self.settings.unknown == "dictionary" and self.output.dictionary is None:
            raise SettingError(
                "unknown words shall be looked up (unknown = 'dictionary'), but the run has learnt no dictionary; "
                "learn one with `seqwright align RUN`, or set it to 'copy'"
            )
        if self.output.source is None or not alignment_taps(model):
            raise SettingError(
                f"unknown is '{self.settings.unknown}', which needs to know where the model looks, and this one has no "
                "attention to its source; set it to 'never' or 'keep'"
            )
        return Aligner(model, self.output.source, self.output.tokenizer)
