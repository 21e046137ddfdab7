"""`eval`: how good a run is, as a table and as files in its `eval/` folder."""

import json
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.table import Table

from seqwright.cli.terminal import say, shown
from seqwright.data.examples import PartName
from seqwright.errors import SettingError
from seqwright.lineage import task_of
from seqwright.recipe import Recipe, validated
from seqwright.runs import Run, data_of, open_run
from seqwright.tasks import Evaluation


def evaluate_run(
    folder: Path, part: str | None, files: list[Path], decoding: dict[str, Any], which: str, *, as_json: bool
) -> None:
    """Evaluate a run, print the scores, write them down."""
    run = open_run(folder, which=which, notice=say)
    recipe = run.recipe
    if files:
        recipe = recipe._replace(data=validated("data", _only(files, recipe)))
    data = data_of(recipe)
    chosen = _part(part, data.parts())
    settings = decoding_settings(run, decoding)
    say(f"{shown(folder)}, step {run.step:,}, on the {chosen} part, {_search(settings)}")
    result = task_of(recipe.data.kind).evaluated(recipe, data, run.inputs, run.model, chosen, settings)
    for note in result.notes:
        say(note)
    name = f"{files[0].stem if files else chosen}-step-{run.step:06d}-beam-{settings.beam}"
    _write(folder / "eval", name, run, result, settings)
    if as_json:
        print(json.dumps({**result.scores, "groups": result.groups}))
    else:
        _print(result)
    say(f"written to {shown(folder / 'eval' / name)}.json")


def decoding_settings(run: Run, given: dict[str, Any]) -> Any:
    """The recipe's decoding settings, with what the command line says in their place."""
    changes = {name: value for name, value in given.items() if value is not None}
    merged = {**run.recipe.decoding.model_dump(), **changes}
    if "beam" in changes and "n_best" not in changes:
        merged["n_best"] = min(merged["n_best"], merged["beam"])
    if not merged["temperature"]:
        merged["beam"] = max(merged["beam"], merged["n_best"])  # so many candidates need so wide a beam
    return validated("decoding", merged)


def _only(files: list[Path], recipe: Recipe) -> dict[str, Any]:
    """Data settings in which every part is these files; their columns are the recipe's."""
    if len(files) > 2:
        raise SettingError(f"--data was given {len(files)} times; give one file, or two line-aligned ones")
    paths = str(files[0]) if len(files) == 1 else [str(path) for path in files]
    columns: dict[str, Any] = {}
    if recipe.data.kind == "files" and len(files) == 1:
        columns = recipe.data.model_dump(include={"source", "target"}, exclude_none=True)
    return {"kind": "files", "train": paths, "valid": paths, "test": paths, **columns}


def _part(asked: str | None, there: list[PartName]) -> PartName:
    if asked is None:
        return "test" if "test" in there else "valid"
    if asked not in {"train", "valid", "test"}:
        raise SettingError(f"--part is '{asked}'; the data has {', '.join(there)}")
    return cast(PartName, asked)


def _search(settings: Any) -> str:
    if settings.temperature:
        return f"sampled at temperature {settings.temperature}"
    return "greedy" if settings.beam == 1 else f"beam {settings.beam}, length penalty {settings.length_penalty}"


def _print(result: Evaluation) -> None:
    console = Console()
    table = Table("score", "value", "signature", box=None, pad_edge=False)
    for name, value in result.scores.items():
        table.add_row(name, f"{value:.3f}" if value < 1000 else f"{value:.4g}", result.signatures.get(name, ""))
    console.print(table)
    if result.groups:
        console.print()
        groups = Table("kind", "exact", "share", box=None, pad_edge=False)
        for kind, (matched, count) in sorted(result.groups.items()):
            groups.add_row(kind, f"{matched}/{count}", f"{100 * matched / count:.1f} %")
        matched, count = (sum(group[i] for group in result.groups.values()) for i in (0, 1))
        groups.add_row("all", f"{matched}/{count}", f"{100 * matched / count:.1f} %", style="bold")
        console.print(groups)


def _write(folder: Path, name: str, run: Run, result: Evaluation, settings: Any) -> None:
    folder.mkdir(exist_ok=True)
    report = {
        "step": run.step,
        "scores": result.scores,
        "signatures": result.signatures,
        "groups": result.groups,
        "decoding": settings.model_dump(),
    }
    (folder / f"{name}.json").write_text(json.dumps(report, indent=1, ensure_ascii=False), encoding="utf-8")
    lines = (json.dumps(answer, ensure_ascii=False) + "\n" for answer in result.answers)
    (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
