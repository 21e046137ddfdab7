"""What a comparison will do: its rows as recipes that differ in what shall be compared and in nothing else."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from seqwright.comparison.prediction_files import read_header
from seqwright.comparison.settings import Budget, ComparisonSettings, RowSettings, slug
from seqwright.data.relative_paths import beside_run
from seqwright.devices import cores
from seqwright.errors import RunError, SettingError, UserError
from seqwright.inputs.source_text import SourceTextSettings
from seqwright.kinds import task_of
from seqwright.recipe import Recipe, changed_data, flattened, recipe_from, validated, with_base, with_weights
from seqwright.run_folders import changed_settings, refuse_old_layout, resolved_of
from seqwright.tasks.ensembles import can_join
from seqwright.training.checkpoint import steps_on_disk


def rewrites(recipe: Recipe) -> bool:
    """Whether a text becomes another one: only then can alignments be drawn, and is decoding timed."""
    return isinstance(recipe.input, SourceTextSettings)


class Trial(NamedTuple):
    """One row with one seed: a run folder, or the run folders of an ensemble."""

    name: str  # also of its records
    seed: int | None
    recipe: Recipe
    folders: tuple[Path, ...]
    trained: bool  # whether it is this comparison that trains it
    predictions: Path | None = None  # the file that takes the place of a run


class ComparisonRow(NamedTuple):
    """A row of the table, with one trial for each seed."""

    name: str
    trials: tuple[Trial, ...]
    members: tuple[str, ...] = ()

    @property
    def recipe(self) -> Recipe:
        """The recipe of the first trial."""
        return self.trials[0].recipe


class Plan(NamedTuple):
    """Everything that is decided before anything is done."""

    settings: ComparisonSettings
    folder: Path
    rows: tuple[ComparisonRow, ...]
    decoding: Any
    threads: int

    @property
    def task(self) -> str:
        """What all rows are for."""
        return self.rows[0].recipe.family

    @property
    def baseline(self) -> str:
        """The row that the others are held against."""
        return self.settings.baseline or self.rows[0].name

    @property
    def decodes(self) -> bool:
        """Whether the rows search for what they predict."""
        return bool(task_of(self.task).output.decodes)

    @property
    def trials(self) -> list[Trial]:
        """Every trial, ensembles last: their members must be there."""
        return sorted((trial for row in self.rows for trial in row.trials), key=lambda trial: len(trial.folders) > 1)


def planned(settings: ComparisonSettings, where: Path, runs: Path = Path("runs")) -> Plan:
    """The plan of a comparison that stands in a file; refuses rows that cannot be compared."""
    folder = runs / settings.name
    if (folder / "resolved.toml").is_file():
        raise SettingError(f"{folder} is a run; give the comparison in {where} another name, as in name = 'which-one'")
    threads = settings.threads or cores()
    rows: dict[str, ComparisonRow] = {}
    for given in settings.rows:
        try:
            if given.recipe is not None:
                rows[given.title] = _trained(settings, given, where, folder, threads)
            elif given.run is not None:
                rows[given.title] = _opened(settings, given)
            elif given.predictions is not None:
                rows[given.title] = _predicted(settings, given)
        except SettingError as error:
            raise SettingError(f"row '{given.title}': {error}") from error
    rows |= {given.title: _ensemble(given, rows, settings) for given in settings.rows if given.ensemble is not None}
    ordered = tuple(rows[given.title] for given in settings.rows)
    task = ordered[0].recipe.family
    _refuse_unlike(ordered, where)
    if settings.decoding and not task_of(task).output.decodes:
        raise SettingError(f"[decoding] is set, but {task} searches for nothing; leave it out of {where}")
    plan = Plan(settings, folder, ordered, validated("decoding", settings.decoding, task), threads)
    _refuse_other_decoding(plan)
    return plan


def _trained(
    settings: ComparisonSettings, given: RowSettings, where: Path, folder: Path, threads: int
) -> ComparisonRow:
    trials = []
    for seed in settings.seeds:
        name = f"{slug(given.title)}-seed-{seed}"
        shared = {name: getattr(settings, name) for name in ("data", "input", "output", "training")}
        own = given.sections()
        plain: dict[str, Any] = {"base": given.recipe}
        for section in {**shared, **own}:
            plain[section] = {**shared.get(section, {}), **own.get(section, {})}
        plain["training"] |= {"seed": seed, "threads": threads}
        merged = with_base(plain, str(where))
        merged.pop("base"), merged.pop("name", None)
        recipe = recipe_from(with_weights(merged, folder / name / "resolved.toml"), name=name)
        if recipe.taught:
            raise SettingError("it has a teacher, whom no comparison asks; distil it first and give its folder as run")
        trials.append(Trial(name, seed, recipe, (folder / name,), True))
    return ComparisonRow(given.title, tuple(trials))


def _opened(settings: ComparisonSettings, given: RowSettings) -> ComparisonRow:
    run = Path(str(given.run)).expanduser()
    plain = beside_run(resolved_of(run), run)
    plain.pop("sha256", None)
    recipe = recipe_from({**plain, "data": changed_data(plain["data"], settings.data)}, name=run.name)
    return ComparisonRow(given.title, (Trial(slug(given.title), None, recipe, (run,), False),))


def _predicted(settings: ComparisonSettings, given: RowSettings) -> ComparisonRow:
    path = Path(str(given.predictions)).expanduser()
    plain = read_header(path)["recipe"]
    try:
        recipe = recipe_from({**plain, "data": changed_data(plain.get("data", {}), settings.data)})
    except SettingError as error:
        raise SettingError(f"{path} names settings that are not those of a recipe: {error}") from error
    return ComparisonRow(given.title, (Trial(slug(given.title), None, recipe, (), False, path),))


def _refuse_other_decoding(plan: Plan) -> None:
    """Predictions that were searched for in another way than those of the other rows."""
    now = plan.decoding.model_dump(mode="json", exclude_none=True)
    for row in plan.rows if plan.decodes else ():
        if (path := row.trials[0].predictions) is not None:
            before = read_header(path).get("decoding") or {}
            unlike = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
            if unlike:
                raise SettingError(
                    f"row '{row.name}': {path} was made with decoding.{unlike[0]} = {before.get(unlike[0])}, the other "
                    f"rows have {now.get(unlike[0])}; set it under [decoding], or make the predictions again"
                )


def _ensemble(given: RowSettings, rows: Mapping[str, ComparisonRow], settings: ComparisonSettings) -> ComparisonRow:
    """One trial for each seed: of each member that of the same seed, or the only one it has."""
    members = [rows[name] for name in given.ensemble or ()]
    recipe = members[0].recipe
    if not can_join(task_of(recipe.task).output):
        raise SettingError(f"row '{given.title}': models of {recipe.task} cannot predict together; leave it out")
    seeds = settings.seeds if any(trial.trained for member in members for trial in member.trials) else (None,)
    trials = []
    for seed in seeds:
        chosen = [next(t for t in member.trials if t.seed in {seed, None}) for member in members]
        name = slug(given.title) + ("" if seed is None else f"-seed-{seed}")
        folders = tuple(trial.folders[0] for trial in chosen)
        trials.append(Trial(name, seed, recipe, folders, False))
    return ComparisonRow(given.title, tuple(trials), tuple(given.ensemble or ()))


def _refuse_unlike(rows: tuple[ComparisonRow, ...], where: Path) -> None:
    """Rows of different tasks, of different data, or whose texts are scored differently."""
    first = rows[0]
    for row in rows[1:]:
        if row.recipe.task != first.recipe.task:
            raise SettingError(
                f"row '{first.name}' is for {first.recipe.task} and '{row.name}' for {row.recipe.task}; compare rows "
                f"of one task, in {where}"
            )
        ours = all(trial.trained for each in (first, row) for trial in each.trials)  # other runs: by the sha256
        one, other = ({"data": each.recipe.data.model_dump(mode="json")} for each in (first, row))
        names = sorted(flattened(one).keys() | flattened(other).keys()) if ours else []
        lowercase = {each.recipe.lowercase for each in (first, row)}
        unlike = [name for name in names if flattened(one).get(name) != flattened(other).get(name)]
        unlike += ["input.lowercase"] if len(lowercase) > 1 else []
        if unlike:
            section = unlike[0].partition(".")[0]
            raise SettingError(
                f"rows '{first.name}' and '{row.name}' differ in {unlike[0]}; to compare them, set it for all under "
                f"[{section}] in {where}"
            )


# ---------------------------------------------------------------------------------------------------- budgets


def with_budget(recipe: Recipe, budget: Budget | None, found: Mapping[str, Any]) -> Recipe:
    """The recipe trained for what the budget holds, from what was measured of it; its schedule ends there."""
    if budget is None or not found["descends"]:
        return recipe
    steps = steps_within(budget, found)
    training = recipe.training.model_copy(update={"steps": steps, "epochs": None})
    return recipe._replace(training=training)


def steps_within(budget: Budget, found: Mapping[str, Any]) -> int:
    """How many steps a budget holds."""
    if budget.minutes is not None:
        return max(1, int(60 * budget.minutes / float(found["seconds_per_step"])))
    assert budget.tokens is not None
    return max(1, round(budget.tokens / float(found["tokens_per_step"])))


def steps_left(recipe: Recipe, folder: Path, found: Mapping[str, Any]) -> int:
    """How many steps a trial still has to take."""
    steps = int(recipe.training.steps)
    if recipe.training.epochs is not None:
        steps = min(steps, int(found["steps_in_epochs"]))
    return max(0, steps - max([0, *steps_on_disk(folder)]))


def refuse_another_beginning(recipe: Recipe, folder: Path) -> None:
    """What was begun for another budget or with other settings cannot be resumed in this comparison."""
    if not steps_on_disk(folder):
        return
    try:
        refuse_old_layout(folder)
        before = resolved_of(folder)["training"]["steps"]
        changed = changed_settings(recipe, folder)
    except UserError as error:
        raise RunError(f"{error}; delete {folder} to train it from scratch") from error
    if before != recipe.training.steps:
        changed.append(f"training.steps was {before:,} and is {recipe.training.steps:,}: its schedule would not fit")
    if changed:
        raise RunError(
            f"{folder} was begun with other settings: {'; '.join(changed)}. Put them back, or delete it to train it "
            "from scratch"
        )
