"""How the verbs speak: a bar on a terminal, plain lines elsewhere; results on standard output, the rest on error."""

import sys
from pathlib import Path

from rich.console import Console

from seqwright.training.distributed import World
from seqwright.training.reporter import Bar, Lines, Quiet, Reporter


def reporter() -> Reporter:
    """A progress bar where somebody watches, plain lines where not."""
    if World.rank_here():
        return Quiet()
    console = Console(stderr=True)
    return Bar(console) if console.is_terminal else Lines()


def say(sentence: str) -> None:
    """A remark that is not a result."""
    print(sentence, file=sys.stderr, flush=True)


def shown(path: Path) -> str:
    """A path as short as it can be said from here."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
