"""Texts ↔ token ids, ratings ↔ numbers around 0: one tokenizer, the mean and the deviation of the ratings."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from seqwright.batches import Ids
from seqwright.batches.labelled import LeftOut
from seqwright.errors import RunError
from seqwright.inputs.labelled_text import LabelledTextSettings, encoded
from seqwright.inputs.tokenizers import Tokenizer

__all__ = ["LabelledTextSettings", "RatedText", "Ratings"]


class Ratings(NamedTuple):
    """The ratings of the training texts: their mean, their standard deviation, the lowest and the highest."""

    mean: float
    deviation: float
    lowest: float
    highest: float


class RatedText(NamedTuple):
    """The tokenizer of a run, what is known of the ratings, and how long texts are shortened."""

    tokenizer: Tokenizer
    ratings: Ratings
    longest: int
    left_out: LeftOut
    begins: bool = False
    pairs: bool = False  # whether ratings are of two texts together

    @property
    def begin(self) -> int | None:
        """The token that stands before every text, if the model reads one there."""
        return self.tokenizer.begin if self.begins else None

    @property
    def end(self) -> int:
        """The token that closes every text."""
        return self.tokenizer.end

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
        return cls(tokenizer, ratings, longest or settings.longest, settings.left_out, begins, pairs)

    def encode(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> list[Ids]:
        """The token numbers of each text, or pair of texts, as far as they are read, without the last end."""
        return encoded(self, texts, seconds)

    def standard(self, rating: float) -> float:
        """A rating less the mean, over the deviation: what a model says."""
        return (rating - self.ratings.mean) / self.ratings.deviation

    def rating(self, standard: float) -> float:
        """The rating that a model means."""
        return standard * self.ratings.deviation + self.ratings.mean

    def save(self, folder: Path) -> None:
        """Write `text.json`, the tokenizer, and `ratings.json`, the rest."""
        folder.mkdir(parents=True, exist_ok=True)
        self.tokenizer.save(folder / "text.json")
        (folder / "ratings.json").write_text(self._rest(), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "RatedText":
        """Read what `save` wrote."""
        path = folder / "ratings.json"
        try:
            rest = json.loads(path.read_text(encoding="utf-8"))
            ratings = Ratings(**{name: float(value) for name, value in rest["ratings"].items()})
            flags = bool(rest["begins"]), bool(rest["pairs"])
            tokenizer = Tokenizer.load(folder / "text.json")
            return cls(tokenizer, ratings, int(rest["longest"]), rest["left_out"], *flags)
        except OSError as error:
            raise RunError(f"{path} is missing; expected what training knew of the ratings: restore it") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunError(f"{path} cannot be read as ratings ({error}); restore the file from a copy") from error

    def fingerprint(self) -> str:
        """Changes with the tokenizer and the ratings."""
        return f"{self.tokenizer.fingerprint()} {self._rest()}"

    def sizes(self) -> dict[str, int]:
        """The size a model over this vocabulary is built with."""
        return {"vocabulary": self.tokenizer.size}

    def _rest(self) -> str:
        rest = {"ratings": self.ratings._asdict(), "longest": self.longest, "left_out": self.left_out}
        return json.dumps(rest | {"begins": self.begins, "pairs": self.pairs}, indent=1)
