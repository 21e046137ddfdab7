"""Texts ↔ token ids, labels ↔ numbers: one tokenizer, the names of the labels, and how long texts are shortened."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import numpy as np
from pydantic import Field

from seqwright.batches import Ids, InMemory
from seqwright.batches.labelled import LabelledBatches, LeftOut, paired, shortened
from seqwright.errors import DataError, RunError, nearest
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings


class LabelledTextSettings(TokenizerSettings):
    """How texts become tokens."""

    longest: int = Field(default=512, ge=1)
    """Most tokens of a text that are read, or of two texts together, of which the longer is shortened first; by default
    fewer if the model's context is too short for so many."""
    left_out: Literal["end", "middle"] = "middle"
    """What is left out of a longer text, and counted: its end, or its middle, so that as many tokens of its beginning
    as of its end are read (Sun et al. 2019, section 5.3.1)."""


class LabelledText(NamedTuple):
    """The tokenizer of a run, each label with the number of its training texts, and how long texts are shortened."""

    tokenizer: Tokenizer
    counts: Mapping[str, int]
    longest: int
    left_out: LeftOut
    begins: bool = False
    pairs: bool = False  # whether labels are of two texts together

    @property
    def begin(self) -> int | None:
        """The token that stands before every text, if the model reads one there."""
        return self.tokenizer.begin if self.begins else None

    @property
    def end(self) -> int:
        """The token that closes every text."""
        return self.tokenizer.end

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
        return cls(tokenizer, counts, longest or settings.longest, settings.left_out, begins, pairs)

    def encode(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> list[Ids]:
        """The token numbers of each text, or pair of texts, as far as they are read, without the last end."""
        return encoded(self, texts, seconds)

    def number(self, label: str) -> int:
        """The number of a label."""
        if label not in self.counts:
            known = self.labels
            raise DataError(f"there is no label '{label}'; there are {', '.join(known)}.{nearest(label, known)}")
        return self.labels.index(label)

    def save(self, folder: Path) -> None:
        """Write `text.json`, the tokenizer, and `labels.json`, the rest."""
        folder.mkdir(parents=True, exist_ok=True)
        self.tokenizer.save(folder / "text.json")
        (folder / "labels.json").write_text(self._rest(), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "LabelledText":
        """Read what `save` wrote."""
        path = folder / "labels.json"
        try:
            rest = json.loads(path.read_text(encoding="utf-8"))
            counts = {str(label): int(count) for label, count in rest["labels"].items()}
            tokenizer = Tokenizer.load(folder / "text.json")
            flags = bool(rest.get("begins")), bool(rest.get("pairs"))
            return cls(tokenizer, counts, int(rest["longest"]), rest["left_out"], *flags)
        except OSError as error:
            raise RunError(f"{path} is missing; expected the labels that training wrote: restore it") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunError(f"{path} cannot be read as labels ({error}); restore the file from a copy") from error

    def fingerprint(self) -> str:
        """Changes with the tokenizer and the labels."""
        return f"{self.tokenizer.fingerprint()} {self._rest()}"

    def sizes(self) -> dict[str, int]:
        """The sizes a model over this vocabulary and these classes is built with."""
        return {"vocabulary": self.tokenizer.size, "classes": len(self.counts)}

    def batches(self, examples: Sequence[Sequence[str]], *, tokens: int, seed: int = 1) -> LabelledBatches:
        """Batches of (text, label), or (text, label, second text), in memory; a recipe's go through the token cache."""
        seconds = [example[2] for example in examples] if self.pairs else None
        rows = InMemory(self.encode([example[0] for example in examples], seconds))
        label_N = np.array([self.number(example[1]) for example in examples], dtype=np.int64)
        return LabelledBatches(rows, label_N, tokens=tokens, seed=seed, end=self.end, begin=self.begin)

    def _rest(self) -> str:
        rest = {"labels": dict(self.counts), "longest": self.longest, "left_out": self.left_out}
        rest |= {"begins": True} if self.begins else {}
        rest |= {"pairs": True} if self.pairs else {}
        return json.dumps(rest, ensure_ascii=False, indent=1)


class ReadTexts(Protocol):
    """Inputs that make a row of tokens of a text, or of two."""

    @property
    def tokenizer(self) -> Tokenizer:
        """What cuts texts into tokens."""

    @property
    def longest(self) -> int:
        """Most tokens that are read."""

    @property
    def left_out(self) -> LeftOut:
        """What of a longer text is not."""

    @property
    def begin(self) -> int | None:
        """The token before every row, if there is one."""

    @property
    def end(self) -> int:
        """The token after every text."""

    @property
    def pairs(self) -> bool:
        """Whether a row is of two texts."""


def encoded(inputs: ReadTexts, texts: Sequence[str], seconds: Sequence[str] | None) -> list[Ids]:
    """The token numbers of each text, or pair of texts, as far as they are read, without the last end."""
    rows, longest, left_out = inputs.tokenizer.encode(texts), inputs.longest, inputs.left_out
    if not inputs.pairs:
        return [shortened(row, longest, left_out) for row in rows]
    assert seconds is not None, "a pair has a second text"
    both = zip(rows, inputs.tokenizer.encode(seconds), strict=True)
    return [paired(one, other, longest, left_out, end=inputs.end) for one, other in both]
