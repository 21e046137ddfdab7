"""`look --surprisal`: how surprising each token of a text is to a language model, as a picture."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from seqwright.analysis.gradients import documents
from seqwright.analysis.reading import foretells, tell_unknown
from seqwright.cli.scoring import coloured
from seqwright.cli.terminal import command, draw_with_page, say, shown
from seqwright.errors import RunError
from seqwright.pictures.surprisal import surprisal_page, surprisal_picture
from seqwright.runs import Run

DRAWN = 300  # tokens in the picture


def draw_surprisal(run: Run, found: Sequence[str], where: Path) -> None:
    """Draw a text in shades of red with a bar for each token, and print it in the same colours."""
    if not foretells(run):
        raise RunError(f"{run.folder} learnt {run.recipe.task}; surprisal needs a language model")
    texts = documents(run, found)
    if len(texts) > 1:
        say(f"{run.folder} reads each line by itself; the first of {len(texts):,} is looked at")
    tell_unknown(run, texts[:1], say)
    (surprise,) = run.inputs.predict(run.model, texts[:1], method="surprises")
    names = {number: name for name, number in run.inputs.tokenizer.special.items()}
    pieces, bits = [*surprise.pieces[:-1], names[run.inputs.tokenizer.end]], surprise.bits
    title = f"{run.folder.name}: {np.mean(bits):.2f} bits per token"
    if len(pieces) > DRAWN:
        say(f"the picture shows the first {DRAWN} of {len(pieces):,} tokens, the page all")
    figure = surprisal_picture(pieces[:DRAWN], bits[:DRAWN], title=title)
    draw_with_page(figure, surprisal_page(pieces, bits, title=title), where / "surprisal")
    Console(highlight=False, soft_wrap=True).print(coloured(surprise))
    numbers = command("score", str(run.folder), "TEXT", "--json")
    say(f"pictures: {shown(where)}/  (open surprisal.html in a browser; `{numbers}` prints the numbers)")
