"""A recipe: every setting of a run, read from TOML.

Strict: what is not known is refused, and the nearest known name offered.
"""

import json
import re
import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import tomlkit
from pydantic import ValidationError

from seqwright.data.cards import card, cards
from seqwright.data.files import expanded, whole_text
from seqwright.data.generated import CardSettings
from seqwright.data.relative_paths import beside_recipe
from seqwright.errors import SettingError, closest, run_instead
from seqwright.kinds import (
    KINDS,
    TASKS,
    chosen,
    data_with,
    distillation_of,
    family_of,
    kinds_of,
    selector,
    settings_class,
    tasks_for,
    usual_kind,
)
from seqwright.lineage import model_row
from seqwright.older_names import renamed
from seqwright.older_recipes import in_place_of_older, meant_task
from seqwright.overrides import ORIGINS, unknown_setting, with_overrides
from seqwright.overrides import changed_data as changed_data  # noqa: PLC0414 - comparisons have it from here
from seqwright.recipe_checks import refuse_control_characters, refuse_path_as_name, refuse_search_without_loss
from seqwright.setting_classes import Settings

SECTIONS = ("data", *KINDS)
FORMAT = 2
WORDS = ("name", "description", "base", "task")
INIT_ONLY_KEYS = frozenset({"weights", "init_layers", "frozen"})  # of a model: where it began
TOKENIZER_KEYS = frozenset({"tokenizer", "vocabulary", "normalise", "lowercase", "min_frequency"})  # of a tokenizer


class Recipe(NamedTuple):
    """The settings of a run, a section each; `name` names its folder."""

    name: str
    description: str
    task: str
    data: Any
    input: Any
    output: Any
    model: Any
    objective: Any
    training: Any
    decoding: Any

    @property
    def family(self) -> str:
        """The task that it is wired like: itself, unless it shares another's wiring."""
        return family_of(self.task)

    @property
    def descends(self) -> bool:
        """Whether its model learns by descending a loss; others count."""
        return "gradient" in model_row(self.model.kind, self.family).promises

    @property
    def lowercase(self) -> bool:
        """Whether the texts that it writes are scored in small letters."""
        given = [settings.model_dump().get("lowercase") for settings in (self.output, self.input)]
        return bool(next((each for each in given if each is not None), False))

    @property
    def taught(self) -> bool:
        """Whether it learns from a teacher."""
        return "teacher" in type(self.objective).model_fields

    def resolved(self) -> dict[str, Any]:
        """Every setting with its value, defaults included, as plain TOML values."""
        plain: dict[str, Any] = {"format": FORMAT, "name": self.name, "description": self.description}
        plain["task"] = self.task
        for section in SECTIONS:
            settings: Settings = getattr(self, section)
            plain[section] = settings.model_dump(mode="json", exclude_none=True)
        return plain


def shipped() -> dict[str, Path]:
    """The recipes that come with the package, by name."""
    folder = Path(str(resources.files("seqwright") / "recipes"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def recipe_text(where: str) -> tuple[str, str]:
    """The name and the text of a recipe: a file, or one that ships."""
    path = Path(where)
    if (path / "resolved.toml").is_file():
        copy = f" (a copy is {path / 'recipe.toml'})" if (path / "recipe.toml").is_file() else ""
        raise SettingError(
            f"{where} is a run folder, not a recipe; to resume training it, give the recipe it came from{copy} and "
            f"--run {where}"
        )
    if path.suffix == ".toml" or path.is_file():
        try:
            return path.stem, whole_text(path, "utf-8-sig")  # editors on Windows write a byte order mark
        except FileNotFoundError as error:
            meant = _meant(path)
            raise SettingError(f"there is no recipe file {where}{f'.{meant}' if meant else ''}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError(f"the recipe {where} could not be read: {_reason(error)}") from error
    known = shipped()
    if where not in known:
        raise SettingError(f"there is no recipe '{where}', neither a file nor one that ships.{_meant(path)}")
    return where, known[where].read_text(encoding="utf-8")


def _meant(path: Path) -> str:
    """` Did you mean 'x'?` for the recipe of the nearest name: a file beside the one asked for, or one that ships."""
    known = {name: name for name in shipped()} | {beside.stem: str(beside) for beside in path.parent.glob("*.toml")}
    close = closest(path.name.removesuffix(".toml"), known)
    return f" Did you mean '{known[close]}'?" if close else ""


def read_recipe(
    where: str | Path,
    overrides: str | Sequence[str] = (),
    *,
    run: str | Path | None = None,
    teachers: Sequence[str] = (),
    notice: Callable[[str], None] = warnings.warn,
) -> Recipe:
    """A recipe by file or shipped name, with `section.key=value` overrides.

    `run` is the folder it is trained into: if that was begun already, the one its weights came from may be gone.
    `teachers` are runs that it is to be distilled from. `notice` is told which settings an override made fall away.
    """
    where = str(where)
    overrides = [overrides] if isinstance(overrides, str) else overrides
    try:
        name, text = recipe_text(where)
        plain = with_base(parsed(text, where), where)
    except OSError as error:  # a name that no file can have
        raise SettingError(f"the recipe {where[:80]} or its base could not be read: {_reason(error)}") from error
    plain = with_overrides(plain, overrides, notice)
    task_of_recipe(plain, name)  # without which nothing below can be understood
    plain = with_teachers(plain, teachers) if teachers else plain
    begun = Path(run or Path("runs", str(plain.get("name", name))), "resolved.toml")
    return recipe_from(with_weights(plain, begun), name=name)


def parsed(text: str, where: str) -> dict[str, Any]:
    """TOML as a dictionary, every section really one."""
    try:
        plain = tomllib.loads(text)
    except ValueError as error:  # also a number with too many digits
        raise SettingError(f"{where} is not valid TOML: {error}") from error
    except RecursionError as error:
        raise SettingError(f"{where} is nested too deeply to be a recipe; write it again") from error
    for section in SECTIONS:
        if not isinstance(plain.get(section, {}), dict):
            raise SettingError(f"'{section}' must be a section, [{section}], not {plain[section]!r}, in {where}")
    return plain


def recipe_from(plain: dict[str, Any], *, name: str = "run") -> Recipe:
    """A recipe from plain values, every section checked."""
    task = task_of_recipe(plain, name)
    for key in plain:
        if key not in {*SECTIONS, *WORDS, "format"}:
            raise SettingError(unknown_setting(key, key, [*SECTIONS, *WORDS]))
    for word in WORDS:
        if not isinstance(plain.get(word, ""), str):
            raise SettingError(f"'{word}' must be text, not {plain[word]!r}")
        refuse_control_characters(word, plain.get(word, ""))
    named = plain.get("name") or name
    refuse_path_as_name(named)
    refuse_search_without_loss(plain, task)
    sections = {section: validated(section, plain.get(section, {}), task) for section in SECTIONS}
    return Recipe(named, plain.get("description", ""), task, **sections)


def task_of_recipe(plain: Mapping[str, Any], name: str) -> str:
    """What plain values are for; those of an older form are refused, and those that do not say it."""
    task, older = plain.get("task"), in_place_of_older(plain)
    if "format" in plain and (plain["format"] != FORMAT or older or task is None):
        raise SettingError(
            f"'{name}' was written by another version of Seqwright (format {plain['format']}, expected {FORMAT} and "
            "today's names): train it again from its recipe"
        )
    if older:
        raise SettingError(f"'{name}' is of an older form: {older}")
    if not isinstance(task, str) or task not in TASKS:
        found = "does not say what it is for" if task is None else f"is for '{task}', which is no task"
        meant = meant_task(task) if isinstance(task, str) else ""
        known = cards().get(str(plain.get("data", {}).get("card")))
        fitting = f", for {known.name} perhaps {' or '.join(tasks_for(known.kind))}" if known else ""
        write = f'write task = "…" at its top{fitting}'
        raise SettingError(f"'{name}' {found}: {write}; there are {', '.join(TASKS)}.{meant}")
    return task


def validated(section: str, given: dict[str, Any], task: str, called: Mapping[str, str] | None = None) -> Any:
    """The settings of a section; `called` says which of them the user knows by another name, an option's."""
    settings = settings_class(section, given, task)
    try:
        # Through JSON, where strictness means what a user means: 5 is a number of steps, true and "5" are not.
        return settings.model_validate_json(json.dumps(given, default=str), strict=True)
    except ValidationError as error:
        raise SettingError(_sentence(section, given, task, error, called or {})) from error


def with_suggestions(recipe: Recipe, settings: Any) -> Any:
    """The settings of [input] or of [output], and where they leave something open what task or card suggests."""
    suggested, data = dict(TASKS[recipe.task].suggests), recipe.data
    if isinstance(data, CardSettings):
        suggested |= card(data.card).suggests
    known, given = type(settings).model_fields, settings.model_dump(exclude_none=True)
    open_ones = {name: value for name, value in suggested.items() if name in known and name not in given}
    return settings.model_copy(update={name: value.format(**data.model_dump()) for name, value in open_ones.items()})


def written(plain: dict[str, Any]) -> str:
    """Plain values as TOML."""
    return tomlkit.dumps(plain)


def flattened(plain: dict[str, Any]) -> dict[str, Any]:
    """`{"training": {"steps": 5}}` as `{"training.steps": 5}`."""
    flat: dict[str, Any] = {}
    for section, value in plain.items():
        if isinstance(value, dict):
            flat |= {f"{section}.{key}": inner for key, inner in value.items()}
        else:
            flat[section] = value
    return flat


def with_base(plain: dict[str, Any], where: str, heirs: tuple[str, ...] = ()) -> dict[str, Any]:
    """What the recipe says, over what its base says. A base that is a file lies beside the recipe, as data does."""
    plain = beside_recipe(plain, where)
    if "base" not in plain:
        return plain
    base = plain["base"]
    if not isinstance(base, str):
        raise SettingError(f"'base' must name a recipe, not {base!r}, in {where}")
    beside = Path(where).parent / base
    if base.endswith(".toml") and beside.is_file():
        base = str(beside)
    if base in heirs:
        raise SettingError(f"the recipe's base '{base}' leads back to itself; name another, or none")
    name, text = recipe_text(base)
    under = with_base(parsed(text, name), base, (*heirs, base))
    merged = {**under, **plain}
    theirs, task = task_of_recipe(under, base), task_of_recipe(merged, where)
    if family_of(task) != family_of(theirs):
        raise SettingError(f"'{base}' is for {theirs} and {where} for {task}; choose another base, or none")
    merged["data"] = changed_data(under.get("data", {}), plain.get("data", {}))
    for section in KINDS:
        above, below = plain.get(section, {}), under.get(section, {})
        key = selector(section, task)
        kind = below.get(key, usual_kind(section, task))
        # A kind with other settings has other keys: then nothing is inherited.
        if chosen(section, above.get(key, kind), task) == chosen(section, kind, task):
            merged[section] = {**below, **above}
    return merged


def with_teachers(plain: dict[str, Any], teachers: Sequence[str]) -> dict[str, Any]:
    """What the recipe says, but to be learnt from teachers, and with the tokenizer of the first."""
    task = task_of_recipe(plain, "the recipe")
    kind = distillation_of(task)
    if kind is None:
        can = " and ".join(name for name in TASKS if distillation_of(name))
        raise SettingError(f"the recipe is for {task}, which cannot be distilled; {can} can")
    teacher, *others = teachers
    objective = {**plain.get("objective", {}), "kind": kind, "teacher": teacher}
    if others and "more_teachers" not in settings_class("objective", {"kind": kind}, task).model_fields:
        raise SettingError(f"there are {len(teachers)} teachers, but for {task} there can be one; leave --with out")
    objective |= {"more_teachers": others} if others else {}
    inputs = {key: value for key, value in plain.get("input", {}).items() if key not in TOKENIZER_KEYS}
    if "weights" not in plain.get("model", {}):
        inputs["like"] = teacher
    return {**plain, "objective": objective, "input": inputs}


def with_weights(plain: dict[str, Any], begun: Path) -> dict[str, Any]:
    """What the recipe says, over what the run says whose weights it begins from: its model and its tokenizer."""
    weights = plain.get("model", {}).get("weights")
    section = _tokenizer_section(plain)
    where = weights or plain.get(section, {}).get("like")
    if not isinstance(where, str):
        return plain
    beginnings = (expanded(where) / "resolved.toml", begun)
    path = next((each for each in beginnings if each.is_file()), None)
    if path is None:
        setting = "model.weights" if weights else f"{section}.like"
        raise SettingError(f"{setting} is '{where}', where there is no run{run_instead(expanded(where))}")
    other = parsed(whole_text(path), str(path))
    return _inherited(plain, other) if weights else {**plain, section: _same_tokenizer(plain, other, where)}


def _tokenizer_section(plain: Mapping[str, Any]) -> str:
    """The section that says how text becomes tokens: [input], or [output] where no text is read."""
    task = task_of_recipe(plain, "the recipe")
    return "input" if "like" in settings_class("input", {}, task).model_fields else "output"


def _inherited(plain: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Plain values with the model and the tokenizer of another run, as far as they leave them open."""
    task, model = task_of_recipe(plain, "the recipe"), plain["model"]
    kind = chosen("model", model.get("kind", other["model"]["kind"]), task)
    known: type[Settings] = kind.load(kind.settings)
    kept = known.model_fields.keys() - INIT_ONLY_KEYS
    if model.get("kind", other["model"]["kind"]) != other["model"]["kind"]:
        kept -= known.family_defaults
    body = {key: value for key, value in other["model"].items() if key in kept}
    inputs = _same_tokenizer(plain, other, model["weights"])
    return {**plain, "model": {**body, **model}, _tokenizer_section(plain): inputs}


def _same_tokenizer(plain: dict[str, Any], other: dict[str, Any], where: str) -> dict[str, Any]:
    """The inputs of a recipe, cut into tokens as another run's are."""
    section = _tokenizer_section(plain)
    given, known = plain.get(section, {}), {**other.get("output", {}), **other["input"]}
    keys = TOKENIZER_KEYS & settings_class(section, {}, task_of_recipe(plain, "the recipe")).model_fields.keys()
    theirs = {key: value for key, value in known.items() if key in keys}
    for key, value in given.items():
        if key in theirs and theirs[key] != value:
            raise SettingError(
                f"{section}.{key} is {value!r}, but the tokenizer comes from {where}, where it is {theirs[key]!r}; "
                f"leave {section}.{key} out"
            )
    return {**theirs, **given}


def _sentence(section: str, given: dict[str, Any], task: str, error: ValidationError, called: Mapping[str, str]) -> str:
    """What is wrong first, by the name the user knows it by."""
    first = error.errors()[0]
    message = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:  # settings that contradict each other
        options = [option for name, option in called.items() if re.search(rf"\b{name}\b", message)]
        return f"{', '.join(options) or section}: {message[0].lower()}{message[1:]}"
    key = str(first["loc"][0])
    where = called.get(key, f"{section}.{key}")
    if first["type"] == "extra_forbidden":
        known = list(settings_class(section, given, task).model_fields)
        every = {section: settings_class(section, given, task)}
        every |= {other: settings_class(other, {}, task) for other in SECTIONS if other != section}
        now = renamed(f"{section}.{key}", {f"{each}.{name}" for each in every for name in every[each].model_fields})
        elsewhere = _other_data(key, given, task) if section == "data" else _elsewhere(section, key, given, task)
        return now or elsewhere or unknown_setting(where, key, known, before=f"{section}.")
    if first["type"] == "missing" and len(first["loc"]) == 1:
        return f"the setting '{where}' is missing; give it in the recipe under [{section}], or as {where}=…"
    found = "" if first["type"] == "value_error" else f", not {first['input']!r}"
    return f"{where}: {message[0].lower()}{message[1:]}{found}"


def _elsewhere(section: str, key: str, given: dict[str, Any], task: str) -> str:
    """That a key belongs to other kinds of a section, or to another section, if it does."""
    others = {kind: row.load(row.settings) for kind, row in kinds_of(section, task).items() if kind}
    kinds = [kind for kind, settings in others.items() if key in settings.model_fields]
    if kinds:
        return (
            f"'{section}.{key}' belongs to {section}.kind {' or '.join(kinds)}, this recipe's is "
            f"{given.get(selector(section, task), usual_kind(section, task))}; leave it out, or choose that kind"
        )
    rest = [other for other in SECTIONS if other not in {section, "data"}]
    sections = [other for other in rest if key in settings_class(other, {}, task).model_fields]
    return f"there is no setting '{section}.{key}'; it belongs to [{sections[0]}]" if len(sections) == 1 else ""


def _other_data(key: str, given: dict[str, Any], task: str) -> str:
    """That a key belongs to other data, if so."""
    owners = data_with(key, task)
    origin = next((key for key in ORIGINS if key in given), "")
    found = f"this recipe's data is {origin} '{given[origin]}'" if origin else "this recipe names no data"
    belongs = f"'data.{key}' belongs to {' or to '.join(owners)}, and {found}; leave it out, or choose other data"
    return belongs if owners else ""


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "it is not UTF-8"
