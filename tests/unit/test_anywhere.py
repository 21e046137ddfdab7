"""`tools.anywhere`: what each property changes, and that what came of it is written down."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conftest import threads
from tools import anywhere


class Item(NamedTuple):
    """A test, as far as its order needs it."""

    path: Path
    name: str


ITEMS = [Item(Path(file), name) for file in ("a.py", "b.py", "c.py", "d.py", "e.py") for name in "klmn"]


def order(seed: str, monkeypatch: pytest.MonkeyPatch) -> list[Item]:
    monkeypatch.setenv(anywhere.SHUFFLED, seed)
    items = list(ITEMS)
    anywhere.pytest_collection_modifyitems(items)
    return items


def test_files_stay_together_in_a_random_order_that_is_the_same_in_every_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = order("11", monkeypatch)
    assert one == order("11", monkeypatch)
    assert one != order("12", monkeypatch)
    assert sorted(one) == sorted(ITEMS) != one
    files = [item.path for item in one]
    assert sum(here != there for here, there in pairwise(files)) == 4
    monkeypatch.delenv(anywhere.SHUFFLED)
    items = list(ITEMS)
    anywhere.pytest_collection_modifyitems(items)
    assert items == ITEMS


def test_each_property_is_run_by_its_name_and_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[list[str], dict[str, str]]] = []

    def done(command: list[str], **given: Any) -> subprocess.CompletedProcess[str]:
        asked.append((command, given["env"]))
        failed = "COLUMNS" in given["env"]
        return subprocess.CompletedProcess(command, int(failed), "1 failed" if failed else "=== 7 passed ===\n")

    monkeypatch.setattr(subprocess, "run", done)
    monkeypatch.setattr(anywhere, "commit", lambda: "abc")
    monkeypatch.delenv("COLUMNS", raising=False)
    record = tmp_path / "anywhere.json"
    monkeypatch.setattr(sys, "argv", ["anywhere", "threads", "--", "tests/unit"])
    assert anywhere.main(record) == 0
    ((command, environment),) = asked
    assert (command[-1], environment["OMP_NUM_THREADS"]) == ("tests/unit", "2")
    monkeypatch.setattr(sys, "argv", ["anywhere"])
    assert anywhere.main(record) == 1
    found = json.loads(record.read_text(encoding="utf-8"))
    assert {name: each["passed"] for name, each in found.items()} == {
        "threads": True,
        "avx2": True,
        "default": True,
        "order": True,
        "locale": False,
    }
    assert found["order"]["said"] == "7 passed"
    for name, each in anywhere.PROPERTIES.items():
        environment = next(env for _, env in asked[1:] if each.environment.items() <= env.items())
        assert found[name]["environment"] == each.environment
    assert "locale (no UTF-8 locale, 60 columns, another hash seed): 1 failed" in capsys.readouterr().out


def test_tests_compute_with_the_threads_that_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert threads() == 2
