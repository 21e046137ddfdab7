"""`prompt`: examples from a file stand before a question; and how many answers are right after how many examples."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.opening import opened_for
from seqwright.cli.terminal import add_row, json_text, picture_formats, say, shown
from seqwright.data.examples import Pair
from seqwright.data.pairs import file_pairs
from seqwright.errors import DataError, SettingError
from seqwright.outputs.answer import AnswerOutput, doubling
from seqwright.pictures import save
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


class Wish(NamedTuple):
    """What a user wants of `prompt`."""

    texts: list[str]
    examples: Path
    answers: Path | None
    shots: int | None
    template: str | None
    between: str | None
    longest: int | None
    seed: int
    picture: Path | None
    as_json: bool
    which: str


def prompt_run(folder: Path, wish: Wish) -> None:
    """Answer texts after examples, or measure the accuracy on a file of questions."""
    if bool(wish.texts) == (wish.answers is not None):
        raise SettingError(
            "give a text to answer, or a file of questions and right answers with --answers, and not both"
        )
    if wish.shots is not None and wish.shots < 0:
        raise SettingError(f"--shots is {wish.shots}; it cannot be less than 0")
    if wish.picture is not None:
        if wish.answers is None:
            raise SettingError("--picture draws the accuracy on a file of questions; give one with --answers")
        picture_formats(wish.picture)  # refused before anything is computed
    examples = _pairs(wish.examples)
    if wish.shots is not None and wish.shots > len(examples):
        raise DataError(f"--shots is {wish.shots}, but {wish.examples} has only {len(examples)} examples; lower it")
    run = opened_for("prompt", folder, wish.which)
    answering = _answering(run, wish)
    if wish.answers is None:
        _answer(wish, examples, answering)
    else:
        _measure(wish, examples, answering)


def _pairs(path: Path) -> list[Pair]:
    """The pairs of a table with something on both sides."""
    pairs = [pair for pair in file_pairs(path.expanduser()) if pair.source.strip() and pair.target.strip()]
    if not pairs:
        raise DataError(f"{path} has no example; expected a text and its answer on each line, in two columns")
    return pairs


def _answering(run: Run, wish: Wish) -> Answering:
    """How the run's model answers: in turns if it learnt to, otherwise by going on with a text."""
    chosen = {"longest": wish.longest, "beam": 1, "n_best": 1, "temperature": 0.0}
    output = run.inputs.output
    if isinstance(output, AnswerOutput):
        if wish.template is not None or wish.between is not None:
            raise SettingError(
                f"this run learnt to answer after {output.task}, and its examples have that form; leave out "
                "--template and --between"
            )
        settings = decoding_settings(run, chosen)
        return answered_in_turns(run.model, run.inputs, settings)
    template = Template(
        **{name: value for name, value in (("form", wish.template), ("between", wish.between)) if value is not None}
    ).checked()
    settings = decoding_settings(run, {**chosen, "stop": (template.stop,)})
    return answered_as_text(run.model, run.inputs, settings, template)


def _answer(wish: Wish, examples: Sequence[Pair], answering: Answering) -> None:
    shots = tuple(examples[: wish.shots])
    for text, answer in zip(wish.texts, answering([Pair(text, "", shots=shots) for text in wish.texts]), strict=True):
        print(json_text({"text": text, "answer": answer, "shots": len(shots)}) if wish.as_json else answer)


def _measure(wish: Wish, examples: Sequence[Pair], answering: Answering) -> None:
    assert wish.answers is not None
    asked = _pairs(wish.answers)
    known = {pair.source for pair in asked}
    enough = len(examples) - any(example.source in known for example in examples)  # no question is its own example
    most = min(MOST_SHOTS, enough) if wish.shots is None else wish.shots
    questions = drawn_questions(asked, examples, most, wish.seed)
    say(
        f"{len(asked):,} questions of {shown(wish.answers)}, each after examples of its own from {shown(wish.examples)}"
    )
    found = []
    for accuracy in accuracy_by_shots(answering, questions, doubling(most)):
        say(f"after {accuracy.shots} examples: {100 * accuracy.share:.1f} % right")
        found.append(accuracy)
    if wish.picture is not None:
        figure = shots_picture([each.shots for each in found], {"all": [each.share for each in found]})
        paths = save(figure, wish.picture.with_suffix(""), picture_formats(wish.picture))
        say(f"drawn: {', '.join(map(shown, paths))}")
    _print(found, as_json=wish.as_json)


def _print(found: Sequence[Accuracy], *, as_json: bool) -> None:
    if as_json:
        for each in found:
            right, total = sum(each.matched.values()), sum(each.total.values())
            print(json_text({"shots": each.shots, "accuracy": round(each.share, 4), "right": right, "of": total}))
        return
    table = Table("examples", "right", "share", box=None, pad_edge=False)
    for each in found:
        right, total = sum(each.matched.values()), sum(each.total.values())
        add_row(table, str(each.shots), f"{right}/{total}", f"{100 * each.share:.1f} %")
    Console().print(table)
