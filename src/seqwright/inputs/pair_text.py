"""Pairs of sentences ↔ token ids: one tokenizer for both languages, or two."""

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from seqwright.inputs.bpe_dropout import BPEDropout
from seqwright.inputs.tokenizers import BEGIN, END, Numbers, Tokenizer, TokenizerSettings

Draw = Callable[[str, random.Random], Numbers]


class PairTextSettings(TokenizerSettings):
    """How sentence pairs become tokens."""

    shared: bool = True
    """One vocabulary for both sides, learnt from both; otherwise one each."""
    bpe_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Chance to leave out a merge in training, drawn anew each epoch (Provilkov et al. 2020); 0.1 helps small data."""
    longest: int = Field(default=256, ge=1)
    """Most tokens on a side in training."""
    overlong: Literal["drop", "cut", "refuse"] = "drop"
    """What happens to longer ones: left out and counted, cut off, or refused with an error."""


class PairText(NamedTuple):
    """The tokenizers of a run; the same object twice where the vocabulary is shared."""

    source: Tokenizer
    target: Tokenizer

    @property
    def begin(self) -> int:
        """The token every target begins with."""
        return BEGIN

    @property
    def end(self) -> int:
        """The token that closes every sentence."""
        return END

    @property
    def shared(self) -> bool:
        """Whether both sides use one vocabulary."""
        return self.source is self.target

    @classmethod
    def learnt(cls, pairs: Iterable[tuple[str, str, str]], settings: PairTextSettings) -> "PairText":
        """Tokenizers trained on the training part; `pairs` must allow being read more than once."""
        if settings.shared:
            both = Tokenizer.train((text for source, target, _ in pairs for text in (source, target)), settings)
            return cls(both, both)
        source = Tokenizer.train((source for source, _, _ in pairs), settings)
        return cls(source, Tokenizer.train((target for _, target, _ in pairs), settings))

    def save(self, folder: Path) -> None:
        """Write `source.json` and `target.json`, or one `shared.json`."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, tokenizer in {"shared": self.source}.items() if self.shared else self._asdict().items():
            tokenizer.save(folder / f"{name}.json")

    @classmethod
    def load(cls, folder: Path) -> "PairText":
        """Read what `save` wrote."""
        if (folder / "shared.json").exists():
            both = Tokenizer.load(folder / "shared.json")
            return cls(both, both)
        return cls(Tokenizer.load(folder / "source.json"), Tokenizer.load(folder / "target.json"))

    def fingerprint(self) -> str:
        """Changes with either tokenizer."""
        return f"{self.source.fingerprint()} {self.target.fingerprint()}"

    def sizes(self) -> dict[str, int]:
        """The sizes a model over this vocabulary is built with."""
        return {"source_vocabulary": self.source.size, "target_vocabulary": self.target.size, "shared": self.shared}

    def dropping(self, probability: float) -> tuple[Draw, Draw]:
        """Segmentation with BPE-dropout, for the source and for the target."""
        return BPEDropout(self.source, probability).encode, BPEDropout(self.target, probability).encode
