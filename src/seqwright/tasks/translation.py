"""Translation: sentence pairs, one or two tokenizers, batches by tokens, BLEU."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from seqwright.batches import Batches, Ids, Rows, Zipped
from seqwright.batches.bucketed import Bucketed, by_column
from seqwright.batches.pairs import Pairs, pairs
from seqwright.cache import Redrawn, TokenisedPairs, tokenised_pairs
from seqwright.data.examples import Pair, PairData, PartName
from seqwright.decoding.settings import DecodingSettings
from seqwright.devices import device_of
from seqwright.inputs.pair_text import PairText
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.metrics.text import exact_match_by_kind, perplexity
from seqwright.objectives.next_token import NextToken
from seqwright.progress import Progress
from seqwright.recipe import Recipe
from seqwright.tasks import Checked, Evaluation, Prepared, refuse_missing_part, sample
from seqwright.tasks.pair_check import checked_pairs
from seqwright.tasks.pair_scores import LOWER_IS_BETTER, score_names, scored
from seqwright.tasks.translator import Translator

PairBatches = Bucketed[tuple[Ids, ...], Pairs]


class TranslationTask:
    """See `seqwright.tasks.Task`."""

    def learnt_inputs(self, recipe: Recipe, data: PairData, tokenizer: Tokenizer | None = None) -> PairText:
        """Tokenizers learnt from the training part, or one that is given for both sides."""
        if tokenizer is not None:
            return PairText(tokenizer, tokenizer)
        return PairText.learnt(TrainingPairs(data), recipe.inputs)

    def loaded_inputs(self, folder: Path) -> PairText:
        """The tokenizers of a run."""
        return PairText.load(folder)

    def prepared(self, recipe: Recipe, data: PairData, inputs: PairText) -> Prepared:
        """Both parts tokenised; batches of the one, judgement on the other."""
        train, valid = (tokenised(recipe, data, inputs, part) for part in ("train", "valid"))
        notes = [f"train: {train.kept.sentence()}", f"valid: {valid.kept.sentence()}"]
        batches = batches_of(recipe, inputs, train)
        scores = ("loss", "perplexity", *score_names(recipe))
        return Prepared(batches, validation(recipe, data, inputs, valid), scores, LOWER_IS_BETTER, notes)

    def checked(self, recipe: Recipe, data: PairData, inputs: PairText) -> tuple[Checked, PairBatches]:
        """Every part tokenised and looked at."""
        parts = {part: tokenised(recipe, data, inputs, part) for part in data.parts()}
        batches = batches_of(recipe, inputs, parts["train"])
        return checked_pairs(recipe, data, inputs, parts, batches), batches

    def evaluated(
        self,
        recipe: Recipe,
        data: PairData,
        inputs: PairText,
        model: nn.Module,
        part: PartName,
        decoding: DecodingSettings,
    ) -> Evaluation:
        """Loss, perplexity, BLEU, chrF and exact match, and what the model said to each source."""
        refuse_missing_part(data, part)
        rows = tokenised(recipe, data, inputs, part)
        loss = losses(model, batches_of(recipe, inputs, rows))
        note = f"{part}: {rows.kept.sentence()}" + (" of the loss" if rows.kept.overlong else "")
        return judged(recipe, data, part, Translator(model, inputs, decoding), loss)._replace(notes=[note])


def evaluated_together(recipe: Recipe, data: PairData, translator: Translator, part: PartName) -> Evaluation:
    """As `TranslationTask.evaluated`, of an ensemble on the data of its first run; the loss is over all pairs."""
    refuse_missing_part(data, part)
    pairs = list(usable(data.pairs(part)))
    targets = [pair.target for pair in pairs]
    total = -sum(translator.score([pair.source for pair in pairs], targets))
    count = sum(len(ids) + 1 for ids in translator.inputs.target.encode(targets))
    return judged(recipe, data, part, translator, {"loss": total / count, "perplexity": perplexity(total, count)})


def judged(
    recipe: Recipe, data: PairData, part: PartName, translator: Translator, loss: dict[str, float]
) -> Evaluation:
    """BLEU, chrF and exact match of the best translations of a part, beside the loss."""
    pairs = list(usable(data.pairs(part)))
    found = [candidates[0] for candidates in translator([pair.source for pair in pairs])]
    texts, wanted = [t.text for t in found], [p.target for p in pairs]
    scores = scored(recipe, pairs, texts)
    groups = exact_match_by_kind(texts, wanted, [pair.kind for pair in pairs], lowercase=recipe.inputs.lowercase)
    return Evaluation(
        scores={**loss, **{name: score.value for name, score in scores.items()}},
        signatures={name: score.signature for name, score in scores.items()},
        groups={kind: (m.matched, m.total) for kind, m in groups.items() if kind},
        answers=[
            {"source": pair.source, "reference": pair.target, "hypothesis": t.text, "score": round(t.score, 4)}
            for pair, t in zip(pairs, found, strict=True)
        ],
        notes=[f"{part}: {len(pairs):,} pairs"],
    )


class TrainingPairs:
    """The training pairs, as often as one asks."""

    def __init__(self, data: PairData) -> None:
        self.data = data

    def __iter__(self) -> Iterator[Pair]:
        return self.data.pairs("train")


def tokenised(recipe: Recipe, data: PairData, inputs: PairText, part: PartName) -> TokenisedPairs:
    """A part of the corpus as token rows, from the cache where it is there."""
    return tokenised_pairs(
        data.pairs(part),
        key=f"{data.fingerprint(part)} {inputs.fingerprint()}",
        source=inputs.source.encode,
        target=inputs.target.encode,
        longest=recipe.inputs.longest,
        overlong=recipe.inputs.overlong,
        where=f"the {part} part",
        progress=Progress(f"tokenising the {part} part"),
    )


def batches_of(recipe: Recipe, inputs: PairText, part: TokenisedPairs) -> PairBatches:
    """The batches of a part; each epoch segments anew where the recipe asks for BPE-dropout."""
    return Bucketed(
        Zipped(*(segmented_anew(recipe, inputs, part) if recipe.inputs.bpe_dropout else (part.source, part.target))),
        by_column(partial(pairs, begin=inputs.begin, end=inputs.end)),
        tokens=recipe.training.tokens,
        seed=recipe.training.seed,
        marks=1,
    )


def segmented_anew(recipe: Recipe, inputs: PairText, part: TokenisedPairs) -> tuple[Rows[Ids], Rows[Ids]]:
    """The sources and targets under BPE-dropout."""
    draw_source, draw_target = inputs.dropping(recipe.inputs.bpe_dropout)
    waiting = Progress("segmenting the sentences of an epoch anew")
    common = {"seed": recipe.training.seed, "longest": recipe.inputs.longest, "progress": waiting}
    source = Redrawn(part.source_text, part.source, draw_source, side="source", **common)
    return source, Redrawn(part.target_text, part.target, draw_target, side="target", **common)


def validation(
    recipe: Recipe, data: PairData, inputs: PairText, part: TokenisedPairs
) -> Callable[[nn.Module], dict[str, float]]:
    """Loss on the whole validation part, greedy scores on a sample of it."""
    batches = batches_of(recipe, inputs, part)
    some = sample(usable(data.pairs("valid")))
    sources = [pair.source for pair in some]
    # A dictionary is learnt after training, from the alignments of the model that training made.
    unknown = {"unknown": "copy"} if recipe.decoding.unknown == "dictionary" else {}
    greedy = recipe.decoding.model_copy(update={"beam": 1, "n_best": 1, "temperature": 0.0, **unknown})

    def evaluate(model: nn.Module) -> dict[str, float]:
        found = Translator(model, inputs, greedy).best(sources)
        return losses(model, batches) | {name: score.value for name, score in scored(recipe, some, found).items()}

    return evaluate


@torch.inference_mode()
def losses(model: nn.Module, batches: Batches[Any]) -> dict[str, float]:
    """Mean negative log-likelihood a target token, and its perplexity, over every example."""
    objective, device = NextToken(), device_of(model)
    total, count = 0.0, 0
    for batch in batches.once():
        loss, _ = objective(model, batch.to(device), None)
        total, count = total + float(loss.parts["loss"].sum), count + loss.parts["loss"].over
    return {"loss": total / count, "perplexity": perplexity(total, count)}


def usable(pairs: Iterator[Pair]) -> Iterator[Pair]:
    """The pairs with something on both sides."""
    return (pair for pair in pairs if pair.source.strip() and pair.target.strip())
