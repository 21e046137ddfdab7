"""Texts ↔ token ids, ratings ↔ numbers around 0: one tokenizer, the mean and the deviation of the ratings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from seqwright.inputs.labelled_text import LabelledTextSettings, ReadText, reading
from seqwright.inputs.tokenizers import Tokenizer

__all__ = ["LabelledTextSettings", "RatedText", "Ratings"]


class Ratings(NamedTuple):
    """The ratings of the training texts: their mean, their standard deviation, the lowest and the highest."""

    mean: float
    deviation: float
    lowest: float
    highest: float

    @property
    def known(self) -> bool:
        """Whether these are of training texts; of a model that was trained elsewhere nobody knows them."""
        return self.lowest < self.highest


@dataclass(frozen=True)
class RatedText(ReadText):
    """How the texts of a run are read, and what is known of their ratings."""

    rest_file: ClassVar[str] = "ratings.json"
    ratings: Ratings

    @property
    def trained_here(self) -> bool:
        """Whether the ratings of training texts are known."""
        return self.ratings.known

    @classmethod
    def learnt(
        cls,
        texts: Iterable[str],
        ratings: Ratings,
        settings: LabelledTextSettings,
        tokenizer: Tokenizer | None = None,
        *,
        longest: int | None = None,
        begins: bool = False,
        pairs: bool = False,
    ) -> "RatedText":
        """A tokenizer trained on texts, if none is given."""
        tokenizer = tokenizer or Tokenizer.train(texts, settings)
        return cls(tokenizer, longest or settings.longest, settings.left_out, begins, pairs, ratings)

    def standard(self, rating: float) -> float:
        """A rating less the mean, over the deviation: what a model says."""
        return (rating - self.ratings.mean) / self.ratings.deviation

    def rating(self, standard: float) -> float:
        """The rating that a model means."""
        return standard * self.ratings.deviation + self.ratings.mean

    def rest(self) -> dict[str, Any]:
        """The ratings, and how texts are read."""
        return {"ratings": self.ratings._asdict(), **super().rest()}

    @classmethod
    def with_rest(cls, tokenizer: Tokenizer, rest: Mapping[str, Any]) -> "RatedText":
        """Inputs from a tokenizer and a `rest`."""
        ratings = Ratings(**{name: float(value) for name, value in rest["ratings"].items()})
        return cls(tokenizer, **reading(rest), ratings=ratings)
