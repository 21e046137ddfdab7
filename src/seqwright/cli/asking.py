"""The verbs whose answer is one prediction for each thing: things in, predictions out, line by line."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from seqwright.cli.opening import opened_for
from seqwright.cli.terminal import json_text, say, shown
from seqwright.cli.translating import some_lines
from seqwright.data.files import lines, require_file
from seqwright.errors import DataError, SettingError
from seqwright.inputs import Given
from seqwright.inputs.text import reads_pairs
from seqwright.runs import Run
from seqwright.tasks.wired import Wires

COLOURS = ("cyan", "yellow", "green", "magenta", "bright_blue", "red", "bright_cyan", "bright_yellow", "bright_green")


def ask_run(
    verb: str,
    folder: Path,
    texts: list[str],
    seconds: list[str],
    file: Path | None,
    *,
    top: int,
    as_json: bool,
    which: str,
    reading: Mapping[str, Any] | None = None,
    saying: Mapping[str, Any] | None = None,
) -> None:
    """Print a prediction for each thing that is given: its likeliest labels, a number, the tags of its words, …

    `reading` changes how the input reads what is given and `saying` what the output says of it, by their fields.
    """
    if texts and file is not None:
        raise DataError("there are both texts and --file; give one of them")
    if top < 1:
        raise SettingError(f"--top is {top}; ask for one or more")
    if file is not None and file != Path("-"):
        require_file(file)
    run = opened_for(verb, folder, which)
    wires = _changed(run.inputs, reading or {}, saying or {})
    if top > 1 and not wires.output.ranks:
        raise SettingError(f"--top is {top}, but {shown(run.folder)} predicts one number for each text; leave it out")
    texts = _with_seconds(run, texts, seconds, file)
    read = 0
    for block in _blocks([] if texts == ["-"] else texts, None if file == Path("-") else file):
        examples = Given(_parsed(wires, block, read))
        for remark in (*wires.input.blank_remarks(examples, read), *wires.input.remarks(examples, read)):
            say(remark)
        for example, prediction in zip(examples, wires.predictions(run.model, examples), strict=True):
            fields = {**wires.input.example_fields(example), **wires.output.fields(prediction, top)}
            print_line(json_text(fields)) if as_json else print_line(*wires.output.pieces(prediction, top))
        sys.stdout.flush()
        read += len(block)


def print_line(*pieces: str | tuple[str, int | None], console: Console | None = None) -> None:
    """A line in pieces, on a terminal in their colours; rich would change the tabs of a line without any."""
    told = [(piece, None) if isinstance(piece, str) else piece for piece in pieces]
    if all(colour is None for _, colour in told):
        print("".join(text for text, _ in told))
        return
    styles = ["" if colour is None else f"bold {COLOURS[colour % len(COLOURS)]}" for _, colour in told]
    line = Text.assemble(*((text, style) for (text, _), style in zip(told, styles, strict=True)))
    (console or Console(highlight=False, soft_wrap=True)).print(line)


def _changed(wires: Any, reading: Mapping[str, Any], saying: Mapping[str, Any]) -> Wires:
    """Input and output with other values of their fields."""
    read = replace(wires.input, **reading) if reading else wires.input
    return Wires(read, replace(wires.output, **saying) if saying else wires.output)


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


def _parsed(wires: Wires, block: list[str], read: int) -> Iterator[Any]:
    """The examples of a block; of one that cannot be read it is said which it is."""
    for number, given in enumerate(block, start=read + 1):
        try:
            yield wires.input.parse(given)
        except DataError as error:
            raise DataError(f"text {number}: {error}") from error


def _with_seconds(run: Run, texts: list[str], seconds: list[str], file: Path | None) -> list[str]:
    """The texts, each with its second one behind a tab."""
    if not seconds:
        return texts
    if not reads_pairs(run.inputs.input):
        raise SettingError(f"{shown(run.folder)} learnt single texts; leave --second out")
    if file is not None or len(seconds) != len(texts):
        raise DataError(
            f"there are {len(texts)} texts and {len(seconds)} times --second; give one for each text, or pairs in a "
            "file with a tab between the two"
        )
    return [f"{text}\t{second}" for text, second in zip(texts, seconds, strict=True)]


def _blocks(texts: list[str], file: Path | None) -> Iterator[list[str]]:
    """The texts as they are, though they have several lines; of a file or of standard input each line is one."""
    return iter([texts]) if texts else some_lines([], file)
