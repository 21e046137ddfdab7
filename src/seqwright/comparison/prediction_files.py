"""A file of predictions as `compare` writes it, checked: the line that says what it is of, and one for each example."""

import json
from pathlib import Path
from typing import Any

from seqwright.data.files import lines
from seqwright.errors import DataError
from seqwright.recipe import SECTIONS

FORM = 1  # of the files
ENDING = ".jsonl.gz"
# What the first line says, and what it may also say.
HEADER = {"predictions": int, "examples": int, "parameters": int, "part": str, "sha256": str}
HEADER |= {"scores": dict, "recipe": dict}
OPTIONAL = {"kind": str, "training": dict, "decoding": dict}
TRAINING = ("steps", "tokens", "seconds")
HUGE = 1e18  # what nothing is counted up to

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
    if not _is_header(header) or header["predictions"] != FORM:
        raise DataError(f"{path} is no file of predictions that this version of `seqwright compare` writes")
    return header


def _is_header(header: Line) -> bool:
    """Whether everything is there, and of its kind."""
    forms = {**HEADER, **{name: form for name, form in OPTIONAL.items() if header.get(name) is not None}}
    if not all(isinstance(header.get(name), form) for name, form in forms.items()):
        return False
    sections = [header["recipe"].get(section, {}) for section in SECTIONS]
    training = header.get("training") or dict.fromkeys(TRAINING, 0)
    numbers = [header["parameters"], *(training.get(name) for name in TRAINING)]
    counted = all(isinstance(number, int | float) and 0 <= number < HUGE for number in numbers)
    return counted and all(isinstance(section, dict) for section in sections)


def _parsed(path: Path, number: int, text: str) -> Line:
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict):
        raise DataError(f"{path}:{number} is no JSON object; expected a file of predictions that `compare` wrote")
    return plain
