"""The verbs that use a trained run, with their help texts; `app.py` registers them."""

from pathlib import Path
from typing import Annotated

import typer

from seqwright.cli.options import (
    CHANCE,
    RULES,
    Beam,
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
    Side,
    Stop,
    Temperature,
    Texts,
    TopK,
    TopP,
    Which,
    chosen_settings,
)


def generate(
    context: typer.Context,
    run: RunFolder,
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT",
            help="How the texts begin; without any, from nothing. Or texts to answer, or the number, label or numbers "
            "(as in 1.5,2) that texts are written from, where the run learnt that. As -, standard input is read.",
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file of beginnings, one a line, plain or .gz.")
    ] = None,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    min_p: MinP = None,
    seed: Seed = None,
    greedy: Annotated[bool, typer.Option("--greedy", help="Take the likeliest token each time.")] = False,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    n_best: NBest = None,
    shortest: Shortest = None,
    longest: Longest = None,
    no_repeat: NoRepeat = None,
    repetition_penalty: RepetitionPenalty = None,
    stop: Stop = None,
    precision: PrecisionOf = None,
    scores: Scores = False,
    json: JsonLines = False,
    which: Which = "best",
) -> None:
    """Let a language model go on with texts, drawn by chance; a single one is shown while it is written.

    A run that answers texts (with a translation or a summary), or that writes them from numbers or labels, is given
    those, and chooses as its recipe says.

    Example: seqwright generate runs/mine "Once upon a time" --temperature 0.8 --longest 300

    Example: seqwright generate runs/mine --file beginnings.txt --min-p 0.1 --stop "." --json

    Example: seqwright generate runs/dialogsum-gpt "$(cat dialogue.txt)" --beam 4

    Example: seqwright generate runs/numbers-gru 1234 56
    """
    from seqwright.cli.generating import drawn_or_searched, generate_texts

    decoding = chosen_settings(context, RULES)
    decoding |= drawn_or_searched(chosen_settings(context, CHANCE), greedy=greedy, beam=beam)
    generate_texts(run, texts or [], file, decoding, scores=scores, as_json=json, which=which)


def prompt(
    run: RunFolder,
    examples: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Examples: a .tsv, .csv or .jsonl file of texts and their answers."),
    ],
    texts: Annotated[list[str] | None, typer.Argument(metavar="TEXT", help="What is asked after the examples.")] = None,
    answers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Questions with right answers, to measure the accuracy; such a file too."),
    ] = None,
    shots: Annotated[
        int | None,
        typer.Option(metavar="N", help="Give N examples.  [default: all; of --answers 0, 1, 2, 4 and 8]"),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(metavar="FORM", help="How an example is written.  [default: {input} => {output}]"),
    ] = None,
    between: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What stands between examples.  [default: a line feed]")
    ] = None,
    longest: Longest = None,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Of --answers: the same number draws the same examples for a question.")
    ] = 0,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the accuracy over the examples, as .png or .svg.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each answer or number.")] = False,
    which: Which = "best",
) -> None:
    """Ask a language model something after examples of it; nothing is learnt from them but what is meant.

    With --answers, how many questions are answered right after 0, 1, 2, 4, … examples, drawn anew for each.

    Example: seqwright prompt runs/mappings-gpt --examples opposites.tsv "good cat night"

    Example: seqwright prompt runs/mine --examples capitals.csv --answers more.csv --picture shots.png
    """
    from seqwright.cli.few_shots import Wish, prompt_run

    wish = Wish(texts or [], examples, answers, shots, template, between, longest, seed, picture, json, which)
    prompt_run(run, wish)


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
    second: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="The second text, where the run learnt pairs; as often as there are texts."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file of texts, one a line; of a pair, a tab between the two.")
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", help="Show the N likeliest labels of each text.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each text.")] = False,
    which: Which = "best",
) -> None:
    """Say the label of each text, pair of texts or series, with its probability; where values were learnt, the value.

    Example: seqwright classify runs/mine "A film to fall asleep in." --top 2

    Example: seqwright classify runs/glue-stsb "A man plays a flute." --second "Somebody makes music."
    """
    from seqwright.cli.asking import ask_run

    ask_run("classify", run, texts or [], second or [], file, top=top, as_json=json, which=which)


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
    from seqwright.cli.asking import ask_run

    reading = {"split": "whitespace"} if spaces else {}
    ask_run("tag", run, texts or [], [], file, top=1, as_json=json, which=which, reading=reading)


def answer(
    run: RunFolder,
    questions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUESTION", help="Questions; without any, or as -, standard input is read line by line."
        ),
    ] = None,
    context: Annotated[str | None, typer.Option(metavar="TEXT", help="The text to find the answers in.")] = None,
    context_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file that holds this text, plain or .gz.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help='A file of questions, one a line; or of JSON lines, {"question": …, "context": …}.'
        ),
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", help="Show the N best answers that do not overlap.")] = 1,
    threshold: Annotated[
        float | None,
        typer.Option(metavar="X", help="Answer only what lies this far above saying nothing; below 0: more often."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each question.")] = False,
    which: Which = "best",
) -> None:
    """Find the answer to a question in a text: its own words, with their probability, or that it has none.

    Example: seqwright answer runs/mine "When did it begin?" --context-file article.txt --top 3
    """
    from seqwright.cli.asking import ask_run, context_given

    reading = {"context": context_given(context, context_file)}
    saying = {"most": top, "threshold": threshold}
    ask_run(
        "answer", run, questions or [], [], file, top=top, as_json=json, which=which, reading=reading, saying=saying
    )


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
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="The file to write, .gz at its end compresses it; for hf a folder.  [default: the run's name with "
            ".vec, .arpa or -hf, as --to says]",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="word2vec|arpa|hf", help="The format.  [default: word2vec for .vec, .txt; arpa for .arpa]"
        ),
    ] = None,
    side: Side = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Replace a file that is there.")] = False,
    which: Which = "best",
) -> None:
    """Write what a run has learnt for other programs: word vectors, n-grams as ARPA, GPT and BERT as hf.

    Example: seqwright export runs/mine --to hf

    Example: seqwright export runs/mine vectors.vec.gz
    """
    from seqwright.cli.exporting import export_run

    export_run(run, file, to, side, which, yes=yes)


def bring(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="An n-gram model as ARPA: .arpa or .lm, plain or .gz; or a GPT-2, BERT, RoBERTa or DistilBERT of "
            "Hugging Face: its folder with config.json, model.safetensors and a tokenizer.",
        ),
    ],
    run: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The run folder.  [default: runs/NAME]")] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="The run whose tokenizer cut the text, where the words are its pieces."),
    ] = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="What is classified or rated are pairs of texts, as in MNLI or STS-B.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Replace a run that is there.")] = False,
) -> None:
    """Make a run folder of a model that another program made: Hugging Face's transformers, KenLM's lmplz, SRILM.

    Example: seqwright import all-MiniLM-L6-v2 --run runs/minilm
    """
    from seqwright.cli.importing import import_model

    import_model(file, run, inputs, pairs=pairs, yes=yes)
