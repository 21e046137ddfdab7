"""`look`: what happens inside a run, drawn. Here is decided which picture it is; each is made in a module beside this.

A model with attention shows what it looks at, a translator without it what moves each word, any other recurrent model
its units over the text; all else is asked for.
"""

from pathlib import Path
from typing import NamedTuple

from seqwright.cli.looking.texts import given_texts, picture_folder
from seqwright.cli.opening import opened_run
from seqwright.cli.terminal import command
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs.text import reads_pairs
from seqwright.layers.scanning import RecurrentLayer
from seqwright.layers.taps import views
from seqwright.pictures.attention import HeadChoice
from seqwright.runs import Run
from seqwright.tasks.wired import Wires

READING = {
    "translation",
    "language-modeling",
    "text-classification",
    "text-regression",
    "token-classification",
    "masked-language-modeling",
    "question-answering",
    "instruction",
}
# Of these, recurrent models are looked into unit by unit.
UNITS = {"language-modeling", "text-classification", "token-classification"}
NUMBERS = "--json gives the numbers of --lens, --word, --gradients, --rule or an alignment; ask for one of them"


class Wish(NamedTuple):
    """What the user wants to see; nothing of it: what the run shows best."""

    texts: tuple[str, ...] = ()
    file: Path | None = None
    choice: HeadChoice = HeadChoice()
    lens: bool = False
    surprisal: bool = False
    word: str | None = None
    units: bool = False
    chosen: tuple[str, ...] = ()  # units by their names
    rule: str | None = None
    gradients: bool = False
    tree: bool = False  # of beam search
    beside: tuple[Path, ...] = ()  # further runs in the same picture
    initialisations: bool = False
    beam: int | None = None
    output: Path | None = None
    as_json: bool = False
    which: str = "best"

    @property
    def of_units(self) -> bool:
        """Whether single units are asked for."""
        return self.units or bool(self.chosen) or self.rule is not None

    @property
    def asked(self) -> list[str]:
        """The pictures that are asked for, by their options."""
        wanted = {
            "--layer": self.choice.layer is not None,
            "--beam-tree": self.tree,
            "--lens": self.lens,
            "--surprisal": self.surprisal,
            "--word": self.word is not None,
            "--units": self.of_units,
            "--gradients": self.gradients,
            "--initialisations": self.initialisations,
        }
        return [name for name, given in wanted.items() if given]


def look_at(folder: Path, wish: Wish) -> None:
    """Draw what is asked for of a run, or say in a sentence why not."""
    _refuse_contradictions(wish)
    found = given_texts(wish.texts, wish.file)
    run, *others = (opened_run(each, wish.which) for each in (folder, *wish.beside))
    task = run.recipe.family
    if wish.beam is not None and task != "translation":
        raise SettingError(f"--beam is for translation, and {folder} learnt {task}; leave it out")
    if wish.beside and task != "translation" and not wish.gradients:
        raise SettingError(f"--with is for alignments of translations and for --gradients; {folder} learnt {task}")
    if wish.as_json and task != "translation" and not wish.asked:
        raise SettingError(NUMBERS)
    if wish.gradients or wish.initialisations:
        _draw_learning(run, others, found, wish)
        return
    if task == "forecasting":
        raise RunError(
            f"{folder} learnt forecasting and reads no text; see what it forecasts with `{_forecast(run)}`, or how "
            "far back in time it is felt with --gradients"
        )
    if task not in READING:
        raise RunError(f"{folder} learnt {task}; look is for {', '.join(sorted(READING))} and forecasting")
    if not found:
        raise DataError(f"there is nothing to look at: say a text that {folder} shall read")
    _draw_read(run, others, found, wish)


def _draw_read(run: Run, others: list[Run], found: list[str], wish: Wish) -> None:
    """What can be seen while a text is read or translated."""
    about = wish.word or (found[0] if wish.file is None else wish.file.stem)
    where = picture_folder(run, wish.output, about)
    if wish.word is not None:
        from seqwright.cli.looking.words import draw_word

        draw_word(run, wish.word, found, where, as_json=wish.as_json)
    elif wish.tree:
        from seqwright.cli.looking.beam_trees import draw_beam_tree

        _refuse_file(wish)
        draw_beam_tree(run, found, wish.beam, where)
    elif wish.surprisal:
        from seqwright.cli.looking.surprisal import draw_surprisal

        draw_surprisal(run, found, where)
    elif wish.lens:
        from seqwright.cli.looking.lens import draw_lens

        _refuse_file(wish)
        draw_lens(run, found, where, as_json=wish.as_json)
    elif wish.choice.layer is not None or (_attends(run) and not wish.of_units):
        from seqwright.cli.looking.attention import draw_alignments, draw_attention

        _refuse_file(wish)
        for each in (run, *others):
            if not _attends(each):
                raise RunError(f"{each.folder} has a model of kind '{each.recipe.model.kind}', without attention")
        if others:
            draw_alignments([run, *others], found, wish.beam, where, as_json=wish.as_json)
        else:
            draw_attention(run, found, wish.beam, wish.choice, where, as_json=wish.as_json)
    else:
        from seqwright.cli.looking.units import draw_chosen, draw_states

        _require_units(run, "there are none to draw over a text")
        if run.recipe.task not in UNITS:
            raise RunError(
                f"{run.folder} learnt {run.recipe.task}; single units are drawn for {', '.join(sorted(UNITS))}"
            )
        if wish.of_units:
            draw_chosen(run, found, wish.chosen, wish.rule, where, as_json=wish.as_json)
        else:
            draw_states(run, found, where)


def _attends(run: Run) -> bool:
    """Whether something of the model can be drawn as weights between what it reads and writes.

    Of a translation it always can: without attention, by gradients.
    """
    return run.recipe.family == "translation" or any(view.columns != "units" for view in views(run.model))


def _draw_learning(run: Run, others: list[Run], found: list[str], wish: Wish) -> None:
    """What has to do with how a recurrent model learns."""
    for each in (run, *others):
        _require_units(each, "no gradient goes back through time in it")
        if len(wish.texts) > 1 and not (isinstance(each.inputs, Wires) and reads_pairs(each.inputs.input)):
            raise SettingError(f"there are {len(wish.texts)} texts, and {wish.asked[0]} is of one; put it in quotes")
    if found and all(each.recipe.task == "forecasting" for each in (run, *others)):
        raise SettingError(f"{run.folder} learnt forecasting and reads no text; leave it out, its own data serves")
    where = wish.output or run.folder / "pictures"
    if wish.gradients:
        from seqwright.cli.looking.gradients import draw_gradients

        draw_gradients([run, *others], found, where, as_json=wish.as_json)
    else:
        from seqwright.cli.looking.initialisations import draw_initialisations

        draw_initialisations(run, found, where)


def _require_units(run: Run, purpose: str) -> None:
    """Refuse a model without recurrent layers."""
    if any(isinstance(module, RecurrentLayer) for module in run.model.modules()):
        return
    folder = str(run.folder)
    instead = {
        "language-modeling": f"; `{command('look', folder, 'TEXT', '--surprisal')}` shows how surprising a text is",
        "translation": f"; `{command('look', folder, 'TEXT')}` shows where its attention looks",
        "forecasting": f"; `{_forecast(run)}` shows what it forecasts",
    }
    more = instead.get(run.recipe.family, "")
    raise RunError(
        f"{run.folder} has a model of kind '{run.recipe.model.kind}', without recurrent units: {purpose}{more}"
    )


def _forecast(run: Run) -> str:
    return command("forecast", str(run.folder), "--picture", "forecast.png")


def _refuse_file(wish: Wish) -> None:
    """A picture of every weight is of a text that one can read at a glance."""
    if wish.file is not None:
        raise SettingError("--file is for --surprisal, --word and recurrent units; say the text itself instead")


def _refuse_contradictions(wish: Wish) -> None:
    """What cannot be in one picture, before anything is opened."""
    if len(wish.asked) > 1:
        raise SettingError(f"{' and '.join(wish.asked)} are different pictures; ask for one at a time")
    if wish.choice.head is not None and wish.choice.layer is None:
        raise SettingError("--head is one of a layer's; say also which --layer")
    if wish.beside and wish.asked not in ([], ["--gradients"]):
        raise SettingError(f"--with is for alignments side by side and for --gradients, not for {wish.asked[0]}")
    without = {"--layer", "--beam-tree", "--surprisal", "--initialisations"}.intersection(wish.asked)
    if wish.as_json and (without or (wish.of_units and wish.rule is None)):
        raise SettingError(NUMBERS)
    pairs = wish.gradients or wish.initialisations  # are followed through both texts of a pair
    if len(wish.texts) > 1 + pairs and (wish.surprisal or wish.of_units or pairs):
        raise SettingError(f"there are {len(wish.texts)} texts, and {wish.asked[0]} is of one; put it in quotes")
