"""Threads beside a busy process: what others compute is measured, and told where it is in the way of threads."""

import os
import time
from pathlib import Path

import pytest

from seqwright import busy_cores
from seqwright.busy_cores import Watched

CORES = 3


class Machine:
    """A machine of three cores whose clocks stand still until they are moved."""

    def __init__(self, statistics: Path) -> None:
        self.statistics, self.tick = statistics, os.sysconf("SC_CLK_TCK")
        self.wall = self.own = 0.0
        self.busy = [0.0] * (CORES + 1)  # of the last core, which this process may not use
        self._write()

    def work(self, seconds: float, *, own: float, others: tuple[float, ...]) -> None:
        """So many seconds pass, in which this process and others have computed; its own on its first core."""
        self.wall, self.own = self.wall + seconds, self.own + own
        self.busy = [before + more for before, more in zip(self.busy, others, strict=True)]
        self.busy[0] += own
        self._write()

    def _write(self) -> None:
        idle = [round((self.wall - busy) * self.tick) for busy in self.busy]
        lines = ["cpu  1 2 3 4 5 6 7 8 9 10"]
        for number, busy in enumerate(self.busy):
            user, system = round(busy * self.tick) - 1, 1 if busy else 0
            lines.append(f"cpu{number} {max(user, 0)} 0 {system} {idle[number]} 17 0 0 0 3 0")
        self.statistics.write_text("\n".join([*lines, "intr 5 7", "ctxt 11"]), encoding="ascii")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine(tmp_path / "stat")
    monkeypatch.setattr(busy_cores, "STATISTICS", found.statistics)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(CORES)), raising=False)
    monkeypatch.setattr(time, "perf_counter", lambda: found.wall)
    monkeypatch.setattr(time, "process_time", lambda: found.own)
    return found


def test_what_others_compute_is_what_all_do_without_what_this_process_does(machine: Machine) -> None:
    machine.work(5.0, own=2.0, others=(0.5, 0.25, 0.0, 4.0))
    watched = Watched.now()
    machine.work(2.0, own=1.5, others=(0.25, 0.75, 1.5, 2.0))
    assert watched.elsewhere() == pytest.approx(2.5 / 2, abs=0.02)


def test_threads_without_a_core_each_are_told_of(machine: Machine) -> None:
    watched = Watched.now()
    machine.work(2.0, own=0.9, others=(0.0, 0.0, 1.9, 0.0))
    (told,) = watched.remarks(CORES, CORES)
    assert "0.9 of 3 cores busy: 3 threads" in told or "1.0 of 3 cores busy: 3 threads" in told
    assert "set training.threads=2" in told
    assert not watched.remarks(2, CORES)  # these have one each
    assert not watched.remarks(1, CORES)
    assert not watched.remarks(CORES, CORES, "cuda")  # which computes itself


def test_a_quiet_machine_is_not_warned_of(machine: Machine) -> None:
    watched = Watched.now()
    machine.work(2.0, own=6.0, others=(0.1, 0.1, 0.1, 0.0))  # with all of its threads
    assert watched.remarks(CORES, CORES) == []


def test_too_short_a_time_tells_nothing(machine: Machine) -> None:
    watched = Watched.now()
    machine.work(0.1, own=0.0, others=(0.0, 0.1, 0.1, 0.0))
    assert watched.remarks(CORES, CORES) == []


def test_a_system_that_tells_nothing_is_not_warned_of(machine: Machine) -> None:
    machine.statistics.unlink()
    watched = Watched.now()
    machine.wall += 2.0
    assert watched.remarks(CORES, CORES) == []
