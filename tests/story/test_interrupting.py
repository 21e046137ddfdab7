"""Ctrl-C in a terminal, in real processes: no traceback, code 130, a sentence, and the same command does the rest."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

RECIPE = """
task = "translation"
[data]
train = "pairs.tsv"
valid = "pairs.tsv"
[input]
tokenizer = "words"
[model]
kind = "transformer"
width = 8
heads = 2
encoder_layers = 1
decoder_layers = 1
feed_forward = 16
[training]
steps = {steps}
tokens = 64
warmup = 1
validate_every = 100000
save_every = 100000
threads = 1
"""
SLOW_SAVES = """
import os, time
def slowly(descriptor, sync=os.fsync):
    time.sleep(0.3)
    sync(descriptor)
os.fsync = slowly
"""
SLOW_PREDICTIONS = """
import time
from pathlib import Path
from seqwright.tasks.wired import Wires
def slowly(self, *given, predictions=Wires.predictions, **named):
    Path("predicting").touch()
    time.sleep(2)
    return predictions(self, *given, **named)
Wires.predictions = slowly
"""
SLOW_STEPS = """
import time
from pathlib import Path
from seqwright.training.loop import Fitting
def slowly(self, update=Fitting.update):
    Path("stepping").touch()
    time.sleep(0.05)
    return update(self)
Fitting.update = slowly
"""
COMPARISON = """
threads = 1
resamples = 40
data = { examples = 300, valid = 5, test = 9, symbols = 5 }
training = { steps = 12, tokens = 150, warmup = 1, validate_every = 12 }
[[rows]]
recipe = "reverse"
model = { width = 16, heads = 2, feed_forward = 32, encoder_layers = 1, decoder_layers = 1 }
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a recipe and its data."""
    lines = [f"{word} {number}\t{number} {word}" for word in ("red", "blue", "old") for number in range(7)]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "r.toml").write_text(RECIPE.format(steps=100_000), encoding="utf-8")
    return tmp_path


class Typed:
    """A command in a session of its own, as in a terminal; `before` is done first in its process."""

    def __init__(self, home: Path, *words: str, before: str = "") -> None:
        heard = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)"  # a shell's & turns it off
        program = f"{heard}\n{before}\nfrom seqwright.__main__ import main\nmain()"
        self.errors = home / f"errors-{words[0]}.txt"
        with self.errors.open("w", encoding="utf-8") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-c", program, *words],
                cwd=home,
                stdout=subprocess.DEVNULL,
                stderr=file,
                start_new_session=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )

    @property
    def told(self) -> str:
        return self.errors.read_text(encoding="utf-8")

    def wait_until(self, so: Callable[[], bool]) -> None:
        until = time.monotonic() + 120
        while not so():
            assert self.process.poll() is None, self.told
            assert time.monotonic() < until, self.told
            time.sleep(0.01)

    def ctrl_c(self) -> None:
        """To every process of the session, as a terminal sends it."""
        os.killpg(self.process.pid, signal.SIGINT)

    def ended(self) -> int:
        code = self.process.wait(timeout=120)
        assert "Traceback" not in self.told
        assert "KeyboardInterrupt" not in self.told
        return code


def saving(run: Path) -> bool:
    return any(run.glob(".step-*.writing/*"))


def finished(home: Path) -> Path:
    """The run, after the same command was typed again, with fewer steps so that it ends."""
    last = int((home / "runs/r/last").read_text().removeprefix("step-")) if (home / "runs/r/last").exists() else 0
    (home / "r.toml").write_text(RECIPE.format(steps=last + 3), encoding="utf-8")
    again = Typed(home, "train", "r.toml")
    assert again.ended() == 0
    assert ("resuming from step" in again.told) == (last > 0)
    assert (home / "runs/r/last").read_text().strip() == f"step-{last + 3:06d}"
    assert not saving(home / "runs/r")
    return home / "runs/r"


@pytest.mark.long
def test_one_ctrl_c_saves_and_a_second_one_while_it_saves_stops_at_once(home: Path) -> None:
    first = Typed(home, "train", "r.toml", "training.save_every=5", before=SLOW_SAVES)
    run = home / "runs/r"
    first.wait_until(lambda: (run / "last").exists() and not saving(run))
    first.ctrl_c()
    first.wait_until(lambda: saving(run))
    first.ctrl_c()
    assert first.ended() == 130
    assert "stopped at once, nothing saved since the last checkpoint; the same command resumes" in first.told
    finished(home)


@pytest.mark.long
def test_a_ctrl_c_after_it_has_saved_changes_nothing(home: Path) -> None:
    running = Typed(home, "train", "r.toml")
    running.wait_until((home / "runs/r/resolved.toml").exists)
    running.ctrl_c()
    running.wait_until(lambda: "stopped and saved" in running.told or running.process.poll() is not None)
    if running.process.poll() is None:
        running.ctrl_c()
    assert running.ended() == 130
    assert "the same command resumes from there" in running.told
    finished(home)


def test_ctrl_c_while_a_rate_is_searched_for_leaves_no_run(home: Path) -> None:
    searching = Typed(home, "train", "r.toml", "training.rate=find", "training.schedule=constant", before=SLOW_STEPS)
    searching.wait_until((home / "stepping").exists)
    searching.ctrl_c()
    assert searching.ended() == 130
    assert "stopped before the first step, and nothing is left behind; the same command starts over" in searching.told
    assert not (home / "runs/r").exists()


@pytest.mark.long
def test_ctrl_c_in_the_middle_of_eval_writes_nothing(home: Path) -> None:
    (home / "r.toml").write_text(RECIPE.format(steps=2), encoding="utf-8")
    assert Typed(home, "train", "r.toml").ended() == 0
    before = set((home / "runs/r").rglob("*"))
    judging = Typed(home, "eval", "runs/r", "--part", "valid", before=SLOW_PREDICTIONS)
    judging.wait_until((home / "predicting").exists)
    judging.ctrl_c()
    assert judging.ended() == 130
    assert judging.told.endswith(
        "seqwright eval: stopped before it was done; nothing is half-written: run the same command again\n"
    )
    assert set((home / "runs/r").rglob("*")) == before
    assert Typed(home, "eval", "runs/r", "--part", "valid").ended() == 0
    assert (home / "runs/r/eval").is_dir()


@pytest.mark.long
@pytest.mark.parametrize("stage", ["measuring", "evaluating"])
def test_ctrl_c_in_the_middle_of_a_comparison_keeps_what_was_trained(tmp_path: Path, stage: str) -> None:
    (tmp_path / "both.toml").write_text(COMPARISON, encoding="utf-8")
    comparing = Typed(tmp_path, "compare", "both.toml")
    comparing.wait_until(lambda: stage in comparing.told)
    comparing.ctrl_c()
    assert comparing.ended() == 130
    assert "stopped; what was trained is saved, and the same command resumes from there" in comparing.told
    assert not (tmp_path / "runs/both/table.json").exists()
    again = Typed(tmp_path, "compare", "both.toml")
    assert again.ended() == 0
    assert ("training, " in again.told) == (stage == "measuring")
    assert (tmp_path / "runs/both/table.json").is_file()
