"""A text that a language model is to answer, perhaps after examples: `begin source task answer end source task`.

What is asked and what is answered stand in one row; a special token between them says what is to be done.

B batch · T time · N rows
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from seqwright.batches import Ids, Numbers, Rows, padded
from seqwright.batches.prompted import Marks, joined_turns
from seqwright.data.examples import Pair
from seqwright.errors import DataError, brief
from seqwright.inputs import Examples, Room, Stacked
from seqwright.inputs.source_text import PairInput
from seqwright.inputs.spelling import Spelled, every_place
from seqwright.inputs.token_rows import token_rows
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings, lacking, tokenizer_of
from seqwright.setting_classes import Settings


class PromptSettings(TokenizerSettings):
    """How a text and its answer become one row of tokens: `begin text task answer end`."""

    task_token: str | None = Field(default=None, pattern=r"^<[^<>\s]+>$")
    """The special token between a text and its answer, which says what is to be done, as in "<to-fr>" or "<summarize>".
    Left out: what the data suggests."""
    longest: int = Field(default=256, ge=1)
    """Most tokens of a text, and of an answer."""
    overlong: Literal["drop", "truncate", "refuse"] = "truncate"
    """What happens to longer ones: left out and counted, cut off at the end, or refused with an error. What a run is
    asked later is cut in the same way."""


class PromptRows(Rows[Ids]):
    """Each prompt with what stands before it, up to the token that asks for its answer.

    `text_M` are the texts of all prompts one after another, those of the examples before them included: a source, its
    answer, a source, …. `first_N` and `stop_N` say which of them are a prompt's.
    """

    def __init__(
        self, texts: Rows[Ids], first_N: Numbers, stop_N: Numbers, example_N: Numbers, marks: Marks, longest: int
    ) -> None:
        self.texts, self.first_N, self.stop_N, self.marks, self.longest = texts, first_N, stop_N, marks, longest
        self.example_N = example_N
        whole_M = texts.lengths(None)[:, 0]
        ends = np.concatenate(([0], whole_M.clip(max=longest).cumsum()))
        # A mark follows each text: the task after a source, the end after an answer.
        self.length_N = ends[stop_N] - ends[first_N] + (stop_N - first_N)
        both = zip(first_N.tolist(), stop_N.tolist(), strict=True)
        self.whole_N: Numbers = np.array([whole_M[first:stop].max() for first, stop in both], dtype=np.int64)

    def take(self, numbers: Numbers, epoch: int | None) -> list[Ids]:
        """Some rows."""
        return [self._row(np.arange(self.first_N[number], self.stop_N[number])) for number in numbers.tolist()]

    def _row(self, places: Numbers) -> Ids:
        texts = [text[: self.longest] for text in self.texts.take(places, None)]
        turns = [*zip(texts[:-1:2], texts[1::2], strict=True), (texts[-1], texts[-1][:0])]
        return joined_turns(turns, self.marks)


@dataclass(frozen=True)
class PromptInput(PairInput):
    """The tokenizer of a run, the name of the token that asks for an answer, and how much is read of a text."""

    tokenizer: Tokenizer
    task: str
    longest: int
    context: int | None  # most tokens that the model reads
    learnt_with: PromptSettings | None = field(default=None, compare=False)  # while learning
    settings: ClassVar[type[Settings]] = PromptSettings
    noun: ClassVar[str] = "prompts"
    side: ClassVar[str] = "prompts"
    marks: ClassVar[int] = 1
    file: ClassVar[str] = "task_token.json"
    begins: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.task not in self.tokenizer.special:
            raise ValueError(f"it names {self.task!r}, and the tokenizer has only {' '.join(self.tokenizer.special)}")

    @classmethod
    def learn(cls, train: Examples[Pair], settings: PromptSettings, *, room: Room, like: Any = None) -> Self:
        """A tokenizer trained on texts and answers, or another run's, with the token that names the task."""
        task = settings.task_token or "<answer>"
        rest = task, settings.longest, room.context, settings
        if like is not None:
            return cls(tokenizer_of(like).with_special((task,)), *rest)
        texts = (text for pair in train for each in (*pair.shots, pair) for text in each[:2])
        return cls(Tokenizer.train(texts, settings, special=(task,)), *rest)

    @property
    def shared(self) -> Tokenizer:
        """Answers are written with the same tokenizer."""
        return self.tokenizer

    @property
    def tokens(self) -> Marks:
        """The tokens around the parts of a row."""
        return Marks(self.tokenizer.begin, self.tokenizer.special[self.task], self.tokenizer.end)

    @property
    def after(self) -> list[int]:
        """What asks for an answer."""
        return [self.tokens.task]

    def parse(self, given: Any) -> Pair:
        """A text; or a chat, `{"messages": [{"role": "user", "content": …}, …]}`, whose last message is answered."""
        return chat_of(given) if isinstance(given, Mapping) else super().parse(given)

    def parts(self, given: Any) -> list[Spelled]:
        """Of a text alone: nothing is said of where the turns before it stand."""
        if isinstance(given, Mapping):
            raise DataError("a chat is read in turns, which cannot be looked at; give its last text alone")
        return super().parts(given)

    def kept(self, texts: Sequence[Spelled]) -> list[Ids]:
        """So many tokens of a text as are read."""
        return [places[: self.most] for places in every_place(texts)]

    @property
    def most(self) -> int:
        """The tokens that are read of a text: so many that the context has room for an answer."""
        if self.context is None:
            return self.longest
        return min(self.longest, self.context - 2 - min(self.longest + 1, self.context // 4))

    def encode(self, examples: Examples[Pair], *, seed: int = 0) -> PromptRows:
        """Each prompt that is not blank, as far as it is read."""
        read = [(n, 2 * len(pair.shots) + 1) for n, pair in enumerate(examples) if pair.source.strip()]
        number_N, count_N = np.array(read, dtype=np.int64).reshape(-1, 2).T
        texts = token_rows(self.tokenizer, examples, "prompt", lambda: _texts(examples))
        stop_N = count_N.cumsum()
        return PromptRows(texts, stop_N - count_N, stop_N, number_N, self.tokens, self.most)

    def stack(self, rows: Sequence[Ids]) -> Stacked:
        """`prompt_BT` and `real_BT`, padded on the right."""
        prompt_BT, real_BT = padded(rows)
        return {"prompt_BT": prompt_BT, "real_BT": real_BT}

    def remarks(self, examples: Examples[Pair], first: int = 0) -> list[str]:
        """Texts that are not read to their end, and what the vocabulary lacks of them."""
        rows = self.encode(examples)
        cut = int((rows.whole_N > self.most).sum())
        told = [f"texts read only up to {self.most} tokens: {cut}"] if cut else []
        return told + lacking(self.tokenizer.unknown_parts(pair.source for pair in examples))


def chat_of(given: Mapping[str, Any]) -> Pair:
    """The last message of a chat, after the turns before it: what the user said, and what was answered."""
    messages = given.get("messages")
    texts = [
        each["content"]
        for number, each in enumerate(messages if isinstance(messages, Sequence) else ())
        if isinstance(each, Mapping)
        and each.get("role") == ("user", "assistant")[number % 2]
        and isinstance(each.get("content"), str)
    ]
    if len(given) != 1 or len(texts) % 2 == 0 or len(texts) != len(messages or ()):
        raise DataError(
            f'an example is {brief(given)}, expected a text, or {{"messages": [{{"role": "user", "content": …}}, …]}}, '
            "user and assistant in turn and the user last"
        )
    return Pair(texts[-1], "", shots=tuple(map(Pair, texts[:-1:2], texts[1::2])))


def _texts(examples: Examples[Pair]) -> Iterator[str]:
    """The texts of all prompts: those of the examples before each, and its own."""
    for pair in examples:
        if pair.source.strip():
            for shot in pair.shots:
                yield from shot[:2]
            yield pair.source
