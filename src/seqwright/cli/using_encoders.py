"""The verbs that use what BERT and its like make of a text, with their help texts; `app.py` registers them."""

from pathlib import Path
from typing import Annotated

import typer

from seqwright.cli.options import RunFolder, Texts, Which


def fill(
    run: RunFolder,
    texts: Texts = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file of texts, one a line, plain or .gz.")
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", help="Show the N likeliest words for each that is hidden.")] = 5,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each text.")] = False,
    which: Which = "best",
) -> None:
    """Find the words that a text hides as <mask>, [MASK] or ___, with their probabilities.

    Several hidden words are found each on its own.

    Example: seqwright fill runs/wikitext2-bert "The capital of France is <mask>." --top 5
    """
    from seqwright.cli.filling import fill_texts

    fill_texts(run, texts or [], file, top=top, as_json=json, which=which)


def embed(
    run: RunFolder,
    texts: Texts = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file of texts, one a line, plain or .gz.")
    ] = None,
    pooling: Annotated[
        str | None,
        typer.Option(
            metavar="mean|first|thought",
            help="The mean of all tokens' vectors, that of BERT's [CLS], or the thought vector.  [default: thought "
            "where there is one, else mean]",
        ),
    ] = None,
    normalise: Annotated[bool, typer.Option("--normalise", help="Make every vector of length 1.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write them there: .npy for NumPy, .jsonl for JSON lines."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Replace a file that is there.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each text.")] = False,
    which: Which = "best",
) -> None:
    """Turn each text into one vector: what the last layer of a model makes of it.

    Any run will do whose model learns vectors for what it reads: BERT, GPT, a recurrent language model or classifier.
    Of a translation it is what the encoder makes of the source: its thought vector, or the mean of its vectors.

    Example: seqwright embed runs/wikitext2-bert --file sentences.txt --output vectors.npy
    """
    from seqwright.cli.embedding import embed_texts

    embed_texts(
        run,
        texts or [],
        file,
        pooling=pooling,
        normalise=normalise,
        output=output,
        yes=yes,
        as_json=json,
        which=which,
    )
