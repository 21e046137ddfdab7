"""The next token: how probable documents are to a language model, token by token, and how it continues a text.

B batch · T time · N documents
"""

import math
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from seqwright.batches import Batches, Rows
from seqwright.batches.text import Text
from seqwright.decoding.settings import DecodingSettings
from seqwright.decoding.stopping import IN_PARTS
from seqwright.devices import device_of
from seqwright.inputs import Examples, Input, Stacked
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.metrics.language import Extent, extent, language_scores
from seqwright.outputs import Output, Report, Targets
from seqwright.outputs.continuations import Continuing, refuse_full
from seqwright.outputs.text import WrittenText
from seqwright.outputs.text_search import Search, TextCandidate

AT_ONCE = 64  # texts written together
SIGNATURES = {
    "loss": "nats per token, ends included",
    "perplexity": "per token, ends included",
    "bits_per_character": "Unicode characters; ends cost, but are none",
    "bits_per_byte": "UTF-8 bytes; ends cost, but are none",
    "word_perplexity": "words between white space; each end is one",
}


class ScoredText(NamedTuple):
    """How probable a document is to a model, in nats, its end included; nothing of one that was left out."""

    log_probability: float = 0.0
    tokens: int = 0  # the end is one of them
    unknown: int = 0  # how many of them stand for what the vocabulary lacks
    extent: Extent = Extent()  # of the document, as far as it was read


class Surprise(NamedTuple):
    """How surprising each token of a text is to the model; the last one is its end."""

    text: str
    pieces: list[str]  # the tokens as the text has them
    bits: list[float]
    unknown: int  # how many of the tokens stand for what the vocabulary lacks

    def __repr__(self) -> str:
        return f"Surprise({self.text!r}, {sum(self.bits):.4g} bits in {len(self.bits)} tokens)"


@dataclass(frozen=True)
class NextTokenOutput(Output[str, Text, ScoredText]):
    """What follows each token of a text: the tokens are those of the input."""

    tokenizer: Tokenizer
    cut: int | None = None  # most tokens of a document, where longer ones are cut
    file: ClassVar[str] = "next_token.json"
    writes: ClassVar[bool] = True
    signatures: ClassVar[Mapping[str, str]] = SIGNATURES
    score_names: ClassVar[tuple[str, ...]] = tuple(SIGNATURES)
    lower_is_better: ClassVar[frozenset[str]] = frozenset(SIGNATURES)

    @classmethod
    def learn(cls, train: Examples[str], settings: Any, input: Any, *, like: Any = None) -> Self:
        """The input's tokenizer."""
        cuts = input.overlong == "truncate" and not input.joins
        return cls(input.tokenizer, input.longest if cuts else None)

    def encode(self, examples: Examples[str], rows: Rows[Any], *, seed: int = 0) -> Targets:
        """The rows themselves: each token but the first is a target."""
        return Targets(rows, np.arange(len(rows.example_N)))

    def collate(self, stacked: Stacked, targets: Sequence[Any] | None) -> Text:
        """What is read and what should follow, which the input knows."""
        return Text(**stacked)

    def batches(self, rows: Any, targets: Targets | None, input: Any, *, tokens: int, seed: int = 0) -> Batches[Text]:
        """In the input's own order, if it has one; what a user types, each text by itself."""
        if targets is None and rows.typed:
            alone: Batches[Text] = input.alone(rows, tokens=tokens)
            return alone
        ordered: Batches[Text] | None = input.ordered(rows, tokens=tokens, seed=seed)
        return super().batches(rows, None, input, tokens=tokens, seed=seed) if ordered is None else ordered

    # ------------------------------------------------------------------------------------------------ predictions

    def predict(
        self, model: nn.Module, batches: Batches[Text], examples: Examples[str], decoding: Any = None
    ) -> Iterator[ScoredText]:
        """What each document costs; of texts that are read on, after all before it."""
        found: dict[int, NDArray[np.float64]] = defaultdict(lambda: np.zeros(3))
        for batch, logp_BT in _each_batch(model, batches):
            counted_BT = batch.loss_mask.numpy()
            number_M, place_M = np.unique(batch.examples().numpy()[counted_BT], return_inverse=True)
            unknown_M = self._is_unknown(batch.target_BT.numpy()[counted_BT])
            sums = [np.bincount(place_M, weight_M) for weight_M in (logp_BT[counted_BT], None, unknown_M)]
            for number, three in zip(number_M.tolist(), np.stack(sums, axis=1), strict=True):
                found[number] += three
        for number, text in enumerate(examples):
            logp, tokens, unknown = found[number].tolist() if number in found else (0.0, 0, 0)
            yield ScoredText(logp, int(tokens), int(unknown), self._extent(text, int(tokens)))

    def _is_unknown(self, ids: NDArray[Any]) -> NDArray[np.bool_]:
        return np.zeros(len(ids), dtype=np.bool_) if self.tokenizer.unknown is None else ids == self.tokenizer.unknown

    def _extent(self, text: str, tokens: int) -> Extent:
        """How long a document is, of which so many tokens were read, the end among them."""
        if self.cut is not None and tokens == self.cut + 1:  # what a user types is never cut
            (ids,) = self.tokenizer.encode([text])
            text = text if len(ids) <= self.cut else self.tokenizer.decode(ids[: self.cut].tolist())
        return extent(text) if tokens else Extent()

    def surprises(
        self, model: nn.Module, batches: Batches[Text], examples: Examples[str], decoding: Any = None
    ) -> Iterator[Surprise]:
        """-log₂ p of each token of each text that a user types; one longer than the context is read in windows."""
        found: dict[int, list[tuple[int, list[float]]]] = defaultdict(list)
        for batch, logp_BT in _each_batch(model, batches):
            assert batch.place_B is not None, "a text that is part of a longer one has no tokens of its own"
            counted_BT = batch.loss_mask.numpy()
            for row, (number, place) in enumerate(zip(batch.example_B.tolist(), batch.place_B.tolist(), strict=True)):
                found[number].append((place, (-logp_BT[row][counted_BT[row]] / math.log(2)).tolist()))
        for number, text in enumerate(examples):
            ids = self.tokenizer.encode([text])[0]
            bits = [each for _, window in sorted(found[number]) for each in window]
            yield Surprise(text, [*self._pieces(ids.tolist()), ""], bits, self.tokenizer.unknowns(ids))

    def _pieces(self, ids: list[int]) -> list[str]:
        """What each token adds to the text; a character that several tokens spell is added by the last of them."""
        pieces: list[str] = []
        anchor: list[int] = []  # the first tokens: only what follows others shows the space before it
        group: list[int] = []
        for token in ids:
            group.append(token)
            known = len(self.tokenizer.decode(anchor)) if anchor else 0
            text = self.tokenizer.decode([*anchor, *group])[known:]
            in_parts = text.endswith(IN_PARTS)
            pieces.append("" if in_parts else text)
            if not in_parts:
                anchor, group = anchor or group, []
        return [*pieces[:-1], text] if group else pieces

    # ------------------------------------------------------------------------------------------------ continuations

    def write(
        self, model: nn.Module, batches: Batches[Text], examples: Examples[str], decoding: Any = None
    ) -> Iterator[WrittenText]:
        """The continuation of each text, as the settings or a whole `Search` ask; it ends where the context does."""
        search, continuing = self._continuing(model, examples, decoding)
        found: dict[int, WrittenText] = {}
        for batch in batches.once():
            for low in range(0, len(batch), AT_ONCE):
                some = batch.rows(slice(low, low + AT_ONCE))
                numbers = some.example_B.tolist()
                several = continuing(some, [search.first + number for number in numbers])
                found |= {n: WrittenText(tuple(candidates)) for n, candidates in zip(numbers, several, strict=True)}
        return (found[number] for number, _ in enumerate(examples))

    def stream(
        self, model: nn.Module, batches: Batches[Text], examples: Examples[str], decoding: Any = None
    ) -> Generator[str, None, TextCandidate]:
        """The continuation of one text, piece by piece, the text itself first; the generator returns all of it."""
        search, continuing = self._continuing(model, examples, decoding, n_best=1)
        (batch,) = batches.once()
        return continuing.stream(batch, search.first)

    def _continuing(
        self, model: nn.Module, examples: Examples[str], decoding: Any, **changes: Any
    ) -> tuple[Search, Continuing]:
        search = decoding if isinstance(decoding, Search) else Search(decoding or DecodingSettings())
        texts = list(examples)
        for text, ids in zip(texts, self.tokenizer.encode(texts), strict=True):
            refuse_full(model, text, len(ids))
        search = search._replace(settings=search.settings.model_copy(update=changes))
        return search, Continuing(model.eval(), self.tokenizer, search)

    # ------------------------------------------------------------------------------------------------ scores

    def scores(self, predictions: Sequence[ScoredText], examples: Examples[str]) -> dict[str, float]:
        """Loss, perplexity and bits of all documents together."""
        nats = -math.fsum(each.log_probability for each in predictions)
        tokens = sum(each.tokens for each in predictions)
        return language_scores(nats, tokens, reduce(Extent.plus, (each.extent for each in predictions)))

    def report(self, predictions: Sequence[ScoredText], examples: Examples[str]) -> Report:
        """How many of the tokens are unknown."""
        unknown = sum(each.unknown for each in predictions)
        if not unknown:
            return Report()
        share = 100 * unknown / sum(each.tokens - 1 for each in predictions if each.tokens)
        told = f"{share:.2g} % of the tokens are unknown: the model need not say what stands there"
        return Report(notes=[f"{told}, so the scores are optimistic"])

    def target(self, example: str) -> bool:
        """That there is one: its own tokens, which nobody need keep."""
        return True

    def uncertainty(self, examples: int) -> None:
        """Nothing: a document may be a line or a book."""

    # ------------------------------------------------------------------------------------------------ told

    def line(self, prediction: ScoredText, top: int = 1) -> str:
        """What a token costs."""
        return f"{-prediction.log_probability / math.log(2) / max(prediction.tokens, 1):.2f} bits per token"

    def fields(self, prediction: ScoredText, top: int = 1) -> dict[str, Any]:
        """Tokens, and what they cost together."""
        return {"tokens": prediction.tokens, "log_probability": round(prediction.log_probability, 4)}

    def answer(self, prediction: ScoredText, example: str) -> dict[str, Any]:
        """As `fields`, to the last digit: scores can be made of it again."""
        return {**self.fields(prediction), "log_probability": prediction.log_probability}

    def answered(self, predictions: Sequence[ScoredText]) -> list[int]:
        """Those that were not left out."""
        return [number for number, prediction in enumerate(predictions) if prediction.tokens]

    def answers(
        self, predictions: Sequence[ScoredText], examples: Examples[str], input: Input[str, Any]
    ) -> Iterator[dict[str, Any]]:
        """What each document costs, but for those that were left out."""
        every = zip(predictions, super().answers(predictions, examples, input), strict=True)
        return (answer for prediction, answer in every if prediction.tokens)

    def part_sentence(self, examples: Examples[str], rows: Any) -> str:
        """`(33 tokens, 4.21 characters per token)`."""
        tokens = int(rows.lengths(None).sum())
        return f"({tokens:,} tokens, {rows.kept.extent.characters / max(tokens, 1):.2f} characters per token)"


@torch.inference_mode()
def _each_batch(model: Any, batches: Batches[Text]) -> Iterator[tuple[Text, NDArray[np.float64]]]:
    """Each batch and `logp_BT` of its targets, the state carried from batch to batch where the text continues."""
    device, carry = device_of(model), None
    for batch in batches.once():
        if batch.fresh_B.all():
            carry = None  # the rows may be others, and more or fewer
        logp_BT, carry = model.log_probability(batch.to(device), carry)
        yield batch, logp_BT.double().cpu().numpy()
