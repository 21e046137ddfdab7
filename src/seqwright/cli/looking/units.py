"""`look` at a recurrent model: its units over a text, single units, and those that follow a rule."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from seqwright.analysis.reading import verdict_on
from seqwright.analysis.units import (
    HIDDEN,
    MEMORY,
    Activations,
    Follower,
    Unit,
    activations_of,
    followers,
    liveliest,
    rule_of,
    unit_named,
)
from seqwright.cli.looking.examples import examples_of
from seqwright.cli.terminal import json_text, print_table, say, shown
from seqwright.errors import DataError
from seqwright.pictures import Array, save
from seqwright.pictures.units import Course, UnitsPanel, coloured_text, state_map, unit_lines
from seqwright.pictures.units_page import units_page
from seqwright.runs import Run
from seqwright.whole_file import write_whole

MOST_UNITS = 12  # of a layer in the map
MOST_PIECES = 120  # tokens in the map
FEW = 3  # units in one picture and in the terminal
MANY = 10  # units on the page and in the table
LETTERS, PAGE_TOKENS = 800, 2000  # of the text in a picture, and on the page
LINES = 4  # of the text in the terminal, if they were full


def draw_states(run: Run, found: Sequence[str], where: Path) -> None:
    """Draw what the liveliest units of each layer do over a text, and how surprising it is or what it is taken for."""
    examples = examples_of(run, found)
    if len(examples) > 1:
        say(f"{run.folder} reads each line by itself; the first of {len(examples):,} is looked at")
    active = activations_of(run, examples[:1], notice=say)
    verdict = verdict_on(run, examples[0])
    title = f"{run.folder.name}: {verdict}" if verdict else run.folder.name
    count = min(len(active.pieces), MOST_PIECES)
    if count < len(active.pieces):
        say(f"the map shows the first {count} of {len(active.pieces):,} tokens; --units colours longer texts")
    for layer in active.layers:
        units = liveliest(layer, MOST_UNITS)
        width = layer.values[HIDDEN].shape[1]
        chosen = f", the {len(units)} of {width} units that vary most" if len(units) < width else ""
        panels = [
            UnitsPanel(
                f"{layer.spoken}: {view}", units, value_TD[:count, np.array(units) - 1].T, view in (HIDDEN, MEMORY)
            )
            for view, value_TD in layer.values.items()
        ]
        figure = state_map(panels, active.pieces[:count], active.bits[:count], title=f"{title}{chosen}")
        save(figure, where / f"units-layer-{layer.name}")
    _print_units(active, _most_varying(active))
    surprisal = f": {np.mean(active.bits):.2f} bits per token" if active.bits else ""
    print(f"{title}{surprisal}")
    say(f"pictures: {shown(where)}/")


def draw_chosen(
    run: Run, found: Sequence[str], names: Sequence[str], asked: str | None, where: Path, *, as_json: bool
) -> None:
    """Draw the text in the colours of single units: those that are named, that follow a rule, or that vary most."""
    rule = None if asked is None else rule_of(asked)
    active = activations_of(run, examples_of(run, found), rule, say)
    units = [unit_named(active, name) for name in names]
    ranked: list[Follower] = []
    if asked is not None:
        _refuse_idle(active, asked)
        ranked = followers(active)
    units = units or [one.unit for one in ranked[:MANY]] or _most_varying(active)
    said = {str(unit): f", correlation {correlation:+.2f} with {asked}" for unit, correlation in ranked}
    courses = [Course(f"{_spoken(unit)}{said.get(str(unit), '')}", unit.value_T) for unit in units]
    first = _first_line(active)
    _draw_courses(run, active, courses, first, where)
    say(f"pictures: {shown(where)}/  (open units.html in a browser)")
    if asked is not None:
        _print_ranking(active, ranked, asked, as_json=as_json)
    if not as_json:
        _print_units(active, units[:FEW], first)


def _draw_courses(run: Run, active: Activations, courses: Sequence[Course], first: int, where: Path) -> None:
    """The picture of some units and the page of more."""
    where.mkdir(parents=True, exist_ok=True)
    title = f"{run.folder.name}: single units over the text"

    def cut(part: slice, some: Sequence[Course]) -> tuple[list[str], Array, list[Course]]:
        courses = [course._replace(value_T=course.value_T[part]) for course in some]
        return active.pieces[part], active.on_T[part], courses

    save(coloured_text(*cut(_stretch(active, first, LETTERS), courses[:FEW]), title=title), where / "units")
    page = units_page(*cut(slice(first, first + PAGE_TOKENS), courses), title=title)
    write_whole(where / "units.html", page)


def _first_line(active: Activations) -> int:
    """The token with which the line begins in which the rule is on for the first time; 0 where there is no rule."""
    first = int(active.on_T.argmax())
    return max((place + 1 for place in range(first) if active.pieces[place].endswith("\n")), default=0)


def _most_varying(active: Activations) -> list[Unit]:
    """Some units of the highest layer, on its way forwards."""
    top = next(layer for layer in reversed(active.layers) if not layer.name.endswith("b"))
    return [Unit(HIDDEN, top, number) for number in liveliest(top, FEW)]


def _stretch(active: Activations, first: int, letters: int) -> slice:
    """As many tokens as have so many letters, up to the end of a word if that is not far."""
    ends = np.cumsum([len(piece) for piece in active.pieces[first:]])
    count = max(1, int((ends <= letters).sum()))
    if count < len(ends):
        spaces = [place for place in range(count // 2, count) if active.pieces[first + place][-1:].isspace()]
        count = spaces[-1] + 1 if spaces else count
    return slice(first, first + count)


def _refuse_idle(active: Activations, asked: str) -> None:
    """A rule that is never off, or never on, says nothing of any unit."""
    if active.on_T.min() == active.on_T.max():
        where = "nowhere" if not active.on_T.any() else "everywhere"
        raise DataError(f"the rule '{asked}' is on {where} in these {len(active.pieces):,} tokens; give another text")


def _print_ranking(active: Activations, ranked: Sequence[Follower], asked: str, *, as_json: bool) -> None:
    on_T = active.on_T >= 0.5
    stretches = int((np.diff(on_T.astype(int), prepend=0) == 1).sum())
    share = 100 * active.on_T.mean()
    say(
        f"{asked}: on at {share:.1f} % of {len(on_T):,} tokens, in {stretches:,} stretches; {len(ranked):,} units asked"
    )
    if as_json:
        for unit, correlation in ranked[:MANY]:
            print(json_text({"unit": str(unit), "correlation": round(correlation, 4)}))
        return
    rows = []
    for unit, correlation in ranked[:MANY]:
        inside, outside = (unit.value_T[place].mean() if place.any() else np.nan for place in (on_T, ~on_T))
        rows.append((str(unit), f"{correlation:+.3f}", f"{inside:+.2f}", f"{outside:+.2f}"))
    print_table(("unit", "correlation", "mean where on", "where off"), rows)
    print()


def _print_units(active: Activations, units: Sequence[Unit], first: int = 0) -> None:
    """The beginning of the text in the colours of each unit, for the terminal."""
    console = Console(highlight=False)
    some = _stretch(active, first, LINES * console.width)
    if not console.is_terminal:
        print("under each letter what the unit was after it: = about -1, - below 0, + above 0, # about 1\n")
    for unit in units:
        print(_spoken(unit))
        console.print(
            unit_lines(active.pieces[some], unit.value_T[some], width=console.width, colour=console.is_terminal)
        )


def _spoken(unit: Unit) -> str:
    return f"unit {unit}, {unit.layer.spoken}, {unit.view}"
