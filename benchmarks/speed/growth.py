"""How does time grow with the length of a text, the width of a model and its vocabulary: no faster than theory?

A GPT of two layers learns from one batch, and writes, at one size after another while all else stays. Theory is the
number of multiplications and additions: 24 n d² + 4 n² d for a layer over n tokens of width d (Vaswani et al. 2017,
table 1, with the projections and the feed-forward sublayer), 2 n d V for the output. The exponent of the time, fitted
to all sizes on logarithmic scales, may be at most a tenth above that of the operations, fitted in the same way.

L layers · D width · T context · V vocabulary
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from benchmarks.speed.harness import OURS, Answered, Contestant, Question, Settings, Table
from benchmarks.speed.worker import Turns, Work

TOLERANCE = 0.1  # of an exponent
LAYERS, HEADS = 2, 4


class Size(NamedTuple):
    """What is varied, and the rest: tokens of a text, texts in a batch, width and vocabulary."""

    length: int
    rows: int
    width: int
    vocabulary: int

    def operations(self, passes: int) -> float:
        """Of reading the batch; learning is three `passes`."""
        layer = 24 * self.length * self.width**2 + 4 * self.length**2 * self.width
        return passes * self.rows * (LAYERS * layer + 2 * self.length * self.width * self.vocabulary)


class Case(NamedTuple):
    """One size of a family, and whether the model learns or writes there."""

    family: str
    value: int
    size: Size
    learns: bool

    @property
    def name(self) -> str:
        """What the measure is called."""
        return f"{self.family} {self.value:,}"

    @property
    def operations(self) -> float:
        """By theory; writing reads each token once, all before it by the cache."""
        return self.size.operations(3 if self.learns else 1)


def cases(settings: Settings) -> list[Case]:
    """Every size of every family."""
    found = []
    for length in settings["lengths"]:
        found += [
            Case("length, training", length, Size(length, 1, 64, 101), True),
            Case("length, writing", length, Size(length, 4, 64, 101), False),
        ]
    for width in settings["widths"]:
        found.append(Case("width, training", width, Size(64, settings["rows"], width, 101), True))
    for vocabulary in settings["vocabularies"]:
        found += [
            Case("vocabulary, training", vocabulary, Size(32, 4, 64, vocabulary), True),
            Case("vocabulary, writing", vocabulary, Size(16, 8, 64, vocabulary), False),
        ]
    return found


def seqwright(settings: dict[str, Any]) -> Turns:
    """Every size, each made when it is its turn, so that they never need memory together."""
    from seqwright.devices import keep_freed_memory

    keep_freed_memory()
    return {case.name: partial(learnt if case.learns else written, case.size) for case in cases(settings)}


def learnt(size: Size) -> Work:
    """A forward and a backward pass over a batch, several times."""
    import torch

    from seqwright.batches.text import texts
    from seqwright.objectives.next_token import NextToken

    model, objective = model_of(size).train(), NextToken()
    rng = torch.Generator().manual_seed(1)
    rows = [torch.randint(4, size.vocabulary, (size.length - 1,), generator=rng).numpy() for _ in range(size.rows)]
    batch = texts(rows, begin=2, end=3)

    def step() -> None:
        loss, _ = objective(model, batch, None)
        model.zero_grad(set_to_none=True)
        loss.total(objective.counts(batch)).backward()

    return timed(step)


def written(size: Size) -> Work:
    """As many tokens as the text is long, greedily."""
    import torch

    from benchmarks.speed.ours import writer_of
    from seqwright.batches.text import texts
    from seqwright.decoding import DecodingSettings, decoded

    model = writer_of(model_of(size).eval())

    def write() -> None:
        with torch.inference_mode():
            decoded(
                model,
                model.start(texts([torch.zeros(0, dtype=torch.int64).numpy()] * size.rows, begin=2, end=3)),
                DecodingSettings(shortest=size.length),
                first_B=torch.full((size.rows,), 2),
                end=3,
                steps=size.length,
            )

    return timed(write)


def timed(run: Callable[[], None], shortest: float = 0.3) -> Work:
    """Seconds of the processor for one run, after one that warms up; the least of several where one is short."""
    import time

    run()
    seconds: list[float] = []
    while not seconds or (sum(seconds) < shortest and len(seconds) < 9):
        began = time.process_time()
        run()
        seconds.append(time.process_time() - began)
    return Work(1, statistics.median(seconds))


def model_of(size: Size) -> Any:
    """A GPT of two layers."""
    import torch

    from seqwright.models.gpt import GPT, GPTSettings
    from seqwright.models.language_model import LanguageModel

    torch.manual_seed(1)
    sizes = {"width": size.width, "heads": HEADS, "layers": LAYERS, "context": size.length + 1, "dropout": 0.0}
    return LanguageModel(GPT(GPTSettings.model_validate(sizes), vocabulary=size.vocabulary))


def exponents(settings: Settings, seconds: Answered) -> dict[str, Any]:
    """For each family the exponents of time and theory, and whether the first is no larger."""
    families: dict[str, list[Case]] = {}
    for case in cases(settings):
        families.setdefault(case.family, []).append(case)
    return {
        family: compared(
            [case.value for case in several],
            [statistics.median(seconds[case.name]) for case in several],
            [case.operations for case in several],
        )
        for family, several in families.items()
        if len(several) > 1
    }


def compared(sizes: Sequence[int], seconds: Sequence[float], theory: Sequence[float]) -> dict[str, Any]:
    """Both exponents over the same sizes."""
    measured, expected = exponent(sizes, seconds), exponent(sizes, theory)
    return {
        "sizes": list(sizes),
        "seconds": [float(f"{value:.4g}") for value in seconds],
        "exponent": round(measured, 3),
        "theory": round(expected, 3),
        "no_faster_than_theory": measured <= expected + TOLERANCE,
    }


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """B of the a · size^b nearest to the values: least squares of their logarithms."""
    return statistics.linear_regression([math.log(size) for size in sizes], [math.log(v) for v in values]).slope


def table(found: Mapping[str, Any]) -> Table:
    """A row for each family."""
    rows = [
        [
            family,
            f"{each['sizes'][0]:,} … {each['sizes'][-1]:,}",
            f"{each['seconds'][0]:.3g} … {each['seconds'][-1]:.3g} s",
            f"{each['exponent']:.2f}",
            f"{each['theory']:.2f}",
            "yes" if each["no_faster_than_theory"] else "NO",
        ]
        for family, each in found["conclusions"].items()
    ]
    return Table(("time against", "sizes", "seconds", "exponent", "theory", "no faster"), rows)


QUESTION = Question(
    name="growth",
    about=__doc__ or "",
    unit="turns",
    contestants=(Contestant(OURS, seqwright),),
    full={
        "lengths": [128, 256, 512, 1024, 2048],
        "widths": [64, 128, 256, 512, 1024],
        "vocabularies": [1000, 4000, 16_000, 64_000, 250_000],
        "rows": 16,
    },
    quick={"lengths": [64, 128, 256], "widths": [64, 128], "vocabularies": [1000, 4000], "rows": 4},
    rounds=3,
    conclude=exponents,
    table=table,
)
