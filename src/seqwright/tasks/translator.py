"""Translating sentences with a trained model: text in, text out, many at once.

B batch · T target
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import torch
from torch import nn

from seqwright.batches import padded
from seqwright.batches.pairs import Pairs, pairs, sources
from seqwright.decoding.beam_tree import BeamTree, Watch
from seqwright.decoding.coverage import Aligns
from seqwright.decoding.ensemble import Average, Ensemble
from seqwright.decoding.scoring import Hypothesis, target_log_probability
from seqwright.decoding.settings import DecodingSettings, decoded
from seqwright.decoding.stepper import Prefix
from seqwright.decoding.stopping import before_stop
from seqwright.devices import device_of, in_precision
from seqwright.errors import RunError, SettingError
from seqwright.inputs.pair_text import PairText
from seqwright.inputs.tokenizers import Numbers, Tokenizer
from seqwright.tasks.alignments import Aligner, Attentive, alignment_taps
from seqwright.tasks.unknown_words import replaced

TOKENS_AT_ONCE = 2048  # source tokens in a decoding batch: more does not go faster on a CPU


class Translation(NamedTuple):
    """One candidate for a sentence."""

    text: str
    score: float  # what it was ranked by: in beam search the log-probability over the length penalty
    log_probability: float
    tokens: list[int]
    token_log_probabilities: list[float]  # one for each token, and one for the end where it was reached
    finished: bool


NOTHING = Translation("", 0.0, 0.0, [], [], True)


class Trained(Protocol):
    """A run that learnt to translate, as `open_run` gives it."""

    @property
    def folder(self) -> Path:
        """Its folder, by which it is named."""

    @property
    def model(self) -> nn.Module:
        """What it learnt."""

    @property
    def inputs(self) -> Any:
        """Its `PairText`."""


class Translator:
    """A trained model with its inputs and decoding settings: `translator(["…", "…"])`."""

    def __init__(self, model: nn.Module, inputs: PairText, settings: DecodingSettings | None = None) -> None:
        self.inputs = inputs
        self.settings = settings or DecodingSettings()
        several = self.settings.n_best > 1 and not self.settings.temperature
        # A text may be found in several segmentations: with all that the beam holds, others can take their places.
        self._search = self.settings.model_copy(update={"n_best": self.settings.beam}) if several else self.settings
        self.device = device_of(model)
        self._sides = [inputs]  # of each model that takes part
        self.model: Any = self._attentive(in_precision(model.eval(), self.settings.precision))
        self._aligner = self._aligner_of(model)

    @classmethod
    def together(
        cls, runs: Sequence[Trained], settings: DecodingSettings | None = None, average: Average = "probabilities"
    ) -> Self:
        """Several runs as one: what they expect is averaged at each token. They must write the same vocabulary.

        Alignments are those of the first run.
        """
        first, *others = runs
        translator = cls(first.model, first.inputs, settings)
        for other in others:
            refuse_other_vocabulary(first, other)
        if others:
            precision = translator.settings.precision
            others_there = (run.model.to(translator.device).eval() for run in others)
            members = [translator.model, *(in_precision(model, precision) for model in others_there)]
            translator.model = Ensemble(members, average)
            translator._sides += [run.inputs for run in others]
        return translator

    def __call__(
        self, sentences: Sequence[str], *, prefix: str = "", first_row: int = 0, watch: Watch | None = None
    ) -> list[list[Translation]]:
        """For each sentence its `n_best` candidates, best first. A blank sentence has the blank translation alone.

        The candidates of beam search are different texts, fewer than `n_best` where it met no more; samples may be
        equal. Every candidate is made to begin with `prefix`. `first_row` numbers the sentences where they are a
        part of more: samples are drawn from (seed, number). `watch` is shown the steps of beam search.
        """
        results = [[NOTHING] for _ in sentences]
        read = self._read(sentences)
        lengths = [len(ids) for ids in read[0]]
        waiting = sorted((i for i, text in enumerate(sentences) if text.strip()), key=lambda i: lengths[i])
        while waiting:
            count = max(1, TOKENS_AT_ONCE // (lengths[waiting[-1]] + 1))
            waiting, rows = waiting[:-count], waiting[-count:]
            texts = [sentences[i] for i in rows]
            batches = [sources([ids[i] for i in rows], end=self.inputs.end) for ids in read]
            hypotheses = self._decoded(batches, prefix, [first_row + i for i in rows], watch)
            for i, found in zip(rows, self._translations(texts, hypotheses, prefix), strict=True):
                results[i] = self._ranked(found)
        return results

    def tree(self, sentence: str) -> tuple[list[Translation], BeamTree]:
        """The candidates for a sentence, and which hypotheses beam search kept, dropped and finished for them."""
        if self.settings.beam == 1 or not sentence.strip():
            raise SettingError("only a beam search of something grows a tree; give a sentence and a beam above 1")
        tree = BeamTree(self.settings.beam)
        (candidates,) = self([sentence], watch=tree)
        return candidates, tree

    def best(self, sentences: Sequence[str]) -> list[str]:
        """The best translation of each sentence."""
        return [candidates[0].text for candidates in self(sentences)]

    @torch.inference_mode()
    def score(self, sentences: Sequence[str], translations: Sequence[str]) -> list[float]:
        """Log p(translation | sentence) for each pair, the end included."""
        scores = [0.0] * len(sentences)
        written, read = self.inputs.target.encode(list(translations)), self._read(sentences)
        begin, end = self.inputs.begin, self.inputs.end
        waiting = sorted(range(len(sentences)), key=lambda i: max(len(written[i]), len(read[0][i])))
        while waiting:
            longest = max(len(written[waiting[-1]]), len(read[0][waiting[-1]])) + 1
            count = max(1, TOKENS_AT_ONCE // longest)
            waiting, rows = waiting[:-count], waiting[-count:]
            some = [written[i] for i in rows]
            batches = [pairs([ids[i] for i in rows], some, begin=begin, end=end) for ids in read]
            state = self._started(batches)
            first = batches[0].to(self.device)
            found_B = target_log_probability(self.model, state, first.input_BT, first.target_BT, first.real_BT).sum(1)
            for i, score in zip(rows, found_B.tolist(), strict=True):
                scores[i] = score
        return scores

    def _read(self, sentences: Sequence[str]) -> list[list[Numbers]]:
        """The token numbers of each sentence, for each model that takes part: they may cut the source differently."""
        return [inputs.source.encode(list(sentences)) for inputs in self._sides]

    def _started(self, batches: list[Pairs]) -> Any:
        there = [batch.to(self.device) for batch in batches]
        return self.model.start(there if len(there) > 1 else there[0])

    @torch.inference_mode()
    def _decoded(
        self, batches: list[Pairs], prefix: str, rows: list[int], watch: Watch | None
    ) -> list[list[Hypothesis]]:
        forced = self.inputs.target.encode([prefix] * len(rows)) if prefix else []
        target = self.inputs.target
        real_BS = batches[0].source_real_BS.to(self.device)
        return decoded(
            self.model,
            self._started(batches),
            self._search,
            first_B=torch.full((len(rows),), self.inputs.begin, device=self.device),
            end=self.inputs.end,
            steps=self.settings.steps(real_BS.sum(1)),
            forbidden=[token for token in target.unwritten() if not self._says_unknown or token != target.unknown],
            prefix=Prefix(*(tensor.to(self.device) for tensor in padded(forced))) if prefix else None,
            source_real_BS=real_BS,
            rows=rows,
            text_of=lambda row, tokens: target.decode(tokens),
            watch=watch,
        )

    def _ranked(self, candidates: list[Translation]) -> list[Translation]:
        """As many candidates as asked for, best first."""
        if self.settings.temperature:
            return sorted(candidates, key=lambda candidate: -candidate.score)
        by_text: dict[str, Translation] = {}
        for candidate in candidates:  # the search gives them best first, so the first of a text is its best
            by_text.setdefault(candidate.text, candidate)
        return list(by_text.values())[: self.settings.n_best]

    def _translations(
        self, sentences: Sequence[str], hypotheses: Sequence[Sequence[Hypothesis]], prefix: str
    ) -> list[list[Translation]]:
        """The hypotheses of each sentence as text, unknown words replaced where that is asked for."""
        forced = self.inputs.target.encode([prefix])[0].tolist() if prefix else []
        found = [
            [
                Translation(
                    self.inputs.target.decode([*forced, *each.tokens]),
                    each.score,
                    each.log_probability,
                    [*forced, *each.tokens],
                    each.log_probabilities,
                    each.finished,
                )
                for each in several
            ]
            for several in hypotheses
        ]
        self._replace_unknown(sentences, found)
        stops = self.settings.stop
        return [[each._replace(text=before_stop(each.text, stops)) for each in several] for several in found]

    def _replace_unknown(self, sentences: Sequence[str], found: list[list[Translation]]) -> None:
        """Give translations that have unknown words another text."""
        if self._aligner is None:
            return
        unknown = self.inputs.target.unknown
        places = [(i, n) for i, several in enumerate(found) for n, each in enumerate(several) if unknown in each.tokens]
        read = self.inputs.source.encode([sentences[i] for i, _ in places])
        weights = self._aligner(read, [np.array(found[i][n].tokens) for i, n in places])
        dictionary = self.inputs.dictionary if self.settings.unknown == "dictionary" else None
        for (i, n), weights_TS in zip(places, weights, strict=True):
            text = replaced(self.inputs, sentences[i], found[i][n].tokens, weights_TS, dictionary)
            found[i][n] = found[i][n]._replace(text=text)

    @property
    def _says_unknown(self) -> bool:
        return self.settings.unknown != "never"

    def _attentive(self, model: Any) -> Any:
        """The model, listened to where a search needs to know where it looks and it does not remember that itself."""
        wanted = self.settings.coverage_penalty and self.settings.beam > 1
        return Attentive(model) if wanted and not isinstance(model, Aligns) and alignment_taps(model) else model

    def _aligner_of(self, model: nn.Module) -> Aligner | None:
        """What finds the source of unknown words, where they are to be replaced."""
        if self.settings.unknown not in {"copy", "dictionary"}:
            return None
        if self.settings.unknown == "dictionary" and self.inputs.dictionary is None:
            raise SettingError(
                "unknown words shall be looked up (unknown = 'dictionary'), but the run has learnt no dictionary; "
                "learn one with `seqwright align RUN`, or set it to 'copy'"
            )
        if not alignment_taps(model):
            raise SettingError(
                f"unknown is '{self.settings.unknown}', which needs to know where the model looks, and this one has no "
                "attention to its source; set it to 'never' or 'keep'"
            )
        return Aligner(model, self.inputs)


def refuse_other_vocabulary(one: Trained, other: Trained) -> None:
    """Runs that write different tokens under the same number cannot be averaged."""
    mine, theirs = one.inputs.target, other.inputs.target
    difference = _difference(mine, theirs)
    if difference:
        raise RunError(
            f"{one.folder} and {other.folder} write different vocabularies: {difference}; runs that are joined need "
            "the same one for the target: train them on the same data with the same [inputs]"
        )


def _difference(mine: Tokenizer, theirs: Tokenizer) -> str:
    """What differs between two vocabularies, in a few words; nothing where they are the same."""
    if mine.kind != theirs.kind:
        return f"the tokens are of kind '{mine.kind}' and '{theirs.kind}'"
    if mine.size != theirs.size:
        return f"they have {mine.size:,} and {theirs.size:,} tokens"
    pieces = zip(mine.pieces(range(mine.size)), theirs.pieces(range(theirs.size)), strict=True)
    for number, (one, other) in enumerate(pieces):
        if one != other:
            return f"token {number} is '{one}' and '{other}'"
    return "" if mine.special == theirs.special else "their special tokens are not the same"
