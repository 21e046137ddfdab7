"""`check`: look at the data and the model before time is spent on them."""

import resource
import sys
import time
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import nn
from torch.optim import Optimizer

from seqwright.batches import Batches, Place
from seqwright.busy_cores import Watched
from seqwright.cli.storage import storage_table
from seqwright.cli.terminal import command, draw_picture, picture_formats, print_table, say
from seqwright.comparison.measuring import mean_tokens
from seqwright.comparison.pace import Clock, measured_pace, seconds_per_step, until_now
from seqwright.devices import computes_bfloat16, cores, device_of, training_device
from seqwright.errors import SettingError
from seqwright.kinds import task_of
from seqwright.model_card import draw_curve, write_card
from seqwright.objectives.objective import LossPart, Objective
from seqwright.recipe import Recipe, read_recipe, validated
from seqwright.runs import (
    Run,
    data_of,
    model_of,
    objective_of,
    open_run,
    parameters,
    set_up_cpu,
    source_of,
    weights_of,
)
from seqwright.tasks import Prepared
from seqwright.tasks.parts import Part
from seqwright.training.counting import Counter, Stored
from seqwright.training.remarks import training_remarks
from seqwright.training.schedule import expected_steps
from seqwright.training.weights import transferred

FEW_ROWS, OVERFIT_STEPS = 8, 80
COUNTED_TOKENS = 1_000_000  # enough to see how what is kept grows
MANY_EPOCHS = 200  # passes over the training part, above which a model of any use has long stopped learning
WORTHWHILE = 1.1  # a gain in speed that is told apart from noise


def check_recipe(where: str, overrides: list[str], picture: Path | None = None) -> None:
    """Print what was found, remarks last; nothing is written but the cache, and the picture that is asked for."""
    if picture is not None:
        picture_formats(picture)  # refused before anything is computed
    recipe = read_recipe(where, overrides, notice=say)
    if recipe.taught:  # look without asking the teacher
        recipe = recipe._replace(objective=validated("objective", {}, recipe.task))
    set_up_cpu(recipe)
    begun, clock, watched = until_now(), Clock(), Watched.now()
    task, data = task_of(recipe.task), data_of(recipe)
    say("reading the data …")
    source = source_of(recipe)
    inputs = task.learnt_inputs(recipe, data, None if source is None else source.inputs)
    start, prepared = begun + clock.seconds(), None
    if picture is not None:
        _draw_examples(inputs.input, Part(data, "train"), picture)
    if recipe.descends:
        _tokenise(data, inputs)
        clock, prepared = Clock(), task.prepared(recipe, data, inputs)
        start += clock.seconds()
    checked, batches = task.checked(recipe, data, inputs)
    print_table(checked.columns, checked.rows)
    if prepared is not None:
        tried, told = _timed(recipe, data, inputs, prepared, start)
        overfitted, doubts = _overfitting(recipe, source, inputs, batches)
        tried, told = tried | overfitted, doubts + told
        told += watched.remarks(torch.get_num_threads(), cores(), training_device(recipe.training.device).type)
    else:
        tried, told = _counted(recipe, inputs, batches)
    for name, value in {**checked.facts, **tried}.items():
        print(f"{name:<22}{value}")
    for remark in [*told, *checked.remarks]:
        print(f"! {remark}")
    print(f"ready: {command('train', where, *overrides)}")


def _draw_examples(input: Any, examples: Part, picture: Path) -> None:
    """Draw what can be seen of the training part."""
    found = input.picture(examples)
    if found is None:
        raise SettingError(f"--picture draws images, and the recipe reads {input.noun}; leave it out")
    from seqwright.pictures.evaluations import DRAWINGS

    draw_picture(DRAWINGS[found.name](**found.data), picture)


def _tokenise(data: Any, inputs: Any) -> None:
    """Fill the token cache, which training then finds, so that the time this takes is not promised for training."""
    for part in (Part(data, name) for name in data.parts()):
        inputs.output.encode(part, inputs.input.encode(part))


def _counted(recipe: Recipe, inputs: Any, batches: Batches[Any]) -> tuple[dict[str, str], list[str]]:
    """How long counting will take and how what is kept grows with the order, from the text or enough of it; remarks."""
    say("counting …")
    model, whole = model_of(recipe, inputs.sizes()), batches.in_epoch(0)
    assert isinstance(model, Counter), f"{recipe.model.kind} learns neither by descending nor by counting"
    began, tokens, read = time.perf_counter(), 0, 0
    while read < whole and tokens < COUNTED_TOKENS:
        batch = batches.at(Place(0, read))
        model.observe(batch)
        tokens, read = tokens + batch.tokens, read + 1
    model.conclude()
    seconds = time.perf_counter() - began
    if isinstance(model, Stored):
        print()
        Console().print(storage_table(model))
        print()
    facts = {
        "counted": f"{tokens:,} tokens" + ("" if read == whole else f", {100 * read / whole:.1f} % of the text"),
        "time": f"about {_clock(seconds * whole / read)} ({tokens / seconds:,.0f} tokens/s), validation not counted",
        "memory": _memory(torch.device("cpu")),
    }
    more = ["the whole text has more n-grams, above all of the higher orders, than were counted here"]
    return facts, more if read < whole else []


def _overfitting(
    recipe: Recipe, source: Run | None, inputs: Any, batches: Batches[Any]
) -> tuple[dict[str, str], list[str]]:
    """Whether a few examples can be overfitted; a remark where they cannot."""
    say("overfitting a few examples …")
    first, last = _overfitted(recipe, source, inputs, batches)
    told = "the model does not even overfit a few examples: look at the data and the model's settings"
    facts = {"one batch overfitted": f"loss {first:.2f} → {last:.3f} in {OVERFIT_STEPS} steps"}
    return facts, [told] if last > first / 4 else []


def _timed(
    recipe: Recipe, data: Any, inputs: Any, prepared: Prepared, start: float
) -> tuple[dict[str, str], list[str]]:
    """Parameters, batches, and how long and how much memory training will take, from a short one; remarks.

    `start` is how long it took until all was prepared.
    """
    say("timing a short training …")
    settings, device, batches = recipe.training, training_device(recipe.training.device), prepared.train
    model = model_of(recipe, inputs.sizes()).to(device)
    pace = measured_pace(recipe, data, inputs, prepared, model, start=start, finish=_written_for_people)
    count, steps = batches.in_epoch(0), expected_steps(settings, batches)
    seconds, speed = pace.training(steps, settings), mean_tokens(batches) * settings.accumulate / pace.step
    passes = steps * settings.accumulate / count
    facts = {
        "parameters": f"{parameters(model):,}",
        "batches an epoch": f"{count:,}",
        "training": f"{steps:,} steps, {passes:.1f} epochs",
        "time": f"about {_clock(seconds)} with validation ({speed:,.0f} {inputs.input.unit}/s in {_precision(recipe)})",
        "memory": _memory(device),
    }
    remarks = training_remarks(settings, steps)
    if passes > MANY_EPOCHS and settings.patience is None:
        remarks.append(f"training reads the training part {passes:,.0f} times: fewer steps will do (training.steps)")
    if settings.precision == "bfloat16" and _precision(recipe) != "bfloat16":
        remarks.append(f"this {device.type} has no instructions for bfloat16: training computes in float32")
    if settings.precision == "float32" and computes_bfloat16(device):
        halved = recipe._replace(training=settings.model_copy(update={"precision": "bfloat16"}))
        gain = pace.step / seconds_per_step(halved, model, batches)
        if gain > WORTHWHILE:
            remarks.append(f"training.precision=bfloat16 would be faster here, about {gain:.1f} times")
    return facts, remarks


def _precision(recipe: Recipe) -> str:
    """What training really computes in."""
    return recipe.training.precision if computes_bfloat16(training_device(recipe.training.device)) else "float32"


def _written_for_people(folder: Path) -> None:
    """What `train` leaves in a run folder after training."""
    write_card(open_run(folder))
    draw_curve(folder)


def _step(
    model: nn.Module, objective: Objective, optimizer: Optimizer, batch: Any, precision: str
) -> dict[str, LossPart]:
    """One update, as in training; the parts of the loss."""
    with torch.autocast(device_of(model).type, torch.bfloat16, enabled=precision == "bfloat16"):
        loss, _ = objective(model, batch, objective.start(model, batch))
    optimizer.zero_grad(set_to_none=True)
    loss.total(objective.counts(batch)).backward()
    optimizer.step()
    parts: dict[str, LossPart] = loss.parts
    return parts


def _memory(device: torch.device) -> str:
    """The most that this process has needed so far, the batches above included."""
    if device.type == "cuda":
        return f"{torch.cuda.max_memory_allocated(device) / 2**30:.2f} GiB on the GPU"
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**30 if sys.platform == "darwin" else 2**20)
    return f"about {most:.2f} GiB"


def _overfitted(recipe: Recipe, source: Run | None, inputs: Any, batches: Batches[Any]) -> tuple[float, float]:
    """The plain loss on a few examples before and after overfitting them, without dropout.

    A model that begins from the weights of `source` begins from them here too, at a rate that suits them.
    """
    device = training_device(recipe.training.device)
    whole = batches.at(Place(0, 0)).to(device)
    batch = whole.rows(slice(FEW_ROWS))
    model, objective = model_of(recipe, inputs.sizes()).to(device).eval(), objective_of(recipe).to(device)
    rate = 1e-3
    if source is not None and weights_of(recipe) is not None:
        transferred(source.model, model, str(source.folder), recipe.model.init_layers)
        rate = 1e-4
    optimizer = torch.optim.Adam([*model.parameters(), *objective.parameters()], lr=rate)
    seen = []
    for _ in range(OVERFIT_STEPS):
        part = next(iter(_step(model, objective, optimizer, batch, _precision(recipe)).values()))
        seen.append(float(part.sum.detach()) / part.over)
    return seen[0], seen[-1]


def _clock(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
