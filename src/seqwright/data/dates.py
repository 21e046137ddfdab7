"""Dates, times, numbers, money, units and lists in two languages: a parallel corpus that needs no download.

A pair is one value said in both languages. The words come from the Unicode CLDR through Babel, so any two of its
languages will do; numbers spelled out come from num2words, and the kind "spelled" (or any other) is left out where a
language has no words for it: `Dates.kinds` tells which are there.

Three promises:

- **A source has one translation.** Where two ways to say a value look the same in the source language but not in the
  target language ("May 3, 2021" is both the long and the medium form, in German "3. Mai 2021" and "03.05.2021"), the
  first of them stands and the others are not used for that value.
- **What is tested was never trained on.** Each date, time of day, number and combination of names belongs to one part,
  whatever the kind, the languages or the seed; `seqwright.data.dates_values` has the table and the one exception.
- **The same settings give the same pairs**, on every machine with the same versions of Babel and num2words.

Validation and test pairs are all different from each other; a training pair may come again.
"""

from collections.abc import Iterator
from functools import cached_property
from importlib.metadata import version
from typing import Any, Literal, NamedTuple

from babel import Locale, UnknownLocaleError
from babel.core import get_global
from babel.localedata import locale_identifiers

from seqwright.data.dates_readings import Languages, Phrasing, readings_by_kind
from seqwright.data.dates_values import PortableRandom, Value, part_of
from seqwright.data.examples import Pair, PartName
from seqwright.data.generated import Generated, GeneratedSettings, TrainCount
from seqwright.errors import SettingError, nearest

TRIES = 1000  # so many draws without a new pair mean that there are none left


class DatesSettings(GeneratedSettings):
    """Pairs of sentences from the dates corpus."""

    card: Literal["dates"] = "dates"
    source: str = "en"
    """The language to translate from: a locale of the CLDR such as en, fr, ja or pt_BR."""
    target: str = "de"
    """The language to translate into; the source's own is for an autoencoder, which says what it read."""
    examples: TrainCount = 40_000


class DrawnPair(NamedTuple):
    """A pair and the values it speaks of: `number 1234.5`, `date 2021-05-03`, …"""

    values: tuple[str, ...]
    pair: Pair


class Dates(Generated):
    """The dates corpus: as many pairs as wished, drawn while they are read, the kinds taking turns."""

    def __init__(self, settings: DatesSettings) -> None:
        super().__init__(settings)
        self.languages = Languages(_locale("source", settings.source), _locale("target", settings.target))

    @cached_property
    def _readings(self) -> dict[str, list[Phrasing[Any]]]:
        return readings_by_kind(self.languages)

    def kinds(self) -> list[str]:
        """The kinds of pairs for which both languages have words, in the order in which they take turns."""
        return list(self._readings)

    def examples(self, part: PartName) -> Iterator[Pair]:
        """Every pair of a part; fewer pairs of the same seed are the beginning of more."""
        return (drawn.pair for drawn in self.drawn(part))

    def drawn(self, part: PartName) -> Iterator[DrawnPair]:
        """Every pair of a part with the values that put it there."""
        rng = PortableRandom(f"dates {self.settings.seed} {part}")
        kinds = self.kinds()
        seen: set[str] = set()
        for index in range(self.size(part)):
            kind = kinds[index % len(kinds)]
            drawn = self._new(kind, part, rng, seen)
            if part != "train":
                seen.add(drawn.pair.source)
            yield drawn

    def causes(self) -> list[str]:
        """The versions of what the words come from."""
        return [version("Babel"), str(get_global("cldr").get("version", "")), version("num2words")]

    def _new(self, kind: str, part: PartName, rng: PortableRandom, seen: set[str]) -> DrawnPair:
        """A pair of this kind whose source is unambiguous and not among the seen ones."""
        for _ in range(TRIES):
            reading = rng.one_of(self._readings[kind])
            value = _value_of(part, reading, rng)
            if value is None or reading.ambiguous(value):
                continue
            source = reading.source(value)
            if source not in seen:
                return DrawnPair(reading.space.keys(value), Pair(source, reading.target(value), kind))
        setting = "examples" if part == "train" else part
        raise SettingError(
            f"data.{setting} = {self.size(part)} asks for more different pairs of kind '{kind}' than are held out for "
            "it; give a smaller number"
        )


def _value_of(part: PartName, reading: Phrasing[Value], rng: PortableRandom) -> Value | None:
    """A value that belongs to the part, or None where it has hardly any."""
    for _ in range(TRIES):
        value = reading.space.draw(rng)
        if part_of(reading.space.keys(value)) == part:
            return value
    return None


def _locale(setting: str, code: str) -> Locale:
    try:
        return Locale.parse(code.replace("-", "_"))
    except (UnknownLocaleError, ValueError, TypeError) as error:
        raise SettingError(
            f"data.{setting} is '{code}', which is no locale that Babel knows; give a code such as 'de', 'ja' or "
            f"'pt_BR'.{nearest(code, locale_identifiers())}"
        ) from error
