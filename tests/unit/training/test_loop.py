"""The training loop: what it descends, averages and logs, and when it stops."""

import copy
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from seqwright.batches import Place
from seqwright.devices import compiles
from seqwright.errors import SettingError, UserError
from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.training import loop
from seqwright.training.checkpoint import newest_whole, read_checkpoint, read_mark, steps_on_disk
from seqwright.training.loop import fit
from seqwright.training.remarks import training_remarks
from seqwright.training.reporter import Quiet
from seqwright.training.schedule import expected_steps
from seqwright.training.settings import TrainingSettings

RATE = 0.05


class Points(NamedTuple):
    """What a line is drawn through."""

    x_BD: Tensor
    y_B: Tensor

    @property
    def tokens(self) -> int:
        return len(self.y_B)

    def to(self, device: torch.device) -> "Points":
        return Points(self.x_BD.to(device), self.y_B.to(device))


class PointBatches:
    """The same points every epoch, in batches of given sizes."""

    def __init__(self, *sizes: int) -> None:
        draw = torch.Generator().manual_seed(3)
        x_ND, y_N = torch.randn(sum(sizes), 3, generator=draw), torch.randn(sum(sizes), generator=draw)
        self.batches = [Points(x, y) for x, y in zip(x_ND.split(sizes), y_N.split(sizes), strict=True)]

    def at(self, place: Place) -> Points:
        return self.batches[place.batch]

    def after(self, place: Place) -> Place:
        last = place.batch + 1 == len(self.batches)
        return Place(place.epoch + 1, 0) if last else Place(place.epoch, place.batch + 1)

    def in_epoch(self, epoch: int) -> int:
        return len(self.batches)

    def once(self) -> Iterator[Points]:
        return iter(self.batches)

    def padding(self, epoch: int = 0) -> float:
        return 0.0


class Squares(Objective):
    """Σ (model(x) - y)²."""

    def counts(self, batch: Points) -> dict[str, int]:
        return {"loss": len(batch.y_B)}

    def forward(self, model: nn.Module, batch: Points, carry: None) -> tuple[Loss, None]:
        return Loss(
            {"loss": LossPart((model(batch.x_BD).squeeze(-1) - batch.y_B).square().sum(), len(batch.y_B))}
        ), None


def line() -> nn.Linear:
    torch.manual_seed(1)
    return nn.Linear(3, 1)


def drawn_line(*sizes: int, model: nn.Module | None = None, **settings: Any) -> nn.Module:
    """A line fitted through points; `run`, `evaluate` and `reporter` are `fit`'s, the rest are training settings."""
    others = {name: settings.pop(name) for name in ("run", "evaluate", "reporter") if name in settings}
    chosen = TrainingSettings.model_validate({"schedule": "constant", "epsilon": 1.0, "steps": 5, **settings})
    return fit(model or line(), Squares(), PointBatches(*sizes), settings=chosen, rate=lambda step: RATE, **others)


def flat(model: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def journal(run: Path, event: str) -> list[dict[str, Any]]:
    lines = [json.loads(text) for text in (run / "journal.jsonl").read_text().splitlines()]
    return [found for found in lines if found["event"] == event]


class Watching(Quiet):
    """Keeps the weights after every step, and what was said."""

    def __init__(self, model: nn.Module) -> None:
        self.model, self.weights, self.said = model, [flat(model).clone()], [""]

    def step(self, step: int, loss: float, speed: float) -> None:
        self.weights.append(flat(self.model).clone())

    def say(self, sentence: str) -> None:
        self.said.append(sentence)


# ------------------------------------------------------------------------------------------------ one update


def gradient_of_the_mean(model: nn.Module, points: Points) -> Tensor:
    model = copy.deepcopy(model)
    (model(points.x_BD).squeeze(-1) - points.y_B).square().mean().backward()
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


@pytest.mark.parametrize("clip", [None, 0.1, 1e9])
def test_clipping_is_applied_and_the_norm_before_it_is_logged(tmp_path: Path, clip: float | None) -> None:
    """Adam's first step from a gradient g is rate · g / (|g| + ε), here with ε = 1."""
    model = line()
    before, gradient = flat(model), gradient_of_the_mean(model, PointBatches(7).batches[0])
    norm = float(gradient.norm())
    assert norm > 0.1
    shortened = gradient * min(1.0, (clip or math.inf) / norm)
    drawn_line(7, model=model, steps=1, run=tmp_path, clip=clip)
    torch.testing.assert_close(flat(model), before - RATE * shortened / (shortened.abs() + 1), rtol=0, atol=1e-6)
    assert journal(tmp_path, "train")[0]["norm"] == pytest.approx(norm, rel=1e-5)


def test_accumulation_changes_nothing() -> None:
    """Also where the micro-batches have different sizes: the mean is over all points, not over the batches."""
    together, apart = drawn_line(12, steps=6), drawn_line(7, 2, 3, steps=6, accumulate=3)
    assert float((flat(together) - flat(line())).norm()) > 0.05
    torch.testing.assert_close(flat(apart), flat(together), rtol=0, atol=1e-6)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*torch.jit.script_method:DeprecationWarning")  # torch's compiler imports it
@pytest.mark.skipif(not compiles(torch.device("cpu")), reason="torch.compile needs a C++ compiler")
def test_compiled_it_learns_the_same() -> None:
    plain, compiled = drawn_line(7, 2, 3, steps=6), drawn_line(7, 2, 3, steps=6, compile=True)
    torch.testing.assert_close(flat(compiled), flat(plain), rtol=0, atol=1e-6)
    assert dict(compiled.named_parameters()).keys() == dict(plain.named_parameters()).keys()


def test_without_a_compiler_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(SettingError, match=r"torch\.compile needs a C\+\+ compiler"):
        drawn_line(7, compile=True)


def test_the_journal_holds_the_mean_over_everything_since_its_last_line(tmp_path: Path) -> None:
    model = line()
    watching = Watching(model)
    drawn_line(5, 3, 2, model=model, steps=4, log_every=3, run=tmp_path, reporter=watching)
    sums = []
    for weights, points in zip(watching.weights, (PointBatches(5, 3, 2).batches * 2)[:4], strict=False):
        said_B = points.x_BD @ weights[:3] + weights[3]
        sums.append(float((said_B - points.y_B).square().sum()))
    first, last = journal(tmp_path, "train")
    assert (first["step"], first["tokens"], first["epoch"], first["rate"]) == (3, 10, 1, RATE)
    assert first["loss"] == pytest.approx(sum(sums[:3]) / 10, rel=1e-5)
    assert (last["step"], last["tokens"]) == (4, 5)
    assert last["loss"] == pytest.approx(sums[3] / 5, rel=1e-5)


def test_without_a_rate_the_settings_schedule_is_followed(tmp_path: Path) -> None:
    settings = TrainingSettings(schedule="constant", warmup=4, rate=0.2, steps=5, log_every=1)
    fit(line(), Squares(), PointBatches(5), settings=settings, run=str(tmp_path))
    assert [found["rate"] for found in journal(tmp_path, "train")] == pytest.approx([0.05, 0.1, 0.15, 0.2, 0.2])


def test_a_frozen_parameter_stays() -> None:
    model = line()
    model.bias.requires_grad_(False)
    before = flat(model)
    drawn_line(7, model=model)
    assert flat(model)[3] == before[3]
    assert bool((flat(model)[:3] != before[:3]).all())


@pytest.mark.parametrize("able", [True, False])
def test_bfloat16_trains_weights_that_stay_float32(able: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the device has no instructions for bfloat16 nothing is rounded; torch computes in it everywhere."""
    monkeypatch.setattr(loop, "computes_bfloat16", lambda device: able)
    exact, short = drawn_line(7), drawn_line(7, precision="bfloat16")
    assert {parameter.dtype for parameter in short.parameters()} == {torch.float32}
    assert torch.equal(flat(short), flat(exact)) != able
    torch.testing.assert_close(flat(short), flat(exact), rtol=0, atol=0.02)


# ------------------------------------------------------------------------------------------------ averages


def test_the_moving_average_is_the_one_computed_by_hand(tmp_path: Path) -> None:
    model = line()
    watching = Watching(model)
    used = drawn_line(5, 2, model=model, steps=5, average="ema", ema_decay=0.35, reporter=watching, run=tmp_path)
    average = watching.weights[0].double()
    for step, weights in enumerate(watching.weights[1:], start=1):
        decay = min(0.35, (1 + step) / (10 + step))  # the first three steps move faster
        average = decay * average + (1 - decay) * weights.double()
    torch.testing.assert_close(flat(used).double(), average, rtol=0, atol=1e-6)
    assert torch.equal(flat(model), watching.weights[-1])
    assert used is not model
    saved = read_checkpoint(tmp_path, 5).files
    assert torch.equal(saved["averages"]["bias"], used.get_parameter("bias"))
    assert torch.equal(saved["model"]["bias"], model.get_parameter("bias"))


@pytest.mark.parametrize(("steps", "regular"), [(9, [6, 8, 9]), (8, [4, 6, 8]), (3, [2, 3])])
def test_the_mean_of_the_last_checkpoints_is_the_one_computed_by_hand(
    tmp_path: Path, steps: int, regular: list[int]
) -> None:
    model = line()
    watching = Watching(model)
    settings: dict[str, Any] = {"average": "last", "average_last": 3, "keep": 3, "save_every": 2, "steps": steps}
    used = drawn_line(5, 2, model=model, reporter=watching, run=tmp_path, **settings)
    mean = torch.stack([watching.weights[step].double() for step in regular]).mean(0)
    torch.testing.assert_close(flat(used).double(), mean, rtol=0, atol=1e-6)


def test_validation_judges_the_average_not_the_last_weights() -> None:
    model, judged = line(), []

    def evaluate(chosen: nn.Module) -> dict[str, float]:
        assert not chosen.training
        judged.append(flat(chosen).clone())
        return {"loss": 1.0}

    used = drawn_line(5, model=model, average="ema", validate_every=5, evaluate=evaluate)
    assert torch.equal(judged[-1], flat(used))
    assert not torch.equal(judged[-1], flat(model))


# ------------------------------------------------------------------------------------------------ stopping


def scripted(name: str, *scores: float) -> Callable[[nn.Module], dict[str, float]]:
    waiting = iter(scores)
    return lambda model: {name: next(waiting), "other": 0.0}


@pytest.mark.parametrize(
    ("metric", "scores", "best", "last"),
    [
        ("loss", (3.0, 2.0, 2.0, 2.5), 4, 8),
        ("loss", (3.0, 3.5, 2.0, 4.0, 1.0, 1.5, 1.2), 10, 14),
        ("bleu", (3.0, 4.0, 4.0, 1.0), 4, 8),
        ("bleu", (3.0, 2.0, 1.0), 2, 6),
    ],
)
def test_training_stops_when_nothing_has_got_better_for_a_while(
    tmp_path: Path, metric: str, scores: tuple[float, ...], best: int, last: int
) -> None:
    evaluate = scripted(metric, *scores)
    drawn_line(5, run=tmp_path, evaluate=evaluate, metric=metric, patience=2, validate_every=2, keep=1, steps=100)
    assert (read_mark(tmp_path, "best"), read_mark(tmp_path, "last")) == (best, last)
    assert steps_on_disk(tmp_path) == sorted({best, last})
    assert [found[metric] for found in journal(tmp_path, "valid")] == list(scores)
    assert journal(tmp_path, "train")[-1]["step"] == last  # nothing of the last steps goes unlogged


def test_of_equal_scores_the_lower_loss_is_best_but_patience_is_not_renewed(tmp_path: Path) -> None:
    rows = iter([(90.0, 0.9), (100.0, 0.3), (100.0, 0.1), (100.0, 0.2)])
    drawn_line(
        5,
        run=tmp_path,
        evaluate=lambda model: dict(zip(("exact", "loss"), next(rows), strict=True)),
        metric="exact",
        patience=2,
        validate_every=2,
        keep=1,
        steps=100,
    )
    assert (read_mark(tmp_path, "best"), read_mark(tmp_path, "last")) == (6, 8)
    assert steps_on_disk(tmp_path) == [6, 8]


@pytest.mark.parametrize(("accumulate", "last"), [(1, 12), (2, 6)])
def test_training_stops_after_its_epochs(tmp_path: Path, accumulate: int, last: int) -> None:
    drawn_line(2, 2, 2, steps=1000, epochs=4, accumulate=accumulate, run=tmp_path)
    assert read_mark(tmp_path, "last") == last
    assert journal(tmp_path, "train")[-1]["step"] == last


def test_an_unknown_metric_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"training\.metric is 'blue', but validation gives bleu, other"):
        drawn_line(5, metric="blue", evaluate=scripted("bleu", 1.0))


class TurningToNonsense(Squares):
    def __init__(self, step: int, nonsense: float) -> None:
        super().__init__()
        self.left, self.nonsense = step - 1, nonsense

    def forward(self, model: nn.Module, batch: Points, carry: None) -> tuple[Loss, None]:
        loss, carry = super().forward(model, batch, carry)
        self.left -= 1
        part = loss.parts["loss"]
        return (loss if self.left >= 0 else Loss({"loss": part._replace(sum=part.sum * self.nonsense)})), carry


@pytest.mark.parametrize("nonsense", [math.nan, math.inf])
def test_a_loss_that_is_no_number_is_refused_before_it_spoils_the_weights(tmp_path: Path, nonsense: float) -> None:
    model = line()
    watching = Watching(model)
    settings = TrainingSettings(schedule="constant", steps=9, save_every=2)
    with pytest.raises(UserError, match=r"not a number at step 4; set training\.clip=1\.0 or lower training\.rate"):
        fit(
            model,
            TurningToNonsense(4, nonsense),
            PointBatches(5),
            settings=settings,
            rate=lambda step: RATE,
            run=tmp_path,
            reporter=watching,
        )
    assert len(watching.weights) == 1 + 3
    assert torch.equal(flat(model), watching.weights[3])
    found = newest_whole(tmp_path)
    assert found is not None
    assert found[0] == 2


def test_a_run_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    drawn_line(5, run=tmp_path / "runs" / "new")
    assert read_mark(tmp_path / "runs" / "new", "last") == 5


class Drawing(Squares):
    """Notes what chance gives at each micro-batch."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[float] = []

    def forward(self, model: nn.Module, batch: Points, carry: None) -> tuple[Loss, None]:
        self.drawn.append(float(torch.rand(())))
        return super().forward(model, batch, carry)


def test_chance_differs_at_every_micro_batch_and_comes_again_with_the_seed() -> None:
    runs = []
    for seed in (1, 1, 2):
        objective = Drawing()
        settings = TrainingSettings(schedule="constant", steps=4, accumulate=3, seed=seed)
        fit(line(), objective, PointBatches(5, 2), settings=settings)
        runs.append(objective.drawn)
    assert runs[0] == runs[1]
    assert len({*runs[0], *runs[2]}) == 24


def test_another_seed_drops_other_neurons() -> None:
    def trained(seed: int) -> Tensor:
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(3, 5), nn.Dropout(0.5), nn.Linear(5, 1))
        return flat(drawn_line(7, model=model, seed=seed))

    assert torch.equal(trained(1), trained(1))
    assert not torch.equal(trained(1), trained(2))


@pytest.mark.parametrize(("epochs", "accumulate", "steps"), [(None, 1, 1000), (4, 1, 12), (4, 5, 3), (999, 1, 1000)])
def test_the_steps_of_a_training_are_known_before_it_begins(epochs: int | None, accumulate: int, steps: int) -> None:
    settings = TrainingSettings(steps=1000, epochs=epochs, accumulate=accumulate)
    assert expected_steps(settings, PointBatches(2, 2, 2)) == steps


# ------------------------------------------------------------------------------------------------ what may change


@pytest.mark.parametrize(
    "changed",
    [{"log_every": 1}, {"validate_every": 3}, {"save_every": 1}, {"keep": 5}, {"patience": 7}, {"threads": 2}],
    ids=lambda changed: next(iter(changed)),
)
def test_a_setting_that_may_change_on_resuming_changes_no_weight(changed: dict[str, Any], tmp_path: Path) -> None:
    assert changed.keys() <= TrainingSettings().may_change()
    usual: dict[str, Any] = {"average": "ema", "evaluate": lambda model: {"loss": float(flat(model).sum())}}

    def trained(run: Path, *, resumed: dict[str, Any]) -> nn.Module:
        drawn_line(3, 4, 2, run=run, steps=3, **usual)
        return drawn_line(3, 4, 2, run=run, steps=8, **usual, **resumed)

    one, other = trained(tmp_path / "one", resumed={}), trained(tmp_path / "other", resumed=changed)
    assert torch.equal(flat(one), flat(other))
    same = [read_checkpoint(tmp_path / name, 8).files for name in ("one", "other")]
    assert all(torch.equal(same[0][file][name], same[1][file][name]) for file in same[0] for name in same[0][file])


# ------------------------------------------------------------------------------------------------ clocks and threads


def test_a_step_that_takes_no_measurable_time_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Speeds(Quiet):
        def __init__(self) -> None:
            self.speeds: list[float] = []

        def step(self, step: int, loss: float, speed: float) -> None:
            self.speeds.append(speed)

    monkeypatch.setattr(time, "monotonic", lambda: 5.0)  # a coarse clock
    speeds = Speeds()
    drawn_line(3, 4, steps=2, reporter=speeds)
    assert len(speeds.speeds) == 2
    assert all(speed > 0 and math.isfinite(speed) for speed in speeds.speeds)


def test_more_threads_than_cores_are_remarked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqwright.training.remarks.cores", lambda: 2)
    (remark,) = training_remarks(TrainingSettings(threads=99), 500)
    assert remark.startswith("training.threads is 99, but there are 2 cores:")
    assert training_remarks(TrainingSettings(threads=2), 500) == []
    assert len(training_remarks(TrainingSettings(threads=3, warmup=900), 500)) == 2


# ------------------------------------------------------------------------------------------------ what is not learnt


class Counting(nn.Module):
    """A line that counts in a buffer how often it was read in training."""

    reads: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.line = line()
        self.register_buffer("reads", torch.zeros((), dtype=torch.long))

    def forward(self, x_BD: Tensor) -> Tensor:
        self.reads += self.training
        y_B1: Tensor = self.line(x_BD)
        return y_B1


def test_the_moving_average_has_the_buffers_of_the_model(tmp_path: Path) -> None:
    seen: list[int] = []

    def evaluate(model: nn.Module) -> dict[str, float]:
        seen.append(int(model.state_dict()["reads"]))
        return {"loss": 1.0}

    model = Counting()
    used = drawn_line(3, 4, model=model, average="ema", steps=6, validate_every=2, evaluate=evaluate, run=tmp_path)
    assert used is not model
    assert seen == [2, 4, 6]
    assert int(read_checkpoint(tmp_path, 6).files["averages"]["reads"]) == 6


def test_an_infinite_gradient_under_a_finite_loss_stops_before_the_update() -> None:
    class Steep(Squares):
        """A root at its foot: 0, and infinitely steep."""

        def forward(self, model: nn.Module, batch: Points, carry: None) -> tuple[Loss, None]:
            weight_D = next(model.parameters()).flatten()
            return Loss({"loss": LossPart((weight_D - weight_D.detach()).sqrt().sum(), len(batch.y_B))}), None

    model = line()
    before = flat(model).clone()
    settings = TrainingSettings(schedule="constant", steps=2)
    with pytest.raises(UserError, match="the loss or its gradient is not a number at step 1"):
        fit(model, Steep(), PointBatches(3), settings=settings, rate=lambda step: RATE)
    assert torch.equal(flat(model), before)
