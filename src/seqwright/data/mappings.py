"""Made-up mappings from sentences to sentences, to be found out from examples (Brown et al. 2020, section 2).

    good cat man => bad cat man ; dog bad good => dog good bad ; cat dog bad =>

Each prompt has a mapping of its own, some examples of it, and a question. There are the lectures' families:

- *opposites*: a pair of words for every four, each replaced by the other;
- *stars*: two words up to half of all, each replaced by `*`;
- *copy* and *reverse*: the words as they are, from the first or from the last.

Which words are opposites or starred is drawn for each prompt, so that nothing can be known before the examples. A hash
of what is replaced by what decides the part that a mapping belongs to: no pairing of opposites and no set of starred
words of the validation or the test part occurs in the training part. Copying and reversing are one mapping each and
cannot be divided: they occur in training alone.

In every sentence a word changes, if the mapping replaces any. The words of the question all occur in the examples, the
question itself does not.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from seqwright.data.dates_values import PortableRandom, hashed_part
from seqwright.data.examples import Pair, PartName
from seqwright.data.generated import Generated, GeneratedSettings, TrainCount, ValidCount

STAR = "*"
WORDS = (
    *("good", "bad", "black", "white", "large", "small", "early", "late"),
    *("boy", "girl", "man", "woman", "horse", "cat", "dog", "book"),
)
FAMILIES = ("opposites", "stars")
PLAIN = ("copy", "reverse")  # they replace nothing, and are only trained on
TRAINED = (*PLAIN, "opposites", "opposites", "opposites", "stars", "stars")  # the harder, the oftener


class MappingsSettings(GeneratedSettings):
    """Prompts with examples of a made-up mapping."""

    card: Literal["mappings"] = "mappings"
    shots: int = Field(default=8, ge=1)
    """How many examples stand before the question. In training each of them is a question too, with those before it."""
    length: int = Field(default=3, ge=2, le=4)
    """How many words a sentence has."""
    words: int = Field(default=8, ge=5, le=len(WORDS))
    """How many words, out of 16, the sentences of a prompt are made of."""
    fewest: int = Field(default=4, ge=4, le=len(WORDS))
    """How many they are at least in a training prompt: with fewer each comes oftener, and more is to be seen."""
    examples: TrainCount = 40_000
    valid: ValidCount = 400

    @model_validator(mode="after")
    def _fit_together(self) -> "MappingsSettings":
        if not max(self.fewest, self.length + 2) <= self.words:
            raise ValueError(
                f"fewest = {self.fewest} and words = {self.words} for sentences of length = {self.length}; words must "
                "not be less than fewest, and two more than the length"
            )
        return self


class MadeUp(NamedTuple):
    """A made-up mapping: its family, and what becomes of the words that change."""

    family: str
    becomes: Mapping[str, str]

    def __call__(self, sentence: Sequence[str]) -> list[str]:
        """The answer."""
        return [self.becomes.get(word, word) for word in sentence][:: -1 if self.family == "reverse" else 1]

    @property
    def part(self) -> PartName:
        """Where the mapping belongs, whatever the seed."""
        if not self.becomes:
            return "train"
        return hashed_part(json.dumps(sorted(self.becomes.items())))


class Mappings(Generated):
    """Prompts drawn while they are read (a `PairData`)."""

    settings: MappingsSettings

    def examples(self, part: PartName) -> Iterator[Pair]:
        """The question of every prompt of a part; fewer prompts of the same seed are the beginning of more."""
        rng = PortableRandom(f"mappings {self.settings.seed} {part}")
        for _ in range(self.size(part)):
            yield self._prompt(part, rng)

    def _prompt(self, part: PartName, rng: PortableRandom) -> Pair:
        settings = self.settings
        fewest = max(settings.fewest, settings.length + 1) if part == "train" else settings.words
        while True:
            words = rng.some_of(WORDS, rng.between(fewest, settings.words))
            mapping = made_up(rng, rng.one_of(TRAINED if part == "train" else FAMILIES), words)
            if mapping.part == part:
                break
        sentences: list[list[str]] = []
        for shot in range(settings.shots + 1):
            seen = {word for sentence in sentences for word in sentence}
            while True:
                sentence = rng.some_of(words, settings.length)
                changes = not mapping.becomes or any(word in mapping.becomes for word in sentence)
                if changes and (shot < settings.shots or (seen.issuperset(sentence) and sentence not in sentences)):
                    break
            sentences.append(sentence)
        *shots, asked = (Pair(" ".join(each), " ".join(mapping(each)), mapping.family) for each in sentences)
        return asked._replace(shots=tuple(shots))


def made_up(rng: PortableRandom, family: str, words: Sequence[str]) -> MadeUp:
    """A mapping of a family over some words, which come in any order."""
    if family == "opposites":
        pairs = [words[i : i + 2] for i in range(0, len(words) // 4 * 2, 2)]
        return MadeUp(family, {word: other for one, two in pairs for word, other in ((one, two), (two, one))})
    if family == "stars":
        return MadeUp(family, dict.fromkeys(words[: rng.between(2, len(words) // 2)], STAR))
    return MadeUp(family, {})
