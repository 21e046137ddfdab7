"""The verbs that use a run which learnt from pairs of texts, with their help texts; `app.py` registers them."""

from pathlib import Path
from typing import Annotated

import typer

from seqwright.cli.options import (
    CHANCE,
    RULES,
    AverageOf,
    Beam,
    Beside,
    CoveragePenalty,
    JsonLines,
    LengthPenalty,
    Longest,
    MinP,
    NBest,
    NoRepeat,
    PrecisionOf,
    RepetitionPenalty,
    RunFolder,
    Scores,
    Seed,
    Shortest,
    Stop,
    Temperature,
    Texts,
    TopK,
    TopP,
    Unknown,
    Which,
    chosen_settings,
)


def translate(
    context: typer.Context,
    run: RunFolder,
    texts: Texts = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file of sentences, one a line, plain or .gz.")
    ] = None,
    beside: Beside = None,
    average: AverageOf = None,
    beam: Beam = None,
    n_best: NBest = None,
    length_penalty: LengthPenalty = None,
    coverage_penalty: CoveragePenalty = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw by chance instead of searching.")] = False,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    min_p: MinP = None,
    seed: Seed = None,
    shortest: Shortest = None,
    longest: Longest = None,
    no_repeat: NoRepeat = None,
    repetition_penalty: RepetitionPenalty = None,
    unknown: Unknown = None,
    stop: Stop = None,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Begin every translation with this.")] = "",
    precision: PrecisionOf = None,
    scores: Scores = False,
    json: JsonLines = False,
    which: Which = "best",
) -> None:
    """Translate sentences, a file, or standard input; with several runs, as all of them together think best.

    Example: seqwright translate runs/mine "Guten Morgen." --beam 5 --scores

    Example: seqwright translate runs/mine --with runs/other --with runs/third "Guten Morgen." --beam 5
    """
    from seqwright.cli.joining import EnsembleOptions
    from seqwright.cli.translating import translate_texts, with_chance

    decoding = {"beam": beam, **chosen_settings(context, RULES)}
    decoding |= with_chance(chosen_settings(context, CHANCE), sample=sample, beam=beam)
    ensemble = EnsembleOptions.asked(beside, average)
    translate_texts(run, texts or [], file, decoding, ensemble, prefix=prefix, scores=scores, as_json=json, which=which)


def align(
    run: RunFolder,
    part: Annotated[
        str | None,
        typer.Option(
            metavar="train|valid|test", help="The part of the data.  [default: train; with --gold test, else valid]"
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Other pairs to align; for two line-aligned files give the option twice, the source first.",
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The right alignments, a line for each pair, as in 0-0 1-2 3?4."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write.  [default: RUN/output/PART.txt]"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the numbers as one JSON object.")] = False,
    which: Which = "best",
) -> None:
    """Say which words of a sentence and of its translation belong together, by where the model looks.

    Writes a line for each pair in the format of Pharaoh, 0-0 1-2: source word, target word, counted from 0 between
    spaces. Of the training part it also learns a dictionary, which translate --unknown dictionary uses. With --gold it
    says the alignment error rate.

    Example: seqwright align runs/mine

    Example: seqwright align runs/mine --data test.de --data test.en --gold test.align
    """
    from seqwright.cli.aligning import Wish, align_run

    align_run(run, Wish(part, tuple(data or ()), gold, output, json, which))
