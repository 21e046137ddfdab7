"""`look --initialisations`: what each way to begin the weights does to a recurrent model, before it has learnt."""

from collections.abc import Sequence
from pathlib import Path

from seqwright.analysis.initialisations import beginnings_of
from seqwright.analysis.passages import own_text, passage_of
from seqwright.analysis.reading import foretells
from seqwright.cli.terminal import say, shown
from seqwright.pictures import save
from seqwright.pictures.initialisations import initialisation_picture
from seqwright.runs import Run


def draw_initialisations(run: Run, found: Sequence[str], where: Path) -> None:
    """Draw how saturated, how spread and how far-reaching the states are, the weights begun anew in each way."""
    if not found and foretells(run):
        found = [own_text(run)]
    passage = passage_of(run, found, say)
    say(f"{run.folder}: beginning anew, reading {passage.told}")
    beginnings = beginnings_of(run, passage)
    title = f"{run.recipe.model.kind} of width {run.recipe.model.width} before training, reading {passage.told}"
    paths = save(initialisation_picture(beginnings, title=title), where / "initialisations")
    for each in beginnings:
        share, back = 100 * float(each.saturated_T.mean()), len(each.norm_K) - 1
        print(f"{each.name + each.note:24} {share:5.1f} % saturated, gradient {each.norm_K[-1]:.2g} {back} steps back")
    say(f"drawn: {', '.join(map(shown, paths))}")
