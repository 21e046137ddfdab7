"""Going on with a text: a trained language model with its inputs and decoding settings.

B batch · T time
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

from seqwright.batches import padded
from seqwright.batches.text import prompts, texts
from seqwright.decoding.scoring import Hypothesis
from seqwright.decoding.settings import DecodingSettings, decoded
from seqwright.decoding.stepper import Prefix
from seqwright.devices import home_of
from seqwright.inputs.plain_text import PlainText
from seqwright.inputs.tokenizers import BEGIN, PAD, UNKNOWN

LONGEST = 200  # tokens written where the settings do not say


class Continuation(NamedTuple):
    """How a text may go on."""

    prompt: str
    text: str  # the prompt and what was written after it
    score: float
    log_probability: float
    tokens: list[int]  # what was written, without the end
    token_log_probabilities: list[float]
    finished: bool  # the model ended the text itself


class Surprise(NamedTuple):
    """How surprising each token of a text is to the model; the last one is its end."""

    text: str
    pieces: list[str]  # the tokens as the text has them
    bits: list[float]
    unknown: int  # how many of the tokens stand for what the vocabulary lacks


class Writer:
    """A language model that goes on with prompts: `writer(["To be", "…"])`."""

    def __init__(
        self, model: nn.Module, inputs: PlainText, settings: DecodingSettings | None = None, *, first: int = BEGIN
    ) -> None:
        """`first` is the token that stands before a text (`seqwright.tasks.language.first_token`)."""
        self.model: Any = model.eval()
        self.inputs, self.first = inputs, first
        self.settings = settings or DecodingSettings()
        self.device = home_of(model)

    @torch.inference_mode()
    def __call__(
        self, openings: Sequence[str], *, tell: Callable[[str], None] | None = None
    ) -> list[list[Continuation]]:
        """For each opening its `n_best` continuations. `tell` is given the text of the first piece by piece."""
        encoded = self.inputs.tokenizer.encode(list(openings))
        prefix = Prefix(*(tensor.to(self.device) for tensor in padded(encoded)))
        hypotheses = decoded(
            self.model,
            self.model.start(prompts(encoded).to(self.device)),
            self.settings,
            first_B=torch.full((len(encoded),), self.first, device=self.device),
            end=self.inputs.end,
            steps=self.settings.longest or LONGEST,
            forbidden=(PAD, UNKNOWN, BEGIN),
            prefix=prefix if prefix.tokens_BT.shape[1] else None,
            tell=None if tell is None else self._teller(encoded[0].tolist(), tell),
        )
        return [
            [self._continuation(opening, row.tolist(), hypothesis) for hypothesis in candidates]
            for opening, row, candidates in zip(openings, encoded, hypotheses, strict=True)
        ]

    @torch.inference_mode()
    def surprises(self, documents: Sequence[str]) -> list[Surprise]:
        """-log₂ p of each token of each text, its end included."""
        encoded = self.inputs.tokenizer.encode(list(documents))
        batch = texts(encoded, begin=self.first, end=self.inputs.end).to(self.device)
        logp_BT, _ = self.model.log_probability(batch, None)
        bits_BT = (-logp_BT.double() / torch.log(torch.tensor(2.0, dtype=torch.float64))).tolist()
        return [
            Surprise(document, [*self._pieces(row.tolist()), ""], bits[: len(row) + 1], int((row == UNKNOWN).sum()))
            for document, row, bits in zip(documents, encoded, bits_BT, strict=True)
        ]

    def _pieces(self, ids: list[int]) -> list[str]:
        """What each token adds to the text; only the first one can lose the space before it."""
        if not ids:
            return []
        decode, first = self.inputs.tokenizer.decode, ids[0]
        opening = decode([first])
        return [opening, *(decode([first, token])[len(opening) :] for token in ids[1:])]

    def _teller(self, ids: list[int], tell: Callable[[str], None]) -> Callable[[int, int], None]:
        """Turns the tokens of the first row into text as they come."""
        said = self.inputs.tokenizer.decode(ids)

        def hear(row: int, token: int) -> None:
            nonlocal said
            if row == 0 and token != self.inputs.end:
                ids.append(token)
                text = self.inputs.tokenizer.decode(ids)
                tell(text[len(said) :])
                said = text

        return hear

    def _continuation(self, opening: str, ids: list[int], hypothesis: Hypothesis) -> Continuation:
        return Continuation(
            opening,
            self.inputs.tokenizer.decode([*ids, *hypothesis.tokens]),
            hypothesis.score,
            hypothesis.log_probability,
            hypothesis.tokens,
            hypothesis.log_probabilities,
            hypothesis.finished,
        )
