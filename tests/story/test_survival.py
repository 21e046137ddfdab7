"""A training killed with SIGKILL, inside a save too, goes on and ends in the same bytes: the benchmark in small.

What is killed, watched and compared stands in `benchmarks/survival.py`; here it is held to its promises.
"""

import hashlib
import importlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def survival() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(REPOSITORY))
        yield importlib.import_module("benchmarks.survival")


def checkpoint(run: Path, step: int, content: bytes) -> Path:
    folder = run / f"step-{step:06d}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(content)
    sums = {"model.safetensors": hashlib.sha256(content).hexdigest()}
    (folder / "state.json").write_text(json.dumps({"sha256": sums}), encoding="utf-8")
    return folder


def finished(run: Path, content: bytes = b"weights", journal: str = '{"step": 7}\n') -> Path:
    checkpoint(run, 7, content)
    (run / "journal.jsonl").write_text(journal, encoding="utf-8")
    for mark in ("best", "last"):
        (run / mark).write_text("step-000007\n", encoding="utf-8")
    return run


def test_a_training_that_was_killed_ends_in_the_same_bytes(survival: ModuleType, tmp_path: Path) -> None:
    plan = survival.QUICK
    outcome = survival.survived(plan, tmp_path)
    assert survival.shortcomings(plan, outcome) == []
    assert len(outcome.kills) >= 3
    assert outcome.inside >= 1
    assert {Path(name).name for name in outcome.sha256} >= {
        "model.safetensors",
        "averages.safetensors",
        "optimizer.safetensors",
        "journal.jsonl",
    }


def test_every_kind_of_difference_between_two_runs_is_named(survival: ModuleType, tmp_path: Path) -> None:
    one, same = finished(tmp_path / "one"), finished(tmp_path / "same")
    assert survival.differences(one, same) == []
    other = finished(tmp_path / "other", content=b"heights", journal="")
    checkpoint(tmp_path / "other", 5, b"an earlier step does not matter")
    (other / "step-000007" / "averages.safetensors").touch()
    assert survival.differences(one, other) == [
        "journal.jsonl",
        "step-000007/averages.safetensors",
        "step-000007/model.safetensors",
    ]


def test_a_damaged_checkpoint_is_not_the_newest_whole_one(survival: ModuleType, tmp_path: Path) -> None:
    assert survival.newest_whole(tmp_path) == 0
    checkpoint(tmp_path, 3, b"whole")
    (checkpoint(tmp_path, 5, b"damaged") / "model.safetensors").write_bytes(b"damages")
    assert survival.newest(tmp_path) == 5
    assert survival.newest_whole(tmp_path) == 3


def test_what_an_earlier_kill_left_is_not_a_save_under_way(survival: ModuleType, tmp_path: Path) -> None:
    aside = tmp_path / ".step-000003.writing"
    aside.mkdir()
    (aside / "model.safetensors").write_bytes(b"left half-written")
    launched = time.time_ns() + 10**9
    assert not survival.saving(tmp_path, launched)
    later = launched + 10**9
    os.utime(aside, ns=(later, later))  # as if the next save had begun to clear it
    assert survival.saving(tmp_path, launched)
    assert not survival.saving(tmp_path, launched, files=1)
    os.utime(aside / "model.safetensors", ns=(later, later))
    assert survival.saving(tmp_path, launched, files=1)


def test_too_much_repeated_work_and_a_wrong_place_are_told(survival: ModuleType) -> None:
    plan = survival.Plan(save_every=5)
    good = survival.Kill(inside=True, files=[], reached=15, whole=10, resumed=10)
    fine = survival.Outcome([good], [], {}, epochs=1, validations=2, undisturbed_seconds=1, killed_seconds=1)
    assert survival.shortcomings(plan, fine) == []
    lost = fine._replace(kills=[good, good._replace(reached=16), good._replace(resumed=11)], differences=["best"])
    told = survival.shortcomings(plan, lost)
    assert len(told) == 3
    assert "best differs" in told[0]
    assert "after kill 2 6 steps were repeated" in told[1]
    assert "after kill 3 step 10 was whole" in told[2]
