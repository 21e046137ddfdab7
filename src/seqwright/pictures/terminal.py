"""Pictures for the terminal: a heat map of attention and the family tree of the models, made of characters."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style
from rich.text import Text

from seqwright.errors import UserError
from seqwright.pictures import Array, darkest_weight, legible

SHADES = " ░▒▓█"
# Dark for zero, light for the ceiling, whatever the terminal's own background: a weight never looks like its opposite.
DARK, LIGHT = (18, 26, 40), (214, 236, 255)
LONGEST = 16  # cells that a word may take


class TreeLine(NamedTuple):
    """A line of the family tree."""

    year: int
    name: str
    parent: str | None
    available: bool
    kinds: str = ""  # what it is called in recipes


def heat_map(
    weights_TS: Array, source_labels: Sequence[str], target_labels: Sequence[str], *, width: int, colour: bool
) -> Text:
    """The weights as shades, source words on top and target words at the left, in at most `width` cells.

    With `colour` the shades are backgrounds, else characters. Source words that do not fit side by side are numbered
    and listed below; columns that do not fit either continue below the first ones.
    """
    _check(weights_TS, source_labels, target_labels)
    beside = [fitted_label(legible(label), max(2, min(LONGEST, width // 3))) for label in target_labels]
    margin = max(map(cell_len, beside)) + 1
    above = [fitted_label(legible(label), LONGEST) for label in source_labels]
    numbered = margin + sum(cell_len(label) + 1 for label in above) > width
    heads = [str(number) for number in range(1, len(above) + 1)] if numbered else above
    columns = [len(heads[-1]) + 1 if numbered else cell_len(head) + 1 for head in heads]
    text = Text(no_wrap=True, overflow="crop")
    darkest = darkest_weight(weights_TS)
    for stretch in _stretches(columns, width - margin):
        text.append(" " * margin)
        for place in stretch:
            text.append(_padded(heads[place], columns[place]))
        text.append("\n")
        for label, weights_S in zip(beside, weights_TS, strict=True):
            text.append(_padded(label, margin - 1, right=True) + " ")
            for place in stretch:
                _write_shade(text, float(weights_S[place]) / darkest, columns[place], colour)
            text.append("\n")
    text.append("0 ")
    for step in range(len(SHADES)):
        _write_shade(text, step / (len(SHADES) - 1), 2, colour)
    text.append(f" {darkest:g}")
    if numbered:
        entries = [f"{head} {label}" for head, label in zip(heads, above, strict=True)]
        for stretch in _stretches([cell_len(entry) + 2 for entry in entries], width + 2):
            text.append("\n" + "  ".join(entries[place] for place in stretch))
    return text


def _stretches(cells: Sequence[int], room: int) -> Iterator[range]:
    """The places of neighbours that together take at most `room` cells, line by line."""
    start = taken = 0
    for place, needed in enumerate(cells):
        if taken + needed > room and place > start:
            yield range(start, place)
            start, taken = place, 0
        taken += needed
    yield range(start, len(cells))


def _check(weights_TS: Array, source_labels: Sequence[str], target_labels: Sequence[str]) -> None:
    expected = (len(target_labels), len(source_labels))
    if weights_TS.shape != expected or 0 in expected:
        raise UserError(
            f"attention weights of the shape {weights_TS.shape} were given with {expected[0]} target and {expected[1]} "
            "source words; each row and each column needs one word"
        )


def _write_shade(text: Text, darkness: float, cells: int, colour: bool) -> None:
    share = min(1.0, max(0.0, darkness))
    if colour:
        red, green, blue = (round(dark + share * (light - dark)) for dark, light in zip(DARK, LIGHT, strict=True))
        text.append(" " * cells, Style(bgcolor=Color.from_rgb(red, green, blue)))
    else:
        text.append(SHADES[round(share * (len(SHADES) - 1))] * cells)


def fitted_label(label: str, cells: int) -> str:
    """The label in at most so many cells of the terminal, cut with … (a Chinese character takes two cells)."""
    if cell_len(label) <= cells:
        return label
    kept = ""
    for piece in _letters(label):
        if cell_len(kept + piece) > cells - 1:
            break
        kept += piece
    return kept + "…"


def _letters(label: str) -> list[str]:
    """The letters of a word, each with the accents that are set on it."""
    letters: list[str] = []
    for character in label:
        if letters and cell_len(character) == 0:
            letters[-1] += character
        else:
            letters.append(character)
    return letters


def _padded(label: str, cells: int, *, right: bool = False) -> str:
    space = " " * (cells - cell_len(label))
    return space + label if right else label + space


def family_tree(members: Iterable[TreeLine]) -> str:
    """Who descends from whom, by year.

    1948  n-gram
    2003  └── mlp-lm
    """
    members = sorted(members, key=lambda member: member.year)
    names = {member.name for member in members}
    for member in members:
        if member.parent is not None and member.parent not in names:
            raise UserError(f"'{member.name}' is said to descend from '{member.parent}', which is not in the family")
    lines: list[str] = []
    _grow(lines, members, parent=None, above="")
    if len(lines) < len(members):
        raise UserError(
            "some of the family are their own ancestors; every line must lead back to a member without parent"
        )
    return "\n".join(lines)


def _grow(lines: list[str], members: list[TreeLine], *, parent: str | None, above: str) -> None:
    children = [member for member in members if member.parent == parent]
    for child in children:
        last = child is children[-1]
        branch = "" if parent is None else "└── " if last else "├── "
        more = (f"  {child.kinds}" if child.kinds else "") if child.available else "  (not here yet)"
        lines.append(f"{child.year:>4}  {above}{branch}{legible(child.name)}{more}")
        below = "" if parent is None else "    " if last else "│   "
        _grow(lines, members, parent=child.name, above=above + below)
