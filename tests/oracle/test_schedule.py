"""Learning rates against the paper's formula and against numbers worked out by hand."""

import math
from typing import Any

import pytest

from seqwright.errors import SettingError
from seqwright.training.schedule import (
    constant,
    cosine_decay,
    inverse_sqrt,
    learning_rate,
    linear,
    noam,
    unfinished_warmup,
)
from seqwright.training.settings import TrainingSettings


def rate(step: int, *, width: int = 1, **settings: Any) -> float:
    chosen = TrainingSettings.model_validate(settings)
    return learning_rate(chosen, steps=chosen.steps, width=width)(step)


@pytest.mark.parametrize(("width", "warmup"), [(512, 4000), (256, 7), (1024, 1)])
def test_noam_is_the_papers_equation_3(width: int, warmup: int) -> None:
    for step in (1, 2, warmup, warmup + 1, 4 * warmup, 100_000):
        paper = width**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert noam(step, width=width, warmup=warmup) == pytest.approx(paper, rel=1e-12)


def test_noam_is_highest_at_the_end_of_the_warm_up() -> None:
    rates = {step: noam(step, width=512, warmup=400) for step in range(1, 2000)}
    assert max(rates, key=rates.__getitem__) == 400
    assert rates[400] == pytest.approx(1 / math.sqrt(512 * 400))
    assert rates[200] == pytest.approx(rates[400] / 2)  # linear before
    assert rates[1600] == pytest.approx(rates[400] / 2)  # a root after: four times the step, half the rate


def test_the_papers_base_model_reaches_a_rate_of_seven_ten_thousandths() -> None:
    assert noam(4000, width=512, warmup=4000) == pytest.approx(6.99e-4, rel=1e-3)


def test_inverse_sqrt_rises_to_one_and_falls_with_the_root() -> None:
    found = [inverse_sqrt(step, warmup=100) for step in (1, 50, 100, 400, 10_000)]
    assert found == pytest.approx([0.01, 0.5, 1.0, 0.5, 0.1])


def test_cosine_rises_to_one_and_falls_to_zero_at_the_last_step() -> None:
    found = [cosine_decay(step, warmup=10, steps=110) for step in (1, 5, 10, 35, 60, 85, 110, 500)]
    eighth = math.sqrt(0.5)  # the cosine of an eighth turn
    assert found == pytest.approx([0.1, 0.5, 1.0, (1 + eighth) / 2, 0.5, (1 - eighth) / 2, 0.0, 0.0], abs=1e-12)


def test_linear_rises_to_one_and_falls_to_zero_at_the_last_step() -> None:
    found = [linear(step, warmup=10, steps=110) for step in (1, 5, 10, 35, 60, 85, 110, 500)]
    assert found == pytest.approx([0.1, 0.5, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0], abs=1e-12)


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_what_comes_down_ends_at_the_lowest_rate(schedule: str) -> None:
    settings: dict[str, Any] = {"schedule": schedule, "warmup": 10, "steps": 110, "rate": 2.0, "lowest": 0.1}
    found = [rate(step, **settings) for step in (5, 10, 60, 110, 500)]
    assert found == pytest.approx([1.0, 2.0, 1.1, 0.2, 0.2], abs=1e-12)


def test_constant_rises_to_one_and_stays() -> None:
    assert [constant(step, warmup=4) for step in (1, 2, 4, 5, 1000)] == pytest.approx([0.25, 0.5, 1, 1, 1])


@pytest.mark.parametrize("schedule", ["inverse-sqrt", "cosine", "linear", "constant"])
def test_without_warm_up_the_first_step_has_about_the_whole_rate(schedule: str) -> None:
    assert rate(1, schedule=schedule, warmup=0, steps=10_000, rate=0.5) == pytest.approx(0.5, rel=2e-4)


def test_noam_without_warm_up_falls_from_the_first_step() -> None:
    assert [noam(step, width=4, warmup=0) for step in (1, 4)] == pytest.approx([0.5, 0.25])


def test_the_settings_choose_the_schedule_and_multiply_it_by_the_rate() -> None:
    assert rate(400, width=256, schedule="noam", warmup=100, rate=2.0) == pytest.approx(2 / 16 / 20)
    assert rate(400, schedule="inverse-sqrt", warmup=100, rate=2.0) == pytest.approx(1.0)
    assert rate(60, schedule="cosine", warmup=10, steps=110, rate=3.0) == pytest.approx(1.5)
    assert rate(60, schedule="constant", warmup=10, rate=3.0) == pytest.approx(3.0)


def test_the_warm_up_is_a_share_of_the_steps_unless_it_is_set() -> None:
    settings: dict[str, Any] = {"schedule": "cosine", "steps": 464, "rate": 0.003}
    rates = [rate(step, **settings) for step in range(1, 465)]
    assert rates.index(max(rates)) + 1 == 46
    assert max(rates) == pytest.approx(0.003)
    assert rates[-1] == pytest.approx(0)
    halfway = [rate(step, **settings, warmup_share=0.5) for step in range(1, 465)]
    assert halfway.index(max(halfway)) + 1 == 232
    assert rate(464, **settings, warmup=4000) == pytest.approx(0.003 * 464 / 4000)


@pytest.mark.parametrize("steps", [300, 40_000])
def test_noam_rises_as_high_as_in_the_paper_however_short_the_warm_up(steps: int) -> None:
    assert rate(steps // 10, width=512, steps=steps) == pytest.approx(noam(4000, width=512, warmup=4000))


def test_a_warm_up_that_does_not_end_is_told() -> None:
    assert "4,000" in (unfinished_warmup(TrainingSettings(warmup=4000), 464) or "")
    assert unfinished_warmup(TrainingSettings(warmup=463), 464) is None
    assert unfinished_warmup(TrainingSettings(warmup=0), 0) is None
    assert unfinished_warmup(TrainingSettings(), 1) is None


def test_noam_without_a_width_is_refused() -> None:
    with pytest.raises(SettingError, match=r"training\.schedule is 'noam', which needs the model's width"):
        learning_rate(TrainingSettings(), steps=10)
