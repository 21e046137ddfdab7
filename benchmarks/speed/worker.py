"""A contestant in a process of its own: it makes itself ready once, and then works whenever it is its turn.

    python -m benchmarks.speed.worker MODULE FUNCTION SETTINGS LIBRARIES

Requests come as lines of JSON on standard input, the names of what to measure; answers go as lines of JSON to standard
output. What a library prints goes to standard error, so that it never ends up among the answers.
"""

import importlib
import importlib.metadata
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TextIO


class Work(NamedTuple):
    """What was done in a turn: so many units, and what came out, for whoever compares answers."""

    amount: float
    answer: Any = None


Turns = Mapping[str, Callable[[], Work]]
"""What a contestant can be asked to do, by the name of the measure."""


def main() -> None:
    module, function, settings, libraries = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        turns: Turns = getattr(importlib.import_module(module), function)(json.loads(settings))
        _write(answers, {"measures": list(turns), "versions": versions(libraries.split())})
        for line in sys.stdin:
            _write(answers, taken(turns[json.loads(line)]))
    except Exception as error:
        _write(answers, {"error": told(error)})
        raise


def taken(turn: Callable[[], Work]) -> dict[str, Any]:
    """A turn, timed by the clock and by the processor; the processes that it started count too."""
    cpu, began = processor_seconds(), time.perf_counter()
    work = turn()
    wall, cpu = time.perf_counter() - began, processor_seconds() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"amount": work.amount, "cpu": cpu, "wall": wall, "memory": memory, "answer": work.answer}


def processor_seconds() -> float:
    """Of this process and of those that it started and that are over."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def versions(libraries: list[str]) -> dict[str, str]:
    """Those of the libraries that are installed here."""
    found = {}
    for name in libraries:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def told(error: Exception) -> str:
    """An error in a line."""
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first.strip()}" if first else type(error).__name__


def _write(answers: TextIO, answer: Mapping[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
