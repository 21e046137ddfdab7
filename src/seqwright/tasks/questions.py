"""Question answering: questions with contexts, one tokenizer, exact match and F1, and what has to be beaten."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from seqwright.batches.bucketed import Bucketed
from seqwright.batches.questions import Asked, Window, asked
from seqwright.data.examples import PartName
from seqwright.data.question_files import Question
from seqwright.data.questions import QuestionData, require_questions
from seqwright.errors import SettingError
from seqwright.inputs.question_text import QuestionText
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.metrics.answers import answer_scores, best_threshold, score_of
from seqwright.objectives.span import span_losses
from seqwright.recipe import Recipe
from seqwright.tasks import Checked, Evaluation, Prepared, refuse_missing_part
from seqwright.tasks.answerer import Answered, Reading, span_logits
from seqwright.tasks.question_baseline import likeliest_sentence
from seqwright.tasks.question_check import checked_questions
from seqwright.tasks.question_rows import TokenisedQuestions, tokenised

QuestionBatches = Bucketed[Window, Asked]
GROUPS = 8  # first words of questions that scores are reported by
SIGNATURES = {
    "loss": "nats a window, for start and end",
    "exact": "answers that are right, as SQuAD counts",
    "f1": "mean overlap of words with the nearest right answer",
    "exact_answerable": "of the questions that have an answer",
    "f1_answerable": "of the questions that have an answer",
    "right_unanswerable": "questions without an answer of which that is said",
    "best_f1": "with the threshold that suits this part best",
    "best_threshold": "how far the best answer must then lie above saying nothing",
    "sentence_exact": "to beat: the sentence with most words of the question",
    "sentence_f1": "to beat: the sentence with most words of the question",
    "silence_f1": "to beat: saying of every question that it has no answer",
}


class QuestionsTask:
    """See `seqwright.tasks.Task`."""

    def learnt_inputs(self, recipe: Recipe, data: QuestionData, tokenizer: Tokenizer | None = None) -> QuestionText:
        """The tokenizer, if none is given, and whether some questions have no answer."""
        require_questions(data)
        unanswerable = any(not question.answers for question in data.questions("train"))
        texts = (text for question in data.questions("train") for text in (question.question, question.context))
        return QuestionText.learnt(texts, recipe.inputs, tokenizer, unanswerable=unanswerable)

    def loaded_inputs(self, folder: Path) -> QuestionText:
        """The tokenizer of a run."""
        return QuestionText.load(folder)

    def prepared(self, recipe: Recipe, data: QuestionData, inputs: QuestionText) -> Prepared:
        """Both parts tokenised; batches of the one, judgement on the other."""
        require_positions(recipe, inputs)
        train, valid = (tokenised(data, inputs, part) for part in ("train", "valid"))
        batches = batches_of(recipe, inputs, train)
        notes = [f"train: {train.kept.sentence()}; read in {len(batches.only):,} windows"]
        notes += [f"train: {remark}" for remark in data.remarks("train")]
        notes += [f"valid: {valid.kept.sentence()}", f"valid: to beat: {baseline(data, 'valid').sentence()}"]
        return Prepared(
            batches,
            validation(recipe, data, inputs, valid),
            ("loss", "exact", "f1"),
            frozenset({"loss"}),
            notes,
        )

    def checked(self, recipe: Recipe, data: QuestionData, inputs: QuestionText) -> tuple[Checked, QuestionBatches]:
        """Every part tokenised and looked at."""
        require_positions(recipe, inputs)
        parts = {part: tokenised(data, inputs, part) for part in data.parts()}
        batches = batches_of(recipe, inputs, parts["train"])
        checked = checked_questions(data, inputs, parts, batches)
        to_beat = {"to beat": baseline(data, "valid").sentence()}
        return checked._replace(facts={**checked.facts, **to_beat}), batches

    def evaluated(
        self, recipe: Recipe, data: QuestionData, inputs: QuestionText, model: nn.Module, part: PartName, decoding: Any
    ) -> Evaluation:
        """Loss, exact match and F1, what has to be beaten, and the answer to every question."""
        refuse_missing_part(data, part)
        tokens, questions = tokenised(data, inputs, part), list(data.questions(part))
        given = answers_of(model, recipe, questions, inputs, tokens)
        said, right = [each.said() for each in given.answers], [question.texts for question in questions]
        scores = {"loss": given.loss, **answer_scores(said, right)}
        if inputs.unanswerable and not all(right):
            scores |= with_threshold(given.answers, right)
        to_beat = baseline(data, part)
        return Evaluation(
            scores={**scores, **to_beat.scores},
            signatures={name: SIGNATURES[name] for name in (*scores, *to_beat.scores)},
            groups=by_first_word(questions, said),
            answers=[_told(*each) for each in zip(questions, given.answers, said, strict=True)],
            notes=[f"{part}: {tokens.kept.sentence()}", *_threshold_note(scores)],
        )


def require_positions(recipe: Recipe, inputs: QuestionText) -> None:
    """Refuse to read more at once than the model has positions for."""
    if inputs.longest > recipe.model.context:
        raise SettingError(
            f"inputs.longest = {inputs.longest} is more than the {recipe.model.context} positions of the model "
            "(model.context): lower it; a longer context is read in windows"
        )


def batches_of(recipe: Recipe, inputs: QuestionText, part: TokenisedQuestions) -> QuestionBatches:
    """The batches of what can be learnt from."""
    return _batches(recipe, inputs, part, learnable=True)


def _batches(recipe: Recipe, inputs: QuestionText, part: TokenisedQuestions, *, learnable: bool) -> QuestionBatches:
    rows = part.rows(inputs)
    return Bucketed(
        rows,
        partial(asked, begin=inputs.tokenizer.begin, end=inputs.tokenizer.end),
        tokens=recipe.training.tokens,
        seed=recipe.training.seed,
        only=np.flatnonzero(part.learnable_M[rows.question_N]) if learnable else None,
    )


# ---------------------------------------------------------------------------------------------------- scores


class Answers(NamedTuple):
    """What a model answers to every question of a part."""

    answers: list[Answered]
    loss: float  # nats a window that can be learnt from


def answers_of(
    model: nn.Module, recipe: Recipe, questions: list[Question], inputs: QuestionText, part: TokenisedQuestions
) -> Answers:
    """The best answer to every question, and what the right ones cost."""
    batches, loss, count = _batches(recipe, inputs, part, learnable=False), 0.0, 0
    reading = Reading(part.rows(inputs), inputs)
    for number_B in batches.plan(None):
        batch = batches.batch(number_B, None)
        logits_BT2 = span_logits(model, batch)
        reading.add(logits_BT2, batch, number_B)
        learnable_B = part.learnable_M[batch.example_B.numpy()]
        loss += float(span_losses(logits_BT2, batch).double().numpy()[learnable_B].sum())
        count += int(learnable_B.sum())
    answers = [
        reading.answered(number, part.placed(number), question.context) for number, question in enumerate(questions)
    ]
    return Answers(answers, loss / max(count, 1))


def validation(
    recipe: Recipe, data: QuestionData, inputs: QuestionText, part: TokenisedQuestions
) -> Callable[[nn.Module], dict[str, float]]:
    """Loss, exact match and F1 over the whole part."""
    questions = list(data.questions("valid"))

    def evaluate(model: nn.Module) -> dict[str, float]:
        given = answers_of(model, recipe, questions, inputs, part)
        scores = answer_scores([each.said() for each in given.answers], [question.texts for question in questions])
        return {"loss": given.loss, "exact": scores["exact"], "f1": scores["f1"]}

    return evaluate


def with_threshold(answers: list[Answered], right: list[list[str]]) -> dict[str, float]:
    """The F1 with the threshold that is best for these questions, and that threshold."""
    best = best_threshold(
        [each.answers[0].text if each.answers else "" for each in answers], [each.margin for each in answers], right
    )
    return {"best_f1": best.f1, "best_threshold": best.margin}


def _threshold_note(scores: dict[str, float]) -> list[str]:
    if "best_f1" not in scores or scores["best_f1"] < scores["f1"] + 0.05:
        return []
    return [
        f"with --threshold {scores['best_threshold']:.2f} the F1 of this part would be {scores['best_f1']:.2f}; chosen "
        "on the same questions, it flatters a little"
    ]


def by_first_word(questions: list[Question], said: list[str]) -> dict[str, tuple[int, int]]:
    """Exact matches and count, by the word that questions begin with; the rarer ones together."""
    words = [question.question.split()[0].strip("¿\"'").casefold() for question in questions]
    known = dict.fromkeys(word for word, _ in Counter(words).most_common(GROUPS))
    groups: dict[str, tuple[int, int]] = {}
    for word, question, answer in zip(words, questions, said, strict=True):
        name = word if word in known else "others"
        right, count = groups.get(name, (0, 0))
        groups[name] = (right + score_of(answer, question.texts).exact, count + 1)
    return groups


def _told(question: Question, found: Answered, said: str) -> dict[str, Any]:
    """A line of the answers that an evaluation writes down."""
    told: dict[str, Any] = {"id": question.name} if question.name else {}
    told |= {"question": question.question, "context": question.context, "answers": question.texts, "predicted": said}
    exact, f1, _ = score_of(said, question.texts)
    told |= {"exact": exact, "f1": round(f1, 4), "no_answer": round(found.no_answer, 4)}
    if found.answers:
        best = found.answers[0]
        told |= {"best": best.text, "begin": best.begin, "probability": round(best.probability, 4)}
    return told


# ---------------------------------------------------------------------------------------------------- to beat


class Baseline(NamedTuple):
    """How good it is to answer without understanding."""

    scores: dict[str, float]

    def sentence(self) -> str:
        """In words."""
        exact, f1 = (self.scores[f"sentence_{name}"] for name in ("exact", "f1"))
        told = f"the sentence with most words of the question: exact {exact:.1f} %, F1 {f1:.1f}"
        silence = self.scores.get("silence_f1")
        return told if silence is None else f"{told}; saying that nothing has an answer: {silence:.1f}"


def baseline(data: QuestionData, part: PartName) -> Baseline:
    """The scores of the sentence that shares most words with the question, and of never answering."""
    questions = list(data.questions(part))
    right = [question.texts for question in questions]
    sentences = [likeliest_sentence(question.question, question.context) for question in questions]
    named = answer_scores(sentences, right)
    scores = {"sentence_exact": named["exact"], "sentence_f1": named["f1"]}
    if not all(right):
        scores["silence_f1"] = answer_scores([""] * len(right), right)["f1"]
    return Baseline(scores)
