"""The pages of docs/reference that are written from the package's own tables, and committed."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from seqwright.cli.app import app
from seqwright.data.cards import cards
from seqwright.recipe import shipped

DOCS = Path(__file__).resolve().parents[2] / "docs"
WRITE = "run `python docs/reference_pages.py`"


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    import reference_pages  # type: ignore[import-not-found,unused-ignore]

    found: dict[str, Any] = reference_pages.PAGES
    return found


@pytest.mark.parametrize("name", ["settings", "verbs", "recipes", "cards"])
def test_the_committed_page_is_what_the_package_says(name: str, pages: dict[str, Any]) -> None:
    committed = (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8")
    assert committed == pages[name](), WRITE


def test_every_verb_and_every_option_is_on_the_page_of_verbs(pages: dict[str, Any]) -> None:
    parts = {part.partition("\n")[0]: part for part in pages["verbs"]().split("\n### ")}
    for verb, command in _verbs(get_command(app)):
        options = [each.opts for each in command.params if each.param_type_name == "option"]
        assert [names for names in options if not all(name in parts[verb] for name in names)] == [], verb


def _verbs(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _verbs(command, f"{name} ")
        else:
            yield f"{above}{name}", command


def test_every_recipe_and_every_card_is_on_its_page(pages: dict[str, Any]) -> None:
    recipes, catalogue = pages["recipes"](), pages["cards"]()
    assert [name for name in shipped() if recipes.count(f"\n| `{name}` |") != 1] == []
    assert [name for name in cards() if catalogue.count(f"\n### {name}\n") != 1] == []
