"""A list of guests, made up, and questions about them: question answering without a download.

    Ada the baker came at noon. Boris from Lima left early. Carla with the grey parrot said little.
    Which Boris was there? → Boris from Lima      Who is Elif? → (no answer)

Who is what is drawn again for every context, so that nothing can be memorised: the model has to find the name of
the question in the text, and the end of what is said of it. The context alone decides, by its hash, to which part its
question belongs, so that no context is in two parts, whatever the seed.
"""

from collections.abc import Iterator
from itertools import count, islice
from random import Random
from typing import Literal

from pydantic import Field

from seqwright.data.examples import PartName
from seqwright.data.files import place_of
from seqwright.data.generated import Generated, GeneratedSettings
from seqwright.data.question_files import Question, RightAnswer

HELD_OUT: dict[PartName, tuple[float, float]] = {"train": (0.2, 1.0), "valid": (0.0, 0.1), "test": (0.1, 0.2)}

NAMES = ("Ada", "Boris", "Carla", "David", "Elif", "Felix", "Gina", "Hans")
JOBS = ("baker", "cook", "doctor", "engineer", "farmer", "judge", "nurse", "painter", "pilot", "plumber", "singer")
CITIES = ("Accra", "Athens", "Berlin", "Cairo", "Delhi", "Dublin", "Hanoi", "Lima", "Los Angeles", "New York", "Oslo")
COLOURS = ("black", "brown", "grey", "spotted", "white")
ANIMALS = ("cat", "dog", "goat", "goose", "hamster", "horse", "parrot", "rabbit", "tortoise")
DEEDS = ("came at noon", "came late", "left early", "said little", "stayed long", "sang all evening", "was silent")
DESCRIBED = (("the {}", JOBS), ("from {}", CITIES), ("with the {} {}", COLOURS, ANIMALS))
QUESTIONS = ("Which {} was there?", "Who is {}?", "Which {} do you mean?")


class GuestsSettings(GeneratedSettings):
    """Questions about guests who are made up."""

    card: Literal["guests"] = "guests"
    guests: int = Field(default=3, ge=1, le=len(NAMES) - 1)
    """How many guests a context tells of, a sentence each."""
    unanswerable: float = Field(default=0.2, ge=0, lt=1)
    """The share of questions about somebody who was not there."""


class Guests(Generated):
    """Questions about guests who are made up (a `QuestionData`)."""

    settings: GuestsSettings

    def examples(self, part: PartName) -> Iterator[Question]:
        """Every question of a part; fewer of the same seed are the beginning of more."""
        settings, (low, high) = self.settings, HELD_OUT[part]
        drawn = (self._drawn(Random(f"guests {settings.seed} {part} {number}")) for number in count())
        return islice((each for each in drawn if low <= place_of(each.context) < high), self.size(part))

    def _drawn(self, rng: Random) -> Question:
        """A context with one question about it."""
        absent, *names = rng.sample(NAMES, self.settings.guests + 1)
        guests = [f"{name} {_described(rng)}" for name in names]
        context = " ".join(f"{guest} {rng.choice(DEEDS)}." for guest in guests)
        asked = rng.choice(QUESTIONS)
        if rng.random() < self.settings.unanswerable:
            return Question(asked.format(absent), context, ())
        guest = rng.randrange(len(guests))
        answer = RightAnswer(guests[guest], context.index(guests[guest]))
        return Question(asked.format(names[guest]), context, (answer,))


def _described(rng: Random) -> str:
    """What tells a guest from others of the same name."""
    pattern, *words = DESCRIBED[rng.randrange(len(DESCRIBED))]
    return pattern.format(*map(rng.choice, words))
