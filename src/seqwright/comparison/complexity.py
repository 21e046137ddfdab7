"""What one layer of each kind costs, measured against the length of the text and the width of its vectors.

The table that is measured (Vaswani et al. 2017, table 1), of a layer that reads n vectors of width d:

                       operations    steps one after another    longest path between two places
    self-attention     n² · d        1                          1
    recurrent          n · d²        n                          n
    convolution        k · n · d²    1                          log_k n, with dilation

Time is what the processor spends, on one thread: other programs on the machine take none of it. Memory is what a layer
keeps for the way back: the bytes of every tensor that autograd saves, each once, without the layer's own weights. That
number is exact and always the same, which a profiler's peak is not: there the scratch of the kernels counts too.

B batch, here 1 · T time, n in the table · D width, d in the table
"""

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from seqwright.layers.attention import Attention
from seqwright.layers.convolution import Convolution
from seqwright.layers.recurrence import Cell, LSTMCell, RNNCell
from seqwright.layers.taps import listen

FITTED = 3  # the largest sizes decide an exponent: below them what does not grow weighs too much
ROUNDS = 15  # at most
SHORTEST = 0.002  # seconds that are measured at least; quicker layers run several times

Term = Callable[[float, float], float]  # of n and d


class SelfAttention(nn.Module):
    """Attention of a text to itself with one head; `kept` lets the weights exist, as for whoever looks at them."""

    def __init__(self, width: int, *, kept: bool = False) -> None:
        super().__init__()
        self.attention, self.kept = Attention(width=width, heads=1), kept

    def forward(self, x_BTD: Tensor) -> Tensor:
        """What each place reads of all."""
        with listen(self) if self.kept else nullcontext():
            read_BTD: Tensor = self.attention(x_BTD, x_BTD)
        return read_BTD


class ScannedCell(nn.Module):
    """A cell taken through time."""

    def __init__(self, cell: Cell[Any]) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x_BTD: Tensor) -> Tensor:
        """The hidden state after each step."""
        hidden_BTD, _ = self.cell.scan(x_BTD, self.cell.start(len(x_BTD)))
        return hidden_BTD


class Convolved(nn.Module):
    """A convolution over a text without padding."""

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.convolution = Convolution(inputs=width, outputs=width, kernel=kernel)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """The output at each place."""
        y_BTD: Tensor = self.convolution(x_BTD, torch.ones(x_BTD.shape[:2], dtype=torch.bool))
        return y_BTD


class LayerKind(NamedTuple):
    """A row of the table.

    `time` and `memory` are the terms that grow fastest. `operations` are all multiplications that our layer makes:
    self-attention also projects queries, keys, values and what was read, each n d². `steps` and `path` are of n.
    """

    name: str
    build: Callable[[int], nn.Module]
    grows: str
    time: Term
    operations: Term
    memory: Term
    steps: Callable[[int], int]
    path: Callable[[int], int]


def kinds(kernel: int) -> list[LayerKind]:
    """Every row; a convolution reads `kernel` places at once."""

    def quadratic(n: float, d: float) -> float:
        return n**2 * d

    def linear(n: float, d: float) -> float:
        return n * d**2

    def projected(n: float, d: float) -> float:
        return 2 * quadratic(n, d) + 4 * linear(n, d)

    def vectors(n: float, d: float) -> float:
        return n * d

    def one(n: int) -> int:
        return 1

    return [
        LayerKind("self-attention", SelfAttention, "n² · d", quadratic, projected, vectors, one, one),
        LayerKind(
            "self-attention, weights kept",
            lambda width: SelfAttention(width, kept=True),
            *("n² · d", quadratic, projected, lambda n, d: n**2, one, one),
        ),
        LayerKind(
            "LSTM",
            lambda width: ScannedCell(LSTMCell(inputs=width, width=width)),
            *("n · d²", linear, lambda n, d: 8 * linear(n, d), vectors, int, int),
        ),
        LayerKind(
            "RNN",
            lambda width: ScannedCell(RNNCell(inputs=width, width=width)),
            *("n · d²", linear, lambda n, d: 2 * linear(n, d), vectors, int, int),
        ),
        LayerKind(
            "convolution",
            lambda width: Convolved(width, kernel),
            *("k · n · d²", linear, lambda n, d: kernel * linear(n, d), vectors, one),
            lambda n: layers_across(n, kernel),
        ),
    ]


def layers_across(length: int, kernel: int) -> int:
    """How many convolutions, each as dilated as all below reach, until one place has read all: ⌈log_k n⌉."""
    layers, reach = 0, 1
    while reach < length:
        layers, reach = layers + 1, reach * kernel
    return layers


class Point(NamedTuple):
    """One layer at one size: the median of the seconds of each round, and the bytes it keeps for the way back."""

    kind: str
    length: int
    width: int
    seconds: float
    bytes: int
    rounds: int


class Exponents(NamedTuple):
    """How a layer grows with one size: by the table, by its own operations, and as measured."""

    kind: str
    size: str  # "length" or "width"
    time_expected: float
    time_counted: float
    time_measured: float
    memory_expected: float
    memory_measured: float


class _Case(NamedTuple):
    """A layer at a size, ready to run; `repeats` runs last long enough to be timed."""

    kind: LayerKind
    length: int
    width: int
    layer: nn.Module
    x_BTD: Tensor
    repeats: int
    bytes: int
    seconds: list[float]


def measured_layers(
    lengths: Sequence[int],
    widths: Sequence[int],
    *,
    kernel: int = 3,
    backward: bool = False,
    seconds: float = 40.0,
    progress: Callable[[float], None] = lambda share: None,
) -> list[Point]:
    """Every layer at each length with the least width, and at each width with the greatest length.

    There the terms of the table stand out most. Rounds go through all of them in turn, so that a machine that slows
    down slows all alike; no round begins that would not end within `seconds`, but the first. `progress` hears which
    share of the time is over.
    """
    began = time.monotonic()
    sizes = dict.fromkeys([(n, min(widths)) for n in lengths] + [(max(lengths), d) for d in widths])
    chosen = [(kind, n, d) for n, d in sizes for kind in kinds(kernel)]
    with _one_thread():
        cases = []
        for kind, n, d in chosen:
            cases.append(_prepared(kind, n, d, backward=backward))
            progress(min(1.0, (time.monotonic() - began) / seconds))
        longest = 0.0
        for number in range(ROUNDS):
            round_began = time.monotonic()
            if number and round_began - began + longest > seconds:
                break
            for case in cases:
                case.seconds.append(_timed(case, backward=backward))
                progress(min(1.0, (time.monotonic() - began) / seconds))
            longest = max(longest, time.monotonic() - round_began)
    progress(1.0)
    return [
        Point(case.kind.name, case.length, case.width, statistics.median(case.seconds), case.bytes, len(case.seconds))
        for case in cases
    ]


def exponents(points: Sequence[Point], lengths: Sequence[int], widths: Sequence[int], kernel: int) -> list[Exponents]:
    """The exponents of every layer, for each size of which there are at least two values."""
    found = []
    for kind in kinds(kernel):
        mine = [point for point in points if point.kind == kind.name]
        for size, values in (("length", lengths), ("width", widths)):
            line = along(mine, size)
            if len(set(values)) < 2:
                continue
            chosen = [getattr(point, size) for point in line]
            terms = {
                name: [term(point.length, point.width) for point in line]
                for name, term in (("time", kind.time), ("operations", kind.operations), ("memory", kind.memory))
            }
            found.append(
                Exponents(
                    kind.name,
                    size,
                    exponent(chosen, terms["time"]),
                    exponent(chosen, terms["operations"]),
                    exponent(chosen, [point.seconds for point in line]),
                    exponent(chosen, terms["memory"]),
                    exponent(chosen, [float(point.bytes) for point in line]),
                )
            )
    return found


def along(points: Sequence[Point], size: str) -> list[Point]:
    """The points at the least width, by length; or those at the greatest length, by width."""
    if size == "length":
        least = min(point.width for point in points)
        return sorted((point for point in points if point.width == least), key=lambda point: point.length)
    greatest = max(point.length for point in points)
    return sorted((point for point in points if point.length == greatest), key=lambda point: point.width)


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    """B of the a · size^b that is nearest to the values at the largest sizes: least squares of their logarithms."""
    x = [math.log(size) for size in sizes[-FITTED:]]
    y = [math.log(value) for value in values[-FITTED:]]
    return statistics.linear_regression(x, y).slope


def kept_bytes(layer: Callable[[Tensor], Tensor], x_BTD: Tensor, weights: Sequence[Tensor]) -> int:
    """The bytes that a layer saves for its way back, each tensor once, its weights left out."""
    own = {weight.untyped_storage().data_ptr() for weight in weights}
    kept: dict[int, int] = {}
    saved: list[Tensor] = []  # held, so that no address comes twice

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
            saved.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        layer(x_BTD)
    return sum(kept.values())


def _prepared(kind: LayerKind, length: int, width: int, *, backward: bool) -> _Case:
    """The layer with something to read, warm."""
    generator = torch.Generator().manual_seed(length + width)
    layer = kind.build(width)
    x_BTD = torch.randn(1, length, width, generator=generator).requires_grad_()
    kept = kept_bytes(layer, x_BTD, [*layer.parameters(), *layer.buffers()])
    case = _Case(kind, length, width, layer, x_BTD, 1, kept, [])
    _timed(case, backward=backward)
    once = _timed(case, backward=backward)
    return case._replace(repeats=max(1, math.ceil(SHORTEST / max(once, 1e-7))))


def _timed(case: _Case, *, backward: bool) -> float:
    """The seconds of the processor for one reading, and the way back if that is asked for."""
    began = time.process_time()
    with torch.set_grad_enabled(backward):
        for _ in range(case.repeats):
            y_BTD = case.layer(case.x_BTD)
            if backward:
                torch.autograd.grad(y_BTD, [case.x_BTD, *case.layer.parameters()], torch.ones_like(y_BTD))
    return (time.process_time() - began) / case.repeats


@contextmanager
def _one_thread() -> Iterator[None]:
    """Inside, torch computes on one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
