"""The test suite on another machine than this one, as far as one can be had: each run has one property changed.

    python -m tools.anywhere                         all of them, one after another, as long as `make test` each
    python -m tools.anywhere order locale            some
    python -m tools.anywhere avx2 -- tests/oracle    of some tests

What came of each run is kept in `results/anywhere.json`, where those of other properties stay; it fails where one did.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.record import REPOSITORY, commit, machine, today

RECORD = REPOSITORY / "results" / "anywhere.json"
SHUFFLED = "SEQWRIGHT_SHUFFLED"  # the seed of the order of the tests


class Property(NamedTuple):
    """What is changed: variables of the environment, and what that stands for."""

    environment: dict[str, str]
    about: str


PROPERTIES = {
    "avx2": Property(
        {"ATEN_CPU_CAPABILITY": "avx2", "DNNL_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
        "a processor without AVX-512",
    ),
    "default": Property(
        {"ATEN_CPU_CAPABILITY": "default", "DNNL_MAX_CPU_ISA": "SSE41", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2"},
        "a processor without any wide instructions",
    ),
    "threads": Property({"OMP_NUM_THREADS": "2"}, "two threads, which add in another order"),
    "order": Property({SHUFFLED: "11"}, "the tests in a random order"),
    "locale": Property(
        {"LC_ALL": "C", "COLUMNS": "60", "PYTHONHASHSEED": "7"}, "no UTF-8 locale, 60 columns, another hash seed"
    ),
}


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """As a plugin of pytest: files in a random order, and in each its tests; the same in every process."""
    if seed := os.environ.get(SHUFFLED):
        rng = random.Random(seed)
        place = {file: rng.random() for file in sorted({str(item.path) for item in items})}
        items.sort(key=lambda item: (place[str(item.path)], rng.random()))


def run(name: str, words: list[str]) -> dict[str, Any]:
    """What the suite says with one property changed."""
    changed, began = PROPERTIES[name], time.monotonic()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **changed.environment}
    command = [sys.executable, "-m", "pytest", "-p", "tools.anywhere", "-n", "2", "-m", "not long", "-q", *words]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    *_, last = done.stdout.strip().splitlines() or [""]
    if done.returncode:
        print(done.stdout)
    print(f"{name} ({changed.about}): {last.strip('= ')}")
    return {
        "environment": changed.environment,
        "tests": words,
        "passed": done.returncode == 0,
        "said": last.strip("= "),
        "minutes": round((time.monotonic() - began) / 60, 1),
        "commit": commit(),
        "date": today(),
        "machine": machine(),
    }


def main(record: Path = RECORD) -> int:
    """Run them, write down what came of each, and say whether all passed."""
    words, tests = sys.argv[1:], list[str]()
    if "--" in words:
        place = words.index("--")
        words, tests = words[:place], words[place + 1 :]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = "; ".join(f"{name}: {each.about}" for name, each in PROPERTIES.items())
    parser.add_argument("names", nargs="*", metavar="PROPERTY", help=known)
    names = parser.parse_args(words).names or list(PROPERTIES)
    if unknown := set(names) - PROPERTIES.keys():
        parser.error(f"there is no property {', '.join(sorted(unknown))}; choose of {', '.join(PROPERTIES)}")
    found: dict[str, Any] = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    failed = False
    for name in names:
        found[name] = run(name, tests)
        failed |= not found[name]["passed"]
        record.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
