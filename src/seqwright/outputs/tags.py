"""Tags: one for each word of a sentence.

B batch · T time · C classes, the tags · W words · N rows · M sentences
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from seqwright.batches import Batches, Derived, Ids, Rows
from seqwright.batches.tagged import Stretch, Tagged
from seqwright.data.labels import short
from seqwright.data.limits import file_limits
from seqwright.data.tagged import TaggedSentence
from seqwright.errors import DataError, nearest
from seqwright.inputs import Examples, Input, Picture, Stacked
from seqwright.metrics.labels import Counts, accuracy, confusion, macro_f1, seen_classes
from seqwright.metrics.tags import OUTSIDE, EntityCounts, entities, entity_counts, mark_entities, parted, together
from seqwright.outputs import Baselines, Report, Targets, each_row
from seqwright.outputs.classes import ClassesOutput, listed
from seqwright.outputs.linear import NOT_HERE, elsewhere
from seqwright.outputs.most_frequent import MostFrequentTag

EACH = ("precision", "recall", "f1")  # scores of each type of entity, or of each tag
FEW_TAGS = 20  # so many may stand before almost as many words, and are listed
Tags = Sequence[Sequence[str]]  # of each word of each sentence
SIGNATURES = {
    "loss": "nats per word",
    "accuracy": "words with the right tag",
    "macro_f1": "mean over the tags",
    "precision": "predicted entities that are right, as conlleval counts",
    "recall": "entities that were found",
    "f1": "harmonic mean of the two",
}


class Tagging(NamedTuple):
    """The words of a sentence, the likeliest tag of each, and how probable it is; -log p of every tag of each word."""

    words: tuple[str, ...]
    tags: list[str]
    probabilities: list[float]
    losses: Sequence[Mapping[str, float]] = ()

    def __repr__(self) -> str:
        return f"Tagging({' '.join(f'{word}/{tag}' for word, tag in zip(self.words, self.tags, strict=True))})"


@dataclass(frozen=True)
class TagsOutput(ClassesOutput[TaggedSentence, Tagged, Tagging]):
    """Each tag with the number of its training words; none has any where the model was trained elsewhere."""

    file: ClassVar[str] = "tags.json"

    @classmethod
    def learn(cls, train: Examples[TaggedSentence], settings: Any, input: Input[Any, Any], *, like: Any = None) -> Self:
        """The tags of the training part by the alphabet; where they mark entities, those of a type together."""
        found = Counter(tag for sentence in train for tag in sentence.tags)
        _refuse_odd_tags(found)
        order = sorted(found, key=(lambda tag: parted(tag)[::-1]) if mark_entities(found) else None)
        return cls({tag: found[tag] for tag in order})

    @property
    def marked(self) -> bool:
        """Whether the tags mark entities."""
        return mark_entities(self.counts)

    def encode(self, examples: Examples[TaggedSentence], rows: Rows[Any], *, seed: int = 0) -> Targets:
        """The numbers of the tags of each row's words; a sentence without tags is not learnt from."""
        numbers = self.numbers()
        every = [[numbers[tag] for tag in sentence.tags] for sentence in self._known(examples)]
        count_M = np.fromiter(map(len, every), dtype=np.int64, count=len(every))
        tag_W = np.fromiter((tag for tags in every for tag in tags), dtype=np.uint32, count=count_M.sum())
        begin_M = np.cumsum(count_M) - count_M  # where each sentence begins among the tags of all

        def tags(row: Stretch, sentence: int) -> Ids:
            return tag_W[begin_M[sentence] + row.begin :][: len(row.length_W)]

        return Targets(Derived(rows, tags), np.flatnonzero(count_M[rows.example_N]))

    def collate(self, stacked: Stacked, targets: Sequence[Any] | None) -> Tagged:
        """What is read, with the number of each word's tag at its first token."""
        target_BT = torch.zeros_like(stacked["input_BT"])
        if targets is not None:
            target_BT[stacked["first_BT"]] = torch.from_numpy(np.concatenate(targets).astype(np.int64))
        return Tagged(**stacked, target_BT=target_BT)

    def predict(
        self, model: nn.Module, batches: Batches[Tagged], examples: Examples[TaggedSentence], decoding: Any = None
    ) -> Iterator[Tagging]:
        """The likeliest tag of every word; the stretches of a sentence are put together again."""
        found: dict[int, list[tuple[int, NDArray[np.float64]]]] = defaultdict(list)
        for batch, logits_BTC in each_row(model, batches):
            logp_NC = logits_BTC[batch.first_BT].double().log_softmax(-1)
            each = np.split(logp_NC.numpy(), batch.first_BT.sum(1).cumsum(0)[:-1].numpy())
            for number, begin, logp_WC in zip(batch.example_B.tolist(), batch.word_B.tolist(), each, strict=True):
                found[number].append((begin, logp_WC))
        for number, sentence in enumerate(self._known(examples)):
            rows = [logp_WC for _, logp_WC in sorted(found.pop(number, []), key=itemgetter(0))]
            yield self._tagging(sentence.words, np.concatenate(rows) if rows else np.zeros((0, len(self.counts))))

    def _tagging(self, words: tuple[str, ...], logp_WC: NDArray[np.float64]) -> Tagging:
        names, logp_W = self.labels, logp_WC.max(1, initial=-np.inf)
        losses = tuple(dict(zip(names, loss_C, strict=True)) for loss_C in (-logp_WC).tolist())
        return Tagging(words, [names[tag] for tag in logp_WC.argmax(1).tolist()], np.exp(logp_W).tolist(), losses)

    def combined(self, predictions: Sequence[Tagging]) -> Tagging:
        """The mean of the probabilities at each word."""
        logp_NWC = -np.array([[[*losses.values()] for losses in each.losses] for each in predictions])
        logp_WC = np.logaddexp.reduce(logp_NWC) - np.log(len(predictions))
        return self._tagging(predictions[0].words, logp_WC.reshape(-1, len(self.counts)))

    def _known(self, examples: Examples[TaggedSentence]) -> Iterator[TaggedSentence]:
        """Sentences, up to the first with a tag which nobody could have learnt: that one is refused."""
        for sentence in examples:
            tag = next((tag for tag in sentence.tags if tag not in self.counts), None)
            if tag is not None:
                known, shown = self.labels, listed(self.labels, 6)
                where = f", first in the sentence at {sentence.where}" if sentence.where else ""
                raise DataError(
                    f"{examples.name} has the tag '{short(tag)}'{where}, but training knew only {shown}: add such "
                    f"sentences to the training part or leave them out of this one.{nearest(tag, known)}"
                )
            yield sentence

    # ------------------------------------------------------------------------------------------------ scores

    @property
    def score_names(self) -> tuple[str, ...]:
        """Of tags that mark entities, precision, recall and F1 of those."""
        return ("loss", "accuracy", *(EACH if self.marked else ("macro_f1",)))

    def scores(self, predictions: Sequence[Tagging], examples: Examples[TaggedSentence]) -> dict[str, float]:
        """Loss, accuracy and F1, over the words that have a tag."""
        predicted, true = self._pairs(predictions, examples)
        tagged = ((each, of) for each, of in zip(predictions, examples, strict=True) if of.tags)
        losses = [loss[tag] for each, of in tagged for loss, tag in zip(each.losses, of.tags, strict=True)]
        return {"loss": sum(losses) / sum(map(len, true)), **self._scores(predicted, true)}

    def _seen(self, counts_CC: Counts) -> list[str]:
        """The tags that some word has or was given."""
        return [tag for tag, seen in zip(self.labels, seen_classes(counts_CC), strict=True) if seen]

    def report(self, predictions: Sequence[Tagging], examples: Examples[TaggedSentence]) -> Report:
        """What was found of each type of entity, or of each tag where they mark none; the confusion matrix."""
        predicted, true = self._pairs(predictions, examples)
        counts_CC = self._confusion(predicted, true)
        if self.marked:
            found = entity_counts(predicted, true)
        else:
            columns = (np.diag(counts_CC).tolist(), counts_CC.sum(0).tolist(), counts_CC.sum(1).tolist())
            found = {tag: EntityCounts(*counts) for tag, *counts in zip(self.labels, *columns, strict=True)}
        return Report(
            scores={
                f"{name}_{kind}": getattr(each, name)
                for kind, each in found.items()
                for name in EACH
                if each.true or each.predicted  # of nothing there is no F1
            },
            signatures={} if self.marked else {"macro_f1": self.averaged(self._seen(counts_CC), "tags")},
            groups={kind: (each.right, each.true) for kind, each in found.items()},
            group_columns=("type" if self.marked else "tag", "right"),
            picture=Picture("confusion", {"counts_CC": counts_CC, "labels": self.labels}),
        )

    @property
    def signatures(self) -> dict[str, str]:
        """How the scores are made."""
        names = self.score_names
        baseline = "baseline: the most frequent tag of each word"
        return {name: SIGNATURES[name] for name in names} | {f"baseline_{name}": baseline for name in names[1:]}

    def target(self, example: TaggedSentence) -> tuple[str, ...] | None:
        """The tags."""
        return example.tags or None

    def _pairs(self, predictions: Sequence[Tagging], examples: Examples[TaggedSentence]) -> tuple[Tags, Tags]:
        """Predicted and right tags of the sentences that have some."""
        both = zip(predictions, self._known(examples), strict=True)
        pairs = [(prediction.tags, sentence.tags) for prediction, sentence in both if sentence.tags]
        return [predicted for predicted, _ in pairs], [true for _, true in pairs]

    def _scores(self, predicted: Tags, true: Tags) -> dict[str, float]:
        counts_CC = self._confusion(predicted, true)
        scores = {"accuracy": accuracy(counts_CC)}
        if not self.marked:
            return {**scores, "macro_f1": macro_f1(counts_CC)}
        found = together(entity_counts(predicted, true).values())
        return {**scores, **{name: getattr(found, name) for name in EACH}}

    def _confusion(self, predicted: Tags, true: Tags) -> Counts:
        numbers = self.numbers()
        answers, truth = ([numbers[tag] for tags in sentences for tag in tags] for sentences in (predicted, true))
        return confusion(answers, truth, classes=len(numbers))

    def baselines(
        self, train: Examples[TaggedSentence], part: Examples[TaggedSentence], input: Input[Any, Any]
    ) -> Baselines:
        """The tag that each word mostly has in the training part."""
        if elsewhere(train, part):
            note = f"there is no baseline: {NOT_HERE}"
            return Baselines({}, note, [note])
        mostly, sentences = MostFrequentTag(train), [sentence for sentence in self._known(part) if sentence.tags]
        predicted, true = [mostly(each.words) for each in sentences], [each.tags for each in sentences]
        scores = self._scores(predicted, true)
        words = [word for sentence in sentences for word in sentence.words]
        told = f"the most frequent tag of each word is right for {scores['accuracy']:.1f} %"
        told += f", F1 {scores['f1']:.1f}" if self.marked else f", macro F1 {scores['macro_f1']:.1f}"
        told += f"; {100 * sum(word not in mostly.tags for word in words) / len(words):.1f} % of the words are new"
        return Baselines({f"baseline_{name}": score for name, score in scores.items()}, told, [])

    # ------------------------------------------------------------------------------------------------ told

    def part_sentence(self, examples: Examples[TaggedSentence], rows: Rows[Any]) -> str:
        """`(person 660, location 548)`: the entities of each type, or the words of each tag."""
        kinds: Counter[str] = Counter()
        for sentence in self._known(examples):
            kinds.update([entity.kind for entity in entities(sentence.tags)] if self.marked else sentence.tags)
        told = [f"{kind or 'without a type'} {count:,}" for kind, count in kinds.most_common(FEW_TAGS)]
        return f"({', '.join(told) or 'no entities'}{', …' if len(kinds) > FEW_TAGS else ''})"

    def part_remarks(self, examples: Examples[TaggedSentence]) -> list[str]:
        """Entities that begin as none should."""
        inside = 0
        for sentence in examples if self.marked else ():
            inside += sum(parted(sentence.tags[entity.begin]).mark == "I" for entity in entities(sentence.tags))
        told = "they count as entities, as in IOB1, but see whether the tags are right"
        return [f"entities of {examples.name} that begin with I instead of B: {inside:,}; {told}"] if inside else []

    def remarks(self) -> list[str]:
        """Tags that a model can hardly learn."""
        told = f"tags that only one word of the training part has: {listed(self.rare(), 5)}"
        return [f"{told}; give more sentences with such words"] if self.rare() else []

    def pieces(self, prediction: Tagging, top: int = 1) -> list[tuple[str, int | None]]:
        """`word/tag word/tag …`, a colour for each type; what is no entity stands alone, without a tag."""
        named = {tag: parted(tag).kind if self.marked else tag for tag in self.labels}
        kinds = list(dict.fromkeys(kind for tag, kind in named.items() if tag != OUTSIDE))
        pieces: list[tuple[str, int | None]] = []
        for word, tag in zip(prediction.words, prediction.tags, strict=True):
            alone = self.marked and tag == OUTSIDE
            pieces += [(" ", None)] if pieces else []
            pieces += [(word, None)] if alone else [(f"{word}/{tag}", kinds.index(named[tag]))]
        return pieces

    def line(self, prediction: Tagging, top: int = 1) -> str:
        """`word/tag word/tag …`."""
        return "".join(text for text, _ in self.pieces(prediction))

    def fields(self, prediction: Tagging, top: int = 1) -> dict[str, Any]:
        """The tags with their probabilities, and the entities that they mark."""
        probabilities = [round(probability, 4) for probability in prediction.probabilities]
        fields: dict[str, Any] = {"tags": prediction.tags, "probabilities": probabilities}
        if self.marked:
            fields["entities"] = [
                {"type": kind, "text": " ".join(prediction.words[begin:end]), "begin": begin, "end": end}
                for kind, begin, end in entities(prediction.tags)
            ]
        return fields

    def answer(self, prediction: Tagging, example: TaggedSentence) -> dict[str, Any]:
        """The tags, and the predicted ones."""
        return {"tags": list(example.tags), "predicted": prediction.tags}


def _refuse_odd_tags(found: Counter[str]) -> None:
    """Refuse what cannot be tags: one, or nearly as many as there are words."""
    words = found.total()
    if len(found) == 1:
        raise DataError(
            f"every word of the training part has the tag '{short(next(iter(found)))}', expected two tags or more: "
            "see whether data.tag means the right column"
        )
    if len(found) > file_limits().labels or FEW_TAGS < len(found) > words / 2:
        common = ", ".join(f"'{short(tag)}'" for tag, _ in found.most_common(2))
        raise DataError(
            f"the {words:,} words of the training part have {len(found):,} different tags, such as {common}: that "
            "looks like another column; choose with data.token and data.tag, as in data.token=1 data.tag=2"
        )
