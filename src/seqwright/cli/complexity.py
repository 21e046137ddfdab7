"""`complexity`: what a layer of each kind costs, measured, beside what the table of theory says."""

import os
import platform
from collections.abc import Sequence
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from seqwright.cli.app import ComplexityOptions
from seqwright.cli.terminal import json_text, print_table, say, shown
from seqwright.comparison import complexity
from seqwright.comparison.complexity import Exponents, LayerKind, Point
from seqwright.errors import DataError, SettingError
from seqwright.pictures import save
from seqwright.pictures.complexity import CostPanel, Curve, complexity_picture
from seqwright.whole_file import write_whole

NAMES = {"length": "n, length of the text", "width": "d, width of the vectors"}
WEIGHTS = 16  # bytes that self-attention needs at once for each pair of places, where its weights are kept


def measure_layers(options: ComplexityOptions) -> None:
    """Measure every kind of layer, print the exponents, write the numbers and draw them."""
    lengths, widths = _sizes("--sizes", options.sizes), _sizes("--widths", options.widths)
    output = options.output
    _refuse(options, lengths, widths)
    points = _measured(options, lengths, widths)
    found = complexity.exponents(points, lengths, widths, options.kernel)
    kinds = complexity.kinds(options.kernel)
    report = _report(options, points, found)
    output.mkdir(parents=True, exist_ok=True)
    write_whole(output / "complexity.json", json_text(report, indent=1) + "\n")
    paths = save(complexity_picture(_panels(kinds, points, found, backward=options.backward)), output / "complexity")
    if options.json:
        print(json_text(report))
    else:
        _print(kinds, found, max(lengths))
    rounds = min(point.rounds for point in points)
    if rounds < 3:
        say(
            f"there was time for {rounds} round{'s' * (rounds > 1)} only: give more with --seconds for steadier numbers"
        )
    say(f"written: {', '.join(map(shown, [output / 'complexity.json', *paths]))}")


def _sizes(option: str, text: str) -> tuple[int, ...]:
    """Different sizes in rising order."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and int(part) for part in parts):
        raise SettingError(f"{option} is '{text}'; expected whole numbers above 0 with commas, as in 64,128,256")
    return tuple(sorted({int(part) for part in parts}))


def _refuse(options: ComplexityOptions, lengths: Sequence[int], widths: Sequence[int]) -> None:
    """Refuse what cannot be measured, before anything is."""
    if len(lengths) < 2 and len(widths) < 2:
        raise SettingError("--sizes and --widths have one value each; give at least two of one, since one has no slope")
    if options.kernel < 2:
        raise SettingError(f"--kernel is {options.kernel}; a convolution that mixes places reads at least 2")
    if not options.seconds > 0:
        raise SettingError(f"--seconds is {options.seconds:g}; give more than 0, as in 40")
    if options.output.exists() and not options.output.is_dir():
        raise DataError(f"{options.output} is a file; --output names a folder")
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    longest = max(lengths)
    needed = WEIGHTS * longest**2
    if needed > there / 2:
        raise SettingError(
            f"--sizes ends at {longest:,}, where the weights of self-attention take {needed / 1e9:,.0f} GB, "
            f"and this machine has {there / 1e9:,.0f}: leave out the greatest"
        )


def _measured(options: ComplexityOptions, lengths: Sequence[int], widths: Sequence[int]) -> list[Point]:
    """The measurement, with a bar where somebody watches."""
    console = Console(stderr=True)
    if not console.is_terminal:
        say(f"measuring for about {options.seconds:g} s")
    columns = (TextColumn("measuring"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("measuring", total=1.0)
        return complexity.measured_layers(
            lengths,
            widths,
            kernel=options.kernel,
            backward=options.backward,
            seconds=options.seconds,
            progress=lambda share: bar.update(task, completed=share),
        )


def _report(options: ComplexityOptions, points: Sequence[Point], found: Sequence[Exponents]) -> dict[str, Any]:
    """All numbers, and on what they were measured."""
    return {
        "machine": {"processor": platform.processor() or platform.machine(), "torch": torch.__version__, "threads": 1},
        "work": "forward and backward" if options.backward else "forward",
        "kernel": options.kernel,
        "exponents": [each._asdict() for each in found],
        "points": [each._asdict() for each in points],
    }


def _panels(
    kinds: Sequence[LayerKind], points: Sequence[Point], found: Sequence[Exponents], *, backward: bool
) -> list[CostPanel]:
    """Milliseconds and megabytes, each against length and width."""
    panels = []
    spent = f"forward{' and backward' * backward}, milliseconds"
    for quantity, label in (("time", spent), ("memory", "kept for the way back, MB")):
        for size in dict.fromkeys(each.size for each in found):
            curves = []
            for kind in kinds:
                line = complexity.along([point for point in points if point.kind == kind.name], size)
                fit = next(each for each in found if (each.kind, each.size) == (kind.name, size))
                term = kind.time if quantity == "time" else kind.memory
                curves.append(
                    Curve(
                        kind.name,
                        [getattr(point, size) for point in line],
                        [1e3 * point.seconds if quantity == "time" else point.bytes / 1e6 for point in line],
                        [term(point.length, point.width) for point in line],
                        fit.time_measured if quantity == "time" else fit.memory_measured,
                    )
                )
            panels.append(CostPanel(label, f"{NAMES[size]}{_fixed(points, size)}", curves))
    return panels


def _fixed(points: Sequence[Point], size: str) -> str:
    """What the other size is meanwhile."""
    if size == "length":
        return f", at d = {min(point.width for point in points)}"
    return f", at n = {max(point.length for point in points):,}"


def _print(kinds: Sequence[LayerKind], found: Sequence[Exponents], longest: int) -> None:
    """The table of theory, and below it the exponents that were measured."""
    theory = [(kind.name, kind.grows, f"{kind.steps(longest):,}", f"{kind.path(longest):,}") for kind in kinds]
    print_table(("layer", "operations", "steps", "path"), theory)
    print(f"\nsteps one after another, and the longest path between two places, at n = {longest:,}\n")
    rows = []
    for kind, each in ((kind, each) for kind in kinds for each in found if each.kind == kind.name):
        times = (f"{each.time_measured:.2f}", f"{each.time_expected:.0f}", f"{each.time_counted:.2f}")
        memory = (f"{each.memory_measured:.2f}", f"{each.memory_expected:.0f}")
        rows.append((kind.name, "n" if each.size == "length" else "d", *times, *memory))
    print_table(("layer", "power of", "time", "table", "counted", "memory", "table"), rows)
    print(
        "\nmeasured; by the term of the table; and by all multiplications of our layer at these sizes, where\n"
        "self-attention also has 4 · n · d² for its projections"
    )
