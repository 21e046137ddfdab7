"""What each answer of an evaluation adds to a score, so that scores can be resampled and rows be told apart.

N examples · C classes · S sums of which a score is made · R resamples
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from seqwright.metrics.captions import NAMES as CAPTION_SCORES
from seqwright.metrics.captions import caption_scores
from seqwright.metrics.language import extent
from seqwright.metrics.pronunciations import counted_errors
from seqwright.metrics.significance import (
    Additive,
    PairedTest,
    mcnemar_p,
    mean_over,
    quotient,
    randomisation_p,
    ratio,
    text_statistics,
)
from seqwright.metrics.summaries import each_rouge
from seqwright.metrics.tags import entity_counts, together
from seqwright.metrics.text import exact_match

Answers = Sequence[dict[str, Any]]
ROUNDING_OF_SQUARES = 1e-12  # of a sum of squares, below which what is left of it is rounding


@dataclass(frozen=True)
class Shared:
    """What the rows of a table have in common: whether letters' case is ignored, and what there is to be predicted.

    Sums of two rows are exchanged with each other, so each must mean the same in all of them.
    """

    rows: Sequence[Answers]
    lowercase: bool

    @cached_property
    def classes(self) -> dict[str, int]:
        """The number of each class, in the order of the alphabet, of those that any row has or predicts."""
        names = {answer[each] for answers in self.rows for answer in answers for each in ("label", "predicted")}
        return {name: number for number, name in enumerate(sorted(names))}


Maker = Callable[[Answers, Shared], Additive]
"""A score of the answers of a row."""


def kind_of_answers(answers: Answers) -> str | None:
    """The field by which a kind of answers is known; None of those that no example alone can score."""
    return None if answers and "hidden" in answers[0] else _field(answers)


def scores_of(answers: Answers, names: Collection[str], *, lowercase: bool) -> dict[str, float]:
    """Those of some scores that are known by what each answer adds to them."""
    found = {name: statistics_of(name, {"": answers}, lowercase=lowercase).get("") for name in names}
    return {name: score.value for name, score in found.items() if score is not None}


def statistics_of(name: str, rows: Mapping[str, Answers], *, lowercase: bool) -> dict[str, Additive]:
    """A score of each row of a table by what each answer adds to it; nothing where that is not known."""
    rows = {row: _scored(answers) for row, answers in rows.items()}
    shared = Shared(list(rows.values()), lowercase)
    makers = [MAKERS.get(_field(answers) or "", {}).get(name) for answers in rows.values()]
    known = zip(rows.items(), makers, strict=True)
    found = {row: maker(answers, shared) for (row, answers), maker in known if maker is not None}
    return found if len(found) == len(rows) else {}


def _scored(answers: Answers) -> Answers:
    """Those that say something of an example whose answer is known, as scores have them."""
    match _field(answers):
        case "label":
            return [answer for answer in answers if answer["label"] and answer["predicted"]]
        case "value":
            return [answer for answer in answers if None not in (answer["value"], answer["predicted"])]
        case "tags":
            return [answer for answer in answers if answer["tags"]]
        case "references":
            return [answer for answer in answers if answer["references"] and answer["hypothesis"] is not None]
        case _:
            return answers


def paired_test(name: str, answers: Answers) -> PairedTest:
    """What tests the differences of a score: of right and wrong answers McNemar's, of all else randomisation."""
    return mcnemar_p if (_field(answers), name) in RIGHT_OR_WRONG else randomisation_p


def _field(answers: Answers) -> str | None:
    """What only answers of this kind have."""
    return next((field for field in MAKERS if answers and field in answers[0]), None)


# ---------------------------------------------------------------------------------------------------- texts


def _texts(answers: Answers) -> tuple[list[str], list[str]]:
    return [answer["hypothesis"] for answer in answers], [answer["reference"] for answer in answers]


def _of_sacrebleu(name: Literal["bleu", "chrf"]) -> Maker:
    return lambda answers, shared: text_statistics(name, *_texts(answers), lowercase=shared.lowercase)


def _of_rouge(name: str) -> Maker:
    return lambda answers, _: mean_over(each_rouge(*_texts(answers))[name])


def _exact(answers: Answers, shared: Shared) -> Additive:
    both = zip(*_texts(answers), strict=True)
    return mean_over([exact_match([one], [other], lowercase=shared.lowercase).value for one, other in both])


def _errors(answers: Answers, shared: Shared) -> Any:
    """`count_3N`: of each word whether it is wrong, its edits and its length."""
    words = [answer["source"] for answer in answers]
    return np.array(counted_errors(words, *_texts(answers), lowercase=shared.lowercase), dtype=np.float64).T


def _word_error_rate(answers: Answers, shared: Shared) -> Additive:
    return mean_over(100 * _errors(answers, shared)[0])


def _phoneme_error_rate(answers: Answers, shared: Shared) -> Additive:
    _, edits_N, length_N = _errors(answers, shared)
    return ratio(100 * edits_N, length_N)


# ---------------------------------------------------------------------------------------------------- documents


def _nats(answers: Answers) -> Any:
    return np.array([-answer["log_probability"] for answer in answers])


def _bits_per_byte(answers: Answers, shared: Shared) -> Additive:
    return ratio(_nats(answers) / math.log(2), [extent(answer["text"]).bytes for answer in answers])


def _word_perplexity(answers: Answers, shared: Shared) -> Additive:
    by_word = ratio(_nats(answers), [extent(answer["text"]).words for answer in answers])
    return by_word._replace(scores=lambda sum_RS: np.exp(sum_RS[:, 0] / sum_RS[:, 1]))


# ---------------------------------------------------------------------------------------------------- labels and tags


def _accuracy(answers: Answers, shared: Shared) -> Additive:
    return mean_over([100.0 * (answer["label"] == answer["predicted"]) for answer in answers])


def _macro_f1(answers: Answers, shared: Shared) -> Additive:
    """Of the right ones of each class, and of those that it has and those that were taken for it together."""
    classes = len(shared.classes)
    each_NS = np.zeros((len(answers), 2 * classes))
    for number, answer in enumerate(answers):
        true, predicted = shared.classes[answer["label"]], shared.classes[answer["predicted"]]
        each_NS[number, true] += true == predicted
        each_NS[number, classes + true] += 1
        each_NS[number, classes + predicted] += 1

    def f1(sum_RS: Any) -> Any:
        right_RC, counted_RC = sum_RS[:, :classes], sum_RS[:, classes:]
        return quotient(200 * right_RC, counted_RC).sum(1) / (counted_RC > 0).sum(1)

    return Additive(each_NS, f1)


def _tag_accuracy(answers: Answers, shared: Shared) -> Additive:
    both = [list(zip(answer["predicted"], answer["tags"], strict=True)) for answer in answers]
    return ratio(
        [100.0 * sum(one == other for one, other in tags) for tags in both], [float(len(tags)) for tags in both]
    )


def _entity_f1(answers: Answers, shared: Shared) -> Additive:
    counts = [together(entity_counts([answer["predicted"]], [answer["tags"]]).values()) for answer in answers]
    return ratio([200.0 * each.right for each in counts], [float(each.predicted + each.true) for each in counts])


# ---------------------------------------------------------------------------------------------------- spans, numbers


def _mean_of(name: str) -> Maker:
    return lambda answers, _: mean_over([100.0 * answer[name] for answer in answers])


def _values(answers: Answers) -> Any:
    return np.array([[answer["predicted"], answer["value"]] for answer in answers], dtype=np.float64).T


def _squared_error(answers: Answers, shared: Shared) -> Additive:
    predicted_N, true_N = _values(answers)
    return mean_over((predicted_N - true_N) ** 2)


def _pearson(answers: Answers, shared: Shared) -> Additive:
    """Of values less the mean of the true ones, so that large ones that differ little keep their digits."""
    x_N, y_N = _values(answers)
    x_N, y_N = x_N - y_N.mean(), y_N - y_N.mean()

    def correlation(sum_RS: Any) -> Any:
        count_R, x_R, y_R, xx_R, yy_R, xy_R = sum_RS.T
        spread_R = np.sqrt(_spread(count_R, x_R, xx_R) * _spread(count_R, y_R, yy_R))
        return 100 * quotient(count_R * xy_R - x_R * y_R, spread_R)

    return Additive(np.stack([np.ones_like(x_N), x_N, y_N, x_N**2, y_N**2, x_N * y_N], axis=1), correlation)


def _spread(count_R: Any, sum_R: Any, squares_R: Any) -> Any:
    """The variance times the squared count; 0 where it is no more than rounding, as that of a constant."""
    spread_R, most_R = count_R * squares_R - sum_R**2, count_R * squares_R
    return np.where(spread_R > ROUNDING_OF_SQUARES * most_R, spread_R, 0.0)


def _forecast_error(size: Callable[[Any], Any]) -> Maker:
    def made(answers: Answers, shared: Shared) -> Additive:
        errors = [np.subtract(answer["forecast"], answer["truth"]) for answer in answers]
        return ratio([float(size(error).sum()) for error in errors], [float(error.size) for error in errors])

    return made


def _place_error(size: Callable[[Any], Any]) -> Maker:
    """Of the frames whose place is known and that are read."""

    def made(answers: Answers, shared: Shared) -> Additive:
        sums, counts = list[float](), list[float]()
        for answer in answers:
            pairs = zip(answer["places"] or (), answer["predicted"] or (), strict=False)
            off_T = [math.dist(known, said) for known, said in pairs if known is not None]
            sums.append(float(size(np.array(off_T)).sum()))
            counts.append(float(len(off_T)))
        return ratio(sums, counts)

    return made


def _of_captions(name: str) -> Maker:
    """All captions are asked at once: how much a word counts in CIDEr depends on the references of all images."""

    def made(answers: Answers, shared: Shared) -> Additive:
        hypotheses, references = ([answer[each] for answer in answers] for each in ("hypothesis", "references"))
        return caption_scores(hypotheses, references, lowercase=shared.lowercase)[name]

    return made


MAKERS: dict[str, dict[str, Maker]] = {
    "references": {name: _of_captions(name) for name in CAPTION_SCORES},
    "hypothesis": {
        "bleu": _of_sacrebleu("bleu"),
        "chrf": _of_sacrebleu("chrf"),
        "exact": _exact,
        **{name: _of_rouge(name) for name in ("rouge_1", "rouge_2", "rouge_l")},
        "word_error_rate": _word_error_rate,
        "phoneme_error_rate": _phoneme_error_rate,
    },
    "log_probability": {"bits_per_byte": _bits_per_byte, "word_perplexity": _word_perplexity},
    "label": {"accuracy": _accuracy, "macro_f1": _macro_f1},
    "tags": {"accuracy": _tag_accuracy, "f1": _entity_f1},
    "answers": {"exact": _mean_of("exact"), "f1": _mean_of("f1")},
    "value": {"mse": _squared_error, "pearson": _pearson},
    "forecast": {"mse": _forecast_error(np.square), "mae": _forecast_error(np.abs)},
    "places": {
        "place_error": _place_error(np.abs),
        "within_half": _place_error(lambda off_T: 100.0 * (off_T < 0.5)),
    },
}
RIGHT_OR_WRONG = {("references", "exact"), ("hypothesis", "exact"), ("label", "accuracy"), ("answers", "exact")}
