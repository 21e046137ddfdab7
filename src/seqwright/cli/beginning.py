"""`new`: a commented recipe for the user's own file."""

from pathlib import Path
from typing import Any

import tomlkit

from seqwright.cli.first_recipes import first_recipe
from seqwright.cli.terminal import command, say
from seqwright.data.relative_paths import for_recipe
from seqwright.errors import DataError, SettingError
from seqwright.kinds import TASKS, settings_class
from seqwright.older_recipes import no_such_task
from seqwright.overrides import with_overrides
from seqwright.recipe import recipe_from
from seqwright.whole_file import replacing


def write_new_recipe(
    task: str,
    files: list[Path],
    output: Path | None,
    source: str | None = None,
    target: str | None = None,
    settings: list[str] | None = None,
    begun: Path | None = None,
) -> None:
    """Look at the data, write a recipe that fits it; its model is from scratch, or begins from another run."""
    if task not in TASKS:
        raise SettingError(no_such_task(task))
    columns = {name: _column(asked) for name, asked in (("source", source), ("target", target)) if asked is not None}
    if columns.keys() - settings_class("data", {}, task).model_fields:
        raise SettingError(
            f"--source and --target are for pairs; for {task}, leave them out and choose columns by their "
            "settings, as in data.text=review or data.time=date"
        )
    if columns and len(files) == 2:
        raise SettingError("--source and --target choose columns, but line-aligned files have none; leave them out")
    where = output or Path(f"{files[0].name.split('.')[0] or 'mine'}.toml")
    if where.exists():
        raise SettingError(f"{where} exists; choose another name with --output")
    if any("\udc80" <= letter <= "\udcff" for path in files for letter in str(path)):  # how Python keeps other bytes
        raise DataError("the name of the data is not UTF-8, so no recipe can hold it; rename the file")
    unset = _unset(task, settings or [])
    asked = with_overrides({}, [each for each in settings or [] if _unset_name(each) not in unset])
    first = first_recipe(task, files, unset | asked.pop("data", {}) | columns, begun)
    commands = {verb: _on_one_line(command(verb, str(where))) for verb in ("check", "train")}
    data = for_recipe(first.data, where)
    values = {name: _toml(value) for name, value in {**first.seen.values, "files": data["train"]}.items()}
    new = {name: value for name, value in data.items() if f"\n{name} = " not in first.text}
    values["columns"] = "".join(f"\n{name} = {_toml(value)}" for name, value in new.items())
    if first.reading:
        asked["input"] = {**first.reading, **asked.get("input", {})}
    _write(where, _with(first.text.format(**commands, **values, **first.lines), {"data": data, **asked}))
    say(f"wrote {where}; {first.seen.told}")
    for remark in first.seen.remarks:
        say(remark)
    say(f"next: {command('check', str(where))}")


def _unset(task: str, settings: list[str]) -> dict[str, None]:
    """The settings of the data that shall not be guessed: data.time= leaves the column of times out."""
    known = settings_class("data", {"train": ""}, task).model_fields
    return {name: None for name in map(_unset_name, settings) if name in known}


def _unset_name(override: str) -> str:
    section, _, name = override.strip().partition(".")
    return name.removesuffix("=").strip() if section == "data" and name.endswith("=") else ""


def _with(text: str, settings: dict[str, Any]) -> str:
    """A recipe with some settings put into it, each in its place where it has one; what it then says is checked."""
    recipe = tomlkit.parse(text)
    for section, values in settings.items():
        table: Any = recipe.setdefault(section, tomlkit.table())
        for name, value in values.items():
            table[name] = value
    recipe_from(recipe.unwrap())
    return tomlkit.dumps(recipe)


def _write(where: Path, text: str) -> None:
    try:
        with replacing(where) as file:
            file.write(text.encode())
    except OSError as error:
        raise SettingError(
            f"{where} cannot be written: {error.strerror}; choose another place with --output"
        ) from error


def _column(asked: str) -> str | int:
    """A column by its name, or by its number from 1."""
    return int(asked) if asked.isdecimal() and int(asked) else asked


def _toml(value: Any) -> str:
    return str(tomlkit.item(value).as_string())


def _on_one_line(text: str) -> str:
    """What may stand in a comment, even if a file has a line feed in its name."""
    return "".join(character if character.isprintable() else "?" for character in text)
