"""How what an n-gram model keeps grows with the order, as a table."""

from rich.table import Table

from seqwright.cli.terminal import table_of
from seqwright.model_card import storage_rows
from seqwright.training.counting import Stored


def storage_table(model: Stored) -> Table:
    """A row for each order, the sum last."""
    columns, *rows = storage_rows(model)
    return table_of(columns, rows, numbers=True)
