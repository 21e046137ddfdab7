"""`fit`: descend a loss, batch by batch, into a run folder.

Everything that decides the next update stands in the checkpoint, and before each micro-batch torch is seeded from
(seed, step, micro-batch): a run that was killed and resumed ends in the same bytes as one that was not.
"""

import hashlib
import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from seqwright.batches import Batches, Place
from seqwright.batches.ahead import Ahead
from seqwright.devices import compile_in_place, computes_bfloat16, cores, device_of, seed_device
from seqwright.errors import DivergedError, RunError, SettingError, nearest
from seqwright.objectives.objective import Objective
from seqwright.training.averages import Average, LastCheckpoints, Moving
from seqwright.training.best import best_validation
from seqwright.training.carries import enumerate_tensors, refilled
from seqwright.training.checkpoint import (
    Checkpoint,
    drop_after,
    newest_whole,
    prune,
    read_checkpoint,
    steps_on_disk,
    write_checkpoint,
    write_mark,
)
from seqwright.training.distributed import Learner, World, without_adding
from seqwright.training.interruption import Interrupted, Interruption
from seqwright.training.journal import Journal
from seqwright.training.optimizer import layer_scales, optimizer_for, optimizer_tensors, restore_optimizer, total_norm
from seqwright.training.reporter import Quiet, Reporter
from seqwright.training.schedule import expected_steps, learning_rate
from seqwright.training.settings import TrainingSettings
from seqwright.training.weights import load_tensors, unique_tensors

LOSSES = frozenset({"loss", "perplexity"})
TICK = time.get_clock_info("monotonic").resolution  # what takes no measurable time takes less
Evaluate = Callable[[nn.Module], dict[str, float]]


def fit(
    model: nn.Module,
    objective: Objective,
    batches: Batches[Any],
    *,
    settings: TrainingSettings,
    rate: Callable[[int], float] | None = None,
    run: str | Path | None = None,
    evaluate: Evaluate | None = None,
    lower_is_better: Collection[str] = LOSSES,
    reporter: Reporter | None = None,
    metadata: Mapping[str, str] | None = None,
) -> nn.Module:
    """Train `model` in place and return the model to use: itself, or the average the settings ask for.

    With a `run` folder it saves checkpoints there and resumes from the newest whole one. `rate` gives the
    learning rate of each step, by default the settings' schedule; `evaluate` is called on the model to use at
    every validation, and of what it gives the scores in `lower_is_better` fall as the model gets better.
    """
    rate = rate or learning_rate(settings, steps=expected_steps(settings, batches))
    validation = Validation(evaluate, settings.metric in lower_is_better)
    folder = None if run is None else Path(run)
    told = reporter or Quiet()
    return Fitting(model, objective, batches, settings, rate, folder, validation, told, metadata or {}).go()


class Validation(NamedTuple):
    """How a model is validated, and whether a lower score is the better one."""

    evaluate: Evaluate | None
    lower: bool


class Fitting:
    """A training under way."""

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        batches: Batches[Any],
        settings: TrainingSettings,
        rate: Callable[[int], float],
        run: Path | None,
        validation: Validation,
        reporter: Reporter,
        metadata: Mapping[str, str],
    ) -> None:
        self.model, self.objective, self.batches, self.ahead = model, objective, batches, Ahead(batches)
        self.settings, self.rate, self.run, self.validation = settings, rate, run, validation
        self.reporter, self.metadata = reporter, metadata
        self.device = device_of(model)
        self.world = World.from_environment(self.device)
        if settings.accumulate % self.world.size:
            raise SettingError(
                f"training.accumulate is {settings.accumulate}, which {self.world.size} processes cannot share evenly; "
                f"set it to a multiple of {self.world.size}"
            )
        if self.world.size > 1 and self._start(batches.after(Place())) is not None:
            raise SettingError(
                "each batch continues the one before, which several processes cannot share; train in one, or keep "
                "the documents apart with input.rows=documents"
            )
        learner = Learner(model, objective)
        self.parameters = {name: p for name, p in learner.named_parameters() if p.requires_grad}
        self.optimizer = optimizer_for(self.parameters, settings, self._scales())
        self.average = self._average()
        if settings.compile:
            compile_in_place(learner, self.device)
        self.learner = self.world.joined(learner)
        self.step, self.steps, self.place = 0, expected_steps(settings, batches), Place()
        self.carry: Any = None
        self.sums: dict[str, float] = {}  # over the steps since the last journal line
        self.best: dict[str, float] = {}  # {"score": …, "loss": …, "step": …, "waited": …} once validated
        self.seconds = 0.0

    @property
    def chosen(self) -> nn.Module:
        """The model to validate and use."""
        return self.model if self.average is None else self.average.model

    def go(self) -> nn.Module:
        """Train until the steps, the epochs or the patience end."""
        self._resume()
        if self.settings.precision == "bfloat16" and not computes_bfloat16(self.device):
            self.reporter.say(f"this {self.device.type} has no instructions for bfloat16: computing in float32")
        self.reporter.begin(self.step, self.steps)
        try:
            with Interruption() as interruption:
                while not self._over():
                    self.update()
                    if self.step % self.settings.log_every == 0 or self._over():
                        self._log()
                    due = self.step % self.settings.validate_every == 0 or self._over()
                    if due:
                        self._validate()
                    if self.sums and self._over():  # patience ended it
                        self._log()
                    asked = self.world.broadcast_flag(interruption.asked)
                    if due or asked or self.step % self.settings.save_every == 0:
                        self._save()
                    if asked and not self._over():
                        raise Interrupted(self.step)
        finally:
            self.ahead.close()
            self.reporter.end()
            self.world.leave()
        return self.chosen

    def _over(self) -> bool:
        settings = self.settings
        tired = settings.patience is not None and self.best.get("waited", 0) >= settings.patience
        return self.step >= settings.steps or self._read_all() or tired

    def _read_all(self) -> bool:
        """Whether the epochs of the settings are over."""
        return self.settings.epochs is not None and self.place.epoch >= self.settings.epochs

    def update(self) -> float:
        """One step: gradients of all micro-batches, one update; the loss that was descended."""
        began = time.monotonic()
        mine = self._next_batches()
        counted = [self.objective.counts(batch) for _, batch in mine]
        here = {name: sum(c[name] for c in counted) for name in counted[0]}
        totals = self.world.summing({**here, "tokens": sum(batch.tokens for _, batch in mine)})
        sums, weights = self._gradients(mine, totals)
        counts = totals()
        norm = self._clipped_norm()
        self.step += 1
        self._check_finite(sums, norm)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(self.step) * group["scale"]
        self.objective.before_step(self.model)
        self.optimizer.step()
        self.objective.after_step(self.model, self.step, self.steps)
        if self.average is not None:
            self.average.follow(self.model, self.step)
        self._remember(sums, counts, norm)
        took = time.monotonic() - began
        self.seconds += took
        first = next(iter(here))
        self.reporter.step(self.step, sums[first] / max(counts[first], 1), counts["tokens"] / max(took, TICK))
        return sum(weight * sums[name] / max(counts[name], 1) for name, weight in weights.items())

    def _next_batches(self) -> list[tuple[int, Any]]:
        """This process's share of the step's micro-batches, each with its number; those of the next step are begun."""
        mine, self.place = self._share(self.place)
        made = {i: self.ahead.at(place).to(self.device) for i, place in mine.items()}
        if self._spare_core and self.step + 1 < self.settings.steps and not self._read_all():
            self.ahead.expect(self._share(self.place)[0].values())
        return [(i, self.objective.prepare(self.model, batch)) for i, batch in made.items()]

    @property
    def _spare_core(self) -> bool:
        """Whether a thread can make batches without taking a core from the model, whose own threads wait spinning."""
        return self.device.type != "cpu" or torch.get_num_threads() < cores()

    def _share(self, place: Place) -> tuple[dict[int, Place], Place]:
        """The places of this process's micro-batches of a step that begins at a place, and where the next begins."""
        mine = {}
        for number in range(self.settings.accumulate):
            if self.world.mine(number):
                mine[number] = place
            place = self.ahead.after(place)
        return mine, place

    def _gradients(
        self, mine: list[tuple[int, Any]], totals: Callable[[], Mapping[str, float]]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Leave the gradient of the whole step in the parameters; the sum and the weight of each part of the loss.

        `totals` are the counts of all processes: they are there, mostly, when the forward pass is done.
        """
        if not (self.model.training and self.objective.training):  # to tell each module takes time
            self.learner.train()
        self.optimizer.zero_grad(set_to_none=True)
        if self.step == 0:
            self.carry = self.objective.start(self.model, mine[0][1])
        sums: dict[str, float] = defaultdict(float)
        weights: dict[str, float] = {}
        for index, batch in mine:
            seed_device(self.device, _seed(self.settings.seed, self.step, index))
            last = index == mine[-1][0]
            with nullcontext() if last else without_adding(self.learner):
                with self._precision():
                    loss, self.carry = self.learner(batch, self.carry)
                (loss.total(totals()) * self.world.size).backward()  # the gradients are added up, not averaged
            for name, part in loss.parts.items():
                sums[name] += float(part.sum.detach())
                weights[name] = part.weight
        return self.world.summed(sums), weights

    def _clipped_norm(self) -> float:
        norm = total_norm([p.grad for p in self.parameters.values() if p.grad is not None])
        if self.settings.clip is not None:
            torch.nn.utils.clip_grads_with_norm_(self.parameters.values(), self.settings.clip, norm)
        return float(norm)

    def _check_finite(self, sums: Mapping[str, float], norm: float) -> None:
        """A weight that is not a number never comes back: stop before the update, the checkpoints are good."""
        if not all(map(math.isfinite, (*sums.values(), norm))):
            clip = "set training.clip=1.0" if self.settings.clip is None else "lower training.clip"
            raise DivergedError(
                f"the loss or its gradient is not a number at step {self.step}; {clip} or lower training.rate and "
                "start over with --fresh (the checkpoints before are untouched)"
            )

    def _remember(self, sums: Mapping[str, float], counts: Mapping[str, float], norm: float) -> None:
        new = {f"{name}.sum": value for name, value in sums.items()}
        new |= {f"{name}.count": counts[name] for name in sums}
        new |= {"norm.sum": norm, "norm.count": 1, "tokens": counts["tokens"]}
        self.sums = {name: self.sums.get(name, 0.0) + value for name, value in new.items()}

    def _log(self) -> None:
        parts = [name.removesuffix(".sum") for name in self.sums if name.endswith(".sum")]
        means = {name: self.sums[f"{name}.sum"] / max(self.sums[f"{name}.count"], 1) for name in parts}
        line = {"step": self.step, "event": "train", "epoch": self.place.epoch, **means}
        self._write({**line, "rate": self.rate(self.step), "tokens": int(self.sums["tokens"])})
        self.sums = {}

    def _validate(self) -> None:
        """Validate the chosen weights, and remember whether they are the best so far."""
        if self.validation.evaluate is None:
            return
        scores: dict[str, float] = {}
        if self.world.first:
            self._settle()
            began = time.monotonic()
            self.chosen.eval()
            self.objective.eval()
            with torch.no_grad(), self._precision():
                scores = self.validation.evaluate(self.chosen)
            self._write({"step": self.step, "event": "valid", "epoch": self.place.epoch, **scores})
            told = "  ".join(f"{name} {value:.4g}" for name, value in scores.items())
            self.reporter.say(f"step {self.step}: validation  {told}  ({time.monotonic() - began:.0f} s)")
            if self.settings.metric not in scores:
                asked, known = self.settings.metric, ", ".join(scores)
                raise SettingError(
                    f"training.metric is '{asked}', but validation gives {known}.{nearest(asked, scores)}"
                )
        new = {"score": scores.get(self.settings.metric, 0.0), "loss": scores.get("loss", 0.0)}
        self.best = best_validation(self.best, self.world.summed(new), self.step, lower=self.validation.lower)

    def _save(self) -> None:
        if self.run is None or not self.world.first:
            return
        self._settle()
        files = {
            "model": unique_tensors(self.model),
            "objective": unique_tensors(self.objective),
            "optimizer": optimizer_tensors(self.optimizer, self.parameters),
            "averages": {} if self.average is None else unique_tensors(self.average.model),
            "carry": dict(enumerate_tensors(self.carry)),
        }
        state = {"place": self.place, "sums": self.sums, "best": self.best, "seconds": self.seconds}
        kept = {stem: tensors for stem, tensors in files.items() if tensors}
        write_checkpoint(self.run, self.step, Checkpoint(kept, state), self.metadata)
        write_mark(self.run, "last", self.step)
        if self.best:
            write_mark(self.run, "best", int(self.best["step"]))
        Journal(self.run / "pace.jsonl").write({"step": self.step, "seconds": round(self.seconds, 3)})
        prune(self.run, keep=self.settings.keep, spared={int(self.best.get("step", self.step)), *self._regular()})

    def _resume(self) -> None:
        """Go on from the newest whole checkpoint, if there is one."""
        if self.run is None:
            return
        self.run.mkdir(parents=True, exist_ok=True)
        found = newest_whole(self.run)
        if self.world.first:
            for name in ("journal.jsonl", "pace.jsonl"):
                Journal(self.run / name).cut_back(found[0] if found else 0)
        if found is None:
            return
        self.step, (files, state), complaints = found
        for complaint in complaints:
            self.reporter.say(f"{complaint}; resuming from step {self.step}")
        if self.world.first:
            drop_after(self.run, self.step)  # the damaged ones would count as the newest
        load_tensors(self.model, files["model"])
        load_tensors(self.objective, files.get("objective", {}))
        restore_optimizer(self.optimizer, self.parameters, files.get("optimizer", {}))
        if self.average is not None:
            self.average.restore(files["averages"])
        self.place, self.sums, self.best = Place(*state["place"]), state["sums"], state["best"]
        self.seconds = state["seconds"]
        tensors = iter(tensor for _, tensor in sorted(files.get("carry", {}).items()))
        self.carry = refilled(self._start(self.place), tensors)
        if self.world.first:
            write_mark(self.run, "last", self.step)
            if self.best:
                write_mark(self.run, "best", int(self.best["step"]))
        self.reporter.say(f"resuming from step {self.step}")

    def _start(self, place: Place) -> Any:
        """What flows into the batch at a place where training begins there."""
        return self.objective.start(self.model, self.batches.at(place).to(self.device))

    def _scales(self) -> dict[str, float] | None:
        decay = self.settings.layer_decay
        return None if decay is None else layer_scales(self.model, self.parameters, decay)

    def _average(self) -> Average | None:
        match self.settings.average:
            case "ema":
                return Moving(self.model, self.settings.ema_decay)
            case "last":
                return LastCheckpoints(self.model, self.settings.average_last)
            case _:
                return None

    def _settle(self) -> None:
        if self.average is not None:
            self.average.settle(self.model, self._earlier())

    def _earlier(self) -> list[dict[str, Tensor]]:
        """The weights of the regular checkpoints that the mean needs; a damaged one is left out of it."""
        found = []
        for step in self._regular():
            try:
                assert self.run is not None
                found.append(read_checkpoint(self.run, step, ("model",)).files["model"])
            except RunError as error:
                self.reporter.say(f"{error}; the mean does without it")
        return found

    def _regular(self) -> list[int]:
        """The regular checkpoints before this step that the mean still needs: not those of an interruption."""
        if self.run is None or self.settings.average != "last" or self.settings.average_last == 1:
            return []
        saved, validated = self.settings.save_every, self.settings.validate_every
        before = [s for s in steps_on_disk(self.run) if s < self.step and (s % saved == 0 or s % validated == 0)]
        return before[-(self.settings.average_last - 1) :]

    def _write(self, line: dict[str, Any]) -> None:
        if self.run is not None and self.world.first:
            Journal(self.run / "journal.jsonl").write(line)
        self.reporter.wrote(line)

    def _precision(self) -> AbstractContextManager[Any]:
        if self.settings.precision == "bfloat16" and computes_bfloat16(self.device):
            return torch.autocast(self.device.type, torch.bfloat16)
        return nullcontext()


def _seed(*numbers: int) -> int:
    """A seed that differs for each tuple of numbers and is the same on every machine."""
    return int.from_bytes(hashlib.blake2b(repr(numbers).encode(), digest_size=7).digest(), "little")
