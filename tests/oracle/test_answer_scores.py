"""Exact match and F1 against SQuAD: the published answers of a BERT ensemble, and the official script in its own words.

The scripts of SQuAD 1.1 and 2.0 are written down here from their description, in the order in which they work, and
share nothing with ours.
"""

import gzip
import json
import random
import re
import string
from collections import Counter
from pathlib import Path

import pytest

from seqwright.data.questions import QuestionFiles, QuestionFilesSettings
from seqwright.metrics.answers import answer_scores, best_threshold


def normalize_answer(s: str) -> str:
    s = s.lower()
    s = "".join(ch for ch in s if ch not in set(string.punctuation))
    s = re.sub(r"\b(a|an|the)\b", " ", s)
    return " ".join(s.split())


def official(predictions: dict[str, str], dataset: list[tuple[str, list[str]]]) -> tuple[float, float]:
    """`exact` and `f1` of evaluate-v2.0."""
    exact_total = f1_total = 0.0
    for name, texts in dataset:
        golds = [text for text in texts if normalize_answer(text)]
        golds = golds or [""]
        exacts, f1s = [], []
        for gold in golds:
            prediction = predictions[name]
            exacts.append(int(normalize_answer(gold) == normalize_answer(prediction)))
            gold_tokens, said_tokens = normalize_answer(gold).split(), normalize_answer(prediction).split()
            same = sum((Counter(gold_tokens) & Counter(said_tokens)).values())
            if not gold_tokens or not said_tokens:
                f1s.append(float(gold_tokens == said_tokens))
            elif same == 0:
                f1s.append(0.0)
            else:
                precision, recall = same / len(said_tokens), same / len(gold_tokens)
                f1s.append(2 * precision * recall / (precision + recall))
        exact_total += max(exacts)
        f1_total += max(f1s)
    return 100 * exact_total / len(dataset), 100 * f1_total / len(dataset)


def test_the_published_predictions_have_the_published_scores(shared_data: Path) -> None:
    folder = shared_data / "squad"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there; it holds SQuAD and the published answers of a BERT ensemble")
    with gzip.open(folder / "predictions-bert-ensemble.json.gz", "rt", encoding="utf-8") as file:
        said = json.load(file)
    data = QuestionFiles(QuestionFilesSettings(train=str(folder / "dev-v1.1.json.gz"), valid="1%"))
    questions = [question for part in data.parts() for question in data.questions(part)]
    assert len(questions) == 10570
    scores = answer_scores([said[each.name] for each in questions], [each.texts for each in questions])
    assert {name: round(score, 1) for name, score in scores.items()} == {"exact": 86.2, "f1": 92.2}


WORDS = ["the", "a", "An", "Norman", "norman", "dukes", "Rollo", "of", "1066", "—", "the,", "Duke's", "(911)", "."]


@pytest.mark.parametrize("seed", range(4))
def test_the_official_script_counts_the_same(seed: int) -> None:
    draw = random.Random(seed)

    def some() -> str:
        return " ".join(draw.choices(WORDS, k=draw.randrange(4)))

    right = [[some() for _ in range(draw.randrange(4))] for _ in range(300)]
    said = [draw.choice([*texts, some(), ""]) for texts in right]
    named = [str(number) for number in range(300)]
    wanted = official(dict(zip(named, said, strict=True)), list(zip(named, right, strict=True)))
    scores = answer_scores(said, right)
    assert (scores["exact"], scores["f1"]) == pytest.approx(wanted)
    assert 0 < scores["has_answer_f1"] < 100
    assert 0 < scores["no_answer_exact"] < 100


@pytest.mark.parametrize("seed", range(3))
def test_the_best_threshold_is_the_best_of_all(seed: int) -> None:
    draw = random.Random(seed)
    right = [[draw.choice(["x y", "z"])] if draw.random() < 0.6 else [] for _ in range(60)]
    said = [draw.choice(["x", "z", "x y"]) for _ in right]
    margin = [draw.gauss(1 if texts else -1, 2) for texts in right]

    def f1(threshold: float) -> float:
        given = [text if above > threshold else "" for text, above in zip(said, margin, strict=True)]
        return answer_scores(given, right)["f1"]

    found = best_threshold(said, margin, right)
    assert f1(found.margin) == pytest.approx(found.f1)
    assert found.f1 == pytest.approx(max(f1(threshold) for threshold in [*margin, min(margin) - 1]))
