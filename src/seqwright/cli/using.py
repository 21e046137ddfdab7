"""The verbs that use a trained run, with their help texts; `app.py` registers them."""

from pathlib import Path
from typing import Annotated

import typer

from seqwright.cli.options import (
    Beam,
    JsonLines,
    LengthPenalty,
    Longest,
    NBest,
    NoRepeat,
    RunFolder,
    Scores,
    Seed,
    Shortest,
    Temperature,
    Texts,
    TopK,
    TopP,
    Which,
)


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
