"""Every way in which the dates corpus says a value in two languages: its readings.

The words are those of the Unicode CLDR as Babel gives them, and for spelled numbers those of num2words. Every run of
white space (CLDR likes U+00A0 and U+202F) becomes one plain space, in both languages.
"""

import datetime
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from babel import Locale
from babel.dates import TIMEDELTA_UNITS, format_date, format_time, format_timedelta, get_datetime_format
from babel.lists import format_list
from babel.numbers import (
    format_compact_decimal,
    format_currency,
    format_decimal,
    format_percent,
    get_currency_precision,
)
from num2words import CONVERTER_CLASSES, num2words

from seqwright.data.dates_values import (
    ANNIVERSARIES,
    DAYS,
    MINUTES,
    MOMENTS,
    MONTHS,
    ROUND_NUMBERS,
    SECONDS,
    Anniversary,
    Moment,
    Month,
    NameList,
    Space,
    lists,
    numbers,
)

Value = TypeVar("Value")
Say = Callable[..., str]  # of a value and a `locale`
Ways = Iterator[tuple[Space[Any], Say]]

CURRENCIES = ("EUR", "USD", "GBP", "JPY", "CHF", "CAD", "AUD", "CNY", "INR", "BRL", "KRW", "SEK")
UNITS = (
    *("length-kilometer", "length-meter", "length-centimeter", "length-millimeter", "length-mile", "length-foot"),
    *("area-square-kilometer", "area-square-meter", "volume-liter", "volume-milliliter", "mass-kilogram", "mass-gram"),
    *("duration-second", "duration-minute", "duration-hour", "duration-day", "duration-week", "duration-year"),
    *("speed-kilometer-per-hour", "speed-mile-per-hour", "temperature-celsius", "temperature-fahrenheit"),
    *("power-watt", "power-kilowatt", "energy-kilowatt-hour", "electric-volt", "frequency-hertz", "digital-gigabyte"),
)
# Names of one word in most languages: "Bosnia and Herzegovina" inside a list would be a list of its own.
TERRITORIES = (
    *("AR", "AT", "AU", "BE", "BR", "CA", "CH", "CL", "CN", "CO", "CU", "DE", "DK", "EG", "ES", "FI", "FR", "GR", "HU"),
    *("IE", "IN", "IS", "IT", "JP", "KE", "KR", "MX", "NL", "NO", "PE", "PL", "PT", "RO", "RU", "SE", "TH", "TR", "UA"),
)
LANGUAGES = (
    *("ar", "cs", "da", "de", "el", "en", "es", "fi", "fr", "he", "hi", "hu", "id", "it"),
    *("ja", "ko", "nl", "pl", "pt", "ro", "ru", "sv", "sw", "th", "tr", "uk", "vi", "zh"),
)


class Languages(NamedTuple):
    """From which language into which."""

    source: Locale
    target: Locale


@dataclass(eq=False)
class Phrasing(Generic[Value]):
    """One way to say every value of a space in both languages.

    Its rivals are the readings before it that look like it in the source language but not in the target language.
    """

    space: Space[Value]
    say: Say
    languages: Languages
    rivals: "list[Phrasing[Any]]" = field(default_factory=list)

    def source(self, value: Value) -> str:
        """The value in the source language."""
        return _plain(self.say(value, locale=self.languages.source))

    def target(self, value: Value) -> str:
        """The value in the target language."""
        return _plain(self.say(value, locale=self.languages.target))

    def ambiguous(self, value: Value) -> bool:
        """Whether a rival has another translation for what this reading says in the source language."""
        return any(
            rival.space.holds(value)
            and rival.source(value) == self.source(value)
            and rival.target(value) != self.target(value)
            for rival in self.rivals
        )

    def landmarks(self) -> list[tuple[str, str]]:
        """The landmarks of the space in both languages; none where a language lacks the words."""
        try:
            said = [(self.source(value), self.target(value)) for value in self.space.landmarks]
        except Exception:  # the libraries answer a missing word with whatever error their tables give
            return []
        return said if all(source and target for source, target in said) else []


def _plain(text: str) -> str:
    return " ".join(text.split())


def readings_by_kind(languages: Languages) -> dict[str, list[Phrasing[Any]]]:
    """The readings for which both languages have words, with their rivals; a kind without any is left out."""
    ways: dict[str, Ways] = {
        "dates": _dates(),
        "times": _times(),
        "relative": _relative_times(),
        "numbers": _numbers(),
        "currencies": _currencies(),
        "units": _units(),
        "lists": _lists(languages),
        "spelled": _spelled(languages),
    }
    found: dict[str, list[Phrasing[Any]]] = {}
    said: defaultdict[str, list[tuple[Phrasing[Any], str]]] = defaultdict(list)
    for kind, each in ways.items():
        for space, say in each:
            reading = Phrasing(space, say, languages)
            landmarks = reading.landmarks()
            rivals = [other for source, target in landmarks for other, heard in said[source] if heard != target]
            reading.rivals.extend(dict.fromkeys(rivals))
            for source, target in landmarks:
                said[source].append((reading, target))
            if landmarks:
                found.setdefault(kind, []).append(reading)
    return found


def _dates() -> Ways:
    def month_in(month: Month, locale: Locale) -> str:
        return format_date(datetime.date(*month, 1), locale.datetime_skeletons["yMMMM"].pattern, locale)

    def anniversary_in(value: Anniversary, locale: Locale) -> str:
        # A leap year has them all.
        return format_date(datetime.date(2000, *value), locale.datetime_skeletons["MMMMd"].pattern, locale)

    for width in ("full", "long", "medium"):
        yield DAYS, partial(format_date, format=width)
    yield MONTHS, month_in
    yield ANNIVERSARIES, anniversary_in


def _times() -> Ways:
    def moment_in(moment: Moment, locale: Locale) -> str:
        day, clock = format_date(moment.day, "long", locale), format_time(moment.clock, "short", locale=locale)
        return str(get_datetime_format("long", locale=locale)).replace("'", "").format(clock, day)

    yield MINUTES, partial(format_time, format="short")
    yield SECONDS, partial(format_time, format="medium")
    yield MOMENTS, moment_in


def _relative_times() -> Ways:
    def relative_in(unit: Any, seconds: int, count: Decimal, locale: Locale) -> str:
        # The threshold keeps Babel from rounding 100 days to 3 months.
        span = partial(format_timedelta, int(count) * seconds, unit, float("inf"), locale=locale)
        text = span(add_direction=True)
        if text == span():
            raise LookupError(f"{locale} does not tell {count} {unit} from now from {count} {unit}")
        return text

    for unit, seconds in TIMEDELTA_UNITS:
        for direction in (1, -1):
            yield numbers(digits=3, least=1), partial(relative_in, unit, direction * seconds)


def _numbers() -> Ways:
    def percent_in(number: Decimal, locale: Locale) -> str:
        return format_percent(number / 100, locale=locale, decimal_quantization=False)

    def compact_in(number: Decimal, locale: Locale) -> str:
        # In CLDR, long forms that are missing are the short ones.
        length: Literal["long", "short"] = "long" if "long" in locale.compact_decimal_formats else "short"
        return format_compact_decimal(number, format_type=length, fraction_digits=2, locale=locale)

    yield numbers(digits=6, decimals=3), format_decimal
    yield numbers(digits=3, decimals=1), percent_in
    yield ROUND_NUMBERS, compact_in


def _currencies() -> Ways:
    def symbol_in(currency: str, amount: Decimal, locale: Locale) -> str:
        text = format_currency(amount, currency, locale=locale)
        # CLDR asks for a space between a digit and a symbol of letters (CHF 5.00), which Babel does not add.
        return re.sub(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", " ", text)

    def name_in(currency: str, amount: Decimal, locale: Locale) -> str:
        # Whole amounts go without decimals, so that one euro is "1 euro".
        cents = amount != int(amount)
        return format_currency(amount, currency, locale=locale, format_type="name", currency_digits=cents)

    for currency in CURRENCIES:
        amounts = numbers(digits=5, decimals=get_currency_precision(currency))
        yield amounts, partial(symbol_in, currency)
        yield amounts, partial(name_in, currency)


def _units() -> Ways:
    def unit_in(unit: str, length: str, amount: Decimal, locale: Locale) -> str:
        patterns = _unit_patterns(unit, length, locale)
        pattern = patterns.get(locale.plural_form(amount)) or patterns["other"]
        return pattern.format(format_decimal(amount, locale=locale))

    amounts = numbers(digits=3, decimals=1)
    for unit in UNITS:
        yield amounts, partial(unit_in, unit, "long")
        yield amounts, partial(unit_in, unit, "short")


def _unit_patterns(unit: str, length: str, locale: Locale) -> dict[str, str]:
    """How a unit is written after each sort of number: `{"one": "{0} mile", "other": "{0} miles"}`.

    Babel's own `format_unit` says "1 Meilen" for "1 mi" where one pattern serves all numbers, and "5 duration-hour"
    where the long form is the short one.
    """
    by_length = locale._data["unit_patterns"][unit]
    chosen = by_length.get(length, {})
    return dict(chosen if "other" in chosen else by_length["short"])


def _lists(languages: Languages) -> Ways:
    def list_in(style: Literal["standard", "or"], names: NameList, locale: Locale) -> str:
        return format_list([_name(code, locale) for code in names.codes], style, locale)

    sorts = {"month": range(1, 13), "weekday": range(7), "territory": TERRITORIES, "language": LANGUAGES}
    vocabularies = [[f"{sort} {code}" for code in codes] for sort, codes in sorts.items()]
    named = [[code for code in codes if all(_name(code, locale) for locale in languages)] for codes in vocabularies]
    # A word for two things (a country and its language) has no one translation.
    uses = Counter(_name(code, languages.source) for codes in named for code in codes)
    clear = [[code for code in codes if uses[_name(code, languages.source)] == 1] for codes in named]
    space = lists([codes for codes in clear if len(codes) >= 4])
    if space.landmarks:
        yield space, partial(list_in, "standard")
        yield space, partial(list_in, "or")


def _name(code: str, locale: Locale) -> str:
    """The name of a thing such as `month 5` or `territory DE`; empty where the locale has none."""
    sort, key = code.split()
    if sort == "month":
        return str(locale.months["stand-alone"]["wide"].get(int(key), ""))
    if sort == "weekday":
        return str(locale.days["stand-alone"]["wide"].get(int(key), ""))
    return str((locale.territories if sort == "territory" else locale.languages).get(key, ""))


def _spelled(languages: Languages) -> Ways:
    def spelled_in(form: str, number: Decimal, locale: Locale) -> str:
        text = str(num2words(int(number), lang=_speller(locale), to=form))
        return text.replace("tsième", "tième")  # French drops the s of "cents" and "quatre-vingts" here

    yield numbers(digits=4), partial(spelled_in, "cardinal")
    # Where num2words has no ordinals it sometimes gives the cardinals.
    if all(_has_ordinals(locale) for locale in languages):
        yield numbers(digits=3, least=1), partial(spelled_in, "ordinal")


def _speller(locale: Locale) -> str:
    """The code under which num2words knows a language."""
    codes = [str(locale), {"nb": "no", "kk": "kz"}.get(locale.language, locale.language)]
    known = [code for code in codes if code in CONVERTER_CLASSES]
    if not known:
        raise LookupError(f"num2words cannot spell numbers in {locale}")
    return known[0]


def _has_ordinals(locale: Locale) -> bool:
    try:
        code = _speller(locale)
        return bool(num2words(21, lang=code) != num2words(21, lang=code, to="ordinal"))
    except (LookupError, NotImplementedError):
        return False
