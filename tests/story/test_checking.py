"""`check` before training: what it says of the user's own file, its batches, and the time they will take."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from seqwright.batches import Place
from seqwright.cli import checking
from seqwright.comparison import pace
from seqwright.data.examples import PartName
from seqwright.data.pairs import PairFiles, PairFilesSettings
from seqwright.kinds import task_of
from seqwright.objectives.next_token import NextToken
from seqwright.progress import Progress
from seqwright.recipe import Recipe, recipe_from
from seqwright.training import loop

Check = Callable[..., str]
TINY = [
    "model.width=16",
    "model.heads=2",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "model.feed_forward=16",
    "input.tokenizer=words",
    "training.threads=1",
]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.toml").write_text('task = "translation"\n[data]\ntrain = "mine.tsv"\ntest = "10%"\n', encoding="utf-8")


@pytest.fixture
def check(answered: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch) -> Check:
    """Type `seqwright check`; what it prints."""
    monkeypatch.setattr(checking, "OVERFIT_STEPS", 3)

    def printed(*overrides: str) -> str:
        _, out, err = answered("check", "r.toml", *TINY, *overrides)
        assert "ready: " in out, err
        return out

    return printed


def write(lines: list[str]) -> None:
    Path("mine.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


WORDS = ("one", "two", "three", "four", "five", "six", "seven")


def numbers(count: int) -> list[str]:
    """Pairs of four words on each side."""
    rows = [[WORDS[i // 7**place % 7] for place in range(4)] for i in range(count)]
    return [f"{' '.join(row)}\t{' '.join(reversed(row))}" for row in rows]


def corpus() -> PairFiles:
    return PairFiles(PairFilesSettings(train="mine.tsv", test="10%"))


def count_of(part: PartName) -> int:
    """How many pairs of the file are in a part."""
    return sum(1 for _ in corpus().examples(part))


def remarks(out: str) -> list[str]:
    """What is said with an exclamation mark; so small a model need not overfit anything."""
    return [line for line in out.splitlines() if line.startswith("!") and "even overfit" not in line]


def test_a_small_file_that_will_be_read_a_thousand_times_is_remarked_on(check: Check) -> None:
    write(["English\tGerman\tid", *(f"{line}\t7" for line in numbers(269))])
    out = check("training.tokens=2048", "training.steps=5000")
    assert "! the first line of mine.tsv reads 'English → German → id': if that is a header" in out
    assert "! mine.tsv has 3 columns" in out
    assert "! training reads the training part 5,000 times: fewer steps will do" in out  # it is one batch
    parts: tuple[PartName, ...] = ("valid", "test")
    for part in parts:
        count = count_of(part)
        assert f"the {part} part has only {count} examples: its scores are uncertain" in out
        assert f"± {98 / count**0.5:.0f} %" in out


def test_what_is_as_it_should_be_is_not_remarked_on(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "computes_bfloat16", lambda device: False)
    write(numbers(2401))
    assert remarks(check("training.tokens=512", "training.steps=50")) == []


def test_the_tokens_of_a_batch_are_told_for_each_side(check: Check) -> None:
    write(numbers(269))
    tokens = 5 * count_of("train")  # the end is one too
    out = check("training.tokens=2048", "training.steps=5")
    assert f"{tokens:,} and {tokens:,}, of at most 2,048 on a side" in out


def test_patience_ends_a_training_that_would_be_too_long(check: Check) -> None:
    write(numbers(100))
    assert "fewer steps" not in check("training.steps=5000", "training.patience=3")


def test_pairs_that_no_batch_has_room_for_are_remarked_on(check: Check) -> None:
    write([*numbers(100), *(f"one {line}" for line in numbers(100)[50:])])
    longer = sum(len(pair.source.split()) == 5 for pair in corpus().examples("train"))
    assert "a batch of its own" not in check("training.tokens=6", "training.steps=5")
    out = check("training.tokens=5", "training.steps=5")
    assert f"over training.tokens = 5 tokens on a side, each a batch of its own: {longer}; the longest has 6" in out


# ------------------------------------------------------------------------------------------------ precision


class Recording(NextToken):
    """Remembers in which precision it was asked."""

    asked: list[bool] = []  # noqa: RUF012 (one for all of them)

    def forward(self, model: Any, batch: Any, carry: Any) -> Any:
        self.asked.append(torch.is_autocast_enabled("cpu"))
        return super().forward(model, batch, carry)


@pytest.mark.parametrize(
    ("able", "precision", "computed"), [(True, "bfloat16", True), (False, "bfloat16", False), (False, "float32", False)]
)
def test_the_estimate_computes_as_training_will(
    check: Check, monkeypatch: pytest.MonkeyPatch, able: bool, precision: str, computed: bool
) -> None:
    monkeypatch.setattr(checking, "computes_bfloat16", lambda device: able)
    monkeypatch.setattr(loop, "computes_bfloat16", lambda device: able)
    monkeypatch.setattr(checking, "objective_of", lambda recipe: Recording())
    monkeypatch.setattr(pace, "objective_of", lambda recipe: Recording())
    Recording.asked.clear()
    write(numbers(50))
    out = check(f"training.precision={precision}", "training.device=cpu", "training.steps=5")
    assert len(Recording.asked) > pace.TRIED + 3
    assert set(Recording.asked) == {computed}
    assert f"tokens/s in {'bfloat16' if computed else 'float32'})" in out
    assert ("no instructions for bfloat16: training computes in float32" in out) == (
        precision == "bfloat16" and not able
    )


@pytest.mark.parametrize(("able", "seconds", "said"), [(True, 0.5, True), (True, 0.97, False), (False, 0.5, False)])
def test_bfloat16_is_recommended_where_it_was_faster(
    check: Check, monkeypatch: pytest.MonkeyPatch, able: bool, seconds: float, said: bool
) -> None:
    def timed(recipe: Recipe, *_: Any) -> float:
        assert recipe.training.precision == "bfloat16"
        return seconds

    monkeypatch.setattr(checking, "computes_bfloat16", lambda device: able)
    monkeypatch.setattr(checking, "measured_pace", lambda *_, **__: pace.Pace(step=1.0))
    monkeypatch.setattr(checking, "seconds_per_step", timed)
    write(numbers(50))
    out = check("training.device=cpu", "training.steps=5")
    told = ["! training.precision=bfloat16 would be faster here, about 2.0 times"] if said else []
    assert [remark for remark in remarks(out) if "bfloat16" in remark] == told


# ------------------------------------------------------------------------------------------------ BPE-dropout


def test_with_bpe_dropout_no_batch_outgrows_the_setting_and_the_padding_is_the_real_one() -> None:
    draw = random.Random(3)
    words = ["".join(draw.choice("abcdefgh") for _ in range(draw.randint(3, 9))) for _ in range(53)]
    write([f"{' '.join(draw.choices(words, k=5))}\t{' '.join(draw.choices(words, k=5))}" for _ in range(211)])
    recipe = recipe_from(
        {
            "task": "translation",
            "data": {"train": "mine.tsv"},
            "input": {"vocabulary": 300, "bpe_dropout": 0.3},
            "training": {"tokens": 151},
        }
    )
    data, task = PairFiles(recipe.data), task_of("translation")
    batches = task.prepared(recipe, data, task.learnt_inputs(recipe, data)).train
    for epoch in (0, 1):
        found = [batches.at(Place(epoch, number)) for number in range(batches.in_epoch(epoch))]
        positions = [max(batch.source_BS.numel(), batch.target_BT.numel()) for batch in found]
        assert max(positions) <= 151
        every = sum(batch.source_BS.numel() + batch.target_BT.numel() for batch in found)
        assert batches.padding(epoch) == pytest.approx(1 - sum(batch.tokens for batch in found) / every)
    plain = int(batches.lengths(None).sum())
    assert sum(batch.tokens for batch in found) > 1.1 * plain  # there is something that could outgrow it


def test_a_long_wait_is_told_of_every_few_seconds_and_a_short_one_never(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 4.0, 11.0, 12.0, 22.0, 100.0, 101.0])
    monkeypatch.setattr("seqwright.progress.time.monotonic", lambda: next(clock))
    waiting = Progress("drawing", seconds=10)
    for count in (1000, 2000, 3000, 4000, 5000):
        waiting(count)
    for count in (1000, 2000):  # another epoch, long after
        waiting(count)
    assert capfd.readouterr().err.splitlines() == ["drawing: 3,000 so far", "drawing: 5,000 so far"]


def test_a_warm_up_that_outlasts_the_steps_is_told(check: Check, answered: Callable[..., tuple[int, str, str]]) -> None:
    write(numbers(60))
    quick = ["training.steps=3", "training.device=cpu"]
    assert "! the warm-up of 50 steps is not over when training ends after 3" in check(*quick, "training.warmup=50")
    assert "warm-up" not in check(*quick)
    code, _, err = answered("train", "r.toml", *TINY, *quick, "training.warmup=50")
    assert code == 0, err
    assert "! the warm-up of 50 steps is not over" in err
