"""How long does `seqwright --help` take, and does it import torch?

The best of several runs is what the program needs; the rest is what else the machine was doing. Which modules are
imported is read from Python's own account of them, `-X importtime`.
"""

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.record import options, record, show

MARK = 0.4  # seconds
SLOWEST = 5  # modules named with their time


def main() -> None:
    parser = options("help", __doc__)
    parser.add_argument("--repetitions", type=int, default=5, help="runs of which the best counts")
    given = parser.parse_args()
    repetitions = 1 if given.quick else given.repetitions

    command = help_command()
    subprocess.run(command, check=True, capture_output=True)  # the first run also writes Python's bytecode
    seconds = [duration(command) for _ in range(repetitions)]
    imported = imported_modules()
    torch_imported = any(name.split(".")[0] == "torch" for name in imported)
    slowest = dict(sorted(imported.items(), key=lambda item: -item[1])[:SLOWEST])

    show(
        ["seqwright --help", ""],
        [
            ["best", f"{min(seconds):.3f} s"],
            ["worst", f"{max(seconds):.3f} s"],
            ["modules imported", f"{len(imported)}"],
            ["torch imported", "yes" if torch_imported else "no"],
            *([f"  {name}", f"{own:.3f} s"] for name, own in slowest.items()),
        ],
    )
    record(
        "help",
        __doc__,
        given,
        threads=1,
        libraries=["typer", "rich"],
        settings={"program": "seqwright" if len(command) == 2 else "python -m seqwright", "repetitions": repetitions},
        numbers={
            "best_seconds": round(min(seconds), 4),
            "seconds": [round(value, 4) for value in seconds],
            "mark_seconds": MARK,
            "reached": min(seconds) < MARK,
            "torch_imported": torch_imported,
            "modules_imported": len(imported),
            "slowest_modules_seconds": slowest,
        },
    )
    if torch_imported:
        sys.exit("`seqwright --help` imports torch, which takes seconds; import it where a verb needs it.")


def help_command() -> list[str]:
    """The installed program where there is one beside this Python, otherwise the module."""
    program = Path(sys.executable).parent / "seqwright"
    return [str(program), "--help"] if program.exists() else [sys.executable, "-m", "seqwright", "--help"]


def duration(command: list[str]) -> float:
    """Seconds from starting a program to its end."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def imported_modules() -> dict[str, float]:
    """Every module that `--help` imports, with the seconds spent in itself."""
    command = [sys.executable, "-X", "importtime", "-m", "seqwright", "--help"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    rows = [line.removeprefix("import time:").split("|") for line in told.splitlines() if line.startswith("import")]
    return {name.strip(): int(own) / 1e6 for own, _, name in rows if own.strip().isdigit()}


if __name__ == "__main__":
    main()
