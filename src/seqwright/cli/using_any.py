"""The verbs for what a run has learnt, whatever its task: its vectors, and its files; `app.py` registers them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from seqwright.cli.options import (
    ENGINE,
    PRECISION,
    JsonLines,
    NewRunFolder,
    Options,
    ReplaceFile,
    RunFolder,
    Side,
    Things,
    Which,
    flag,
    option,
)


@dataclass(frozen=True)
class EmbedOptions(Options):
    """Which vectors, and where they go."""

    pooling: str | None = option(
        "mean|first|thought",
        "The mean of all tokens' or places' vectors, that of BERT's [CLS] or a ViT's class token, or the thought "
        "vector.  [default: thought where there is one, the head's own of what is no text, else mean]",
    )
    normalise: bool = flag("Make every vector of length 1.", "--normalise")
    precision: str | None = PRECISION
    engine: str | None = ENGINE
    output: Path | None = option(
        "FILE", "Write them there: .npy for NumPy, or a table as .csv, .tsv, .jsonl, .xlsx, .parquet.", "--output", "-o"
    )
    yes: ReplaceFile = False
    json: JsonLines = False
    which: Which = "best"


def embed(things: Things, options: EmbedOptions) -> None:
    """Turn each text or image into one vector, from a last layer.

    Any run will do whose model learns vectors for what it reads: BERT, GPT, a recurrent language model or classifier, a
    ViT, a CNN. Of a translation it is what the encoder makes of the source: its thought vector, or the mean of its
    vectors. Of an image it is the vector that the label is found from. Images are given as for classify: by their
    paths, as a folder, an archive or a table.

    Example: seqwright embed runs/mine --file texts.txt --output vectors.npy

    Example: seqwright embed runs/digits-vit photos/ --output vectors.npy
    """
    from seqwright.cli.embedding import embed_things

    embed_things(things, options)


@dataclass(frozen=True)
class NeighbourOptions(Options):
    """Which vectors are compared."""

    top: int = option("N", "Show the N nearest tokens of each word, or images of each image.", default=10)
    analogy: bool = flag("Of three words: what is nearest to the first − the second + the third.", "--analogy")
    texts: list[str] | None = option(
        "TEXT", "Compare the word's vectors in this text and others; say it twice.", "--in"
    )
    side: Side = None
    data: Path | None = option(
        "FILE", "Where to look for images: a folder, an archive or a table.  [default: the run's training part]"
    )
    picture: Path | None = option("FILE", "Of images, also draw them in rows, as .png or .svg.")
    json: JsonLines = False
    which: Which = "best"


def neighbours(
    run: RunFolder,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORD", help="Words, or tokens as the vocabulary spells them; or the paths of images, or folders."
        ),
    ],
    *,
    options: NeighbourOptions,
) -> None:
    """Show the tokens nearest to a word, or the images most like one.

    Nearest is by cosine: of a word's embedding, of an image's vector as embed has it. With --in, how alike the word's
    vectors are in several texts: its embedding is the same everywhere, what the last layer makes of it there is not.

    Example: seqwright neighbours runs/mine dog cat --top 5

    Example: seqwright neighbours runs/mine bank --in "the bank of the river"

    Example: seqwright neighbours runs/digits-vit seven.png --picture alike.png
    """
    from seqwright.cli.neighbours import show_neighbours

    show_neighbours(run, words, options)


@dataclass(frozen=True)
class ProbeOptions(Options):
    """What is learnt from, and how."""

    data: str | None = option(
        "FILE|CARD",
        "Labelled examples: a file or folder as for training, or the name of a card.  [default: the run's own data]",
    )
    test: Path | None = option(
        "FILE", "Others, on which the probes are scored.  [default: a fifth of --data, a card's own test part]"
    )
    k: int = option("N", "How many neighbours vote.", "--neighbours", "-k", default=20)
    temperature: float = option("X", "A neighbour's vote weighs exp(cosine / X).", default=0.07)
    pooling: str | None = option("mean|first", "Which vectors, as for embed.")
    json: bool = flag("Print everything as one JSON object.", "--json")
    which: Which = "best"


def probe(run: RunFolder, options: ProbeOptions) -> None:
    """Score a run's frozen vectors: kNN and linear probe.

    Nothing of the model is trained: its vectors, as embed has them, are all that two simple classifiers see. What they
    reach on labels, also on others than the model learnt, says how much of these its vectors tell.

    Example: seqwright probe runs/digits-vit

    Example: seqwright probe runs/mine --data photos/ -k 5

    Example: seqwright probe runs/mine --data fashion-mnist --json
    """
    from seqwright.cli.probing import probe_run

    probe_run(run, options)


def export(
    run: RunFolder,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="The file to write, .gz at its end compresses it; for hf, onnx and ctranslate2 a folder.  [default: "
            "the run's name with .vec, .arpa, -hf, -onnx or -ctranslate2, as --to says]",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="word2vec|arpa|hf|onnx|ctranslate2",
            help="The format.  [default: word2vec for .vec, .txt; arpa for .arpa]",
        ),
    ] = None,
    side: Side = None,
    yes: ReplaceFile = False,
    which: Which = "best",
) -> None:
    """Write vectors, ARPA, ONNX, or for Hugging Face and CTranslate2.

    Example: seqwright export runs/mine --to hf

    Example: seqwright export runs/mine vectors.vec.gz
    """
    from seqwright.cli.exporting import export_run

    export_run(run, file, to, side, which, yes=yes)


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="An n-gram model as ARPA: .arpa or .lm, plain or .gz; or a GPT-2, BERT, RoBERTa or DistilBERT of "
            "Hugging Face: its folder with config.json, model.safetensors and a tokenizer.",
        ),
    ],
    run: NewRunFolder = None,
    like: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="The run whose tokenizer cut the text, where the words are its pieces."),
    ] = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="The model reads pairs of texts, as in MNLI or STS-B.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Replace a run that is there.")] = False,
) -> None:
    """Make a run of a Hugging Face, KenLM or SRILM model.

    Example: seqwright import all-MiniLM-L6-v2 --run runs/minilm
    """
    from seqwright.cli.importing import import_model

    import_model(file, run, like, pairs=pairs, yes=yes)
