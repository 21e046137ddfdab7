"""The verbs of the tasks (`kinds.TASKS`), with their help texts; `app.py` registers them."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from seqwright.cli.options import (
    LONGEST,
    CaptionOptions,
    EngineOptions,
    Options,
    RunFolder,
    SourceTextOptions,
    TableAnswers,
    TextAnswers,
    TextOptions,
    Things,
    Which,
    WritingOptions,
    argument,
    flag,
    option,
)


def _write(verb: str, things: Things, options: TextOptions) -> None:
    from seqwright.cli.writing import write_texts

    write_texts(verb, things, **vars(options))


def translate(things: Things, options: SourceTextOptions) -> None:
    """Translate texts, line by line. Several runs predict together.

    Example: seqwright translate runs/mine "Guten Morgen." --beam 5 --scores

    Example: seqwright translate runs/mine --with runs/other "Guten Morgen."
    """
    from seqwright.cli.given import split_lines

    _write("translate", replace(things, texts=split_lines(things.texts)), options)


def summarize(things: Things, options: SourceTextOptions) -> None:
    """Summarize texts, each as a whole. Of a file or of standard input each line is one.

    Example: seqwright summarize runs/mine "$(cat dialogue.txt)" --beam 4
    """
    _write("summarize", things, options)


def pronounce(things: Things, options: SourceTextOptions) -> None:
    """Write the phonemes of each word: grapheme-to-phoneme.

    Example: seqwright pronounce runs/mine sequence --beam 5 --n-best 3
    """
    _write("pronounce", things, options)


def reply(things: Things, options: TextOptions) -> None:
    """Answer texts with a language model that learnt to.

    What it learnt may be to translate, to summarize, ….

    Example: seqwright reply runs/dialogsum-gpt "$(cat dialogue.txt)" --beam 4
    """
    _write("reply", things, options)


@dataclass(frozen=True)
class VectorThings(Things):
    """What texts are written from."""

    texts: list[str] | None = argument(
        "INPUT", "The number, the label, or the numbers as in 1.5,2 of each text; without any, or as -, standard input."
    )
    file: Path | None = option("FILE", "A file of such inputs, one per line, or a table.")


def describe(things: VectorThings, options: TextOptions) -> None:
    """Write a text for each number, label or row of numbers.

    Example: seqwright describe runs/numbers-gru 1234 56
    """
    _write("describe", things, options)


@dataclass(frozen=True)
class ImageThings(Things):
    """Images that captions are written for."""

    texts: list[str] | None = argument("IMAGE", "Images by their paths, or a folder or an archive of them.")
    file: Path | None = option("FILE", "A table (.csv, .tsv, .jsonl, .xlsx, .parquet) with paths, or a path per line.")


def caption(things: ImageThings, options: CaptionOptions) -> None:
    """Write what each image shows. Several runs decide together.

    Images are given by their paths, or as a folder, an archive or a table.

    Example: seqwright caption runs/mine photo.jpg --beam 5

    Example: seqwright caption runs/mine photos/ --output captions.csv
    """
    _write("caption", things, options)


@dataclass(frozen=True)
class Openings(Things):
    """How texts begin."""

    texts: list[str] | None = argument(
        "TEXT", "How the texts begin; without any, one from scratch; as -, standard input is read."
    )
    file: Path | None = option("FILE", "A file of openings, one per line, plain or .gz; or a table.")


def generate(
    things: Openings,
    *,
    greedy: Annotated[bool, typer.Option("--greedy", help="Take the likeliest token each time.")] = False,
    writing: WritingOptions,
    computing: EngineOptions,
    answers: TextAnswers,
) -> None:
    """Continue texts with a language model.

    They are sampled, unless --greedy or --beam is given. A single text is shown while it is written.

    Example: seqwright generate runs/mine "Once upon a time" --temperature 0.8

    Example: seqwright generate runs/mine --file openings.txt --stop "." --json
    """
    from seqwright.cli.writing import generate_texts

    generate_texts(things, writing, answers, greedy=greedy, engine=computing.engine)


def score(things: Things, answers: TableAnswers) -> None:
    """Show how surprising each token is to a language model.

    The redder a token, the less it was expected.

    Example: seqwright score runs/mine "To be or not to bee"
    """
    from seqwright.cli.scoring import score_texts

    score_texts(things, answers)


@dataclass(frozen=True)
class PromptThings(Things):
    """What is asked after examples."""

    texts: list[str] | None = argument("TEXT", "What is asked after the examples; as -, standard input is read.")


@dataclass(frozen=True)
class PromptOptions(Options):
    """What stands before a question, and what is measured."""

    examples: Annotated[
        Path, typer.Option(metavar="FILE", help="Examples: a .tsv, .csv or .jsonl file of texts and their answers.")
    ]
    answers: Path | None = option("FILE", "Questions with right answers, to measure the accuracy; such a file too.")
    shots: int | None = option("N", "Give N examples.  [default: all; of --answers 0, 1, 2, 4 and 8]")
    template: str | None = option("FORM", "How an example is written.  [default: {input} => {output}]")
    between: str | None = option("TEXT", "What stands between examples.  [default: a line feed]")
    longest: int | None = LONGEST
    seed: int = option("N", "Of --answers: the same number samples the same examples for a question.", default=0)
    picture: Path | None = option("FILE", "Draw the accuracy over the examples, as .png or .svg.")


def prompt(things: PromptThings, options: PromptOptions, answers: TableAnswers) -> None:
    """Ask a language model after examples: few-shot prompting.

    With --answers, how many questions are answered right after 0, 1, 2, 4, … examples, resampled for each.

    Example: seqwright prompt runs/mine --examples some.tsv "good cat night"

    Example: seqwright prompt runs/mine --examples some.csv --file in.csv

    Example: seqwright prompt runs/mine --examples some.csv --answers more.csv
    """
    from seqwright.cli.few_shots import prompt_run

    prompt_run(things, options, answers)


def fill(
    things: Things,
    *,
    top: Annotated[
        int | None,
        typer.Option(metavar="N", help="Show the N likeliest words for each that is masked.  [default: 5]"),
    ] = None,
    answers: TableAnswers,
) -> None:
    """Predict the words that a text masks as <mask>, [MASK] or ___.

    Several masked words are found each on its own. A table has the likeliest.

    Example: seqwright fill runs/mine "The capital of France is <mask>." --top 5
    """
    from seqwright.cli.asking import fill_texts

    fill_texts(things, answers, top=top)


@dataclass(frozen=True)
class PairThings(Things):
    """Texts, or pairs of texts."""

    file: Path | None = option(
        "FILE",
        "A table (.csv, .tsv, .jsonl, .xlsx, .parquet), or a file with one text, or pair with a tab, per line.",
    )
    text_pair: list[str] | None = option(
        "TEXT", "The other text, where the run learnt pairs; as often as there are texts."
    )


def classify(
    things: PairThings,
    *,
    top: Annotated[
        int | None, typer.Option(metavar="N", help="The N likeliest labels of each text.  [default: 1; in JSON all]")
    ] = None,
    answers: TableAnswers,
) -> None:
    """Predict the label of each text, pair, series, image or film.

    The label is shown with its probability. Images are given by their paths, or as a folder, an archive or a table; a
    film is a folder of frames or a GIF.

    Example: seqwright classify runs/mine "A film to fall asleep in." --top 2

    Example: seqwright classify runs/mine --file in.csv --output out.csv

    Example: seqwright classify runs/mine "He sings." --text-pair "He is silent."

    Example: seqwright classify runs/digits-vit photos/ --output labels.csv
    """
    from seqwright.cli.asking import ask_run

    ask_run("classify", things, answers, top=top, text_pairs=things.text_pair or [])


def predict(things: PairThings, answers: TableAnswers) -> None:
    """Predict the value of each text or pair by regression.

    A value is a score, or how alike two texts are.

    Example: seqwright predict runs/mine "He sings." --text-pair "He makes music."
    """
    from seqwright.cli.asking import ask_run

    ask_run("predict", things, answers, text_pairs=things.text_pair or [])


def tag(
    things: Things,
    *,
    spaces: Annotated[
        bool, typer.Option("--spaces", help="Words are what stands between spaces: the text is cut already.")
    ] = False,
    answers: TableAnswers,
) -> None:
    """Predict the tag of each word: names, parts of speech, ….

    Example: seqwright tag runs/mine "Angela Merkel lives in Berlin."
    """
    from seqwright.cli.asking import ask_run

    ask_run("tag", things, answers, reading={"split": "whitespace"} if spaces else {})


@dataclass(frozen=True)
class Questions(Things):
    """Questions, and the text that has their answers."""

    texts: list[str] | None = argument(
        "QUESTION", "Questions; without any, or as -, standard input is read line by line."
    )
    file: Path | None = option(
        "FILE", "A file of questions, one per line; or a .csv, .tsv or .jsonl table with questions and contexts."
    )
    context: str | None = option("TEXT", "The text to find the answers in.")
    context_file: Path | None = option("FILE", "A file that holds this text, plain or .gz.")


def answer(
    asked: Questions,
    *,
    top: Annotated[int, typer.Option(metavar="N", help="Show the N best answers that do not overlap.")] = 1,
    threshold: Annotated[
        float | None,
        typer.Option(metavar="X", help="Answer only what lies this far above saying nothing; below 0: more often."),
    ] = None,
    answers: TableAnswers,
) -> None:
    """Find the answer to a question in a text, or that it has none.

    Example: seqwright answer runs/mine "When was it?" --context-file article.txt
    """
    from seqwright.cli.asking import ask_run, context_given

    reading = {"context": context_given(asked.context, asked.context_file)}
    saying = {"most": top, "threshold": threshold}
    ask_run("answer", asked, answers, top=top, reading=reading, saying=saying)


def track(things: Things, answers: TableAnswers) -> None:
    """Follow something through films: its place in each frame.

    A place is x and y in pixels, 0,0 the middle of the pixel at the upper left. A film is a folder of frames or a GIF;
    a folder or an archive of such is every film in it, a table the films that it names.

    Example: seqwright track runs/dots-tracking clip.gif

    Example: seqwright track runs/mine films/ --output places.jsonl
    """
    from seqwright.cli.asking import ask_run

    ask_run("track", things, answers)


def forecast(
    run: RunFolder,
    file: Annotated[Path | None, typer.Option(metavar="FILE", help="A table to continue, not the run's data.")] = None,
    steps: Annotated[int | None, typer.Option(metavar="N", help="How many steps; as many as it learnt.")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw it, as .png or .svg.")] = None,
    *,
    answers: TableAnswers,
) -> None:
    """Forecast how a time series continues after its end.

    Example: seqwright forecast runs/mine --steps 24 --picture forecast.png
    """
    from seqwright.cli.forecasting import forecast_series

    forecast_series(Things(run, file=file and file.expanduser()), steps, picture, answers)


@dataclass(frozen=True)
class AlignOptions(Options):
    """What is to be aligned, and where it goes."""

    part: str | None = option(
        "train|valid|test", "The part of the data.  [default: train; with --gold test, else valid]"
    )
    data: list[Path] | None = option(
        "FILE", "Other pairs to align; for two line-aligned files give the option twice, the source first."
    )
    gold: Path | None = option("FILE", "The right alignments, a line for each pair, as in 0-0 1-2 3?4.")
    output: Path | None = option("FILE", "Where to write.  [default: RUN/output/PART.txt]", "--output", "-o")
    json: bool = flag("Print the numbers as one JSON object.", "--json")
    which: Which = "best"


def align(run: RunFolder, options: AlignOptions) -> None:
    """Align the words of translations by the model's attention.

    Writes a line for each pair in the format of Pharaoh, 0-0 1-2: source word, target word, counted from 0 between
    spaces. Of the training part it also learns a dictionary, which translate --unknown dictionary uses. With --gold it
    reports the alignment error rate.

    Example: seqwright align runs/mine

    Example: seqwright align runs/mine --data de.txt --data en.txt --gold a.txt
    """
    from seqwright.cli.aligning import align_run

    align_run(run, options)
