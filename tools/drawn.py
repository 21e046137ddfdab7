"""The numbers that a program draws: what it hands to matplotlib, in a form that two records can be compared by."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

DRAWING = ("imshow", "pcolormesh", "plot", "bar", "scatter", "fill_between")
FIRST = 6  # numbers of an array that are kept as they are, beside its shape and its sum


@contextmanager
def drawn_numbers() -> Iterator[list[Any]]:
    """Inside, every array that is drawn is noted, and pictures are not saved, which would take most of the time."""
    noted: list[Any] = []
    with ExitStack() as stack:
        for name in DRAWING:
            stack.enter_context(mock.patch.object(Axes, name, _noting(getattr(Axes, name), noted)))
        stack.enter_context(mock.patch.object(Figure, "savefig", _saved_empty))
        yield noted


def _saved_empty(_figure: Any, where: Any, **_options: Any) -> None:
    """Whoever saves a picture aside and renames it finds a file."""
    if not hasattr(where, "write"):
        Path(where).touch()


def _noting(draw: Any, noted: list[Any]) -> Any:
    def drawing(axes: Any, *given: Any, **options: Any) -> Any:
        noted.extend(summary(each) for each in given if _is_numbers(each))
        return draw(axes, *given, **options)

    return drawing


def _is_numbers(given: Any) -> bool:
    try:
        return np.asarray(given).dtype.kind in "fiu"
    except ValueError:  # rows of different lengths
        return False


def summary(values: Any) -> dict[str, Any]:
    """The shape of an array, its sum, that of its squares, and its beginning; what is not finite counts as 0.

    Where rows are attention the sum is known before, that of the squares is not.
    """
    array = np.nan_to_num(np.asarray(values, dtype=np.float64), posinf=0.0, neginf=0.0)
    numbers = {"sum": array.sum(), "squares": np.square(array).sum()}
    first = [_plain(value) for value in array.ravel()[:FIRST].tolist()]
    return {"shape": list(array.shape), "first": first, **{name: _plain(value) for name, value in numbers.items()}}


def _plain(value: float) -> float:
    return float(f"{value:.9g}")
