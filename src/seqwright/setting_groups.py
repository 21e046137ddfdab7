"""Every class of settings that a recipe can have, with the words for its types and defaults.

`seqwright settings` and the page of the documentation are both made from this: no setting is described anywhere else.
"""

import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import tomlkit
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from seqwright.data.cards import READERS, cards
from seqwright.data.imported import ImportedSettings
from seqwright.errors import SettingError
from seqwright.kinds import KINDS, TASKS, Kind, selector, tasks_for, usual_kind
from seqwright.setting_classes import Settings

ABOUT_SECTIONS = {
    "data": "What is read: a card of the catalogue, files of the user's own, read as the task decides, or what was "
    "imported.",
    "input": "How what is read becomes tensors.",
    "output": "What the model says of it: how targets become tensors, and how predictions are scored.",
    "model": "What computes. The kinds are the members of the family that live here (`seqwright lineage`).",
    "objective": "What is learnt from a batch.",
    "training": "How it is learnt.",
    "decoding": "How sequences are chosen from a model's probabilities, in evaluation and use; validation is greedy.",
}
WORDS = {int: "whole number", float: "number", str: "text", bool: "true or false"}
LIMITS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


class SettingRow(NamedTuple):
    """A setting in words; values and defaults are spelled as in a recipe."""

    name: str
    values: str
    default: str  # "required", or "unset" where it has no value
    meaning: str


class SettingGroup(NamedTuple):
    """A class of settings: its section, the kinds or cards that choose it, and the tasks it is for, none: for all."""

    section: str
    names: tuple[str, ...]
    tasks: tuple[str, ...]
    kind: Kind | None  # None where the class is known already
    found: type[Settings] | None = None
    title: str = ""  # of data: what it is

    @property
    def settings(self) -> type[Settings]:
        """The class, which is imported only now."""
        if self.found is not None:
            return self.found
        assert self.kind is not None, "a group has a class or says where it is"
        loaded: type[Settings] = self.kind.load(self.kind.settings)
        return loaded

    @property
    def usual(self) -> str | None:
        """The kind that is meant where a recipe names none, if it is one of these."""
        usual = usual_kind(self.section, self.tasks[0]) if self.kind is not None and self.tasks else None
        return usual if usual in self.names else None

    @property
    def about(self) -> str:
        """What the class is for."""
        return plain_text(self.settings.__doc__ or "")

    def rows(self) -> Iterator[SettingRow]:
        """A row for each setting."""
        key = "card" if self.kind is None else selector(self.section, self.tasks[0]) if self.tasks else "kind"
        filled = _filled_in(self.settings)
        for name, field in self.settings.model_fields.items():
            if name == key:
                values = ", ".join(_toml(each) for each in self.names)
                default = _toml(self.usual) if self.usual else "required"  # another section would be meant without it
                meaning = field.description or "What the section is."
            else:
                values, default = _spoken(field.annotation, _limits(field.metadata)), _default(name, field, filled)
                meaning = field.description or ""
            if not meaning:
                told = f"{self.settings.__name__}.{name}"
                raise ValueError(f"{told} has no description; write one in a string under the field")
            yield SettingRow(name, values, default, plain_text(meaning))


def setting_groups() -> list[SettingGroup]:
    """Each class of which something can be set, once, in the order of a recipe; those of one task together."""
    every = (*_data_groups(), *(group for section in KINDS for group in _section_groups(section)))
    return [group for group in every if group.settings.model_fields]


def _data_groups() -> Iterator[SettingGroup]:
    files: dict[type[Settings], list[str]] = {}
    for task, row in TASKS.items():
        files.setdefault(READERS[row.examples[0]].settings, []).append(task)
    of_cards: dict[type[Settings], list[str]] = {}
    for name, card in cards().items():
        of_cards.setdefault(card.settings, []).append(name)
    for settings, tasks in files.items():
        yield SettingGroup("data", (), tuple(tasks), None, settings, "files")
    for settings, names in of_cards.items():
        for_tasks = dict.fromkeys(task for name in names for task in tasks_for(cards()[name].kind))
        yield SettingGroup("data", tuple(names), tuple(for_tasks), None, settings, f"card {', '.join(names)}")
    yield SettingGroup("data", (), (), None, ImportedSettings, "imported")


def _section_groups(section: str) -> list[SettingGroup]:
    groups: dict[Kind, list[str]] = {}
    for name, several in KINDS[section].items():
        for kind in several:
            groups.setdefault(kind, []).append(name)
    order = ["", *TASKS]
    ordered = sorted(groups.items(), key=lambda group: order.index(group[0].task))
    return [
        SettingGroup(section, tuple(filter(None, names)), (kind.task,) if kind.task else (), kind)
        for kind, names in ordered
    ]


# ---------------------------------------------------------------------------------------------------- words


def plain_text(text: str) -> str:
    """A docstring in one line."""
    return " ".join(text.split())


def _filled_in(settings: type[Settings]) -> Settings | None:
    """The settings with nothing given, where that is allowed: one field may fill in others."""
    try:
        return settings()
    except SettingError:
        return None


def _default(name: str, field: FieldInfo, filled: Settings | None) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is PydanticUndefined:
        return "required" if filled is None else f"{_toml(getattr(filled, name))}, follows from the others"
    return "unset" if value is None else _toml(value)


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


def markdown_table(rows: Sequence[SettingRow]) -> str:
    """Rows as a table of Markdown."""
    table = [("Setting", "Values", "Default", "Meaning"), ("---",) * 4]
    for row in rows:
        default = f"*{row.default}*" if row.default in {"required", "unset"} else row.default
        table.append((f"`{row.name}`", row.values, default, row.meaning))
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in table)
