"""One HTML file with the tree of a beam search: it needs no network, no script and no other file.

Pointing at a word tells the hypothesis up to it: its text, its log-probability, that of its word and what became of it.
"""

import re
from collections.abc import Sequence

from seqwright.pictures import svg_of
from seqwright.pictures.beam_tree import Twig, beam_tree
from seqwright.pictures.still_page import escaped, still_page


def beam_tree_page(
    twigs: Sequence[Twig],
    best: Sequence[int],
    texts: Sequence[str],
    *,
    title: str,
    source: str,
) -> str:
    """The tree, and a table of what finished; `texts` is what each hypothesis says up to its word."""
    svg = svg_of(beam_tree(twigs, best))
    drawn = re.sub(r'<g id="twig-(\d+)">', lambda at: at[0] + _told(twigs, texts, int(at[1])), svg)
    finished = [number for number, twig in enumerate(twigs) if twig.fate == "finished"]
    rows = "".join(
        f"<tr><td>{rank}</td><td>{twigs[number].score:.3f}</td><td>{twigs[number].log_probability:.3f}</td>"
        f"<td>{twigs[number].step}</td>"
        f'<td dir="auto">{escaped(texts[number])}</td></tr>'
        for rank, number in enumerate(sorted(finished, key=lambda number: -twigs[number].score), start=1)
    )
    table = f"<table><tr><th>rank</th><th>score</th><th>log p</th><th>steps</th><th>finished</th></tr>{rows}</table>"
    body = f'<p dir="auto">{escaped(source)}</p>\n{HINT}\n<div class="scroll">{drawn}</div>\n{table}'
    return still_page(title, body, STYLE)


def _told(twigs: Sequence[Twig], texts: Sequence[str], number: int) -> str:
    twig = twigs[number]
    ranked = f"; score {twig.score:.3f}" if twig.fate == "finished" else ""
    known = f"log p {twig.log_probability:.3f}{ranked}; p({twig.word}) = {twig.probability:.3f}"
    title = f"{texts[number]}\n{known}; {twig.fate}"
    return f"<title>{escaped(title)}</title>"


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; background: white; color: #1d2129; }
h1 { font-size: 1.3rem; margin: 0; } p { margin: .4rem 0; color: #5b6472; }
.scroll { overflow-x: auto; margin: 1rem 0; } .scroll svg { height: auto; max-width: none; display: block; }
[id^=twig-] { cursor: default; } [id^=twig-]:hover text { font-weight: bold; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th { font-weight: 400; color: #5b6472; text-align: left; } th, td { padding: .15rem 1rem .15rem 0; }
"""

HINT = """<p>Time runs to the right; at each step the best hypotheses stand on top. Boxes were kept, shaded ones with ■
have finished, grey words were dropped, and the dark ones led to the winner. Under each word is the log-probability up
to it. What has finished is ranked by the score after ■: the log-probability over the length penalty. Point at a word to
read the hypothesis.</p>"""
