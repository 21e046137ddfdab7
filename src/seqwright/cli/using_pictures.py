"""The verb that draws what happens inside a run, with its options and its help text; `app.py` registers it."""

from dataclasses import dataclass
from pathlib import Path

from seqwright.cli.options import Beam, Options, RunFolder, Which, argument, flag, option


@dataclass(frozen=True)
class LookOptions(Options):
    """What the user wants to see; nothing of it: what the run shows best."""

    texts: list[str] | None = argument(
        "TEXT",
        "A text for the model to read, or a sentence to translate; two where it reads pairs, or a question and its "
        "context; several for --word; series of numbers; or the paths of images.",
    )
    file: Path | None = option(
        "FILE", "A file to read instead, plain or .gz; for --surprisal, --word and units.", default=None
    )
    layer: int | None = option("N", "Attention of this layer, with lines between the words.")
    head: int | None = option("N", "Only this head of the layer.")
    tree: bool = flag("What beam search kept, dropped and finished, step by step.", "--beam-tree")
    lens: bool = flag("What each layer of a gpt or a masked bert would say if it were the last.", "--lens")
    surprisal: bool = flag("How surprising each token is to a language model.", "--surprisal")
    word: str | None = option("WORD", "How alike this word's vectors are in the texts, layer by layer.")
    units: bool = flag("Colour the text by single recurrent units.", "--units")
    unit: list[str] | None = option("LAYER:N", "This unit, as in 1:17 or memory:1:17; can be given several times.")
    rule: str | None = option(
        "RULE", "The units that follow this rule: quotes, brackets, digits, or any regular expression."
    )
    rollout: bool = flag("Of images: how much of each patch reaches the end through all layers of a ViT.", "--rollout")
    patch: str | None = option("ROW,COLUMN", "Of images: how alike this patch is to all others, layer by layer.")
    positions: bool = flag("How alike the positions of a ViT are.", "--positions")
    filters: bool = flag("What the first layer of a model of images looks for.", "--filters")
    gradients: bool = flag(
        "How far back in time a recurrent layer is felt, trained and at first; of images the pixels that the label "
        "hangs on.",
        "--gradients",
    )
    beside: list[Path] | None = option(
        "RUN",
        "Another run beside this one, in a picture of alignments or of --gradients; several times for more.",
        "--with",
    )
    initialisations: bool = flag("What each way to begin the weights does to a recurrent model.", "--initialisations")
    beam: Beam = None
    output: Path | None = option("FOLDER", "Where to put the pictures.  [default: RUN/pictures]", "--output", "-o")
    json: bool = flag(
        "Print the numbers of --lens, --word, --gradients, --rule, an alignment, a series or an image.", "--json"
    )
    which: Which = "best"

    @property
    def count(self) -> int:
        """How many texts are given."""
        return len(self.texts or ())

    @property
    def of_units(self) -> bool:
        """Whether single units are asked for."""
        return self.units or bool(self.unit) or self.rule is not None

    @property
    def asked(self) -> list[str]:
        """The pictures that are asked for, by their options."""
        wanted = {
            "--layer": self.layer is not None,
            "--beam-tree": self.tree,
            "--lens": self.lens,
            "--surprisal": self.surprisal,
            "--word": self.word is not None,
            "--units": self.of_units,
            "--rollout": self.rollout,
            "--patch": self.patch is not None,
            "--positions": self.positions,
            "--filters": self.filters,
            "--gradients": self.gradients,
            "--initialisations": self.initialisations,
        }
        return [name for name, given in wanted.items() if given]


def look(run: RunFolder, *, options: LookOptions) -> None:
    """Draw what happens inside a model as it reads or writes.

    Of a Transformer, a GPT, a BERT or a ViT it shows what attention looks at, of a captioner where it looks for each
    word, of a recurrent model what its units do, of a classifier of series the steps that the label hangs on, of a CNN
    or ResNet the pixels. Pictures are PNG and SVG, some with an HTML page, and there is something to see in the
    terminal.

    Example: seqwright look runs/mine "Ein Hund schläft." --beam 5 --beam-tree

    Example: seqwright look runs/mine "Ein Hund schläft." --with runs/other

    Example: seqwright look runs/minilm "The cat sat: it was tired." --layer 3

    Example: seqwright look runs/minilm --word bank "a river bank" "a bank lends"

    Example: seqwright look runs/mine "To be or not to be" --lens

    Example: seqwright look runs/mine --file book.txt --rule quotes

    Example: seqwright look runs/digits-vit seven.png --patch 2,3

    Example: seqwright look runs/captions photo.jpg --beam 3

    Example: seqwright look runs/names-rnn --with runs/names-lstm --gradients
    """
    from seqwright.cli.looking import look_at

    look_at(run, options)
