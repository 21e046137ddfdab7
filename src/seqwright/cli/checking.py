"""`check`: look at the data and the model before time is spent on them."""

import hashlib
import resource
import statistics
import sys
import time
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from seqwright.batches import PairBatches, Place
from seqwright.cli.terminal import say
from seqwright.data.examples import PairData, PartName
from seqwright.devices import computes_bfloat16
from seqwright.lineage import task_of
from seqwright.recipe import Recipe, read_recipe
from seqwright.runs import data_of, device_of, model_of, objective_of, parameters, set_threads
from seqwright.tasks.translation import batches_of, tokenised, usable
from seqwright.training.schedule import expected_steps

FEW_TOKENS = 300  # in the batch that is overfitted
OVERFIT_STEPS = 80


class PartReport(NamedTuple):
    """What was found in a part."""

    pairs: int
    blank: int
    duplicates: int
    shared: int  # sources that are also in the training part
    unknown: Counter[str]
    overlong: int
    longest: tuple[int, int]
    mean: tuple[float, float]


def check_recipe(where: str, overrides: list[str]) -> None:
    """Print what was found, worst last; nothing is written but the token cache."""
    recipe = read_recipe(where, overrides)
    set_threads(recipe)
    data = data_of(recipe)
    say("reading the data and learning the vocabulary …")
    inputs = task_of(recipe.data.kind).learnt_inputs(recipe, data)
    remarks: list[str] = []
    _print_parts(_parts(recipe, data, inputs, remarks))
    batches = batches_of(recipe, inputs, tokenised(recipe, data, inputs, "train"), redrawn=True)
    _print_batches(recipe, inputs, batches, remarks)
    for remark in remarks:
        print(f"! {remark}")
    print("ready: seqwright train " + " ".join([where, *overrides]))


def _parts(recipe: Recipe, data: PairData, inputs: Any, remarks: list[str]) -> dict[PartName, PartReport]:
    seen: set[bytes] = set()
    reports = {}
    for part in data.parts():
        report, sources = _part(recipe, data, inputs, part, seen)
        if part == "train":
            seen = sources
        elif report.shared:
            share = 100 * report.shared / report.pairs
            remarks.append(
                f"{report.shared:,} sources of the {part} part ({share:.1f} %) are in training too: scores flatter"
            )
        if report.blank:
            remarks.append(f"pairs of the {part} part with a blank side, left out: {report.blank:,}")
        if report.overlong:
            fate = "cut" if recipe.inputs.overlong == "cut" else "left out"
            longest = recipe.inputs.longest
            remarks.append(
                f"pairs of the {part} part with over {longest} tokens on a side, {fate}: {report.overlong:,}"
            )
        if report.unknown:
            common = " ".join(f"{c!r}×{n}" for c, n in report.unknown.most_common(5))
            remarks.append(f"the {part} part has {len(report.unknown)} characters the vocabulary lacks: {common}")
        reports[part] = report
    return reports


def _part(
    recipe: Recipe, data: PairData, inputs: Any, part: PartName, training: set[bytes]
) -> tuple[PartReport, set[bytes]]:
    sources: set[bytes] = set()
    both: set[bytes] = set()
    count = blank = duplicates = shared = 0
    for pair in data.pairs(part):
        count += 1
        blank += not (pair.source.strip() and pair.target.strip())
        source, whole = _digest(pair.source), _digest(f"{pair.source}\t{pair.target}")
        duplicates += whole in both
        shared += source in training
        sources.add(source)
        both.add(whole)
    rows = tokenised(recipe, data, inputs, part)
    unknown = Counter[str]()
    for side, tokenizer in ((0, inputs.source), (1, inputs.target)):
        unknown += tokenizer.unknown_characters(pair[side] for pair in usable(data.pairs(part)))
    lengths = rows.source.length_N, rows.target.length_N
    report = PartReport(
        count,
        blank,
        duplicates,
        shared,
        unknown,
        rows.kept.overlong + rows.kept.cut,
        (int(lengths[0].max()), int(lengths[1].max())),
        (float(lengths[0].mean()), float(lengths[1].mean())),
    )
    return report, sources


def _print_parts(reports: dict[PartName, PartReport]) -> None:
    table = Table(
        "part", "pairs", "blank", "duplicates", "in train", "tokens a sentence", "longest", box=None, pad_edge=False
    )
    for part, report in reports.items():
        table.add_row(
            part,
            f"{report.pairs:,}",
            f"{report.blank:,}",
            f"{report.duplicates:,}",
            "" if part == "train" else f"{report.shared:,}",
            f"{report.mean[0]:.1f} / {report.mean[1]:.1f}",
            f"{report.longest[0]} / {report.longest[1]}",
        )
    Console().print(table)


def _print_batches(recipe: Recipe, inputs: Any, batches: PairBatches, remarks: list[str]) -> None:
    settings = recipe.training
    plan = batches.plan(0)
    model = model_of(recipe, inputs.sizes()).to(device_of(recipe))
    say("timing a few steps …")
    seconds, tokens = _timed(recipe, model, batches)
    steps = expected_steps(settings, batches)
    took = seconds * settings.accumulate * steps
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform != "darwin" else 2**30)
    rows = {
        "vocabulary": f"{inputs.source.size:,}" + ("" if inputs.shared else f" / {inputs.target.size:,}"),
        "parameters": f"{parameters(model):,}",
        "batches an epoch": f"{len(plan):,}, {tokens:,.0f} real tokens each, {100 * batches.padding():.1f} % padding",
        "training": f"{steps:,} steps, {steps * settings.accumulate / len(plan):.1f} epochs",
        "time": f"about {_clock(took)} ({tokens / seconds:,.0f} tokens/s here), validation not counted",
        "memory": f"{memory:.2f} GiB at the largest batch",
    }
    say("overfitting one small batch …")
    first, last = _overfitted(recipe, inputs, batches)
    rows["one batch overfitted"] = f"loss {first:.2f} → {last:.3f} in {OVERFIT_STEPS} steps"
    if last > first / 4:
        remarks.append("the model does not even learn one batch by heart: look at the data and the model's settings")
    for name, value in rows.items():
        print(f"{name:<22}{value}")


def _timed(recipe: Recipe, model: torch.nn.Module, batches: PairBatches) -> tuple[float, float]:
    """Seconds and real tokens of a usual batch, after the largest one."""
    plan = batches.plan(0)
    sides = batches.source.length_N, batches.target.length_N
    widest = int(np.argmax([len(rows) * sum(int(side[rows].max()) for side in sides) for rows in plan]))
    some = [widest, *np.linspace(0, len(plan) - 1, 6).astype(int).tolist()]
    objective, device = objective_of(recipe).to(device_of(recipe)), device_of(recipe)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0)  # moves nothing, but costs what it costs
    bfloat16 = recipe.training.precision == "bfloat16" and computes_bfloat16(device)
    seconds, tokens = [], []
    for index in some:
        batch = batches.at(Place(0, index)).to(device)
        began = time.perf_counter()
        with torch.autocast(device.type, torch.bfloat16, enabled=bfloat16):
            loss, _ = objective(model, batch, None)
        optimizer.zero_grad(set_to_none=True)
        loss.total(objective.counts(batch)).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - began)
        tokens.append(batch.tokens)
    return statistics.median(seconds[1:]), statistics.mean(tokens[1:])


def _overfitted(recipe: Recipe, inputs: Any, batches: PairBatches) -> tuple[float, float]:
    """The plain loss on a few pairs before and after learning them by heart, without dropout."""
    few = PairBatches(
        batches.source, batches.target, tokens=FEW_TOKENS, seed=recipe.training.seed, begin=inputs.begin, end=inputs.end
    )
    device = device_of(recipe)
    batch = few.at(Place(0, 0)).to(device)
    model, objective = model_of(recipe, inputs.sizes()).to(device).eval(), objective_of(recipe).to(device)
    optimizer = torch.optim.Adam([*model.parameters(), *objective.parameters()], lr=1e-3)
    seen = []
    for _ in range(OVERFIT_STEPS):
        loss, _ = objective(model, batch, None)
        optimizer.zero_grad(set_to_none=True)
        loss.total(objective.counts(batch)).backward()
        optimizer.step()
        part = loss.parts.get("nll", next(iter(loss.parts.values())))
        seen.append(float(part.sum) / part.over)
    return seen[0], seen[-1]


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _clock(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 90
        else f"{seconds / 60:.0f} minutes"
        if seconds < 5400
        else f"{seconds / 3600:.1f} hours"
    )
