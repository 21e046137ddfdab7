"""What the units of a model did over a text, and which of them follow a rule: against NumPy and a planted unit."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from seqwright.analysis import units as looking_units
from seqwright.analysis.units import (
    HIDDEN,
    RULES,
    Activations,
    Layer,
    activations_of,
    correlations,
    followers,
    liveliest,
    marked,
    rule_of,
    unit_named,
)
from seqwright.data.tagged import TaggedSentence
from seqwright.errors import SettingError
from seqwright.inputs import Given, Room
from seqwright.inputs.words import WordsInput, WordsSettings
from seqwright.outputs.tags import TagsOutput
from seqwright.recipe import recipe_from
from seqwright.runs import Run, model_of
from seqwright.tasks.wired import Wires
from tests.wires import classifier_wires, running_wires

TEXT = 'a bad (cab) or "two" (a "dad") 7'


def read(run: Run, texts: Sequence[str], rule: re.Pattern[str] | None = None) -> Activations:
    return activations_of(run, texts, rule, notice=print)


def a_language_run(**model: Any) -> Run:
    """A model of characters that has learnt nothing."""
    plain = {
        "task": "language-modeling",
        "data": {"train": "none.txt"},
        "input": {"tokenizer": "characters"},
        "model": {"kind": "lstm", "width": 7, "layers": 2, **model},
    }
    recipe = recipe_from(plain, name="letters")
    inputs = running_wires([TEXT])
    return Run(Path("runs/letters"), recipe, inputs, model_of(recipe, inputs.sizes()).eval(), 0)


def a_classifier(longest: int = 50) -> Run:
    plain = {
        "task": "text-classification",
        "data": {"train": "none.tsv"},
        "input": {"tokenizer": "words", "longest": longest},
        "model": {"kind": "gru", "width": 5, "embedding": 3, "bidirectional": True},
    }
    recipe = recipe_from(plain, name="reviews")
    inputs = classifier_wires(["a fine film or a dull one"], {"good": 1, "bad": 1}, longest=longest)
    return Run(Path("runs/reviews"), recipe, inputs, model_of(recipe, inputs.sizes()).eval(), 0)


def a_tagger() -> Run:
    plain = {
        "task": "token-classification",
        "data": {"train": "none.conll"},
        "input": {"tokenizer": "words"},
        "model": {"kind": "gru", "width": 5, "embedding": 3, "bidirectional": True},
    }
    recipe = recipe_from(plain, name="names")
    sentence = TaggedSentence(("anna", "lives", "in", "rome"), ("B-NAME", "O", "O", "B-NAME"))
    read = WordsInput.learn(Given([sentence]), WordsSettings(tokenizer="words"), room=Room())
    inputs = Wires(read, TagsOutput.learn(Given([sentence]), None, read))
    return Run(Path("runs/names"), recipe, inputs, model_of(recipe, inputs.sizes()).eval(), 0)


# ------------------------------------------------------------------------------------------------ reading


@pytest.mark.parametrize("at_once", [1024, 5])
def test_a_reading_is_what_the_model_does_step_by_step(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking_units, "AT_ONCE", at_once)
    run = a_language_run()
    reading = read(run, [TEXT])
    assert "".join(reading.pieces) == TEXT
    model: Any = run.model
    tokenizer = run.inputs.tokenizer
    ids = [tokenizer.end, *tokenizer.encode([TEXT])[0].tolist()]  # texts are joined: an end stands before
    state = model.body.recurrent.start(1)
    for place, token in enumerate(ids):
        with torch.no_grad():
            _, state = model.step(torch.tensor([token]), state)
        for layer, (after,) in zip(reading.layers, state, strict=True):
            if place:
                assert_allclose(layer.values[HIDDEN][place - 1], after.hidden_BD[0], atol=1e-6)
                assert_allclose(layer.values["memory"][place - 1], after.memory_BD[0].tanh(), atol=1e-6)
    assert [layer.name for layer in reading.layers] == ["1", "2"]
    assert list(reading.layers[0].values) == [HIDDEN, "memory", "input gate", "forget gate", "output gate"]
    (surprise,) = run.inputs.predict(model, [TEXT], method="surprises")
    assert_allclose(reading.bits, surprise.bits[:-1], atol=1e-5)


def test_a_classifier_is_read_in_both_directions() -> None:
    run = a_classifier()
    reading = read(run, ["a dull film"])
    assert reading.pieces == ["a", " dull", " film"]
    assert [layer.name for layer in reading.layers] == ["1", "1b"]
    assert [layer.spoken for layer in reading.layers] == ["layer 1", "layer 1 backwards"]
    assert reading.bits == []
    longer = read(run, ["a dull film or"])
    forwards, backwards = (
        np.abs(longer.layers[way].values[HIDDEN][:3] - reading.layers[way].values[HIDDEN]).max(axis=1) for way in (0, 1)
    )
    assert (forwards < 1e-6).all(), "what follows is not known on the way there"
    assert (backwards > 1e-3).all(), "and on the way back it is"


def test_a_tagger_is_read_as_it_tags() -> None:
    run = a_tagger()
    reading = read(run, ["anna lives in rome"])
    assert reading.pieces == ["anna", " lives", " in", " rome"]
    model: Any = run.model
    (ids,) = run.inputs.tokenizer.encode(["anna lives in rome"])
    tokens_BT = torch.from_numpy(np.append(ids, run.inputs.tokenizer.end).astype(np.int64)).unsqueeze(0)
    with torch.no_grad():
        h_BTD = model.body.hidden(tokens_BT, torch.ones_like(tokens_BT, dtype=torch.bool))
    both_TD = np.concatenate([layer.values[HIDDEN] for layer in reading.layers], axis=1)
    assert_allclose(both_TD, h_BTD[0, :-1], atol=1e-6)


def test_what_a_classifier_leaves_out_is_left_out_of_the_picture() -> None:
    assert read(a_classifier(longest=3), ["a fine film or a dull one"]).pieces == ["a", " fine", " one"]


def test_several_texts_stand_below_one_another_and_start_anew(capsys: pytest.CaptureFixture[str]) -> None:
    run = a_language_run(kind="rnn")
    alone, both = read(run, ["cab"]), read(run, ["a bad dad", "cab"], re.compile("a"))
    assert both.pieces == [*"a bad da", "d\n", *"ca", "b\n"]
    assert_allclose(both.layers[1].values[HIDDEN][-3:], alone.layers[1].values[HIDDEN], atol=1e-6)
    assert both.on_T.tolist() == [1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0]
    assert capsys.readouterr().out == ""


def test_no_more_is_read_than_fits(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(looking_units, "MOST_TOKENS", 5)
    reading = read(a_language_run(), ["cab", "a bad dad", "cab"])
    assert "".join(reading.pieces) == "cab\na \n"
    assert "the first 5 tokens are read, no more" in capsys.readouterr().out


# ------------------------------------------------------------------------------------------------ rules


def test_correlations_are_those_of_numpy() -> None:
    numbers = np.random.default_rng(1)
    value_TD, on_T = numbers.normal(size=(23, 5)), numbers.random(23)
    value_TD[:, 2] = -3 * on_T + 1
    value_TD[:, 4] = 0.7  # never changes
    r_D = correlations(value_TD, on_T)
    wanted = [np.corrcoef(value_TD[:, unit], on_T)[0, 1] for unit in range(4)]
    assert_allclose(r_D[:4], wanted, atol=1e-12)
    assert r_D[2] == pytest.approx(-1)
    assert r_D[4] == pytest.approx(0, abs=1e-12)
    assert correlations(np.zeros((3, 1)), np.array([0.0, 1, 1])).tolist() == [0]


def test_the_unit_that_really_is_the_rule_is_found() -> None:
    """Unit 3 holds itself: an opening bracket switches it on, a closing one off, all else leaves it."""
    run = a_language_run(kind="rnn", layers=1)
    model: Any = run.model
    opens, closes = (int(run.inputs.tokenizer.encode([mark])[0][0]) for mark in "()")
    weights = model.body.recurrent.stack()[0].directions()[0].weights
    with torch.no_grad():
        model.body.embedding.weight[:, 0] = 0
        model.body.embedding.weight[opens, 0], model.body.embedding.weight[closes, 0] = 1, -1
        weights.input_GE[2], weights.hidden_GD[2], weights.bias_G[2] = 0, 0, -1
        weights.input_GE[2, 0], weights.hidden_GD[2, 2] = 10, 4
    reading = read(run, [TEXT], rule_of("brackets"))
    (best, correlation), (_, second) = followers(reading)[:2]
    assert str(best) == "1:3"
    assert correlation > 0.99
    assert abs(second) < 0.9
    assert unit_named(reading, "3").value_T[reading.on_T == 1].min() > 0.9
    assert correlation == pytest.approx(np.corrcoef(best.value_T, reading.on_T)[0, 1])


def test_a_unit_that_goes_against_the_rule_follows_it_too() -> None:
    on_T = np.array([0.0, 1, 1, 0, 1])
    against = Layer("1", {HIDDEN: np.stack([np.arange(5.0), -on_T], axis=1), "forget gate": on_T[:, None]})
    found = followers(Activations(list("abcde"), on_T, [against], []))
    assert next((str(unit), round(r, 6)) for unit, r in found) == ("1:2", -1.0)
    assert len(found) == 2, "gates are not asked"


@pytest.mark.parametrize(
    ("rule", "on"),
    [
        ("quotes", '               "two    "dad   '),
        ("brackets", '      (cab        (a "dad"   '),
        ("digits", "                              7"),
        ("a", "a  a    a             a   a"),
        (r"\((\w)", "       c              a"),
    ],
)
def test_a_rule_marks_its_matches_or_only_their_groups(rule: str, on: str) -> None:
    found = marked(rule_of(rule), TEXT)
    shown = "".join(letter if mark else " " for letter, mark in zip(TEXT, found, strict=True))
    assert shown.split() == on.split()
    assert set(found) == {0.0, 1.0}


def test_a_token_is_on_as_far_as_its_letters_are() -> None:
    run = a_classifier()
    assert read(run, ["a fine film"], re.compile("in")).on_T.tolist() == [0, pytest.approx(2 / 5), 0]


def test_what_is_no_rule_is_refused() -> None:
    with pytest.raises(
        SettingError, match=r"--rule is '\(', which is no regular expression .*quotes, brackets, digits"
    ):
        rule_of("(")
    assert all(re.compile(rule) for rule in RULES.values())


# ------------------------------------------------------------------------------------------------ names


def test_units_are_named_by_what_they_are_their_layer_and_their_number() -> None:
    reading = read(a_language_run(), ["cab"])
    for name, view, layer in (("2:7", HIDDEN, 1), ("memory:1:3", "memory", 0), ("forget-gate:2:1", "forget gate", 1)):
        unit = unit_named(reading, name)
        assert str(unit) == name
        number = int(name.rsplit(":", 1)[1])
        assert_allclose(unit.value_T, reading.layers[layer].values[view][:, number - 1])


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("3", "there are the layers 1, 2; say which, as in 1:3"),
        ("3:1", r"there is no unit '3:1'; units are numbered from 1:1, memory:1:1"),
        ("mermory:1:1", "there is no unit 'mermory:1:1'"),
        ("1:8", "layer 1 has the units 1 to 7"),
        ("1:0", "layer 1 has the units 1 to 7"),
        ("1:x", "layer 1 has the units 1 to 7"),
    ],
)
def test_a_unit_that_is_not_there_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        unit_named(read(a_language_run(), ["cab"]), name)


def test_the_liveliest_units_are_those_that_vary_most() -> None:
    value_TD = np.array([[0.0, 5, 1, 0], [0.1, 5, -1, 0.5]])
    assert liveliest(Layer("1", {HIDDEN: value_TD}), 2) == [3, 4]
