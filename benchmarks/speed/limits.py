"""What the machine can do at most: multiply and add in a large matrix product, and read memory that no cache holds.

M width of a matrix · N numbers
"""

import time
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.speed.worker import Turns, Work
from seqwright.layers.linear import product

WIDTH = 1536  # of the matrices that are multiplied
NUMBERS = 64_000_000  # of four bytes each, several times what a cache holds


def ready(settings: dict[str, Any]) -> Turns:
    """Both limits; `matrix` is counted in 10⁹ operations, `memory` in 10⁹ bytes."""
    seconds = 0.2 if settings["quick"] else 0.6
    a_MM, b_MM, out_MM = (torch.rand(WIDTH, WIDTH) for _ in range(3))
    values_N = torch.ones(NUMBERS)
    rows, vector = values_N.view(-1, 1000), torch.ones(1000)

    # By MKL, and by oneDNN where it is there.
    products: list[Callable[[], Any]] = [lambda: torch.mm(a_MM, b_MM, out=out_MM)]
    if torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        products.append(lambda: product(a_MM, b_MM, None))
    multiply = fastest(products)
    # Two ways to read: to add up, and to multiply with a vector, as generating does.
    read = fastest([values_N.sum, lambda: torch.mv(rows, vector)])

    def matrix() -> Work:
        return repeated(multiply, 2 * WIDTH**3 / 1e9, seconds)

    def memory() -> Work:
        return repeated(read, 4 * NUMBERS / 1e9, seconds)

    return {"matrix": matrix, "memory": memory}


def fastest(ways: list[Callable[[], Any]]) -> Callable[[], Any]:
    """The way that takes least."""
    return min(ways, key=lambda way: min(taken(way) for _ in range(3)))


def taken(run: Callable[[], Any]) -> float:
    """The seconds of one run."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def repeated(run: Callable[[], Any], each: float, seconds: float) -> Work:
    """As many runs as fit."""
    end, amount = time.perf_counter() + seconds, 0.0
    while time.perf_counter() < end:
        run()
        amount += each
    return Work(amount)
