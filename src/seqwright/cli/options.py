"""What the verbs have in common: how their help looks, and the arguments and options that several of them take."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from seqwright.cli.completing import complete_override, complete_recipe, complete_run
from seqwright.errors import SettingError, without_settings

WHOLE = 1000  # characters of a summary: no verb has so many


class Verb(TyperCommand):
    """A verb whose help calls its arguments what a user would: `RUN [TEXT]...`, without braces and types."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What was typed, if it is text: bytes that are no UTF-8 reach a program as halves of surrogate pairs."""
        for number, word in enumerate(args, start=1):
            if any("\ud800" <= letter <= "\udfff" for letter in word):
                shown = word.encode("utf-8", "replace").decode()
                raise SettingError(
                    f"argument {number}, '{shown}', is not UTF-8: type a text in UTF-8 or give it with --file, and "
                    "rename the file if it is the name of one"
                )
        return super().parse_args(ctx, args)

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


class RunVerb(Verb):
    """A verb that uses a run: how it reads files cannot be set, so no sentence of it advises settings."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        with without_settings():
            return super().invoke(ctx)


PANELS = {
    "Begin": ("new", "recipes", "settings", "data", "check", "doctor"),
    "Train": ("train", "distil", "eval", "compare", "runs"),
    "Use": (
        *("translate", "summarize", "pronounce", "reply", "describe", "caption", "generate", "prompt", "fill"),
        *("classify", "predict", "tag", "answer", "forecast", "track"),
    ),
    "Look inside": ("look", "score", "embed", "neighbours", "probe", "align"),
    "Exchange": ("import", "export"),
}
"""The verbs in the order in which one comes to need them; what is in none of these stands in the last, "More"."""


class VerbsInPanels(TyperGroup):
    """All verbs, with summaries that no width cuts off: what does not fit continues in the next line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A panel of verbs after another."""
        named = {name for names in PANELS.values() for name in names}
        panels = {**PANELS, "More": tuple(name for name in self.commands if name not in named)}
        width = max(map(len, self.commands))  # one for all, so that the summaries begin in one column
        for title, names in panels.items():
            rows = [
                (name.ljust(width), self.commands[name].get_short_help_str(limit=WHOLE))
                for name in names
                if name in self.commands
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


@dataclass(frozen=True)
class Options:
    """Options that belong together, each a field: a verb takes them as one parameter, a user types them one by one."""

    def settings(self) -> dict[str, Any]:
        """Those that were typed, by name."""
        return {name: value for name, value in asdict(self).items() if value not in (None, [])}


def option(metavar: str, help: str, *names: str, default: Any = None, **more: Any) -> Any:
    """A field of `Options`; its names are made from the field's where they are not given."""
    return field(default=default, metadata={"option": typer.Option(*names, metavar=metavar, help=help, **more)})


def argument(metavar: str, help: str) -> Any:
    """A field of `Options` that is typed without a name, as often as one likes."""
    return field(default=None, metadata={"option": typer.Argument(metavar=metavar, help=help)})


def flag(help: str, *names: str) -> Any:
    """A field of `Options` that is true where one of its names is typed."""
    return field(default=False, metadata={"option": typer.Option(*names, help=help)})


def grouped(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb as Typer reads it, with the fields of `Options` in place of the parameter that holds them."""

    @wraps(verb)
    def command(**typed: Any) -> None:
        verb(**_collected(verb, typed))

    parameters = list(_flat(verb))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _is_group(parameter: inspect.Parameter) -> bool:
    return inspect.isclass(parameter.annotation) and issubclass(parameter.annotation, Options)


def _flat(owner: Any) -> Iterator[inspect.Parameter]:
    """The parameters of a verb, or of a group of options, those of its groups one by one."""
    declared = {each.name: each.metadata for each in (fields(owner) if is_dataclass(owner) else ())}
    for name, each in inspect.signature(owner).parameters.items():
        if _is_group(each):
            yield from _flat(each.annotation)
        elif "option" in declared.get(name, {}):
            yield each.replace(kind=each.KEYWORD_ONLY, annotation=Annotated[each.annotation, declared[name]["option"]])
        else:
            yield each.replace(kind=each.KEYWORD_ONLY)


def _collected(owner: Callable[..., Any], typed: dict[str, Any]) -> dict[str, Any]:
    """What was typed, as the parameters of a verb or of a group hold it."""
    return {
        name: each.annotation(**_collected(each.annotation, typed)) if _is_group(each) else typed[name]
        for name, each in inspect.signature(owner).parameters.items()
    }


# ---------------------------------------------------------------------------------------- single arguments and options

RecipeName = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE",
        autocompletion=complete_recipe,
        help="A recipe file, as in mine.toml, or the name of one that ships.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SECTION.KEY=VALUE",
        autocompletion=complete_override,
        help="Settings in place of the recipe's, as in training.steps=2000.",
    ),
]


def _run_argument(metavar: str, help: str) -> Any:
    return typer.Argument(metavar=metavar, autocompletion=complete_run, help=help)


RunFolder = Annotated[Path, _run_argument("RUN", "A run folder, as in runs/mine.")]
TeacherFolder = Annotated[Path, _run_argument("TEACHER", "The run to learn from, as in runs/mine.")]
TaskName = Annotated[
    str | None, typer.Option("--task", metavar="TASK", help="Only what is for this task, as in translation.")
]
CardName = Annotated[str, typer.Argument(metavar="NAME", help="The name of a dataset, as in multi30k.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object for each result.")]
NewRunFolder = Annotated[Path | None, typer.Option(metavar="FOLDER", help="The run folder.  [default: runs/NAME]")]
ReplaceFile = Annotated[bool, typer.Option("--yes", "-y", help="Replace a file that is there.")]
Which = Annotated[str, typer.Option(metavar="best|last", help="The checkpoint to use.")]
Side = Annotated[
    str | None,
    typer.Option(metavar="source|target", help="Whose vectors, where the two sides of a translation have their own."),
]
Beam = Annotated[
    int | None,
    typer.Option(metavar="N", help="How many hypotheses beam search keeps; 1 takes the likeliest token each time."),
]

# ---------------------------------------------------------------------------------------- groups of options


PENALTY = option("X", "How much beam search favours long texts; 0: not at all.")
COVERAGE = option("X", "How much beam search minds what is left out of the source, as in 0.2; 0: none.")
UNKNOWN = option(
    "never|keep|copy|dictionary",
    "Unknown words: never written, kept, or replaced by the source word or what `align` learnt of it.",
)
PRECISION = option(
    "float32|int8|bfloat16",
    "What is computed with: int8 rounds and is mostly faster, bfloat16 where the processor has instructions for it.",
    "--precision",
    "--compute",
)
ENGINE = option(
    "plain|ctranslate2|auto", "What computes; auto is CTranslate2 wherever it can do what is asked.  [default: plain]"
)
LONGEST = option("N", "Write at most N tokens, the end included.")


@dataclass(frozen=True)
class TrainingOptions(Options):
    """What becomes of a run that is there, and what is written beside a new one."""

    fresh: bool = flag("Start over; asks before it deletes.", "--fresh")
    yes: bool = flag("Do not ask.", "--yes", "-y")
    tensorboard: bool = flag("Also write TensorBoard events.", "--tensorboard")


@dataclass(frozen=True)
class Things(Options):
    """What a run is asked about."""

    run: RunFolder
    texts: list[str] | None = argument("TEXT", "Texts; without any, or as -, standard input is read line by line.")
    file: Path | None = option(
        "FILE", "A table (.csv, .tsv, .jsonl, .xlsx, .parquet), or any file with one text per line."
    )
    column: list[str] | None = option(
        "NAME", "The column of a table, by name or number.  [default: that of the run's data, or a usual one as text]"
    )


@dataclass(frozen=True)
class Answers(Options):
    """How its answers are printed, and of which checkpoint."""

    json: JsonLines = False
    which: Which = "best"


@dataclass(frozen=True)
class TableAnswers(Answers):
    """The same, or the table in which they are written."""

    output: Path | None = option(
        "FILE",
        "Write a table, .csv, .tsv, .jsonl, .xlsx or .parquet: every row that was read, with the answers as columns.",
        "--output",
        "-o",
    )
    yes: ReplaceFile = False


@dataclass(frozen=True)
class TextAnswers(TableAnswers):
    """How texts are printed that a model writes."""

    scores: bool = flag("Show the score before each result.", "--scores")


@dataclass(frozen=True)
class EnsembleOptions(Options):
    """Other runs that decide together with the first."""

    beside: list[Path] | None = option(
        "RUN",
        "Another run to decide together with; several times for more.",
        "--with",
        autocompletion=complete_run,
    )
    average: str | None = option("probabilities|log-probabilities", "What is averaged.  [default: probabilities]")


@dataclass(frozen=True)
class SourceOptions(Options):
    """Settings of [decoding] for texts that are written from another text."""

    coverage_penalty: float | None = COVERAGE
    unknown: str | None = UNKNOWN


@dataclass(frozen=True)
class ScoringOptions(Options):
    """Settings of [decoding] that an evaluation can change."""

    beam: Beam = None
    length_penalty: float | None = PENALTY
    coverage_penalty: float | None = COVERAGE
    unknown: str | None = UNKNOWN
    precision: str | None = PRECISION


@dataclass(frozen=True)
class EngineOptions(Options):
    """Which program computes."""

    engine: str | None = ENGINE


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions(Options):
    """What a run is evaluated on, and how."""

    part: str | None = option("train|valid|test", "The part of the data.  [default: test, else valid]")
    data: list[Path] | None = option(
        "FILE", "Other data to evaluate on; for two line-aligned files give the option twice, the source first."
    )
    ensemble: EnsembleOptions = EnsembleOptions()
    decoding: ScoringOptions = ScoringOptions()
    computing: EngineOptions = EngineOptions()
    json: bool = flag("Print the scores as one JSON object.", "--json")
    which: Which = "best"


@dataclass(frozen=True)
class WritingOptions(Options):
    """Settings of [decoding] for every text that is written."""

    beam: Beam = None
    n_best: int | None = option("N", "Show N results for each text, the best first.")
    length_penalty: float | None = PENALTY
    temperature: float | None = option("X", "For sampling: above 1 flattens the distribution, below 1 sharpens it.")
    top_k: int | None = option("N", "For sampling: only from the N likeliest tokens.")
    top_p: float | None = option("X", "For sampling: only from the likeliest that make up this share, as in 0.9.")
    min_p: float | None = option(
        "X", "For sampling: only tokens at least X times as likely as the likeliest, as in 0.1."
    )
    seed: int | None = option("N", "For sampling: the same number samples the same texts.")
    shortest: int | None = option("N", "Write at least N tokens.")
    longest: int | None = LONGEST
    no_repeat: int | None = option("N", "Never write the same N tokens in a row twice.")
    repetition_penalty: float | None = option("X", "Above 1: less of what the text holds already; 1.2 is usual.")
    stop: list[str] | None = option("TEXT", "End before this text where it is written; can be given several times.")
    precision: str | None = PRECISION

    def sampling(self) -> dict[str, Any]:
        """The settings that only sampling has."""
        names = ("temperature", "top_k", "top_p", "min_p", "seed")
        return {name: value for name, value in self.settings().items() if name in names}


@dataclass(frozen=True, kw_only=True)
class TextOptions(Options):
    """How texts are written, and printed."""

    sample: bool = flag("Sample instead of searching; any option for sampling does so too.", "--sample")
    writing: WritingOptions
    computing: EngineOptions
    answers: TextAnswers


@dataclass(frozen=True, kw_only=True)
class CaptionOptions(TextOptions):
    """How captions are written, by one run or several."""

    ensemble: EnsembleOptions


@dataclass(frozen=True, kw_only=True)
class SourceTextOptions(TextOptions):
    """How texts are written from others, by one run or several."""

    ensemble: EnsembleOptions
    source: SourceOptions
    prefix: str = option("TEXT", "Begin every text with this.", default="")
