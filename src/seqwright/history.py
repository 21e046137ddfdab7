"""What training wrote down, as columns: `run.history["loss"]`."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from seqwright.arguments import public
from seqwright.errors import SettingError, UserError, instead

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class History:
    """The journal of a run. `history["loss"]` is a column, iterating gives the rows.

    A row is a step that was logged (`event` is "train") or a validation ("valid"); `train` and `valid` have one kind.
    """

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self.rows = tuple(rows)

    def __repr__(self) -> str:
        return f"History({len(self.rows):,} rows: {', '.join(self.keys()) or 'nothing was written down yet'})"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def keys(self) -> list[str]:
        """The names of the columns, in the order they came up: `dict(history)` has them all."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    @public("history")
    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        """A column, a value for each row; NaN where a row has no such number, None where it has no such text."""
        known = self.keys()
        if name not in known:
            if not known:
                raise SettingError(f"there is no column '{name}': nothing was written down yet")
            raise SettingError(f"there is no column '{name}' in the history{instead(name, known)}")
        column = [row.get(name) for row in self.rows]
        if not all(isinstance(value, int | float | None) for value in column):
            return np.fromiter(column, dtype=object, count=len(column))
        if all(isinstance(value, int) for value in column):
            return np.array(column)
        return np.array([np.nan if value is None else value for value in column], dtype=float)

    @property
    def train(self) -> "History":
        """The logged steps alone."""
        return self._only("train")

    @property
    def valid(self) -> "History":
        """The validations alone."""
        return self._only("valid")

    def _only(self, event: str) -> "History":
        return History([row for row in self.rows if row.get("event") == event])

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`, where pandas is installed."""
        try:
            import pandas as pd
        except ImportError as error:
            raise UserError(
                "pandas is not installed; `pip install pandas`, or take the columns themselves: history['loss']"
            ) from error
        return pd.DataFrame(list(self.rows), columns=self.keys())

    def plot(self) -> "Figure":
        """Losses, scores, learning rate and gradient norm over the steps, as a figure."""
        from seqwright.pictures.curves import loss_curve

        return loss_curve(self.rows)
