"""Which hypotheses a beam search kept, dropped and finished."""

import math
from typing import Any, NamedTuple

from seqwright.analysis.reading import translates
from seqwright.decoding.beam_tree import BeamTree
from seqwright.errors import RunError, SettingError
from seqwright.inputs.vocabularies import SPACE
from seqwright.outputs.text_search import Search
from seqwright.pictures.beam_tree import Twig
from seqwright.runs import Run


class GrownTree(NamedTuple):
    """The tree of a search: its twigs with the text up to each, the best path through it, and the text that won."""

    twigs: list[Twig]
    texts: list[str]
    best: list[int]
    text: str


def beam_tree_of(run: Run, text: str, decoding: Any) -> GrownTree:
    """The tree that a beam search grows while it translates a sentence."""
    if not translates(run):
        raise RunError(f"{run.folder} learnt {run.recipe.task}; a beam tree is drawn for translation")
    if decoding.beam == 1 or not text:
        raise SettingError("only a beam search of something grows a tree; give a sentence and a beam above 1")
    tree = BeamTree(decoding.beam)
    found = run.inputs.predict(run.model, text, Search(decoding, watch=tree))
    tokenizer = run.output.tokenizer
    texts = [tokenizer.decode([tree.nodes[n].token for n in tree.path(i)]) for i in range(len(tree.nodes))]
    twigs: list[Twig] = []
    for node, piece in zip(tree.nodes, tokenizer.pieces([node.token for node in tree.nodes]), strict=True):
        total = node.log_probability + (0.0 if node.parent is None else twigs[node.parent].log_probability)
        word, probability = piece.lstrip(SPACE) or " ", math.exp(node.log_probability)
        twigs.append(Twig(node.parent, node.step, word, total, node.score, probability, node.fate))
    return GrownTree(twigs, texts, tree.path(tree.winner()), found.text)
