"""`look`: what happens inside a run, drawn. Here is decided which picture it is; each is made in a module beside this.

Translation shows attention, a recurrent layer its units over the text; gradients and initialisations are asked for.
"""

from pathlib import Path
from typing import NamedTuple

from seqwright.cli.looking_texts import given_texts, picture_folder
from seqwright.cli.terminal import command, say
from seqwright.errors import DataError, RunError, SettingError
from seqwright.layers.scanning import RecurrentLayer
from seqwright.lineage import task_name
from seqwright.runs import Run, open_run


class Wish(NamedTuple):
    """What the user wants to see; nothing of it: what the run shows best."""

    text: str | None = None
    file: Path | None = None
    units: bool = False
    chosen: tuple[str, ...] = ()  # units by their names
    rule: str | None = None
    gradients: bool = False
    beside: tuple[Path, ...] = ()  # further runs in the picture of the gradients
    initialisations: bool = False
    beam: int | None = None
    output: Path | None = None
    as_json: bool = False
    which: str = "best"

    @property
    def of_units(self) -> bool:
        """Whether single units are asked for."""
        return self.units or bool(self.chosen) or self.rule is not None


def look_at(folder: Path, wish: Wish) -> None:
    """Draw what is asked for of a run, or say in a sentence why not."""
    _refuse_contradictions(wish)
    found = given_texts(wish.text, wish.file)
    run, *others = (open_run(each, which=wish.which, notice=say) for each in (folder, *wish.beside))
    task = task_name(run.recipe.data.kind)
    if wish.beam is not None and task != "translation":
        raise SettingError(f"--beam is for translation, and {folder} learnt {task}; leave it out")
    if wish.gradients or wish.initialisations:
        _draw_learning(run, others, found, wish)
        return
    if task == "forecasting":
        raise RunError(
            f"{folder} learnt forecasting and reads no text; see what it forecasts with `{_forecast(run)}`, or how "
            "far back in time it is felt with --gradients"
        )
    if task not in {"translation", "language", "classification"}:
        raise RunError(f"{folder} learnt {task}; look is for translation, language, classification and forecasting")
    if not found:
        raise DataError(f"there is nothing to look at: say a text that {folder} shall read")
    where = picture_folder(run, wish.output, found[0] if wish.file is None else wish.file.stem)
    if task == "translation" and not wish.of_units:
        from seqwright.cli.looking_attention import draw_attention

        if wish.file is not None:
            raise SettingError("--file is for language models and classifiers; say the sentence to translate instead")
        draw_attention(run, found[0], wish.beam, where)
    else:
        from seqwright.cli.looking_units import draw_chosen, draw_states

        _require_units(run, "there are none to draw over a text")
        if task == "translation":
            raise RunError(f"{folder} learnt translation; single units are drawn for language models and classifiers")
        if wish.of_units:
            draw_chosen(run, found, wish.chosen, wish.rule, where, as_json=wish.as_json)
        else:
            draw_states(run, found, where)


def _draw_learning(run: Run, others: list[Run], found: list[str], wish: Wish) -> None:
    """What has to do with how a recurrent model learns."""
    for each in (run, *others):
        _require_units(each, "no gradient goes back through time in it")
    if found and all(task_name(each.recipe.data.kind) == "forecasting" for each in (run, *others)):
        raise SettingError(f"{run.folder} learnt forecasting and reads no text; leave it out, its own data serves")
    where = wish.output or run.folder / "pictures"
    if wish.gradients:
        from seqwright.cli.looking_gradients import draw_gradients

        draw_gradients([run, *others], found, where, as_json=wish.as_json)
    else:
        from seqwright.cli.looking_initialisations import draw_initialisations

        draw_initialisations(run, found, where)


def _require_units(run: Run, purpose: str) -> None:
    """Refuse a model without recurrent layers."""
    if any(isinstance(module, RecurrentLayer) for module in run.model.modules()):
        return
    instead = {
        "language": f"; `{command('score', str(run.folder), 'TEXT')}` shows how surprising each token is to it",
        "translation": f"; `{command('look', str(run.folder), 'TEXT')}` shows where its attention looks",
        "forecasting": f"; `{_forecast(run)}` shows what it forecasts",
    }
    more = instead.get(task_name(run.recipe.data.kind), "")
    raise RunError(
        f"{run.folder} has a model of kind '{run.recipe.model.kind}', without recurrent units: {purpose}{more}"
    )


def _forecast(run: Run) -> str:
    return command("forecast", str(run.folder), "--picture", "forecast.png")


def _refuse_contradictions(wish: Wish) -> None:
    """What cannot be in one picture, before anything is opened."""
    asked = {"--gradients": wish.gradients, "--initialisations": wish.initialisations, "--units": wish.of_units}
    given = [name for name, wanted in asked.items() if wanted]
    if len(given) > 1:
        raise SettingError(f"{' and '.join(given)} are different pictures; ask for one at a time")
    if wish.beside and not wish.gradients:
        raise SettingError("--with puts a further run into the picture of --gradients; add that")
    if wish.as_json and not (wish.gradients or wish.rule is not None):
        raise SettingError("--json gives the numbers of --gradients or of --rule; add one of them")
