"""The reference of every setting, made from the settings classes: no setting is described anywhere else."""

from pathlib import Path

from seqwright.setting_groups import ABOUT_SECTIONS, SettingGroup, markdown_table, setting_groups

INTRODUCTION = """# Settings

Every setting of every section of a recipe, with the name that a recipe and an override `section.name=value` use.
In Python the same names are the fields of the class that is named above each table. `seqwright settings` shows the
same in a terminal.

A setting without a default says *required*; one that says *unset* may be left out and then has no value.
"""


def settings_page() -> str:
    """The whole page, as Markdown."""
    groups, parts = setting_groups(), [INTRODUCTION]
    for section, about in ABOUT_SECTIONS.items():
        parts.append(f"## [{section}]\n\n{about}\n")
        parts += [_part(group) for group in groups if group.section == section]
    return "\n".join(parts)


def _part(group: SettingGroup) -> str:
    named = group.title or ", ".join(group.names)
    tasks = ", ".join(group.tasks) or ("every task" if group.title else "")
    purpose = f" (for {tasks})" if tasks else ""
    heading = f"### {group.section}{f': {named}' if named else ''}{purpose}\n\n" if named or tasks else ""
    settings = group.settings
    where = (
        f"{group.kind.module}.{group.kind.settings}" if group.kind else f"{settings.__module__}.{settings.__qualname__}"
    )
    usual = f" Where a recipe names no kind, it is `{group.usual}`." if group.usual else ""
    return f"{heading}{group.about}{usual} Class: `{where}`.\n\n{markdown_table(list(group.rows()))}\n"


if __name__ == "__main__":
    Path(__file__).with_name("reference").joinpath("settings.md").write_text(settings_page(), encoding="utf-8")
