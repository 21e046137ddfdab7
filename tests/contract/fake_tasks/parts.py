"""What the fake tasks share: rows that are drawn, and inputs and outputs without their business.

B batch · T time · S source · N rows · V vocabulary · D width · X what is read of a step
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from seqwright.batches import Batch, Batches, Ids, InMemory, Numbers, Rows, padded
from seqwright.decoding import DecodingRules, greedy
from seqwright.inputs import Examples, Input, Room, Stacked
from seqwright.outputs import Baselines, BatchT, Output, PredictionT, Targets, each_row

BEGIN, END, RESERVED = 2, 3, 4
Example = dict[str, Any]
Draw = Callable[[Any, np.random.Generator | None], Any]


# ---------------------------------------------------------------------------------------------------- rows


class Drawn(Rows[Any]):
    """Rows that `draw` makes in each epoch anew, from (seed, epoch, number); in no epoch it is given no generator."""

    def __init__(
        self,
        things: Sequence[Any],
        draw: Draw,
        *,
        seed: int,
        example_N: Numbers,
        lengths: Callable[[Any], list[int]] = lambda row: [len(row)],
    ) -> None:
        self.things, self.draw, self.seed, self.of_row, self.example_N = things, draw, seed, lengths, example_N

    def lengths(self, epoch: int | None) -> Numbers:
        length = [self.of_row(row) for row in self.take(np.arange(len(self.things)), epoch)]
        return np.array(length, dtype=np.int64).reshape(len(length), len(length[0]) if length else 1)

    def take(self, numbers: Numbers, epoch: int | None) -> list[Any]:
        def rng(number: int) -> np.random.Generator | None:
            return None if epoch is None else np.random.default_rng((self.seed, epoch, number))

        return [self.draw(self.things[number], rng(number)) for number in numbers.tolist()]


def readable(examples: Examples[Example], key: str) -> tuple[list[Any], Numbers]:
    """What stands under a key where it is not empty, and the numbers of those examples."""
    found = [(number, example[key]) for number, example in enumerate(examples) if len(example[key])]
    return [thing for _, thing in found], np.array([number for number, _ in found], dtype=np.int64)


# ---------------------------------------------------------------------------------------------------- input and output


@dataclass(frozen=True)
class FakeInput(Input[Example, Any]):
    """What no fake task does in a way of its own."""

    def parse(self, given: Any) -> Example:
        return dict(given)

    def features(self, examples: Examples[Example]) -> Any:
        return np.zeros((sum(1 for _ in examples), 1))

    def fingerprint(self) -> str:
        return sha256(json.dumps(asdict(self)).encode()).hexdigest()

    def save(self, folder: str | Path) -> None:
        write(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        return cls(**read(Path(folder)))


@dataclass(frozen=True)
class FakeOutput(Output[Example, BatchT, PredictionT]):
    """What no fake task does in a way of its own."""

    empty: ClassVar[Any]  # the prediction for what cannot be read

    @classmethod
    def learn(cls, train: Examples[Example], settings: Any, input: Input[Example, Any], *, like: Any = None) -> Self:
        return cls()

    def baselines(self, train: Examples[Example], part: Examples[Example], input: Input[Example, Any]) -> Baselines:
        return Baselines({}, "", ["a fake has no baseline"])

    def line(self, prediction: PredictionT, top: int = 1) -> str:
        return str(prediction)

    def fields(self, prediction: PredictionT, top: int = 1) -> dict[str, Any]:
        return {"prediction": prediction}

    def sizes(self) -> dict[str, Any]:
        return {}

    def save(self, folder: str | Path) -> None:
        write(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path, input: Any) -> Self:
        return cls(**read(Path(folder)))

    def in_order(self, found: Mapping[int, PredictionT], examples: Examples[Example]) -> Iterator[PredictionT]:
        """The predictions of examples by their numbers, one for each example."""
        return (found.get(number, self.empty) for number, _ in enumerate(examples))


@dataclass(frozen=True)
class RowBatch(Batch):
    """A batch of which every row counts."""

    @property
    def loss_mask(self) -> Tensor:
        return torch.ones(len(self), dtype=torch.bool)


Nested = tuple[Any, ...]


@dataclass(frozen=True)
class RowOutput(FakeOutput[BatchT, Nested]):
    """A prediction is what the model says of the one row of an example, as (nested) tuples of numbers."""

    empty: ClassVar[Nested] = ()

    def predict(
        self, model: nn.Module, batches: Batches[BatchT], examples: Examples[Example], decoding: Any
    ) -> Iterator[Nested]:
        found: dict[int, Nested] = {}
        for batch, said in each_row(model, batches):
            found |= dict(zip(batch.example_B.tolist(), self.said(said), strict=True))
        return self.in_order(found, examples)

    def said(self, said: Tensor) -> Iterator[Nested]:
        """A prediction for each row of a model's output."""
        return map(nested, said.tolist())


def nested(values: Any) -> Any:
    return tuple(map(nested, values)) if isinstance(values, list) else values


def write(thing: Any, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "fake.json").write_text(json.dumps(asdict(thing)), encoding="utf-8")


def read(folder: Path) -> dict[str, Any]:
    plain = json.loads((folder / "fake.json").read_text(encoding="utf-8"))
    return {key: tuple(value) if isinstance(value, list) else value for key, value in plain.items()}


def ids(words: Sequence[str], vocabulary: tuple[str, ...]) -> Ids:
    numbers = {word: number for number, word in enumerate(vocabulary, start=RESERVED)}
    return np.array([numbers.get(word, 1) for word in words], dtype=np.int64)


@dataclass(frozen=True)
class Words(FakeInput):
    """A text, each of its words a token; `key` is where it stands in an example."""

    vocabulary: tuple[str, ...] = ()
    key: ClassVar[str] = "text"
    marks: ClassVar[int] = 1

    @classmethod
    def learn(cls, train: Examples[Example], settings: Any, *, room: Room, like: Any = None) -> Self:
        return cls(tuple(sorted({word for example in train for word in cls.split(example[cls.key])})))

    @staticmethod
    def split(text: str) -> list[str]:
        return text.split()

    def encode(self, examples: Examples[Example], *, seed: int = 0) -> Rows[Any]:
        texts, example_N = readable(examples, self.key)
        return InMemory([ids(self.split(text), self.vocabulary) for text in texts], example_N)

    def stack(self, rows: Sequence[Any]) -> Stacked:
        return padded([np.append(row, END) for row in rows])._asdict()

    def sizes(self) -> dict[str, Any]:
        return {"tokens": RESERVED + len(self.vocabulary)}


@dataclass(frozen=True)
class Frames(FakeInput):
    """A row of vectors, scaled: the frames of a sound, the patches of an image."""

    scale: float = 1.0
    width: int = 1
    key: ClassVar[str] = "frames"

    @classmethod
    def learn(cls, train: Examples[Example], settings: Any, *, room: Room, like: Any = None) -> Self:
        every_LX = np.concatenate(readable(train, cls.key)[0])
        return cls(float(np.abs(every_LX).max()), every_LX.shape[1])

    def encode(self, examples: Examples[Example], *, seed: int = 0) -> Rows[Any]:
        frames, example_N = readable(examples, self.key)
        return InMemory([np.asarray(each, dtype=np.float32) / self.scale for each in frames], example_N)

    def stack(self, rows: Sequence[Any]) -> Stacked:
        real_BS = padded([np.zeros(len(row), dtype=np.int64) for row in rows]).real_BT
        frame_BSX = torch.zeros(*real_BS.shape, self.width)
        frame_BSX[real_BS] = torch.from_numpy(np.concatenate(rows)).float()
        return {"frame_BSX": frame_BSX, "real_BS": real_BS}

    def sizes(self) -> dict[str, Any]:
        return {"width": self.width}


class Decoded(NamedTuple):
    text: str
    logp: float


@dataclass(frozen=True)
class Written(Batch):
    """What is read, and the text to be written of it."""

    source: Tensor
    source_real_BS: Tensor
    input_BT: Tensor
    target_BT: Tensor
    real_BT: Tensor

    @property
    def loss_mask(self) -> Tensor:
        return self.real_BT


@dataclass(frozen=True)
class WrittenText(FakeOutput[Written, Decoded]):
    """A text, each of its words a token, written token by token."""

    vocabulary: tuple[str, ...] = ()
    key: ClassVar[str] = "target"
    empty: ClassVar[Decoded] = Decoded("", 0.0)
    decodes: ClassVar[bool] = True
    score_names: ClassVar[tuple[str, ...]] = ("exact",)

    @classmethod
    def learn(cls, train: Examples[Example], settings: Any, input: Input[Example, Any], *, like: Any = None) -> Self:
        return cls(
            tuple(sorted({word for example in train for word in cls.references(example) for word in word.split()}))
        )

    @classmethod
    def references(cls, example: Example) -> list[str]:
        return [example[cls.key]]

    def encode(self, examples: Examples[Example], rows: Rows[Any], *, seed: int = 0) -> Targets:
        every = list(examples)
        texts = [self.references(every[number]) for number in rows.example_N.tolist()]

        def one(several: list[str], rng: np.random.Generator | None) -> Ids:
            return ids(several[0 if rng is None else rng.integers(len(several))].split(), self.vocabulary)

        learnable = np.flatnonzero([bool(several and several[0]) for several in texts])
        known = [several or [""] for several in texts]
        return Targets(Drawn(known, one, seed=seed, example_N=rows.example_N), learnable)

    def collate(self, stacked: Stacked, targets: Sequence[Any] | None) -> Written:
        source, source_real_BS = stacked.values()
        whole = [np.concatenate(([BEGIN], row, [END])) for row in targets or [[]] * len(source)]
        whole_BT, real_BT = padded(whole)
        return Written(source, source_real_BS, whole_BT[:, :-1], whole_BT[:, 1:], real_BT[:, 1:])

    def predict(
        self, model: nn.Module, batches: Batches[Written], examples: Examples[Example], decoding: Any
    ) -> Iterator[Decoded]:
        found, stepper = {}, model
        for batch in batches.once():
            with torch.inference_mode():
                state = stepper.start(batch)  # type: ignore[operator]
            first_B = torch.full((len(batch),), BEGIN)
            written = greedy(stepper, state, DecodingRules(end=END, forbidden=(0, 1, BEGIN)), first_B=first_B, steps=5)  # type: ignore[arg-type]
            for number, hypothesis in zip(batch.example_B.tolist(), written, strict=True):
                text = " ".join(self.vocabulary[token - RESERVED] for token in hypothesis.tokens)
                found[number] = Decoded(text, sum(hypothesis.log_probabilities))
        return self.in_order(found, examples)

    def scores(self, predictions: Sequence[Decoded], examples: Examples[Example]) -> dict[str, float]:
        both = zip(predictions, examples, strict=True)
        right = [prediction.text in self.references(example) for prediction, example in both]
        return {"exact": float(np.mean(right))}

    def sizes(self) -> dict[str, Any]:
        return {"vocabulary": RESERVED + len(self.vocabulary)}
