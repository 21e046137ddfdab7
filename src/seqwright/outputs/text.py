"""Text, written token by token: the translation of a sentence, the summary of a text, what an image shows.

A model that writes is a Stepper; its `start` takes the batches that `collate` makes.

B batch · N rows · T target · V vocabulary
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from seqwright.batches import Batch, Batches, Cut, Ids, Numbers, Rows, padded
from seqwright.batches.joint import Joint
from seqwright.batches.pairs import Pairs, decoder_rows
from seqwright.decoding.ensemble import Ensemble
from seqwright.decoding.scoring import target_log_probability
from seqwright.decoding.settings import DecodingSettings
from seqwright.decoding.stepper import Prefix
from seqwright.devices import device_of
from seqwright.errors import DataError, SettingError
from seqwright.inputs import Examples, Input, Stacked
from seqwright.inputs.dictionary import Dictionary, load_dictionary
from seqwright.inputs.saved import load_fields, plain_fields, save_json
from seqwright.inputs.token_rows import Resampling, token_rows
from seqwright.inputs.tokenizers import Kind, Tokenizer
from seqwright.metrics.text import exact_match_by_kind, perplexity
from seqwright.outputs import Output, Report, Targets
from seqwright.outputs.text_scores import LOWER_IS_BETTER, NAMES, ScoresSettings, Scoring, Written, scored
from seqwright.outputs.text_search import Opening, Search, Searcher, TextCandidate
from seqwright.setting_classes import Settings

TOKENS_AT_ONCE = 2048  # of what is read in a decoding batch: more does not go faster on a CPU
Overlong = Literal["drop", "truncate", "refuse"]
SIGNATURES = {"loss": "nats per token, ends included", "perplexity": "per token, ends included"}


class TextOutputSettings(ScoresSettings):
    """How texts that are written become tokens, where they have a vocabulary of their own, and how they are scored.

    With `input.shared` only `scores` can be set.
    """

    tokenizer: Kind | None = None
    """What a token is; left out: as in [input]."""
    vocabulary: int | None = Field(default=None, ge=5)
    """The largest number of different tokens; left out: as in [input]."""
    normalise: Literal["none", "nfc", "nfkc", "nfd", "nfkd"] | None = None
    """The Unicode form into which text is brought first; left out: as in [input]."""
    lowercase: bool | None = None
    """Whether capital letters become small ones; left out: as in [input]."""
    min_frequency: int | None = Field(default=None, ge=1)
    """How often something must occur to become a token; left out: as in [input]."""


class HasText(Protocol):
    """An example with a text that should be written; a blank one where it is not known."""

    @property
    def source(self) -> str:
        """What it is written from, as a user would type it."""

    @property
    def target(self) -> str:
        """The text."""

    @property
    def kind(self) -> str:
        """A group to report scores by; empty where there are none."""


class WrittenText(NamedTuple):
    """The texts that were found for an example, best first; none for one that cannot be read."""

    candidates: tuple[TextCandidate, ...] = ()

    @property
    def best(self) -> TextCandidate:
        """The best one; a blank text if there is none."""
        return self.candidates[0] if self.candidates else BLANK

    @property
    def text(self) -> str:
        """The best text."""
        return self.best.text

    def __repr__(self) -> str:
        more = f" and {len(self.candidates) - 1} more" if len(self.candidates) > 1 else ""
        return f"WrittenText({self.text!r}{more})"


BLANK = TextCandidate("", 0.0, 0.0, [], [], True)


@dataclass(frozen=True)
class TextOutput(Output[HasText, Any, WrittenText]):
    """The tokenizer of what is written, how long it may be in training, and how it is scored.

    `source` is the tokenizer of what is read, where that is text: the same one where the vocabulary is shared.
    """

    tokenizer: Tokenizer
    source: Tokenizer | None
    scoring: Scoring
    lowercase: bool
    longest: int | None  # most tokens in training, also of what is read; None: any number
    overlong: Overlong
    dropout: float = 0.0  # BPE-dropout of the targets
    dictionary: Dictionary | None = None  # the translation of single words, learnt from alignments after training
    settings: ClassVar[type[Settings]] = TextOutputSettings
    file: ClassVar[str] = "writing.json"
    batch: ClassVar[type[Batch]] = Pairs
    writes: ClassVar[bool] = True
    lower_is_better: ClassVar[frozenset[str]] = LOWER_IS_BETTER
    signatures: ClassVar[Mapping[str, str]] = SIGNATURES
    decodes: ClassVar[bool] = True
    section: ClassVar[str] = "input"  # where it is set how long a text may be

    @classmethod
    def learn(cls, train: Examples[HasText], settings: TextOutputSettings, input: Any, *, like: Any = None) -> Self:
        """The input's own tokenizer where that is shared; otherwise one trained on the texts."""
        given = settings.model_dump(exclude_none=True, exclude={"scores"})
        if input.shared is not None and given:
            raise SettingError(
                f"output.{next(iter(given))} is set, but what is read and what is written share a vocabulary, which "
                "[input] describes; leave it out, or set input.shared=false"
            )
        own = input.learnt_with.model_copy(update=given)
        tokenizer = input.shared or Tokenizer.train((example.target for example in train), own)
        if own.bpe_dropout and own.tokenizer != "bpe":
            raise SettingError(
                f"input.bpe_dropout is {own.bpe_dropout}, but output.tokenizer is {own.tokenizer}; set it to 0 or "
                "choose bpe"
            )
        rest = settings.scores or "bleu", own.lowercase, own.longest, own.overlong
        return cls(tokenizer, input.tokenizer, *rest, dropout=own.bpe_dropout)

    @property
    def shared(self) -> bool:
        """Whether what is read and what is written have one vocabulary."""
        return self.source is self.tokenizer

    # ------------------------------------------------------------------------------------------------ batches

    def encode(self, examples: Examples[HasText], rows: Rows[Any], *, seed: int = 0) -> Targets:
        """The tokens of each text; those that are not blank can be learnt from."""
        number_N = rows.example_N
        known = np.fromiter((bool(example.target.strip()) for example in examples), dtype=bool)
        if len(known) and not known[number_N].any():
            raise DataError(f"{examples.name} has no example with both something to read and a text; give it some")

        def texts() -> Iterator[str]:
            read = set(number_N.tolist())
            return (example.target for number, example in enumerate(examples) if number in read)

        resampling = Resampling(self.dropout, seed, self.longest or math.inf)
        found = token_rows(self.tokenizer, examples, "target", texts, resampling)
        return Targets(found, np.flatnonzero(known[number_N]))

    def collate(self, stacked: Stacked, targets: Sequence[Ids] | None) -> Any:
        """What is read, with `begin y` for the decoder to read and `y end` for it to say."""
        count, ends = len(next(iter(stacked.values()))), {"begin": self.tokenizer.begin, "end": self.tokenizer.end}
        return self.batch(**stacked, **decoder_rows(targets, count, **ends))

    def batches(
        self, rows: Rows[Any], targets: Targets | None, input: Input[Any, Any], *, tokens: int, seed: int = 0
    ) -> Batches[Any]:
        """Rows of like length together; of what is longer than training allows, `overlong` decides."""
        if targets is None:
            return super().batches(rows, None, input, tokens=min(tokens, TOKENS_AT_ONCE), seed=seed)
        rows, targets = self.learnable(rows, targets)
        return super().batches(rows, targets, input, tokens=tokens, seed=seed)

    def learnable(self, rows: Rows[Any], targets: Targets) -> tuple[Rows[Any], Targets]:
        """The rows and targets as far as training allows; of longer ones `overlong` decides."""
        long_N = self._overlong(rows, targets)
        if self.overlong == "truncate" and self.longest is not None:
            return Cut(rows, self.longest), targets._replace(rows=Cut(targets.rows, self.longest))
        return rows, targets._replace(learnable=targets.learnable[~long_N[targets.learnable]])

    def read_lengths(self, rows: Rows[Any]) -> Numbers:
        """`length_NS` of what is read, which may be too long to learn from."""
        return rows.lengths(None)

    def _overlong(self, rows: Rows[Any], targets: Targets) -> NDArray[np.bool_]:
        """True for each row that is too long, on either side, to learn from."""
        length_N = np.concatenate((self.read_lengths(rows), targets.rows.lengths(None)), axis=1).max(1)
        long_N: NDArray[np.bool_] = length_N > (self.longest or math.inf)
        if self.overlong == "refuse" and long_N.any():
            raise DataError(
                f"example {int(rows.example_N[long_N][0]) + 1} has {int(length_N[long_N][0])} tokens on a side, more "
                f"than {self.section}.longest = {self.longest}; raise it, or set {self.section}.overlong to drop or "
                "truncate"
            )
        return long_N

    def unlimited(self) -> "TextOutput":
        """The same for texts of any length."""
        return replace(self, longest=None)

    # ------------------------------------------------------------------------------------------------ predictions

    def predict(
        self, model: Any, batches: Batches[Any], examples: Examples[HasText], decoding: Any = None
    ) -> Iterator[WrittenText]:
        """The best texts for each example, as the settings or a whole `Search` want them."""
        search = decoding if isinstance(decoding, Search) else Search(decoding or DecodingSettings())
        writes: Any = self
        searcher = Searcher(writes, model, search)
        sources = [example.source for example in examples]
        found: dict[int, WrittenText] = {}
        for batch in batches.once():
            numbers = (batch.first if isinstance(batch, Joint) else batch).example_B.tolist()
            several = searcher(batch, [sources[number] for number in numbers])
            found |= {n: WrittenText(tuple(candidates)) for n, candidates in zip(numbers, several, strict=True)}
        return (found.get(number, WrittenText()) for number in range(len(sources)))

    def stream(
        self, model: Any, batches: Batches[Any], examples: Examples[HasText], decoding: Any = None
    ) -> Iterator[str]:
        """The text for one example, piece by piece; the best one that there is, of several."""
        search = decoding if isinstance(decoding, Search) else Search(decoding or DecodingSettings())
        if search.engine is not None and not search.engine.optional:
            raise SettingError("an engine writes texts whole: call the run, or load it without one to stream")
        search = search._replace(settings=search.settings.model_copy(update={"n_best": 1}))
        writes: Any = self
        (example,), waiting = list(examples), list(batches.once())
        if not waiting:
            raise DataError("there is nothing to read, and nothing to write of it")
        return Searcher(writes, model, search).stream(waiting[0], example.source)

    def opening(self, model: Any, batch: Any, forced: Ids, settings: DecodingSettings) -> Opening:
        """`begin`, then what is forced; as many tokens may follow as the settings or training allow."""
        device, real_BS = batch.input.device, batch.real
        first_B = torch.full((len(batch),), self.tokenizer.begin, device=device)
        prefix = Prefix(*(tensor.to(device) for tensor in padded([forced] * len(batch)))) if len(forced) else None
        if real_BS is None:
            return Opening(first_B, prefix, settings.longest or (self.longest or TOKENS_AT_ONCE) + 1)
        return Opening(first_B, prefix, settings.steps(real_BS.sum(1)))

    @torch.inference_mode()
    def log_probability(self, model: Any, batches: Batches[Any]) -> tuple[float, int]:
        """Log p of all targets of some batches, their ends included, and how many tokens these are."""
        first: Any = model.members[0] if isinstance(model, Ensemble) else model
        device = device_of(first)
        total, count = 0.0, 0
        for batch in batches.once():
            logp_N = self.token_log_probabilities(model, batch.to(device))
            total, count = total + float(logp_N.sum()), count + len(logp_N)
        return total, count

    def token_log_probabilities(self, model: Any, batch: Any) -> Tensor:
        """`logp_N` of each token that counts in the loss."""
        if isinstance(batch, Joint):
            first = batch.first
            sides = first.input_BT, first.target_BT, first.real_BT
            return target_log_probability(model, model.start(batch), *sides)[first.loss_mask]
        logits_NV, target_N = self.target_logits(model, batch).float(), batch.target_BT[batch.loss_mask]
        return logits_NV.gather(-1, target_N.unsqueeze(-1)).squeeze(-1) - logits_NV.logsumexp(-1)

    def target_logits(self, model: Any, batch: Any) -> Tensor:
        """`logits_NV` at each token that counts in the loss."""
        logits_BTV, _ = model(batch, None)
        logits_NV: Tensor = logits_BTV[batch.loss_mask]
        return logits_NV

    def losses(self, model: nn.Module, batches: Batches[Any]) -> dict[str, float]:
        """Mean negative log-likelihood per token, and its perplexity."""
        total, count = self.log_probability(model, batches)
        return {"loss": -total / count, "perplexity": perplexity(-total, count)}

    # ------------------------------------------------------------------------------------------------ scores

    @property
    def score_names(self) -> tuple[str, ...]:
        """Of the loss, and of what is decoded."""
        return ("loss", "perplexity", *NAMES[self.scoring])

    def scores(self, predictions: Sequence[WrittenText], examples: Examples[HasText]) -> dict[str, float]:
        """Those of what was decoded."""
        found = scored(self.scoring, self._written(predictions, examples), lowercase=self.lowercase)
        return {name: score.value for name, score in found.items()}

    def report(self, predictions: Sequence[WrittenText], examples: Examples[HasText]) -> Report:
        """Exact matches by kind of example, and how the scores were made."""
        pairs = self._written(predictions, examples)
        texts, targets, kinds = ([getattr(pair, name) for pair in pairs] for name in ("text", "target", "kind"))
        groups = exact_match_by_kind(texts, targets, kinds, lowercase=self.lowercase)
        counted = pairs if self.scoring == "word-error-rate" else pairs[:1]  # the others count nothing
        signatures = scored(self.scoring, counted, lowercase=self.lowercase)
        return Report(
            groups={kind: (m.matched, m.total) for kind, m in groups.items() if kind},
            signatures={name: score.signature for name, score in signatures.items()},
        )

    def _written(self, predictions: Sequence[WrittenText], examples: Iterable[HasText]) -> list[Written]:
        """What was written for the examples that were read and have a text."""
        both = zip(predictions, examples, strict=True)
        some = ((found, example) for found, example in both if found.candidates and example.target.strip())
        return [Written(each.source, found.text, each.target, each.kind) for found, each in some]

    def target(self, example: HasText) -> Any:
        """The text."""
        return example.target if example.target.strip() else None

    def uncertainty(self, examples: int) -> str:
        """95 % of a binomial, where it is widest."""
        if "exact" not in self.score_names:
            return ""
        return f", exact match by up to ± {196 * math.sqrt(0.25 / examples):.0f} %"

    # ------------------------------------------------------------------------------------------------ told

    def part_sentence(self, examples: Examples[HasText], rows: Rows[Any]) -> str:
        """`(not in the loss: 3 with a blank target, 2 too long)`."""
        targets = self.encode(examples, rows)
        blank = len(rows.example_N) - len(targets.learnable)
        long = int(self._overlong(rows, targets)[targets.learnable].sum())
        told = {"with a blank target": blank, "too long": long if self.overlong == "drop" else 0}
        left_out = [f"{count:,} {why}" for why, count in told.items() if count]
        told_cut = [f"cut: {long:,} too long"] if long and self.overlong == "truncate" else []
        sentence = "; ".join(([f"not in the loss: {', '.join(left_out)}"] if left_out else []) + told_cut)
        return f"({sentence})" if sentence else ""

    def part_remarks(self, examples: Examples[HasText]) -> list[str]:
        """Letters that the vocabulary lacks."""
        return self.tokenizer.remarks((example.target for example in examples), f"targets of {examples.name}")

    def line(self, prediction: WrittenText, top: int = 1) -> str:
        """The best texts, a line each."""
        return "\n".join(each.text for each in prediction.candidates[:top])

    def fields(self, prediction: WrittenText, top: int = 1) -> dict[str, Any]:
        """The best text with its score, and the others."""
        best = prediction.best
        told = {"text": best.text, "score": best.score, "log_probability": best.log_probability}
        return {**told, "finished": best.finished, "texts": [each.text for each in prediction.candidates[:top]]}

    def answer(self, prediction: WrittenText, example: HasText) -> dict[str, Any]:
        """What should have been written, and what was."""
        best = prediction.best
        return {"reference": example.target, "hypothesis": best.text, "score": round(best.score, 4)}

    # ------------------------------------------------------------------------------------------------ the run folder

    def sizes(self) -> dict[str, Any]:
        """The vocabulary of what is written."""
        return {"target_vocabulary": self.tokenizer.size, "shared": self.shared}

    def save(self, folder: str | Path) -> None:
        """Write the tokenizer, where it is not the input's, and how texts are scored."""
        if not self.shared:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.tokenizer.save(Path(folder, "tokenizer.json"))
        save_json(Path(folder, self.file), plain_fields(self, without={"tokenizer", "source", "dictionary"}))

    @classmethod
    def load(cls, folder: str | Path, input: Any) -> Self:
        """Read what `save` wrote, and the dictionary that was learnt later, if one was."""
        tokenizer = input.shared or Tokenizer.load(Path(folder, "tokenizer.json"))
        known = {"tokenizer": tokenizer, "source": input.tokenizer, "dictionary": load_dictionary(Path(folder))}
        return load_fields(cls, Path(folder, cls.file), **known)
