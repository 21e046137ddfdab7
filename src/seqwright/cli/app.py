"""The verbs, with their help texts. Each one loads its work from a module beside this file when it is called."""

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from seqwright.cli import using, using_any
from seqwright.cli.completing import complete_settings
from seqwright.cli.options import (
    CardName,
    EvaluationOptions,
    JsonLines,
    NewRunFolder,
    Options,
    Overrides,
    RecipeName,
    RunFolder,
    RunVerb,
    TaskName,
    TeacherFolder,
    TrainingOptions,
    Verb,
    VerbsInPanels,
    flag,
    grouped,
    option,
)
from seqwright.cli.using_pictures import look

app = typer.Typer(
    name="seqwright",
    help="The whole family of sequence models, in one toolkit: train, evaluate, translate, look inside.",
    cls=VerbsInPanels,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
data_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Public datasets: list them, get one.")
app.add_typer(data_app, name="data")


def _version(asked: bool) -> None:
    if asked:
        from seqwright import __version__

        print(f"seqwright {__version__}")
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    warnings.showwarning = _show_warning  # type: ignore[assignment]  # of what it is told, it needs one thing
    if sys.platform == "win32":
        print("Seqwright is made for Linux and macOS; on Windows, run it in WSL.", file=sys.stderr)


def _show_warning(message: Warning | str, *_: object) -> None:
    """A warning as a sentence, without the file and the line that it came from."""
    print(message, file=sys.stderr)


@app.command(cls=Verb)
def recipes(
    word: Annotated[
        str | None, typer.Argument(metavar="WORD", help="Only those with this word: a dataset, a model, ….")
    ] = None,
    task: TaskName = None,
) -> None:
    """List the recipes that ship, by task.

    Example: seqwright recipes --task text-classification

    Example: seqwright recipes bert
    """
    from seqwright.cli.listing import list_recipes

    list_recipes(task, word)


@app.command(cls=Verb)
def settings(
    word: Annotated[
        str | None,
        typer.Argument(
            metavar="SECTION|KIND",
            autocompletion=complete_settings,
            help="A section of a recipe, as in training; a kind of model, objective or tokenizer, or a card; or one "
            "setting, as in training.rate.",
        ),
    ] = None,
    task: TaskName = None,
) -> None:
    """List the settings of a recipe, with types and defaults.

    Example: seqwright settings training

    Example: seqwright settings lstm --task language-modeling

    Example: seqwright settings training.rate
    """
    from seqwright.cli.setting_list import list_settings

    list_settings(word, task)


@app.command(cls=Verb)
def runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the run folders are.")] = Path("runs"),
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="Remove checkpoints that are neither best nor last, and runs without any; says what, and asks.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: JsonLines = False,
) -> None:
    """List the runs: task, model, score, age and size.

    The score is that of the best checkpoint on the validation part.

    Example: seqwright runs

    Example: seqwright runs --prune
    """
    from seqwright.cli.run_list import list_runs

    list_runs(folder, prune=prune, yes=yes, as_json=json)


@app.command(cls=Verb)
def lineage() -> None:
    """Draw the family tree of the models."""
    from seqwright.cli.listing import draw_lineage

    draw_lineage()


@app.command(cls=Verb)
def new(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="What to learn: translation, summarization, grapheme-to-phoneme, language-modeling, instruction, "
            "masked-language-modeling, text-classification, text-regression, token-classification, "
            "question-answering, series-classification, image-classification, image-captioning, film-classification, "
            "film-tracking, forecasting or vector-to-text.",
        ),
    ],
    data: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE",
            help="Your TSV, CSV, JSONL, Excel or Parquet file, for language-modeling any text, for "
            "text-classification also a folder with one for each label; for two line-aligned files give the option "
            "twice, the source first.",
        ),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SECTION.KEY=VALUE",
            help="Settings of the recipe, as in data.text=review data.label=stars, or data.time=date.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="For translation: the column or key of the source, or a column's number."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="For translation: the column or key of the target, or a column's number."),
    ] = None,
    begun: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="RUN", help="Fine-tune this run: one that you trained, or made with `seqwright import`."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write the recipe.")
    ] = None,
) -> None:
    """Write a commented recipe for your own file. Its columns are looked for, and told.

    Example: seqwright new text-classification --data mine.csv data.label=stars

    seqwright new text-classification --data mine.csv --from runs/minilm
    """
    from seqwright.cli.beginning import write_new_recipe

    write_new_recipe(task, data, output, source, target, settings, begun)


@app.command(cls=Verb)
def check(
    recipe: RecipeName,
    overrides: Overrides = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw some of the training images, as .png or .svg.")
    ] = None,
) -> None:
    """Look at the data and the model before training.

    Lengths, blanks, overlaps, memory and time; and whether the model can overfit a few examples. Of images a contact
    sheet can be drawn, with what augmentation makes of one.

    Example: seqwright check mine.toml

    Example: seqwright check digits-vit --picture sheet.png
    """
    from seqwright.cli.checking import check_recipe

    check_recipe(recipe, overrides or [], picture)


@app.command("train", cls=Verb)
@grouped
def train_run(
    recipe: RecipeName, overrides: Overrides = None, run: NewRunFolder = None, *, options: TrainingOptions
) -> None:
    """Train a recipe into a run folder. The same command again resumes where it stopped.

    Example: seqwright train mine.toml training.steps=2000
    """
    from seqwright.cli.training import train_recipe

    train_recipe(recipe, overrides or [], run, options)


@app.command(cls=Verb)
@grouped
def distil(
    teacher: TeacherFolder,
    recipe: RecipeName,
    overrides: Overrides = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="RUN", help="A further teacher of classes; the mean of all is learnt."),
    ] = None,
    run: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The run folder.  [default: runs/NAME-distilled]")
    ] = None,
    *,
    options: TrainingOptions,
) -> None:
    """Train a smaller model on a larger one's predictions.

    The larger one is a classifier or a masked language model. The recipe is the student's; its tokenizer is the
    teacher's, which is asked once and whose answers are kept. More texts, without labels, help:
    objective.unlabelled=texts.txt.

    Example: seqwright distil runs/mine mine.toml model.layers=3
    """
    from seqwright.cli.training import distil_recipe

    distil_recipe([teacher, *(beside or [])], recipe, overrides or [], run, options)


@app.command("eval", cls=RunVerb)
@grouped
def evaluate(run: RunFolder, options: EvaluationOptions) -> None:
    """Score a run as its task is scored: BLEU, perplexity, ….

    Scores, answers and pictures go to its eval/ folder.

    Example: seqwright eval runs/mine --beam 5

    Example: seqwright eval runs/mine --with runs/other --with runs/third
    """
    from seqwright.cli.evaluating import evaluate_run

    evaluate_run(run, options)


@app.command(cls=Verb)
def compare(
    comparison: Annotated[
        str, typer.Argument(metavar="FILE", help="A comparison, as in ladder.toml, or the name of one that ships.")
    ],
    runs: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the folder of the comparison is, with all its runs.")
    ] = Path("runs"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Measure and show what would be trained, and how long; train nothing.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print everything that was found as one JSON object.")] = False,
) -> None:
    """Train recipes under one budget and write one table of scores.

    What is trained or evaluated already is left as it is, so the same command resumes after an interruption. The table
    goes to runs/NAME as HTML, with curves and alignments, as Markdown and as JSON.

    Example: seqwright compare mine.toml --dry-run
    """
    from seqwright.cli.comparing import compare_rows

    compare_rows(comparison, runs, dry_run=dry_run, as_json=json)


for verb in (
    *(using.translate, using.align, using.summarize, using.pronounce, using.reply, using.describe, using.caption),
    *(using.generate, using.score, using.prompt, using.fill, using.classify, using.predict, using.tag, using.answer),
    *(using.forecast, using.track),
    *(using_any.embed, using_any.neighbours, using_any.probe, look, using_any.export),
):
    app.command(cls=RunVerb)(grouped(verb))
app.command("import", cls=Verb)(using_any.import_)


@data_app.command("list", cls=Verb)
def data_list() -> None:
    """List the dataset cards.

    Example: seqwright data list
    """
    from seqwright.cli.listing import list_data

    list_data()


@data_app.command("show", cls=Verb)
def data_show(name: CardName) -> None:
    """Show a card in full: addresses, checksums, licence, whom to cite.

    Example: seqwright data show multi30k
    """
    from seqwright.cli.listing import show_data

    show_data(name)


@data_app.command("get", cls=Verb)
def data_get(name: CardName) -> None:
    """Get the data of a card.

    From $SEQWRIGHT_DATA where it is there, else by a download that can be resumed.

    Example: seqwright data get multi30k
    """
    from seqwright.cli.listing import get_data

    get_data(name)


@dataclass(frozen=True)
class ComplexityOptions(Options):
    """What is to be measured, and where it is written."""

    sizes: str = option("N,N,…", "The lengths to measure, at the least width.", default="64,128,256,512,1024,2048")
    widths: str = option("N,N,…", "The widths to measure, at the greatest length.", default="64,128,256,512")
    kernel: int = option("K", "How many places a convolution reads at once.", default=3)
    backward: bool = flag("Time the way back too, as in training.", "--backward")
    seconds: float = option("X", "How long to measure, about.", default=40)
    output: Path = option(
        "FOLDER", "Where to put the numbers and the pictures.", "--output", "-o", default=Path("complexity")
    )
    json: bool = flag("Print all numbers as one JSON object.", "--json")


@app.command(cls=Verb)
@grouped
def complexity(options: ComplexityOptions) -> None:
    """Measure what a layer of each kind costs in time and memory.

    Self-attention, recurrent and convolutional. Time and memory against the length of a text and the width of its
    vectors, with the exponents that fit, beside what the famous table says (Vaswani et al. 2017, table 1). Writes
    complexity.json, .png and .svg.

    Example: seqwright complexity --sizes 256,512,1024,2048 --backward
    """
    from seqwright.cli.complexity import measure_layers

    measure_layers(options)


@app.command(cls=Verb)
def doctor() -> None:
    """Say what this machine has, and what is missing."""
    from seqwright.cli.doctor import examine

    examine()
