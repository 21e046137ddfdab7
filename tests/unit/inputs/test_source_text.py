"""Sides of pairs that are cut into tokens in different ways."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from seqwright.data.examples import Pair
from seqwright.errors import DataError, SettingError
from seqwright.inputs import Given
from seqwright.inputs.source_text import SourceTextInput, SourceTextSettings
from seqwright.outputs.text import TextOutput
from seqwright.tasks.wired import Wires
from tests.small_texts import wires_of

PAIRS = [("hello", "HH AH L OW"), ("low", "L OW")]


def test_letters_on_one_side_and_words_on_the_other() -> None:
    wires = wires_of(PAIRS, output={"tokenizer": "whitespace"}, tokenizer="characters", shared=False, lowercase=True)
    source, target = wires.tokenizer, wires.output.tokenizer
    assert source.pieces(source.encode(["HELLO"])[0].tolist()) == list("hello")
    sounds = target.encode(["HH AH L OW"])[0].tolist()
    assert len(sounds) == 4
    assert target.decode(sounds) == "hh ah l ow"


def test_what_is_written_has_a_vocabulary_of_its_own_only_where_none_is_shared() -> None:
    with pytest.raises(SettingError, match=r"output.tokenizer is set, but .* share a vocabulary.*input.shared=false"):
        wires_of(PAIRS, output={"tokenizer": "whitespace"}, tokenizer="characters")
    with pytest.raises(SettingError, match=r"output.lowercase is set"):
        wires_of(PAIRS, output={"lowercase": False})
    assert wires_of(PAIRS, output={"scores": "rouge"}, tokenizer="words").output.shared


def test_what_is_left_out_is_as_the_input_has_it() -> None:
    wires = wires_of(PAIRS, output={"min_frequency": 2}, tokenizer="words", shared=False, lowercase=True)
    assert wires.output.tokenizer.kind == "words"
    assert wires.output.lowercase
    assert wires.output.tokenizer.decode(wires.output.tokenizer.encode(["hh l ow"])[0].tolist()) != "hh l ow"
    large = wires_of(PAIRS, output={"lowercase": False}, tokenizer="words", shared=False, lowercase=True).output
    assert large.tokenizer.decode(large.tokenizer.encode(["L OW"])[0].tolist()) == "L OW"
    assert not large.lowercase


def test_only_bpe_drops_merges_on_either_side() -> None:
    with pytest.raises(ValidationError, match=r"bpe_dropout is 0.1, but the tokenizer is words"):
        SourceTextSettings.model_validate({"tokenizer": "words", "bpe_dropout": 0.1})
    with pytest.raises(SettingError, match=r"input.bpe_dropout is 0.1, but output.tokenizer is words"):
        wires_of(PAIRS, output={"tokenizer": "words"}, shared=False, bpe_dropout=0.1)


@pytest.mark.parametrize("shared", [True, False])
def test_both_sides_come_back_from_a_folder(tmp_path: Path, shared: bool) -> None:
    wires = wires_of(PAIRS, output={"scores": "rouge"}, tokenizer="words", shared=shared, longest=7)
    wires.save(tmp_path)
    assert (tmp_path / "output" / "tokenizer.json").exists() is not shared
    read = SourceTextInput.load(tmp_path / "input")
    output = TextOutput.load(tmp_path / "output", read)
    assert (read.fingerprint(), read.longest) == (wires.input.fingerprint(), 7)
    assert output.tokenizer.fingerprint() == wires.output.tokenizer.fingerprint()
    assert (output.shared, output.scoring, output.longest) == (shared, "rouge", 7)
    assert Wires(read, output).sizes() == wires.sizes()


EXAMPLES = [
    Pair("a b", "c"),
    Pair("", "blank on the left"),
    Pair("blank", " \t"),
    Pair("a b c d", "x"),
    Pair("y", "e d c b a"),
    Pair("a b c", "a b c"),
]


def learning(**settings: Any) -> Any:
    """The batches of some examples, of which the longest that are allowed have three tokens."""
    wires = wires_of([pair[:2] for pair in EXAMPLES], tokenizer="words", longest=3, **settings)
    return wires.training_batches(EXAMPLES, tokens=100)


def learnt_from(**settings: Any) -> list[int]:
    return sorted(number for batch in learning(**settings).once() for number in batch.example_B.tolist())


def test_blank_and_overlong_pairs_are_left_out() -> None:
    assert learnt_from() == [0, 5]


def test_overlong_pairs_can_be_cut_on_either_side() -> None:
    assert learnt_from(overlong="truncate") == [0, 3, 4, 5]
    (batch,) = learning(overlong="truncate").once()
    assert batch.source_real_BS.sum(1).max() == batch.real_BT.sum(1).max() == 4  # the end is one too


def test_overlong_pairs_can_be_refused() -> None:
    with pytest.raises(DataError, match=r"example 4 has 4 tokens on a side, more than input.longest = 3; raise it"):
        learning(overlong="refuse")


def test_what_is_left_out_is_counted() -> None:
    wires, examples = wires_of([pair[:2] for pair in EXAMPLES], tokenizer="words", longest=3), Given(EXAMPLES)
    rows = wires.input.encode(examples)
    assert wires.input.part_sentence(examples, rows) == ("5 pairs", "; left out: 1 with nothing to read")
    assert wires.output.part_sentence(examples, rows) == "(not in the loss: 1 with a blank target, 2 too long)"


def test_an_overlong_source_is_read_whole_when_it_is_asked() -> None:
    wires, examples = wires_of([pair[:2] for pair in EXAMPLES], tokenizer="words", longest=3), Given(EXAMPLES)
    (batch,) = wires.output.batches(wires.input.encode(examples), None, wires.input, tokens=100).once()
    assert batch.source_real_BS.sum(1).max() == 5


def test_examples_without_any_target_are_refused() -> None:
    wires, examples = wires_of([pair[:2] for pair in EXAMPLES], tokenizer="words"), Given([Pair("a", " ")])
    with pytest.raises(DataError, match="has no example with both something to read and a text"):
        wires.output.encode(examples, wires.input.encode(examples))
