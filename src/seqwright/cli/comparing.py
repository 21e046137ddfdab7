"""`compare`: several recipes or runs under one budget, in one table."""

import sys
from collections.abc import Iterator
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Drawn
from rich.text import Text

from seqwright.cli.terminal import json_text, say, shown
from seqwright.comparison.page import written_page
from seqwright.comparison.plan import Plan, planned
from seqwright.comparison.predictions import write_predictions
from seqwright.comparison.results import results
from seqwright.comparison.settings import read_comparison
from seqwright.comparison.stages import Stages, Stopped, TrialProgress, spoken
from seqwright.comparison.table import ComparisonTable, markdown, tabled
from seqwright.escapes import visible
from seqwright.whole_file import written_whole

NAMED = 24  # columns of the terminal that are kept for a name


def compare_rows(where: str, runs: Path, *, dry_run: bool, as_json: bool) -> None:
    """Do what is missing, write the table, show it."""
    settings, path = read_comparison(where)
    plan = planned(settings, path, runs)
    stages = Stages(plan, say)
    try:
        if dry_run:
            _print_plan(plan, stages.prospects(), stages.outcome.failures)
            sys.exit(1 if stages.outcome.failures else 0)
        outcome = stages.go()
    except (Stopped, KeyboardInterrupt):
        saved = "what was trained is saved, and the same command resumes from there"
        say(f"stopped; {'nothing was trained' if dry_run else saved}")
        sys.exit(130)
    found = results(plan, outcome, stages.records)
    table = tabled(found)
    files = {"json": json_text(found, indent=1), "md": markdown(found, table)}
    files["html"] = written_page(plan, found, table)
    plan.folder.mkdir(parents=True, exist_ok=True)
    for form, text in files.items():
        with written_whole(plan.folder / f"table.{form}") as file:
            file.write(text)
    kept = write_predictions(plan, outcome, stages.records)
    if as_json:
        print(json_text(found))
    else:
        _print(table)
    beside = f"; what each row predicted to {shown(plan.folder)}/predictions" if kept else ""
    say(f"written to {shown(plan.folder)}/table.html, .md and .json{beside}")
    for name, sentence in outcome.failures.items():
        say(f"seqwright compare: row '{name}' is missing: {sentence}")
    if outcome.failures:
        sys.exit(1)


def _print(table: ComparisonTable) -> None:
    """The scores, below them what they cost, and how the numbers were made."""
    console = Console()
    for columns in _fitting(table, console.width):
        drawn = Drawn(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        drawn.add_column("", width=_name_width(table), overflow="fold")
        for number in columns:
            drawn.add_column(table.titles[number], justify="right", width=_width(table, number))
        for row in table.rows:
            cells = [
                Text(visible(row[number].text), "bold" if row[number].best else "", no_wrap=True) for number in columns
            ]
            drawn.add_row(Text(visible(row[0].text)), *cells)  # no markup
        console.print(drawn)
        console.print()
    for note in table.notes:
        console.print(Text(visible(note), style="dim"))


def _fitting(table: ComparisonTable, width: int) -> Iterator[list[int]]:
    """The columns that stand side by side, by number: the scores, then the costs, as many of each as fit."""
    for group in (range(1, table.score_columns), range(table.score_columns, len(table.titles))):
        beside: list[int] = []
        for number in group:
            taken = _name_width(table) + 1 + sum(_width(table, each) + 1 for each in (*beside, number))
            if beside and taken > width:
                yield beside
                beside = []
            beside.append(number)
        if beside:
            yield beside


def _width(table: ComparisonTable, number: int) -> int:
    """What a column needs: its title may break between words, its numbers may not."""
    words = (cell_len(word) for word in table.titles[number].split())
    return max(*words, 1, *(cell_len(row[number].text) for row in table.rows))


def _name_width(table: ComparisonTable) -> int:
    return min(NAMED, max((cell_len(row[0].text) for row in table.rows), default=0))


def _print_plan(plan: Plan, prospects: list[TrialProgress], failures: dict[str, str]) -> None:
    """Every trial, what is there, and how long the rest will take."""
    console = Console()
    drawn = Drawn("row", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    drawn.add_column("run", overflow="fold")
    for title in ("parameters", "steps left", "time"):
        drawn.add_column(title, no_wrap=True)
    for progress in prospects:
        folders = " + ".join(shown(path) for path in progress.trial.folders or (progress.trial.predictions,) if path)
        size = progress.measured.get("parameters")
        cells = [progress.title, folders, f"{size:,}" if size else "", *_left(progress)]
        drawn.add_row(*map(Text, cells))
    console.print(drawn)
    for name, sentence in failures.items():
        console.print(Text(visible(f"row '{name}' cannot be trained: {sentence}")))
    left = sum(progress.seconds for progress in prospects)
    if any(progress.steps for progress in prospects) or failures:
        console.print(f"{spoken(left)} in all, with validation and evaluation", highlight=False)
    else:
        console.print("everything is trained")


def _left(progress: TrialProgress) -> tuple[str, str]:
    if not progress.trial.trained:
        return "", "only evaluated"
    if not progress.steps:
        return "0", "trained"
    if not progress.measured["descends"]:
        return "", "by counting"
    return f"{progress.steps:,}", spoken(progress.seconds)
