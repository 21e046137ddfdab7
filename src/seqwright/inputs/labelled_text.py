"""Texts ↔ token ids, labels ↔ numbers: one tokenizer, the names of the labels, and how long texts are shortened."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from seqwright.batches import Ids, InMemory
from seqwright.batches.labelled import LabelledBatches, LeftOut, shortened
from seqwright.errors import DataError, RunError, nearest
from seqwright.inputs.tokenizers import END, Tokenizer, TokenizerSettings


class LabelledTextSettings(TokenizerSettings):
    """How texts become tokens."""

    longest: int = Field(default=512, ge=1)
    """Most tokens of a text that are read."""
    left_out: Literal["end", "middle"] = "middle"
    """What is left out of a longer text, and counted: its end, or its middle, so that as many tokens of its beginning
    as of its end are read (Sun et al. 2019, section 5.3.1)."""


class LabelledText(NamedTuple):
    """The tokenizer of a run, each label with the number of its training texts, and how long texts are shortened."""

    tokenizer: Tokenizer
    counts: Mapping[str, int]
    longest: int
    left_out: LeftOut

    @property
    def end(self) -> int:
        """The token that closes every text."""
        return END

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
    def learnt(cls, texts: Iterable[str], counts: Mapping[str, int], settings: LabelledTextSettings) -> "LabelledText":
        """A tokenizer trained on texts, which are read once; `counts` are the labels and how many texts have each."""
        return cls(Tokenizer.train(texts, settings), counts, settings.longest, settings.left_out)

    def encode(self, texts: Sequence[str]) -> list[Ids]:
        """The token numbers of each text as far as they are read, without the end."""
        return [shortened(row, self.longest, self.left_out) for row in self.tokenizer.encode(texts)]

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
            return cls(tokenizer, counts, int(rest["longest"]), rest["left_out"])
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
        """Batches of (text, label) that fit into memory; a recipe's go through the token cache instead."""
        rows = InMemory(self.encode([example[0] for example in examples]))
        label_N = np.array([self.number(example[1]) for example in examples], dtype=np.int64)
        return LabelledBatches(rows, label_N, tokens=tokens, seed=seed, end=self.end)

    def _rest(self) -> str:
        rest = {"labels": dict(self.counts), "longest": self.longest, "left_out": self.left_out}
        return json.dumps(rest, ensure_ascii=False, indent=1)
