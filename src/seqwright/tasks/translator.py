"""Translating sentences with a trained model: text in, text out, many at once.

B batch · T target
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

from seqwright.batches import padded
from seqwright.batches.pairs import pairs, sources
from seqwright.decoding.scoring import Hypothesis, target_log_probability
from seqwright.decoding.settings import DecodingSettings, decoded
from seqwright.decoding.stepper import Prefix
from seqwright.decoding.stopping import before_stop
from seqwright.devices import home_of
from seqwright.inputs.pair_text import PairText

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


class Translator:
    """A trained model with its inputs and decoding settings: `translator(["…", "…"])`."""

    def __init__(self, model: nn.Module, inputs: PairText, settings: DecodingSettings | None = None) -> None:
        self.model: Any = model.eval()
        self.inputs = inputs
        self.settings = settings or DecodingSettings()
        several = self.settings.n_best > 1 and not self.settings.temperature
        # A text may be found in several segmentations: with all that the beam holds, others can take their places.
        self._search = self.settings.model_copy(update={"n_best": self.settings.beam}) if several else self.settings
        self.device = home_of(model)

    def __call__(self, sentences: Sequence[str], *, prefix: str = "", first_row: int = 0) -> list[list[Translation]]:
        """For each sentence its `n_best` candidates, best first. A blank sentence has the blank translation alone.

        The candidates of beam search are different texts, fewer than `n_best` where it met no more; samples may be
        equal. Every candidate is made to begin with `prefix`. `first_row` numbers the sentences where they are a
        part of more: samples are drawn from (seed, number).
        """
        results = [[NOTHING] for _ in sentences]
        encoded = self.inputs.source.encode(list(sentences))
        waiting = sorted((i for i, text in enumerate(sentences) if text.strip()), key=lambda i: len(encoded[i]))
        while waiting:
            count = max(1, TOKENS_AT_ONCE // (len(encoded[waiting[-1]]) + 1))
            waiting, rows = waiting[:-count], waiting[-count:]
            hypotheses = self._decoded([encoded[i] for i in rows], prefix, [first_row + i for i in rows])
            for i, candidates in zip(rows, hypotheses, strict=True):
                results[i] = self._ranked([self._translation(candidate, prefix) for candidate in candidates])
        return results

    def best(self, sentences: Sequence[str]) -> list[str]:
        """The best translation of each sentence."""
        return [candidates[0].text for candidates in self(sentences)]

    @torch.inference_mode()
    def score(self, sentences: Sequence[str], translations: Sequence[str]) -> list[float]:
        """Log p(translation | sentence) for each pair, the end included."""
        encoded = self.inputs.source.encode(list(sentences)), self.inputs.target.encode(list(translations))
        scores: list[float] = []
        for i in range(0, len(sentences), 64):
            rows = slice(i, i + 64)
            batch = pairs(encoded[0][rows], encoded[1][rows], begin=self.inputs.begin, end=self.inputs.end).to(
                self.device
            )
            state = self.model.start(batch)
            logp_BT = target_log_probability(self.model, state, batch.given_BT, batch.wanted_BT, batch.real_BT)
            scores += logp_BT.sum(1).tolist()
        return scores

    @torch.inference_mode()
    def _decoded(self, encoded: list[Any], prefix: str, rows: list[int]) -> list[list[Hypothesis]]:
        batch = sources(encoded, end=self.inputs.end).to(self.device)
        forced = self.inputs.target.encode([prefix] * len(rows)) if prefix else []
        return decoded(
            self.model,
            self.model.start(batch),
            self._search,
            first_B=torch.full((len(rows),), self.inputs.begin, device=self.device),
            end=self.inputs.end,
            steps=self.settings.steps(batch.source_real_BS.sum(1)),
            forbidden=self.inputs.target.unwritten(),
            prefix=Prefix(*(tensor.to(self.device) for tensor in padded(forced))) if prefix else None,
            rows=rows,
            text_of=lambda row, tokens: self.inputs.target.decode(tokens),
        )

    def _ranked(self, candidates: list[Translation]) -> list[Translation]:
        """As many candidates as asked for, best first."""
        if self.settings.temperature:
            return sorted(candidates, key=lambda candidate: -candidate.score)
        by_text: dict[str, Translation] = {}
        for candidate in candidates:  # the search gives them best first, so the first of a text is its best
            by_text.setdefault(candidate.text, candidate)
        return list(by_text.values())[: self.settings.n_best]

    def _translation(self, hypothesis: Hypothesis, prefix: str) -> Translation:
        tokens = hypothesis.tokens
        if prefix:
            tokens = [*self.inputs.target.encode([prefix])[0].tolist(), *tokens]
        return Translation(
            before_stop(self.inputs.target.decode(tokens), self.settings.stop),
            hypothesis.score,
            hypothesis.log_probability,
            tokens,
            hypothesis.log_probabilities,
            hypothesis.finished,
        )
