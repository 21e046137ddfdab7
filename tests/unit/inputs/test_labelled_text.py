"""The inputs of a classifier: they travel with the run, and come back as they were."""

import json
from pathlib import Path

import pytest
from seqwright.inputs.labelled_text import LabelledText, LabelledTextSettings

from seqwright.batches import Place
from seqwright.errors import DataError, RunError

EXAMPLES = [("a fine film", "good"), ("a bore", "bad"), ("fine , fine", "good"), ("a film a film a film", "so-so")]


def inputs(**settings: object) -> LabelledText:
    counts = {"bad": 1, "good": 2, "so-so": 1}
    chosen = LabelledTextSettings.model_validate({"kind": "words", **settings})
    return LabelledText.learnt((text for text, _ in EXAMPLES), counts, chosen)


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    before = inputs(longest=4, left_out="end")
    before.save(tmp_path)
    after = LabelledText.load(tmp_path)
    assert after.labels == before.labels == ("bad", "good", "so-so")
    assert (after.counts, after.longest, after.left_out) == (before.counts, 4, "end")
    assert after.fingerprint() == before.fingerprint()
    texts = [text for text, _ in EXAMPLES]
    assert [row.tolist() for row in after.encode(texts)] == [row.tolist() for row in before.encode(texts)]


def test_sizes_are_those_of_vocabulary_and_labels() -> None:
    assert inputs().sizes() == {"vocabulary": inputs().tokenizer.size, "classes": 3}


def test_the_most_and_the_least_frequent_label() -> None:
    assert (inputs().majority, inputs().rarest) == ("good", "bad")


def test_long_texts_are_shortened() -> None:
    whole, short = inputs().encode([EXAMPLES[3][0]])[0], inputs(longest=4).encode([EXAMPLES[3][0]])[0]
    assert short.tolist() == [*whole[:2], *whole[-2:]]


def test_batches_of_examples_have_the_numbers_of_their_labels() -> None:
    found = inputs().batches(EXAMPLES, tokens=1000)
    assert found.at(Place()).target_B.sort().values.tolist() == [0, 1, 1, 2]
    with pytest.raises(DataError, match=r"no label 'god'.*Did you mean 'good'"):
        inputs().batches([("x", "god")], tokens=1000)


def test_missing_or_damaged_labels_are_refused(tmp_path: Path) -> None:
    inputs().save(tmp_path)
    (tmp_path / "labels.json").write_text(json.dumps({"labels": ["bad", "good"]}))
    with pytest.raises(RunError, match=r"labels.json cannot be read as labels"):
        LabelledText.load(tmp_path)
    (tmp_path / "labels.json").unlink()
    with pytest.raises(RunError, match=r"labels.json is missing"):
        LabelledText.load(tmp_path)
