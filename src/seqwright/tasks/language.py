"""Language modelling: documents joined or kept apart, one tokenizer, perplexity and bits.

B batch · T time · N documents
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from seqwright.batches.bucketed import Bucketed
from seqwright.batches.packed import PackedBatches
from seqwright.batches.text import StreamBatches, texts
from seqwright.batches.windows import WindowBatches
from seqwright.data.examples import PartName
from seqwright.data.text import TextData
from seqwright.devices import device_of
from seqwright.errors import SettingError
from seqwright.inputs.plain_text import PlainText
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.lineage import model_row
from seqwright.metrics.language import language_scores
from seqwright.recipe import Recipe
from seqwright.tasks import Checked, Evaluation, Prepared, refuse_missing_part
from seqwright.tasks.text_check import TextBatches, checked_texts
from seqwright.tasks.writer import Continuation, Writer
from seqwright.text_cache import Rules, TokenisedTexts, tokenised_texts

SCORES = ("loss", "perplexity", "bits_per_character", "bits_per_byte", "word_perplexity")
SIGNATURES = {
    "loss": "nats a token, ends included",
    "perplexity": "a token, ends included",
    "bits_per_character": "Unicode characters; ends cost, but are none",
    "bits_per_byte": "UTF-8 bytes; ends cost, but are none",
    "word_perplexity": "words between white space; each end is one",
}


class LanguageTask:
    """See `seqwright.tasks.Task`."""

    def learnt_inputs(self, recipe: Recipe, data: TextData, tokenizer: Tokenizer | None = None) -> PlainText:
        """The tokenizer learnt from the training part, or a given one."""
        return PlainText(tokenizer or Tokenizer.train(data.examples("train"), recipe.input))

    def loaded_inputs(self, folder: Path) -> PlainText:
        """The tokenizer of a run."""
        return PlainText.load(folder)

    def prepared(self, recipe: Recipe, data: TextData, inputs: PlainText) -> Prepared:
        """Both parts tokenised; batches of the one, judgement on the other."""
        require_room(recipe)
        train, valid = (tokenised(recipe, data, inputs, part) for part in ("train", "valid"))
        notes = [f"train: {train.kept.sentence()}", f"valid: {valid.kept.sentence()}"]
        batches = batches_of(recipe, inputs, train)
        return Prepared(batches, validation(recipe, inputs, valid), SCORES, frozenset(SCORES), notes)

    def checked(self, recipe: Recipe, data: TextData, inputs: PlainText) -> tuple[Checked, TextBatches]:
        """Every part tokenised and looked at."""
        require_room(recipe)
        parts = {part: tokenised(recipe, data, inputs, part) for part in data.parts()}
        batches = batches_of(recipe, inputs, parts["train"])
        return checked_texts(recipe, data, inputs, parts, batches), batches

    def evaluated(
        self, recipe: Recipe, data: TextData, inputs: PlainText, model: nn.Module, part: PartName, decoding: Any
    ) -> Evaluation:
        """Perplexities and bits, and what each document costs; how a model would write plays no role."""
        refuse_missing_part(data, part)
        tokens = tokenised(recipe, data, inputs, part)
        likelihood = likelihood_of(model, batches_of(recipe, inputs, tokens), len(tokens.rows))
        length_N = (tokens.rows.length_N + 1).tolist()
        return Evaluation(
            scores=language_scores(-likelihood.total, likelihood.tokens, tokens.kept.extent),
            signatures=SIGNATURES,
            groups={},
            answers=[
                {"text": text, "tokens": length, "log_probability": round(logp, 4)}
                for text, length, logp in zip(kept_texts(data, part, tokens), length_N, likelihood.logp_N, strict=True)
            ],
            notes=[f"{part}: {tokens.kept.sentence()}", *_unknown(tokens, inputs.tokenizer)],
        )

    def predictions(
        self, recipe: Recipe, inputs: PlainText, model: nn.Module, given: list[str], decoding: Any
    ) -> list[Continuation]:
        """How each text goes on."""
        writer = Writer(model, inputs, decoding, first=first_token(recipe, inputs))
        return [candidates[0] for candidates in writer(given)]

    def stream(self, recipe: Recipe, inputs: PlainText, model: nn.Module, text: str, decoding: Any) -> Iterator[str]:
        """The same piece by piece, the text itself first."""
        return Writer(model, inputs, decoding, first=first_token(recipe, inputs)).stream(text)


def tokenised(recipe: Recipe, data: TextData, inputs: PlainText, part: PartName) -> TokenisedTexts:
    """A part of the corpus as token rows, from the cache where it is there."""
    settings = recipe.input
    longest = None if settings.joined else settings.longest
    return tokenised_texts(
        data.examples(part),
        key=f"{data.fingerprint(part)} {inputs.fingerprint()}",
        encode=inputs.tokenizer.encode,
        decode=lambda ids: inputs.tokenizer.decode(ids.tolist()),
        rules=Rules(longest, settings.overlong, settings.blank),
        where=f"the {part} part",
    )


def batches_of(recipe: Recipe, inputs: PlainText, part: TokenisedTexts) -> TextBatches:
    """The batches of a part: of joined documents windows or streams, as the model reads; otherwise a row for each, or
    for several.
    """
    segment, tokens, seed = recipe.input.segment, recipe.training.tokens, recipe.training.seed
    begin, end = first_token(recipe, inputs), inputs.end
    if recipe.input.joined and "windows" in _promises(recipe):
        return WindowBatches(part.rows, tokens=tokens, segment=segment, seed=seed, begin=begin, end=end)
    if recipe.input.joined:
        streams = max(1, tokens // segment)
        return StreamBatches(part.rows, streams=streams, segment=segment, begin=begin, end=end)
    if recipe.input.packed:
        return PackedBatches(part.rows, tokens=tokens, segment=segment, seed=seed, begin=begin, end=end)
    return Bucketed(part.rows, partial(texts, begin=begin, end=end), tokens=tokens, seed=seed, marks=1)


def _promises(recipe: Recipe) -> frozenset[str]:
    return model_row(recipe.model.kind, "language-modeling").promises


def require_room(recipe: Recipe) -> None:
    """Refuse rows that the model cannot read: several documents in one, or more tokens than it has positions for."""
    inputs, promises = recipe.input, _promises(recipe)
    if inputs.packed and "packs" not in promises:
        raise SettingError(
            f"input.rows is 'packed', but a model of the kind '{recipe.model.kind}' cannot keep documents in a row "
            "apart; set input.rows=documents"
        )
    if "windows" not in promises:
        return
    context = recipe.model.context
    limit = f"but the model reads at most model.context = {context} tokens at once; lower the one or raise the other"
    if (inputs.joined or inputs.packed) and inputs.segment > context:
        raise SettingError(f"input.segment is {inputs.segment}, {limit}")
    if not inputs.joined and inputs.longest + 1 > context:
        raise SettingError(f"input.longest is {inputs.longest} and one token begins each document, {limit}")


def first_token(recipe: Recipe, inputs: PlainText) -> int:
    """What stands before a text: where all are joined, the end of the one before, since the model knows no other."""
    return inputs.end if recipe.input.joined else inputs.begin


def validation(recipe: Recipe, inputs: PlainText, part: TokenisedTexts) -> Callable[[nn.Module], dict[str, float]]:
    """Every score over the whole part."""
    batches = batches_of(recipe, inputs, part)

    def evaluate(model: nn.Module) -> dict[str, float]:
        likelihood = likelihood_of(model, batches, len(part.rows))
        return language_scores(-likelihood.total, likelihood.tokens, part.kept.extent)

    return evaluate


class Likelihood(NamedTuple):
    """How probable a part is to a model, in nats, ends included."""

    logp_N: list[float]  # of each document
    tokens: int

    @property
    def total(self) -> float:
        """The log-probability of everything."""
        return float(np.sum(self.logp_N))


@torch.inference_mode()
def likelihood_of(model: Any, batches: TextBatches, documents: int) -> Likelihood:
    """The log-probability of every document, the state carried from batch to batch where the text goes on."""
    device = device_of(model)
    logp_N: NDArray[np.float64] = np.zeros(documents)
    tokens, carry = 0, None
    for batch in batches.once():
        if batch.fresh_B.all():
            carry = None  # the rows may be others, and more or fewer
        logp_BT, carry = model.log_probability(batch.to(device), carry)
        real_BT = batch.real_BT.numpy()
        found = logp_BT.double().cpu().numpy()[real_BT]
        np.add.at(logp_N, batch.examples().numpy()[real_BT], found)
        tokens += len(found)
    return Likelihood(logp_N.tolist(), tokens)


def kept_texts(data: TextData, part: PartName, tokens: TokenisedTexts) -> Iterator[str]:
    """The documents that became rows, in the order of the rows."""
    kept = set(tokens.number_N.tolist())
    return (text for number, text in enumerate(data.examples(part)) if number in kept)


def _unknown(tokens: TokenisedTexts, tokenizer: Tokenizer) -> list[str]:
    count = tokenizer.unknowns(tokens.rows.values)
    if not count:
        return []
    share = 100 * count / len(tokens.rows.values)
    return [f"{share:.2g} % of the tokens are unknown: the model need not say what stands there, so the scores flatter"]
