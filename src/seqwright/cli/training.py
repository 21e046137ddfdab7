"""`train` and `distil`: a recipe into a run folder."""

import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from seqwright.cli.options import TrainingOptions
from seqwright.cli.storage import storage_table
from seqwright.cli.terminal import command, say, shown
from seqwright.errors import RunError
from seqwright.model_card import draw_curve, write_card
from seqwright.recipe import read_recipe, recipe_text
from seqwright.runs import train
from seqwright.training.checkpoint import steps_on_disk
from seqwright.training.counting import Stored
from seqwright.training.distributed import World
from seqwright.training.interruption import Interrupted
from seqwright.training.reporter import Both, usual_reporter
from seqwright.training.tensorboard import TensorBoard


def distil_recipe(
    teachers: Sequence[Path], where: str, overrides: list[str], run: Path | None, options: TrainingOptions
) -> None:
    """Train, with teachers; by default not into the folder of the recipe without one."""
    folder = run or Path("runs") / f"{Path(where).stem}-distilled"
    train_recipe(where, overrides, folder, options, teachers=[*map(str, teachers)])


def train_recipe(
    where: str, overrides: list[str], run: Path | None, options: TrainingOptions, teachers: Sequence[str] = ()
) -> None:
    """Train, and say what to do next."""
    recipe = read_recipe(where, overrides, run=run, teachers=teachers, notice=say)
    folder = run or Path("runs") / recipe.name
    if options.fresh:
        _make_sure(folder, options.yes)
    told = Both(usual_reporter(), TensorBoard(folder / "tensorboard")) if options.tensorboard else usual_reporter()
    began = time.monotonic()
    try:
        trained = train(recipe, folder, text=recipe_text(where)[1], reporter=told, fresh=options.fresh)
    except Interrupted as stop:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is saved: another Ctrl-C would only interrupt leaving
        say(stop.told("the same command"))
        sys.exit(130)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        say("\nstopped at once, nothing saved since the last checkpoint; the same command resumes from there")
        sys.exit(130)
    if World.rank_here():
        return
    write_card(trained)
    draw_curve(folder)
    if isinstance(trained.model, Stored):
        Console(stderr=True).print(storage_table(trained.model))
    say(f"trained to step {trained.step:,} in {_clock(time.monotonic() - began)}: {shown(folder)}")
    say(f"next: {command('eval', shown(folder))}")


def _make_sure(folder: Path, yes: bool) -> None:
    last = [0, *steps_on_disk(folder)][-1]
    steps = f"{last:,} step{'' if last == 1 else 's'}"
    if yes or not (folder / "resolved.toml").exists():
        return
    if not sys.stdin.isatty():
        raise RunError(f"{folder} has a run of {steps}; --fresh deletes it: say --yes to confirm")
    if not typer.confirm(f"Delete the run of {steps} in {folder} and start over?"):
        raise typer.Exit(1)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
