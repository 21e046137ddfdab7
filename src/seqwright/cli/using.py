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
    Side,
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
        list[str] | None,
        typer.Argument(
            metavar="TEXT",
            help="How the texts begin; without any, from nothing. Or the number, label or numbers (as in 1.5,2) that "
            "texts are written from, where the run learnt that.",
        ),
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

    A run that writes texts from numbers or labels is given those, and chooses as its recipe says.

    Example: seqwright generate runs/mine "Once upon a time" --temperature 0.8 --longest 300

    Example: seqwright generate runs/numbers-gru 1234 56
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


def tag(
    run: RunFolder,
    texts: Texts = None,
    file: Annotated[Path | None, typer.Option(metavar="FILE", help="A file of sentences, one a line.")] = None,
    spaces: Annotated[
        bool, typer.Option("--spaces", help="Words are what stands between spaces: the text is cut already.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each sentence.")] = False,
    which: Which = "best",
) -> None:
    """Say the tag of each word: names of people and places, parts of speech, what a name in code is for.

    Example: seqwright tag runs/mine "Angela Merkel lives in Berlin."
    """
    from seqwright.cli.tagging import tag_texts

    tag_texts(run, texts or [], file, spaces=spaces, as_json=json, which=which)


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


def neighbours(
    run: RunFolder,
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="Words, or tokens as the vocabulary spells them.")],
    top: Annotated[int, typer.Option(metavar="N", help="Show the N nearest tokens of each word.")] = 10,
    analogy: Annotated[
        bool, typer.Option("--analogy", help="Of three words: what is nearest to the first − the second + the third.")
    ] = False,
    texts: Annotated[
        list[str] | None,
        typer.Option("--in", metavar="TEXT", help="Compare the word's vectors in this text and others; say it twice."),
    ] = None,
    side: Side = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each word or pair of texts.")] = False,
    which: Which = "best",
) -> None:
    """Show the tokens whose embeddings are nearest to a word's, by the cosine of their angle.

    With --in, how alike the word's vectors are in several texts: its embedding is the same everywhere, what the last
    layer makes of it there is not.

    Example: seqwright neighbours runs/mine dog cat --top 5

    Example: seqwright neighbours runs/mine bank --in "the bank of the river" --in "a bank lends money"
    """
    from seqwright.cli.neighbours import show_neighbours

    show_neighbours(run, words, top=top, analogy=analogy, texts=texts or [], side=side, as_json=json, which=which)


def export(
    run: RunFolder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; .gz at its end compresses it.")],
    to: Annotated[
        str | None,
        typer.Option(metavar="word2vec|arpa", help="The format.  [default: word2vec for .vec, .txt; arpa for .arpa]"),
    ] = None,
    side: Side = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Replace a file that is there.")] = False,
    which: Which = "best",
) -> None:
    """Write what a run has learnt for other programs: word vectors, or an n-gram model as ARPA.

    Example: seqwright export runs/mine mine.vec
    """
    from seqwright.cli.exporting import export_run

    export_run(run, file, to, side, which, yes=yes)


def bring(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An n-gram model as ARPA: .arpa or .lm, plain or .gz.")],
    run: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The run folder.  [default: runs/NAME]")] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="The run whose tokenizer cut the text, where the words are its pieces."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Replace a run that is there.")] = False,
) -> None:
    """Make a run folder of a model that another program made, such as lmplz of KenLM or SRILM.

    Example: seqwright import lm.arpa.gz --run runs/lm
    """
    from seqwright.cli.importing import import_model

    import_model(file, run, inputs, yes=yes)


UnitNames = Annotated[
    list[str] | None,
    typer.Option(metavar="LAYER:N", help="This unit, as in 1:17 or memory:1:17; can be given several times."),
]
Rule = Annotated[
    str | None,
    typer.Option(
        metavar="RULE", help="The units that follow this rule: quotes, brackets, digits, or any regular expression."
    ),
]
Gradients = Annotated[
    bool, typer.Option("--gradients", help="How far back in time a recurrent layer is felt, trained and at first.")
]
Beside = Annotated[
    list[Path] | None,
    typer.Option("--with", metavar="RUN", help="Another run in the picture of --gradients; several times for more."),
]
Initialisations = Annotated[
    bool, typer.Option("--initialisations", help="What each way to begin the weights does to a recurrent model.")
]


def look(
    run: RunFolder,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="A text for the model to read, or a sentence to translate.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file to read instead, plain or .gz; not for translation.")
    ] = None,
    units: Annotated[bool, typer.Option("--units", help="Colour the text by single recurrent units.")] = False,
    unit: UnitNames = None,
    rule: Rule = None,
    gradients: Gradients = False,
    beside: Beside = None,
    initialisations: Initialisations = False,
    beam: Beam = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Where to put the pictures.  [default: RUN/pictures]"),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the numbers of --gradients or --rule as JSON, one object a line.")
    ] = False,
    which: Which = "best",
) -> None:
    """Draw what happens inside a model while it reads or writes a text.

    Of a translation it shows what attention looks at, of a recurrent model what its units do. Pictures are PNG and
    SVG, some with an HTML page, and there is something to see in the terminal.

    Example: seqwright look runs/mine "Guten Morgen."

    Example: seqwright look runs/mine --file book.txt --rule quotes

    Example: seqwright look runs/names-rnn --with runs/names-lstm --gradients
    """
    from seqwright.cli.looking import Wish, look_at

    asked = Wish(text, file, units, tuple(unit or ()), rule, gradients, tuple(beside or ()), initialisations)
    look_at(run, asked._replace(beam=beam, output=output, as_json=json, which=which))
