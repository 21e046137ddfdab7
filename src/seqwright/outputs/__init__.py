"""What a model says: how targets become numbers, how predictions are made, and how they are scored.

One file for each kind of thing that can be predicted. `Output.predict` is the only way to predictions, for validation,
evaluation, the verbs, comparisons and pictures.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar, get_type_hints

import torch
from torch import Tensor, nn

from seqwright.batches import Batch, Batches, Numbers, Rows, Zipped
from seqwright.batches.bucketed import Bucketed
from seqwright.devices import device_of
from seqwright.errors import RunError, SettingError
from seqwright.inputs import Examples, ExampleT, Input, Picture, Stacked
from seqwright.inputs.saved import load_fields, plain_fields, save_json
from seqwright.setting_classes import Settings

BatchT = TypeVar("BatchT", bound=Batch)
PredictionT = TypeVar("PredictionT")


class Targets(NamedTuple):
    """A target beside each row that an input made, and the numbers of the rows that can be learnt from."""

    rows: Rows[Any]
    learnable: Numbers


class Baselines(NamedTuple):
    """How good simple rules are that understand nothing."""

    scores: dict[str, float]  # by the names they are reported under
    sentence: str  # in words
    notes: list[str]  # why there is none, or less than usual


@dataclass(frozen=True)
class Report:
    """What an evaluation tells beside the scores of a validation."""

    scores: dict[str, float] = field(default_factory=dict)  # finer ones, such as that of each label
    groups: dict[str, tuple[int, int]] = field(default_factory=dict)  # right ones and count, by kind of example
    group_columns: tuple[str, str] = ("kind", "exact")  # what a table calls the kinds and the right ones
    picture: Picture | None = None
    notes: list[str] = field(default_factory=list)  # a sentence each
    signatures: dict[str, str] = field(default_factory=dict)  # how scores were made, where only predictions tell it


class Output(ABC, Generic[ExampleT, BatchT, PredictionT]):
    """What is predicted of an example. A frozen dataclass: what it knows is learnt once and never changes."""

    settings: ClassVar[type[Settings]] = Settings
    """What can be set of it in [output]: nothing, if not said otherwise."""

    writes: ClassVar[bool] = False
    """Whether text is written, as the settings of decoding have it."""
    file: ClassVar[str]
    """Where in the run folder its fields are written, the tokenizer aside, which is the input's."""
    beside: ClassVar[type[Zipped]] = Zipped
    """How rows and targets stand beside each other: as two sides, each of its own length, if not said otherwise."""
    decodes: ClassVar[bool] = False
    """Whether predictions are searched for, token by token: then a validation takes a sample."""

    calibrates: ClassVar[bool] = False
    """Whether something is learnt after training, from what the model predicts of the validation part."""

    scored_by_objective: ClassVar[bool] = False
    """Whether the loss of an evaluation is that of the run's objective; otherwise predictions carry what it is."""

    @property
    def lower_is_better(self) -> frozenset[str]:
        """Those of the scores that fall as a model gets better."""
        return frozenset({"loss"})

    @property
    def trained_here(self) -> bool:
        """Whether the examples it was learnt from are known; not those of a model that another program trained."""
        return True

    @classmethod
    @abstractmethod
    def learn(cls, train: Examples[ExampleT], settings: Any, input: Input[ExampleT, Any], *, like: Any = None) -> Self:
        """Learnt from the training part, after the input and given it, but for what is taken from another run."""

    @abstractmethod
    def encode(self, examples: Examples[ExampleT], rows: Rows[Any], *, seed: int = 0) -> Targets:
        """The targets of the rows that an input made of the same examples, drawn like them from (seed, epoch, number).

        A target that depends on what was drawn of its row (masks, crops) is a view of `rows`: it takes the row of the
        same number and epoch.
        """

    @abstractmethod
    def collate(self, stacked: Stacked, targets: Sequence[Any] | None) -> BatchT:
        """Rows that the input has stacked, and their targets, as a batch; without targets, what predicting needs."""

    @abstractmethod
    def predict(
        self, model: nn.Module, batches: Batches[BatchT], examples: Examples[ExampleT], decoding: Any
    ) -> Iterator[PredictionT]:
        """One prediction for each example, in their order; an empty one for an example without rows.

        The batches say whose each row is (`example_B`), and in a tensor of their own where in the example it stands,
        if examples are several rows.
        """

    def stream(
        self, model: nn.Module, batches: Batches[BatchT], examples: Examples[ExampleT], decoding: Any
    ) -> Iterator[str]:
        """The text for one example, piece by piece while it is written."""
        raise RunError("only what writes text is streamed; call the run")

    def combined(self, predictions: Sequence[PredictionT]) -> PredictionT:
        """One prediction from those of several models for the same example: an ensemble's."""
        raise SettingError("an ensemble of these models cannot predict together; name one run")

    def ranking(self, top: int) -> Self:
        """The same output, whose predictions rank so many labels, answers or tokens."""
        raise SettingError("what it learnt ranks no candidates; leave top out")

    def continued(self, once: Callable[[Any], Any], examples: Sequence[ExampleT], steps: int) -> list[Any]:
        """So many steps after each series, by a forecast that is asked for anew where it ends."""
        raise SettingError("what it learnt forecasts nothing; leave steps out")

    @property
    @abstractmethod
    def score_names(self) -> tuple[str, ...]:
        """The scores of a validation."""

    @abstractmethod
    def scores(self, predictions: Sequence[PredictionT], examples: Examples[ExampleT]) -> dict[str, float]:
        """How good predictions are, by `score_names`; an example without a target does not count."""

    def losses(self, model: nn.Module, batches: Batches[BatchT]) -> dict[str, float]:
        """Scores that need a pass of their own over the targets: where predictions are searched for, the loss."""
        return {}

    def further_scores(
        self, predict: Callable[[Examples[ExampleT]], list[PredictionT]], examples: Examples[ExampleT]
    ) -> dict[str, float]:
        """Scores of an evaluation that need predictions for other examples: the same after fewer shots."""
        return {}

    def calibrate(
        self, predictions: Sequence[PredictionT], examples: Examples[ExampleT], *, step: int, folder: Path
    ) -> None:
        """Learn from what the checkpoint of a step predicts, and write it into the output's folder, whole."""

    def calibrated_at(self, step: int | None) -> Self:
        """Without what was learnt after training, if that was from another checkpoint; None: from several together."""
        return self

    def target(self, example: ExampleT) -> Any:
        """The target of an example; None where nobody knows, or where it is no single thing."""
        return None

    def uncertainty(self, examples: int) -> str | None:
        """How far scores on so few examples may be off, if that can be said; None where their number says nothing."""
        return ""

    def report(self, predictions: Sequence[PredictionT], examples: Examples[ExampleT]) -> Report:
        """What else an evaluation tells of predictions."""
        return Report()

    def refuse_model(self, settings: Any) -> None:
        """Refuse a model, by its settings, that cannot say this: one imported without its head. Usually none."""

    @property
    def signatures(self) -> Mapping[str, str]:
        """How each score is made, in a few words."""
        return {}

    def baselines(self, train: Examples[ExampleT], part: Examples[ExampleT], input: Input[ExampleT, Any]) -> Baselines:
        """How good simple rules are on a part, learnt from the training part; none, if not said otherwise."""
        return Baselines({}, "", [])

    @abstractmethod
    def line(self, prediction: PredictionT, top: int = 1) -> str:
        """A prediction, or the `top` best ones, as a line for people."""

    def pieces(self, prediction: PredictionT, top: int = 1) -> list[tuple[str, int | None]]:
        """The line in pieces, each with the number of its colour where it has one."""
        return [(self.line(prediction, top), None)]

    @abstractmethod
    def fields(self, prediction: PredictionT, top: int = 1) -> dict[str, Any]:
        """A prediction as the fields that JSON, Python and a server share."""

    def answer(self, prediction: PredictionT, example: ExampleT) -> dict[str, Any]:
        """Target and prediction as an evaluation writes them down, beside what was read."""
        return self.fields(prediction)

    def written(self, examples: int) -> Collection[int]:
        """The numbers of those of so many examples that an evaluation writes down: all, where that is not too much."""
        return range(examples)

    def answered(self, predictions: Sequence[PredictionT]) -> list[int]:
        """The number of the example of each answer that an evaluation writes down."""
        return sorted(self.written(len(predictions)))

    def answers(
        self, predictions: Sequence[PredictionT], examples: Examples[ExampleT], input: Input[ExampleT, Any]
    ) -> Iterator[dict[str, Any]]:
        """What an evaluation writes down, an answer after another: what was read, target and prediction."""
        written = self.written(len(predictions))
        for number, (example, prediction) in enumerate(zip(examples, predictions, strict=True)):
            if number in written:
                yield {**input.example_fields(example), **self.answer(prediction, example)}

    def part_sentence(self, examples: Examples[ExampleT], rows: Rows[Any]) -> str:
        """What there is to know of the targets of a part, to follow the number of its examples."""
        return ""

    def part_remarks(self, examples: Examples[ExampleT]) -> list[str]:
        """What a user should know of the targets of a part before training on it."""
        return []

    def remarks(self) -> list[str]:
        """What a user should know of the targets of the training part, a sentence each."""
        return []

    def sizes(self) -> dict[str, Any]:
        """What a model that says this is built with beside its settings: the classes; often nothing."""
        return {}

    def save(self, folder: str | Path) -> None:
        """Write everything into a folder."""
        save_json(Path(folder, self.file), plain_fields(self, without={"tokenizer"}))

    @classmethod
    def load(cls, folder: str | Path, input: Any) -> Self:
        """Read what `save` wrote; the input is read before."""
        known = {"tokenizer": input.tokenizer} if "tokenizer" in get_type_hints(cls) else {}
        return load_fields(cls, Path(folder, cls.file), **known)

    def batches(
        self, rows: Rows[Any], targets: Targets | None, input: Input[ExampleT, Any], *, tokens: int, seed: int = 0
    ) -> Batches[BatchT]:
        """The rows that can be learnt from as batches, those of like length together; without targets, every row.

        Streams, windows and packed documents make batches of another order here.
        """
        if targets is None:
            return Bucketed(
                rows, lambda some: self.collate(input.stack(some), None), tokens=tokens, seed=seed, marks=input.marks
            )

        def collate(some: Sequence[tuple[Any, Any]]) -> BatchT:
            read, targets = zip(*some, strict=True)
            return self.collate(input.stack(read), targets)

        both = self.beside(rows, targets.rows)
        return Bucketed(both, collate, tokens=tokens, seed=seed, marks=input.marks, only=targets.learnable)


@torch.inference_mode()
def each_row(model: nn.Module, batches: Batches[BatchT]) -> Iterator[tuple[BatchT, Tensor]]:
    """What a model says of every row: a batch, and its output, on the CPU."""
    device = device_of(model)
    for batch in batches.once():
        predicted, _ = model(batch.to(device), None)
        yield batch, predicted.cpu()
