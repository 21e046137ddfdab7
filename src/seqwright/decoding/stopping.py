"""Where a text is to end: stop strings, and how much of a text under way is sure already."""

from collections.abc import Iterable, Sequence

IN_PARTS = "\ufffd"  # what a character is decoded to while some of its bytes are missing


def stops_in(text: str, stops: Iterable[str]) -> bool:
    """Whether a stop string has been written."""
    return any(stop in text for stop in stops)


def before_stop(text: str, stops: Iterable[str]) -> str:
    """The text before the first stop string in it; all of it where there is none."""
    ends = [text.find(stop) for stop in stops if stop in text]
    return text[: min(ends)] if ends else text


def sure(text: str, stops: Sequence[str]) -> str:
    """The beginning of a text under way that stays whatever follows.

    Left out is a stop string and what comes after it, what can still become one, and a character in parts.
    """
    if stops_in(text, stops):
        return before_stop(text, stops)
    known = text.rstrip(IN_PARTS)
    held = [size for stop in stops for size in range(1, len(stop)) if known.endswith(stop[:size])]
    return known[: len(known) - max(held, default=0)]
