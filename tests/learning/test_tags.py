"""A tagger in both directions learns within seconds what one from left to right cannot: the tag is in the next word."""

from pathlib import Path
from random import Random
from typing import Any

from seqwright.kinds import task_of
from seqwright.recipe import recipe_from
from seqwright.runs import Run, data_of, open_run, train

WORDS = ["a", "b", "c", "d", "e"]


def write(path: Path, sentences: int, seed: int) -> str:
    """A word is `even` or `odd` as the place of the one after it in the alphabet; the last one is `last`."""
    draw = Random(seed)
    with path.open("w") as file:
        for _ in range(sentences):
            numbers = [draw.randrange(5) for _ in range(draw.randrange(4, 9))]
            tags = [*("odd" if number % 2 else "even" for number in numbers[1:]), "last"]
            file.writelines(f"{WORDS[number]} {tag}\n" for number, tag in zip(numbers, tags, strict=True))
            file.write("\n")
    return str(path)


def trained(folder: Path, *, bidirectional: bool) -> Run:
    """A training that is enough for one of the two."""
    folder.mkdir()
    data = {"train": write(folder / "a", 400, 1), "valid": write(folder / "b", 100, 2)}
    model = {"kind": "gru", "width": 16, "embedding": 8, "dropout": 0.0, "embedding_dropout": 0.0, "word_dropout": 0.0}
    training = {"steps": 150, "tokens": 512, "rate": 0.02, "schedule": "cosine", "warmup": 10, "device": "cpu"}
    plain: dict[str, Any] = {"data": data, "input": {"tokenizer": "whitespace"}, "training": training}
    plain["task"] = "token-classification"
    return train(recipe_from({**plain, "model": {**model, "bidirectional": bidirectional}}), folder / "run")


def accuracy(run: Run) -> float:
    """Of new sentences."""
    data = data_of(run.recipe)
    found = task_of("token-classification").evaluated(run.recipe, data, run.inputs, run.model, "valid", None)
    return float(found.scores["accuracy"])


def test_what_comes_after_a_word_is_seen_in_both_directions_only(tmp_path: Path) -> None:
    both = trained(tmp_path / "both", bidirectional=True)
    assert accuracy(both) >= 99
    assert accuracy(trained(tmp_path / "one", bidirectional=False)) < 65
    opened = open_run(tmp_path / "both" / "run", which="last")
    sentences = [["a", "b", "c"], ["e"], ["d", "never seen", "a", "a"]]
    again, before = (run.inputs.predict(run.model, sentences) for run in (opened, both))
    assert again == before  # to the bit
