"""What every benchmark shares: its options, its table, and the JSON of its numbers in `results/`.

    python -m benchmarks.NAME [--quick]        from the repository's folder

It imports no torch, so that a benchmark can run without.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

REPOSITORY = Path(__file__).resolve().parent.parent
# As Linux names them: of x86, then of ARM.
INSTRUCTIONS = (
    *("avx", "f16c", "fma", "avx2", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16"),
    *("asimd", "asimdhp", "asimddp", "sve", "sve2", "bf16", "i8mm"),
)


def options(name: str, about: str | None) -> argparse.ArgumentParser:
    """The options of a benchmark, to which it adds its own; `about` is the docstring of its module."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="a few seconds that only show that the script works")
    parser.add_argument(
        "--results",
        type=Path,
        help=f"the folder for {name}.json (default: results; with --quick runs/quick, for such numbers mean nothing)",
    )
    return parser


def command() -> str:
    """What makes these numbers again: what was typed, but for where they go."""
    return shlex.join(["python", "-m", f"benchmarks.{Path(sys.argv[0]).stem}", *_said(sys.argv[1:])])


def _said(words: list[str]) -> list[str]:
    """What the command line says, but for where numbers and run folders go."""
    for option in ("--results", "--runs"):
        if option in words:
            place = words.index(option)
            words = words[:place] + words[place + 2 :]
    return words


def record(
    name: str,
    about: str | None,
    given: argparse.Namespace,
    *,
    threads: int,
    libraries: Sequence[str],
    settings: Mapping[str, Any],
    numbers: Mapping[str, Any],
) -> Path:
    """Write the numbers with all that made them: command, versions, threads, machine and date."""
    folder = given.results or REPOSITORY / ("runs/quick" if given.quick else "results")
    written = {
        "name": name,
        "question": (about or "").strip().split("\n", maxsplit=1)[0],
        "command": command(),
        "date": today(),
        "machine": machine(),
        "versions": versions(libraries),
        "threads": threads,
        "settings": settings,
        "numbers": numbers,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path: Path = folder / f"{name}.json"
    path.write_text(json.dumps(written, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"\nwritten to {os.path.relpath(path)}")
    return path


def show(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column to the left, numbers to the right."""
    table = Table(box=None, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(width=120, highlight=False).print(table)


def today() -> str:
    """The date."""
    return datetime.now(UTC).date().isoformat()


def commit() -> str | None:
    """The commit that is checked out, marked where the code differs from it; None outside a repository."""
    told = [
        subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=False)
        for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--", "src", "benchmarks"])
    ]
    if any(each.returncode for each in told):
        return None
    head, changes = (each.stdout.strip() for each in told)
    return f"{head} and changes" if changes else head


def machine() -> dict[str, Any]:
    """The processor, what instructions it has that matter here, its cores, its memory, and the system."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in reversed(lines))}
    there = set(facts.get("flags", facts.get("Features", "")).split())
    return {
        "cpu": facts.get("model name") or platform.processor() or "unknown",
        "instructions": [name for name in INSTRUCTIONS if name in there],
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions(libraries: Sequence[str]) -> dict[str, str]:
    """The versions of Python, Seqwright and the libraries that a benchmark measures."""
    from seqwright import __version__

    found = {name: importlib.metadata.version(name) for name in libraries}
    return {"python": platform.python_version(), "seqwright": __version__, **found}
