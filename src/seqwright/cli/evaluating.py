"""`eval`: how good a run is, as a table and as files in its `eval/` folder."""

import math
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from seqwright.calls import chosen_data
from seqwright.cli.opening import computed_by, ensemble_circumstances, ensemble_name, opened_run, opened_together
from seqwright.cli.options import EvaluationOptions
from seqwright.cli.terminal import add_row, json_text, print_table, say, say_drawn, shown
from seqwright.data.examples import PartName
from seqwright.data.files import content_hash
from seqwright.errors import SettingError, UserError
from seqwright.outputs.text_search import Search
from seqwright.recipe import validated
from seqwright.run_folders import resolved_of
from seqwright.runs import Run, joined_run
from seqwright.tasks import Evaluation
from seqwright.whole_file import write_whole


def evaluate_run(folder: Path, options: EvaluationOptions) -> None:
    """Evaluate a run, alone or in ensemble, print the scores, write them down."""
    given, which = options.decoding.settings(), options.which
    runs, average = opened_together(opened_run(folder, which), options.ensemble, which)
    run, *others = runs
    files = [path.expanduser() for path in options.data or ()]
    engine = options.computing.engine
    if (given or engine) and not run.output.decodes:
        typed = f"--{next(iter(given), 'engine').replace('_', '-')}"
        task = run.recipe.task
        raise SettingError(f"{shown(folder)} learnt {task}, where nothing is searched for; leave {typed} out")
    chosen = chosen_data(run, files, options.part)
    data, part = chosen.data, chosen.part
    settings = decoding_settings(run, given)
    subject = " and ".join(map(str, files)) if files else f"the {part} part"
    searched = f", {settings.in_words()}" if run.output.decodes else ""
    subjects = ", ".join(f"{shown(each.folder)}, step {each.step:,}" for each in runs)
    say(f"{subjects}, on {subject}{searched}")
    if not files:
        _warn_of_other_data(folder, data)
    try:
        together = computed_by(joined_run(runs, average), engine)
        searched_by = settings if together.engine is None else Search(settings, engine=together.engine)
        result = chosen.evaluated(together, searched_by)
    except UserError as error:
        raise type(error)(_named(str(error), part, subject)) from error
    for note in result.notes:
        say(f"{subject}: {_named(note.removeprefix(f'{part}: '), part, subject)}")
    name = _name(run, f"{files[0].stem}-{data.fingerprint(part)[:8]}" if files else part, settings, which)
    name += ensemble_name(others, average)
    circumstances = _circumstances(run, files, data, part, settings, which)
    if together.engine is not None:
        name, circumstances = f"{name}-{engine}", circumstances | {"engine": engine}
    circumstances["evaluated"] |= result.overlap._asdict() if result.overlap else {}
    _write(folder / "eval", name, result, circumstances | ensemble_circumstances(others, average))
    if options.json:
        print(json_text({**_rounded(result.scores), "groups": result.groups}))
    else:
        _print(result)
    say(f"written to {shown(folder / 'eval' / name)}.json")
    if drawn := _drawn(result, folder / "eval" / name):
        say_drawn(drawn)


def _named(sentence: str, part: str, subject: str) -> str:
    """A sentence about a part, where that is other files by their names."""
    return sentence.replace(f"the {part} part", subject)


def decoding_settings(run: Run, given: dict[str, Any]) -> Any:
    """The recipe's decoding settings, with what the command line says in their place."""
    changes = {name: value for name, value in given.items() if value is not None}
    merged = {**run.recipe.decoding.model_dump(), **changes}
    wanted, beam = merged["n_best"], merged["beam"]
    if not merged["temperature"] and wanted > beam:
        if "n_best" not in changes:
            merged["n_best"] = beam
        elif "beam" in changes:
            raise SettingError(f"--n-best is {wanted} but --beam only {beam}; raise --beam or lower --n-best")
        else:
            say(f"searching with a beam of {wanted}: so many candidates need so wide a beam")
            merged["beam"] = wanted
    options = {name: f"--{name.replace('_', '-')}" for name in changes}
    return validated("decoding", merged, run.recipe.task, options)


def _warn_of_other_data(folder: Path, data: Any) -> None:
    """Say it if the data is not what the run was trained on: what it learnt from may now be in the part it is asked."""
    before = resolved_of(folder).get("sha256", {})
    changed = [part for part in data.parts() if part in before and before[part] != data.fingerprint(part)]
    if changed:
        say(
            f"the data changed since {shown(folder)} was trained ({', '.join(changed)}): the scores cannot be compared "
            "with earlier ones, and sentences it learnt from may be among those it is asked"
        )


def _name(run: Run, subject: str, settings: Any, which: str) -> str:
    """What the files of an evaluation are called; what is not as usual is said at the end.

    The subject is a part, or the name of a file with the beginning of its sha256: it may be called like a part.
    """
    usual = run.recipe.decoding
    searching = {"penalty": "length_penalty", "coverage": "coverage_penalty"} if settings.beam > 1 else {}
    name = f"{subject}-step-{run.step:06d}" + (f"-beam-{settings.beam}" if run.output.decodes else "")
    for word, setting in searching.items():
        if getattr(settings, setting) != getattr(usual, setting):
            name += f"-{word}-{getattr(settings, setting):g}"
    name += f"-unknown-{settings.unknown}" if settings.unknown != usual.unknown else ""
    name += f"-{settings.precision}" if settings.precision != usual.precision else ""
    return name if which == "best" else f"{name}-{which}"


def _circumstances(run: Run, files: list[Path], data: Any, part: PartName, settings: Any, which: str) -> dict[str, Any]:
    """What was evaluated, and how: enough to do it again."""
    own = {"part": part, "sha256": data.fingerprint(part)}
    other = {"files": [str(path) for path in files], "sha256": _hashes(files, data, part)}
    return {
        "evaluated": other if files else own,
        "checkpoint": which,
        "step": run.step,
        "decoding": settings.model_dump(),
    }


def _hashes(files: list[Path], data: Any, part: PartName) -> list[str]:
    """The sha256 of each file; of a folder, also in an archive, that of everything that is read of it."""
    return [content_hash(path) if path.is_file() else data.fingerprint(part) for path in files]


def _drawn(result: Evaluation, stem: Path) -> list[Path]:
    """The picture of an evaluation, for tasks that have one."""
    if result.picture is None:
        return []
    from seqwright.pictures import save
    from seqwright.pictures.evaluations import DRAWINGS

    return save(DRAWINGS[result.picture.name](**result.picture.data), stem)


def _print(result: Evaluation) -> None:
    """The scores, a line each, and how many of each group are right; forecasts beside those of their baselines."""
    if "baseline_naive_mse" in result.scores:
        from seqwright.cli.forecasting import print_evaluation

        print_evaluation(result)
        return
    console = Console()
    of_groups = _scores_of_groups(result)
    grouped = {name for names in of_groups.values() for name in names}
    rows = [
        (name, f"{value:.3f}" if value < 1000 else f"{value:.4g}", result.signatures.get(name, ""))
        for name, value in result.scores.items()
        if name not in grouped
    ]
    print_table(("score", "value", "signature"), rows)
    if result.groups:
        console.print()
        groups = Table(*result.group_columns, "share", *of_groups, box=None, pad_edge=False)
        for kind, (matched, count) in result.groups.items():
            known = (result.scores.get(f"{score}_{kind}") for score in of_groups)
            scores = ("–" if each is None else f"{each:.2f}" for each in known)
            add_row(groups, kind or "without a type", f"{matched}/{count}", _share(matched, count), *scores)
        matched, count = (sum(group[i] for group in result.groups.values()) for i in (0, 1))
        add_row(groups, "all", f"{matched}/{count}", _share(matched, count), style="bold")
        console.print(groups)


def _share(matched: int, count: int) -> str:
    return f"{100 * matched / count:.1f} %" if count else "–"


def _scores_of_groups(result: Evaluation) -> dict[str, list[str]]:
    """The scores that every group with examples has, such as `f1` of `f1_spam` and `f1_ham`, and their names."""
    known = dict.fromkeys(name.partition("_")[0] for name in result.scores)
    there = [kind for kind, (_, count) in result.groups.items() if count] or list(result.groups)
    found = [score for score in known if there and all(f"{score}_{kind}" in result.scores for kind in there)]
    return {score: [f"{score}_{kind}" for kind in result.groups] for score in found}


def _rounded(scores: dict[str, float]) -> dict[str, float]:
    """Four decimals, and six digits where that is more: errors may be small."""
    return {name: round(value, _decimals(value)) for name, value in scores.items()}


def _decimals(value: float) -> int:
    small = math.isfinite(value) and 0 < abs(value) < 1
    return min(300, 5 - math.floor(math.log10(abs(value)))) if small else 4


def _write(folder: Path, name: str, result: Evaluation, circumstances: dict[str, Any]) -> None:
    folder.mkdir(exist_ok=True)
    report = {
        **circumstances,
        "scores": _rounded(result.scores),
        "signatures": result.signatures,
        "groups": result.groups,
    }
    write_whole(folder / f"{name}.json", json_text(report, indent=1))
    lines = (json_text(answer) + "\n" for answer in result.answers)
    write_whole(folder / f"{name}.jsonl", "".join(lines))
