"""`prompt`: examples from a file stand before a question; and how many answers are right after how many examples."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from seqwright.cli.asking import Asking, Result
from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.opening import opened_for
from seqwright.cli.options import TableAnswers, Things
from seqwright.cli.terminal import draw_picture, json_text, picture_formats, print_table, say, shown
from seqwright.cli.using import PromptOptions
from seqwright.data.examples import Pair
from seqwright.data.pairs import file_pairs
from seqwright.errors import DataError, SettingError
from seqwright.inputs import Examples, Given
from seqwright.outputs.answer import AnswerOutput, doubling
from seqwright.pictures.few_shot import shots_picture
from seqwright.runs import Run
from seqwright.tasks.few_shot import (
    Accuracy,
    Answering,
    Template,
    accuracy_by_shots,
    answered_as_text,
    answered_in_turns,
    drawn_questions,
)

MOST_SHOTS = 8  # how many examples accuracy is measured with where nobody says


def prompt_run(things: Things, asked: PromptOptions, answers: TableAnswers) -> None:
    """Answer texts after examples, or measure the accuracy on a file of questions."""
    _refuse_unfitting(things, asked, answers)
    examples = _pairs(asked.examples)
    if asked.shots is not None and asked.shots > len(examples):
        raise DataError(f"--shots is {asked.shots}, but {asked.examples} has only {len(examples)} examples; lower it")
    asking = Asking("prompt", things, answers)
    run = opened_for("prompt", things.run, answers.which)
    answering = _answering(run, asked)
    if asked.answers is not None:
        _measure(asked, asked.answers, examples, answering, as_json=answers.json)
        return
    shots = tuple(examples[: asked.shots])

    def predict(examples: Given[Pair], first: int) -> Iterator[list[Result]]:
        for answer in answering(examples.examples):
            yield [Result(answer, {"answer": answer, "shots": len(shots)})]

    asking.give(run, predict, PromptedInput(run, shots), run.input.table_columns())


def _refuse_unfitting(things: Things, asked: PromptOptions, answers: TableAnswers) -> None:
    """Refuse options that do not go together."""
    if bool(things.texts or things.file) == (asked.answers is not None):
        raise SettingError(
            "give a text to answer, or a file of questions and right answers with --answers, and not both"
        )
    if asked.answers is not None and (answers.output or things.column):
        raise SettingError("--answers measures the accuracy and writes no table; leave --output and --column out")
    if asked.shots is not None and asked.shots < 0:
        raise SettingError(f"--shots is {asked.shots}; it cannot be less than 0")
    if asked.picture is not None:
        if asked.answers is None:
            raise SettingError("--picture draws the accuracy on a file of questions; give one with --answers")
        picture_formats(asked.picture)  # refused before anything is computed


def _pairs(path: Path) -> list[Pair]:
    """The pairs of a table with something on both sides."""
    pairs = [pair for pair in file_pairs(path.expanduser()) if pair.source.strip() and pair.target.strip()]
    if not pairs:
        raise DataError(f"{path} has no example; expected a text and its answer on each line, in two columns")
    return pairs


def _answering(run: Run, asked: PromptOptions) -> Answering:
    """How the run's model answers: in turns if it learnt to, otherwise by continuing a text."""
    chosen = {"longest": asked.longest, "beam": 1, "n_best": 1, "temperature": 0.0}
    output = run.inputs.output
    if isinstance(output, AnswerOutput):
        if asked.template is not None or asked.between is not None:
            raise SettingError(
                f"this run learnt to answer after {output.task}, and its examples have that form; leave out "
                "--template and --between"
            )
        settings = decoding_settings(run, chosen)
        return answered_in_turns(run.model, run.inputs, settings)
    template = Template(
        **{name: value for name, value in (("form", asked.template), ("between", asked.between)) if value is not None}
    ).checked()
    settings = decoding_settings(run, {**chosen, "stop": (template.stop,)})
    return answered_as_text(run.model, run.inputs, settings, template)


class PromptedInput:
    """Texts that are asked after the same examples; a run that learnt to answer says what it does not read of them."""

    def __init__(self, run: Run, shots: tuple[Pair, ...]) -> None:
        self.shots, self.input = shots, run.input if isinstance(run.output, AnswerOutput) else None

    def parse(self, given: str) -> Pair:
        """The text after the examples."""
        return Pair(given, "", shots=self.shots)

    def remarks(self, examples: Examples[Pair], first: int = 0) -> list[str]:
        """Turns that are cut, and what the vocabulary lacks."""
        return [] if self.input is None else list(self.input.remarks(examples, first))

    def blank_remarks(self, examples: Examples[Pair], first: int = 0) -> list[str]:
        """Blank texts, which have no turn."""
        return [] if self.input is None else list(self.input.blank_remarks(examples, first))

    def example_fields(self, example: Pair) -> dict[str, Any]:
        """The text alone."""
        return {"text": example.source}


def _measure(
    asked: PromptOptions, file: Path, examples: Sequence[Pair], answering: Answering, *, as_json: bool
) -> None:
    pairs = _pairs(file)
    known = {pair.source for pair in pairs}
    enough = len(examples) - any(example.source in known for example in examples)  # no question is its own example
    most = min(MOST_SHOTS, enough) if asked.shots is None else asked.shots
    questions = drawn_questions(pairs, examples, most, asked.seed)
    say(f"{len(pairs):,} questions of {shown(file)}, each after examples of its own from {shown(asked.examples)}")
    found = []
    for accuracy in accuracy_by_shots(answering, questions, doubling(most)):
        say(f"after {accuracy.shots} examples: {100 * accuracy.share:.1f} % right")
        found.append(accuracy)
    if asked.picture is not None:
        shares = {"all": [each.share for each in found]}
        draw_picture(shots_picture([each.shots for each in found], shares), asked.picture)
    _print(found, as_json=as_json)


def _print(found: Sequence[Accuracy], *, as_json: bool) -> None:
    counted = [(each, sum(each.matched.values()), sum(each.total.values())) for each in found]
    if not as_json:
        rows = [(str(each.shots), f"{right}/{total}", f"{100 * each.share:.1f} %") for each, right, total in counted]
        print_table(("examples", "right", "share"), rows)
        return
    for each, right, total in counted:
        print(json_text({"shots": each.shots, "accuracy": round(each.share, 4), "right": right, "of": total}))
