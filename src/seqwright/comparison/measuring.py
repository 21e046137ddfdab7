"""What is done to one row, each in a process of its own: measure it, train it, evaluate it.

Each function is given plain settings and gives plain numbers, so that they can go from process to process.
"""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from seqwright.batches import Batches, Place
from seqwright.comparison.flops import flops_of
from seqwright.comparison.pace import WARMING, Clock, measured_pace, until_now
from seqwright.comparison.plan import rewrites
from seqwright.data.examples import PartName
from seqwright.devices import keep_freed_memory, training_device
from seqwright.inputs import Given
from seqwright.kinds import task_of
from seqwright.metrics.language import Extent, extent, language_scores
from seqwright.recipe import Recipe, recipe_from, validated, written
from seqwright.runs import (
    Run,
    data_of,
    model_of,
    objective_of,
    open_run,
    parameters,
    set_up_cpu,
    source_of,
    train,
)
from seqwright.tasks import refuse_missing_part
from seqwright.tasks.ensembles import ensemble_of, whole_batches
from seqwright.training.checkpoint import read_checkpoint, read_mark
from seqwright.training.journal import Journal
from seqwright.training.reporter import TOKENS, TRAIN, Bar, LineReporter, Quiet, Reporter
from seqwright.training.schedule import expected_steps
from seqwright.whole_file import written_whole

SAMPLED = 200  # batches whose tokens are counted
COUNTED = 8  # batches whose operations are counted


def measured_recipe(resolved: Mapping[str, Any], *, timed: bool) -> dict[str, Any]:
    """Size, tokens per step, operations per token and, if `timed`, the pace of a recipe, from real batches."""
    begun, clock = until_now(), Clock()
    recipe = recipe_from(dict(resolved))
    set_up_cpu(recipe)
    task, data, device = task_of(recipe.task), data_of(recipe), training_device(recipe.training.device)
    source = source_of(recipe)
    inputs = task.learnt_inputs(recipe, data, None if source is None else source.inputs)
    prepared = task.prepared(recipe, data, inputs)
    batches, start = prepared.train, begun + clock.seconds()
    model = model_of(recipe, inputs.sizes())
    # What a student learns from only its teacher can make.
    descends = recipe.descends and not recipe.taught
    found: dict[str, Any] = {"parameters": parameters(model), "descends": descends}
    if not descends:
        return found
    tokens, places = mean_tokens(batches), even_places(batches, COUNTED)
    found |= {"flops_per_token": flops_per_token(model, objective_of(recipe), batches, places)}
    found |= {"steps_in_epochs": expected_steps(recipe.training, batches)}
    found |= {"tokens_per_step": tokens * recipe.training.accumulate}
    if not timed:
        return found
    pace = measured_pace(recipe, data, inputs, prepared, model.to(device), start=start)._asdict()
    return found | {"seconds_per_step": pace.pop("step"), "pace": pace}


def even_places(batches: Batches[Any], most: int) -> list[Place]:
    """Places evenly spread over the first epoch."""
    count = batches.in_epoch(0)
    return [Place(0, int(index)) for index in np.unique(np.linspace(0, count - 1, min(most, count)).round())]


def mean_tokens(batches: Batches[Any]) -> float:
    """The mean number of real tokens in a batch."""
    return float(np.mean([batches.at(place).tokens for place in even_places(batches, SAMPLED)]))


def flops_per_token(model: nn.Module, objective: Any, batches: Batches[Any], places: list[Place]) -> float:
    """Operations of the forward and the backward pass over real batches, by their real tokens: padding costs too."""
    flops = tokens = 0
    model.train()
    objective.train()
    for place in places:
        batch = batches.at(place)

        def step(batch: Any = batch) -> None:
            loss, _ = objective(model, batch, objective.start(model, batch))
            loss.total(objective.counts(batch)).backward()

        flops, tokens = flops + flops_of(step), tokens + batch.tokens
    model.zero_grad(set_to_none=True)
    return flops / tokens


# ---------------------------------------------------------------------------------------------------- training


class Cores(Quiet):
    """How many cores were busy on the mean during a training."""

    def __init__(self) -> None:
        self.began = self.busy = (0.0, 0.0)
        self.steps = 0

    def begin(self, step: int, steps: int, doing: str = TRAIN, unit: str = TOKENS) -> None:
        """The clocks start."""
        self.began = time.process_time(), time.monotonic()

    def step(self, step: int, loss: float, speed: float) -> None:
        """A step is done."""
        self.steps += 1

    def end(self) -> None:
        """The clocks stop."""
        self.busy = time.process_time() - self.began[0], time.monotonic() - self.began[1]

    def mean(self) -> float:
        """CPU seconds in a second; of what goes in no steps, as many as may be used."""
        return self.busy[0] / self.busy[1] if self.steps else float(torch.get_num_threads())


def trained(resolved: Mapping[str, Any], folder: str, reporter: Reporter, cores: Cores) -> dict[str, Any]:
    """Train a recipe into its folder, from where it stopped; memory and cores are known where something was left."""
    before = read_mark(Path(folder), "last")
    run = train(recipe_from(dict(resolved)), Path(folder), text=written(dict(resolved)), reporter=reporter)
    found = {**costs(run.folder), "parameters": parameters(run.model)}
    return found if found["steps"] == before else {**found, "cores": cores.mean(), "memory": peak_memory()}


def costs(folder: Path) -> dict[str, Any]:
    """What the training of a run took, from its own books: steps, seconds without validation, real tokens."""
    step = read_mark(folder, "last") or 0
    seconds = float(read_checkpoint(folder, step, ("model",)).state["seconds"])
    lines = Journal(folder / "journal.jsonl").lines()
    tokens = sum(int(line.get("tokens", 0)) for line in lines if line["event"] == "train")
    return {"steps": step, "best": read_mark(folder, "best") or step, "seconds": seconds, "tokens": tokens}


def speaking() -> Reporter:
    """A progress bar where somebody watches, plain lines where not."""
    from rich.console import Console

    console = Console(stderr=True)
    return Bar(console) if console.is_terminal else LineReporter()


# ---------------------------------------------------------------------------------------------------- evaluating


def evaluated_runs(job: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of a run, or of several together, on a part; what they predicted for each example goes to a file."""
    keep_freed_memory()
    runs = [open_run(folder) for folder in job["folders"]]
    torch.set_num_threads(job["threads"])
    recipe = runs[0].recipe._replace(data=validated("data", job["data"], runs[0].recipe.task))
    decoding, data = validated("decoding", job["decoding"], job["task"]), data_of(recipe)
    part: PartName = job["part"] or ("test" if "test" in data.parts() else "valid")
    refuse_missing_part(data, part)
    found = {"part": part, "sha256": data.fingerprint(part), "parameters": sum(parameters(run.model) for run in runs)}
    if rewrites(recipe):
        outcome = evaluated_together(recipe, runs, data, part, decoding)
    else:
        wires, model = ensemble_of(runs)
        result = task_of(job["task"]).evaluated(recipe, data, wires, model, part, decoding)
        numbers = wires.output.answered(result.predictions)
        outcome = RunScores(result.scores, result.signatures, _numbered(numbers, result.answers), {})
    if len(runs) == 1:
        found["training"] = costs(runs[0].folder)
    with written_whole(Path(job["answers"])) as file:
        file.writelines(json.dumps(answer, ensure_ascii=False) + "\n" for answer in outcome.answers)
    told = {"scores": outcome.scores, "signatures": outcome.signatures, "examples": len(outcome.answers)}
    return {**found, **told, **outcome.speed}


def _numbered(numbers: Sequence[int], answers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers, each after the number of its example in the part."""
    return [{"example": number, **answer} for number, answer in zip(numbers, answers, strict=True)]


class RunScores(NamedTuple):
    """Scores, how they were made, what was predicted for each example, and how fast."""

    scores: dict[str, float]
    signatures: dict[str, str]
    answers: list[dict[str, Any]]
    speed: dict[str, Any]


def evaluated_together(recipe: Recipe, runs: list[Run], data: Any, part: PartName, decoding: Any) -> RunScores:
    """A part translated by one run, or by several together.

    What the references cost is told per word and per byte, ends included, whatever the tokens are.
    """
    every = enumerate(data.examples(part))
    numbered = {number: pair for number, pair in every if pair.source.strip() and pair.target.strip()}
    pairs = Given(numbered.values())
    wires, model = ensemble_of(runs)
    wires.predictions(model, Given(pairs.examples[:WARMING]), decoding)
    began = time.monotonic()
    found = wires.predictions(model, pairs, decoding)
    seconds, tokens = time.monotonic() - began, sum(len(each.best.tokens) + each.best.finished for each in found)
    whole = reduce(Extent.plus, (extent(pair.target) for pair in pairs))
    batches = whole_batches([run.inputs for run in runs], pairs, recipe.training.tokens)
    costs = language_scores(-wires.output.log_probability(model, batches)[0], 1, whole)
    answers = zip(pairs, found, strict=True)
    return RunScores(
        scores=wires.output.scores(found, pairs) | {name: costs[name] for name in ("word_perplexity", "bits_per_byte")},
        signatures={
            **wires.output.report(found, pairs).signatures,
            "word_perplexity": "words between white space, each end is one; comparable whatever the tokens are",
        },
        answers=_numbered(
            list(numbered),
            [{"source": p.source, "reference": p.target, "hypothesis": each.text} for p, each in answers],
        ),
        speed={"decoding": {"tokens": tokens, "seconds": seconds}},
    )


def peak_memory() -> int:
    """The most memory in bytes that this process has held."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would also count what the process that started this one held
        lines = status.read_text(encoding="utf-8").splitlines()
        peak = [line.split()[1] for line in lines if line.startswith("VmHWM")]
        if peak:
            return 1024 * int(peak[0])
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
