"""The verbs, with their help texts. Each one loads its work from a module beside this file when it is called."""

from pathlib import Path
from typing import Annotated

import typer

from seqwright.cli.options import (
    Beam,
    CardName,
    JsonLines,
    LengthPenalty,
    Longest,
    NBest,
    NoRepeat,
    Overrides,
    RecipeName,
    RunFolder,
    Scores,
    Seed,
    Shortest,
    Temperature,
    Texts,
    TopK,
    TopP,
    Verb,
    Which,
)

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
    task: Annotated[str, typer.Argument(metavar="TASK", help="What to learn: translation or language.")],
    data: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE",
            help="Your TSV, CSV or JSONL file, or for language any text; for two line-aligned files give the option "
            "twice, the source first.",
        ),
    ],
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column or key of the source, or a column's number.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column or key of the target, or a column's number.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write the recipe.")
    ] = None,
) -> None:
    """Write a commented recipe for your own file.

    Example: seqwright new translation --data mine.tsv
    """
    from seqwright.cli.beginning import write_new_recipe

    write_new_recipe(task, data, output, source, target)


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
            help="Other pairs to evaluate on; for two line-aligned files give the option twice, the source first.",
        ),
    ] = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    which: Which = "best",
    json: Annotated[bool, typer.Option("--json", help="Print the scores as one JSON object.")] = False,
) -> None:
    """Score a run: loss, perplexity, BLEU, chrF, exact match. Scores and translations go to its eval/ folder.

    Example: seqwright eval runs/mine --beam 5
    """
    from seqwright.cli.evaluating import evaluate_run

    evaluate_run(run, part, data or [], {"beam": beam, "length_penalty": length_penalty}, which, as_json=json)


@app.command(cls=Verb)
def translate(
    run: RunFolder,
    texts: Texts = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file of sentences, one a line, plain or .gz.")
    ] = None,
    beam: Beam = None,
    n_best: NBest = None,
    length_penalty: LengthPenalty = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw by chance instead of searching.")] = False,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: Seed = None,
    shortest: Shortest = None,
    longest: Longest = None,
    no_repeat: NoRepeat = None,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Begin every translation with this.")] = "",
    scores: Scores = False,
    json: JsonLines = False,
    which: Which = "best",
) -> None:
    """Translate sentences, a file, or standard input.

    Example: seqwright translate runs/mine "Guten Morgen." --beam 5 --scores
    """
    from seqwright.cli.translating import translate_texts, with_chance

    decoding = {
        "beam": beam,
        "n_best": n_best,
        "length_penalty": length_penalty,
        "shortest": shortest,
        "longest": longest,
        "no_repeat": no_repeat,
    }
    chance = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    decoding |= with_chance(chance, sample=sample, beam=beam)
    translate_texts(run, texts or [], file, decoding, prefix=prefix, scores=scores, as_json=json, which=which)


@app.command(cls=Verb)
def generate(
    run: RunFolder,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="How the texts begin; without any, from nothing.")
    ] = None,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: Seed = None,
    greedy: Annotated[bool, typer.Option("--greedy", help="Take the likeliest token each time.")] = False,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    n_best: NBest = None,
    shortest: Shortest = None,
    longest: Longest = None,
    no_repeat: NoRepeat = None,
    scores: Scores = False,
    json: JsonLines = False,
    which: Which = "best",
) -> None:
    """Let a language model go on with a text, drawn by chance; it is shown while it is written.

    Example: seqwright generate runs/mine "Once upon a time" --temperature 0.8 --longest 300
    """
    from seqwright.cli.generating import drawn_or_searched, generate_texts

    decoding = {
        "n_best": n_best,
        "length_penalty": length_penalty,
        "shortest": shortest,
        "longest": longest,
        "no_repeat": no_repeat,
    }
    chance = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    decoding |= drawn_or_searched(chance, greedy=greedy, beam=beam)
    generate_texts(run, texts or [], decoding, scores=scores, as_json=json, which=which)


@app.command(cls=Verb)
def score(
    run: RunFolder,
    texts: Texts = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file of texts, one a line, plain or .gz.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each text.")] = False,
    which: Which = "best",
) -> None:
    """Show how surprising each token of a text is to a language model: the redder, the less expected.

    Example: seqwright score runs/mine "To be or not to bee"
    """
    from seqwright.cli.scoring import score_texts

    score_texts(run, texts or [], file, as_json=json, which=which)


@app.command(cls=Verb)
def classify(
    run: RunFolder,
    texts: Texts = None,
    file: Annotated[Path | None, typer.Option(metavar="FILE", help="A file of texts, one a line.")] = None,
    top: Annotated[int, typer.Option(metavar="N", help="Show the N likeliest labels of each text.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each text.")] = False,
    which: Which = "best",
) -> None:
    """Say the label of each text, with its probability.

    Example: seqwright classify runs/mine "A film to fall asleep in." --top 2
    """
    from seqwright.cli.classifying import classify_texts

    classify_texts(run, texts or [], file, top=top, as_json=json, which=which)


@app.command(cls=Verb)
def forecast(
    run: RunFolder,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A CSV file to go on from, instead of the run's own data.")
    ] = None,
    steps: Annotated[int | None, typer.Option(metavar="N", help="How many steps; as many as it learnt.")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw it, as .png or .svg.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each step.")] = False,
    which: Which = "best",
) -> None:
    """Say how a time series goes on from its end.

    Example: seqwright forecast runs/mine --steps 24 --picture forecast.png
    """
    from seqwright.cli.forecasting import forecast_series

    forecast_series(run, file, steps, as_json=json, picture=picture, which=which)


@app.command(cls=Verb)
def look(
    run: RunFolder,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A sentence to translate and look at.")],
    beam: Beam = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Where to put the pictures.  [default: RUN/pictures]"),
    ] = None,
    which: Which = "best",
) -> None:
    """Draw what attention looks at while a sentence is translated.

    Pictures of every head (PNG and SVG), one HTML page with all of them, and a map in the terminal.

    Example: seqwright look runs/mine "Guten Morgen."
    """
    from seqwright.cli.looking import look_at

    look_at(run, text, beam, output, which)


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
