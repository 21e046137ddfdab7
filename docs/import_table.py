"""The table of docs/design.md that says which room may import which: `python -m docs.import_table` writes it again."""

from collections.abc import Collection, Mapping
from pathlib import Path

PAGE = Path(__file__).with_name("design.md")
BEGIN, END = "<!-- imports -->", "<!-- /imports -->"


def import_table(may_import: Mapping[str, Collection[str]]) -> str:
    """A row for each room, as Markdown."""
    rows = [
        f"| `{room}` | {', '.join(f'`{other}`' for other in sorted(others)) or 'nothing'} |"
        for room, others in may_import.items()
    ]
    return "\n".join(["| Room | May import |", "| --- | --- |", *rows])


def with_table(page: str, may_import: Mapping[str, Collection[str]]) -> str:
    """The page with its table written anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{import_table(may_import)}\n\n{END}{after}"


if __name__ == "__main__":
    from tests.test_architecture import MAY_IMPORT

    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), MAY_IMPORT), encoding="utf-8")
