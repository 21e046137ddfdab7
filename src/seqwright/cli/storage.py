"""How what an n-gram model keeps grows with the order, as a table."""

from typing import Any

from rich.table import Table

from seqwright.cli.terminal import table_of
from seqwright.training.counting import Stored

EXACT = 10**9  # what is below is written out


def storage_table(model: Stored) -> Table:
    """A row for each order, the sum last."""
    columns, *rows = storage_rows(model)
    return table_of(columns, rows, numbers=True)


def storage_markdown(model: Stored) -> str:
    """The same table for a file."""
    columns, *rows = storage_rows(model)
    lines = [columns, tuple("---:" for _ in columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def storage_rows(model: Stored) -> list[tuple[str, ...]]:
    """The names of the columns, and for each order how many n-grams are kept, what they take and how many could be.

    How many were left out by pruning stands there where any were.
    """
    found = model.storage()
    pruned = any(order.pruned for order in found)
    ngrams, size, less = (sum(getattr(order, name) for order in found) for name in ("ngrams", "bytes", "pruned"))
    return [
        ("order", "n-grams", *(["pruned"] if pruned else []), "MiB", "possible", "kept of these"),
        *(_row(order, pruned=pruned) for order in found),
        ("all", f"{ngrams:,}", *([f"{less:,}"] if pruned else []), f"{size / 2**20:.2f}", "", ""),
    ]


def _row(order: Any, *, pruned: bool) -> tuple[str, ...]:
    return (
        f"{order.order}",
        f"{order.ngrams:,}",
        *([f"{order.pruned:,}"] if pruned else []),
        f"{order.bytes / 2**20:.2f}",
        f"{order.possible:,}" if order.possible < EXACT else f"{order.possible:.1e}",
        f"{100 * order.ngrams / order.possible:.3g} %",
    )
