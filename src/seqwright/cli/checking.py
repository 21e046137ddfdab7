"""`check`: look at the data and the model before time is spent on them."""

import resource
import statistics
import sys
import time
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from seqwright.batches import Batches, Place
from seqwright.cli.terminal import say
from seqwright.devices import computes_bfloat16
from seqwright.lineage import task_of
from seqwright.recipe import Recipe, read_recipe
from seqwright.runs import data_of, device_of, model_of, objective_of, parameters, set_up_cpu
from seqwright.training.schedule import expected_steps

TIMED_BATCHES = 8
FEW_ROWS, OVERFIT_STEPS = 8, 80


def check_recipe(where: str, overrides: list[str]) -> None:
    """Print what was found, remarks last; nothing is written but the token cache."""
    recipe = read_recipe(where, overrides)
    set_up_cpu(recipe)
    task, data = task_of(recipe.data.kind), data_of(recipe)
    say("reading the data and learning the vocabulary …")
    inputs = task.learnt_inputs(recipe, data)
    checked, batches = task.checked(recipe, data, inputs)
    table = Table(*checked.columns, box=None, pad_edge=False)
    for row in checked.rows:
        table.add_row(*row)
    Console().print(table)
    facts = {**checked.facts, **_timed(recipe, inputs, batches)}
    say("overfitting a few examples …")
    first, last = _overfitted(recipe, inputs, batches)
    facts["one batch overfitted"] = f"loss {first:.2f} → {last:.3f} in {OVERFIT_STEPS} steps"
    for name, value in facts.items():
        print(f"{name:<22}{value}")
    if last > first / 4:
        print("! the model does not even learn a few examples by heart: look at the data and the model's settings")
    for remark in checked.remarks:
        print(f"! {remark}")
    print("ready: seqwright train " + " ".join([where, *overrides]))


def _timed(recipe: Recipe, inputs: Any, batches: Batches[Any]) -> dict[str, str]:
    """Parameters, batches, and how long and how much memory training will take, from a few real steps."""
    say("timing a few steps …")
    settings, device = recipe.training, device_of(recipe)
    model, objective = model_of(recipe, inputs.sizes()).to(device), objective_of(recipe).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0)  # moves nothing, but costs what it costs
    bfloat16 = settings.precision == "bfloat16" and computes_bfloat16(device)
    count = batches.in_epoch(0)
    seconds, tokens = [], []
    for index in np.linspace(0, count - 1, TIMED_BATCHES).astype(int).tolist():
        batch = batches.at(Place(0, index)).to(device)
        began = time.perf_counter()
        with torch.autocast(device.type, torch.bfloat16, enabled=bfloat16):
            loss, _ = objective(model, batch, objective.start(model, batch))
        optimizer.zero_grad(set_to_none=True)
        loss.total(objective.counts(batch)).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - began)
        tokens.append(batch.tokens)
    usual, steps = statistics.median(seconds[1:]), expected_steps(settings, batches)  # the first one warms up
    speed = statistics.mean(tokens) / usual
    return {
        "parameters": f"{parameters(model):,}",
        "batches an epoch": f"{count:,}, {statistics.mean(tokens):,.0f} real tokens each",
        "training": f"{steps:,} steps, {steps * settings.accumulate / count:.1f} epochs",
        "time": f"about {_clock(usual * settings.accumulate * steps)} ({speed:,.0f} tokens/s), validation not counted",
        "memory": _memory(device),
    }


def _memory(device: torch.device) -> str:
    """The most that this process has needed so far, the batches above included."""
    if device.type == "cuda":
        return f"{torch.cuda.max_memory_allocated(device) / 2**30:.2f} GiB on the GPU"
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**30 if sys.platform == "darwin" else 2**20)
    return f"about {most:.2f} GiB"


def _overfitted(recipe: Recipe, inputs: Any, batches: Batches[Any]) -> tuple[float, float]:
    """The plain loss on a few examples before and after learning them by heart, without dropout."""
    device = device_of(recipe)
    whole = batches.at(Place(0, 0)).to(device)
    batch = type(whole)(*(tensor[:FEW_ROWS] for tensor in whole))
    model, objective = model_of(recipe, inputs.sizes()).to(device).eval(), objective_of(recipe).to(device)
    optimizer = torch.optim.Adam([*model.parameters(), *objective.parameters()], lr=1e-3)
    seen = []
    for _ in range(OVERFIT_STEPS):
        loss, _ = objective(model, batch, objective.start(model, batch))
        optimizer.zero_grad(set_to_none=True)
        loss.total(objective.counts(batch)).backward()
        optimizer.step()
        part = loss.parts.get("nll", next(iter(loss.parts.values())))
        seen.append(float(part.sum) / part.over)
    return seen[0], seen[-1]


def _clock(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
