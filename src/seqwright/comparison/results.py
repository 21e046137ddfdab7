"""What a comparison found, as one plain structure: what the JSON holds and the tables are made from."""

import json
import math
import os
import platform
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from seqwright import __version__
from seqwright.comparison.plan import ComparisonRow, Plan
from seqwright.comparison.records import Found, Records
from seqwright.comparison.stages import Outcome
from seqwright.comparison.statistics import paired_test, statistics_of
from seqwright.kinds import TASKS, task_of
from seqwright.metrics.significance import FEWEST, Additive, Confidence, confidences
from seqwright.outputs.text_scores import LOWER_IS_BETTER

MOST_SHOWN = 4  # scores of a task that does not say which
SAMPLED = {"mse", "mae"}  # scores whose intervals may be those of some of the examples, evenly spread
LOWER = {"word_perplexity", "bits_per_byte", "bits_per_character", "mse", "mae", "mase"} | LOWER_IS_BETTER
UNSEEN = ("loss", "perplexity")  # of a task that does not say which: they depend on its tokens
TRAINING = ("steps", "tokens", "flops")
COSTS = ("training_seconds", "cores", "energy_wh", "tokens_per_second", "decoding_tokens_per_second", "memory_bytes")


def results(plan: Plan, outcome: Outcome, records: Records) -> dict[str, Any]:
    """Everything, row by row; a row that failed stands only among the failures."""
    rows = [row for row in plan.rows if row.name not in outcome.failures]
    evaluated = {row.name: [outcome.evaluated[trial.name] for trial in row.trials] for row in rows}
    first = next(iter(evaluated.values()))[0] if evaluated else {}
    names = shown_scores(plan.task, _shared(evaluated)) if evaluated else []
    sure = confidence(plan, rows, evaluated, records, names) if names else {}
    settings = plan.settings
    return {
        "name": settings.name,
        "description": settings.description,
        "made": made(),
        "task": plan.task,
        "unit": task_of(plan.task).input.unit,
        "part": first.get("part"),
        "examples": first.get("examples"),
        "baseline": plan.baseline,
        "seeds": list(settings.seeds),
        "budget": settings.budget.model_dump(exclude_none=True) if settings.budget else None,
        "threads": plan.threads,
        "watts_per_core": settings.watts_per_core,
        "resamples": settings.resamples,
        "decoding": plan.decoding.model_dump(mode="json", exclude_none=True) if _timed(evaluated) else None,
        "signatures": {name: text for name, text in first.get("signatures", {}).items() if name in names},
        "shown": names,
        "lower_is_better": [name for name in names if name in LOWER],
        "rows": [_row(plan, outcome, row, evaluated[row.name], sure.get(row.name, {})) for row in rows],
        "failures": dict(outcome.failures),
    }


def made() -> dict[str, Any]:
    """When the table was made, with what and on what."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "seqwright": __version__,
    }


def shown_scores(task: str, scores: dict[str, float]) -> list[str]:
    """The scores of the table, the one that decides first."""
    shown = TASKS[task].shown
    if shown and shown[0] in scores:
        return [name for name in shown if name in scores]
    return [name for name in scores if name not in UNSEEN][:MOST_SHOWN]


def _timed(evaluated: dict[str, list[Found]]) -> bool:
    """Whether decoding was timed in any row."""
    return any("decoding" in trial for trials in evaluated.values() for trial in trials)


def _shared(evaluated: dict[str, list[Found]]) -> dict[str, float]:
    """The scores that every row has: those of an ensemble lack the loss of an objective."""
    first, *others = (trial["scores"] for trials in evaluated.values() for trial in trials)
    return {name: value for name, value in first.items() if all(name in other for other in others)}


def _row(
    plan: Plan, outcome: Outcome, row: ComparisonRow, evaluated: list[Found], sure: dict[str, Confidence]
) -> dict[str, Any]:
    names = evaluated[0]["scores"]
    scores = {name: _over([found["scores"][name] for found in evaluated]) for name in names}
    for name, given in sure.items():
        scores[name] |= given._asdict()
    return {
        "name": row.name,
        "model": None if row.members else row.recipe.model.kind,
        "recipe": None if row.members else row.recipe.description,
        "members": list(row.members),
        "trained": all(trial.trained for trial in row.trials),
        "parameters": evaluated[0]["parameters"],
        "scores": scores,
        "training": {name: _over(values) for name, values in _costs(plan, outcome, row, evaluated, TRAINING).items()},
        "cost": {name: _over(values) for name, values in _costs(plan, outcome, row, evaluated, COSTS).items()},
    }


def _over(values: list[float]) -> dict[str, Any]:
    """Mean and standard deviation over the seeds, and each."""
    deviation = statistics.stdev(values) if len(values) > 1 and all(map(math.isfinite, values)) else None
    return {"mean": statistics.fmean(values), "deviation": deviation, "each": values}


# ---------------------------------------------------------------------------------------------------- costs


def _costs(
    plan: Plan, outcome: Outcome, row: ComparisonRow, evaluated: list[Found], names: Sequence[str]
) -> dict[str, list[float]]:
    """What each trial of a row took, as far as it is known of all of them."""
    each = [_cost(plan, outcome, row, number) for number in range(len(row.trials))]
    for cost, found in zip(each, evaluated, strict=True):
        if "decoding" in found:
            cost["decoding_tokens_per_second"] = found["decoding"]["tokens"] / found["decoding"]["seconds"]
    return {name: [cost[name] for cost in each] for name in names if all(name in cost for cost in each)}


def _cost(plan: Plan, outcome: Outcome, row: ComparisonRow, number: int) -> dict[str, float]:
    """What training a trial took; an ensemble took what its members took together."""
    if row.members:
        members = [each for each in plan.rows if each.name in row.members]
        parts = [_cost(plan, outcome, member, min(number, len(member.trials) - 1)) for member in members]
        summed = ("tokens", "flops", "training_seconds", "energy_wh")
        return {name: sum(part[name] for part in parts) for name in summed if all(name in part for part in parts)}
    trial, measured = row.trials[number], outcome.measured.get(row.name, {})
    trained = outcome.trained.get(trial.name)
    books = trained or outcome.evaluated[trial.name].get("training")
    if books is None:  # predictions of an ensemble
        return {}
    cost: dict[str, float] = {"training_seconds": books["seconds"]}
    if books["tokens"]:
        cost |= {"steps": books["steps"], "tokens": books["tokens"]}
    if books["tokens"] and books["seconds"]:
        cost["tokens_per_second"] = books["tokens"] / books["seconds"]
    if books["tokens"] and measured.get("descends"):
        cost["flops"] = measured["flops_per_token"] * books["tokens"]
    if trained is not None and "cores" in trained:
        cost |= {"memory_bytes": trained["memory"], "cores": trained["cores"]}
        cost["energy_wh"] = trained["seconds"] * trained["cores"] * plan.settings.watts_per_core / 3600
    return cost


# ---------------------------------------------------------------------------------------------------- confidence


def confidence(
    plan: Plan, rows: list[ComparisonRow], evaluated: dict[str, list[Found]], records: Records, names: list[str]
) -> dict[str, dict[str, Confidence]]:
    """By row and score: how sure the scores of the first seed are, and whether they differ from the baseline's."""
    if plan.baseline not in evaluated:  # it failed
        return {}
    answers = {row.name: read_answers(records, row.trials[0].name) for row in rows}
    if min(map(len, answers.values())) < FEWEST:
        return {}
    sure: dict[str, dict[str, Confidence]] = {row.name: {} for row in rows}
    for name in names:
        scores = _statistics(name, answers, evaluated, lowercase=rows[0].recipe.lowercase)
        if not scores:
            continue
        found = confidences(
            scores,
            baseline=plan.baseline,
            best=_best(name, evaluated),
            test=paired_test(name, answers[plan.baseline]),
            resamples=plan.settings.resamples,
        )
        for row, given in found.items():
            sure[row][name] = given
    return sure


def _statistics(
    name: str, answers: dict[str, list[Found]], evaluated: dict[str, list[Found]], *, lowercase: bool
) -> dict[str, Additive]:
    """What each example adds to a score of each row; nothing where the examples do not add up to it."""
    found = statistics_of(name, answers, lowercase=lowercase)
    for row, score in found.items():
        whole = math.isclose(score.value, evaluated[row][0]["scores"][name], rel_tol=1e-3, abs_tol=1e-9)
        if not (whole or name in SAMPLED):
            return {}  # some examples were left out
    return found if len({len(each.each_NS) for each in found.values()}) == 1 else {}


def _best(name: str, evaluated: dict[str, list[Found]]) -> str:
    """The row with the best mean over the seeds."""
    means = {row: statistics.fmean(trial["scores"][name] for trial in trials) for row, trials in evaluated.items()}
    return (min if name in LOWER else max)(means, key=lambda row: means[row])


def read_answers(records: Records, name: str) -> list[dict[str, Any]]:
    """What a trial predicted for each example."""
    lines = records.answers(name).read_text(encoding="utf-8").split("\n")  # texts have other ends of lines in them
    return [json.loads(line) for line in lines if line]
