"""What there is, by name: tasks, recipes, models, cards, and the settings of each section of a recipe."""

from collections.abc import Sequence
from typing import Any, NamedTuple, get_origin

from pydantic_core import PydanticUndefined

from seqwright.data.cards import READERS, card, cards
from seqwright.errors import SettingError, instead, nearest
from seqwright.kinds import KINDS, TASKS, family_of, kinds_of, settings_class
from seqwright.lineage import MODELS
from seqwright.recipe import SECTIONS, parsed, shipped, with_base
from seqwright.setting_classes import Settings


class Setting(NamedTuple):
    """A setting of a recipe: what it is called, what it may be, what it is if nothing is said, and what it does."""

    name: str
    type: str
    default: Any  # `...` where it must be given
    description: str


class SettingTable(dict[str, Setting]):
    """The settings of a section by name; shown as a table."""

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        rows = [(name, "required" if each.default is ... else repr(each.default)) for name, each in self.items()]
        told = max((len(default) for _, default in rows), default=0)
        return "\n".join(
            f"{name:{width}}  {default:{min(told, 20)}}  {self[name].description}" for name, default in rows
        )


def task_names() -> list[str]:
    """Every task, by the name a recipe calls it: `sw.list_tasks()`."""
    return list(TASKS)


def recipe_names(task: str | None = None) -> list[str]:
    """The recipes that ship, all or those for a task: `sw.list_recipes()`."""
    if task is None:
        return list(shipped())
    _refuse_unknown_task(task)
    plain = {name: with_base(parsed(path.read_text(encoding="utf-8"), name), name) for name, path in shipped().items()}
    return [name for name, each in plain.items() if each["task"] == task]


def model_names(task: str | None = None) -> list[str]:
    """The kinds of models, all or those that learn a task: `sw.list_models()`."""
    if task is not None:
        _refuse_unknown_task(task)
    rows = [row for row in MODELS if task is None or row.task in {"", family_of(task)}]
    return list(dict.fromkeys(row.kind for row in rows))


def card_names(task: str | None = None) -> list[str]:
    """The datasets that have a card, all or those that a task reads: `sw.list_cards()`."""
    if task is None:
        return list(cards())
    _refuse_unknown_task(task)
    return [name for name, each in cards().items() if each.kind in TASKS[task].examples]


def section_settings(section: str, kind: str | None = None, *, task: str | None = None) -> SettingTable:
    """The settings of a section of a recipe: `sw.settings("training")`, `sw.settings("model", "gpt")`.

    `kind` is that of a model, an objective or a tokenizer, or the name of a card; where it means something else for
    each task, `task` says which, and the first that has it is taken if nothing is said.
    """
    if section not in SECTIONS:
        raise SettingError(f"there is no section '{section}' of a recipe{instead(section, SECTIONS)}")
    if task is not None:
        _refuse_unknown_task(task)
    found = _data_class(kind, task) if section == "data" else _section_class(section, kind, task)
    return SettingTable({name: _setting(name, field) for name, field in found.model_fields.items()})


def _data_class(kind: str | None, task: str | None) -> type[Settings]:
    if kind is not None:
        return card(kind).settings
    if task is None:
        raise SettingError("data has other settings for each task: say task=…, or name a card")
    return READERS[TASKS[task].examples[0]].settings


def _section_class(section: str, kind: str | None, task: str | None) -> type[Settings]:
    kinds = KINDS[section]
    if "" not in kinds and kind is None and task is None:
        raise SettingError(
            f"{section} has other settings for each kind and task: name a kind, or say task=…; {_all(kinds)}"
        )
    if kind is not None and kind not in kinds:
        raise SettingError(f"there is no {section} '{kind}'; {_all(kinds)}.{nearest(kind, kinds)}")
    fitting = [task] if task else [each for each in TASKS if kind is None or kind in kinds_of(section, each)]
    if section == "output" and task is None:
        raise SettingError("output has other settings for each task: say task=…")
    key = "kind" if section != "input" else "scaling" if kind in {"standard", "none"} else "tokenizer"
    return settings_class(section, {} if kind is None else {key: kind}, fitting[0])


def _all(kinds: Any) -> str:
    return f"there are {', '.join(filter(None, kinds))}"


def _setting(name: str, field: Any) -> Setting:
    default = ... if field.is_required() else field.get_default(call_default_factory=True)
    plain = field.annotation
    told = str(plain) if get_origin(plain) is not None or not isinstance(plain, type) else plain.__name__
    description = " ".join((field.description or "").split())
    return Setting(name, told.replace("typing.", ""), None if default is PydanticUndefined else default, description)


def _refuse_unknown_task(task: str) -> None:
    known: Sequence[str] = list(TASKS)
    if task not in known:
        raise SettingError(f"there is no task '{task}'{instead(task, known)}")
