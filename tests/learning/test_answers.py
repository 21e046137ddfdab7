"""A BERT from nothing learns within seconds to find what is asked for, wherever it stands, and to say that it does not.

Each context has some of a city, a job and an animal among many letters; a question asks for one of the three. Contexts
are longer than what is read at once, so that the answer is in some windows and not in others.
"""

import json
from pathlib import Path
from random import Random
from typing import Any

from seqwright.kinds import task_of
from seqwright.recipe import recipe_from
from seqwright.runs import data_of, open_run, train

THINGS = {
    "city": ["from Lima", "from Oslo", "from Rome"],
    "job": ["as cook", "as judge"],
    "animal": ["a goat", "a cat"],
}


def write(path: Path, questions: int, seed: int) -> str:
    """A third of the questions have no answer."""
    draw = Random(seed)
    with path.open("w") as file:
        for _ in range(questions):
            asked, *others = draw.sample(list(THINGS), 3)
            told = [*others, asked] if draw.random() < 2 / 3 else others
            words = [*draw.choices("bcdefghij", k=20 - len(told)), *told]
            draw.shuffle(words)
            found = {thing: draw.choice(THINGS[thing]) for thing in told}
            context = " ".join(found.get(word, word) for word in words)
            answer = found.get(asked, "")
            file.write(json.dumps({"question": asked, "context": context, "answer": answer}) + "\n")
    return str(path)


def test_answers_are_found_in_windows_of_long_contexts(tmp_path: Path) -> None:
    data = {"train": write(tmp_path / "a.jsonl", 800, 1)}
    plain: dict[str, Any] = {
        "task": "question-answering",
        "data": {**data, "valid": write(tmp_path / "b.jsonl", 100, 2)},
        "input": {"tokenizer": "words", "longest": 20, "stride": 8, "longest_question": 2},
        "output": {"longest_answer": 3},
        "model": {"kind": "bert", "width": 64, "heads": 2, "context": 20, "dropout": 0.0, "head_dropout": 0.0},
        "training": {"steps": 200, "tokens": 1024, "rate": 0.002, "schedule": "linear", "warmup": 20, "device": "cpu"},
    }
    run = train(recipe_from(plain), tmp_path / "run")
    result = task_of("question-answering").evaluated(
        run.recipe, data_of(run.recipe), run.inputs, run.model, "valid", None
    )
    assert result.scores["exact"] >= 95
    assert result.scores["no_answer_exact"] >= 90
    assert result.scores["baseline_no_answer_f1"] < 45
    opened = open_run(tmp_path / "run", which="last")
    pairs = [("city", "b c d from Oslo e f"), ("animal", "b c d from Oslo e f"), ("job", "as cook " + "b c " * 40)]
    asked = [{"question": question, "context": context} for question, context in pairs]
    again, before = (each.inputs.predict(each.model, asked) for each in (opened, run))
    assert again == before  # to the bit
    assert [found.answer() for found in again] == ["from Oslo", "", "as cook"]
