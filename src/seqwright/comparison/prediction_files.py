"""A file of predictions as `compare` writes it, checked: the line that says what it is of, and one for each example."""

import json
from pathlib import Path
from typing import Any

from seqwright.data.files import lines
from seqwright.errors import DataError

FORM = 1  # of the files
ENDING = ".jsonl.gz"
# What the first line has at least.
HEADER = {"predictions": int, "examples": int, "parameters": int, "part": str, "sha256": str}
HEADER |= {"scores": dict, "recipe": dict}

Line = dict[str, Any]


def read_header(path: Path) -> Line:
    """What the predictions of a file are of: kind, part, sha256, recipe."""
    return _header(path, next(lines(path)))


def read_predictions(path: Path) -> tuple[Line, list[Line]]:
    """What the predictions are of, and each of them, by rising numbers of examples."""
    texts = lines(path)
    header = _header(path, next(texts))
    found = [_parsed(path, number, text) for number, text in enumerate(texts, start=2)]
    before = -1
    for number, line in enumerate(found, start=2):
        example = line.get("example")
        if not isinstance(example, int) or example < before:
            raise DataError(f"{path}:{number} has no example number, or one below that before it; get the file again")
        before = example
    if len(found) != header["examples"]:
        raise DataError(
            f"{path} has {len(found):,} predictions, expected {header['examples']:,} by its first line; get it again"
        )
    return header, found


def _header(path: Path, text: str) -> Line:
    header = _parsed(path, 1, text)
    known = {
        "predictions": int,
        "examples": int,
        "part": str,
        "sha256": str,
        "parameters": int,
        "scores": dict,
        "recipe": dict,
    }
    whole = all(isinstance(header.get(name), kind) for name, kind in known.items())
    if not whole or header["predictions"] != FORM:
        raise DataError(f"{path} is no file of predictions that this version of `seqwright compare` writes")
    return header


def _parsed(path: Path, number: int, text: str) -> Line:
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict):
        raise DataError(f"{path}:{number} is no JSON object; expected a file of predictions that `compare` wrote")
    return plain
