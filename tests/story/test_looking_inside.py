"""`look` at runs that do not translate: pictures where there is something to see, otherwise one sentence."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seqwright.__main__ import main
from seqwright.recipe import recipe_from
from seqwright.runs import train

Plain = dict[str, Any]
Say = Callable[..., tuple[int, str, str]]
TEXT = 'he said "no" and (may be) "yes"'
TRAINING = {"steps": 2, "tokens": 64, "validate_every": 2, "threads": 1}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small runs of three tasks."""
    folder = tmp_path_factory.mktemp("home")
    texts, rows = folder / "mine.txt", folder / "mine.csv"
    texts.write_text(f"{TEXT}\n" * 5)
    rows.write_text("value\n" + "".join(f"{number % 5}\n" for number in range(40)))
    language = {"kind": "text", "train": str(texts), "valid": str(texts)}
    kinds: dict[str, Plain] = {"gru": {"width": 9}, "lstm": {"width": 9, "layers": 2}, "mlp": {"width": 9}, "ngram": {}}
    for name, model in kinds.items():
        characters = {"kind": "characters", "segment": 16}
        made(folder / "runs" / name, {"data": language, "inputs": characters, "model": {"kind": name, **model}})
    series = {"kind": "series", "train": str(rows), "valid": str(rows), "history": 7, "horizon": 1}
    made(folder / "runs" / "series", {"data": series, "model": {"kind": "rnn", "width": 5, "layers": 1}})
    return folder


def made(folder: Path, plain: Plain) -> None:
    counted = plain["model"]["kind"] == "ngram"
    train(recipe_from({**plain, "training": {} if counted else TRAINING}, name=folder.name), folder)


@pytest.fixture
def say(home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Say:
    """Type a command; get its exit code, output and complaints."""

    def typed(*words: str) -> tuple[int, str, str]:
        monkeypatch.chdir(home)
        monkeypatch.setattr(sys, "argv", ["seqwright", "look", *words])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        return code, *capfd.readouterr()

    return typed


def test_a_recurrent_model_shows_its_units_over_the_text(say: Say, home: Path) -> None:
    code, out, err = say("runs/gru", TEXT)
    assert code == 0, err
    assert "bits a token" in out
    assert out.count(TEXT) == 3, "three units in the terminal"
    for form in ("png", "svg"):
        path = home / f"runs/gru/pictures/he-said-no-and-may-be-yes/units-layer-1.{form}"
        assert path.stat().st_size > 10_000
    assert "update gate" in path.read_text(encoding="utf-8")


def test_units_are_found_by_a_rule_and_drawn(say: Say, home: Path) -> None:
    code, out, err = say("runs/lstm", "--file", "mine.txt", "--rule", "quotes", "-o", "found", "--json")
    assert code == 0, err
    assert "in 10 stretches; 36 units asked" in err
    ranked = [json.loads(line) for line in out.splitlines()]
    assert len(ranked) == 10
    strengths = [abs(each["correlation"]) for each in ranked]
    assert strengths == sorted(strengths, reverse=True)
    page = (home / "found/units.html").read_text(encoding="utf-8")
    assert page.count("<section>") == 10
    assert (home / "found/units.png").stat().st_size > 10_000


def test_units_are_drawn_by_name(say: Say, home: Path) -> None:
    names = ("--unit", "7", "--unit", "update-gate:1:2")
    code, out, err = say("runs/gru", TEXT, *names, "--rule", "brackets", "-o", "named")
    assert code == 0, err
    assert out.startswith("unit  correlation  mean where on  where off")
    assert "unit 1:7, layer 1, hidden state" in out
    assert "unit update-gate:1:2, layer 1, update gate" in out
    drawn = (home / "named/units.svg").read_text(encoding="utf-8")
    assert drawn.count("with brackets") == 1, "gates are not asked about the rule"


def test_gradients_of_several_runs_are_drawn_without_any_text(say: Say, home: Path) -> None:
    code, out, err = say("runs/gru", "--with", "runs/lstm", "--with", "runs/series", "--gradients", "--json")
    assert code == 0, err
    assert "runs/gru writes the text itself" in err
    found = [json.loads(line) for line in out.splitlines()]
    assert [(each["run"], each["layer"], each["trained"]) for each in found] == [
        *(("gru", 1, True), ("gru", 1, False)),
        *(("lstm", 1, True), ("lstm", 2, True), ("lstm", 1, False), ("lstm", 2, False)),
        *(("series", 1, True), ("series", 1, False)),
    ]
    assert [len(each["median"]) for each in found] == [101, 101, 101, 101, 101, 101, 8, 8]
    assert (home / "runs/gru/pictures/gradients.png").exists()


def test_the_ways_to_begin_are_drawn(say: Say, home: Path) -> None:
    code, out, err = say("runs/series", "--initialisations")
    assert code == 0, err
    assert [line.split()[0] for line in out.splitlines()] == ["uniform", "xavier", "orthogonal", "identity", "too"]
    assert (home / "runs/series/pictures/initialisations.svg").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("runs/series",), "reads no text; see what it forecasts with `seqwright forecast runs/series --picture"),
        (("runs/series", TEXT, "--gradients"), "reads no text; leave it out"),
        (("runs/ngram", TEXT), "a model of kind 'ngram', without recurrent units"),
        (("runs/mlp", TEXT), "`seqwright score runs/mlp TEXT` shows how surprising each token is to it"),
        (("runs/mlp", "--gradients"), "no gradient goes back through time in it"),
        (("runs/gru",), "there is nothing to look at: say a text that runs/gru shall read"),
        (("runs/gru", " "), "the text is blank"),
        (("runs/gru", TEXT, "--file", "mine.txt"), "both a text and --file"),
        (("runs/gru", TEXT, "--gradients", "--rule", "quotes"), "--gradients and --units are different pictures"),
        (("runs/gru", TEXT, "--with", "runs/lstm"), "--with puts a further run into the picture of --gradients"),
        (("runs/gru", TEXT, "--units", "--json"), "--json gives the numbers of --gradients or of --rule"),
        (("runs/gru", TEXT, "--beam", "2"), "--beam is for translation, and runs/gru learnt language"),
        (("runs/gru", TEXT, "--rule", "zebra"), "the rule 'zebra' is on nowhere in these 31 tokens"),
        (("runs/gru", TEXT, "--unit", "10"), "layer 1 has the units 1 to 9"),
        (("runs/gru", "--with", "runs/none", "--gradients"), "there is no run runs/none"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_sentence(say: Say, words: tuple[str, ...], sentence: str) -> None:
    code, out, err = say(*words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1
