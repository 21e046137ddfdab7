"""The reference of every setting, made from the settings classes: no setting is described anywhere else."""

import types
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import tomlkit
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from seqwright.data.cards import READERS, cards
from seqwright.data.imported import ImportedSettings
from seqwright.errors import SettingError
from seqwright.kinds import KINDS, TASKS, Kind, selector, tasks_for, usual_kind
from seqwright.settings import Settings

INTRODUCTION = """# Settings

Every setting of every section of a recipe, with the name that a recipe and an override `section.name=value` use.
In Python the same names are the fields of the class that is named above each table.

A setting without a default says *required*; one that says *unset* may be left out and then has no value.
"""
SECTIONS = {
    "input": "How what is read becomes tensors.",
    "output": "What the model says of it: how targets become tensors, and how predictions are scored.",
    "model": "What computes. The kinds are the members of the family that live here (`seqwright lineage`).",
    "objective": "What is learnt from a batch.",
    "training": "How it is learnt.",
    "decoding": "How sequences are chosen from a model's probabilities, in evaluation and use; validation is greedy.",
}
WORDS = {int: "whole number", float: "number", str: "text", bool: "true or false"}
LIMITS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


def settings_page() -> str:
    """The whole page, as Markdown."""
    parts = [INTRODUCTION, *_data_parts()]
    for section, kinds in KINDS.items():
        parts.append(f"## [{section}]\n\n{SECTIONS[section]}\n")
        for kind, names in _grouped(kinds):
            parts.append(_kind_part(section, kind, names))
    return "\n".join(parts)


DATA = """## [data]

What is read: a card of the catalogue, files of the user's own, read as the task decides, or what was imported.
"""


def _data_parts() -> list[str]:
    """Each class of settings of data once, with the tasks or the cards it is for."""
    files: dict[type[Settings], list[str]] = {}
    for task, row in TASKS.items():
        files.setdefault(READERS[row.examples[0]].settings, []).append(task)
    of_cards: dict[type[Settings], list[str]] = {}
    for name, card in cards().items():
        of_cards.setdefault(card.settings, []).append(name)
    parts = [_data_part("files", settings, tasks) for settings, tasks in files.items()]
    for settings, names in of_cards.items():
        tasks = dict.fromkeys(task for name in names for task in tasks_for(cards()[name].kind))
        parts.append(_data_part(f"card {', '.join(names)}", settings, tasks, names))
    return [DATA, *parts, _data_part("imported", ImportedSettings, ["every task"])]


def _data_part(what: str, settings: type[Settings], tasks: Iterable[str], names: Sequence[str] = ()) -> str:
    where = f"`{settings.__module__}.{settings.__qualname__}`"
    table = _table(settings, names, None, "card")
    heading = f"### data: {what} (for {', '.join(tasks)})"
    return f"{heading}\n\n{_plain(settings.__doc__ or '')} Class: {where}.\n\n{table}\n"


def _grouped(kinds: dict[str, tuple[Kind, ...]]) -> list[tuple[Kind, list[str]]]:
    """Each class once, with all the kinds it serves; what is for one task together."""
    groups: dict[Kind, list[str]] = {}
    for name, several in kinds.items():
        for kind in several:
            groups.setdefault(kind, []).append(name)
    order = ["", *TASKS]
    return sorted(groups.items(), key=lambda group: order.index(group[0].task))


def _kind_part(section: str, kind: Kind, names: Sequence[str]) -> str:
    settings: type[Settings] = kind.load(kind.settings)
    named = [name for name in names if name]
    purpose = f" (for {kind.task})" if kind.task else ""
    heading = f"### {section}: {', '.join(named)}{purpose}\n\n" if named else ""
    default = usual_kind(section, kind.task) if kind.task else None
    where = f"`{kind.module}.{kind.settings}`"
    usual = f" Where a recipe names no kind, it is `{default}`." if default in named else ""
    table = _table(settings, named, default, selector(section, kind.task))
    return f"{heading}{_plain(settings.__doc__ or '')}{usual} Class: {where}.\n\n{table}\n"


def _table(settings: type[Settings], kinds: Sequence[str], usual: str | None, key: str) -> str:
    rows = [("Setting", "Values", "Default", "Meaning"), ("---",) * 4]
    filled = _filled_in(settings)
    for name, field in settings.model_fields.items():
        if name == key:
            values = ", ".join(_toml(kind) for kind in kinds)
            default = _toml(usual) if usual in kinds else "*required*"  # another section would be meant without it
            meaning = field.description or "What the section is."
        else:
            values, default = _spoken(field.annotation, _limits(field.metadata)), _default(name, field, filled)
            meaning = field.description or ""
        if not meaning:
            raise ValueError(f"{settings.__name__}.{name} has no description; write one in a string under the field")
        rows.append((f"`{name}`", values, default, _plain(meaning)))
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in rows)


def _filled_in(settings: type[Settings]) -> Settings | None:
    """The settings with nothing given, where that is allowed: one field may fill in others."""
    try:
        return settings()
    except SettingError:
        return None


def _default(name: str, field: FieldInfo, filled: Settings | None) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is PydanticUndefined:
        return "*required*" if filled is None else f"{_toml(getattr(filled, name))}, follows from the others"
    return "*unset*" if value is None else _toml(value)


def _spoken(kind: Any, limits: str = "") -> str:
    """A type in words, as one would type a value of it into a recipe."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        found = [limit for note in inner[1:] for limit in (note.metadata if isinstance(note, FieldInfo) else [note])]
        return _spoken(inner[0], _limits(found))
    if origin is Literal:
        return ", ".join(_toml(value) for value in inner)
    if origin in (Union, types.UnionType):
        return " or ".join(_spoken(part, limits) for part in inner if part is not type(None))
    if origin is dict:
        return f"{{ {_spoken(inner[0])} = {_spoken(inner[1])}, … }}"
    if origin is tuple and inner[-1] is Ellipsis:
        return f"[{_spoken(inner[0])}, …]"
    if origin is tuple:
        return f"[{', '.join(_spoken(part) for part in inner)}]"
    return f"{WORDS[kind]} {limits}".strip()


def _limits(metadata: Iterable[Any]) -> str:
    """`≥ 0, < 1` from what pydantic keeps beside a type."""
    return ", ".join(
        f"{sign}\N{NO-BREAK SPACE}{getattr(note, name)}"
        for note in metadata
        for name, sign in LIMITS.items()
        if hasattr(note, name)
    )


def _toml(value: Any) -> str:
    """A value as a recipe has it."""
    return f"`{tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string()}`"


def _plain(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    Path(__file__).with_name("reference").joinpath("settings.md").write_text(settings_page(), encoding="utf-8")
