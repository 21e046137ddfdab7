"""Classification: labelled texts, one tokenizer, accuracy and F1, and what has to be beaten.

B batch · C classes · N texts
"""

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from seqwright.data.examples import PartName
from seqwright.data.labelled import LabelledData, is_blank, rare_labels, refuse_unknown_labels, training_labels
from seqwright.devices import device_of
from seqwright.inputs.labelled_text import LabelledText
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.metrics.labels import Counts, accuracy, class_scores, confusion, macro_f1, matthews
from seqwright.recipe import Recipe
from seqwright.tasks import Checked, Evaluation, Prepared, refuse_missing_part
from seqwright.tasks.classifier import Classifier
from seqwright.tasks.labelled_check import checked_labels
from seqwright.tasks.labelled_rows import (
    MOST_TEXTS,
    NOT_HERE,
    TRAINED_ELSEWHERE,
    LabelledBatches,
    TokenRows,
    cut_note,
    every_text,
    labelled_batches,
    learnable,
    read_texts,
    reading_of,
    second_texts,
    texts_of,
    token_rows,
    words_of,
)
from seqwright.tasks.word_baseline import ToBeat, WordBaseline

FEW_CLASSES = 20  # up to so many, the F1 of each is shown


class ClassificationTask:
    """See `seqwright.tasks.Task`."""

    def learnt_inputs(self, recipe: Recipe, data: LabelledData, tokenizer: Tokenizer | None = None) -> LabelledText:
        """The tokenizer, if none is given, and the labels of the training part."""
        counts, reading = training_labels(data), reading_of(recipe, data, tokenizer)
        return LabelledText.learnt(every_text(data, "train"), counts, recipe.inputs, tokenizer, **reading)

    def loaded_inputs(self, folder: Path) -> LabelledText:
        """The tokenizer and the labels of a run."""
        return LabelledText.load(folder)

    def prepared(self, recipe: Recipe, data: LabelledData, inputs: LabelledText) -> Prepared:
        """Both parts tokenised; batches of the one, judgement on the other."""
        train, valid = (tokenised(data, inputs, part) for part in ("train", "valid"))
        notes = [f"train: {train.sentence(inputs)}", f"valid: {valid.sentence(inputs)}", *rare_labels(inputs.counts)]
        notes += [f"valid: to beat: {baselines(data, inputs, 'valid', train, valid).sentence}"]
        names = ("loss", "accuracy", "macro_f1", *(["f1", "matthews"] if len(inputs.labels) == 2 else []))
        return Prepared(
            batches_of(recipe, inputs, train), validation(recipe, inputs, valid), names, frozenset({"loss"}), notes
        )

    def checked(self, recipe: Recipe, data: LabelledData, inputs: LabelledText) -> tuple[Checked, LabelledBatches]:
        """Every part tokenised and looked at."""
        parts = {part: tokenised(data, inputs, part) for part in data.parts()}
        batches = batches_of(recipe, inputs, parts["train"])
        to_beat = baselines(data, inputs, "valid", parts["train"], parts["valid"])
        checked = checked_labels(data, inputs, {part: tokens.rows for part, tokens in parts.items()}, batches)
        notes = {f"{part} part": tokens.sentence(inputs) for part, tokens in parts.items()}
        return checked._replace(facts={**notes, **checked.facts, "to beat": to_beat.sentence}), batches

    def evaluated(
        self, recipe: Recipe, data: LabelledData, inputs: LabelledText, model: nn.Module, part: PartName, decoding: Any
    ) -> Evaluation:
        """Loss, accuracy, F1, what has to be beaten, and what the model took each text for."""
        refuse_missing_part(data, part)
        tokens = tokenised(data, inputs, part)
        texts, wanted = list(texts_of(data, part)), tokens.label_N.tolist()
        seconds = list(second_texts(data, part)) if inputs.pairs else None
        logp_NC = Classifier(model, inputs).log_probabilities(texts, seconds)
        said, labels = logp_NC.argmax(-1).tolist(), inputs.labels
        counts_CC = confusion(said, wanted, classes=len(labels))
        to_beat = baselines(data, inputs, part, tokenised(data, inputs, "train"), tokens)
        loss = -float(logp_NC[range(len(wanted)), wanted].mean())
        answers = zip(read_texts(texts, seconds), wanted, said, logp_NC.exp().tolist(), strict=True)
        return Evaluation(
            scores={"loss": loss, **scores_of(counts_CC, inputs), **each_f1(counts_CC, inputs), **to_beat.scores},
            signatures=signatures(inputs, to_beat),
            groups={label: (int(counts_CC[i, i]), int(counts_CC[i].sum())) for i, label in enumerate(labels)},
            answers=[
                {
                    **read,
                    "label": labels[true],
                    "predicted": labels[found],
                    "probabilities": {label: round(p, 4) for label, p in zip(labels, probability_C, strict=True)},
                }
                for read, true, found, probability_C in answers
            ],
            notes=[f"{part}: {tokens.sentence(inputs)}", *to_beat.notes],
        )


class TokenisedLabels(NamedTuple):
    """A part as token rows, each with the number of its label."""

    rows: TokenRows
    label_N: NDArray[np.int64]
    blank: int  # texts without a word or without a label, which were left out

    def sentence(self, inputs: LabelledText) -> str:
        """`3,837 texts (ham 3,338, spam 499); 2 without text or label were left out`."""
        count_C = np.bincount(self.label_N, minlength=len(inputs.labels)).tolist()
        told = ", ".join(
            f"{label} {count:,}" for label, count in zip(inputs.labels[:FEW_CLASSES], count_C, strict=False)
        )
        more = ", …" if len(inputs.labels) > FEW_CLASSES else ""
        told = f"{len(self.label_N):,} {'pairs of texts' if inputs.pairs else 'texts'} ({told}{more})"
        told += f"; {self.blank:,} without text or label were left out" if self.blank else ""
        return told + cut_note(self.rows)


def tokenised(data: LabelledData, inputs: LabelledText, part: PartName) -> TokenisedLabels:
    """A part as token rows, from the cache where it is there, and its labels."""
    labels, blank, found = array("q"), 0, Counter[str]()
    numbers = {label: number for number, label in enumerate(inputs.labels)}
    for example in data.examples(part):
        if is_blank(example):
            blank += 1
        else:
            found[example.label] += 1
            labels.append(numbers.get(example.label, -1))
    refuse_unknown_labels(part, found, inputs.labels, trained_here=inputs.trained_here)
    return TokenisedLabels(token_rows(data, inputs, part), np.asarray(labels, dtype=np.int64), blank)


def batches_of(recipe: Recipe, inputs: LabelledText, part: TokenisedLabels) -> LabelledBatches:
    """The batches of a part."""
    return labelled_batches(recipe, inputs, part.rows, part.label_N)


# ---------------------------------------------------------------------------------------------------- scores


def validation(recipe: Recipe, inputs: LabelledText, part: TokenisedLabels) -> Callable[[nn.Module], dict[str, float]]:
    """Loss, accuracy and F1 over the whole part."""
    batches = batches_of(recipe, inputs, part)

    @torch.inference_mode()
    def evaluate(model: nn.Module) -> dict[str, float]:
        device, loss = device_of(model), 0.0
        said, true = list[int](), list[int]()
        for batch in batches.once():
            logits_BC, _ = model(batch.to(device), None)
            logp_BC = logits_BC.double().log_softmax(-1).cpu()
            loss -= float(logp_BC.gather(1, batch.target_B.unsqueeze(1)).sum())
            said += logp_BC.argmax(-1).tolist()
            true += batch.target_B.tolist()
        return {"loss": loss / len(true), **scores_of(confusion(said, true, classes=len(inputs.labels)), inputs)}

    return evaluate


def scores_of(counts_CC: Counts, inputs: LabelledText) -> dict[str, float]:
    """What validation gives beside the loss."""
    scores = {"accuracy": accuracy(counts_CC), "macro_f1": macro_f1(counts_CC)}
    if len(inputs.labels) == 2:
        scores["f1"] = class_scores(counts_CC)[inputs.number(inputs.rarest)].f1
        scores["matthews"] = matthews(counts_CC)
    return scores


def each_f1(counts_CC: Counts, inputs: LabelledText) -> dict[str, float]:
    """The F1 of each label, if there are few."""
    if len(inputs.labels) > FEW_CLASSES:
        return {}
    return {f"f1_{label}": score.f1 for label, score in zip(inputs.labels, class_scores(counts_CC), strict=True)}


# ---------------------------------------------------------------------------------------------------- to beat


def baselines(
    data: LabelledData, inputs: LabelledText, part: PartName, train: TokenisedLabels, asked: TokenisedLabels
) -> ToBeat:
    """The most frequent label of training, and a logistic regression that learnt from the training part."""
    if not inputs.trained_here:
        return ToBeat({}, "", [TRAINED_ELSEWHERE])
    majority_N = np.full(len(asked.label_N), inputs.number(inputs.majority))
    always = accuracy(confusion(majority_N.tolist(), asked.label_N.tolist(), classes=len(inputs.labels)))
    told = f"always saying '{inputs.majority}' is right for {always:.1f} %"
    scores = {"majority_accuracy": always}
    if not learnable(data, part):
        return ToBeat(scores, told, [f"there is no logistic regression to compare with: {NOT_HERE}"])
    step = -(-len(train.label_N) // MOST_TEXTS)
    some: Sequence[int] = train.label_N[::step].tolist()
    regression = WordBaseline(islice(words_of(data, "train"), 0, None, step), some)
    counts_CC = confusion(regression(words_of(data, part)), asked.label_N.tolist(), classes=len(inputs.labels))
    scores |= {f"words_{name}": score for name, score in scores_of(counts_CC, inputs).items()}
    return ToBeat(scores, f"{told}, logistic regression over words for {scores['words_accuracy']:.1f} %", [])


def signatures(inputs: LabelledText, to_beat: ToBeat) -> dict[str, str]:
    """How the scores were made."""
    regression = "to beat: logistic regression over words"
    rarer = f"of '{inputs.rarest}', the rarer label" if len(inputs.labels) == 2 else ""
    told = {
        "loss": "nats a text",
        "accuracy": "right answers, which is micro F1 too",
        "macro_f1": "mean over the labels",
        "f1": rarer,
        "matthews": "Matthews correlation, from -100 to 100" if rarer else "",
        "majority_accuracy": f"to beat: always '{inputs.majority}'",
        **{name: regression for name in to_beat.scores if name.startswith("words_")},
    }
    return {name: text for name, text in told.items() if text}
