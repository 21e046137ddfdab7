"""Answering with a language model that learnt a task: text in, answer out, many at once.

B batch
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from seqwright.batches import Ids, padded
from seqwright.batches.prompted import joined
from seqwright.batches.text import prompts
from seqwright.data.examples import Pair
from seqwright.decoding.scoring import Hypothesis
from seqwright.decoding.settings import DecodingSettings, decoded
from seqwright.decoding.stepper import Prefix
from seqwright.decoding.stopping import before_stop
from seqwright.devices import device_of, in_precision
from seqwright.errors import DataError
from seqwright.inputs.prompt_text import PromptText
from seqwright.outputs.text import BLANK
from seqwright.outputs.text_search import Candidate

TOKENS_AT_ONCE = 4096  # of the prompts that are answered together


class Prompter:
    """A model that answers texts, the task token put after each: `prompter(["I am a student"])`."""

    def __init__(
        self, model: nn.Module, inputs: PromptText, settings: DecodingSettings | None = None, *, longest: int
    ) -> None:
        """`longest` is what training read at most of a text (`inputs.longest`), and the longest answer."""
        self.settings = settings or DecodingSettings()
        self.model: Any = in_precision(model.eval(), self.settings.precision)
        self.inputs, self.longest_answer = inputs, self.settings.longest or longest + 1
        room = min(self.longest_answer, self.context // 4)  # for the answer, however long the text is
        self.longest = min(longest, self.context - 2 - room)
        self.device = device_of(model)

    @property
    def context(self) -> int:
        """The most tokens that the model reads."""
        context: int = self.model.context
        return context

    def __call__(
        self,
        texts: Sequence[str],
        *,
        shots: Sequence[Sequence[Pair]] | None = None,
        prefix: str = "",
        first_row: int = 0,
    ) -> list[list[Candidate]]:
        """For each text its `n_best` answers, best first. A blank text has the blank answer alone.

        `shots` are examples, with their answers, that stand before each text. Every answer is made to begin with
        `prefix`. `first_row` numbers the texts where they are a part of more: samples are drawn from (seed, number).
        """
        results = [[BLANK] for _ in texts]
        encoded = self._encoded(texts, shots or [()] * len(texts))
        forced = self.inputs.tokenizer.encode([prefix])[0].tolist() if prefix else []
        self._require_room(encoded, forced)
        waiting = sorted((i for i, text in enumerate(texts) if text.strip()), key=lambda i: len(encoded[i]))
        while waiting:
            count = max(1, TOKENS_AT_ONCE // (len(encoded[waiting[-1]]) + 2))
            waiting, rows = waiting[:-count], waiting[-count:]
            hypotheses = self._decoded([encoded[i] for i in rows], forced, [first_row + i for i in rows])
            for i, candidates in zip(rows, hypotheses, strict=True):
                results[i] = [self._answer(candidate, forced) for candidate in candidates]
        return results

    def best(self, texts: Sequence[str]) -> list[str]:
        """The best answer to each text."""
        return [candidates[0].text for candidates in self(texts)]

    def cut(self, texts: Sequence[str]) -> int:
        """How many texts are longer than what is read, and so are not read to their end."""
        return sum(len(ids) > self.longest for ids in self.inputs.tokenizer.encode(list(texts)))

    def _encoded(self, texts: Sequence[str], shots: Sequence[Sequence[Pair]]) -> list[Ids]:
        """The tokens of each text, those of its examples before it."""
        encode, marks = self.inputs.tokenizer.encode, self.inputs.marks
        found: list[Ids] = []
        for text, several in zip(texts, shots, strict=True):
            *examples, asked = encode([*(side for pair in several for side in pair[:2]), text])
            turns = list(zip(examples[::2], examples[1::2], strict=True))
            before = [joined(turns, marks), [marks.end]] if turns else []
            found.append(np.concatenate([*before, asked[: self.longest]]).astype(np.int64))
        return found

    def _require_room(self, encoded: list[Ids], forced: list[int]) -> None:
        most, context = max(map(len, encoded), default=0) + len(forced) + 2, self.context
        if most > context:
            raise DataError(
                f"the examples, the text and what is around them have {most:,} tokens, but the model reads at most "
                f"{context:,}; give fewer examples"
            )

    @torch.inference_mode()
    def _decoded(self, encoded: list[Ids], forced: list[int], rows: list[int]) -> list[list[Hypothesis]]:
        marks = self.inputs.marks
        asked = [np.append(ids, [marks.task, *forced]) for ids in encoded]
        tokens_BT, real_BT = (tensor.to(self.device) for tensor in padded(asked))
        length_B1 = real_BT.sum(1, keepdim=True)
        # Words of the question may be said in the answer; only what the answer is made to begin with is said already.
        said_BT = real_BT & (torch.arange(real_BT.shape[1], device=self.device) >= length_B1 - len(forced))
        prefix = Prefix(tokens_BT, real_BT, said_BT)
        room_B = self.context - prefix.real_BT.sum(1)  # the last token that is written need not be read
        return decoded(
            self.model,
            self.model.start(prompts(asked).to(self.device)),
            self.settings,
            first_B=torch.full((len(rows),), marks.begin, device=self.device),
            end=marks.end,
            steps=room_B.clamp(min=1, max=self.longest_answer),
            forbidden=self.inputs.tokenizer.unwritten(),
            prefix=prefix,
            rows=rows,
            text_of=lambda row, tokens: self.inputs.tokenizer.decode(tokens),
        )

    def _answer(self, hypothesis: Hypothesis, forced: list[int]) -> Candidate:
        tokens = [*forced, *hypothesis.tokens]
        return Candidate(
            before_stop(self.inputs.tokenizer.decode(tokens), self.settings.stop),
            hypothesis.score,
            hypothesis.log_probability,
            tokens,
            hypothesis.log_probabilities,
            hypothesis.finished,
        )
