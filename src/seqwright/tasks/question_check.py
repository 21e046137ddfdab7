"""What there is to know of questions before training on them."""

from collections.abc import Mapping
from typing import Any

from seqwright.batches.bucketed import Bucketed
from seqwright.data.examples import PartName
from seqwright.data.questions import QuestionData
from seqwright.inputs.question_text import QuestionText
from seqwright.tasks import Checked
from seqwright.tasks.question_rows import TokenisedQuestions

FEW_QUESTIONS = 100  # fewer to judge on, and the scores say little
COLUMNS = ("part", "questions", "no answer", "contexts", "in train", "tokens a context", "longest", "windows")


def checked_questions(
    data: QuestionData, inputs: QuestionText, parts: Mapping[PartName, TokenisedQuestions], batches: Bucketed[Any, Any]
) -> Checked:
    """How many questions and contexts, how long they are, and the answers that a model could not find."""
    rows: list[tuple[str, ...]] = []
    remarks: list[str] = []
    training = {question.context for question in data.questions("train")}
    for part, tokens in parts.items():
        shared = sum(question.context in training for question in data.questions(part))
        rows.append(_row(part, tokens, inputs, shared))
        remarks += [f"{part}: {remark}" for remark in data.remarks(part)]
        remarks += _remarks(part, tokens, inputs, shared)
    facts = {
        "vocabulary": f"{inputs.tokenizer.size:,}",
        "read at once": f"{inputs.longest:,} tokens, windows {inputs.stride:,} apart",
        "padding": f"{100 * batches.padding():.1f} %",
    }
    return Checked(COLUMNS, rows, facts, remarks)


def _row(part: PartName, tokens: TokenisedQuestions, inputs: QuestionText, shared: int) -> tuple[str, ...]:
    length_K = tokens.contexts.length_N
    return (
        part,
        f"{tokens.kept.questions:,}",
        f"{tokens.kept.unanswerable:,}",
        f"{len(length_K):,}",
        "" if part == "train" else f"{shared:,}",
        f"{length_K.mean():.0f}",
        f"{length_K.max():,}",
        f"{len(tokens.rows(inputs).length_N):,}",
    )


def _remarks(part: PartName, tokens: TokenisedQuestions, inputs: QuestionText, shared: int) -> list[str]:
    remarks, kept = [], tokens.kept
    if kept.moved or kept.lost or kept.cut:
        remarks.append(f"{part}: {kept.sentence()}")
    if part != "train" and shared:
        share = 100 * shared / kept.questions
        remarks.append(
            f"questions of the {part} part about contexts of training: {share:.1f} %; its scores will flatter"
        )
    first_M, last_M = tokens.answer_M2.T
    long = int(((first_M >= 0) & (last_M - first_M >= inputs.answer)).sum())
    if long:
        remarks.append(
            f"{long:,} answers of the {part} part have more than inputs.answer = {inputs.answer} tokens: so long a one "
            "is never given"
        )
    unknown = tokens.questions.values, tokens.contexts.values
    share = 100 * sum(map(inputs.tokenizer.unknowns, unknown)) / max(sum(map(len, unknown)), 1)
    if share:
        remarks.append(f"tokens of the {part} part that the vocabulary lacks: {share:.2g} %")
    if part != "train" and kept.questions < FEW_QUESTIONS:
        remarks.append(f"the {part} part has only {kept.questions:,} questions: its scores are uncertain")
    return remarks
