"""Doing what a comparison has planned, one process after another, and leaving out what was done before."""

import hashlib
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from seqwright.comparison.pace import Pace
from seqwright.comparison.plan import ComparisonRow, Plan, Trial, refuse_another_beginning, steps_left, with_budget
from seqwright.comparison.records import Found, Records
from seqwright.errors import UserError
from seqwright.recipe import Recipe
from seqwright.training.checkpoint import read_mark, step_folder, steps_on_disk
from seqwright.training.interruption import Interruption

Say = Callable[[str], None]
IMMATERIAL = frozenset({"name", "description", "training.keep", "training.patience"})  # settings that cost nothing


class Stopped(Exception):  # noqa: N818 - it is not an error: the user asked for it
    """The comparison was asked to stop; what was under way has been saved."""


class TrialProgress(NamedTuple):
    """What there is of a trial: the recipe it is trained by, what was found, and how long it will still take."""

    trial: Trial
    row: ComparisonRow
    recipe: Recipe
    measured: Found
    steps: int  # that are left
    seconds: float

    @property
    def title(self) -> str:
        """`bahdanau`, or of several seeds `bahdanau, seed 2`."""
        return self.row.name if len(self.row.trials) == 1 else f"{self.row.name}, seed {self.trial.seed}"


class Outcome(NamedTuple):
    """What is known of every trial, by its name, and why a row has failed."""

    measured: dict[str, Found]  # by row
    trained: dict[str, Found]
    evaluated: dict[str, Found]
    failures: dict[str, str]  # by row


class Stages:
    """The stages of a comparison: measured, trained, evaluated."""

    def __init__(self, plan: Plan, say: Say) -> None:
        self.plan, self.say = plan, say
        self.records = Records(plan.folder / "records")
        self.outcome = Outcome({}, {}, {}, {})

    def prospects(self) -> list[TrialProgress]:
        """Measure every row, and say of every trial what is left to do."""
        for number, row in enumerate(self.plan.rows, start=1):
            if row.trials[0].predictions is not None:
                self.outcome.measured[row.name] = {"descends": False}
            elif not row.members:
                self._measure(row, f"[{number}/{len(self.plan.rows)}] {row.name}")
        return [self._progress(trial) for trial in self.plan.trials if self._row(trial).name not in self._failures]

    def go(self) -> Outcome:
        """Train what is missing and evaluate what is not evaluated."""
        waiting = self.prospects()
        for number, progress in enumerate(waiting, start=1):
            if progress.row.name in self._failures:
                continue
            left = sum(other.seconds for other in waiting[number - 1 :])
            self._attempt(progress, f"[{number}/{len(waiting)}] {progress.title}", left)
        self._refuse_other_data()
        return self.outcome

    @property
    def _failures(self) -> dict[str, str]:
        return self.outcome.failures

    def _row(self, trial: Trial) -> ComparisonRow:
        return next(row for row in self.plan.rows if trial in row.trials)

    # ------------------------------------------------------------------------------------------------ measured

    def _measure(self, row: ComparisonRow, title: str) -> None:
        trial = row.trials[0]
        resolved = trial.recipe.resolved()
        made_by = {**resolved, "timed": trial.trained}
        found = self.records.found(trial.name, "measured", made_by, IMMATERIAL)
        if found is None:
            self.say(f"{title}: measuring")
            try:
                found = done({"stage": "measured", "recipe": resolved, "timed": trial.trained})
            except UserError as error:
                if trial.trained:
                    self._failures[row.name] = str(error)
                    self.say(f"{title}: {error}")
                    return
                found = {"descends": False}  # a run whose data is gone can still be evaluated on other data
            else:
                self.records.keep(trial.name, "measured", made_by, found)
        self.outcome.measured[row.name] = found

    def _progress(self, trial: Trial) -> TrialProgress:
        row = self._row(trial)
        measured = self.outcome.measured.get(row.name, {})
        if not trial.trained:
            return TrialProgress(trial, row, trial.recipe, measured, 0, 0.0)
        recipe = with_budget(trial.recipe, self.plan.settings.budget, measured)
        if not measured["descends"]:
            return TrialProgress(trial, row, recipe, measured, 0 if steps_on_disk(trial.folders[0]) else 1, 0.0)
        left = 0 if self._trained(trial, recipe) else steps_left(recipe, trial.folders[0], measured)
        pace = Pace.found(measured)
        seconds = pace.training(left, recipe.training) + pace.evaluating(self.plan.decoding.beam)
        return TrialProgress(trial, row, recipe, measured, left, seconds if left else 0.0)

    # --------------------------------------------------------------------------------------------- trained, evaluated

    def _trained(self, trial: Trial, recipe: Recipe) -> Found | None:
        """What training found, if it is over and the run is still there."""
        if not steps_on_disk(trial.folders[0]):
            return None
        alike = IMMATERIAL | {"training.threads"}
        return self.records.found(trial.name, "trained", recipe.resolved(), alike)

    def _attempt(self, progress: TrialProgress, title: str, left: float) -> None:
        """Train and evaluate a trial; what the user can cause stops this row and no other."""
        trial, recipe = progress.trial, progress.recipe
        try:
            for member in progress.row.members:
                if member in self._failures:
                    raise UserError(f"its member '{member}' has failed")
            if trial.trained:
                refuse_another_beginning(recipe, trial.folders[0])
                found = self._trained(trial, recipe)
                if found is None:
                    self.say(f"{title}: training, {_work(progress)}; {spoken(left)} left in all")
                    job = {"recipe": recipe.resolved(), "folder": str(trial.folders[0])}
                    found = self.records.measured_before(trial.name) | done({"stage": "trained", **job})
                    self.records.keep(trial.name, "trained", recipe.resolved(), found)
                self.outcome.trained[trial.name] = found
            self.outcome.evaluated[trial.name] = self._evaluate(trial, title)
        except UserError as error:
            self._failures[progress.row.name] = str(error)
            self.say(f"{title}: {error}")

    def _evaluate(self, trial: Trial, title: str) -> Found:
        plan = self.plan
        asked: dict[str, Any] = {
            "task": plan.task,
            "data": trial.recipe.data.model_dump(mode="json", exclude_none=True),
            "part": plan.settings.part,
            "decoding": plan.decoding.model_dump(mode="json", exclude_none=True),
            "threads": plan.threads,
        }
        made_by = {**asked, "of": _origin(trial)}
        answers = self.records.answers(trial.name)
        found = self.records.found(trial.name, "evaluated", made_by)
        if found is None:
            self.records.folder.mkdir(parents=True, exist_ok=True)
            job = {**asked, "answers": str(answers)}
            if trial.predictions is None:
                self.say(f"{title}: evaluating")
                found = done({"stage": "evaluated", **job, "folders": [str(folder) for folder in trial.folders]})
            else:
                self.say(f"{title}: scoring its predictions again")
                found = done({"stage": "scored", **job, "predictions": str(trial.predictions)})
            found["answers"] = self.records.sum_of_answers(trial.name)
            self.records.keep(trial.name, "evaluated", made_by, found)
        return found

    def _refuse_other_data(self) -> None:
        """Rows that were evaluated on other examples than the first are not in the same table."""
        evaluated = self.outcome.evaluated
        first = [(row, row.trials[0].name) for row in self.plan.rows]
        known = [(row, evaluated[name]["sha256"]) for row, name in first if name in evaluated]
        for row, sha256 in known:
            if sha256 != known[0][1]:
                self._failures[row.name] = (
                    f"it was evaluated on other data than '{known[0][0].name}'; name the data of all under [data]"
                )


def _work(progress: TrialProgress) -> str:
    if not progress.measured["descends"]:
        return "by counting"
    return f"{progress.steps:,} steps, {spoken(progress.seconds)}"


def _origin(trial: Trial) -> list[Any]:
    """What a trial is made of, by content."""
    if trial.predictions is not None:
        return [hashlib.sha256(trial.predictions.read_bytes()).hexdigest()]
    return [_identity(folder) for folder in trial.folders]


def _identity(folder: Path) -> list[str]:
    """A run folder and its best checkpoint, by what is in it."""
    step = read_mark(folder, "best") or read_mark(folder, "last") or 0
    state = step_folder(folder, step) / "state.json"
    content = state.read_bytes() if state.is_file() else b""
    return [str(folder), hashlib.sha256(content).hexdigest()]


def spoken(seconds: float) -> str:
    """A time as one would say it."""
    if seconds < 60:
        return f"about {max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 60 else f"about {minutes // 60} h {minutes % 60} min"


# ---------------------------------------------------------------------------------------------------- processes


def done(job: dict[str, Any]) -> Found:
    """What a job finds that is done in a process of its own; raises what the user can cause, and `Stopped`."""
    with tempfile.TemporaryDirectory() as aside:
        path = Path(aside) / "found.json"
        command = [sys.executable, "-m", "seqwright.comparison.work"]
        # A session of its own: Ctrl-C in a terminal reaches this process alone, which passes it on.
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
        )
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin as job_file:  # it may end before it could read
            job_file.write(json.dumps({**job, "found": str(path)}) + "\n")
            job_file.flush()
            if _asked_to_stop_before_end(process):
                raise Stopped
        process.wait()
        if not path.is_file():
            raise UserError(f"its process ended {_ending(process.returncode)}")
        found: Found = json.loads(path.read_text(encoding="utf-8"))
    if "error" in found:
        raise UserError(found["error"])
    return found


def _asked_to_stop_before_end(process: subprocess.Popen[str]) -> bool:
    """Wait for a process; asked to stop, let it save, and asked twice, end it at once."""
    told = False
    try:
        with Interruption() as interruption:
            while process.poll() is None:
                try:
                    process.wait(0.2)
                except subprocess.TimeoutExpired:
                    if interruption.asked and not told:
                        process.terminate()
                        told = True
    except KeyboardInterrupt:
        process.kill()
        process.wait()
        return True
    return interruption.asked


def _ending(code: int) -> str:
    if code == -signal.SIGKILL:
        return "by signal 9, as the system does where memory runs out; make its batches smaller (training.tokens)"
    return f"by signal {-code}" if code < 0 else f"with code {code}; what it said stands above"
