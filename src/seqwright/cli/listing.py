"""`recipes`, `lineage`, `data list`, `data get`: what there is."""

from typing import NamedTuple

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.text import Text

from seqwright.cli.terminal import command
from seqwright.data.cards import card, cards, download_folder, located
from seqwright.data.fetch import fetch, require_addresses
from seqwright.errors import SettingError, instead, nearest
from seqwright.kinds import TASKS, tasks_for, usual_kind
from seqwright.lineage import LINEAGE, MODELS
from seqwright.pictures.terminal import TreeLine, family_tree
from seqwright.recipe import parsed, shipped, with_base


class ListedRecipe(NamedTuple):
    """A recipe that ships, in a few words."""

    name: str
    task: str
    data: str
    model: str
    description: str

    def has(self, word: str) -> bool:
        """Whether a word stands in any of them."""
        return any(word.casefold() in text.casefold() for text in self)


def list_recipes(task: str | None, word: str | None) -> None:
    """The recipes that ship, by task: name, data and model, and what each does; all, or those with a word."""
    if task is not None:
        refuse_unknown_task(task)
    every = [each for each in shipped_recipes() if task in {None, each.task}]
    found = [each for each in every if word is None or each.has(word)]
    if not found:
        names = [each.name for each in every]
        raise SettingError(
            f"no recipe{f' for {task}' if task else ''} has '{word}' in its name, data, model or description."
            f"{nearest(word or '', names)}"
            if names
            else f"no recipe that ships is for {task}; seqwright new {task} writes one for your file"
        )
    console = Console()
    for name in dict.fromkeys(each.task for each in found):
        console.print(Text(name, "bold underline"))
        for each in found:
            if each.task == name:
                console.print(Text.assemble("  ", (each.name, "bold"), f"  {each.data} · {each.model}"), soft_wrap=True)
                console.print(Padding(Text(each.description, "dim"), (0, 0, 0, 6)))
        console.print()
    console.print("seqwright train NAME trains one; its settings can be overridden: training.steps=2000", style="dim")


def shipped_recipes() -> list[ListedRecipe]:
    """Every recipe that ships, in the order of the tasks."""
    found = []
    for name, path in shipped().items():
        plain = with_base(parsed(path.read_text(encoding="utf-8"), name), name)
        task, data = plain["task"], plain.get("data", {})
        kind = plain.get("model", {}).get("kind", usual_kind("model", task))
        found.append(ListedRecipe(name, task, data["card"], kind, plain.get("description", "")))
    order = list(TASKS)
    return sorted(found, key=lambda each: order.index(each.task))


def refuse_unknown_task(task: str) -> None:
    """Refuse a word that is no task."""
    if task not in TASKS:
        raise SettingError(f"there is no task '{task}'{instead(task, list(TASKS))}")


def draw_lineage() -> None:
    """The family tree, with what lives here marked."""
    kinds = {m.name: ", ".join(dict.fromkeys(row.kind for row in MODELS if row.member == m.name)) for m in LINEAGE}
    print(family_tree([TreeLine(m.year, m.name, m.parent or None, m.here, kinds[m.name]) for m in LINEAGE]))
    print("\nafter each name: what a recipe calls it, as in model.kind = 'gnmt'")


def list_data() -> None:
    """A few lines for each dataset; those that are made up come last."""
    for each in cards().values():
        if each.generator:
            print(f"{each.name}  {each.title}\n  made while it is read, for {', '.join(tasks_for(each.kind))}")
            continue
        here = sum(located(each, file) is not None for file in each.files)
        size = sum(file.size for file in each.files) / 1e6
        examples = ", ".join(f"{part} {count:,}" for part, count in each.examples.items())
        print(f"{each.name}  {each.title}")
        languages = f"languages {', '.join(each.languages)}; " if each.languages else ""
        print(f"  {languages}{examples} {each.unit}; {size:.1f} MB; {each.licence}")
        if here == len(each.files):
            print("  complete: every file is here")
        elif all(file.address for file in each.files):
            print(f"  {here} of {len(each.files)} files are here; {command('data', 'get', each.name)} gets the rest")
        else:
            print(f"  {here} of {len(each.files)} files are here; put the rest into $SEQWRIGHT_DATA/{each.home}")


def show_data(name: str) -> None:
    """A card in full: where each file comes from and what its checksum must be."""
    shown = card(name)
    if shown.generator:
        print(f"{shown.title}\nno files: the examples are made while they are read")
        return
    print(f"{shown.title}\nlicence: {shown.licence}\nplease cite: {shown.cite}\n")
    if shown.obtain:
        print(f"to have it: {shown.obtain}\n")
    for file in shown.files:
        here = located(shown, file)
        print(f"{file.path}  {file.size:,} bytes  {'here: ' + str(here) if here else 'not here'}")
        print(f"  {file.address or 'no public address is known'}\n  sha256 {file.sha256}")


def get_data(name: str) -> None:
    """Get every file of a card, with a progress bar."""
    wanted = card(name)
    require_addresses(wanted)
    folder = download_folder(wanted)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        tasks = {file.path: progress.add_task(file.path, total=file.size, visible=False) for file in wanted.files}

        def moved(path: str, here: int, size: int) -> None:
            progress.update(tasks[path], completed=here, total=size, visible=True)

        fetched = fetch(wanted, folder, progress=moved)
    downloaded = sum(each.downloaded for each in fetched)
    where = folder if downloaded else fetched[0].path.parent
    print(f"{name}: {len(fetched)} files in {where}, {downloaded} downloaded, every checksum right")
    print(f"licence: {wanted.licence}")
