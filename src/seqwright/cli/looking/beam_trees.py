"""`look --beam-tree`: which hypotheses a beam search kept, dropped and finished."""

import math
from collections.abc import Sequence
from pathlib import Path

from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.looking.rows import refuse_number
from seqwright.cli.terminal import say, shown
from seqwright.decoding.beam_tree import BeamTree
from seqwright.errors import RunError, SettingError
from seqwright.inputs.vocabularies import SPACE
from seqwright.outputs.text_search import Search
from seqwright.pictures import legible, save
from seqwright.pictures.beam_tree import Twig, beam_tree
from seqwright.pictures.beam_tree_page import beam_tree_page
from seqwright.runs import Run

WIDTH = 5  # of a beam that nobody chose
MOST = 5  # finished hypotheses in the terminal


def draw_beam_tree(run: Run, texts: Sequence[str], beam: int | None, where: Path) -> None:
    """Translate a sentence by beam search, draw the tree that it grew, print the best of what it found."""
    if run.recipe.family != "translation":
        raise RunError(f"{run.folder} learnt {run.recipe.task}; a beam tree is drawn for translation")
    refuse_number(run, texts)
    text = texts[0].strip()
    wanted = beam or (run.recipe.decoding.beam if run.recipe.decoding.beam > 1 else WIDTH)
    settings = decoding_settings(run, {"beam": wanted, "temperature": 0.0})
    if settings.beam == 1 or not text:
        raise SettingError("only a beam search of something grows a tree; give a sentence and a beam above 1")
    tree = BeamTree(settings.beam)
    found = run.inputs.predict(run.model, text, Search(settings, watch=tree))
    twigs, best = twigs_of(run, tree), tree.path(tree.winner())
    says = [run.inputs.output.tokenizer.decode([tree.nodes[n].token for n in tree.path(i)]) for i in range(len(twigs))]
    title = f"beam search, {wanted} wide, length penalty {settings.length_penalty:g}"
    below = f"\n{run.folder.name}: {legible(text, 200)}\n→ {legible(found.text, 200)}"
    save(beam_tree(twigs, best, title=title + below), where / "beam-tree")
    page = beam_tree_page(twigs, best, says, title=f"{run.folder.name}: {title}", source=text)
    (where / "beam-tree.html").write_text(page, encoding="utf-8")
    finished = [number for number, twig in enumerate(twigs) if twig.fate == "finished"]
    for number in sorted(finished, key=lambda number: -twigs[number].score)[:MOST] or best[-1:]:
        print(f"{twigs[number].score:.4f}\t{says[number]}")
    fates = [twig.fate for twig in twigs]
    counts = ", ".join(f"{fates.count(fate)} {fate}" for fate in ("kept", "finished", "dropped"))
    say(f"{max(twig.step for twig in twigs)} steps: {counts}")
    say(f"pictures: {shown(where)}/  (open beam-tree.html in a browser)")


def twigs_of(run: Run, tree: BeamTree) -> list[Twig]:
    """The tree with words for tokens."""
    pieces = run.inputs.output.tokenizer.pieces([node.token for node in tree.nodes])
    return [
        Twig(node.parent, node.step, piece.lstrip(SPACE) or " ", node.score, math.exp(node.log_probability), node.fate)
        for node, piece in zip(tree.nodes, pieces, strict=True)
    ]
