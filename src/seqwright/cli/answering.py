"""`answer`: questions and a context in, the words of the context that answer them out; and what `eval` shows of it."""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from seqwright.cli.opening import opened_for
from seqwright.cli.terminal import add_row, json_text, say, shown
from seqwright.cli.translating import asked, some_lines
from seqwright.data.files import lines, require_file
from seqwright.data.question_files import WORDS
from seqwright.data.tables import json_object
from seqwright.errors import DataError, SettingError
from seqwright.inputs.question_text import QuestionText
from seqwright.tasks import Evaluation
from seqwright.tasks.answerer import Answered, Answerer

NOTHING = "(no answer)"
AT_ONCE = 64  # questions answered at a time


class Asked(NamedTuple):
    """A question, what it is about, and its number among all that were asked."""

    question: str
    context: str
    number: int


def answer_questions(
    folder: Path,
    questions: list[str],
    context: str | None,
    context_file: Path | None,
    file: Path | None,
    *,
    top: int,
    threshold: float | None,
    as_json: bool,
    which: str,
) -> None:
    """Print, for each question, its best answers with their probabilities, a line each."""
    if top < 1:
        raise SettingError(f"--top is {top}; ask for one answer or more")
    questions, file = asked("answer", questions, file)
    context = _context(context, context_file)
    run = opened_for("answer", folder, which)
    inputs: QuestionText = run.inputs
    if threshold is not None and not inputs.unanswerable:
        raise SettingError(
            f"{shown(folder)} learnt from questions that all have an answer, so that it always gives one: leave out "
            "--threshold"
        )
    answerer, unknown = Answerer(run.model, inputs), Counter[str]()
    for some in _blocks(questions, file, context):
        unknown += inputs.tokenizer.unknown_characters(text for each in some for text in (each.question, each.context))
        _tell_of_long(inputs, some)
        found = answerer([(each.question, each.context) for each in some], top=top)
        for each, answered in zip(some, found, strict=True):
            print(_line(each.question, answered, threshold or 0.0, as_json=as_json))
        sys.stdout.flush()
    if unknown:
        most = " ".join(f"{character!r}×{count}" for character, count in unknown.most_common(8))
        say(f"the vocabulary lacks {most}{' …' if len(unknown) > 8 else ''}: the model cannot read them")


def _context(context: str | None, file: Path | None) -> str | None:
    """The text to find the answers in, if one is given for all questions."""
    if context is not None and file is not None:
        raise DataError("there are both --context and --context-file; give one of them")
    if file is not None:
        require_file(file)
        context = "\n".join(lines(file))
    if context is not None and not context.strip():
        raise DataError(f"the context {f'in {file} ' if file else ''}is blank; expected a text that has the answer")
    return context


def _blocks(questions: list[str], file: Path | None, context: str | None) -> Iterator[list[Asked]]:
    """The questions in blocks; of a file or of standard input each line is one, or a JSON object with a context."""
    number = 0
    for some in [questions] if questions else some_lines([], file):
        block = [_asked(text, context, number + place) for place, text in enumerate(some, start=1)]
        number += len(some)
        yield from (block[low : low + AT_ONCE] for low in range(0, len(block), AT_ONCE))


def _asked(text: str, context: str | None, number: int) -> Asked:
    where = f"question {number}"
    question: Any = text
    if text.lstrip().startswith("{"):
        record = {
            str(key).casefold(): value for key, value in json_object(text, where, ("question", "context")).items()
        }
        found = {name: next((record[word] for word in WORDS[name] if word in record), None) for name in WORDS}
        question, context = found["question"], context if found["context"] is None else found["context"]
    if not isinstance(question, str) or not question.strip():
        raise DataError(f'{where} is blank; expected a question, or JSON such as {{"question": …, "context": …}}')
    if not isinstance(context, str) or not context.strip():
        raise DataError(
            f"{where} has no context to find the answer in: give one with --context or --context-file, or with each "
            'question as JSON, {"question": …, "context": …}'
        )
    return Asked(question, context, number)


def _tell_of_long(inputs: QuestionText, some: list[Asked]) -> None:
    for each, ids in zip(some, inputs.tokenizer.encode([each.question for each in some]), strict=True):
        if len(ids) > inputs.question:
            say(f"question {each.number} has {len(ids):,} tokens; the model reads the first {inputs.question:,}")


def _line(question: str, found: Answered, threshold: float, *, as_json: bool) -> str:
    said, best = found.said(threshold), [answer._asdict() for answer in found.answers]
    if as_json:
        first = best[0] if said else {"text": None, "begin": None, "end": None, "score": None}
        fields: dict[str, Any] = {"question": question, "answer": first["text"]}
        fields |= {"probability": best[0]["probability"] if said else found.no_answer}
        fields |= {name: first[name] for name in ("begin", "end", "score")}
        return json_text({**fields, "no_answer": found.no_answer, "answers": best})
    told = [(" ".join(answer.text.split()), answer.probability) for answer in found.answers]
    if not said:  # before the others that were asked for, if any were
        told = [(NOTHING, found.no_answer), *told[: max(len(told) - 1, 0)]]
    return "\t".join(f"{text}\t{probability:.4f}" for text, probability in told)


def print_evaluation(result: Evaluation) -> None:
    """The run beside what has to be beaten, and how many answers are right by the word a question begins with."""
    console, scores = Console(), result.scores
    kinds = (
        {"f1_answerable": "answerable F1", "right_unanswerable": "unanswerable"} if "f1_answerable" in scores else {}
    )
    table = Table("", "exact", "F1", *kinds.values(), box=None, pad_edge=False)
    add_row(table, "this run", *(f"{scores[name]:.2f}" for name in ("exact", "f1", *kinds)), style="bold")
    sentence = (f"{scores[f'sentence_{name}']:.2f}" for name in ("exact", "f1"))
    add_row(table, "the sentence most like the question", *sentence)
    if "silence_f1" in scores:
        add_row(table, "no answer to anything", *[f"{scores['silence_f1']:.2f}"] * 2)
    console.print(table)
    console.print()
    groups = Table("first word", "exact", "share", box=None, pad_edge=False)
    for word, (right, count) in sorted(result.groups.items(), key=lambda each: -each[1][1]):
        add_row(groups, word, f"{right}/{count}", f"{100 * right / count:.1f} %")
    console.print(groups)
