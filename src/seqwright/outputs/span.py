"""A span: some characters of a context that answer a question, or that it has no answer.

B batch · T time, here the tokens of a context · S positions of a window · M questions
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import nn

from seqwright.batches import Batches, Derived, Numbers
from seqwright.batches.questions import Asked, PlacedTokens, position_in
from seqwright.data.question_files import Question
from seqwright.errors import DataError, SettingError
from seqwright.inputs import Examples, Input, Stacked
from seqwright.metrics.answers import answer_scores, best_threshold, score_of
from seqwright.outputs import Baselines, Output, Report, Targets, each_row
from seqwright.outputs.span_search import Spans, likeliest_sentence
from seqwright.setting_classes import Settings

NO_ANSWER, LOST = -1, -2  # in place of the answer's first token: there is none, or it stands nowhere in the context
NOTHING = "(no answer)"
GROUPS = 8  # first words of questions that scores are reported by
SENTENCE = "baseline: the sentence with most words of the question"
SIGNATURES = {
    "loss": "nats per window, for start and end",
    "exact": "answers that are right, as SQuAD counts",
    "f1": "mean overlap of words with the nearest right answer",
    "has_answer_exact": "of the questions that have an answer",
    "has_answer_f1": "of the questions that have an answer",
    "no_answer_exact": "questions without an answer of which that is predicted",
    "best_f1": "with the threshold that suits this part best",
    "best_threshold": "how far the best answer must then lie above saying nothing",
    "baseline_sentence_exact": SENTENCE,
    "baseline_sentence_f1": SENTENCE,
    "baseline_no_answer_f1": "baseline: saying of every question that it has no answer",
}


class FoundAnswer(NamedTuple):
    """An answer: characters `begin` up to but without `end` of the context.

    `score` is the sum of the start's and the end's logit, `probability` its share among all that could be answered.
    """

    text: str
    begin: int
    end: int
    score: float
    probability: float


class SpanOutputSettings(Settings):
    """How long an answer may be."""

    longest_answer: int = Field(default=30, ge=1)
    """Most tokens of an answer that is looked for."""


class Answered(NamedTuple):
    """The best answers to a question, none overlapping another, and how probable it is that there is none.

    `margin` is how far the best one's score lies above that of saying nothing (Devlin et al. 2019, section 4.3); it is
    infinite where the model never saw a question without an answer. `loss` is that of the right answer in so many
    `windows`; in none where it stands nowhere in the context.
    """

    answers: list[FoundAnswer]
    no_answer: float
    margin: float
    loss: float = 0.0
    windows: int = 0

    def __repr__(self) -> str:
        if not self.answer():
            return f"Answered(no answer, probability={self.no_answer:.4g})"
        return f"Answered({self.answers[0].text!r}, probability={self.answers[0].probability:.4g})"

    def answer(self, threshold: float | None = None) -> str:
        """What is answered: nothing, unless the best answer lies above saying so by more than the threshold."""
        return self.answers[0].text if self.answers and self.margin > (threshold or 0.0) else ""


class WindowLogits(NamedTuple):
    """What a model predicts of a window: the logits of its first position, then those of the context's tokens."""

    begin: int  # the number of its first token in the context
    logits_S2: NDArray[np.float32]
    place_T2: NDArray[np.uint32]  # from where to where each token stands in the context


@dataclass(frozen=True)
class SpanOutput(Output[Question, Asked, Answered]):
    """How long an answer may be, in tokens, and whether training had questions without one."""

    longest: int
    unanswerable: bool
    most: int = 1  # answers to each question
    threshold: float | None = None  # how far an answer must lie above saying nothing; 0 if not given
    settings: ClassVar[type[Settings]] = SpanOutputSettings
    file: ClassVar[str] = "span.json"
    score_names: ClassVar[tuple[str, ...]] = ("loss", "exact", "f1")
    signatures: ClassVar[Mapping[str, str]] = SIGNATURES

    def __post_init__(self) -> None:
        if self.threshold is not None and not self.unanswerable:
            raise SettingError(
                "the run learnt from questions that all have an answer, so that it always gives one: leave out "
                "--threshold"
            )

    @classmethod
    def learn(
        cls, train: Examples[Question], settings: SpanOutputSettings, input: Input[Any, Any], *, like: Any = None
    ) -> Self:
        """Whether some questions of the training part have no answer."""
        counts = Counter((bool(question.answers), question.lost) for question in train)
        if not counts[True, False]:
            raise DataError(
                f"none of the {counts.total():,} questions of the training part has an answer that stands in its "
                "context: see whether data.answer, data.start and data.context mean the right columns"
            )
        return cls(settings.longest_answer, counts[False, False] > 0)

    def encode(self, examples: Examples[Question], rows: Any, *, seed: int = 0) -> Targets:
        """The positions of the answer in each window; a question whose answer is lost is not learnt from."""
        answer_M2 = every_answer(examples, rows)
        targets = Derived(rows, lambda row, question: position_in(row, answer_M2[question].tolist()))
        return Targets(targets, np.flatnonzero(answer_M2[rows.example_N, 0] != LOST))

    def collate(self, stacked: Stacked, targets: Sequence[Any] | None) -> Asked:
        """What is read, with the positions of the answer."""
        at_B2 = [(0, 0)] * len(stacked["input_BT"]) if targets is None else targets
        start_B, end_B = torch.tensor(at_B2).unbind(1)
        return Asked(**stacked, start_B=start_B, end_B=end_B)

    def predict(
        self, model: nn.Module, batches: Batches[Asked], examples: Examples[Question], decoding: Any = None
    ) -> Iterator[Answered]:
        """The best answers to each question, from all of its windows together."""
        found: dict[int, list[WindowLogits]] = defaultdict(list)
        for batch, logits_BT2 in each_row(model, batches):
            columns = (batch.example_B.tolist(), batch.token_B.tolist(), logits_BT2.float(), batch.allowed_BT)
            for number, begin, logits_T2, allowed_T, place_T2 in zip(*columns, batch.place_BT2, strict=True):
                places = place_T2[allowed_T][1:].numpy().astype(np.uint32)
                found[number].append(WindowLogits(begin, logits_T2[allowed_T].numpy(), places))
        for number, question in enumerate(examples):
            yield self._answered(question, sorted(found.pop(number), key=itemgetter(0)))

    def _answered(self, question: Question, parts: Sequence[WindowLogits]) -> Answered:
        length = max(part.begin + len(part.place_T2) for part in parts)
        place_T2, spans = np.zeros((length, 2), dtype=np.uint32), Spans(length, self.longest)
        for part in parts:
            place_T2[part.begin : part.begin + len(part.place_T2)] = part.place_T2
            spans.add(part.begin, part.logits_S2)
        silence = spans.silence if self.unanswerable else -np.inf
        total = np.logaddexp(spans.total(), silence)
        answers = []
        for first, last, score in spans.best(self.most):
            begin, end = int(place_T2[first, 0]), int(place_T2[last, 1])
            answers.append(FoundAnswer(question.context[begin:end], begin, end, score, float(np.exp(score - total))))
        margin = answers[0].score - silence if answers else -np.inf
        first, last = answer_tokens(question, PlacedTokens(place_T2[:, 0], *place_T2.T))
        losses = [] if first == LOST else [_loss(part, first - part.begin, last - part.begin) for part in parts]
        return Answered(answers, float(np.exp(silence - total)), float(margin), sum(losses), len(losses))

    # ------------------------------------------------------------------------------------------------ scores

    def ranking(self, top: int) -> Self:
        """Answers that do not overlap."""
        return replace(self, most=top)

    def scores(self, predictions: Sequence[Answered], examples: Examples[Question]) -> dict[str, float]:
        """Loss, exact match and F1 over all questions."""
        windows = sum(prediction.windows for prediction in predictions)
        scores = self._scores(predictions, examples)
        loss = sum(prediction.loss for prediction in predictions) / max(windows, 1)
        return {"loss": loss, "exact": scores["exact"], "f1": scores["f1"]}

    def _scores(self, predictions: Sequence[Answered], examples: Examples[Question]) -> dict[str, float]:
        predicted = [prediction.answer(self.threshold) for prediction in predictions]
        return answer_scores(predicted, [question.texts for question in examples])

    def report(self, predictions: Sequence[Answered], examples: Examples[Question]) -> Report:
        """The questions with and without an answer apart, the best threshold, and right ones by their first word."""
        scores, notes = self._scores(predictions, examples), list[str]()
        right = [question.texts for question in examples]
        if self.unanswerable and not all(right):
            predicted = [each.answers[0].text if each.answers else "" for each in predictions]
            best = best_threshold(predicted, [each.margin for each in predictions], right)
            scores |= {"best_f1": best.f1, "best_threshold": best.margin}
            if best.f1 >= scores["f1"] + 0.05:
                told = f"with --threshold {best.margin:.2f} the F1 of this part would be {best.f1:.2f}"
                notes.append(f"{told}; chosen on the same questions, it is a little optimistic")
        groups = self._by_first_word(predictions, list(examples))
        return Report(scores=scores, groups=groups, group_columns=("first word", "exact"), notes=notes)

    def _by_first_word(
        self, predictions: Sequence[Answered], questions: Sequence[Question]
    ) -> dict[str, tuple[int, int]]:
        """Exact matches and count by the first word of a question, the most frequent first; rarer words together."""
        words = [question.question.split()[0].strip("¿\"'").casefold() for question in questions]
        known = dict.fromkeys(word for word, _ in Counter(words).most_common(GROUPS))
        groups: dict[str, tuple[int, int]] = {}
        for word, question, prediction in zip(words, questions, predictions, strict=True):
            name = word if word in known else "others"
            right, count = groups.get(name, (0, 0))
            groups[name] = (right + score_of(prediction.answer(self.threshold), question.texts).exact, count + 1)
        return dict(sorted(groups.items(), key=lambda each: -each[1][1]))

    def target(self, example: Question) -> list[str]:
        """The right answers; none where there is none."""
        return example.texts

    def baselines(self, train: Examples[Question], part: Examples[Question], input: Input[Any, Any]) -> Baselines:
        """The sentence that shares most words with the question, and never answering."""
        right = [question.texts for question in part]
        named = answer_scores([likeliest_sentence(each.question, each.context) for each in part], right)
        scores = {"baseline_sentence_exact": named["exact"], "baseline_sentence_f1": named["f1"]}
        told = "the sentence with most words of the question: exact {baseline_sentence_exact:.1f} %, "
        told += "F1 {baseline_sentence_f1:.1f}"
        if not all(right):
            scores["baseline_no_answer_f1"] = answer_scores([""] * len(right), right)["f1"]
            told += "; saying that nothing has an answer: {baseline_no_answer_f1:.1f}"
        return Baselines(scores, told.format(**scores), [])

    # ------------------------------------------------------------------------------------------------ told

    def part_sentence(self, examples: Examples[Question], rows: Any) -> str:
        """`(498 without an answer; 63 answers do not stand where …; of 30 questions no answer …)`."""
        first_M, last_M = every_answer(examples, rows).T
        moved, lost = sum(question.moved for question in examples), (first_M == LOST).sum()
        long = (last_M - first_M >= self.longest).sum()
        told = {
            "{:,} without an answer": (first_M == NO_ANSWER).sum(),
            "{:,} answers do not stand where the data says and were found elsewhere": moved,
            "of {:,} questions no answer stands in the context: they are scored, not learnt from": lost,
            f"{{:,}} answers have more than {self.longest} tokens: so long a one is never given": long,
        }
        some = [sentence.format(int(count)) for sentence, count in told.items() if count]
        return f"({'; '.join(some)})" if some else ""

    def line(self, prediction: Answered, top: int = 1) -> str:
        """The best answers with their probabilities; that there is none before the others, where that is said."""
        told = [(" ".join(answer.text.split()), answer.probability) for answer in prediction.answers]
        if not prediction.answer(self.threshold):
            told = [(NOTHING, prediction.no_answer), *told[: max(len(told) - 1, 0)]]
        return "\t".join(f"{text}\t{probability:.4f}" for text, probability in told)

    def fields(self, prediction: Answered, top: int = 1) -> dict[str, Any]:
        """The answer that is given, where it stands, and all that were found."""
        predicted, best = prediction.answer(self.threshold), [answer._asdict() for answer in prediction.answers]
        first = best[0] if predicted else {"text": None, "begin": None, "end": None, "score": None}
        fields = {"answer": first["text"], "probability": best[0]["probability"] if predicted else prediction.no_answer}
        fields |= {name: first[name] for name in ("begin", "end", "score")}
        return {**fields, "no_answer": prediction.no_answer, "answers": best}

    def answer(self, prediction: Answered, example: Question) -> dict[str, Any]:
        """The right answers, the predicted one, and the best that was found."""
        predicted = prediction.answer(self.threshold)
        exact, f1, _ = score_of(predicted, example.texts)
        told: dict[str, Any] = {"answers": example.texts, "predicted": predicted, "exact": exact, "f1": round(f1, 4)}
        told |= {"no_answer": round(prediction.no_answer, 4)}
        if prediction.answers:
            best = prediction.answers[0]
            told |= {"best": best.text, "begin": best.begin, "probability": round(best.probability, 4)}
        return told


def answer_tokens(question: Question, placed: PlacedTokens) -> tuple[int, int]:
    """The first and the last token of the first answer that stands in the context."""
    if not question.answers:
        return NO_ANSWER, NO_ANSWER
    for text, begin in question.answers:
        if begin is not None and (found := placed.tokens_of(begin, begin + len(text))) is not None:
            return found
    return LOST, LOST


def every_answer(examples: Examples[Question], rows: Any) -> Numbers:
    """`answer_M2`: the `answer_tokens` of every question."""
    placed = (rows.placed(np.array([number]))[0] for number in range(len(rows.context_M)))
    each = [answer_tokens(*both) for both in zip(examples, placed, strict=True)]
    return np.array(each, dtype=np.int64).reshape(-1, 2)


def _loss(part: WindowLogits, first: int, last: int) -> float:
    """-log p(start) - log p(end) of an answer, by its tokens in a window; where it is not whole, of having none."""
    inside = first >= 0 and last < len(part.place_T2)
    at_2 = (first + 1, last + 1) if inside else (0, 0)
    logits_S2 = part.logits_S2.astype(np.float64)
    return float(np.logaddexp.reduce(logits_S2, axis=0).sum() - logits_S2[at_2, (0, 1)].sum())
