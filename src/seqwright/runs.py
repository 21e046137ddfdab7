"""The hinge: recipe → wired parts → run folder, and run folder → a run that can be called.

Using a model needs the run folder and nothing else; training and evaluating also need the data.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch
from torch import nn

from seqwright.arguments import public
from seqwright.batches import Batches
from seqwright.busy_cores import Watched
from seqwright.calls import Files, asked, evaluation_of
from seqwright.data.cards import opened_data
from seqwright.data.examples import PartName
from seqwright.data.files import expanded
from seqwright.data.relative_paths import beside_run
from seqwright.decoding.ensemble import Average
from seqwright.devices import Precision, cores, drawn_from, keep_freed_memory, training_device
from seqwright.errors import RunError, SettingError, instead, run_instead
from seqwright.fingerprints import fingerprint_of, fingerprints_of, teacher_key
from seqwright.found_rates import with_found_rate
from seqwright.history import History
from seqwright.inputs.tokenizers import TokenizerSettings
from seqwright.kinds import TASKS, chosen, task_of
from seqwright.layers.undrawn import Undrawn
from seqwright.objectives.objective import Objective
from seqwright.outputs.text_search import Search
from seqwright.recipe import Recipe, recipe_from, validated
from seqwright.recipe_checks import refuse_unknown_metric
from seqwright.run_folders import (
    clear,
    is_of_training,
    locked,
    refuse_changes,
    refuse_old_layout,
    refuse_other_data,
    resolved_of,
    with_rate_of_run,
    write_beginning,
)
from seqwright.saved_weights import chosen_weights, damage_told, imported_again, refuse_larger_model
from seqwright.setting_classes import ModelSettings
from seqwright.tasks import Evaluation
from seqwright.tasks.distillation import Teacher, taught
from seqwright.tasks.ensembles import ensemble_of
from seqwright.training.checkpoint import read_mark, steps_on_disk
from seqwright.training.counting import count, write_only_step
from seqwright.training.distributed import World
from seqwright.training.journal import Journal
from seqwright.training.loop import fit
from seqwright.training.remarks import training_remarks
from seqwright.training.reporter import TOKENS, Counting, Quiet, Reporter
from seqwright.training.schedule import expected_steps, learning_rate
from seqwright.training.weights import load_tensors, transferred
from seqwright.whole_file import folder_whole, restored, write_whole

if TYPE_CHECKING:
    from seqwright.analysis.look import Look

Pooling = Literal["mean", "first", "thought"]
"""What the vector of a text is made of: `analysis.embedder` says how."""


class Run(NamedTuple):
    """A trained run, opened for use: `run("A film to fall asleep in.")` is a prediction of its task."""

    folder: Path
    recipe: Recipe
    inputs: Any
    model: nn.Module
    step: int
    engine: Any = None
    """What searches, and makes vectors, in place of the plain path, if anything does: see `seqwright.engines`."""

    def __repr__(self) -> str:
        metric, size = self.recipe.training.metric, f"{self.recipe.model.kind}, {parameters(self.model):,} parameters"
        score = next((row.get(metric) for row in self.history.valid if row["step"] == self.step), None)
        reached = "" if not isinstance(score, int | float) else f", {metric} {score:.4g} in validation"
        return f"Run({str(self.folder)!r}: {self.recipe.task}, {size}, step {self.step:,}{reached})"

    @public("run")
    def __call__(self, given: Any, *, steps: int | None = None, top: int | None = None, **decoding: Any) -> Any:
        """A prediction for what is given, or a list of them for a list: the task's first verb.

        A list, or an array of strings, is always several; one series or vector is an array or a tuple, one sentence
        that is cut into words a tuple of them; pairs and questions are mappings. `steps` is how far a forecast reaches,
        `top` how many labels, answers or tokens a prediction ranks; `decoding` are settings of that section, in place
        of the recipe's.
        """
        return asked(self, given, steps, top, self.search_with(decoding))

    @public("run.evaluate")
    def evaluate(self, part: PartName | None = None, *, data: Files | None = None, **decoding: Any) -> Evaluation:
        """The scores and predictions on a part of the run's data, the test part if there is one, or on other files."""
        return evaluation_of(self, part, data, self.search_with(decoding))

    @public("run.stream")
    def stream(self, given: Any, **decoding: Any) -> Iterator[str]:
        """What is written for one thing, piece by piece; where a language model continues a text, that text first."""
        pieces: Iterator[str] = self.inputs.stream(self.model, given, self.search_with(decoding))
        return pieces

    @public("run.embed")
    def embed(
        self, given: Any, *, pooling: Pooling | None = None, normalise: bool = False, precision: Precision = "float32"
    ) -> np.ndarray[Any, Any]:
        """`vector_ND`: what the last layer makes of each text, image, … of a list, as `seqwright embed` has it;
        `vector_D` of one.
        """
        from seqwright.analysis.embedder import vectors_of

        return vectors_of(self, given, pooling=pooling, normalise=normalise, precision=precision)  # type: ignore[no-any-return]

    @public("run.look")
    def look(self, given: Any = None, what: str | None = None, **decoding: Any) -> "Look":
        """What happens inside while the model reads or writes: `.data` as plain values, `.figure()` as a picture."""
        from seqwright.analysis import inside

        return inside(self, given, what, decoding)

    @property
    def input(self) -> Any:
        """What it reads, learnt from the training part."""
        return self.inputs.input

    @property
    def output(self) -> Any:
        """What it says, learnt from the training part."""
        return self.inputs.output

    @property
    def history(self) -> History:
        """What training wrote down, step by step: losses, and scores of validations."""
        return History(Journal(self.folder / "journal.jsonl").lines())

    def decoding_with(self, given: Mapping[str, Any]) -> Any:
        """The recipe's settings of decoding, with some in their place."""
        own = self.recipe.decoding
        if given and not self.output.writes:
            raise SettingError(
                f"{self.folder} learnt {self.recipe.task} and writes no text; leave {next(iter(given))} out"
            )
        for name in given:
            if name not in type(own).model_fields:
                raise SettingError(f"there is no setting '{name}' of decoding{instead(name, type(own).model_fields)}")
        called = {name: name for name in given}  # arguments of Python
        return validated("decoding", {**own.model_dump(mode="json"), **given}, self.recipe.task, called)

    def search_with(self, given: Mapping[str, Any]) -> Any:
        """The same, for the engine of the run where it has one."""
        settings = self.decoding_with(given)
        if self.engine is not None and not self.engine.optional and not self.output.writes:
            raise SettingError(
                f"an engine writes texts and embeds them, and {self.folder} learnt {self.recipe.task}: load it without"
            )
        return settings if self.engine is None else Search(settings, engine=self.engine)


def data_of(recipe: Recipe) -> Any:
    """The data a recipe names."""
    return opened_data(recipe.data, TASKS[recipe.task].examples[0])


def model_of(recipe: Recipe, sizes: Mapping[str, Any]) -> nn.Module:
    """A new model, its weights drawn from the recipe's seed."""
    kind = chosen("model", recipe.model.kind, recipe.task)
    with drawn_from(recipe.training.seed):
        return kind.load(kind.thing)(recipe.model, **sizes)  # type: ignore[no-any-return]


def weights_of(recipe: Recipe) -> str | None:
    """The run whose weights a recipe begins from."""
    return recipe.model.weights if isinstance(recipe.model, ModelSettings) else None


def source_of(recipe: Recipe) -> Run | None:
    """The run that a recipe takes its weights or its tokenizer from."""
    likes = (each.like for each in (recipe.input, recipe.output) if isinstance(each, TokenizerSettings))
    where = weights_of(recipe) or next(likes, None)
    return None if where is None else open_run(expanded(where))


def objective_of(recipe: Recipe, sizes: Mapping[str, Any] | None = None) -> Objective:
    """The objective a recipe names; what it learns itself is drawn from the recipe's seed."""
    kind = chosen("objective", recipe.objective.kind, recipe.task)
    with drawn_from(recipe.training.seed):
        return kind.load(kind.thing)(recipe.objective, **(sizes or {}))  # type: ignore[no-any-return]


def teachers_of(recipe: Recipe, folder: Path) -> list[Teacher]:
    """The runs that a recipe is to be distilled from; a student that was begun may outlive them."""
    if not recipe.taught:
        return []
    settings = recipe.objective.model_dump()
    known = resolved_of(folder).get("sha256", {}) if steps_on_disk(folder) else {}
    teachers = []
    for number, where in enumerate([settings["teacher"], *settings.get("more_teachers", ())], start=1):
        path, before = expanded(where), known.get(teacher_key(number))
        if before is not None and not path.is_dir():
            teachers.append(Teacher(where, before, None))
        else:
            run = open_run(path)
            teachers.append(Teacher(where, fingerprint_of(run), run))
    return teachers


def rate_of(recipe: Recipe, batches: Batches[Any]) -> Callable[[int], float]:
    """The learning rate of each step."""
    steps = expected_steps(recipe.training, batches)
    return learning_rate(recipe.training, steps=steps, width=recipe.model.model_dump().get("width"))


def parameters(model: nn.Module) -> int:
    """How many numbers the model learns; tied ones count once."""
    return sum(parameter.numel() for parameter in model.parameters())


def set_up_cpu(recipe: Recipe) -> None:
    """Use as many threads as the recipe says, and the memory again that was used before."""
    keep_freed_memory()
    if recipe.training.threads is not None:
        torch.set_num_threads(recipe.training.threads)


# ---------------------------------------------------------------------------------------------------- training


def train(
    recipe: Recipe,
    folder: str | Path,
    *,
    text: str = "",
    reporter: Reporter | None = None,
    fresh: bool = False,
    data: Any = None,
) -> Run:
    """Train a recipe into a run folder, resuming where an earlier training stopped. `text` is the recipe as written.

    It computes with as many threads as the recipe says; afterwards the process has as many as before. `data` takes the
    place of what the recipe names: examples in memory.
    """
    threads = torch.get_num_threads()
    set_up_cpu(recipe)
    try:
        return _train(recipe, Path(folder), text, reporter or Quiet(), data or data_of(recipe), fresh=fresh)
    finally:
        torch.set_num_threads(threads)


def _train(recipe: Recipe, folder: Path, text: str, reporter: Reporter, data: Any, *, fresh: bool) -> Run:
    task, device, watched = task_of(recipe.task), training_device(recipe.training.device), Watched.now()
    world = World.from_environment(device)
    with locked(folder) if world.first else nullcontext():  # under torchrun only one process writes
        if fresh and world.first:
            clear(folder)
        world.broadcast_flag(True)  # the others wait until the folder is as it shall be
        refuse_changes(recipe, folder)
        recipe = with_rate_of_run(recipe, folder)
        known = bool(steps_on_disk(folder))
        teachers = teachers_of(recipe, folder)
        sha256 = fingerprints_of(recipe, data, teachers)
        refuse_other_data(folder, sha256)
        source = None if known else source_of(recipe)
        like = None if source is None else source.inputs
        inputs = task.loaded_inputs(folder) if known else task.learnt_inputs(recipe, data, like)
        reporter = reporter if inputs.input.unit == TOKENS else Counting(reporter, inputs.input.unit)
        prepared, sizes = taught(task.prepared(recipe, data, inputs), recipe, data, inputs, teachers)
        refuse_unknown_metric(recipe.training.metric, prepared.scores)
        for note in prepared.notes:
            reporter.say(note)
        model = model_of(recipe, inputs.sizes()).to(device)
        if source is not None and weights_of(recipe) is not None:
            for note in transferred(source.model, model, str(source.folder), recipe.model.init_layers):
                reporter.say(note)
            sha256["weights"] = fingerprint_of(source)
        reporter.say(f"{recipe.model.kind}: {parameters(model):,} parameters, {_sizes(inputs.sizes())}")
        objective = objective_of(recipe, sizes).to(device) if recipe.descends else None
        if objective is not None:
            recipe = with_found_rate(recipe, model, objective, prepared.train, folder, reporter)
        if world.first:
            write_beginning(recipe, folder, text, inputs, sha256)
        metadata = inputs.metadata()
        if objective is not None:
            remarks = training_remarks(recipe.training, expected_steps(recipe.training, prepared.train))
            for remark in [*remarks, *watched.remarks(torch.get_num_threads(), cores(), device.type)]:
                reporter.say(f"! {remark}")
            used = fit(
                model,
                objective,
                prepared.train,
                settings=recipe.training,
                rate=rate_of(recipe, prepared.train),
                run=folder,
                evaluate=prepared.evaluate,
                lower_is_better=prepared.lower_is_better,
                reporter=reporter,
                metadata=metadata,
            )
        else:
            run = folder if world.first else None  # the others count for themselves
            used = count(
                model, prepared.train, run=run, evaluate=prepared.evaluate, reporter=reporter, metadata=metadata
            )
        if world.first and task.output.calibrates:
            best = open_run(folder)
            task.calibrate(recipe, data, best.inputs, best.model, step=best.step, folder=folder)
            inputs = task.loaded_inputs(folder)
        step = read_mark(folder, "last") or 0
        return Run(folder, recipe, inputs.at_step(step), used.eval(), step)


def _sizes(sizes: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {size:,}" for name, size in sizes.items() if not isinstance(size, bool))


# ---------------------------------------------------------------------------------------------------- using it


def write_run(
    recipe: Recipe, folder: Path, inputs: Any, model: nn.Module, card: Callable[[Run], str] = lambda run: ""
) -> Run:
    """A run of a model that was learnt elsewhere, in place of one that may be in the folder. `card` says what it is."""
    run = Run(folder, recipe, inputs, model.eval(), 1)
    with locked(folder) if folder.exists() else nullcontext(), folder_whole(folder, is_of_training) as aside:
        write_beginning(recipe, aside, "", inputs, {})
        write_only_step(model, aside, metadata=inputs.metadata())
        if text := card(run):
            write_whole(aside / "card.md", text)
    return run


def open_run(folder: str | Path, *, which: str = "best", notice: Callable[[str], None] = warnings.warn) -> Run:
    """Open a run for use: its best checkpoint, else the last. Nothing of the process changes: not its threads,
    nor what torch draws next.

    If that one is damaged, the newest whole one serves, and `notice` is told.
    """
    folder = restored(Path(folder))
    if not folder.is_dir():
        wrong = f"{folder} is a recipe, not a run" if folder.suffix == ".toml" else f"there is no run {folder}"
        raise RunError(wrong + run_instead(folder))
    if which not in {"best", "last"}:
        raise RunError(f"there is no checkpoint '{which}'; choose best or last")
    plain = {name: value for name, value in resolved_of(folder).items() if name != "sha256"}
    refuse_old_layout(folder)
    recipe = recipe_from(beside_run(plain, folder), name=folder.name)
    inputs = task_of(recipe.task).loaded_inputs(folder)
    step, files = chosen_weights(folder, which, imported_again(recipe, folder, inputs), notice)
    tensors = files.get("averages") or files["model"]
    with damage_told(folder):
        refuse_larger_model(recipe.model, lambda: model_of(recipe, inputs.sizes()), tensors)
        with Undrawn():
            model = model_of(recipe, inputs.sizes())
    load_tensors(model, tensors)
    try:
        device = training_device(recipe.training.device)
    except SettingError:  # trained elsewhere
        device = torch.device("cpu")
    return Run(folder, recipe, inputs.at_step(step), model.to(device).eval(), step)


def load(
    where: str | Path | Sequence[str | Path],
    *,
    average: Average = "probabilities",
    engine: Literal["plain", "ctranslate2", "auto"] = "plain",
) -> Run:
    """A run folder, opened for use: `load("runs/sst2")("A film to fall asleep in.").label`.

    A folder that `transformers` wrote is converted once into the cache, by its content. Several are an ensemble; where
    they write text, `average` says which mean of theirs decides at each token. With `engine="ctranslate2"` that program
    searches, and makes the vectors of `embed`; with "auto" wherever it can do what is asked.
    """
    from seqwright.conversion import cached_run, is_hugging_face
    from seqwright.engines import with_engine

    if not isinstance(where, str | Path):
        run = joined_run([load(each) for each in where], average)
    else:
        folder = restored(Path(where))
        run = open_run(cached_run(folder, warnings.warn) if is_hugging_face(folder) else folder)
    return with_engine(run, engine)


def joined_run(runs: Sequence[Run], average: Average = "probabilities") -> Run:
    """Several runs as one; its folder, recipe and history are the first one's."""
    if not runs:
        raise RunError("an ensemble was given no run; name at least one")
    inputs, model = ensemble_of(runs, average)
    return runs[0]._replace(inputs=inputs, model=model)
