"""What a model reads: how examples become rows of numbers, learnt from the training part and saved in the run.

One file for each kind of thing that can be read. `Input.encode` is the only place that decides what the model reads:
what begins and ends a text, what stands between two, what is left out of a long one.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from torch import Tensor

from seqwright.batches import Rows, RowT
from seqwright.data.tables import Usual
from seqwright.errors import RunError
from seqwright.inputs.saved import saved_sum
from seqwright.setting_classes import Settings

MOST_NAMED = 8  # things that a remark names
ExampleT = TypeVar("ExampleT")
ExampleT_co = TypeVar("ExampleT_co", covariant=True)
Stacked = dict[str, Tensor]
"""Tensors by the names that a batch has for them (`input_BT`, `real_BT`, …); their first axis is the row."""


class Examples(Generic[ExampleT_co]):
    """Some examples in their order, as often as one asks.

    `fingerprint` is a sha256 of everything that decides them; empty where they are not worth keeping: what a user
    types; of such `tokenised` has the rows, by tokenizer and side, for who asks again. `name` is what a sentence calls
    them.
    """

    def __init__(self, read: Callable[[], Iterable[ExampleT_co]], fingerprint: str, name: str) -> None:
        self.read, self.fingerprint, self.name = read, fingerprint, name
        self.tokenised: dict[tuple[Any, str], Rows[Any]] = {}

    def __iter__(self) -> Iterator[ExampleT_co]:
        return iter(self.read())


class Given(Examples[ExampleT]):
    """Examples in memory, such as a user types."""

    def __init__(self, examples: Iterable[ExampleT]) -> None:
        self.examples = list(examples)
        super().__init__(lambda: self.examples, "", "the input")


class Picture(NamedTuple):
    """The name of a drawing, and the plain data that is drawn."""

    name: str
    data: dict[str, Any]


class Room(NamedTuple):
    """What a model can read: whether something stands before every text, and how much it reads at once.

    Of one whose outputs lie between -1 and 1, that they do. `windows` and `packs` are what `lineage.Model` promises.
    """

    begins: bool = False
    context: int | None = None
    bounded: bool = False
    model: Any = None  # its settings
    windows: bool = False
    packs: bool = False


class Input(ABC, Generic[ExampleT, RowT]):
    """How one kind of thing is read. A frozen dataclass: what it knows is learnt once and never changes."""

    noun: ClassVar[str] = "examples"
    """What several of its examples are called."""
    settings: ClassVar[type[Settings]] = Settings
    """What can be set of it in [input]: nothing, if not said otherwise."""
    unit: ClassVar[str] = "tokens"
    """What the length of a row counts."""
    at_once: ClassVar[int] = 8192
    """How much of that stands in a batch of what a user asks, on any side."""

    baseline_examples: ClassVar[int] = 50_000
    """How many examples a linear baseline learns from, at most."""

    @property
    def marks(self) -> int:
        """How many positions `stack` adds to each row; batches are planned with them."""
        return 0

    @property
    def shared(self) -> Any:
        """The tokenizer, where a text that is written has the same one as what is read; otherwise None."""
        return None

    @classmethod
    @abstractmethod
    def learn(cls, train: Examples[ExampleT], settings: Any, *, room: Room, like: Any = None) -> Self:
        """Learnt from the training part, but for what is taken from `like`, the input of another run: its tokenizer."""

    @abstractmethod
    def encode(self, examples: Examples[ExampleT], *, seed: int = 0) -> Rows[RowT]:
        """The rows that a model reads; an example that cannot be read, a blank one, has none.

        What an epoch draws (BPE-dropout, crops) it draws from (seed, epoch, number).
        """

    @abstractmethod
    def stack(self, rows: Sequence[RowT]) -> Stacked:
        """Rows as tensors, padded."""

    @abstractmethod
    def parse(self, given: Any) -> ExampleT:
        """What a user types or passes as an example: text, a JSON object, the path of a file."""

    def table_columns(self) -> Mapping[str, Usual]:
        """The columns of a table that it reads, as [data] calls them; none where an example is no row of a table."""
        return {}

    def example_fields(self, example: ExampleT) -> dict[str, Any]:
        """What is read of an example, as the fields that JSON has of it."""
        return {"input": str(example)}

    def line_start(self, example: ExampleT) -> str:
        """What stands before a prediction on a line for people; nothing where it is known without."""
        return ""

    def picture(self, examples: Examples[ExampleT]) -> Picture | None:
        """What can be seen of some examples before training on them; None where there is nothing to draw."""
        return None

    def thumbnail(self, example: ExampleT) -> Any:
        """`pixels_YXC`: what can be shown of one example at a glance, bytes of one channel or three."""
        raise RunError(f"{self.noun} cannot be drawn as a picture")

    def digest(self, example: ExampleT) -> bytes:
        """The same for two examples of which the same is read, and hardly ever for others."""
        return hashlib.blake2b(json.dumps(self.example_fields(example)).encode(), digest_size=8).digest()

    def features(self, examples: Examples[ExampleT]) -> Sequence[Any]:
        """What a linear baseline sees of each example: its words, its values."""
        raise RunError(f"there is no linear baseline over {self.noun}")

    def vectorizer(self) -> Any:
        """What makes vectors of features for a linear baseline: each number with mean 0 and deviation 1."""
        from sklearn.preprocessing import StandardScaler

        return StandardScaler()

    def read_examples(self, rows: Any) -> set[int]:
        """The numbers of the examples of which something is read."""
        return set(rows.example_N.tolist())

    def extent(self, rows: Any) -> dict[str, str]:
        """The columns in which a check tells how large the examples of a part are; none: how long."""
        return {}

    def facts(self) -> dict[str, str]:
        """What a check tells of what was learnt, beside the sizes."""
        return {}

    def part_sentence(self, examples: Examples[ExampleT], rows: Any) -> tuple[str, str]:
        """How many examples of a part are read, and what became of the others, in words."""
        read, every = len(self.read_examples(rows)), sum(1 for _ in examples)
        return f"{read:,} {self.noun}", f"; left out: {every - read:,} with nothing to read" if every > read else ""

    @abstractmethod
    def sizes(self) -> dict[str, Any]:
        """What a model over this input is built with beside its settings: the vocabulary, the channels."""

    @abstractmethod
    def save(self, folder: str | Path) -> None:
        """Write everything into a folder."""

    @classmethod
    @abstractmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote."""

    def fingerprint(self) -> str:
        """Changes with whatever changes what is read: all that is saved."""
        return saved_sum(self)

    def warnings(self) -> list[str]:
        """What a user should know of what was learnt before a model is trained over it."""
        return []

    def part_remarks(self, examples: Examples[ExampleT]) -> list[str]:
        """What a user should know of a part before training on it."""
        return []

    def remarks(self, examples: Examples[ExampleT], first: int = 0) -> list[str]:
        """What a user should know of examples before a model reads them: what is cut, what is unknown.

        `first` is the number of the first one, where they are a part of more.
        """
        return []

    def blank_remarks(self, examples: Examples[ExampleT], first: int = 0) -> list[str]:
        """Which examples have nothing to read."""
        read, every = self.read_examples(self.encode(examples)), enumerate(examples)
        blank = [f"{first + number + 1:,}" for number, _ in every if number not in read]
        if len(blank) == 1:
            return [f"text {blank[0]} is blank: there is nothing to read"]
        more = " …" if len(blank) > MOST_NAMED else ""
        return [f"texts {', '.join(blank[:MOST_NAMED])}{more} are blank: there is nothing to read"] if blank else []
