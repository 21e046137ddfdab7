"""Answers of runs that learnt to write a text to another, be it a language model or an encoder and a decoder."""

import sys
from collections.abc import Iterator
from typing import Any

from seqwright.cli.terminal import say
from seqwright.errors import DataError
from seqwright.inputs import Given
from seqwright.outputs.text_search import Search, TextCandidate
from seqwright.runs import Run
from seqwright.tasks.wired import Wires


def answered(
    run: Run, blocks: Iterator[list[str]], settings: Any
) -> Iterator[tuple[list[str], list[tuple[TextCandidate, ...]]]]:
    """Each block of texts and the answers to them; what the user should know of them is said at the end."""
    wires: Wires = run.inputs
    row = unfinished = 0
    blank: list[str] = []  # what came before the first text
    for some in blocks:
        block = [*blank, *some]
        if row == 0 and not any(text.strip() for text in block):
            blank = block
            continue
        blank, examples = [], Given(map(wires.input.parse, block))
        for remark in wires.input.remarks(examples, first=row):
            say(remark)
        predictions = wires.predictions(run.model, examples, Search(settings, first=row))
        found = [each.candidates or (each.best,) for each in predictions]
        yield block, found
        sys.stdout.flush()
        row += len(block)
        unfinished += sum(not candidate.finished for candidates in found for candidate in candidates)
    if row == 0:
        raise DataError("nothing was given to answer; give a text")
    if unfinished:
        say(f"answers that did not come to an end: {unfinished}; --longest allows more tokens, if the model has room")
