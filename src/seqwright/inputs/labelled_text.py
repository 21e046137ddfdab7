"""Texts ↔ token ids, labels ↔ numbers: one tokenizer, the names of the labels, and how long texts are shortened."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from seqwright.batches import Column, Ids, InMemory, Zipped
from seqwright.batches.bucketed import Bucketed, by_column
from seqwright.batches.labelled import Labelled, LeftOut, labelled, paired, shortened
from seqwright.errors import DataError, nearest
from seqwright.inputs.text_inputs import TextInputs
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings


class LabelledTextSettings(TokenizerSettings):
    """How texts become tokens."""

    longest: int = Field(default=512, ge=1)
    """Most tokens of a text that are read, or of two texts together, of which the longer is shortened first; by default
    fewer if the model's context is too short for so many."""
    left_out: Literal["end", "middle"] = "middle"
    """What is left out of a longer text, and counted: its end, or its middle, so that as many tokens of its beginning
    as of its end are read (Sun et al. 2019, section 5.3.1)."""


@dataclass(frozen=True)
class ReadText(TextInputs):
    """The tokenizer of a run that reads texts, or pairs of texts, and how long ones are shortened."""

    longest: int
    left_out: LeftOut
    begins: bool  # whether the model reads a token before every text
    pairs: bool  # whether what is known of texts is known of two together

    @property
    @abstractmethod
    def trained_here(self) -> bool:
        """Whether something is known of training texts; of a model that was trained elsewhere, nothing is."""

    @property
    def begin(self) -> int | None:
        """The token that stands before every text, if the model reads one there."""
        return self.tokenizer.begin if self.begins else None

    @property
    def between(self) -> list[int]:
        """What stands between two texts: one `end`, or as many as the tokenizer of another program puts there."""
        return [self.end] * self.tokenizer.between

    def encode(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> list[Ids]:
        """The token numbers of each text, or pair of texts, as far as they are read, without the last end."""
        rows = self.tokenizer.encode(texts)
        if not self.pairs:
            return [shortened(row, self.longest, self.left_out) for row in rows]
        assert seconds is not None, "a pair has a second text"
        both = zip(rows, self.tokenizer.encode(seconds), strict=True)
        return [paired(one, other, self.longest, self.left_out, between=self.between) for one, other in both]

    def rest(self) -> dict[str, Any]:
        """How texts are read."""
        return {"longest": self.longest, "left_out": self.left_out, "begins": self.begins, "pairs": self.pairs}


def reading(rest: Mapping[str, Any]) -> dict[str, Any]:
    """How texts are read, from a `rest`; the oldest run folders do not say all."""
    flags = {name: bool(rest.get(name)) for name in ("begins", "pairs")}
    return {"longest": int(rest["longest"]), "left_out": rest["left_out"], **flags}


@dataclass(frozen=True)
class LabelledText(ReadText):
    """How the texts of a run are read, and each label with the number of its training texts."""

    rest_file: ClassVar[str] = "labels.json"
    counts: Mapping[str, int]

    @property
    def trained_here(self) -> bool:
        """Whether any label has training texts."""
        return any(self.counts.values())

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels, by their numbers."""
        return tuple(self.counts)

    @property
    def majority(self) -> str:
        """The label that most training texts have."""
        return max(self.counts, key=lambda label: self.counts[label])

    @property
    def rarest(self) -> str:
        """The label that fewest training texts have."""
        return min(self.counts, key=lambda label: self.counts[label])

    @classmethod
    def learnt(
        cls,
        texts: Iterable[str],
        counts: Mapping[str, int],
        settings: LabelledTextSettings,
        tokenizer: Tokenizer | None = None,
        *,
        longest: int | None = None,
        begins: bool = False,
        pairs: bool = False,
    ) -> "LabelledText":
        """A tokenizer trained on texts, if none is given; `counts` are the labels and how many texts have each."""
        tokenizer = tokenizer or Tokenizer.train(texts, settings)
        return cls(tokenizer, longest or settings.longest, settings.left_out, begins, pairs, counts)

    def number(self, label: str) -> int:
        """The number of a label."""
        if label not in self.counts:
            known = self.labels
            raise DataError(f"there is no label '{label}'; there are {', '.join(known)}.{nearest(label, known)}")
        return self.labels.index(label)

    def rest(self) -> dict[str, Any]:
        """The labels, and how texts are read."""
        return {"labels": dict(self.counts), **super().rest()}

    @classmethod
    def with_rest(cls, tokenizer: Tokenizer, rest: Mapping[str, Any]) -> "LabelledText":
        """Inputs from a tokenizer and a `rest`."""
        counts = {str(label): int(count) for label, count in rest["labels"].items()}
        return cls(tokenizer, **reading(rest), counts=counts)

    def sizes(self) -> dict[str, int]:
        """The sizes a model over this vocabulary and these classes is built with."""
        return {**super().sizes(), "classes": len(self.counts)}

    def batches(self, examples: Sequence[Sequence[str]], *, tokens: int, seed: int = 1) -> Bucketed[Any, Labelled]:
        """Batches of (text, label), or (text, label, second text), in memory; a recipe's go through the token cache."""
        seconds = [example[2] for example in examples] if self.pairs else None
        rows = InMemory(self.encode([example[0] for example in examples], seconds))
        label_N = np.array([self.number(example[1]) for example in examples], dtype=np.int64)
        collate = by_column(partial(labelled, end=self.end, begin=self.begin))
        return Bucketed(Zipped(rows, Column(label_N)), collate, tokens=tokens, seed=seed, marks=1)
