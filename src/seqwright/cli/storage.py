"""How what an n-gram model keeps grows with the order, as a table."""

from rich.table import Table

from seqwright.cli.terminal import add_row
from seqwright.model_card import storage_rows
from seqwright.training.counting import Stored


def storage_table(model: Stored) -> Table:
    """A row for each order, the sum last."""
    columns, *rows = storage_rows(model)
    table = Table(columns[0], box=None, pad_edge=False)
    for column in columns[1:]:
        table.add_column(column, justify="right")
    for row in rows:
        add_row(table, *row)
    return table
