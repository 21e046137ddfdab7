"""The heads that models have in `transformers`: what a folder says of one, and a run with it reads and predicts."""

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from torch import Tensor

from seqwright.data.files import content_hash
from seqwright.errors import DataError
from seqwright.inputs import Room
from seqwright.inputs.question import QuestionInput
from seqwright.inputs.running_text import RunningTextInput
from seqwright.inputs.sentences import SentencesInput
from seqwright.inputs.text import TextInput
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.inputs.words import WordsInput
from seqwright.interchange.names import TensorNames, TensorRow
from seqwright.kinds import task_between, usual_kind
from seqwright.outputs.label import LabelOutput
from seqwright.outputs.masked import MaskedOutput, MaskedOutputSettings
from seqwright.outputs.next_token import NextTokenOutput
from seqwright.outputs.number import NumberOutput
from seqwright.outputs.span import SpanOutput, SpanOutputSettings
from seqwright.outputs.tags import TagsOutput
from seqwright.tasks.wired import Wires

# A vocabulary is rounded up so that its matrix is divided well: to a multiple of 64 (BERT's 30,522 to 30,528), of 128
# (GPT-2's 50,257 to 50,304), or of 128 for each of up to eight devices (51,200). What that adds is less than what the
# number divides by.
ROUNDED = 1024
ADDED = 8  # fewer may also be tokens that somebody added without writing them into the tokenizer
REGRESSION = "regression"  # a problem_type
AROUND = 2  # tokens that stand before and after a text
UNKNOWN = NumberOutput(0.0, 1.0, 0.0, 0.0)  # what the model says is the value


class Pretrained(NamedTuple):
    """What was read from a folder: the head, our settings of the model, its tensors by their names there."""

    head: "Head"
    names: TensorNames
    settings: dict[str, Any]
    labels: list[str]  # of a classifier or a tagger
    pairs: bool  # whether what is read are two texts, as far as the config says it
    first: int | None  # the token that stands before a text that is continued, as far as the config says it
    tokenizer: Tokenizer
    tensors: dict[str, Tensor]
    unused: int  # vectors that belong to no token of the tokenizer's file
    idle: list[str]  # tensors that nothing reads under this head
    files: list[Path]

    @property
    def context(self) -> int:
        """Most tokens that the model reads at once."""
        return int(self.settings["context"])

    @property
    def task(self) -> str:
        """What the model is for: what is read × what is predicted."""
        return self.head.task(self.labels)

    def recipe(self, name: str) -> dict[str, Any]:
        """A recipe in plain values; `name` is that of the file or folder."""
        sums = [content_hash(path) for path in self.files]
        whole = sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()
        tokenizer = {"tokenizer": self.tokenizer.kind, "vocabulary": self.tokenizer.size, "normalise": "none"}
        return {
            "description": f"a {self.settings['kind']} that came from {name}",
            "task": self.task,
            "data": {"imported": name, "sha256": whole},
            "input": {**tokenizer, **self.head.input_settings(self)},
            "model": self.settings,
            "objective": {"kind": usual_kind("objective", self.task)},
        }

    def inputs(self, settings: Any) -> Any:
        """What a run has to read, and to predict."""
        return self.head.inputs(self, settings)

    @property
    def reads_pairs(self) -> bool:
        """Whether what is read may be two texts."""
        return self.head.reads_pairs

    @property
    def told(self) -> str:
        """Its size beside its parameters."""
        return f"{self.tokenizer.size:,} tokens"

    def remarks(self) -> list[str]:
        """What a user should know of what was read."""
        remarks = []
        if constants := self.names.left_out(self.tensors):
            remarks.append(f"left out, since every model computes them itself: {constants}")
        if self.unused:
            vectors = self.tokenizer.size
            tokens = vectors - self.unused
            sentence = f"{self.unused:,} of {vectors:,}, from <unused-{tokens}> on"
            if not is_rounded_up(tokens, vectors):
                sentence += (
                    "; rounding explains fewer: unless the model was published so, the tokenizer may be another model's"
                )
            remarks.append(f"vectors that belong to no token of the tokenizer: {sentence}")
        if self.idle:
            remarks.append(f"left out, since nothing reads them under this head: {', '.join(self.idle)}")
        return remarks


@dataclass(frozen=True)
class Head(ABC):
    """What stands on a body: how the whole is called there, its tensors, and which of them repeat another."""

    architectures: tuple[str, ...]  # the first is what is written
    rows: tuple[TensorRow, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)
    pooling: str = "first"  # which vector stands for a text, where one does
    model: ClassVar[str]  # what the lineage calls a body with this head
    reads: ClassVar[type]  # the classes of what a run with it reads and predicts
    predicts: ClassVar[type]
    labelled: ClassVar[bool] = False  # whether it tells classes apart
    causal: ClassVar[bool] = False  # whether a text is continued
    drops: ClassVar[bool] = True  # whether it has a dropout of its own
    reads_pairs: ClassVar[bool] = False  # whether what is read may be two texts

    @abstractmethod
    def input_settings(self, found: Pretrained) -> dict[str, Any]:
        """What a recipe says of the input beside its tokenizer: how much is read at once."""

    @abstractmethod
    def inputs(self, found: Pretrained, settings: Any) -> Any:
        """What a run has to turn texts into tokens; how many training texts had each label is not known."""

    def task(self, labels: list[str]) -> str:
        """What a model with it is for."""
        return task_between(self.reads, self.predicts)

    def architecture(self, settings: Mapping[str, Any]) -> str:
        """What a model of ours is called there."""
        return self.architectures[0]

    def labels(self, config: Mapping[str, Any], tensors: Mapping[str, Tensor], where: Path) -> list[str]:
        """The names of the classes, where it tells classes apart."""
        return label_names(config, tensors, self.rows, where) if self.labelled else []

    def settings(self, tensors: Mapping[str, Tensor]) -> dict[str, Any]:
        """Settings of the model that only the tensors tell."""
        return {}

    def reads_pooler(self, pooler: str, tensors: Mapping[str, Tensor]) -> bool:
        """Whether it reads what the body's pooler makes of the first token."""
        return False

    def label_config(self, output: Any) -> dict[str, Any]:
        """What config.json says of the labels."""
        return numbered(output.counts) if self.labelled else {}

    def scaled(self, tensors: Mapping[str, Tensor], output: Any) -> Mapping[str, Tensor]:
        """Our tensors so that the model predicts there what it predicts here."""
        return tensors


class CausalLM(Head):
    """The next token, by the matrix of the tokens' vectors."""

    model, reads, predicts, causal, drops = "language_model", RunningTextInput, NextTokenOutput, True, False

    def input_settings(self, found: Pretrained) -> dict[str, Any]:
        """A text begins with the end of the one before, as in GPT-2, or with a token of its own."""
        begin, end = found.tokenizer.begin, found.tokenizer.end
        rows = "windows" if found.first != begin or begin == end else "documents"
        return {"segment": found.context, "longest": found.context - 1, "rows": rows}

    def inputs(self, found: Pretrained, settings: Any) -> Wires:
        """As the settings say, over its own tokenizer."""
        room = Room(context=found.context, windows=True, packs=True)
        return Wires.learn(RunningTextInput, NextTokenOutput, (), settings, room=room, like=found.tokenizer)


class MaskedLM(Head):
    """The token behind a mask, and of BERT whether the second text follows; a bare body is one without all that."""

    model, reads, predicts, drops = "MaskedBert", SentencesInput, MaskedOutput, False

    def input_settings(self, found: Pretrained) -> dict[str, Any]:
        """Pairs of sentences where the model also predicts whether the second follows."""
        rows = "sentence-pairs" if self._asks_what_follows(found.tensors) else "full-sentences"
        return {"longest": found.context, "rows": rows}

    def inputs(self, found: Pretrained, settings: Any) -> Wires:
        """As the settings say."""
        read = SentencesInput(found.tokenizer, settings.longest, settings.longest, settings.rows)
        said, asks_next = MaskedOutputSettings(), settings.rows == "sentence-pairs"
        return Wires(read, MaskedOutput(found.tokenizer, said.masking, said.masking_rate, asks_next))

    def architecture(self, settings: Mapping[str, Any]) -> str:
        """BERT has a name of its own with and without the question what follows."""
        return self.architectures[0 if settings["pooler"] else -1]

    def settings(self, tensors: Mapping[str, Tensor]) -> dict[str, Any]:
        """Whether it is there."""
        return {"head": any(name in tensors for row in self.rows for name in row.theirs)}

    def reads_pooler(self, pooler: str, tensors: Mapping[str, Tensor]) -> bool:
        """To predict what follows; of a bare body the pooler is a part."""
        return self._asks_what_follows(tensors) or not self.settings(tensors)["head"]

    def _asks_what_follows(self, tensors: Mapping[str, Tensor]) -> bool:
        return any(row.theirs[0] in tensors for row in self.rows if "follows.weight" in row.ours)


class SequenceClassification(Head):
    """A label for one text or two; with one output a number."""

    model, reads, labelled, reads_pairs = "pooled_model", TextInput, True, True

    def task(self, labels: list[str]) -> str:
        """Regression where there are no labels."""
        return task_between(self.reads, LabelOutput if labels else NumberOutput)

    def input_settings(self, found: Pretrained) -> dict[str, Any]:
        """As much as the model reads beside the tokens around and between the texts."""
        # Other programs cut off the end of a long text, so that is what the model learnt from.
        return {"longest": found.context - AROUND - found.pairs * found.tokenizer.between, "truncation": "end"}

    def inputs(self, found: Pretrained, settings: Any) -> Wires:
        """The labels are those of the config."""
        read = TextInput(
            found.tokenizer, settings.longest, settings.truncation, begins=True, pairs=found.pairs, imported=True
        )
        return Wires(read, LabelOutput(dict.fromkeys(found.labels, 0)) if found.labels else UNKNOWN)

    def labels(self, config: Mapping[str, Any], tensors: Mapping[str, Tensor], where: Path) -> list[str]:
        """None of a regression."""
        names = super().labels(config, tensors, where)
        return [] if len(names) == 1 or config.get("problem_type") == REGRESSION else names

    def settings(self, tensors: Mapping[str, Tensor]) -> dict[str, Any]:
        """Which vector stands for a text."""
        return {"pooling": self.pooling}

    def reads_pooler(self, pooler: str, tensors: Mapping[str, Tensor]) -> bool:
        """Where it has none of its own, and the first vector goes through it."""
        return any(pooler in row.theirs for row in self.rows)

    def label_config(self, output: Any) -> dict[str, Any]:
        """A regression has one label without a name."""
        regression = {**numbered(["LABEL_0"]), "problem_type": REGRESSION}
        return regression if isinstance(output, NumberOutput) else super().label_config(output)

    def scaled(self, tensors: Mapping[str, Tensor], output: Any) -> Mapping[str, Tensor]:
        """Here a number is predicted as its distance from the mean in deviations, there as it is."""
        if not isinstance(output, NumberOutput):
            return tensors
        weight, bias = (tensors[f"head.output.{name}"] * output.deviation for name in ("weight", "bias"))
        return {**tensors, "head.output.weight": weight, "head.output.bias": bias + output.mean}


class TokenClassification(Head):
    """A tag for each word."""

    model, reads, predicts, labelled = "token_model", WordsInput, TagsOutput, True

    def input_settings(self, found: Pretrained) -> dict[str, Any]:
        """As much as the model reads beside the tokens around a sentence."""
        return {"longest": found.context - AROUND}

    def inputs(self, found: Pretrained, settings: Any) -> Wires:
        """The tags are the labels of the config."""
        read = WordsInput(found.tokenizer, settings.longest, settings.pre_tokenizer, begins=True)
        return Wires(read, TagsOutput(dict.fromkeys(found.labels, 0)))


class QuestionAnswering(Head):
    """Where the answer to a question begins and stops in a context."""

    model, reads, predicts = "span_model", QuestionInput, SpanOutput

    def input_settings(self, found: Pretrained) -> dict[str, Any]:
        """The usual windows of a context, or smaller ones where the model reads less."""
        longest = min(384, found.context)
        return {"longest": longest, "longest_question": longest // 6, "stride": longest // 3}

    def inputs(self, found: Pretrained, settings: Any) -> Wires:
        """Nobody knows whether it was trained to give no answer, so it may."""
        read = QuestionInput(found.tokenizer, settings.longest, settings.stride, settings.longest_question)
        return Wires(read, SpanOutput(SpanOutputSettings().longest_answer, unanswerable=True))


# ------------------------------------------------------------------------------------------------ labels in a config


def label_names(
    config: Mapping[str, Any], tensors: Mapping[str, Tensor], rows: tuple[TensorRow, ...], where: Path
) -> list[str]:
    """The names of the classes, by their numbers; the config need not name them."""
    named = config.get("id2label") or {}
    if not named:
        (output,) = (row.theirs[0] for row in rows if row.ours == ("head.output.bias",))
        return [f"LABEL_{number}" for number in range(len(tensors.get(output, ())))]
    numbers = [str(number) for number in range(len(named))] if isinstance(named, dict) else []
    if not numbers or set(named) != set(numbers) or not all(map(_is_name, named.values())):
        raise DataError(
            f"{where} has id2label = {_short(json.dumps(named, ensure_ascii=False))}, expected a name in one line "
            'for each number from 0 on, as in {"0": "bad", "1": "good"}: write it so, or get the file again'
        )
    names = [str(named[number]) for number in numbers]
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        *several, last = (number for number in numbers if str(named[number]) == name)
        raise DataError(
            f"{where} has one name, '{name}', for the labels {', '.join(several)} and {last} in id2label: give each a "
            "name of its own there, since they could not be told apart"
        )
    return names


def numbered(labels: Any) -> dict[str, Any]:
    """What config.json says of labels."""
    return {
        "id2label": {str(number): label for number, label in enumerate(labels)},
        "label2id": {label: number for number, label in enumerate(labels)},
    }


def _is_name(name: Any) -> bool:
    """Whether a label can be called so: in one line, and not blank."""
    return isinstance(name, str | int | float) and bool(str(name).strip()) and len(f"{name}.".splitlines()) == 1


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def is_rounded_up(tokens: int, vectors: int) -> bool:
    """Whether rounding, or a few added tokens, explains that there are more vectors than tokens."""
    return vectors - tokens < max(ADDED, math.gcd(vectors, ROUNDED))
