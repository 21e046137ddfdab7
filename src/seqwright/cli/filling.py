"""`fill`: texts with hidden words in, the likeliest words out."""

import sys
from pathlib import Path

from seqwright.cli.opening import opened_for
from seqwright.cli.terminal import json_text, say
from seqwright.cli.translating import asked, some_lines
from seqwright.errors import SettingError
from seqwright.inputs import Given
from seqwright.outputs.masked import Candidate


def fill_texts(folder: Path, texts: list[str], file: Path | None, *, top: int, as_json: bool, which: str) -> None:
    """Print, for each hidden word of each text, the likeliest ones: probability, word, and the text with it."""
    if top < 1:
        raise SettingError(f"--top is {top}; ask for one word or more")
    texts, file = asked("fill", texts, file)
    run = opened_for("fill", folder, which)
    input, output = run.inputs
    output.refuse_model(run.recipe.model)
    blank = 0
    for block in some_lines(texts, file):
        some = [line for line in block if line.strip()]
        blank += len(block) - len(some)
        given = Given(map(input.parse, some))
        for remark in input.remarks(given):
            say(remark)
        filled = output.fill(run.model, run.inputs.batches(given), given, top)
        for text, masks in zip(given, filled, strict=True):
            print(_json(text, masks) if as_json else "\n".join(_line(each) for found in masks for each in found))
        sys.stdout.flush()
    if blank:
        say(f"blank lines left out: {blank:,}")


def _line(found: Candidate) -> str:
    return f"{found.probability:.4f}\t{found.token}\t{found.text}"


def _json(text: str, masks: list[list[Candidate]]) -> str:
    found = [
        [{"token": each.token, "probability": round(each.probability, 6), "text": each.text} for each in candidates]
        for candidates in masks
    ]
    return json_text({"text": text, "masks": found})
