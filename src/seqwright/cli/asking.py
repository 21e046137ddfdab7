"""The one path of the verbs: what is given becomes examples, examples predictions, predictions lines or a table."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, repeat
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from seqwright.cli.given import given_blocks, in_blocks, without_blank
from seqwright.cli.given_films import film_table
from seqwright.cli.given_images import image_table
from seqwright.cli.given_series import series_table
from seqwright.cli.opening import opened_for
from seqwright.cli.options import Answers, TableAnswers, Things
from seqwright.cli.table_writing import table_writer
from seqwright.cli.tables import (
    WRITTEN,
    GivenTable,
    given_table,
    is_table,
    plain_table,
    refuse_output,
)
from seqwright.cli.terminal import json_text, say, shown
from seqwright.data.files import lines, require_file
from seqwright.data.tables import Usual
from seqwright.errors import DataError, SettingError
from seqwright.inputs import Examples, Given
from seqwright.inputs.text import reads_pairs
from seqwright.runs import Run
from seqwright.tasks.wired import Wires

COLOURS = ("cyan", "yellow", "green", "magenta", "bright_blue", "red", "bright_cyan", "bright_yellow", "bright_green")
FILLED = 5  # words for each mask, where nobody says how many
EVERY = sys.maxsize  # labels, in JSON


class Result(NamedTuple):
    """A result as a line for people, and as the fields that JSON has of it beside those of its example."""

    line: str | Text
    fields: dict[str, Any]


Predict = Callable[[Given[Any], int], Iterable[Sequence[Result]]]
"""The results for each of some examples, of which the first has this number."""


def no_remarks(examples: Examples[Any], first: int) -> list[str]:
    """Nothing is to be known of them."""
    return []


class AskedInput(NamedTuple):
    """What a verb reads otherwise than the run's own input does, of which it has the same four methods."""

    parse: Callable[[Any], Any]
    example_fields: Callable[[Any], dict[str, Any]]
    remarks: Callable[[Examples[Any], int], list[str]] = no_remarks
    blank_remarks: Callable[[Examples[Any], int], list[str]] = no_remarks


ADDED: Mapping[str, tuple[str, ...]] = {  # the fields that each verb adds to a table
    "score": ("bits", "bits_per_token", "perplexity"),
    "classify": ("label", "probability"),
    "predict": ("value",),
    "tag": ("words", "tags"),
    "fill": ("words", "probability"),
    "prompt": ("answer",),
    "answer": ("answer", "probability", "begin", "end"),
    "track": ("places",),
}
TEXT_COLUMN: Mapping[str, str] = {  # what a text is called there that a verb writes
    "translate": "translation",
    "summarize": "summary",
    "pronounce": "pronunciation",
    "reply": "reply",
    "describe": "text",
    "caption": "caption",
    "generate": "continuation",
}


class Asking:
    """A verb on its way from what is given to where its results go; what is wrong with either is refused at once."""

    def __init__(self, verb: str, things: Things, answers: Answers, *, skips_blank: bool = False) -> None:
        self.verb, self.things, self.answers, self.skips_blank = verb, things, answers, skips_blank
        self.output = answers.output if isinstance(answers, TableAnswers) else None
        self.added = {name: name for name in ADDED.get(verb, ())}
        if verb in TEXT_COLUMN:
            self.added = {TEXT_COLUMN[verb]: "text"}
        if isinstance(answers, TableAnswers) and self.output is not None:
            refuse_output(self.output, WRITTEN, as_json=answers.json, yes=answers.yes)
        self.blocks: Iterator[list[Any]] = given_blocks(verb, things.texts, things.file)
        self.table: GivenTable | None = None  # in place of what is typed

    def give(self, run: Run, predict: Predict, input: Any = None, columns: Mapping[str, Usual] | None = None) -> None:
        """Print the results, or write them; a table is read by the columns of the run's own data, or by others.

        What is given is parsed by the run's input, if not by an `AskedInput`.
        """
        input = run.inputs.input if input is None else input
        columns = input.table_columns() if columns is None else columns
        chosen, blocks, table = self.things.column or [], self.blocks, self.table
        if table is None and not columns:
            things = self.things
            table = series_table(things.file, run) or image_table(things, run) or film_table(things, run)
        if columns and self.things.file is not None and is_table(self.things.file):
            table = given_table(self.things.file, columns, run.recipe.data, chosen)
        elif chosen and table is None:
            raise SettingError("--column chooses from the columns of a table, and there is none; leave it out")
        if self.output is not None:
            write_results(self.output, table or plain_table(blocks, list(columns)), self.added, input, predict)
            return
        if table is not None:
            blank: Any = "" if len(columns) < 2 else dict.fromkeys(columns, "")
            blocks = in_blocks(blank if row.given is None else row.given for row in table.rows)
        if self.skips_blank:
            blocks = without_blank(self.verb, blocks)
        print_results(input, blocks, predict, as_json=self.answers.json)


def print_results(input: Any, blocks: Iterable[list[Any]], predict: Predict, *, as_json: bool) -> None:
    """Print the results for everything given, block by block; a block with something that is refused has none."""
    read, console = 0, Console(highlight=False, soft_wrap=True)
    for block in blocks:
        places = [f"text {read + number}" for number in range(1, len(block) + 1)]
        for example, results in predicted(input, block, places, predict, read):
            for line, fields in results:
                print_line(json_text({**input.example_fields(example), **fields}) if as_json else line, console)
        sys.stdout.flush()
        read += len(block)


def write_results(path: Path, table: GivenTable, added: Mapping[str, str], input: Any, predict: Predict) -> None:
    """Write every row of a table with what is predicted of it in further columns; of a blank row that is nothing."""
    read = blank = 0
    with table_writer(path, table, list(added)) as writer:
        for block in in_blocks(table.rows):
            for is_blank, group in groupby(block, key=lambda row: row.given is None):
                rows = list(group)
                asked, places = [row.given for row in rows], [row.where for row in rows]
                pairs = repeat(None, len(rows)) if is_blank else predicted(input, asked, places, predict, read)
                for row, pair in zip(rows, pairs, strict=True):
                    fields = {} if pair is None else {**input.example_fields(pair[0]), **pair[1][0].fields}
                    writer.write(row, [fields.get(field) for field in added.values()])
                read, blank = read + len(rows), blank + is_blank * len(rows)
    if blank:
        say(f"rows with nothing to read: {blank:,}; their new cells are empty")
    say(f"wrote {read:,} rows to {shown(path)}")


def predicted(
    input: Any, given: Sequence[Any], places: Sequence[str], predict: Predict, first: int
) -> Iterator[tuple[Any, Sequence[Result]]]:
    """Each example with its results; what a user should know of them is said before."""
    examples = Given(_parsed(input, given, places))
    for remark in (*input.blank_remarks(examples, first), *input.remarks(examples, first)):
        say(remark)
    yield from zip(examples, predict(examples, first), strict=True)


def print_line(line: str | Text, console: Console) -> None:
    """A line, on a terminal in its colours; rich would change the tabs of a line without any."""
    print(line) if isinstance(line, str) else console.print(line)


def _parsed(input: Any, given: Sequence[Any], places: Sequence[str]) -> Iterator[Any]:
    """The examples of a block; of one that cannot be read it is said which it is."""
    for each, place in zip(given, places, strict=True):
        try:
            yield input.parse(each)
        except DataError as error:
            raise DataError(f"{place}: {error}") from error


# ---------------------------------------------------------------------------------------- single predictions


def ask_run(
    verb: str,
    things: Things,
    answers: Answers,
    *,
    top: int | None = None,
    text_pairs: Sequence[str] = (),
    reading: Mapping[str, Any] | None = None,
    saying: Mapping[str, Any] | None = None,
) -> None:
    """Give a prediction for each thing that is given: its likeliest labels, a number, the tags of its words, …

    On a line stands one if `top` is not given; JSON then has all.
    `reading` changes how the input reads what is given and `saying` what the output says of it, by their fields.
    """
    _refuse_top(top)
    asking = Asking(verb, things, answers)
    _refuse_several(asking, top)
    run = opened_for(verb, things.run, answers.which)
    input, output = run.input, run.output
    wires = Wires(replace(input, **reading) if reading else input, replace(output, **saying) if saying else output)
    if text_pairs:
        asking.blocks = iter([_with_pairs(run, things, text_pairs)])

    def predict(examples: Given[Any], first: int) -> Iterable[Sequence[Result]]:
        for example, prediction in zip(examples, wires.predictions(run.model, examples), strict=True):
            start = [(begun, None)] if (begun := wires.input.line_start(example)) else []
            line = coloured_line([*start, *wires.output.pieces(prediction, top or 1)])
            yield [Result(line, wires.output.fields(prediction, top or EVERY))]

    asking.give(run, predict, wires.input)


def fill_texts(things: Things, answers: Answers, *, top: int | None) -> None:
    """Print, for each masked word of each text, the likeliest ones: probability, word, and the text with it."""
    _refuse_top(top)
    asking = Asking("fill", things, answers, skips_blank=True)
    _refuse_several(asking, top)
    run = opened_for("fill", things.run, answers.which)
    output = run.output
    output.refuse_model(run.recipe.model)

    def predict(examples: Given[str], first: int) -> Iterator[list[Result]]:
        for masks in output.ranking(top or FILLED).fill(run.model, run.inputs.batches(examples), examples):
            lines = (f"{each.probability:.4f}\t{each.token}\t{each.text}" for mask in masks for each in mask)
            fields: dict[str, Any] = {"masks": [[_candidate(each) for each in mask] for mask in masks]}
            if asking.output is not None:  # the likeliest of each
                best = [mask[0] for mask in fields["masks"]]
                sure = [each["probability"] for each in best]
                fields = {"words": [each["token"] for each in best], "probability": sure if sure[1:] else sure[0]}
            yield [Result("\n".join(lines), fields)]

    asking.give(run, predict)


def _candidate(candidate: Any) -> dict[str, Any]:
    return {**candidate._asdict(), "probability": round(candidate.probability, 6)}


def _refuse_top(top: int | None) -> None:
    if top is not None and top < 1:
        raise SettingError(f"--top is {top}; ask for one or more")


def _refuse_several(asking: Asking, top: int | None) -> None:
    if asking.output is not None and top is not None and top > 1:
        raise SettingError(f"--top is {top}, but a table has one answer in each row; leave it out")


def coloured_line(pieces: Sequence[tuple[str, int | None]]) -> str | Text:
    """A line in pieces, each with the number of its colour; without any colour, as it is."""
    if all(colour is None for _, colour in pieces):
        return "".join(text for text, _ in pieces)
    styles = ["" if colour is None else f"bold {COLOURS[colour % len(COLOURS)]}" for _, colour in pieces]
    return Text.assemble(*((text, style) for (text, _), style in zip(pieces, styles, strict=True)))


def context_given(context: str | None, file: Path | None) -> str | None:
    """The text to find answers in, if one is given for all questions."""
    if context is not None and file is not None:
        raise DataError("there are both --context and --context-file; give one of them")
    if file is not None:
        require_file(file)
        context = "\n".join(lines(file))
    if context is not None and not context.strip():
        raise DataError(f"the context {f'in {file} ' if file else ''}is blank; expected a text that has the answer")
    return context


def _with_pairs(run: Run, things: Things, text_pairs: Sequence[str]) -> list[str]:
    """The texts, each with the other text of its pair behind a tab."""
    texts = things.texts or []
    if not reads_pairs(run.inputs.input):
        raise SettingError(f"{shown(run.folder)} reads no pairs of texts; leave --text-pair out")
    if things.file is not None or len(text_pairs) != len(texts):
        raise DataError(
            f"there are {len(texts)} texts and {len(text_pairs)} times --text-pair; give one for each text, or pairs "
            "in a file with a tab between the two"
        )
    return [f"{text}\t{other}" for text, other in zip(texts, text_pairs, strict=True)]
