"""Settings of the command line over those of a recipe: `section.key=value`, and what falls away with another kind."""

import tomllib
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from seqwright.data.cards import card
from seqwright.errors import SettingError, closest
from seqwright.kinds import KINDS, TASKS, selector, settings_class, usual_kind

ORIGINS = ("card", "imported", "in_memory", "train")  # of data: which of them there is, says what it is


def with_overrides(
    plain: dict[str, Any], overrides: Iterable[str], notice: Callable[[str], None] = warnings.warn
) -> dict[str, Any]:
    """Plain values with others in their place, each told as `section.key=value`; `section.key=` unsets one.

    Where another kind is chosen, what the plain values set of the old one and the new one lacks falls away: `notice` is
    told.
    """
    before = {key: dict(value) if isinstance(value, dict) else value for key, value in plain.items()}
    plain = {key: dict(value) if isinstance(value, dict) else value for key, value in before.items()}
    data: dict[str, Any] = {}
    sections = ["data", *KINDS]
    for override in overrides:
        name, equals, text = override.partition("=")
        section, dot, key = name.strip().partition(".")
        if not equals or not dot:
            raise SettingError(f"'{override}' is not of the form section.key=value, as in training.steps=2000")
        if section not in sections:
            raise SettingError(unknown_setting(name, section, sections, after=f".{key}"))
        if text.strip():
            (data if section == "data" else plain.setdefault(section, {}))[key] = _value(text.strip())
        elif key not in settings_known(section, plain):
            raise SettingError(unknown_setting(name, key, sorted(settings_known(section, plain)), before=f"{section}."))
        else:
            data.pop(key, None)
            plain.get(section, {}).pop(key, None)
    for section in KINDS:
        _drop_other_kinds_settings(section, before, plain, notice)
    return {**plain, "data": changed_data(plain.get("data", {}), data)} if data else plain


def settings_known(section: str, plain: Mapping[str, Any]) -> set[str]:
    """The names of the settings of a section: those that plain values give, and all if they say what they are for."""
    given, task = plain.get(section, {}), plain.get("task")
    return {
        *given,
        *(settings_class(section, given, task).model_fields if isinstance(task, str) and task in TASKS else ()),
    }


def _drop_other_kinds_settings(
    section: str, before: Mapping[str, Any], plain: dict[str, Any], notice: Callable[[str], None]
) -> None:
    """Remove what was set of a kind that has been changed, and is unknown to the new one."""
    task = before.get("task")
    if not isinstance(task, str) or task not in TASKS or not before.get(section):
        return
    key, old, new = selector(section, task), before[section], plain[section]
    kind = old.get(key, usual_kind(section, task))
    if new.get(key, kind) == kind:
        return
    known = settings_class(section, new, task).model_fields
    gone = [name for name in new if name not in known and name in old and new[name] == old[name]]
    plain[section] = {name: value for name, value in new.items() if name not in gone}
    if gone:
        named = ", ".join(f"{section}.{name}" for name in gone)
        notice(f"{section}.{key} is {new[key]} in place of {kind}, and does not know {named}: left out")


def _value(text: str) -> Any:
    """A TOML value, or the text itself where it is none: `input.tokenizer=bpe` needs no quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    except (ValueError, RecursionError) as error:
        raise SettingError(f"'{text[:40]}…' is no value of a setting: it has too many digits or brackets") from error


def changed_data(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Data settings over others. Another card or file has other keys: then nothing is kept of those below."""
    another = any(key in above for key in ORIGINS) and _origin(above) != _origin(below)
    return dict(above) if another else {**below, **above}


def _origin(data: dict[str, Any]) -> Any:
    """What decides which keys data has."""
    return card(data["card"]).settings if "card" in data else [key for key in ORIGINS if key in data]


def unknown_setting(name: str, word: str, known: list[str], *, before: str = "", after: str = "") -> str:
    """That there is no such setting, and the nearest one that there is."""
    close = closest(word, known)
    return f"there is no setting '{name}'." + (f" Did you mean '{before}{close}{after}'?" if close else "")
