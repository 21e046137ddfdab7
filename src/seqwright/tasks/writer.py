"""Going on with a text: a trained language model with its inputs and decoding settings.

B batch · T time
"""

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from seqwright.batches import padded
from seqwright.batches.text import prompts, shifted
from seqwright.decoding.beam import Hypotheses
from seqwright.decoding.scoring import Hypothesis
from seqwright.decoding.searching import ChosenTokens, Growth, run_search
from seqwright.decoding.settings import DecodingSettings, search
from seqwright.decoding.stepper import HasContext, Prefix
from seqwright.decoding.stopping import IN_PARTS, before_stop, sure
from seqwright.devices import device_of, in_precision
from seqwright.errors import DataError
from seqwright.inputs.plain_text import PlainText
from seqwright.inputs.tokenizers import Tokenizer

LONGEST = 200  # tokens written where the settings do not say
AT_ONCE = 64  # texts written or read together


class Continuation(NamedTuple):
    """How a text may go on."""

    prompt: str
    text: str  # the prompt and what was written after it
    score: float
    log_probability: float
    tokens: list[int]  # what was written, without the end
    token_log_probabilities: list[float]
    finished: bool  # the model ended the text itself, or wrote a stop string


class Surprise(NamedTuple):
    """How surprising each token of a text is to the model; the last one is its end."""

    text: str
    pieces: list[str]  # the tokens as the text has them
    bits: list[float]
    unknown: int  # how many of the tokens stand for what the vocabulary lacks


class Writer:
    """A language model that goes on with prompts: `writer(["To be", "…"])`."""

    def __init__(
        self, model: nn.Module, inputs: PlainText, settings: DecodingSettings | None = None, *, first: int | None = None
    ) -> None:
        """`first` is the token that stands before a text (`seqwright.tasks.language.first_token`)."""
        self.inputs, self.first = inputs, inputs.begin if first is None else first
        self.settings = settings or DecodingSettings()
        self.model: Any = in_precision(model.eval(), self.settings.precision)
        self.device = device_of(model)

    @property
    def context(self) -> int | None:
        """The most tokens that the model can read, what begins a text among them; None where there is no limit."""
        return self.model.context if isinstance(self.model, HasContext) else None

    def room(self, opening: str) -> int | None:
        """How many tokens can be written after an opening; the last one need not be read."""
        return None if self.context is None else self.context - len(self.inputs.tokenizer.encode([opening])[0])

    def __call__(
        self, openings: Sequence[str], *, tell: Callable[[str], None] | None = None, first_row: int = 0
    ) -> list[list[Continuation]]:
        """For each opening its `n_best` continuations; where the model's context ends, so does the writing.

        `tell`, for a single opening, is given the text piece by piece, the opening first, as soon as it is sure.
        `first_row` numbers the openings where they are a part of more: samples are drawn from (seed, number).
        """
        assert tell is None or len(openings) == 1, "texts that are written together would be told mixed up"
        encoded = self.inputs.tokenizer.encode(list(openings))
        for opening, ids in zip(openings, encoded, strict=True):
            self._require_room(opening, len(ids))
        found: list[list[Continuation]] = [[] for _ in openings]
        in_order = sorted(range(len(openings)), key=lambda i: len(encoded[i]))
        for first in range(0, len(openings), AT_ONCE):
            rows = in_order[first : first + AT_ONCE]
            given = [Prompt(openings[i], encoded[i].tolist(), self.inputs.tokenizer) for i in rows]
            speech = None if tell is None else StreamPrinter(tell, given[0], self.settings.stop)
            hypotheses = self._decoded(given, [first_row + i for i in rows], speech)
            for i, prompt, candidates in zip(rows, given, hypotheses, strict=True):
                found[i] = [self._continuation(prompt, hypothesis) for hypothesis in candidates]
            if speech is not None:
                speech.say(found[0][0].text)
        return found

    def stream(self, opening: str) -> Iterator[str]:
        """How a text goes on, piece by piece as soon as it is sure, the opening first; beam search cannot be sure."""
        (ids,) = self.inputs.tokenizer.encode([opening])
        self._require_room(opening, len(ids))
        pieces, prompt = list[str](), Prompt(opening, ids.tolist(), self.inputs.tokenizer)
        speech, steps = StreamPrinter(pieces.append, prompt, self.settings.stop), self._search([prompt], [0])
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                speech.say(self._continuation(prompt, end.value[0][0]).text)
                break
            if isinstance(step, ChosenTokens):
                speech.hear(int(step.row_B[0]), int(step.token_B[0]))
            yield from filter(None, pieces)
            pieces.clear()
        yield from filter(None, pieces)

    def _decoded(self, given: list["Prompt"], rows: list[int], speech: "StreamPrinter | None") -> Hypotheses:
        hear = None if speech is None else speech.hear

        def watch(step: Growth | ChosenTokens) -> None:
            if hear is not None and isinstance(step, ChosenTokens):
                for row, token in zip(step.row_B.tolist(), step.token_B.tolist(), strict=True):
                    hear(row, token)

        return run_search(self._search(given, rows), watch)

    @torch.inference_mode()
    def _search(self, given: list["Prompt"], rows: list[int]) -> Generator[Growth | ChosenTokens, None, Hypotheses]:
        encoded = [np.array(prompt.ids, dtype=np.int64) for prompt in given]
        prefix = Prefix(*(tensor.to(self.device) for tensor in padded(encoded)))
        longest = self.settings.longest or LONGEST
        steps = [longest if self.context is None else min(longest, self.context - len(ids)) for ids in encoded]
        return search(
            self.model,
            self.model.start(prompts(encoded).to(self.device)),
            self.settings,
            first_B=torch.full((len(encoded),), self.first, device=self.device),
            end=self.inputs.end,
            steps=torch.tensor(steps, device=self.device),
            forbidden=self.inputs.tokenizer.unwritten(),
            prefix=prefix if prefix.tokens_BT.shape[1] else None,
            rows=rows,
            text_of=lambda row, tokens: given[row].addition(tokens),
        )

    def _require_room(self, opening: str, tokens: int) -> None:
        if self.context is not None and tokens + 1 > self.context:
            line = " ".join(opening.split())
            shown = line if len(line) <= 40 else f"{line[:40]}…"
            raise DataError(
                f"the text '{shown}' has {tokens:,} tokens and one before it, but the model reads at most "
                f"{self.context:,}; shorten it"
            )

    @torch.inference_mode()
    def surprises(self, documents: Sequence[str]) -> list[Surprise]:
        """-log₂ p of each token of each text, its end included.

        A text longer than the model's context is read in windows that overlap by half.
        """
        encoded, unknowns = self.inputs.tokenizer.encode(list(documents)), self.inputs.tokenizer.unknowns
        rows = [np.concatenate(([self.first], ids, [self.inputs.end])) for ids in encoded]
        windows = [(row, window) for row in rows for window in reading_windows(len(row) - 1, self.context)]
        bits: list[float] = []
        for first in range(0, len(windows), AT_ONCE):
            some = windows[first : first + AT_ONCE]
            batch = shifted([row[window.low : window.high + 1] for row, window in some], fresh=True)
            logp_BT, _ = self.model.log_probability(batch.to(self.device), None)
            for logp_T, (_, window) in zip((-logp_BT.double() / math.log(2)).tolist(), some, strict=True):
                bits += logp_T[window.new - window.low : window.high - window.low]
        edges = np.cumsum([0, *(len(row) - 1 for row in rows)]).tolist()
        return [
            Surprise(document, [*self._pieces(ids.tolist()), ""], bits[low:high], unknowns(ids))
            for document, ids, (low, high) in zip(documents, encoded, pairwise(edges), strict=True)
        ]

    def _pieces(self, ids: list[int]) -> list[str]:
        """What each token adds to the text; a character that several tokens spell is added by the last of them."""
        pieces: list[str] = []
        anchor: list[int] = []  # the first tokens: only what follows others shows the space before it
        group: list[int] = []
        for token in ids:
            group.append(token)
            known = len(self.inputs.tokenizer.decode(anchor)) if anchor else 0
            text = self.inputs.tokenizer.decode([*anchor, *group])[known:]
            in_parts = text.endswith(IN_PARTS)
            pieces.append("" if in_parts else text)
            if not in_parts:
                anchor, group = anchor or group, []
        return [*pieces[:-1], text] if group else pieces

    def _continuation(self, prompt: "Prompt", hypothesis: Hypothesis) -> Continuation:
        return Continuation(
            prompt.opening,
            prompt.text + before_stop(prompt.addition(hypothesis.tokens), self.settings.stop),
            hypothesis.score,
            hypothesis.log_probability,
            hypothesis.tokens,
            hypothesis.log_probabilities,
            hypothesis.finished,
        )


class Prompt:
    """An opening, and what tokens add to it."""

    def __init__(self, opening: str, ids: list[int], tokenizer: Tokenizer) -> None:
        self.opening, self.ids, self.tokenizer = opening, ids, tokenizer
        self.text = tokenizer.decode(ids)

    def addition(self, tokens: list[int]) -> str:
        """What stands after the opening when these tokens follow it."""
        return self.tokenizer.decode([*self.ids, *tokens])[len(self.text) :]


class StreamPrinter:
    """Tells a text while it is written, as far as it is sure."""

    def __init__(self, tell: Callable[[str], None], prompt: Prompt, stops: Sequence[str]) -> None:
        self.tell, self.prompt, self.stops = tell, prompt, stops
        self.tokens: list[int] = []
        self.said = 0

    def hear(self, row: int, token: int) -> None:
        """One more token, perhaps the end."""
        self.tokens += [token] * (token != self.prompt.tokenizer.end)
        self.say(self.prompt.text + sure(self.prompt.addition(self.tokens), self.stops))

    def say(self, text: str) -> None:
        """Tell what has not been told of the text."""
        self.tell(text[self.said :])
        self.said = max(self.said, len(text))


class Window(NamedTuple):
    """A stretch of a text that is read at once; what stands before `new` was foretold already."""

    low: int
    high: int
    new: int


def reading_windows(tokens: int, context: int | None) -> Iterator[Window]:
    """Windows of at most `context` tokens that overlap by half, so that hardly a token has few others before it."""
    high = tokens if context is None else min(tokens, context)
    yield Window(0, high, 0)
    while context is not None and high < tokens:
        low, new = high - context // 2, high
        high = min(low + context, tokens)
        yield Window(low, high, new)
