"""What docs/design.md says of the rooms is what the source is held to."""

import re
import sys
from pathlib import Path

import pytest

from seqwright.inputs import Input
from seqwright.outputs import Output
from tests.test_architecture import MAY_IMPORT, PACKAGE, TABLES

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
def page() -> str:
    return (DOCS / "design.md").read_text(encoding="utf-8")


def test_the_page_has_the_table_of_imports_that_the_source_is_held_to(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    import import_table  # type: ignore[import-not-found,unused-ignore]

    written: str = import_table.with_table(page, MAY_IMPORT)
    assert page == written, "`python -m docs.import_table` writes the table again"
    assert import_table.import_table({"one": {"two.b", "a"}, "none": ()}).splitlines()[2:] == [
        "| `one` | `a`, `two.b` |",
        "| `none` | nothing |",
    ]


def test_the_page_says_what_every_room_does(page: str) -> None:
    rooms = page.partition("## The rooms")[2].partition("Beside the rooms")[0]
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert {folder for folder in folders if f"| `{folder}` |" not in rooms} == set()


def test_the_page_names_every_module_beside_the_rooms(page: str) -> None:
    beside = page.partition("Beside the rooms")[2].partition("\n\n")[0]
    modules = {path.name for path in PACKAGE.glob("*.py") if path.name[0] != "_"}
    assert {module for module in modules if f"`{module}`" not in beside} == set()


def test_the_tables_of_the_names_of_tasks_are_there() -> None:
    assert {table for table in TABLES if not (PACKAGE / table).is_file()} == set()


@pytest.mark.parametrize("seam", [Input, Output])
def test_the_decision_on_the_seams_names_everything_that_they_have(seam: type) -> None:
    text = next((DOCS / "decisions").glob("0038-*.md")).read_text(encoding="utf-8")
    code = text.partition("```python")[2].partition("```")[0]
    names = {name for name in (*vars(seam), *seam.__annotations__) if name[0] != "_"}
    assert {name for name in names if not re.search(rf"\b{name}\b", code)} == set()


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("TEMPLATES", "cli/first_recipes.py"),
        ("PURPOSES", "cli/opening.py"),
        ("ADDED", "cli/asking.py"),
        ("TEXT_COLUMN", "cli/asking.py"),
        ("KINDS", "comparison/predictions.py"),
    ],
)
def test_the_steps_to_a_task_name_every_table_that_has_a_row_for_it(name: str, module: str) -> None:
    text = (DOCS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = text.partition("## How to add a task")[2].partition("## Style")[0]
    assert re.search(rf"\b{name}\b", steps)
    assert module in steps
    assert re.search(rf"^{name}\b", (PACKAGE / module).read_text(encoding="utf-8"), re.M)
