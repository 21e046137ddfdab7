"""One HTML file with the alignment matrices of several models: it needs no network, no script and no other file."""

from collections.abc import Sequence

from seqwright.pictures import INK, blended, darkest_weight
from seqwright.pictures.alignments import AlignmentPanel
from seqwright.pictures.still_page import escaped, still_page


def alignments_page(panels: Sequence[AlignmentPanel], *, title: str, source: str) -> str:
    """A table for each matrix, all on one scale; pointing at a cell tells its weight."""
    darkest = max(darkest_weight(panel.weights_TS) for panel in panels)
    figures = "\n".join(_figure(panel, darkest) for panel in panels)
    scale = f"<p>White is 0, the darkest is {darkest:g}. Rows are target words being written, columns source words.</p>"
    return still_page(title, f'<p dir="auto">{escaped(source)}</p>\n{scale}\n<main>{figures}</main>', STYLE)


def _figure(panel: AlignmentPanel, darkest: float) -> str:
    first, *others = panel.caption or ("",)
    lines = "".join(f'<br><span dir="auto">{escaped(line)}</span>' for line in others)
    head = "".join(f"<th scope='col'><span>{escaped(word)}</span></th>" for word in panel.sources)
    rows = ""
    for target, weights_S in zip(panel.targets, panel.weights_TS.tolist(), strict=True):
        both = zip(panel.sources, weights_S, strict=True)
        cells = "".join(_cell(weight, darkest, f"{target} ← {source}: {weight:.3f}") for source, weight in both)
        rows += f'<tr><th scope="row">{escaped(target)}</th>{cells}</tr>'
    caption = f"<figcaption><b>{escaped(first)}</b>{lines}</figcaption>"
    return f"<figure>{caption}<table><thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table></figure>"


def _cell(weight: float, darkest: float, title: str) -> str:
    red, green, blue = blended(INK, weight / darkest)
    return f'<td style="background:rgb({red},{green},{blue})" title="{escaped(title)}"></td>'


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; background: white; color: #1d2129; }
h1 { font-size: 1.3rem; margin: 0; } p { margin: .4rem 0; color: #5b6472; }
main { display: flex; flex-wrap: wrap; gap: 1rem 3rem; align-items: flex-start; }
figure { margin: 1rem 0; } figcaption { margin-bottom: .6rem; max-width: 34rem; } figcaption span { color: #5b6472; }
table { border-collapse: collapse; font-size: 14px; } th { font-weight: 400; white-space: pre; }
thead th { vertical-align: bottom; padding-bottom: .3rem; } thead th span { writing-mode: vertical-rl;
  transform: rotate(180deg); } tbody th { text-align: right; padding-right: .5rem; }
tbody td { width: 1.7rem; height: 1.7rem; border: 1px solid #d5dae1; }
"""
