"""How a command and a path are written for a user."""

import shlex
from pathlib import Path


def command(*words: str) -> str:
    """A command as it can be typed, whatever spaces and quotes its words have."""
    return shlex.join(["seqwright", *words])


def shown(path: Path) -> str:
    """A path as short as it can be said from here."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def article(word: str) -> str:
    """`a` or `an`, as a name is spoken: an lstm, a gru; what has no vowel is spelled letter by letter."""
    first = word.split("-", maxsplit=1)[0]
    spelled = first == "ngram" or not set(first) & set("aeiouy")
    return "an" if first[:1] in ("aefhilmnorsx" if spelled else "aeio") else "a"
