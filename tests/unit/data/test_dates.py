"""The dates corpus keeps its promises: right translations, one for each source, and nothing tested that was trained."""

import hashlib
import itertools
import os
import re
import subprocess
import sys
from collections import Counter
from datetime import datetime
from decimal import Decimal
from functools import cache

import pytest
from babel import Locale

from seqwright.data import dates
from seqwright.data.dates import Dates, DatesSettings, DrawnPair
from seqwright.data.dates_readings import Languages, Phrasing, readings_by_kind
from seqwright.data.dates_values import numbers
from seqwright.data.examples import PartName
from seqwright.errors import SettingError

DIRECTIONS = [("en", "de"), ("fr", "en"), ("es", "ja")]
PARTS: list[PartName] = ["train", "valid", "test"]

GERMAN_ONES = [
    *("null", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"),
    *("dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"),
]
GERMAN_TENS = ["", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]
ENGLISH_ONES = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
]
ENGLISH_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
GERMAN_MONTHS = [
    *("Januar", "Februar", "März", "April", "Mai", "Juni"),
    *("Juli", "August", "September", "Oktober", "November", "Dezember"),
]
WEEKDAYS = {
    "Monday": "Montag",
    "Tuesday": "Dienstag",
    "Wednesday": "Mittwoch",
    "Thursday": "Donnerstag",
    "Friday": "Freitag",
    "Saturday": "Samstag",
    "Sunday": "Sonntag",
}


@cache
def drawn(source: str, target: str, part: PartName, seed: int = 1) -> list[DrawnPair]:
    settings = DatesSettings(source=source, target=target, examples=3200, valid=240, test=480, seed=seed)
    return list(Dates(settings).drawn(part))


def values(items: list[DrawnPair]) -> set[str]:
    return set(itertools.chain.from_iterable(item.values for item in items))


def english_to_german(kind: str) -> list[DrawnPair]:
    return [item for part in PARTS for item in drawn("en", "de", part) if item.pair.kind == kind]


def german_number(text: str) -> Decimal:
    return Decimal(re.sub(r"[^\d,]", "", text).replace(",", "."))


def english_number(text: str) -> Decimal:
    return Decimal(re.sub(r"[^\d.]", "", text))


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_no_value_is_in_two_parts(source: str, target: str) -> None:
    for one, other in itertools.combinations(PARTS, 2):
        assert not values(drawn(source, target, one)) & values(drawn(source, target, other))


def test_held_out_values_stay_held_out_under_another_seed_and_other_languages() -> None:
    trained = values(drawn("en", "de", "train", seed=2)) | values(drawn("fr", "en", "train"))
    assert not values(drawn("en", "de", "test")) & trained


def test_another_seed_gives_other_pairs() -> None:
    assert drawn("en", "de", "test", seed=2) != drawn("en", "de", "test")


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_every_source_has_one_translation(source: str, target: str) -> None:
    translations: dict[str, str] = {}
    for part in PARTS:
        for _, pair in drawn(source, target, part):
            assert translations.setdefault(pair.source, pair.target) == pair.target


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_no_held_out_source_is_trained_on_or_comes_twice(source: str, target: str) -> None:
    trained = {pair.source for _, pair in drawn(source, target, "train")}
    held_out = [pair.source for part in PARTS[1:] for _, pair in drawn(source, target, part)]
    assert len(set(held_out)) == len(held_out)
    assert not trained & set(held_out)


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_the_kinds_are_balanced_in_every_part(source: str, target: str) -> None:
    for part in PARTS:
        counts = Counter(pair.kind for _, pair in drawn(source, target, part))
        assert len(counts) == 8
        assert max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_texts_have_words_and_plain_spaces_only(source: str, target: str) -> None:
    for part in PARTS:
        for _, pair in drawn(source, target, part):
            for text in (pair.source, pair.target):
                assert text
                assert text == " ".join(text.split())
                assert not re.search(r"[^\S ]", text)


def test_every_name_in_a_tested_list_was_seen_in_training() -> None:
    seen, tested = (
        {
            name
            for item in drawn("en", "de", part)
            if item.pair.kind == "lists"
            for name in item.values[0][5:].split(", ")
        }
        for part in ("train", "test")
    )
    assert tested <= seen


def test_small_numbers_are_only_trained_on() -> None:
    small = {f"number {number}" for number in range(1, 21)}
    assert small <= values(drawn("en", "de", "train"))
    assert not small & (values(drawn("en", "de", "valid")) | values(drawn("en", "de", "test")))


def test_dates_are_translated_as_the_calendar_has_them() -> None:
    forms: Counter[tuple[str, str]] = Counter()
    for (value, *_), pair in english_to_german("dates"):
        sort, when = value.split()
        if sort == "date":
            day = datetime.fromisoformat(when)
            month = GERMAN_MONTHS[day.month - 1]
            long = f"{day.day}. {month} {day.year}"
            german = {f"{day:%A, %B} {day.day}, {day.year}": f"{WEEKDAYS[f'{day:%A}']}, {long}"}
            german[f"{day:%b} {day.day}, {day.year}"] = f"{day:%d.%m.%Y}"
            german[f"{day:%B} {day.day}, {day.year}"] = long  # last: in May it wins over the medium form
        else:
            first, second = map(int, when.split("-"))
            if sort == "month":
                german = {f"{datetime(first, second, 1):%B} {first}": f"{GERMAN_MONTHS[second - 1]} {first}"}
            else:
                german = {f"{datetime(2000, first, 1):%B} {second}": f"{second}. {GERMAN_MONTHS[first - 1]}"}
        assert german[pair.source] == pair.target
        forms[sort, re.sub(r"\w+", "x", pair.source)] += 1
    assert len(forms) == 4  # full; long and medium look alike; month; day
    assert min(forms.values()) > 50


def test_the_medium_form_is_kept_where_only_may_is_ambiguous() -> None:
    months = {f"{datetime(2000, month, 1):%b}" for month in range(1, 13)}
    medium = [pair for _, pair in english_to_german("dates") if re.fullmatch(r"\d\d\.\d\d\.\d{4}", pair.target)]
    assert {pair.source[:3] for pair in medium} == months - {"May"}


def test_times_are_translated_to_the_same_time_of_day() -> None:
    for _, pair in english_to_german("times"):
        english, german = pair.source.split(", ")[-1], pair.target.split(", ")[-1]
        seconds = ":%S" if german.count(":") == 2 else ""
        assert datetime.strptime(english, f"%I:%M{seconds} %p") == datetime.strptime(german, f"%H:%M{seconds}")


def test_relative_times_keep_number_unit_and_direction() -> None:
    german_units = {
        "second": "Sekunde Sekunden",
        "minute": "Minute Minuten",
        "hour": "Stunde Stunden",
        "day": "Tag Tagen",
        "week": "Woche Wochen",
        "month": "Monat Monaten",
        "year": "Jahr Jahren",
    }
    for _, pair in english_to_german("relative"):
        past = pair.source.endswith(" ago")
        count, unit = pair.source.removesuffix(" ago").removeprefix("in ").split()
        word = german_units[unit.removesuffix("s")].split()[count != "1"]
        assert pair.target == f"{'vor' if past else 'in'} {count} {word}"


def test_numbers_are_the_same_number_written_otherwise() -> None:
    factors = {"thousand": "Tausend", "million": "Millionen", "billion": "Milliarden"}
    for _, pair in english_to_german("numbers"):
        assert german_number(pair.target) == english_number(pair.source)
        word = pair.source.split()[-1]
        if word in factors:
            assert pair.target.split()[-1] in (factors[word], factors[word].removesuffix("en").removesuffix("nen"))
        assert pair.source.endswith("%") == pair.target.endswith(" %")


def test_amounts_of_money_and_units_are_the_same_amounts() -> None:
    for (value,), pair in english_to_german("currencies") + english_to_german("units"):
        digits = re.compile(r"\d[\d.,]*(?<=\d)")
        english, german = digits.search(pair.source), digits.search(pair.target)
        assert english
        assert german
        amount = Decimal(value.removeprefix("number "))
        assert english_number(english[0]) == german_number(german[0]) == amount


@pytest.mark.parametrize(
    ("english", "german"),
    [("kilometers", "Kilometer"), ("miles per hour", "Meilen pro Stunde"), ("mi", "mi"), ("days", "Tage")],
)
def test_a_unit_has_the_german_name(english: str, german: str) -> None:
    found = [pair.target for _, pair in english_to_german("units") if re.fullmatch(rf"[\d.]+ {english}", pair.source)]
    assert found
    assert all(re.fullmatch(rf"[\d,]+ {german}", target) for target in found)


@cache
def readings(source: str, target: str) -> dict[str, list[Phrasing[Decimal]]]:
    return readings_by_kind(Languages(Locale.parse(source), Locale.parse(target)))


def translations(kind: str, number: int, source: str, target: str) -> dict[str, str]:
    value = Decimal(number)
    return {reading.source(value): reading.target(value) for reading in readings(source, target)[kind]}


def test_one_mile_is_short_in_german_too() -> None:
    """Babel itself would say "1 Meilen"."""
    assert translations("units", 1, "en", "de")["1 mi"] == "1 mi"


def test_a_long_unit_that_is_the_short_one_has_its_words() -> None:
    """Babel itself would say "5 duration-hour"."""
    assert translations("units", 5, "en", "ja")["5 hours"] == "5 時間"


def test_a_currency_of_letters_stands_apart_from_the_digits() -> None:
    found = translations("currencies", 5, "en", "de")
    assert found["CHF 5.00"] == "5,00 CHF"
    assert found["€5.00"] == "5,00 €"
    assert found["5 Swiss francs"] == "5 Schweizer Franken"


@pytest.mark.parametrize(("number", "french"), [(80, "quatre-vingtième"), (200, "deux centième"), (3, "troisième")])
def test_french_ordinals_have_no_plural_inside(number: int, french: str) -> None:
    assert french in translations("spelled", number, "fr", "en")


def test_lists_of_weekdays_keep_order_and_conjunction() -> None:
    found = [pair for _, pair in english_to_german("lists") if pair.source.split()[0].strip(",") in WEEKDAYS]
    assert len(found) > 30
    for pair in found:
        names = [WEEKDAYS[name] for name in re.split(r", (?:and |or )?| and | or ", pair.source)]
        word = "und" if " and " in pair.source else "oder"
        assert pair.target == f"{', '.join(names[:-1])} {word} {names[-1]}"


def english_words(number: int) -> str:
    if number < 20:
        return ENGLISH_ONES[number]
    if number < 100:
        return ENGLISH_TENS[number // 10] + (f"-{ENGLISH_ONES[number % 10]}" if number % 10 else "")
    big, name, rest = (
        (number // 1000, "thousand", number % 1000) if number > 999 else (number // 100, "hundred", number % 100)
    )
    joint = " and " if rest < 100 else ", "
    return f"{english_words(big)} {name}" + (joint + english_words(rest) if rest else "")


def german_words(number: int) -> str:
    if number < 20:
        return GERMAN_ONES[number]
    if number < 100:
        return (f"{GERMAN_ONES[number % 10]}und" if number % 10 else "") + GERMAN_TENS[number // 10]
    big, name, rest = (
        (number // 1000, "tausend", number % 1000) if number > 999 else (number // 100, "hundert", number % 100)
    )
    return GERMAN_ONES[big] + name + (german_words(rest) if rest else "")


def test_spelled_cardinals_agree_with_an_independent_speller() -> None:
    cardinals = 0
    for (value,), pair in english_to_german("spelled"):
        number = int(value.removeprefix("number "))
        if pair.source == english_words(number):
            german = german_words(number)
            assert pair.target == german + ("s" if german.endswith("ein") else "")
            cardinals += 1
        else:
            assert re.search("(first|second|third|th)$", pair.source)
            assert pair.target.endswith(("te", "erste"))
    assert cardinals > 200


def test_every_number_with_words_of_its_own_is_a_landmark() -> None:
    own = [*range(30), *range(30, 100, 10), *range(100, 1000, 100), *range(1000, 10000, 1000)]
    assert {Decimal(number) for number in own} <= set(numbers(digits=4).landmarks)
    assert set(numbers(digits=2, least=1).landmarks) < {Decimal(number) for number in range(1, 100)}


def test_the_same_settings_give_the_same_pairs_in_another_process() -> None:
    program = (
        "import hashlib; from seqwright.data.dates import *; "
        "pairs = Dates(DatesSettings(examples=3200, valid=240, test=480)).examples('test'); "
        "print(hashlib.sha256(repr(list(pairs)).encode()).hexdigest())"
    )
    other = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "7", "LC_ALL": "C.UTF-8", "LANG": "de_DE", "TZ": "Asia/Tokyo"},
        check=True,
        capture_output=True,
        text=True,
    )
    here = repr([pair for _, pair in drawn("en", "de", "test")])
    assert other.stdout.strip() == hashlib.sha256(here.encode()).hexdigest()


def test_pairs_are_drawn_while_they_are_read() -> None:
    plenty = Dates(DatesSettings(examples=10**12))
    first = list(itertools.islice(plenty.examples("train"), 16))
    assert first == [pair for _, pair in drawn("en", "de", "train")[:16]]


def test_an_empty_test_part_does_not_exist() -> None:
    assert Dates(DatesSettings()).parts() == ["train", "valid", "test"]
    assert Dates(DatesSettings(test=0)).parts() == ["train", "valid"]


def test_a_kind_without_words_is_left_out() -> None:
    assert "spelled" not in Dates(DatesSettings(target="el")).kinds()
    assert "spelled" in Dates(DatesSettings(target="pt-BR")).kinds()


def test_asking_for_more_held_out_pairs_than_there_are_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dates, "TRIES", 20)
    with pytest.raises(SettingError, match=r"data\.valid = 20000 asks for more different pairs of kind '\w+' than"):
        list(Dates(DatesSettings(valid=20_000)).examples("valid"))


def test_an_unknown_locale_is_named() -> None:
    with pytest.raises(SettingError, match=r"data\.target is 'xx'"):
        Dates(DatesSettings(target="xx"))
    with pytest.raises(SettingError, match=r"data\.source is 'de_D'.*Did you mean 'de_DE'"):
        Dates(DatesSettings(source="de_D"))


def test_a_language_can_be_its_own_target_for_an_autoencoder() -> None:
    pairs = list(Dates(DatesSettings(source="pt_BR", target="pt-BR", valid=80)).examples("valid"))
    assert all(pair.source == pair.target for pair in pairs)
    assert len({pair.kind for pair in pairs}) > 5


def test_the_fingerprint_follows_the_part_and_every_setting() -> None:
    changes: list[dict[str, object]] = [
        {"source": "fr"},
        {"target": "ja"},
        {"examples": 7},
        {"valid": 7},
        {"test": 7},
        {"seed": 7},
    ]
    settings = [DatesSettings(), *(DatesSettings.model_validate(change) for change in changes)]
    prints = [Dates(each).fingerprint(part) for each in settings for part in PARTS]
    assert len(set(prints)) == 7 * 3
    assert Dates(DatesSettings()).fingerprint("train") == prints[0]
    assert re.fullmatch("[0-9a-f]{64}", prints[0])
