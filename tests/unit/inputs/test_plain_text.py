"""The inputs of a language model: one tokenizer that gives running text back to the last tab."""

import inspect
import json
from pathlib import Path

import pytest

from seqwright.errors import RunError
from seqwright.inputs.plain_text import PlainText, PlainTextSettings
from seqwright.inputs.tokenizers import Kind

LAYOUT = "\n\ndef f(x):\n\tif x:  # two  spaces\n        return '\\n'   \n\r\n    \tpass\n\n\n"
SOURCE = inspect.getsource(json.decoder) + LAYOUT
KINDS: tuple[Kind, ...] = ("characters", "words", "bpe", "unigram", "wordpiece")


@pytest.fixture(scope="module", params=KINDS)
def inputs(request: pytest.FixtureRequest) -> PlainText:
    return PlainText.learnt([SOURCE], PlainTextSettings(tokenizer=request.param, vocabulary=2000))


def test_source_code_survives(inputs: PlainText) -> None:
    for text in (SOURCE, LAYOUT, " ", "\n", "\t\t", "  x", "x  "):
        (ids,) = inputs.tokenizer.encode([text])
        assert inputs.tokenizer.decode(ids.tolist()) == text


def test_a_run_of_spaces_is_not_a_token_for_each() -> None:
    inputs = PlainText.learnt([SOURCE], PlainTextSettings(tokenizer="bpe", vocabulary=2000))
    (ids,) = inputs.tokenizer.encode(["\n" + " " * 12 + "return"])
    assert len(ids) <= 5


def test_inputs_are_read_as_they_were_written(inputs: PlainText, tmp_path: Path) -> None:
    inputs.save(tmp_path)
    assert [path.name for path in (tmp_path / "input").iterdir()] == ["tokenizer.json"]
    again = PlainText.load(tmp_path)
    assert again.fingerprint() == inputs.fingerprint()
    assert again.tokenizer.encode([SOURCE])[0].tolist() == inputs.tokenizer.encode([SOURCE])[0].tolist()


def test_a_model_is_built_with_the_size_of_the_vocabulary() -> None:
    inputs = PlainText.learnt(["abcab"], PlainTextSettings(tokenizer="characters"))
    assert inputs.sizes() == {"vocabulary": 4 + 1 + 3}  # reserved tokens, the space, a b c


def test_other_text_gives_another_fingerprint() -> None:
    one, other = (PlainText.learnt([text], PlainTextSettings(tokenizer="characters")) for text in ("abc", "abd"))
    assert one.fingerprint() != other.fingerprint()


def test_begin_and_end_are_no_text() -> None:
    inputs = PlainText.learnt(["abc"], PlainTextSettings(tokenizer="characters"))
    assert inputs.begin != inputs.end
    assert inputs.tokenizer.decode([inputs.begin, inputs.end]) == ""


def test_a_missing_tokenizer_is_a_damaged_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"tokenizer\.json is missing"):
        PlainText.load(tmp_path)
