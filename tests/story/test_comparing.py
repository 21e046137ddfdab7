"""A comparison that is interrupted resumes, unattended, and finds what it would have found."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from seqwright.comparison import stages, work
from seqwright.comparison.plan import planned
from seqwright.comparison.results import results
from seqwright.comparison.settings import read_comparison

COMPARISON = """
threads = 1
resamples = 40
data = { examples = 300, valid = 5, test = 9, symbols = 5 }
training = { steps = 120, tokens = 150, warmup = 1, save_every = 4, validate_every = 120 }
[[rows]]
recipe = "reverse"
model = { width = 16, heads = 2, feed_forward = 32, encoder_layers = 1, decoder_layers = 1 }
"""


def compare(folder: Path, name: str, *words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "seqwright", "compare", f"{name}.toml", *words]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, **pipes)


def ended(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    said, told = process.communicate(timeout=200)
    return process.returncode, said, told


def without_clock(found: dict[str, Any]) -> dict[str, Any]:
    rows = [{name: value for name, value in row.items() if name != "cost"} for row in found["rows"]]
    return {**found, "rows": rows}


def found_here(path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a comparison finds that is done in this process, without a pause."""
    monkeypatch.setattr(stages, "done", work._done)
    plan = planned(*read_comparison(str(path)), runs)
    process = stages.Stages(plan, lambda sentence: None)
    found: dict[str, Any] = json.loads(json.dumps(results(plan, process.go(), process.records)))
    return found


@pytest.mark.long
def test_an_interrupted_comparison_resumes_and_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stopped.toml").write_text(COMPARISON, encoding="utf-8")
    whole = found_here(tmp_path / "stopped.toml", tmp_path / "others", monkeypatch)

    process = compare(tmp_path, "stopped", "--json")
    run = tmp_path / "runs" / "stopped" / "reverse-seed-1"
    until = time.monotonic() + 120
    while not any(run.glob("step-*")) and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    code, said, told = ended(process)
    assert (code, said) == (130, "")
    assert "the same command resumes from there" in told
    assert not any(run.glob("step-000120"))
    assert not (run.parent / "table.json").exists()

    code, said, told = ended(compare(tmp_path, "stopped", "--json"))
    assert code == 0
    assert "measuring" not in told
    assert "resuming from step" in told
    assert without_clock(json.loads(said)) == without_clock(whole)
    assert without_clock(json.loads((run.parent / "table.json").read_text())) == without_clock(whole)
    assert (run.parent / "table.md").is_file()
    assert (run.parent / "table.html").is_file()


def test_bad_files_end_with_code_2(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('budget = { minutes = 0 }\n[[rows]]\nrecipe = "reverse"\n', encoding="utf-8")
    code, said, told = ended(compare(tmp_path, "bad"))
    assert (code, said) == (2, "")
    assert told == "seqwright compare: budget.minutes: input should be greater than 0, not 0, in bad.toml\n"
