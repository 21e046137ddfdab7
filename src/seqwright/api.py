"""What `import seqwright as sw` offers where the rooms below speak the command line's language.

Nothing here is slow to import: what needs torch is imported when it is called.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import ConvertError

from seqwright.errors import SettingError, in_python, instead
from seqwright.overrides import with_overrides
from seqwright.recipe import SECTIONS, Recipe, read_recipe, recipe_from, recipe_text
from seqwright.setting_classes import Settings
from seqwright.training.reporter import Quiet, Reporter, usual_reporter

if TYPE_CHECKING:
    from seqwright.runs import Run

Section = Mapping[str, Any] | Settings


def train_and_open(
    recipe: str | Path | Recipe,
    *overrides: str | Mapping[str, Any],
    run: str | Path | None = None,
    fresh: bool = False,
    quiet: bool = False,
    reporter: Reporter | None = None,
    **sections: Section,
) -> "Run":
    """Train a recipe and open the run: `sw.train("sst2", "training.steps=300")`, known as `sw.train`.

    The recipe is the name of one that ships, a TOML file or a `Recipe`. Settings take the place of its own: as strings
    of the command line, as mappings of dotted names (`{"training.steps": 300}`), or a section by keyword
    (`training={"steps": 300}`). The run folder is `run`, or runs/NAME; what was begun there is resumed, or deleted
    where `fresh`. It shows its progress unless `quiet`, or tells `reporter`. The folder gets its card and its curve, as
    from the command line; an interrupted training has saved, and raises `KeyboardInterrupt`.
    """
    from seqwright.model_card import draw_curve, write_card
    from seqwright.runs import open_run, train
    from seqwright.training.distributed import World
    from seqwright.training.interruption import Interrupted

    with in_python():
        changes = [*overrides_of(overrides), *section_overrides(sections)]
        if run == "":
            raise SettingError("run is '', which is no folder; name one, or leave it out for runs/NAME")
        folder = None if run is None else Path(run)
        chosen = resolved_recipe(recipe, changes, folder)
        text = "" if isinstance(recipe, Recipe) else recipe_text(str(recipe))[1]
        folder = folder or Path("runs") / chosen.name
        told = reporter or (Quiet() if quiet else usual_reporter())
        try:
            trained = train(chosen, folder, text=text, reporter=told, fresh=fresh)
        except Interrupted as stop:  # by Ctrl-C, or by the notebook's button
            raise KeyboardInterrupt(stop.told("the same call", f" in {folder}")) from None
        if not World.rank_here():  # under torchrun one process writes
            write_card(trained)
            draw_curve(folder)
        return open_run(folder)


def resolved_recipe(recipe: str | Path | Recipe, overrides: list[str], folder: Path | None) -> Recipe:
    """A recipe by name, file or itself, with `section.key=value` in place of its own settings."""
    if isinstance(recipe, str | Path):
        return read_recipe(str(recipe), overrides, run=folder)
    if not overrides:
        return recipe
    plain: dict[str, Any] = {"name": recipe.name, "description": recipe.description, "task": recipe.task}
    for section in SECTIONS:
        plain[section] = _plain(getattr(recipe, section))
    return recipe_from(with_overrides(plain, overrides), name=recipe.name)


def overrides_of(given: tuple[str | Mapping[str, Any], ...]) -> list[str]:
    """Overrides as the command line has them, from such strings and from mappings of dotted names."""
    found: list[str] = []
    for each in given:
        if isinstance(each, Mapping):
            found += [_override(str(name), value) for name, value in each.items()]
        elif isinstance(each, str) and "=" in each:
            found.append(each)
        else:
            raise SettingError(
                f"{str(each)!r} is no setting such as 'training.steps=300'; a folder for the run is given as run=…"
            )
    return found


def section_overrides(sections: Mapping[str, Section]) -> list[str]:
    """Overrides from sections by keyword: `training={"steps": 300}`, or an object of settings."""
    found: list[str] = []
    for section, given in sections.items():
        if section not in SECTIONS:
            raise SettingError(f"there is no section '{section}' of a recipe{instead(section, SECTIONS)}")
        plain = _plain(given) if isinstance(given, Settings) else given
        if not isinstance(plain, Mapping):
            raise SettingError(f"{section} is {given!r}; give its settings by name, as in {section}={{'name': value}}")
        found += [_override(f"{section}.{name}", value) for name, value in plain.items()]
    return found


def _plain(settings: Settings) -> dict[str, Any]:
    """What was given of settings, without what they fill in."""
    return settings.model_dump(mode="json", exclude_unset=True, exclude_none=True)


def _override(name: str, value: Any) -> str:
    """A value as TOML has it."""
    if value is None:
        raise SettingError(f"{name} is None; leave it out, and the recipe's own value or the default stands")
    plain = value.tolist() if hasattr(value, "tolist") else value  # numbers of numpy
    plain = str(plain) if isinstance(plain, Path) else plain
    try:
        return f"{name}={tomlkit.item(list(plain) if isinstance(plain, tuple) else plain).as_string()}"
    except (ConvertError, ValueError) as error:
        raise SettingError(f"{name} is {value!r}; give a number, text, True, False or a list of these") from error
