"""The generated pages of docs/reference: settings, verbs, recipes and cards, each from the package's own tables.

`python docs/reference_pages.py` writes them all again; a test compares them with what is committed.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import typer
from settings_reference import settings_page

from seqwright.cli.app import app
from seqwright.cli.options import PANELS
from seqwright.data.cards import Card, cards
from seqwright.kinds import TASKS, tasks_for, usual_kind
from seqwright.recipe import parsed, shipped, with_base

VERBS = """# Verbs

Every command of `seqwright`, with its arguments and options, as `seqwright VERB --help` shows them. Arguments come
first; what stands in brackets may be left out, and what ends in dots may be given several times.
"""
RECIPES = """# Recipes

Every recipe that ships, by task. `seqwright train NAME` trains one, and any of its settings can be overridden, as in
`training.steps=2000` ([how](../recipes.md)). Each is a short file in `src/seqwright/recipes`.
"""
CARDS = """# Cards

Every dataset of the catalogue: `[data] card = "NAME"` in a recipe. Files are looked for in `$SEQWRIGHT_DATA/NAME`, then
among the downloads; `seqwright data get NAME` downloads what has an address and checks it, and `seqwright data show
NAME` lists each file with its sha256. Cards without files make their examples up.
"""


def verbs_page() -> str:
    """Every verb, in the groups of `seqwright --help`."""
    group: Any = typer.main.get_command(app)
    named = {name for names in PANELS.values() for name in names}
    panels = {**PANELS, "More": tuple(name for name in group.commands if name not in named)}
    parts = [VERBS]
    for title, names in panels.items():
        parts.append(f"## {title}\n")
        parts += [part for name in names if name in group.commands for part in _verbs(name, group.commands[name])]
    return "\n".join(parts)


def _verbs(name: str, command: Any) -> list[str]:
    """A verb, or those below it: `data list`, `data get`."""
    below = getattr(command, "commands", None)
    if below:
        return [part for each, inner in below.items() for part in _verbs(f"{name} {each}", inner)]
    with typer.Context(command, info_name=f"seqwright {name}") as context:
        usage = " ".join(command.collect_usage_pieces(context))
        parameters = [each for each in command.get_params(context) if each.name != "help"]
        ordered = sorted(parameters, key=lambda each: each.param_type_name)  # arguments before options
        rows = [_parameter(each, context) for each in ordered]
    usage = usage if any(each.param_type_name == "option" for each in parameters) else usage.replace("[OPTIONS]", "")
    told, examples = _help(command.help or "")
    typed = " ".join(["seqwright", name, *usage.split()])
    examples = [each for each in examples if each != typed]
    block = "\n".join([typed, *([""] if examples else []), *examples])
    return [f"### {name}\n\n{told}\n\n```text\n{block}\n```\n", f"{_table(('', 'Meaning'), rows)}\n" if rows else ""]


def _help(text: str) -> tuple[str, list[str]]:
    """The prose of a help text, and the commands that it gives as examples."""
    paragraphs = [" ".join(each.split()) for each in text.split("\n\n")]
    commands = [each.removeprefix("Example: ") for each in paragraphs]
    examples = [each for each in commands if each.startswith("seqwright ")]
    return "\n\n".join(each for each in commands if each not in examples), examples


def _parameter(parameter: Any, context: Any) -> tuple[str, str]:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar}`", parameter.help or ""
    names, told = parameter.get_help_record(context)
    return f"`{names}`", " ".join(told.split())


def recipes_page() -> str:
    """Every recipe that ships, by task."""
    rows: dict[str, list[tuple[str, ...]]] = {task: [] for task in TASKS}
    for name, path in shipped().items():
        plain = with_base(parsed(path.read_text(encoding="utf-8"), name), name)
        kind = plain.get("model", {}).get("kind", usual_kind("model", plain["task"]))
        told = (f"`{name}`", f"`{plain['data']['card']}`", f"`{kind}`", plain.get("description", ""))
        rows[plain["task"]].append(told)
    parts = [_recipes(task, each) for task, each in rows.items() if each]
    return "\n".join([RECIPES, *parts])


def _recipes(task: str, rows: list[tuple[str, ...]]) -> str:
    table = _table(("Recipe", "Card", "Model", "What it does"), rows)
    return f"## {task}\n\nThe task, step by step: [{task}](../tasks/{task}.md).\n\n{table}\n"


def cards_page() -> str:
    """Every card, those with files first."""
    files = [each for each in cards().values() if not each.generator]
    made_up = [each for each in cards().values() if each.generator]
    parts = [CARDS, "## With files\n", *map(_card, files), "## Made up\n", *map(_card, made_up)]
    return "\n".join(parts)


def _card(card: Card) -> str:
    counts = ", ".join(f"{part} {count:,}" for part, count in card.examples.items())
    size = sum(file.size for file in card.files) / 1e6
    facts = {
        "For": ", ".join(f"[{task}](../tasks/{task}.md)" for task in tasks_for(card.kind)),
        "Examples": f"{counts} {card.unit}" if counts else "",
        "Choose": "; ".join(f"`data.{name}`: {', '.join(known)}" for name, known in card.choices.items()),
        "Languages": ", ".join(card.languages),
        "Files": f"{len(card.files)}, {size:.1f} MB, in `$SEQWRIGHT_DATA/{card.home}`" if card.files else "",
        "Download": _download(card),
        "Licence": card.licence,
        "Cite": card.cite,
    }
    rows = [(name, fact) for name, fact in facts.items() if fact]
    return f"### {card.name}\n\n{_cell(_sentence(card.title))}\n\n{_table(('', ''), rows)}\n"


def _download(card: Card) -> str:
    if not card.files:
        return ""
    has_addresses = all(file.address for file in card.files)
    return (
        f"`seqwright data get {card.name}`"
        if has_addresses
        else f"none: {card.obtain or 'put the files there by hand'}"
    )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    """Text without marks; what stands in angle brackets outside of code would be taken for HTML."""
    text = text.replace("|", "\\|")
    return text if text.startswith("`") else text.replace("<", "\\<")


PAGES: dict[str, Callable[[], str]] = {
    "settings": settings_page,
    "verbs": verbs_page,
    "recipes": recipes_page,
    "cards": cards_page,
}


def write_pages(folder: Path) -> None:
    """Write each page that is not what it should be."""
    folder.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        path, text = folder / f"{name}.md", page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(__file__).with_name("reference"))
