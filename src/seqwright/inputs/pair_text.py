"""Pairs of sentences ↔ token ids: one tokenizer for both languages, or two."""

import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from seqwright.batches import Ids, InMemory, Zipped
from seqwright.batches.bucketed import Bucketed, by_column
from seqwright.batches.pairs import Pairs, pairs
from seqwright.inputs.bpe_dropout import BPEDropout
from seqwright.inputs.dictionary import Dictionary, load_dictionary
from seqwright.inputs.tokenizers import Kind, Numbers, Tokenizer, TokenizerSettings

Draw = Callable[[str, random.Random], Numbers]


class PairTextSettings(TokenizerSettings):
    """How sentence pairs become tokens."""

    shared: bool = True
    """One vocabulary for both sides, learnt from both; otherwise one each."""
    source_kind: Kind | None = None
    """What a token of the source is, where it is something else than of the target; then there are two vocabularies."""
    bpe_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Chance to leave out a merge in training, drawn anew each epoch (Provilkov et al. 2020); 0.1 helps small data."""
    longest: int = Field(default=256, ge=1)
    """Most tokens on a side in training."""
    overlong: Literal["drop", "cut", "refuse"] = "drop"
    """What happens to longer ones: left out and counted, cut off, or refused with an error."""

    @model_validator(mode="after")
    def _two_kinds_are_not_shared(self) -> "PairTextSettings":
        if self.shared and self.source_kind not in {None, self.kind}:
            raise ValueError(
                f"source_kind is {self.source_kind} and the kind {self.kind}, which cannot share a vocabulary; set "
                "shared = false"
            )
        return self

    @model_validator(mode="after")
    def _only_bpe_drops(self) -> "PairTextSettings":
        other = next((kind for kind in (self.kind, self.source_kind) if kind not in {None, "bpe"}), None)
        if self.bpe_dropout and other:
            raise ValueError(f"bpe_dropout is {self.bpe_dropout}, but the kind is {other}; set it to 0 or choose bpe")
        return self


class PairText(NamedTuple):
    """The tokenizers of a run, the same object twice where the vocabulary is shared; and its dictionary, if any."""

    source: Tokenizer
    target: Tokenizer
    dictionary: Dictionary | None = None

    @property
    def begin(self) -> int:
        """The token every target begins with."""
        return self.target.begin

    @property
    def end(self) -> int:
        """The token that closes every sentence."""
        return self.target.end

    @property
    def shared(self) -> bool:
        """Whether both sides use one vocabulary."""
        return self.source is self.target

    @classmethod
    def learnt(cls, pairs: Iterable[Sequence[str]], settings: PairTextSettings) -> "PairText":
        """Tokenizers trained on (source, target) pairs, which must allow being read more than once."""
        if settings.shared:
            both = Tokenizer.train((text for pair in pairs for text in pair[:2]), settings)
            return cls(both, both)
        kind = settings.source_kind or settings.kind
        source = Tokenizer.train((pair[0] for pair in pairs), settings.model_copy(update={"kind": kind}))
        return cls(source, Tokenizer.train((pair[1] for pair in pairs), settings))

    def save(self, folder: Path) -> None:
        """Write `source.json` and `target.json`, or one `shared.json`."""
        folder.mkdir(parents=True, exist_ok=True)
        both = {"source": self.source, "target": self.target}
        for name, tokenizer in ({"shared": self.source} if self.shared else both).items():
            tokenizer.save(folder / f"{name}.json")

    @classmethod
    def load(cls, folder: Path) -> "PairText":
        """Read what `save` wrote, and the dictionary that was learnt later, if one was."""
        if (folder / "shared.json").exists():
            both = Tokenizer.load(folder / "shared.json")
            return cls(both, both, load_dictionary(folder))
        source, target = (Tokenizer.load(folder / f"{side}.json") for side in ("source", "target"))
        return cls(source, target, load_dictionary(folder))

    def fingerprint(self) -> str:
        """Changes with either tokenizer."""
        return f"{self.source.fingerprint()} {self.target.fingerprint()}"

    def sizes(self) -> dict[str, int]:
        """The sizes a model over this vocabulary is built with."""
        return {"source_vocabulary": self.source.size, "target_vocabulary": self.target.size, "shared": self.shared}

    def batches(
        self, examples: Sequence[Sequence[str]], *, tokens: int, seed: int = 1
    ) -> Bucketed[tuple[Ids, ...], Pairs]:
        """Batches of (source, target) pairs that fit into memory; a recipe's go through the token cache instead."""
        source = InMemory(self.source.encode([example[0] for example in examples]))
        target = InMemory(self.target.encode([example[1] for example in examples]))
        collate = by_column(partial(pairs, begin=self.begin, end=self.end))
        return Bucketed(Zipped(source, target), collate, tokens=tokens, seed=seed, marks=1)

    def dropping(self, probability: float) -> tuple[Draw, Draw]:
        """Segmentation with BPE-dropout, for the source and for the target."""
        return BPEDropout(self.source, probability).encode, BPEDropout(self.target, probability).encode
