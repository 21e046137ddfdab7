"""How many cores other processes keep busy, and what to do where threads would stand in their way. Without torch.

The threads of OpenMP wait for each other by spinning. Where one of them has no core of its own, the others spin until
it has had its turn: two threads beside one busy process can be ten times slower than one thread.
"""

import os
import time
from pathlib import Path
from typing import NamedTuple

STATISTICS = Path("/proc/stat")  # of Linux; elsewhere nothing is known
IDLE = slice(3, 5)  # the columns idle and iowait; those before and after them are work
WORK = slice(0, 7)  # user, nice, system, idle, iowait, irq, softirq; what comes after them is counted there already
SHORTEST = 0.3  # seconds: in less, the hundredths that Linux counts in tell nothing
BUSY = 0.5  # of a core: what a quiet machine does aside is far less, a process that computes twice as much


class Watched(NamedTuple):
    """The seconds that have passed, that all processes have computed on the cores of this one, and that it has."""

    wall: float
    every: float
    own: float

    @classmethod
    def now(cls) -> "Watched":
        """Until now; of all processes 0 where the system does not tell."""
        return cls(time.perf_counter(), _computed(), time.process_time())

    def elsewhere(self) -> float:
        """How many cores others have kept busy since then, in the mean; 0 where nobody can say."""
        now = Watched.now()
        seconds = now.wall - self.wall
        if seconds < SHORTEST:
            return 0.0
        return max(0.0, (now.every - self.every - (now.own - self.own)) / seconds)

    def remarks(self, threads: int, cores: int, device: str = "cpu") -> list[str]:
        """What to do where so many threads have not had a core each since then; nothing where they have."""
        busy = self.elsewhere() if device == "cpu" else 0.0
        if threads < 2 or busy < BUSY or threads + busy < cores + BUSY:
            return []
        fewer = min(max(1, round(cores - busy)), threads - 1)
        return [
            f"other processes keep {busy:.1f} of {cores} cores busy: {threads} threads, which wait for each other, can "
            f"then be up to ten times slower than one; set training.threads={fewer}, or let the others end first"
        ]


def _computed() -> float:
    try:
        lines = STATISTICS.read_text(encoding="ascii").splitlines()
        mine = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        ticks = 0
        for name, *columns in (line.split() for line in lines if line.startswith("cpu")):
            if name in mine:
                found = [int(column) for column in columns[WORK]]
                ticks += sum(found) - sum(found[IDLE])
        return ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):  # AttributeError: a system without affinities
        return 0.0
