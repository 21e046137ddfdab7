"""The one path of the verbs: what is given becomes examples, examples predictions, predictions lines or JSON."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from seqwright.cli.given import given_blocks, without_blank
from seqwright.cli.opening import opened_for
from seqwright.cli.options import Answers, Things
from seqwright.cli.terminal import json_text, say, shown
from seqwright.data.files import lines, require_file
from seqwright.errors import DataError, SettingError
from seqwright.inputs import Given
from seqwright.inputs.text import reads_pairs
from seqwright.runs import Run
from seqwright.tasks.wired import Wires

COLOURS = ("cyan", "yellow", "green", "magenta", "bright_blue", "red", "bright_cyan", "bright_yellow", "bright_green")


class Result(NamedTuple):
    """A result as a line for people, and as the fields that JSON has of it beside those of its example."""

    line: str | Text
    fields: dict[str, Any]


Predict = Callable[[Given[Any], int], Iterable[Sequence[Result]]]
"""The results for each of some examples, of which the first has this number."""


def print_results(input: Any, blocks: Iterable[list[str]], predict: Predict, *, as_json: bool) -> None:
    """Print the results for everything given, block by block; a block with something that is refused has none."""
    read, console = 0, Console(highlight=False, soft_wrap=True)
    for block in blocks:
        examples = Given(_parsed(input, block, read))
        for remark in (*input.blank_remarks(examples, read), *input.remarks(examples, read)):
            say(remark)
        for example, results in zip(examples, predict(examples, read), strict=True):
            for line, fields in results:
                print_line(json_text({**input.example_fields(example), **fields}) if as_json else line, console)
        sys.stdout.flush()
        read += len(block)


def print_line(line: str | Text, console: Console) -> None:
    """A line, on a terminal in its colours; rich would change the tabs of a line without any."""
    print(line) if isinstance(line, str) else console.print(line)


def _parsed(input: Any, block: list[str], read: int) -> Iterator[Any]:
    """The examples of a block; of one that cannot be read it is said which it is."""
    for number, given in enumerate(block, start=read + 1):
        try:
            yield input.parse(given)
        except DataError as error:
            raise DataError(f"text {number}: {error}") from error


# ---------------------------------------------------------------------------------------- single predictions


def ask_run(
    verb: str,
    things: Things,
    answers: Answers,
    *,
    top: int = 1,
    text_pairs: Sequence[str] = (),
    reading: Mapping[str, Any] | None = None,
    saying: Mapping[str, Any] | None = None,
) -> None:
    """Print a prediction for each thing that is given: its likeliest labels, a number, the tags of its words, …

    `reading` changes how the input reads what is given and `saying` what the output says of it, by their fields.
    """
    _refuse_top(top)
    blocks = given_blocks(verb, things.texts, things.file)
    run = opened_for(verb, things.run, answers.which)
    input, output = run.input, run.output
    wires = Wires(replace(input, **reading) if reading else input, replace(output, **saying) if saying else output)
    if text_pairs:
        blocks = iter([_with_pairs(run, things, text_pairs)])

    def predict(examples: Given[Any], first: int) -> Iterable[Sequence[Result]]:
        for prediction in wires.predictions(run.model, examples):
            line = coloured_line(wires.output.pieces(prediction, top))
            yield [Result(line, wires.output.fields(prediction, top))]

    print_results(wires.input, blocks, predict, as_json=answers.json)


def fill_texts(things: Things, answers: Answers, *, top: int) -> None:
    """Print, for each masked word of each text, the likeliest ones: probability, word, and the text with it."""
    _refuse_top(top)
    blocks = given_blocks("fill", things.texts, things.file)
    run = opened_for("fill", things.run, answers.which)
    input, output = run.input, run.output
    output.refuse_model(run.recipe.model)

    def predict(examples: Given[str], first: int) -> Iterator[list[Result]]:
        for masks in output.fill(run.model, run.inputs.batches(examples), examples, top=top):
            lines = (f"{each.probability:.4f}\t{each.token}\t{each.text}" for mask in masks for each in mask)
            yield [Result("\n".join(lines), {"masks": [[_candidate(each) for each in mask] for mask in masks]})]

    print_results(input, without_blank("fill", blocks), predict, as_json=answers.json)


def _candidate(candidate: Any) -> dict[str, Any]:
    return {**candidate._asdict(), "probability": round(candidate.probability, 6)}


def _refuse_top(top: int) -> None:
    if top < 1:
        raise SettingError(f"--top is {top}; ask for one or more")


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
        raise SettingError(f"{shown(run.folder)} learnt single texts; leave --text-pair out")
    if things.file is not None or len(text_pairs) != len(texts):
        raise DataError(
            f"there are {len(texts)} texts and {len(text_pairs)} times --text-pair; give one for each text, or pairs "
            "in a file with a tab between the two"
        )
    return [f"{text}\t{other}" for text, other in zip(texts, text_pairs, strict=True)]
