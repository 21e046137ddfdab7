"""Tagging: sentences with a tag for each word, one tokenizer, accuracy and F1, and what has to be beaten.

C classes, the tags · W words of all sentences in a line · M sentences
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import nn

from seqwright.batches.bucketed import Bucketed
from seqwright.batches.tagged import Stretch, Tagged, tagged
from seqwright.data.examples import PartName
from seqwright.data.tagged import TaggedData, rare_tags, training_tags
from seqwright.inputs.tagged_text import TaggedText
from seqwright.inputs.text import longest_of
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.lineage import model_row
from seqwright.metrics.labels import Counts, accuracy, confusion, macro_f1
from seqwright.metrics.tags import Found, entity_counts, mark_entities, parted, together
from seqwright.recipe import Recipe
from seqwright.tasks import Checked, Evaluation, Prepared, refuse_missing_part
from seqwright.tasks.tag_baseline import TagBaseline
from seqwright.tasks.tagged_check import checked_tags
from seqwright.tasks.tagged_rows import TokenisedTags, tokenised
from seqwright.tasks.tagger import log_probabilities

EACH = ("precision", "recall", "f1")  # scores of each type of entity, or of each tag
Tags = Sequence[Sequence[str]]  # of each word of each sentence
TaggedBatches = Bucketed[Stretch, Tagged]
SIGNATURES = {
    "loss": "nats a word",
    "accuracy": "words with the right tag",
    "macro_f1": "mean over the tags",
    "precision": "entities said that are right, as conlleval counts",
    "recall": "entities that were found",
    "f1": "harmonic mean of the two",
}


class TaggingTask:
    """See `seqwright.tasks.Task`."""

    def learnt_inputs(self, recipe: Recipe, data: TaggedData, tokenizer: Tokenizer | None = None) -> TaggedText:
        """The tokenizer, if none is given, and the tags of the training part."""
        counts = training_tags(data)
        order = sorted(counts, key=lambda tag: parted(tag)[::-1]) if mark_entities(counts) else list(counts)
        words = (word for sentence in data.sentences("train") for word in sentence.words)
        ordered = {tag: counts[tag] for tag in order}
        begins = "begins" in model_row(recipe.model.kind, recipe.task).promises
        longest = longest_of(recipe.inputs, recipe.model.model_dump().get("context"), marks=1 + begins)
        return TaggedText.learnt(words, ordered, recipe.inputs, tokenizer, longest=longest, begins=begins)

    def loaded_inputs(self, folder: Path) -> TaggedText:
        """The tokenizer and the tags of a run."""
        return TaggedText.load(folder)

    def prepared(self, recipe: Recipe, data: TaggedData, inputs: TaggedText) -> Prepared:
        """Both parts tokenised; batches of the one, judgement on the other."""
        train, valid = (tokenised(data, inputs, part) for part in ("train", "valid"))
        notes = [f"train: {train.sentence(inputs)}", f"valid: {valid.sentence(inputs)}", *rare_tags(inputs.counts)]
        notes += [f"valid: to beat: {baseline(data, inputs, 'valid').sentence()}"]
        names = EACH if mark_entities(inputs.tags) else ("macro_f1",)
        return Prepared(
            batches_of(recipe, inputs, train),
            validation(recipe, inputs, valid),
            ("loss", "accuracy", *names),
            frozenset({"loss"}),
            notes,
        )

    def checked(self, recipe: Recipe, data: TaggedData, inputs: TaggedText) -> tuple[Checked, TaggedBatches]:
        """Every part tokenised and looked at."""
        parts = {part: tokenised(data, inputs, part) for part in data.parts()}
        batches = batches_of(recipe, inputs, parts["train"])
        checked = checked_tags(data, inputs, parts, batches)
        to_beat = {"to beat": baseline(data, inputs, "valid").sentence()}
        return checked._replace(facts={**checked.facts, **to_beat}), batches

    def evaluated(
        self, recipe: Recipe, data: TaggedData, inputs: TaggedText, model: nn.Module, part: PartName, decoding: Any
    ) -> Evaluation:
        """Loss, accuracy, F1 over all and by type, what has to be beaten, and the tags of every sentence."""
        refuse_missing_part(data, part)
        tokens = tokenised(data, inputs, part)
        found = answers_of(model, batches_of(recipe, inputs, tokens), tokens)
        true, said = (in_sentences(tag_W, tokens, inputs) for tag_W in (tokens.tag_W, found.said_W))
        to_beat, by_kind = baseline(data, inputs, part), found_by_kind(said, true, inputs)
        sentences = zip(data.sentences(part), said, strict=True)
        of_each = {f"{name}_{kind}": getattr(each, name) for kind, each in by_kind.items() for name in EACH}
        return Evaluation(
            scores={"loss": found.loss, **scores_of(said, true, inputs), **to_beat.named(), **of_each},
            signatures={**SIGNATURES, **dict.fromkeys(to_beat.named(), "to beat: the tag each word mostly has")},
            groups={kind: (each.right, each.true) for kind, each in by_kind.items()},
            answers=[{"words": words, "tags": tags, "predicted": answer} for (words, tags, _), answer in sentences],
            notes=[f"{part}: {tokens.sentence(inputs)}", *to_beat.notes],
        )


def batches_of(recipe: Recipe, inputs: TaggedText, part: TokenisedTags) -> TaggedBatches:
    """The batches of a part."""
    training = recipe.training
    collate = partial(tagged, end=inputs.end, begin=inputs.begin)
    return Bucketed(part.rows, collate, tokens=training.tokens, seed=training.seed, marks=1)


# ---------------------------------------------------------------------------------------------------- scores


class Answers(NamedTuple):
    """What a model says of every word of a part."""

    said_W: NDArray[np.int64]
    loss: float  # nats a word


def answers_of(model: nn.Module, batches: TaggedBatches, part: TokenisedTags) -> Answers:
    """The likeliest tag of every word, and what the right ones cost."""
    end_N, length_N = part.tags.end_N, part.tags.length_N
    said_W, loss = np.zeros(len(part.tags.values), dtype=np.int64), 0.0
    for number_B in batches.plan(None):
        batch = batches.batch(number_B, None)
        logp_NC = log_probabilities(model, batch)
        words = [np.arange(end_N[number] - length_N[number], end_N[number]) for number in number_B]
        said_W[np.concatenate(words)] = logp_NC.argmax(-1).numpy()
        loss -= float(logp_NC.gather(1, batch.labels.unsqueeze(1)).sum())
    return Answers(said_W, loss / len(said_W))


def validation(recipe: Recipe, inputs: TaggedText, part: TokenisedTags) -> Callable[[nn.Module], dict[str, float]]:
    """Loss, accuracy and F1 over the whole part."""
    batches = batches_of(recipe, inputs, part)
    true = in_sentences(part.tag_W, part, inputs)

    def evaluate(model: nn.Module) -> dict[str, float]:
        found = answers_of(model, batches, part)
        return {"loss": found.loss, **scores_of(in_sentences(found.said_W, part, inputs), true, inputs)}

    return evaluate


def in_sentences(tag_W: NDArray[np.int64], part: TokenisedTags, inputs: TaggedText) -> list[list[str]]:
    """The names of tags, sentence by sentence."""
    names = inputs.tags
    return [[names[tag] for tag in tags.tolist()] for tags in np.split(tag_W, part.end_M[:-1])]


def scores_of(said: Tags, true: Tags, inputs: TaggedText) -> dict[str, float]:
    """What validation gives beside the loss: for tags that mark entities, precision, recall and F1 of those."""
    counts_CC = confusion_of(said, true, inputs)
    scores = {"accuracy": accuracy(counts_CC)}
    if not mark_entities(inputs.tags):
        return {**scores, "macro_f1": macro_f1(counts_CC)}
    found = together(entity_counts(said, true).values())
    return {**scores, **{name: getattr(found, name) for name in EACH}}


def found_by_kind(said: Tags, true: Tags, inputs: TaggedText) -> dict[str, Found]:
    """What was found of each type of entity, or of each tag where they mark none."""
    if mark_entities(inputs.tags):
        return entity_counts(said, true)
    counts_CC = confusion_of(said, true, inputs)
    columns = (np.diag(counts_CC).tolist(), counts_CC.sum(0).tolist(), counts_CC.sum(1).tolist())
    return {tag: Found(*counts) for tag, *counts in zip(inputs.tags, *columns, strict=True)}


def confusion_of(said: Tags, true: Tags, inputs: TaggedText) -> Counts:
    """How often each tag (row) was taken for each (column)."""
    numbers = {tag: number for number, tag in enumerate(inputs.tags)}
    answers, truth = ([numbers[tag] for tags in sentences for tag in tags] for sentences in (said, true))
    return confusion(answers, truth, classes=len(numbers))


# ---------------------------------------------------------------------------------------------------- to beat


class Baseline(NamedTuple):
    """How good it is to know of each word only what it mostly is."""

    scores: dict[str, float]  # none where there is nothing to learn it from
    notes: list[str]

    def named(self) -> dict[str, float]:
        """The scores by the name they are reported under."""
        return {f"baseline_{name}": score for name, score in self.scores.items()}

    def sentence(self) -> str:
        """In words."""
        if not self.scores:
            return self.notes[0]
        told = f"the tag that each word mostly has is right for {self.scores['accuracy']:.1f} %"
        name = "f1" if "f1" in self.scores else "macro_f1"
        return f"{told}, {name.replace('_f1', ' F1').replace('f1', 'F1')} {self.scores[name]:.1f}"


def baseline(data: TaggedData, inputs: TaggedText, part: PartName) -> Baseline:
    """The scores of the tag that each word mostly has in the training part."""
    if part != "train" and data.fingerprint("train") == data.fingerprint(part):
        return Baseline({}, ["there is no baseline to compare with: the data it would learn from is not here"])
    mostly = TagBaseline((words, tags) for words, tags, _ in data.sentences("train"))
    said, true = zip(*((mostly(words), tags) for words, tags, _ in data.sentences(part)), strict=True)
    return Baseline(scores_of(said, true, inputs), [])
