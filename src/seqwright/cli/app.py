"""The verbs, with their help texts. Each one loads its work from a module beside this file when it is called."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="seqwright",
    help="The whole family of sequence models, in one toolkit: train, evaluate, translate, look inside.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(no_args_is_help=True, help="Dataset cards: list them, get the data.")
app.add_typer(data_app, name="data")

RecipeName = Annotated[str, typer.Argument(help="A recipe file (mine.toml) or the name of one that ships.")]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="[SECTION.KEY=VALUE]...", help="Settings that override the recipe's."),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, as in runs/mine.")]
Texts = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TEXT]...", help="Sentences; none: --file, or standard input line by line."),
]
Which = Annotated[str, typer.Option(help="Which checkpoint: best or last.")]
Beam = Annotated[int | None, typer.Option(min=1, help="Hypotheses kept; 1 is greedy.")]
LengthPenalty = Annotated[float | None, typer.Option(help="How much beam search favours long ones.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]


def _version(asked: bool) -> None:
    if asked:
        from seqwright import __version__

        print(f"seqwright {__version__}")
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which.")] = False,
) -> None:
    pass


@app.command()
def recipes() -> None:
    """List the recipes that ship."""
    from seqwright.cli.listing import list_recipes

    list_recipes()


@app.command()
def lineage() -> None:
    """Draw the family tree of the models."""
    from seqwright.cli.listing import draw_lineage

    draw_lineage()


@app.command()
def new(
    task: Annotated[str, typer.Argument(help="What to learn: translation.")],
    data: Annotated[list[Path], typer.Option(help="Your file: TSV, CSV or JSONL; or give two line-aligned files.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the recipe.")] = None,
) -> None:
    """Write a commented recipe for your own file.

    seqwright new translation --data mine.tsv
    """
    from seqwright.cli.beginning import write_new_recipe

    write_new_recipe(task, data, output)


@app.command()
def check(recipe: RecipeName, overrides: Overrides = None) -> None:
    """Look at the data and the model before training: lengths, blanks, overlaps, memory, time, one batch overfitted."""
    from seqwright.cli.checking import check_recipe

    check_recipe(recipe, overrides or [])


@app.command()
def train(
    recipe: RecipeName,
    overrides: Overrides = None,
    run: Annotated[Path | None, typer.Option(help="The run folder.  [default: runs/NAME]")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over; asks before it deletes.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write TensorBoard events.")] = False,
) -> None:
    """Train a recipe into a run folder. The same command again goes on where it stopped.

    seqwright train mine.toml training.steps=2000
    """
    from seqwright.cli.training import train_recipe

    train_recipe(recipe, overrides or [], run, fresh=fresh, yes=yes, tensorboard=tensorboard)


@app.command("eval")
def evaluate(
    run: RunFolder,
    part: Annotated[str | None, typer.Option(help="train, valid or test.  [default: test, else valid]")] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Other pairs to evaluate on: one file, or the option twice for two aligned files."),
    ] = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    which: Which = "best",
    json: Json = False,
) -> None:
    """Loss, perplexity, BLEU, chrF and exact match of a run; written to its eval/ folder."""
    from seqwright.cli.evaluating import evaluate_run

    evaluate_run(run, part, data or [], {"beam": beam, "length_penalty": length_penalty}, which, as_json=json)


@app.command()
def translate(
    run: RunFolder,
    texts: Texts = None,
    file: Annotated[Path | None, typer.Option(help="A file of sentences, one a line.")] = None,
    beam: Beam = None,
    n_best: Annotated[int | None, typer.Option(min=1, help="Candidates shown for each sentence.")] = None,
    length_penalty: LengthPenalty = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw by chance instead of searching.")] = False,
    temperature: Annotated[float | None, typer.Option(help="With --sample: above 1 flatter, below 1 sharper.")] = None,
    top_k: Annotated[int | None, typer.Option(help="With --sample: only the k likeliest tokens.")] = None,
    top_p: Annotated[float | None, typer.Option(help="With --sample: only the likeliest that reach this.")] = None,
    seed: Annotated[int | None, typer.Option(help="With --sample: the same seed draws the same text.")] = None,
    shortest: Annotated[int | None, typer.Option(help="Least tokens of a translation.")] = None,
    longest: Annotated[int | None, typer.Option(help="Most tokens of a translation, its end included.")] = None,
    no_repeat: Annotated[int | None, typer.Option(help="No n-gram of this size twice.")] = None,
    prefix: Annotated[str, typer.Option(help="Every translation is made to begin with this.")] = "",
    scores: Annotated[bool, typer.Option("--scores", help="Show the score before each translation.")] = False,
    json: Json = False,
    which: Which = "best",
) -> None:
    """Translate sentences, a file, or standard input line by line.

    seqwright translate runs/mine "Guten Morgen." --beam 5 --scores
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


@app.command()
def look(
    run: RunFolder,
    text: Annotated[str, typer.Argument(help="A sentence to translate and look at.")],
    beam: Beam = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to put the pictures.")] = None,
    which: Which = "best",
) -> None:
    """Draw what attention looks at while a sentence is translated: PNG, SVG, one HTML page, a map in the terminal."""
    from seqwright.cli.looking import look_at

    look_at(run, text, beam, output, which)


@data_app.command("list")
def data_list() -> None:
    """List the dataset cards."""
    from seqwright.cli.listing import list_data

    list_data()


@data_app.command("show")
def data_show(name: Annotated[str, typer.Argument(help="The name of a card, as in multi30k.")]) -> None:
    """Show a card in full: addresses, checksums, licence, whom to cite."""
    from seqwright.cli.listing import show_data

    show_data(name)


@data_app.command("get")
def data_get(name: Annotated[str, typer.Argument(help="The name of a card, as in multi30k.")]) -> None:
    """Get the data of a card: from $SEQWRIGHT_DATA if it is there, else by a download that can be resumed."""
    from seqwright.cli.listing import get_data

    get_data(name)


@app.command()
def doctor() -> None:
    """Say what is installed, how many threads and how much memory there are, and what is missing."""
    from seqwright.cli.doctor import examine

    examine()
