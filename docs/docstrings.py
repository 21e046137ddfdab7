"""What autodoc does not know about the docstrings of this project."""

from itertools import groupby
from typing import Any


def as_written(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Set what stands indented, an equation or an example, as it is written; the rest is prose."""
    paragraphs = [list(group) for blank, group in groupby(lines, key=lambda line: not line.strip()) if not blank]
    lines.clear()
    for paragraph in paragraphs:
        prose, literal = _parted(paragraph)
        if prose:
            lines += [*prose, ""]
        if literal:
            lines += ["::", "", *(f"    {line}" for line in literal), ""]


def _parted(paragraph: list[str]) -> tuple[list[str], list[str]]:
    """The prose of a paragraph, and what follows it indented."""
    first, *rest = paragraph
    indented = [line.startswith(" ") for line in paragraph]
    if first.startswith("- ") or not any(indented):
        return paragraph, []
    if all(indented[1:]) and not indented[0] and first.endswith(":"):
        return [first], rest
    return [], paragraph


NOT_OURS = (
    "Alias for field number",  # Python, under each field of a named tuple
    "Configure whether metadata should be requested",  # scikit-learn, in each estimator
)


def is_noise(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what Python and scikit-learn themselves put into classes."""
    return True if (getattr(thing, "__doc__", None) or "").strip().startswith(NOT_OURS) else None
