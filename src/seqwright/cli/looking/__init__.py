"""`look`: what happens inside a run, drawn. Here is decided which picture it is; each is made in a module beside this.

A captioner shows where it looks for each word, a model with attention what it looks at, a translator without it what
moves each word, any other recurrent model its units over the text, a classifier of series the steps that its label
hangs on, or of images, without attention, the pixels; all else is asked for.
"""

import re
from itertools import islice
from pathlib import Path

from seqwright.analysis.attention import attends
from seqwright.analysis.captions import writes_captions
from seqwright.analysis.images import labels_images
from seqwright.analysis.reading import forecasts_series, foretells, reads_text, translates
from seqwright.analysis.saliency import MOST_SERIES, labels_series, series_given
from seqwright.cli.given import given_texts
from seqwright.cli.given_series import labelled_row, series_table
from seqwright.cli.looking.attention import draw_alignments, draw_attention
from seqwright.cli.looking.beam_trees import draw_beam_tree
from seqwright.cli.looking.captions import draw_caption
from seqwright.cli.looking.gradients import draw_gradients, draw_initialisations
from seqwright.cli.looking.images import OPTIONS, draw_images
from seqwright.cli.looking.reading import draw_lens, draw_surprisal, draw_word
from seqwright.cli.looking.saliency import draw_saliency
from seqwright.cli.looking.units import draw_chosen, draw_states
from seqwright.cli.opening import opened_run
from seqwright.cli.terminal import command, say
from seqwright.cli.using_pictures import LookOptions
from seqwright.errors import DataError, RunError, SettingError
from seqwright.layers.scanning import RecurrentLayer
from seqwright.pictures.attention import HeadChoice
from seqwright.runs import Run

OF_ALL = ("--layer", "--gradients")  # options for models of images and for others
NUMBERS = (
    "--json gives the numbers of --lens, --word, --gradients, --rule, an alignment, a series or an image; ask for one"
)


def look_at(folder: Path, options: LookOptions) -> None:
    """Draw what is asked for of a run, or say in a sentence why not."""
    _refuse_contradictions(options)
    run, *others = (opened_run(each, options.which) for each in (folder, *(options.beside or ())))
    task = run.recipe.task
    if labels_images(run) and not others and options.beam is None:
        draw_images(run, options)
        return
    found = given_texts(options.texts or (), options.file)
    if writes_captions(run):
        _draw_caption(run, found, options)
        return
    if options.beam is not None and not translates(run):
        raise SettingError(f"--beam is for translation, and {folder} learnt {task}; leave it out")
    if options.beside and not translates(run) and not options.gradients:
        raise SettingError(f"--with is for alignments of translations and for --gradients; {folder} learnt {task}")
    if of_images := [name for name in options.asked if name in OPTIONS and name not in OF_ALL]:
        raise SettingError(f"{of_images[0]} is for models that read images, and {folder} learnt {task}; leave it out")
    if options.json and not translates(run) and not labels_series(run) and not options.asked:
        raise SettingError(NUMBERS)
    if options.gradients or options.initialisations:
        _draw_learning(run, others, found, options)
        return
    if labels_series(run):
        _draw_series(run, found, options)
        return
    if not reads_text(run):
        forecasts = (
            f"see what it forecasts with `{_forecast(run)}`, or how far back in time it is felt with --gradients"
        )
        scores = f"look draws models that do; see how good it is with `{command('eval', str(folder))}`"
        told = forecasts if forecasts_series(run) else scores
        raise RunError(f"{folder} learnt {task} and reads no text; {told}")
    if not found:
        raise DataError(f"there is nothing to look at: say a text that {folder} shall read")
    _draw_read(run, others, found, options)


def _draw_series(run: Run, found: list[str], options: LookOptions) -> None:
    """What the labels of series hang on: of those that are given, or of one of each label of the validation part."""
    if options.asked:
        raise SettingError(
            f"{options.asked[0]} is for models that read texts, and {run.folder} reads series; leave it out to see "
            "what their labels hang on"
        )
    table = series_table(options.file, run)
    if table is not None:
        series = [labelled_row(row) for row in islice(table.rows, MOST_SERIES)]
    else:
        series = series_given(run, found[:MOST_SERIES] or None)
    if options.file is not None and len(series) == MOST_SERIES:
        say(f"{options.file}: the first {MOST_SERIES} series are looked at, no more")
    draw_saliency(run, series, options.output or run.folder / "pictures", as_json=options.json)


def _draw_caption(run: Run, found: list[str], options: LookOptions) -> None:
    """Where a captioner looks, in an image that is given by its path."""
    other = next((name for name in options.asked if name != "--layer"), None)
    if other is not None or options.beside or options.file is not None:
        named = other or ("--with" if options.beside else "--file")
        raise SettingError(
            f"{named} is for other models, and {run.folder} writes captions: give the path of one image, and perhaps "
            "--layer and --head"
        )
    if not found:
        raise DataError(f"there is nothing to look at: give the path of an image that {run.folder} shall see")
    where = picture_folder(run, options.output, Path(found[0]).stem)
    choice = HeadChoice(options.layer, options.head)
    draw_caption(run, found, options.beam, choice, where, as_json=options.json)


def _draw_read(run: Run, others: list[Run], found: list[str], options: LookOptions) -> None:
    """What can be seen while a text is read or translated: what is asked for, or what the run shows best."""
    about = options.word or (found[0] if options.file is None else options.file.stem)
    where = picture_folder(run, options.output, about)
    sight = next(iter(options.asked), "--layer" if attends(run) else "--units")
    if options.file is not None and sight in {"--beam-tree", "--lens", "--layer"}:  # are to be read at a glance
        raise SettingError("--file is for --surprisal, --word and recurrent units; say the text itself instead")
    match sight:
        case "--word":
            draw_word(run, options.word or "", found, where, as_json=options.json)
        case "--beam-tree":
            draw_beam_tree(run, found, options.beam, where)
        case "--surprisal":
            draw_surprisal(run, found, where)
        case "--lens":
            draw_lens(run, found, where, as_json=options.json)
        case "--layer":
            _draw_weights(run, others, found, options, where)
        case _:
            _draw_units(run, found, options, where)


def _draw_weights(run: Run, others: list[Run], found: list[str], options: LookOptions, where: Path) -> None:
    for each in (run, *others):
        if not attends(each):
            raise RunError(f"{each.folder} has a model of kind '{each.recipe.model.kind}', without attention")
    if others:
        draw_alignments([run, *others], found, options.beam, where, as_json=options.json)
    else:
        choice = HeadChoice(options.layer, options.head)
        draw_attention(run, found, options.beam, choice, where, as_json=options.json)


def _draw_units(run: Run, found: list[str], options: LookOptions, where: Path) -> None:
    _require_units(run, "there are none to draw over a text")
    if translates(run):
        raise RunError(f"{run.folder} learnt {run.recipe.task}; single units are drawn of models that only read")
    if options.of_units:
        draw_chosen(run, found, tuple(options.unit or ()), options.rule, where, as_json=options.json)
    else:
        draw_states(run, found, where)


def picture_folder(run: Run, output: Path | None, about: str) -> Path:
    """Where the pictures of a text go: a folder whose name still says which text it is."""
    name = re.sub(r"\W+", "-", about.lower()).strip("-")[:40] or "text"
    return output or run.folder / "pictures" / name


def _draw_learning(run: Run, others: list[Run], found: list[str], options: LookOptions) -> None:
    """What has to do with how a recurrent model learns."""
    for each in (run, *others):
        _require_units(each, "no gradient goes back through time in it")
        if options.count > 1 and not (reads_text(each) and options.count in each.inputs.reads_tokens.texts):
            raise SettingError(f"there are {options.count} texts, and {options.asked[0]} is of one; put it in quotes")
    if found and all(forecasts_series(each) for each in (run, *others)):
        raise SettingError(
            f"{run.folder} learnt {run.recipe.task} and reads no text; leave it out, its own data serves"
        )
    where = options.output or run.folder / "pictures"
    if options.gradients:
        draw_gradients([run, *others], found, where, as_json=options.json)
    else:
        draw_initialisations(run, found, where)


def _require_units(run: Run, purpose: str) -> None:
    """Refuse a model without recurrent layers."""
    if any(isinstance(module, RecurrentLayer) for module in run.model.modules()):
        return
    raise RunError(
        f"{run.folder} has a model of kind '{run.recipe.model.kind}', without recurrent units: {purpose}{_instead(run)}"
    )


def _instead(run: Run) -> str:
    """What can be seen of a run instead, after the sentence that refuses something."""
    folder = str(run.folder)
    if foretells(run):
        return f"; `{command('look', folder, 'TEXT', '--surprisal')}` shows how surprising a text is"
    if translates(run):
        return f"; `{command('look', folder, 'TEXT')}` shows where its attention looks"
    return f"; `{_forecast(run)}` shows what it forecasts" if forecasts_series(run) else ""


def _forecast(run: Run) -> str:
    return command("forecast", str(run.folder), "--picture", "forecast.png")


def _refuse_contradictions(options: LookOptions) -> None:
    """What cannot be in one picture, before anything is opened."""
    if len(options.asked) > 1:
        raise SettingError(f"{' and '.join(options.asked)} are different pictures; ask for one at a time")
    if options.head is not None and options.layer is None:
        raise SettingError("--head is one of a layer's; say also which --layer")
    if options.beside and options.asked not in ([], ["--gradients"]):
        raise SettingError(f"--with is for alignments side by side and for --gradients, not for {options.asked[0]}")
    drawn_only = {"--positions", "--filters", "--layer", "--beam-tree", "--surprisal", "--initialisations"}
    without = drawn_only.intersection(options.asked)
    if options.json and (without or (options.of_units and options.rule is None)):
        raise SettingError(NUMBERS)
    if options.count > 1 and (options.surprisal or options.of_units):
        raise SettingError(f"there are {options.count} texts, and {options.asked[0]} is of one; put it in quotes")
