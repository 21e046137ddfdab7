"""What the shell offers while one types: recipes, runs and settings.

It is asked at every press of a key, so nothing is imported that takes time: the names of settings are read from the
source of their classes.
"""

import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
SECTIONS = {  # where the settings of each section of a recipe are
    "data": ("data/*.py",),
    "input": ("inputs/*.py",),
    "output": ("outputs/*.py",),
    "model": ("models/*.py", "setting_classes.py"),
    "objective": ("objectives/*.py",),
    "training": ("training/settings.py",),
    "decoding": ("decoding/settings.py",),
}
SETTINGS_CLASS = re.compile(r"^class \w*Settings\b.*\n((?: .*\n|\n)*)", re.MULTILINE)
FIELD = re.compile(r"^    ([a-z]\w*): (?!ClassVar)", re.MULTILINE)


def complete_recipe(incomplete: str) -> list[str]:
    """The recipes that ship, and files that may be one."""
    shipped = sorted(path.stem for path in (PACKAGE / "recipes").glob("*.toml"))
    return [*(name for name in shipped if name.startswith(incomplete)), *_beside(incomplete, ending=".toml")]


def complete_run(incomplete: str) -> list[str]:
    """The run folders in `runs`, or where the path so far leads."""
    return list(_beside(incomplete or "runs/"))


def complete_override(incomplete: str) -> list[str]:
    """The sections; within one, its settings, ready for a value."""
    section, dot, _ = incomplete.partition(".")
    if not dot:
        return [f"{name}." for name in SECTIONS if name.startswith(incomplete)]
    return [f"{name}=" for name in _named(section) if name.startswith(incomplete)]


def complete_settings(incomplete: str) -> list[str]:
    """The sections and the names of their settings."""
    section, dot, _ = incomplete.partition(".")
    return [name for name in (_named(section) if dot else SECTIONS) if name.startswith(incomplete)]


def _named(section: str) -> list[str]:
    """The settings of a section, whatever its kind, as `section.name`."""
    source = "".join(
        path.read_text(encoding="utf-8") for form in SECTIONS.get(section, ()) for path in PACKAGE.glob(form)
    )
    return sorted({f"{section}.{name}" for body in SETTINGS_CLASS.findall(source) for name in FIELD.findall(body)})


def _beside(incomplete: str, ending: str = "") -> Iterator[str]:
    """Folders that the path so far may lead to, a run without a slash behind it; and files with the ending."""
    head, slash, begun = incomplete.rpartition("/")
    folder = Path(head or slash or ".")
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not path.name.startswith(begun) or (path.name.startswith(".") and not begun):
            continue
        is_run = not ending and (path / "resolved.toml").is_file()
        if path.is_dir() or (ending and path.suffix == ending):
            yield f"{head}{slash}{path.name}" + ("/" if path.is_dir() and not is_run else "")
