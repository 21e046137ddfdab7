"""`settings`: the settings of a recipe, with what they may be, what they are if nothing is said, and what they do."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from seqwright.cli.listing import refuse_unknown_task
from seqwright.cli.terminal import print_table
from seqwright.errors import SettingError, instead
from seqwright.kinds import TASKS, usual_kind
from seqwright.setting_groups import ABOUT_SECTIONS, SettingGroup, SettingRow, setting_groups

MOST_GROUPS = 4  # classes whose settings are shown at once


def list_settings(word: str | None, task: str | None) -> None:
    """The sections; the kinds of a section, or its settings; the settings of a kind; or a single setting."""
    if task is not None:
        refuse_unknown_task(task)
    if word is None:
        print_table(("section", "what it says"), [(name, about) for name, about in ABOUT_SECTIONS.items()])
        print("\nseqwright settings SECTION, KIND or SECTION.KEY says more, with --task only what is for a task")
        return
    section, _, key = word.partition(".")
    groups = [group for group in setting_groups() if task is None or not group.tasks or task in group.tasks]
    if key and section in ABOUT_SECTIONS:
        tasks = TASKS if task is None else [task]
        _print_single(section, key, [group for group in groups if group.section == section], tasks)
        return
    found = [group for group in groups if word in (group.section, *group.names)]
    if not found and word in ABOUT_SECTIONS:
        print(f"[{word}]  nothing can be set for {task}")
        return
    if not found:
        known = [*ABOUT_SECTIONS, *dict.fromkeys(name for group in groups for name in group.names)]
        fitting = f" for {task}" if task else ""
        raise SettingError(f"there is no section, kind or card '{word}'{fitting}{instead(word, known)}")
    if word in ABOUT_SECTIONS and len(found) > (1 if task is None else MOST_GROUPS):
        print(f"[{word}]  {ABOUT_SECTIONS[word]}\n")
        _print_kinds(found)
        print(f"\nseqwright settings KIND, or {word} with --task, shows the settings")
        return
    for group in found:
        _print_group(group)


def _print_kinds(groups: Sequence[SettingGroup]) -> None:
    """What there is to choose from, each with the first sentence about it."""
    console = Console(highlight=False)
    for group in groups:
        purpose = f"  for {', '.join(group.tasks) or 'every task'}"
        console.print(Text.assemble((", ".join(group.names) or group.title, "bold"), (purpose, "dim")))
        console.print(Padding(Text(f"{group.about.partition('. ')[0].rstrip('.')}."), (0, 0, 0, 4)))


def _print_group(group: SettingGroup) -> None:
    """What the class is, and a paragraph for each setting."""
    console = Console(highlight=False)
    purpose = f", for {', '.join(group.tasks)}" if group.tasks else ""
    named = ", ".join(group.names) or group.title
    console.print(Text.assemble((f"[{group.section}]{f' {named}' if named else ''}", "bold underline"), purpose))
    console.print(Text(group.about))
    for row in group.rows():
        _print_row(console, row)
    console.print()


def _print_row(console: Console, row: SettingRow, section: str = "") -> None:
    default = row.default.replace("`", "")
    told = default if default in {"required", "unset"} else f"default {default}"
    name = f"{section}.{row.name}" if section else row.name
    console.print(Padding(Text.assemble((name, "bold"), f"  {row.values.replace('`', '')}  ({told})"), (0, 0, 0, 2)))
    console.print(Padding(Text(row.meaning, "dim"), (0, 0, 0, 6)))


def _print_single(section: str, key: str, groups: Sequence[SettingGroup], tasks: Iterable[str]) -> None:
    """One setting in every form that it has."""
    rows: dict[SettingRow, list[str]] = {}
    known: dict[str, None] = {}
    for group in groups:
        for row in group.rows():
            known[row.name] = None
            if row.name == key:
                rows.setdefault(row, []).extend(group.names or [group.title])
    if not rows:
        raise SettingError(f"there is no setting '{section}.{key}'{instead(key, known)}")
    console = Console(highlight=False)
    if len(rows) > 1 and key == "kind":  # each class has its own names for it
        values = dict.fromkeys(value for row in rows for value in row.values.split(", "))
        defaults = dict.fromkeys(f'"{usual_kind(section, task)}"' for task in tasks)
        default = f"{' or '.join(defaults)}{', as the task is' if len(defaults) > 1 else ''}"
        _print_row(console, next(iter(rows))._replace(values=", ".join(values), default=default), section)
        return
    for row, names in rows.items():
        _print_row(console, row, section)
        if len(rows) > 1 or any(names):
            console.print(Padding(Text(f"of {', '.join(dict.fromkeys(filter(None, names)))}", "dim"), (0, 0, 0, 6)))
