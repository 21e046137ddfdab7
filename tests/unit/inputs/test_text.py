"""Texts as rows of tokens: they travel with the run, and come back as they were."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqwright.data.labelled_tables import Example
from seqwright.errors import DataError, RunError
from seqwright.inputs import Given, Room
from seqwright.inputs.text import TextInput, TextSettings
from tests.wires import text_input

TEXTS = ["a fine film", "a bore", "fine , fine", "a film a film a film"]


def rows(input: TextInput, *examples: Example) -> list[list[int]]:
    found = input.encode(Given(examples))
    return [row.tolist() for row in found.take(np.arange(len(found.example_N)), None)]


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    before = text_input(TEXTS, longest=4, truncation="end", pairs=True, begins=True)
    before.save(tmp_path)
    after = TextInput.load(tmp_path)
    assert (after.longest, after.left_out, after.pairs, after.begins) == (4, "end", True, True)
    assert after.fingerprint() == before.fingerprint()
    pair = Example("a film", "", "a fine bore")
    assert rows(after, pair) == rows(before, pair) != []


@pytest.mark.parametrize("change", [{"longest": 5}, {"truncation": "end"}, {"begins": True}, {"pairs": True}])
def test_the_fingerprint_changes_with_what_is_read(change: dict[str, Any]) -> None:
    assert text_input(TEXTS, **change).fingerprint() != text_input(TEXTS).fingerprint()


def test_the_size_is_that_of_the_vocabulary() -> None:
    assert text_input(TEXTS).sizes() == {"vocabulary": text_input(TEXTS).tokenizer.size}


def test_long_texts_are_shortened() -> None:
    (whole,), (short,) = (rows(text_input(TEXTS, longest=n), Example(TEXTS[3], "")) for n in (512, 4))
    assert short == [*whole[:2], *whole[-2:]]


def test_blank_texts_have_no_row() -> None:
    found = text_input(TEXTS).encode(Given([Example("a", ""), Example(" ", ""), Example("film", "")]))
    assert found.example_N.tolist() == [0, 2]
    both = [Example("a", "", " "), Example("", "", "film"), Example("a", "", "film")]
    assert text_input(TEXTS, pairs=True).encode(Given(both)).example_N.tolist() == [2]


def test_a_tab_stands_between_two_texts() -> None:
    pairs = text_input(TEXTS, pairs=True)
    found = [pairs.parse(given) for given in ("a b\tc d", "", "e\tf\tg", {"text": "h", "text_pair": "i"})]
    texts = [("a b", "c d"), ("", ""), ("e", "f\tg"), ("h", "i")]
    assert [(example.text, example.text_pair) for example in found] == texts
    with pytest.raises(DataError, match=r"'lonely' is a single text, but the run learnt pairs.*--text-pair"):
        pairs.parse("lonely")
    assert text_input(TEXTS).parse("a\tb") == Example("a\tb", "")


@pytest.mark.parametrize("given", [{"texts": "a"}, {"text": "a", "text_pair": "b"}, {"text_pair": "b"}, 3])
def test_what_is_no_text_is_refused(given: Any) -> None:
    with pytest.raises(DataError, match=r"expected (a text|\{\"text\": …\})"):
        text_input(TEXTS).parse(given)


@pytest.mark.parametrize(
    ("imported", "pairs", "sentence"),
    [
        (False, True, "the input has single texts, but the model reads pairs: give it a second text, in columns"),
        (False, False, "the input has pairs of texts, but the model reads single ones: name the text with data.text"),
        (True, True, "the file has single texts, but the model was imported for pairs: import it without --pairs"),
        (
            True,
            False,
            "the file has pairs of texts, but the model was imported for single ones: import it with",
        ),
    ],
)
def test_another_number_of_texts_is_refused(imported: bool, pairs: bool, sentence: str) -> None:
    tokenizer = text_input(TEXTS).tokenizer
    input = TextInput(tokenizer, 512, "middle", begins=False, pairs=pairs, imported=imported)
    with pytest.raises(DataError, match=sentence):
        input.encode(Given([Example("a", "", None if pairs else "b")]))


def test_without_any_text_nothing_is_learnt() -> None:
    with pytest.raises(DataError, match=r"no example of the input has a text: see whether data.text"):
        TextInput.learn(Given([Example(" ", "good")]), TextSettings(tokenizer="words"), room=Room())


def test_missing_or_damaged_files_are_refused(tmp_path: Path) -> None:
    text_input(TEXTS).save(tmp_path)
    (tmp_path / "reading.json").write_text(json.dumps({"longest": 4}))
    with pytest.raises(RunError, match=r"reading.json cannot be read as reading"):
        TextInput.load(tmp_path)
    (tmp_path / "reading.json").unlink()
    with pytest.raises(RunError, match=r"reading.json is missing"):
        TextInput.load(tmp_path)
