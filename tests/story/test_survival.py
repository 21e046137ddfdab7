"""A training killed with SIGKILL, inside tokenising, validation and saving too, resumes and ends in the same bytes.

What is killed, watched and compared stands in `benchmarks/survival.py`; here it is held to its promises.
"""

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from safetensors.torch import load_file

from benchmarks.killing import ForkServer, Moment
from benchmarks.small_recipes import FAMILIES
from benchmarks.survival import (
    BETWEEN,
    INSIDE,
    QUICK,
    Kill,
    Outcome,
    Plan,
    contents,
    damaged,
    moments,
    newest,
    shortcomings,
    survived,
)
from seqwright.runs import open_run


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with ForkServer() as server:
        yield server


@pytest.mark.parametrize("name", QUICK.kills)
def test_a_training_that_was_killed_ends_in_the_same_bytes(name: str, server: ForkServer, tmp_path: Path) -> None:
    outcome = survived(server, QUICK, name, tmp_path)
    assert shortcomings(QUICK, outcome) == []
    assert len(outcome.kills) == QUICK.kills[name]
    assert outcome.phases["tokenising"] == 1
    assert outcome.files > 8


@pytest.mark.long
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_survives_kills_inside_every_phase(name: str, server: ForkServer, tmp_path: Path) -> None:
    plan = Plan({name: 12}, seed=2)
    outcome = survived(server, plan, name, tmp_path)
    assert shortcomings(plan, outcome) == []
    assert outcome.phases[BETWEEN] == 6
    assert {"validation", "saving"} <= outcome.phases.keys()


# ------------------------------------------------------------------------------------------------ interrupted


def test_stopped_by_ctrl_c_it_saves_and_ends_in_the_same_bytes(server: ForkServer, tmp_path: Path) -> None:
    family, home, other = FAMILIES["language"], tmp_path / "undisturbed", tmp_path / "stopped"
    words = family.command(steps=3000, save_every=4)
    short = family.command(steps=40, save_every=4)
    for folder in (home, other):
        family.write(folder)
    assert server.run(*short, folder=home).code == 0
    with subprocess.Popen([sys.executable, "-m", "seqwright", *words], cwd=other, stderr=subprocess.PIPE) as process:
        while newest(other / "run") == 0 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 130, said
    step = newest(other / "run")
    assert f"stopped and saved at step {step}; the same command resumes from there" in said
    if step < 40:
        assert server.run(*short, folder=other).code == 0
        assert contents(other / "run") == contents(home / "run")


def test_a_state_in_the_middle_of_a_text_is_among_what_is_compared(server: ForkServer, tmp_path: Path) -> None:
    family = FAMILIES["language"]
    family.write(tmp_path)
    assert server.run(*family.command(steps=22, save_every=4), folder=tmp_path).code == 0
    assert "step-000022/carry.safetensors" in contents(tmp_path / "run")
    carry = load_file(tmp_path / "run" / "step-000022" / "carry.safetensors")
    assert [tuple(tensor.shape) for tensor in carry.values()] == [(90 // 7, 24)] * 4  # two layers, hidden and memory
    state = json.loads((tmp_path / "run" / "step-000022" / "state.json").read_text(encoding="utf-8"))
    assert state["place"][1] > 0


# ------------------------------------------------------------------------------------------------ what is measured


def checkpoint(run: Path, step: int, content: bytes) -> Path:
    folder = run / f"step-{step:06d}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(content)
    sums = {"model.safetensors": hashlib.sha256(content).hexdigest()}
    (folder / "state.json").write_text(json.dumps({"sha256": sums, "seconds": time.monotonic()}), encoding="utf-8")
    return folder


def test_two_runs_are_compared_by_everything_but_the_time(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for run in (one, other):
        checkpoint(run, 7, b"weights")
        (run / "pace.jsonl").write_text(str(time.monotonic()))
    assert contents(one) == contents(other)
    (other / ".left.writing").touch()
    (other / "step-000007" / "model.safetensors").write_bytes(b"heights")
    assert {name for name, _ in contents(one).items() ^ contents(other).items()} == {
        ".left.writing",
        "step-000007/model.safetensors",
    }


@pytest.mark.parametrize(
    ("name", "whole", "half"),
    [
        ("eval/test.json", "{}", "{"),
        ("resolved.toml", "a = 1\n", "a ="),
        ("pictures/curve.svg", "<svg></svg>\n", "<svg>"),
        ("best", "step-000001\n", ""),
    ],
)
def test_what_is_half_written_is_found(name: str, whole: str, half: str, tmp_path: Path) -> None:
    checkpoint(tmp_path, 1, b"whole")
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(whole)
    (tmp_path / ".aside.writing").write_text("half")
    assert damaged(tmp_path) == []
    path.write_text(half)
    assert damaged(tmp_path) == [name]
    (tmp_path / "step-000001" / "model.safetensors").write_bytes(b"who")
    assert len(damaged(tmp_path)) == 2


def test_half_of_the_kills_fall_into_the_phases_in_turn() -> None:
    plan = Plan({"masked": 30})
    found = [*moments(plan, "masked", FAMILIES["masked"], {"tokenising": 5, "validation": 7, "saving": 3})]
    kinds = [moment.kind for moment in found]
    assert [kinds.count(kind) for kind in (BETWEEN, *INSIDE)] == [15, 5, 5, 5]
    assert {moment.number for moment in found if moment.kind == "saving"} <= {1, 2, 3}
    assert found == [*moments(plan, "masked", FAMILIES["masked"], {"tokenising": 5, "validation": 7, "saving": 3})]


def test_too_much_repeated_work_and_a_wrong_place_are_told() -> None:
    plan, good = Plan({}, save_every=5), Kill("saving", reached=15, whole=10, damaged=[], resumed=10)
    fine = Outcome([good], [], 1, files=9, sha256="", undisturbed_seconds=1, killed_seconds=1)
    assert shortcomings(plan, fine) == []
    assert shortcomings(plan, fine._replace(kills=[good._replace(resumed=None)])) == []
    lost = [good._replace(damaged=["best"]), good._replace(reached=16), good._replace(resumed=11)]
    told = shortcomings(plan, fine._replace(kills=lost, differences=["last"]))
    assert len(told) == 4
    assert "last differs" in told[0]
    assert "after kill 1 best was not whole" in told[1]
    assert "after kill 2 6 steps were repeated" in told[2]
    assert "after kill 3 step 10 was whole" in told[3]


# ------------------------------------------------------------------------------------------------ while it trains


def test_a_process_dies_at_the_moment_that_was_asked_for(server: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text(FAMILIES["classification"].files["train.tsv"])
    words = ("new", "text-classification", "--data", "train.tsv", "--output", "own.toml")
    ended = server.run(*words, folder=tmp_path, kill=Moment("files", 1))
    assert ended.killed
    assert [path.name for path in tmp_path.iterdir() if "own" in path.name] in ([], [".own.toml.writing"])
    ended = server.run(*words, folder=tmp_path)
    assert ended.code == 0, ended.said
    assert ended.counts["files"] >= 4  # truncated, written, synced and renamed
    assert server.run(*words, folder=tmp_path, kill=Moment("files", 10**6)).code == 2  # it exists


def test_a_run_that_is_copied_while_it_trains_opens(server: ForkServer, tmp_path: Path) -> None:
    """At every moment, of which a few are tried: what a copy holds is what a kill leaves."""
    family = FAMILIES["classification"]
    family.write(tmp_path)
    words = family.command(steps=12, save_every=4)
    assert server.run(*words, folder=tmp_path, kill=Moment("saving", 1, entry=2)).killed
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    ended = server.run("classify", "copy", "the sea was fine", folder=tmp_path)
    assert ended.code == 0, ended.said
    assert server.run(*words, folder=tmp_path).code == 0
    again = [*words[:-4], "copy", *words[-3:]]
    assert server.run(*again, folder=tmp_path).code == 0
    assert contents(tmp_path / "copy").keys() == contents(tmp_path / "run").keys()


@pytest.mark.long
def test_every_copy_of_a_run_that_is_training_opens_and_predicts(tmp_path: Path) -> None:
    """`cp -r` in a loop beside a real training that saves all the time; where it must, a copy says what it uses."""
    family, copies = FAMILIES["classification"], 20
    family.write(tmp_path)
    words = [*family.command(steps=100_000, save_every=3), "training.keep=3"]
    with subprocess.Popen(
        [sys.executable, "-m", "seqwright", *words], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as training:
        while newest(tmp_path / "run") == 0 and training.poll() is None:
            time.sleep(0.01)
        for number in range(copies):
            subprocess.run(["cp", "-r", "run", f"copy-{number}"], cwd=tmp_path, stderr=subprocess.DEVNULL, check=False)
        assert training.poll() is None
        training.kill()
    steps = []
    for number in range(copies):
        told: list[str] = []
        run = open_run(tmp_path / f"copy-{number}", which="last", notice=told.append)
        assert run("the sea was fine").label in {"good", "bad"}
        assert all(f"using step {run.step} instead" in sentence for sentence in told)
        steps.append(run.step)
    assert max(steps) > min(steps)
