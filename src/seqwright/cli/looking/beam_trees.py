"""`look --beam-tree`: which hypotheses a beam search kept, dropped and finished."""

from collections.abc import Sequence
from pathlib import Path

from seqwright.analysis.beam_trees import beam_tree_of
from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.looking.examples import example_of
from seqwright.cli.terminal import draw_with_page, say, shown
from seqwright.pictures import legible
from seqwright.pictures.beam_tree import beam_tree
from seqwright.pictures.beam_tree_page import beam_tree_page
from seqwright.runs import Run

WIDTH = 5  # of a beam that nobody chose
MOST = 5  # finished hypotheses in the terminal


def draw_beam_tree(run: Run, texts: Sequence[str], beam: int | None, where: Path) -> None:
    """Translate a sentence by beam search, draw the tree that it grew, print the best of what it found."""
    text = example_of(run, texts).strip()
    width = beam or (run.recipe.decoding.beam if run.recipe.decoding.beam > 1 else WIDTH)
    settings = decoding_settings(run, {"beam": width, "temperature": 0.0})
    twigs, says, best, found = beam_tree_of(run, text, settings)
    title = f"beam search, {width} wide, length penalty {settings.length_penalty:g}"
    below = f"\n{run.folder.name}: {legible(text, 200)}\n→ {legible(found, 200)}"
    page = beam_tree_page(twigs, best, says, title=f"{run.folder.name}: {title}", source=text)
    draw_with_page(beam_tree(twigs, best, title=title + below), page, where / "beam-tree")
    finished = [number for number, twig in enumerate(twigs) if twig.fate == "finished"]
    for number in sorted(finished, key=lambda number: -twigs[number].score)[:MOST] or best[-1:]:
        print(f"{twigs[number].score:.4f}\t{says[number]}")  # the score that --scores shows
    fates = [twig.fate for twig in twigs]
    counts = ", ".join(f"{fates.count(fate)} {fate}" for fate in ("kept", "finished", "dropped"))
    say(f"{max(twig.step for twig in twigs)} steps: {counts}")
    say(f"pictures: {shown(where)}/  (open beam-tree.html in a browser)")
