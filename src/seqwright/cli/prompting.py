"""Answers of runs that learnt a task from pairs, whether a language model or an encoder and a decoder learnt it."""

import sys
from collections.abc import Iterator
from typing import Any

from seqwright.cli.terminal import say
from seqwright.errors import DataError
from seqwright.runs import Run
from seqwright.tasks.prompter import Prompter
from seqwright.tasks.translator import Translator
from seqwright.tasks.writer import Continuation


def answerer_of(run: Run, settings: Any) -> Prompter | Translator:
    """What answers texts with a run's model."""
    if run.recipe.task == "prompting":
        return Prompter(run.model, run.inputs, settings, longest=run.recipe.inputs.longest)
    return Translator(run.model, run.inputs, settings)


def answered(run: Run, blocks: Iterator[list[str]], settings: Any) -> Iterator[list[list[Continuation]]]:
    """The answers to each block of texts; what the user should know of them is said at the end."""
    answerer = answerer_of(run, settings)
    row = cut = unfinished = 0
    blank: list[str] = []  # what came before the first text
    for some in blocks:
        block = [*blank, *some]
        if row == 0 and not any(text.strip() for text in block):
            blank = block
            continue
        blank = []
        found = answerer(block, first_row=row)
        yield [[Continuation(text, *each) for each in several] for text, several in zip(block, found, strict=True)]
        sys.stdout.flush()
        row += len(block)
        cut += answerer.cut(block) if isinstance(answerer, Prompter) else 0
        unfinished += sum(not candidate.finished for candidates in found for candidate in candidates)
    if row == 0:
        raise DataError("nothing was given to answer; give a text")
    if cut and isinstance(answerer, Prompter):
        say(f"texts read only up to {answerer.longest} tokens: {cut}")
    if unfinished:
        room = f", as far as the context of {answerer.context} has room" if isinstance(answerer, Prompter) else ""
        say(f"answers that did not come to an end: {unfinished}; --longest allows more tokens{room}")
