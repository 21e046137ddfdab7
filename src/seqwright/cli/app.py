"""The verbs, with their help texts. Each one loads its work from a module beside this file when it is called."""

from pathlib import Path
from typing import Annotated

import typer

from seqwright.cli.options import (
    Beam,
    CardName,
    LengthPenalty,
    Overrides,
    RecipeName,
    RunFolder,
    TeacherFolder,
    Verb,
    Which,
)
from seqwright.cli.using import (
    answer,
    bring,
    classify,
    export,
    forecast,
    generate,
    neighbours,
    prompt,
    score,
    tag,
    translate,
)
from seqwright.cli.using_encoders import embed, fill
from seqwright.cli.using_pictures import look

app = typer.Typer(
    name="seqwright",
    help="The whole family of sequence models, in one toolkit: train, evaluate, translate, look inside.",
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
    pass


@app.command(cls=Verb)
def recipes() -> None:
    """List the recipes that ship."""
    from seqwright.cli.listing import list_recipes

    list_recipes()


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
            help="What to learn: translation, language, classification, rating, questions or forecasting.",
        ),
    ],
    data: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE",
            help="Your TSV, CSV or JSONL file, for language any text, for classification also a folder with one for "
            "each label; for two line-aligned files give the option twice, the source first.",
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
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write the recipe.")
    ] = None,
) -> None:
    """Write a commented recipe for your own file. Its columns are looked for, and told.

    Example: seqwright new classification --data mine.csv data.label=stars
    """
    from seqwright.cli.beginning import write_new_recipe

    write_new_recipe(task, data, output, source, target, settings)


@app.command(cls=Verb)
def check(recipe: RecipeName, overrides: Overrides = None) -> None:
    """Look at the data and the model before training.

    Lengths, blanks, overlaps, memory and time; and whether the model can learn a few examples by heart.

    Example: seqwright check mine.toml
    """
    from seqwright.cli.checking import check_recipe

    check_recipe(recipe, overrides or [])


@app.command(cls=Verb)
def train(
    recipe: RecipeName,
    overrides: Overrides = None,
    run: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The run folder.  [default: runs/NAME]")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over; asks before it deletes.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write TensorBoard events.")] = False,
) -> None:
    """Train a recipe into a run folder. The same command again goes on where it stopped.

    Example: seqwright train mine.toml training.steps=2000
    """
    from seqwright.cli.training import train_recipe

    train_recipe(recipe, overrides or [], run, fresh=fresh, yes=yes, tensorboard=tensorboard)


@app.command(cls=Verb)
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
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over; asks before it deletes.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write TensorBoard events.")] = False,
) -> None:
    """Train a smaller model to say what a larger one says: a classifier, or one that finds hidden words.

    The recipe is the student's; its tokenizer is the teacher's, which is asked once and whose answers are kept. More
    texts, without labels, help: objective.unlabelled=texts.txt.

    Example: seqwright distil runs/mine mine.toml model.weights=runs/mine model.layers=3 'model.take=[0,2,4]'
    """
    from seqwright.cli.training import distil_recipe

    teachers = [teacher, *(beside or [])]
    distil_recipe(teachers, recipe, overrides or [], run, fresh=fresh, yes=yes, tensorboard=tensorboard)


@app.command("eval", cls=Verb)
def evaluate(
    run: RunFolder,
    part: Annotated[
        str | None,
        typer.Option(metavar="train|valid|test", help="The part of the data.  [default: test, else valid]"),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Other data to evaluate on; for two line-aligned files give the option twice, the source first.",
        ),
    ] = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    which: Which = "best",
    json: Annotated[bool, typer.Option("--json", help="Print the scores as one JSON object.")] = False,
) -> None:
    """Score a run as its task is scored: BLEU, perplexity, accuracy and F1, squared errors.

    Scores, answers and pictures go to its eval/ folder.

    Example: seqwright eval runs/mine --beam 5
    """
    from seqwright.cli.evaluating import evaluate_run

    evaluate_run(run, part, data or [], {"beam": beam, "length_penalty": length_penalty}, which, as_json=json)


for verb in (translate, generate, prompt, score, fill, embed, classify, tag, answer, forecast, look, neighbours):
    app.command(cls=Verb)(verb)
app.command(cls=Verb)(export)
app.command("import", cls=Verb)(bring)


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


@app.command(cls=Verb)
def doctor() -> None:
    """Say what this machine has, and what is missing."""
    from seqwright.cli.doctor import examine

    examine()
