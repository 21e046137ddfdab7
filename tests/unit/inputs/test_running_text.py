"""The inputs of a language model: one tokenizer that gives running text back to the last tab."""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs import Given, Room
from seqwright.inputs.running_text import RunningTextInput, RunningTextSettings
from seqwright.inputs.tokenizers import Kind
from seqwright.models.rnn_lm import RecurrentLMSettings
from tests.wires import running_wires

LAYOUT = "\n\ndef f(x):\n\tif x:  # two  spaces\n        return '\\n'   \n\r\n    \tpass\n\n\n"
SOURCE = inspect.getsource(json.decoder) + LAYOUT
KINDS: tuple[Kind, ...] = ("characters", "words", "bpe", "unigram", "wordpiece")


def learnt(text: str, **settings: Any) -> RunningTextInput:
    found: RunningTextInput = running_wires([text], **settings).input
    return found


@pytest.fixture(scope="module", params=KINDS)
def inputs(request: pytest.FixtureRequest) -> RunningTextInput:
    return learnt(SOURCE, tokenizer=request.param, vocabulary=2000)


def test_source_code_survives(inputs: RunningTextInput) -> None:
    for text in (SOURCE, LAYOUT, " ", "\n", "\t\t", "  x", "x  "):
        (ids,) = inputs.tokenizer.encode([text])
        assert inputs.tokenizer.decode(ids.tolist()) == text


def test_a_run_of_spaces_is_not_a_token_for_each() -> None:
    inputs = learnt(SOURCE, tokenizer="bpe", vocabulary=2000)
    (ids,) = inputs.tokenizer.encode(["\n" + " " * 12 + "return"])
    assert len(ids) <= 5


def test_inputs_are_read_as_they_were_written(inputs: RunningTextInput, tmp_path: Path) -> None:
    inputs.save(tmp_path / "input")
    assert {path.name for path in (tmp_path / "input").iterdir()} == {"tokenizer.json", "reading.json"}
    again = RunningTextInput.load(tmp_path / "input")
    assert again.fingerprint() == inputs.fingerprint()
    assert again.tokenizer.encode([SOURCE])[0].tolist() == inputs.tokenizer.encode([SOURCE])[0].tolist()


def test_a_model_is_built_with_the_size_of_the_vocabulary() -> None:
    inputs = learnt("abcab")
    assert inputs.sizes() == {"vocabulary": 4 + 1 + 3}  # reserved tokens, the space, a b c


def test_other_text_gives_another_fingerprint() -> None:
    one, other = (learnt(text) for text in ("abc", "abd"))
    assert one.fingerprint() != other.fingerprint()


def test_begin_and_end_are_no_text() -> None:
    inputs = learnt("abc")
    assert inputs.tokenizer.begin != inputs.tokenizer.end
    assert inputs.tokenizer.decode([inputs.tokenizer.begin, inputs.tokenizer.end]) == ""


def test_a_missing_tokenizer_is_a_damaged_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"tokenizer\.json is missing"):
        RunningTextInput.load(tmp_path)


@pytest.mark.parametrize(
    ("rows", "context", "resolved"),
    [
        (None, None, "stream"),
        (None, 64, "windows"),
        ("stream", None, "stream"),
        ("stream", 64, "windows"),
        ("windows", None, "windows"),
        ("documents", 64, "documents"),
        ("packed", 64, "packed"),
    ],
)
def test_what_a_row_is_and_what_begins_it_is_decided_once_and_saved(
    rows: str | None, context: int | None, resolved: str, tmp_path: Path
) -> None:
    inputs = running_wires(["abc"], context, rows=rows, longest=63).input
    inputs.save(tmp_path)
    again = RunningTextInput.load(tmp_path)
    joins = resolved in {"stream", "windows"}
    assert (again.rows, again.joins, again.context) == (resolved, joins, context)
    assert again.first == (again.tokenizer.end if joins else again.tokenizer.begin)
    assert again.fingerprint() == inputs.fingerprint()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"segment": 65}, "input.segment is 65, but the model reads at most model.context = 64 tokens at once"),
        ({"rows": "packed", "segment": 65, "longest": 9}, "input.segment is 65"),
        ({"rows": "documents", "longest": 64}, "input.longest is 64 and one token begins each document"),
    ],
)
def test_rows_longer_than_the_model_reads_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        running_wires(["abc"], 64, **settings)


def test_packed_documents_are_refused_where_one_would_read_another() -> None:
    settings = RunningTextSettings(rows="packed")
    with pytest.raises(SettingError, match=r"set input\.rows=documents"):
        RunningTextInput.learn(Given(["abc"]), settings, room=Room(model=RecurrentLMSettings()))


def test_what_a_user_types_is_read_whole_and_told_where_it_is_long() -> None:
    apart, joined = running_wires(["abc"], rows="documents", longest=5).input, running_wires(["abc"]).input
    short, long = "abc", "abcabcab"
    assert apart.encode(Given([short, long, ""])).lengths(None)[:, 0].tolist() == [3, 8, 0]
    assert apart.remarks(Given([short, long])) == ["texts of more tokens than the 5 that the model learnt from: 1"]
    assert joined.remarks(Given([short, long])) == []
    gpt = running_wires(["abc"], 8, segment=8).input
    assert "the model's context of 8, read in windows that overlap by half: 1" in gpt.remarks(Given([short, long]))[0]
    assert "'Z'" in joined.remarks(Given(["Zab"]))[0]


def test_only_a_text_is_running_text() -> None:
    with pytest.raises(DataError, match="expected a text"):
        learnt("abc").parse(7)
