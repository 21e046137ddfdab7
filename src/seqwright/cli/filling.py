"""`fill`: texts with masked words in, the likeliest words out."""

from collections.abc import Iterator
from typing import Any

from seqwright.cli.asking import Result, print_results
from seqwright.cli.given import given_blocks, without_blank
from seqwright.cli.opening import opened_for
from seqwright.cli.options import Answers, Things
from seqwright.errors import SettingError
from seqwright.inputs import Given


def fill_texts(things: Things, answers: Answers, *, top: int) -> None:
    """Print, for each masked word of each text, the likeliest ones: probability, word, and the text with it."""
    if top < 1:
        raise SettingError(f"--top is {top}; ask for one word or more")
    blocks = given_blocks("fill", things.texts, things.file)
    run = opened_for("fill", things.run, answers.which)
    input, output = run.input, run.output
    output.refuse_model(run.recipe.model)

    def predict(examples: Given[str], first: int) -> Iterator[list[Result]]:
        for masks in output.fill(run.model, run.inputs.batches(examples), examples, top=top):
            lines = (f"{each.probability:.4f}\t{each.token}\t{each.text}" for mask in masks for each in mask)
            yield [Result("\n".join(lines), {"masks": [[_fields(each) for each in mask] for mask in masks]})]

    print_results(input, without_blank("fill", blocks), predict, as_json=answers.json)


def _fields(candidate: Any) -> dict[str, Any]:
    return {**candidate._asdict(), "probability": round(candidate.probability, 6)}
