"""What may be asked of a run beyond the first verb of its task: more steps, so many candidates, an evaluation."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from seqwright.data.cards import opened_data, other_files
from seqwright.data.examples import PartName
from seqwright.errors import DataError, MissingFileError, SettingError, UserError, brief
from seqwright.inputs import Given
from seqwright.kinds import TASKS, task_of
from seqwright.recipe import Recipe, validated
from seqwright.run_folders import resolved_of
from seqwright.tasks import Evaluation, Overlap
from seqwright.tasks.parts import Part
from seqwright.tasks.wired import Wires

if TYPE_CHECKING:
    from seqwright.runs import Run

Files: TypeAlias = str | Path | Sequence[str | Path]


def asked(run: "Run", given: Any, steps: int | None, top: int | None, decoding: Any) -> Any:
    """A prediction for what is given; a list of them for a list, an array of strings or a column of pandas."""
    plain = _listed(given)
    several = isinstance(plain, list)
    things = plain if several else [plain]
    if not several:
        _refuse_blank(run, plain)
    if steps is not None and top is not None:
        raise SettingError("steps is how far a forecast reaches and top ranks candidates; give one of them")
    try:
        if steps is not None:
            found = forecasts(run, things, steps)
        elif top is not None:
            found = best_of(run, things, top)
        else:
            found = run.inputs.predict(run.model, things, decoding, method=task_of(run.recipe.task).method)
    except DataError as error:
        if several and all(isinstance(each, Real) for each in things):
            raise DataError(f"{error}; a list is several, one is an array or a tuple") from error
        raise
    return found if several else found[0]


def listed_texts(given: Any) -> list[str]:
    """One text, or several, as a list."""
    plain = [given] if isinstance(given, str) else _listed(given)
    if not isinstance(plain, list | tuple) or not plain or not all(isinstance(each, str) for each in plain):
        raise DataError(f"{brief(given)} is no text; give one, or a list of them")
    return list(plain)


def _listed(given: Any) -> Any:
    """A list for an array of strings or a column of pandas, otherwise what is given."""
    plain = given.to_numpy() if hasattr(given, "to_numpy") else given
    return plain.tolist() if isinstance(plain, np.ndarray) and plain.dtype.kind in "UTO" else plain


def _refuse_blank(run: "Run", given: Any) -> None:
    """Among others a blank example gets an empty prediction; asked for alone, it is a mistake."""
    if run.input.blank_remarks(Given([run.input.parse(given)])):
        raise DataError(f"{brief(given)} is blank: there is nothing to read")


def forecasts(run: "Run", series: Sequence[Any], steps: int) -> list[Any]:
    """`value_NC` for so many steps after each series; beyond its horizon a model continues its own forecasts."""
    _refuse_none("steps", steps)

    def once(past_BTC: Any) -> Any:
        return np.stack(run.inputs.predict(run.model, list(past_BTC)))

    found: list[Any] = run.output.continued(once, [run.input.parse(each) for each in series], steps)
    return found


def best_of(run: "Run", things: Sequence[Any], top: int) -> list[Any]:
    """Predictions with the `top` best labels, answers or tokens."""
    _refuse_none("top", top)
    wires = replace(run.inputs, output=run.output.ranking(top))
    found: list[Any] = wires.predict(run.model, list(things), method=task_of(run.recipe.task).method)
    return found


def evaluation_of(run: "Run", part: PartName | None, files: Files | None, decoding: Any) -> Evaluation:
    """How good a run is on a part of its data, or on other files."""
    paths = [files] if isinstance(files, str | Path) else files or []
    if files is not None and not paths:
        raise SettingError("data names no file; name at least one, or leave it out for the run's own data")
    found = chosen_data(run, [Path(each) for each in paths], part).evaluated(run, decoding)
    if found.overlap is not None and found.overlap.in_training:
        warnings.warn(found.overlap.sentence, stacklevel=4)  # where `run.evaluate` is called
    return found


class ChosenData(NamedTuple):
    """The recipe whose data it is, the data, and the part of it that is asked for."""

    recipe: Recipe
    data: Any
    part: PartName

    def evaluated(self, run: "Run", decoding: Any) -> Evaluation:
        """How good a run is on it; of other data also how much of it was trained on, which is the last note."""
        recipe, data, part = self
        found: Evaluation = task_of(recipe.task).evaluated(recipe, data, run.inputs, run.model, part, decoding)
        overlap = data.overlap(run.inputs, part) if isinstance(data, BesideTraining) else None
        return found if overlap is None else replace(found, overlap=overlap, notes=[*found.notes, overlap.sentence])


def chosen_data(run: "Run", files: Sequence[Path], part: str | None, usual: PartName | None = None) -> ChosenData:
    """A part of the run's own data, what was kept for tests if nothing else is usual; or files, read as its own are."""
    if files and part is not None:
        raise SettingError("--part chooses from the run's own data and --data names other files; give one of them")
    if len(files) > 2:
        raise SettingError(f"--data was given {len(files)} times; give one file, or two line-aligned ones")
    recipe, kind = run.recipe, TASKS[run.recipe.task].examples[0]
    if files:
        settings = other_files(files, recipe.data, kind)
        recipe = recipe._replace(data=validated("data", settings, recipe.task))
    data = opened_data(recipe.data, kind) if files else own_data(run)
    if files and (own := _own_training(run)) is not None:
        data = BesideTraining(data, own)
    there = data.parts()
    asked = part or (None if files else usual) or ("test" if "test" in there else "valid")
    if asked not in {"train", "valid", "test"}:
        raise SettingError(f"--part is '{asked}'; choose one of {', '.join(there)}")
    return ChosenData(recipe, data, cast(PartName, asked))


def own_data(run: "Run") -> Any:
    """The data that a run was trained on; where it is not here, a sentence on how to name it."""
    try:
        return opened_data(run.recipe.data, TASKS[run.recipe.task].examples[0])
    except MissingFileError as error:
        told = f"{run.folder} was trained on it: put it there, or give it or another file with --data"
        raise MissingFileError(f"{error} {told}") from error


def _own_training(run: "Run") -> Any:
    """The data that a run was trained on, where it is still here and still the same."""
    try:
        data = own_data(run)
        return data if data.fingerprint("train") == resolved_of(run.folder).get("sha256", {}).get("train") else None
    except (UserError, OSError):
        return None


@dataclass(frozen=True, eq=False)
class BesideTraining:
    """Other data, and the training part that the run itself learnt from, so that baselines can learn from it too."""

    other: Any
    own: Any

    def parts(self) -> list[PartName]:
        """Those of the other data."""
        return list(self.other.parts())

    def examples(self, part: PartName) -> Iterator[Any]:
        """The run's own where they are trained on."""
        return iter((self.own if part == "train" else self.other).examples(part))

    def fingerprint(self, part: PartName) -> str:
        """Of the same."""
        return str((self.own if part == "train" else self.other).fingerprint(part))

    def overlap(self, wires: Wires, part: PartName) -> Overlap | None:
        """How many examples of a part have an input that was trained on, if the files are still there.

        Only hashes are kept.
        """
        asked = Part(self, part)
        try:
            learnt = {wires.input.digest(example) for example in self.examples("train")}
            read = wires.input.read_examples(wires.input.encode(asked))
        except (UserError, OSError):  # it was there when the data was chosen
            return None
        digests = [wires.input.digest(example) for number, example in enumerate(asked) if number in read]
        return Overlap(len(digests), sum(digest in learnt for digest in digests))


def _refuse_none(name: str, count: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise SettingError(f"{name} is {count!r}; ask for one or more")
