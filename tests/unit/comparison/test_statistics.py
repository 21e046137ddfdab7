"""What each answer adds to a score: all of them together are the score that an evaluation gives."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqwright.comparison.statistics import paired_test, statistics_of
from seqwright.comparison.table import markdown, tabled, told_p
from seqwright.metrics.language import extent, language_scores
from seqwright.metrics.pronunciations import pronunciation_errors
from seqwright.metrics.regression import pearson, squared_error
from seqwright.metrics.significance import bootstrap_interval, mcnemar_p, randomisation_p
from seqwright.metrics.summaries import rouge
from seqwright.metrics.text import bleu, chrf, exact_match

SOURCES = ["eins", "zwei", "eins"]
WRITTEN, TARGETS = ["a b c D e", "b c d a", "x y"], ["a b c d f", "b c d a", "x z y"]


def value_of(name: str, answers: list[dict[str, Any]], *, lowercase: bool = False) -> float:
    return statistics_of(name, {"row": answers}, lowercase=lowercase)["row"].value


def test_texts() -> None:
    every = zip(SOURCES, WRITTEN, TARGETS, strict=True)
    answers = [{"source": a, "hypothesis": b, "reference": c} for a, b, c in every]
    for lowercase in (False, True):
        for name, metric in {"bleu": bleu, "chrf": chrf, "exact": exact_match}.items():
            assert value_of(name, answers, lowercase=lowercase) == pytest.approx(
                metric(WRITTEN, TARGETS, lowercase=lowercase).value
            )
        for name, score in pronunciation_errors(SOURCES, WRITTEN, TARGETS, lowercase=lowercase).items():
            assert value_of(name, answers, lowercase=lowercase) == pytest.approx(score.value)
    for name, score in rouge(WRITTEN, TARGETS).items():
        assert value_of(name, answers) == pytest.approx(score.value)


def test_documents() -> None:
    texts, nats = ["ein Wort", "ä", "drei Worte mehr"], [3.0, 1.0, 5.5]
    answers = [{"text": text, "log_probability": -each} for text, each in zip(texts, nats, strict=True)]
    whole = extent(texts[0]).plus(extent(texts[1])).plus(extent(texts[2]))
    scores = language_scores(sum(nats), 1, whole)
    for name in ("bits_per_byte", "word_perplexity"):
        assert value_of(name, answers) == pytest.approx(scores[name])


def test_labels() -> None:
    from sklearn.metrics import f1_score

    true, predicted = [*"aabbbcca"], [*"abbbacca"]
    answers = [{"label": one, "predicted": other} for one, other in zip(true, predicted, strict=True)]
    assert value_of("accuracy", answers) == 75.0
    assert value_of("macro_f1", answers) == pytest.approx(100 * f1_score(true, predicted, average="macro"))
    assert paired_test("accuracy", answers) is mcnemar_p
    assert paired_test("macro_f1", answers) is randomisation_p


def labelled(true: str, predicted: str) -> list[dict[str, Any]]:
    return [{"label": one, "predicted": other} for one, other in zip(true, predicted, strict=True)]


@pytest.mark.parametrize("first", ["abacb", "0bacb"])
def test_classes_mean_the_same_in_every_row_though_some_predict_what_the_part_lacks(first: str) -> None:
    from sklearn.metrics import f1_score

    true, said = "abacc", {"first": first, "second": "zbaac"}

    def macro_f1(predicted: str) -> float:
        return 100 * float(f1_score([*true], [*predicted], average="macro", zero_division=0))

    scores = statistics_of("macro_f1", {row: labelled(true, each) for row, each in said.items()}, lowercase=False)
    assert [scores[row].value for row in said] == [pytest.approx(macro_f1(each)) for each in said.values()]
    swapped_NS = scores["first"].each_NS.copy()
    swapped_NS[1] = scores["second"].each_NS[1]  # the same answer
    swapped = scores["first"].scores(swapped_NS.sum(0, keepdims=True))
    assert swapped[0] == pytest.approx(macro_f1(first))
    assert 0 < randomisation_p(scores["first"], scores["second"], 50) <= 1


def test_tags_and_spans() -> None:
    answers = [
        {"tags": ["B-x", "I-x", "O"], "predicted": ["B-x", "I-x", "O"]},
        {"tags": ["B-y", "O"], "predicted": ["O", "B-y"]},
    ]
    assert value_of("accuracy", answers) == pytest.approx(60.0)
    assert value_of("f1", answers) == pytest.approx(50.0)
    assert paired_test("accuracy", answers) is randomisation_p  # words of a sentence are not independent
    spans = [{"answers": ["a"], "exact": True, "f1": 1.0}, {"answers": ["b"], "exact": False, "f1": 0.5}]
    assert (value_of("exact", spans), value_of("f1", spans)) == (50.0, 75.0)


def test_numbers_and_forecasts() -> None:
    predicted, true = [1.0, 2.5, 3.0, 5.0], [1.5, 2.0, 4.0, 4.5]
    answers = [{"value": one, "predicted": other} for one, other in zip(true, predicted, strict=True)]
    assert value_of("mse", answers) == pytest.approx(squared_error(predicted, true))
    assert value_of("pearson", answers) == pytest.approx(pearson(predicted, true))
    windows = [{"forecast": [1.0, 2.0], "truth": [2.0, 4.0]}, {"forecast": [0.0, 0.0], "truth": [3.0, 0.0]}]
    assert value_of("mse", windows) == pytest.approx((1 + 4 + 9) / 4)
    assert value_of("mae", windows) == pytest.approx((1 + 2 + 3) / 4)


def test_what_no_answer_adds_to_is_not_tested() -> None:
    assert statistics_of("mase", {"row": [{"forecast": [1.0], "truth": [1.0]}]}, lowercase=False) == {}
    assert statistics_of("bleu", {"row": []}, lowercase=False) == {}


def test_f1_is_0_where_a_resample_has_no_entity() -> None:
    answers = [{"tags": ["B-x"], "predicted": ["B-x"]}] + [{"tags": ["O"], "predicted": ["O"]}] * 19
    score = statistics_of("f1", {"row": answers}, lowercase=False)["row"]
    assert score.scores(score.each_NS[1:].sum(0, keepdims=True)).tolist() == [0.0]
    assert bootstrap_interval(score, 100) == 50.0  # about a third of resamples lack the only entity


def valued(predicted: list[float], true: list[float]) -> list[dict[str, float]]:
    return [{"value": one, "predicted": other} for one, other in zip(true, predicted, strict=True)]


@pytest.mark.parametrize("constant", [0.1, 1 / 3, 7.3, 1e8 + 0.1])
def test_constant_predictions_have_no_correlation(constant: float) -> None:
    true = np.random.default_rng(1).normal(size=50).tolist()
    answers = valued([constant] * 50, true)
    score = statistics_of("pearson", {"row": answers}, lowercase=False)["row"]
    assert score.value == 0.0
    assert bootstrap_interval(score, 100) == 0.0
    assert pearson([constant] * 50, true) == 0.0


def test_a_correlation_of_large_values_that_differ_little_keeps_its_digits() -> None:
    rng = np.random.default_rng(2)
    true = rng.normal(size=50)
    rows = [true + rng.normal(size=50), true + 0.1 * rng.normal(size=50)]
    near, far = (
        statistics_of(
            "pearson",
            {str(n): valued((each + by).tolist(), (true + by).tolist()) for n, each in enumerate(rows)},
            lowercase=False,
        )
        for by in (0.0, 1e8)
    )
    for n, each in enumerate(rows):
        assert far[str(n)].value == pytest.approx(100 * np.corrcoef(each, true)[0, 1], rel=1e-6)
    tested = [randomisation_p(scores["0"], scores["1"], 100) for scores in (near, far)]
    assert tested[0] == tested[1]


def found_table(best: list[bool]) -> dict[str, Any]:
    rows = [
        {
            "name": f"row {number}",
            "members": [],
            "trained": True,
            "parameters": 7,
            "scores": {
                "bleu": {
                    "mean": 30.0 + number,
                    "deviation": None,
                    "interval": 1.0,
                    "p": 0.2 if number else None,
                    "test": "approximate randomisation",
                    "best": each,
                },
                "chrf": {"mean": 50.0 + number, "deviation": None},
            },
            "training": {},
            "cost": {},
        }
        for number, each in enumerate(best)
    ]
    plain = {"name": "x", "description": "", "part": "test", "examples": 50, "threads": 1, "decoding": None}
    plain |= {"shown": ["bleu", "chrf"], "lower_is_better": [], "baseline": "row 0", "seeds": [1], "budget": None}
    return {**plain, "rows": rows, "resamples": 100, "signatures": {}, "failures": {}, "watts_per_core": 10.0}


def test_only_what_was_tested_is_bold() -> None:
    found = found_table([False, False, True])
    text = markdown(found, tabled(found))
    assert text.count("**") == 2
    assert "**32.00**" in text
    assert "52.00" in text  # the best chrF, of which nobody knows whether it is
    assert "p: two-sided, against 'row 0', by approximate randomisation, corrected for 2 rows (Holm 1979)." in text
    assert "Bold: the best row" in text


def test_whatever_has_bold_letters_shows_its_interval_and_its_p() -> None:
    found = found_table([True, False])
    assert tabled(found).titles[1:5] == ["BLEU ↑", "95 %", "p", "chrF ↑"]
    for row, p in zip(found["rows"], (None, 0.003), strict=True):
        row["scores"]["chrf"] |= {"interval": 0.7, "test": "another test", "p": p, "best": p is None}
    table = tabled(found)
    assert table.titles[1:7] == ["BLEU ↑", "95 %", "p", "chrF ↑", "chrF 95 %", "chrF p"]
    assert [cell.text for cell in table.rows[1][5:7]] == ["±0.70", "0.003"]
    (test,) = (note for note in table.notes if note.startswith("p: "))
    assert "(BLEU) and by another test (chrF)" in test


@pytest.mark.parametrize(("p", "told"), [(0.0004, "<0.001"), (0.0005, "0.001"), (0.0432, "0.043"), (1.0, "1.000")])
def test_no_p_is_told_to_be_nothing(p: float, told: str) -> None:
    assert told_p(p) == told


def test_nothing_is_bold_where_no_row_can_be_told_apart() -> None:
    found = found_table([False, False])
    text = markdown(found, tabled(found))
    assert "**" not in text
    assert "Bold" not in text


def test_an_interval_of_a_macro_f1_is_finite_though_a_resample_may_lack_a_label() -> None:
    answers = [{"label": "a", "predicted": "a"}] * 5 + [{"label": "b", "predicted": "a"}]
    score = statistics_of("macro_f1", {"row": answers}, lowercase=False)["row"]
    assert np.isfinite(score.scores(np.array([score.each_NS[:5].sum(0)]))).all()


def test_the_published_ladder_is_what_the_table_is_made_to_today() -> None:
    results = Path(__file__).resolve().parents[3] / "results"
    found = json.loads((results / "ladder.json").read_text(encoding="utf-8"))
    assert (results / "ladder.md").read_text(encoding="utf-8") == markdown(found, tabled(found))
