"""What the verbs have in common: how their help looks, and the arguments and options that several of them take."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from seqwright.errors import RunError, closest


class Verb(TyperCommand):
    """A verb whose help calls its arguments what a user would: `RUN [TEXT]...`, without braces and types."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """`[OPTIONS] RUN [TEXT]...`."""
        return [piece.translate({ord("{"): "", ord("}"): ""}) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments first, then options."""
        parameters: list[Any] = self.get_params(ctx)
        arguments = [(each.metavar, each.help) for each in parameters if each.param_type_name == "argument"]
        options = [each.get_help_record(ctx) for each in parameters if each.param_type_name == "option"]
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _run_folder(folder: Path) -> Path:
    """The folder, or a sentence with what was probably meant; that nothing is there at all is said on opening it."""
    if folder.is_dir():
        return folder
    beside = [path for parent in (folder.parent, Path("runs")) for path in parent.glob("*")]
    runs = {path.name: path for path in beside if (path / "resolved.toml").is_file()}
    close = closest(folder.name.removesuffix(".toml"), runs)
    meant = f". Did you mean '{runs[close]}'?" if close else ""
    if folder.suffix == ".toml":
        training = shlex.join(["seqwright", "train", str(folder)])
        raise RunError(f"{folder} is a recipe, not a run{meant or f'; train it first: {training}'}")
    if meant:
        raise RunError(f"there is no run {folder}{meant}")
    return folder


def _run_folders(folders: list[Path] | None) -> list[Path]:
    return [_run_folder(folder) for folder in folders or ()]


RecipeName = Annotated[
    str, typer.Argument(metavar="RECIPE", help="A recipe file, as in mine.toml, or the name of one that ships.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="SECTION.KEY=VALUE", help="Settings in place of the recipe's, as in training.steps=2000."),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", callback=_run_folder, help="A run folder, as in runs/mine.")]
TeacherFolder = Annotated[
    Path, typer.Argument(metavar="TEACHER", callback=_run_folder, help="The run to learn from, as in runs/mine.")
]
Texts = Annotated[
    list[str] | None,
    typer.Argument(metavar="TEXT", help="Texts; without any, or as -, standard input is read line by line."),
]
CardName = Annotated[str, typer.Argument(metavar="NAME", help="The name of a dataset, as in multi30k.")]
NBest = Annotated[int | None, typer.Option(metavar="N", help="Show N results for each text, the best first.")]
Temperature = Annotated[
    float | None, typer.Option(metavar="X", help="When drawing: below 1 safer, above 1 bolder; 1 is the model's own.")
]
TopK = Annotated[int | None, typer.Option(metavar="N", help="When drawing: only from the N likeliest tokens.")]
TopP = Annotated[
    float | None,
    typer.Option(metavar="X", help="When drawing: only from the likeliest that make up this share, as in 0.9."),
]
MinP = Annotated[
    float | None,
    typer.Option(metavar="X", help="When drawing: only tokens at least X times as likely as the likeliest, as in 0.1."),
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="When drawing: the same number draws the same texts.")]
Shortest = Annotated[int | None, typer.Option(metavar="N", help="Write at least N tokens.")]
Longest = Annotated[int | None, typer.Option(metavar="N", help="Write at most N tokens, the end included.")]
NoRepeat = Annotated[int | None, typer.Option(metavar="N", help="Never write the same N tokens in a row twice.")]
RepetitionPenalty = Annotated[
    float | None, typer.Option(metavar="X", help="Above 1: less of what the text holds already; 1.2 is usual.")
]
Stop = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="End before this text where it is written; can be given several times."),
]
Scores = Annotated[bool, typer.Option("--scores", help="Show the score before each result.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object for each result.")]
Which = Annotated[str, typer.Option(metavar="best|last", help="The checkpoint to use.")]
Side = Annotated[
    str | None,
    typer.Option(metavar="source|target", help="Whose vectors, where the two sides of a translation have their own."),
]
Beam = Annotated[
    int | None,
    typer.Option(metavar="N", help="How many hypotheses the search keeps; 1 takes the likeliest token each time."),
]
LengthPenalty = Annotated[
    float | None, typer.Option(metavar="X", help="How much beam search favours long texts; 0: not at all.")
]
CoveragePenalty = Annotated[
    float | None,
    typer.Option(metavar="X", help="How much beam search minds what is left out of the source, as in 0.2; 0: none."),
]
Unknown = Annotated[
    str | None,
    typer.Option(
        metavar="never|keep|copy|dictionary",
        help="Unknown words: never written, kept, or replaced by the source word or what `align` learnt of it.",
    ),
]
PrecisionOf = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="float32|bfloat16",
        help="bfloat16 is faster where the processor has instructions for it, and rounds.",
    ),
]
Beside = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        metavar="RUN",
        callback=_run_folders,
        help="Another run to decide together with; several times for more.",
    ),
]
AverageOf = Annotated[
    str | None,
    typer.Option(metavar="probabilities|log-probabilities", help="What is averaged.  [default: probabilities]"),
]

# Options that are settings of [decoding], under their names there: rules of every search, and of drawing by chance.
RULES = ["n_best", "length_penalty", "coverage_penalty", "shortest", "longest", "no_repeat", "repetition_penalty"]
RULES += ["unknown", "stop", "precision"]
CHANCE = ["temperature", "top_k", "top_p", "min_p", "seed"]


def chosen_settings(context: typer.Context, names: Sequence[str]) -> dict[str, Any]:
    """What the command line says of each of these settings that the verb has; None where it says nothing."""
    there = {name: context.params[name] for name in names if name in context.params}
    return {name: None if value in ((), []) else value for name, value in there.items()}
