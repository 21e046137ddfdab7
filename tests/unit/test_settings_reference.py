"""The page of every setting, which is written from their classes and committed."""

import sys
from pathlib import Path

import pytest

from seqwright.data.cards import cards
from seqwright.kinds import KINDS, TASKS, chosen, family_of, selector

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_kind_of_every_section_is_on_the_page_of_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    import settings_reference  # type: ignore[import-not-found,unused-ignore]

    page: str = settings_reference.settings_page()
    for name in cards():
        assert f"### data: card {name} " in page or f", {name} (for " in page or f" {name}, " in page, name
    headings = [line for line in page.splitlines() if line.startswith("### ")]
    for section, kinds in KINDS.items():
        for name, several in kinds.items():
            for kind in several if name else ():
                fitting = [line for line in headings if f" {section}: " in line and f"(for {kind.task})" in line]
                assert len([line for line in fitting if _has(line, name)]) == 1, (section, name, kind.task)


def test_the_committed_page_is_what_the_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    import settings_reference

    committed = (DOCS / "reference" / "settings.md").read_text(encoding="utf-8")
    assert committed == settings_reference.settings_page(), "run `python docs/settings_reference.py`"


@pytest.mark.parametrize("task", TASKS)
def test_a_section_that_names_no_kind_is_what_the_page_says(task: str) -> None:
    for section, usual in TASKS[task].usual.items():
        kind = chosen(section, None, task)
        assert getattr(kind.load(kind.settings)(), selector(section, task)) == usual


def _has(heading: str, name: str) -> bool:
    return name in heading.partition(": ")[2].partition(" (")[0].split(", ")


@pytest.mark.parametrize("task", TASKS)
def test_input_and_output_of_a_recipe_are_those_of_the_row_of_its_task(task: str) -> None:
    """Their names stand in `TASKS` and nowhere else; what can be set of them, they say themselves."""
    row = TASKS[family_of(task)]
    for section, name in (("input", row.input), ("output", row.output)):
        kind = chosen(section, None, task)
        assert f"{kind.module.rpartition('.')[2]}.{kind.thing}" == name
        assert kind.load(kind.settings) is kind.load(kind.thing).settings
