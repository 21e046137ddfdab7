"""What docs/design.md says of the rooms is what the source is held to."""

import sys
from pathlib import Path

import pytest

from tests.test_architecture import MAY_IMPORT, PACKAGE

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
