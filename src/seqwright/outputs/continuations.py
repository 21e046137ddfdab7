"""Continuing texts: a language model writes what follows them, all at once or piece by piece.

B batch · T time
"""

from collections.abc import Generator, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import nn

from seqwright.batches.text import Text
from seqwright.decoding.beam import Hypotheses
from seqwright.decoding.scoring import Hypothesis
from seqwright.decoding.searching import ChosenTokens, Growth, run_search
from seqwright.decoding.settings import search
from seqwright.decoding.stepper import HasContext, Prefix
from seqwright.decoding.stopping import before_stop, sure
from seqwright.devices import device_of, in_precision
from seqwright.errors import DataError, SettingError
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.layers.prepared import prepared_for
from seqwright.outputs.text_search import EngineHypothesis, Opening, Search, TextCandidate, serving

LONGEST = 200  # tokens written where the settings do not say


class Prompt:
    """A text to continue, and what tokens add to it."""

    def __init__(self, ids: list[int], tokenizer: Tokenizer) -> None:
        self.ids, self.tokenizer, self.text = ids, tokenizer, tokenizer.decode(ids)

    def addition(self, tokens: list[int]) -> str:
        """What stands after the text when these tokens follow it."""
        return self.tokenizer.decode([*self.ids, *tokens])[len(self.text) :]


class Continuing:
    """A model that continues texts: `continuing(batch, numbers)` has the candidates of each row.

    The text of a candidate begins with what it continues; its tokens are those that were written.
    """

    def __init__(self, model: nn.Module, tokenizer: Tokenizer, search: Search) -> None:
        self.given, self.search, self.settings = model, search, search.settings
        self.tokenizer, self.device = tokenizer, device_of(model)

    @cached_property
    def model(self) -> Any:
        """The model in the precision of the search, prepared for it."""
        return prepared_for(in_precision(self.given, self.settings.precision), self.settings.beam)

    def __call__(self, batch: Text, numbers: Sequence[int]) -> list[list[TextCandidate]]:
        """The `n_best` candidates of each row, best first; samples are drawn from (seed, number of the example)."""
        given = self._prompts(batch)
        opening = self._opening(batch, given)
        engine = serving(self.search, batch, opening)
        found: Sequence[Sequence[Hypothesis | EngineHypothesis]] = (
            run_search(self._search(batch, given, numbers))
            if engine is None
            else engine.decoded(batch, self.settings, opening, forbidden=self.tokenizer.unwritten())
        )
        return [[self._candidate(p, each) for each in several] for p, several in zip(given, found, strict=True)]

    def stream(self, batch: Text, number: int) -> Generator[str, None, TextCandidate]:
        """One text piece by piece as soon as it is sure, what it continues first; beam search cannot be sure."""
        if self.search.engine is not None and not self.search.engine.optional:
            raise SettingError("an engine writes texts whole: call the run, or load it without one to stream")
        given, tokens, told = self._prompts(batch), list[int](), 0
        steps, found = self._search(batch, given, [number]), None
        while found is None:
            try:
                step = next(steps)
            except StopIteration as end:
                found = self._candidate(given[0], end.value[0][0])
                text = found.text
            else:
                tokens += [token for token in _chosen(step) if token != self.tokenizer.end]
                text = given[0].text + sure(given[0].addition(tokens), self.settings.stop)
            if len(text) > told:
                yield text[told:]
                told = len(text)
        return found

    @torch.inference_mode()
    def _search(
        self, batch: Text, given: Sequence[Prompt], numbers: Sequence[int]
    ) -> Generator[Growth | ChosenTokens, None, Hypotheses]:
        batch = batch.to(self.device)
        return search(
            self.model,
            self.model.start(batch),
            self.settings,
            **self._opening(batch, given)._asdict(),
            end=self.tokenizer.end,
            forbidden=self.tokenizer.unwritten(),
            rows=numbers,
            text_of=lambda row, tokens: given[row].addition(tokens),
        )

    def _opening(self, batch: Text, given: Sequence[Prompt]) -> Opening:
        """What stands in each row, and as many tokens as the settings or the context allow."""
        longest = self.settings.longest or LONGEST
        rooms = [room_after(self.given, len(prompt.ids)) for prompt in given]
        steps = [longest if room is None else min(longest, room) for room in rooms]
        prompt = Prefix(batch.input_BT[:, 1:], batch.real_BT[:, 1:]) if batch.input_BT.shape[1] > 1 else None
        return Opening(batch.input_BT[:, 0], prompt, torch.tensor(steps, device=batch.input_BT.device))

    def _prompts(self, batch: Text) -> list[Prompt]:
        rows = zip(batch.input_BT, batch.real_BT, strict=True)
        return [Prompt(tokens_T[real_T][1:].tolist(), self.tokenizer) for tokens_T, real_T in rows]

    def _candidate(self, prompt: Prompt, found: Hypothesis | EngineHypothesis) -> TextCandidate:
        text = prompt.text + before_stop(prompt.addition(found.tokens), self.settings.stop)
        scores = found.score, found.log_probability
        return TextCandidate(text, *scores, found.tokens, found.log_probabilities, found.finished)


def _chosen(step: Growth | ChosenTokens) -> list[int]:
    return step.token_B.tolist() if isinstance(step, ChosenTokens) else []


def room_after(model: nn.Module, tokens: int) -> int | None:
    """How many tokens can be written after so many; the last one need not be read. None where there is no limit."""
    context = model.context if isinstance(model, HasContext) else None
    return None if context is None else context - tokens


def refuse_full(model: nn.Module, text: str, tokens: int) -> None:
    """Refuse a text after which the model has no room to write."""
    room = room_after(model, tokens)
    if room is not None and room < 1:
        line = " ".join(text.split())
        raise DataError(
            f"the text '{line if len(line) <= 40 else f'{line[:40]}…'}' has {tokens:,} tokens and one before it, but "
            f"the model reads at most {room + tokens:,}; shorten it"
        )
