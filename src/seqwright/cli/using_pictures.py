"""The verb that draws what happens inside a run, with its help text; `app.py` registers it."""

from pathlib import Path
from typing import Annotated

import typer

from seqwright.cli.options import Beam, RunFolder, Which

ReadTexts = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TEXT",
        help="A text for the model to read, or a sentence to translate; two where it reads pairs, or a question and "
        "its context; several for --word.",
    ),
]
ReadFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A file to read instead, plain or .gz; for --surprisal, --word and units."),
]
TreeOption = Annotated[
    bool, typer.Option("--beam-tree", help="What beam search kept, dropped and finished, step by step.")
]
LensOption = Annotated[
    bool, typer.Option("--lens", help="What each layer of a gpt or a masked bert would say if it were the last.")
]
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
    typer.Option(
        "--with",
        metavar="RUN",
        help="Another run beside this one, in a picture of alignments or of --gradients; several times for more.",
    ),
]
Initialisations = Annotated[
    bool, typer.Option("--initialisations", help="What each way to begin the weights does to a recurrent model.")
]


def look(
    run: RunFolder,
    texts: ReadTexts = None,
    file: ReadFile = None,
    layer: Annotated[
        int | None, typer.Option(metavar="N", help="Attention of this layer, with lines between the words.")
    ] = None,
    head: Annotated[int | None, typer.Option(metavar="N", help="Only this head of the layer.")] = None,
    tree: TreeOption = False,
    lens: LensOption = False,
    surprisal: Annotated[
        bool, typer.Option("--surprisal", help="How surprising each token is to a language model.")
    ] = False,
    word: Annotated[
        str | None, typer.Option(metavar="WORD", help="How alike this word's vectors are in the texts, layer by layer.")
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
        bool,
        typer.Option("--json", help="Print the numbers of --lens, --word, --gradients, --rule or an alignment."),
    ] = False,
    which: Which = "best",
) -> None:
    """Draw what happens inside a model while it reads or writes a text.

    Of a Transformer, a GPT or a BERT it shows what attention looks at, of a recurrent model what its units do. Pictures
    are PNG and SVG, some with an HTML page, and there is something to see in the terminal.

    Example: seqwright look runs/mine "Ein Hund schläft." --beam 5 --beam-tree

    Example: seqwright look runs/mine "Ein Hund schläft." --with runs/other

    Example: seqwright look runs/minilm "The cat sat because it was tired." --layer 3

    Example: seqwright look runs/minilm --word bank "the bank of the river" "a bank lends money"

    Example: seqwright look runs/mine "To be or not to be" --lens

    Example: seqwright look runs/mine --file book.txt --rule quotes

    Example: seqwright look runs/names-rnn --with runs/names-lstm --gradients
    """
    from seqwright.cli.looking import Wish, look_at
    from seqwright.pictures.attention import HeadChoice

    asked = Wish(tuple(texts or ()), file, HeadChoice(layer, head), lens, surprisal, word)
    asked = asked._replace(units=units, chosen=tuple(unit or ()), rule=rule, gradients=gradients, tree=tree)
    asked = asked._replace(beside=tuple(beside or ()), initialisations=initialisations, beam=beam, output=output)
    look_at(run, asked._replace(as_json=json, which=which))
