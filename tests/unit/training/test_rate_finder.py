"""The learning-rate range test: which losses it sees, when it stops, which rate it chooses, and that nothing stays."""

import math
import signal
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from seqwright.errors import SettingError
from seqwright.objectives.objective import Loss, LossPart
from seqwright.training.interruption import Interrupted
from seqwright.training.loop import fit
from seqwright.training.rate_finder import DIVERGED, HIGHEST, LOWEST, STEPS, RateSearch, find_rate, rising
from seqwright.training.reporter import Quiet
from seqwright.training.settings import TrainingSettings
from tests.unit.training.test_loop import PointBatches, Points, Squares, flat, line


class Shifted(Squares):
    """The squares less a number, as a density's loss may be negative; a part that counts nothing stands before."""

    def __init__(self, shift: float) -> None:
        super().__init__()
        self.shift = shift

    def counts(self, batch: Points) -> dict[str, int]:
        return {"watched": 1, "loss": len(batch.y_B)}

    def forward(self, model: nn.Module, batch: Points, carry: None) -> tuple[Loss, None]:
        squares = super().forward(model, batch, carry)[0].parts["loss"]
        loss = squares._replace(sum=squares.sum - self.shift * squares.over)
        return Loss({"watched": LossPart(torch.zeros(()), 1, weight=0.0), "loss": loss}), None


class Level(Squares):
    """A loss that no weight changes."""

    def forward(self, model: nn.Module, batch: Points, carry: None) -> tuple[Loss, None]:
        loss = super().forward(model, batch, carry)[0].parts["loss"]
        return Loss({"loss": loss._replace(sum=loss.sum * 0.0 + 1.0)}), None


class Noisy(nn.Module):
    """A line behind dropout, with a buffer that changes whenever it is read."""

    calls: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.line, self.dropout = line(), nn.Dropout(0.5)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x_BD: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        found: torch.Tensor = self.line(self.dropout(x_BD))
        return found


def settings(**given: Any) -> TrainingSettings:
    return TrainingSettings(**{"schedule": "constant", "rate": "find", "steps": 5, **given})


def test_the_losses_are_those_of_plain_adam_at_rising_rates() -> None:
    batches = PointBatches(4, 3)
    batches.batches = [Points(x_BD.double(), y_B.double()) for x_BD, y_B in batches.batches]  # nothing is rounded away
    found = find_rate(line().double(), Squares(), batches, settings(accumulate=2, clip=0.7, betas=(0.8, 0.9)))
    ours = line().double()
    optimizer = torch.optim.Adam(ours.parameters(), lr=1.0, betas=(0.8, 0.9), eps=1e-9)
    x_ND, y_N = (torch.cat(several) for several in zip(*batches.batches, strict=True))
    for number, loss in enumerate(found.losses, start=1):
        optimizer.param_groups[0]["lr"] = LOWEST * (HIGHEST / LOWEST) ** (number / STEPS)
        mean = (ours(x_ND).squeeze(-1) - y_N).square().mean()
        assert loss == pytest.approx(float(mean.detach()), rel=1e-6)
        optimizer.zero_grad()
        mean.backward()
        torch.nn.utils.clip_grad_norm_(ours.parameters(), 0.7)
        optimizer.step()
    assert found.rates[-1] == pytest.approx(rising(len(found.losses)))


def test_model_objective_and_what_follows_are_as_if_nothing_had_been_searched() -> None:
    def trained(search: bool) -> tuple[Noisy, Squares]:
        model, objective = Noisy(), Squares()
        objective.own = nn.Parameter(torch.ones(2))
        if search:
            find_rate(model, objective, PointBatches(4, 3), settings())
            assert all(p.grad is None for p in (*model.parameters(), *objective.parameters()))
            assert model.calls == 0
        fit(model, objective, PointBatches(4, 3), settings=settings(rate=0.01, average="ema"))
        return model, objective

    (searched, one), (straight, other) = trained(True), trained(False)
    assert torch.equal(flat(searched), flat(straight))
    assert torch.equal(searched.calls, straight.calls)
    assert torch.equal(flat(one), flat(other))


def test_it_stops_where_the_loss_diverges() -> None:
    found = find_rate(line(), Squares(), PointBatches(4, 3), settings())
    assert len(found.losses) < STEPS
    assert found.smoothed[-1] > DIVERGED * min(found.smoothed)
    assert found.diverged
    assert not RateSearch(found.rates[:-1], found.losses[:-1]).diverged


def test_a_loss_that_becomes_infinite_ends_it_too() -> None:
    class Exploding(Squares):
        def forward(self, model: nn.Module, batch: Points, carry: None) -> tuple[Loss, None]:
            loss, _ = super().forward(model, batch, carry)
            worst = max(float(p.detach().abs().max()) for p in model.parameters())
            factor = torch.inf if worst > 2 else 1.0
            return Loss({"loss": loss.parts["loss"]._replace(sum=loss.parts["loss"].sum * factor)}), None

    found = find_rate(line(), Exploding(), PointBatches(4, 3), settings())
    assert 10 < len(found.losses) < STEPS
    assert LOWEST < found.best < HIGHEST


def test_the_rate_is_a_tenth_of_that_with_the_lowest_loss_and_is_easily_written() -> None:
    rates = [1.2345e-6 * 1.2**step for step in range(60)]
    valley = RateSearch(tuple(rates), tuple(5.0 + (step - 40) ** 2 for step in range(60)))
    assert valley.best == float(f"{rates[40] / 10:.2g}")


def test_one_lucky_batch_does_not_decide() -> None:
    losses = [5.0 + abs(step - 40) for step in range(60)]
    losses[12] = 1.0
    assert RateSearch(tuple(float(10**-step) for step in range(60)), tuple(losses)).best == pytest.approx(1e-41)


def test_smoothing_does_not_lag() -> None:
    falling = RateSearch((1.0,) * 31, tuple(float(31 - step) for step in range(31))).smoothed
    assert falling[15] == pytest.approx(16.0)


def test_what_is_descended_decides_also_where_it_is_negative() -> None:
    usual = find_rate(line(), Squares(), PointBatches(4, 3), settings())
    lower = find_rate(line(), Shifted(3.0), PointBatches(4, 3), settings())
    assert lower.best == usual.best
    assert lower.losses[0] == pytest.approx(usual.losses[0] - 3.0, rel=1e-5)


def test_a_loss_that_never_falls_is_told() -> None:
    with pytest.raises(SettingError, match=r"no learning rate from 1e-07 to 10 made the loss fall"):
        _ = find_rate(line(), Level(), PointBatches(4, 3), settings()).best


def test_the_factor_of_the_noam_schedule_is_not_searched_for() -> None:
    with pytest.raises(SettingError, match="under schedule = 'noam' the rate is a factor"):
        settings(schedule="noam")


def test_a_training_without_a_search_asks_for_a_number() -> None:
    with pytest.raises(SettingError, match=r"training\.rate is 'find', but here no learning rate is searched for"):
        fit(line(), Squares(), PointBatches(4, 3), settings=settings())


# --------------------------------------------------------------------------------------------- the rule, on made curves


def search(losses: Sequence[float]) -> RateSearch:
    return RateSearch(tuple(rising(step) for step in range(1, 1 + len(losses))), tuple(losses))


def bowl(step: int, bottom: int = 60) -> float:
    """Level at 5 for three decades, down to 2 at the bottom, and steeply up after it."""
    if step <= bottom:
        return 5.0 - 3.0 / (1 + math.exp((bottom - 12 - step) / 3))
    return 2.0 + 0.05 * (step - bottom) ** 2


@pytest.mark.parametrize("bottom", [35, 60, 80])
def test_of_a_bowl_the_rate_is_a_decade_below_the_bottom(bottom: int) -> None:
    losses = [bowl(step, bottom) for step in range(1, 96)]
    assert search(losses).best == pytest.approx(rising(bottom) / 10, rel=0.35)


@pytest.mark.parametrize("seed", range(7))
def test_of_a_noisy_bowl_the_rate_is_near_that_of_the_smooth_one(seed: int) -> None:
    noise = np.random.default_rng(seed).normal(0, 0.3, 95)
    losses = [bowl(step) + noise[step - 1] for step in range(1, 96)]
    found = search(losses).best
    assert rising(60) / 10 / 3 < found < rising(60) / 10 * 3


def test_of_a_curve_that_diverges_at_once_nothing_is_chosen() -> None:
    rising_at_once = search([2.0 * 1.5**step for step in range(9)])
    assert rising_at_once.diverged
    with pytest.raises(SettingError, match="made the loss fall"):
        _ = rising_at_once.best


def test_a_fall_that_may_be_chance_is_doubtful_and_a_clear_one_is_not() -> None:
    noise = np.random.default_rng(1).normal(0, 0.3, (40, 95))
    level = [search((5.0 + each).tolist()) for each in noise]
    assert sum(each.doubtful for each in level if each.lowest) > 0.6 * len(level)
    falling = [search([bowl(step) + each[step - 1] for step in range(1, 96)]) for each in noise]
    assert not any(each.doubtful for each in falling)
    assert not search([5.0 + 0.01 * bowl(step) for step in range(1, 96)]).doubtful  # small, and no noise


@pytest.mark.parametrize("few", [0, 1, 2])
def test_of_hardly_any_steps_nothing_is_chosen(few: int) -> None:
    with pytest.raises(SettingError, match="made the loss fall"):
        _ = search([5.0] * few).best


def test_a_loss_that_is_not_a_number_from_the_first_step_is_told() -> None:
    class Broken(Squares):
        def forward(self, model: nn.Module, batch: Points, carry: None) -> tuple[Loss, None]:
            loss = super().forward(model, batch, carry)[0].parts["loss"]
            return Loss({"loss": loss._replace(sum=loss.sum * torch.nan)}), None

    found = find_rate(line(), Broken(), PointBatches(4, 3), settings())
    assert found.losses == ()
    with pytest.raises(SettingError, match="made the loss fall"):
        _ = found.best


def test_the_found_rate_trains_better_than_a_hundredth_of_it() -> None:
    """And than a hundred times it: a small network on a curve that it can learn."""
    torch.manual_seed(3)
    x_ND = torch.randn(4 * 16, 5)
    y_N = torch.sin(x_ND.sum(1))
    batches = PointBatches(4, 16)
    batches.batches = [Points(x_ND[n::4], y_N[n::4]) for n in range(4)]

    def network() -> nn.Module:
        torch.manual_seed(7)
        return nn.Sequential(nn.Linear(5, 23), nn.Tanh(), nn.Linear(23, 1))

    def loss_after(rate: float) -> float:
        model = fit(network(), Squares(), batches, settings=settings(rate=rate, steps=150))
        with torch.no_grad():
            return float((model(x_ND).squeeze(-1) - y_N).square().mean())

    rate = find_rate(network(), Squares(), batches, settings()).best
    assert loss_after(rate) < 0.3 * loss_after(rate / 100)
    assert loss_after(rate) < 0.3 * loss_after(rate * 100)


# ------------------------------------------------------------------------------------------------ while it searches


class Watching(Quiet):
    """Writes down what it is told, and interrupts at a step."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.stop_at = stop_at
        self.told: list[Any] = []

    def begin(self, step: int, steps: int, doing: str = "train", unit: str = "tokens") -> None:
        self.told.append((step, steps, doing))

    def step(self, step: int, loss: float, speed: float) -> None:
        self.told.append(step)
        if step == self.stop_at:
            signal.raise_signal(signal.SIGINT)

    def end(self) -> None:
        self.told.append("end")


def test_every_step_of_the_search_is_reported_as_a_search() -> None:
    watching = Watching()
    steps = len(find_rate(line(), Squares(), PointBatches(4, 3), settings(), watching).losses)
    assert watching.told == [(0, STEPS, "find rate"), *range(1, steps + 1), "end"]


def test_an_interrupted_search_stops_at_once_and_closes_its_bar() -> None:
    watching, before = Watching(stop_at=3), signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted) as stopped:
        find_rate(line(), Squares(), PointBatches(4, 3), settings(), watching)
    assert (stopped.value.step, watching.told[-2:]) == (0, [3, "end"])
    assert signal.getsignal(signal.SIGINT) is before
    assert stopped.value.told("the same call") == (
        "stopped before the first step, and nothing is left behind; the same call starts over"
    )
