"""Somebody has a table of labels and texts, trains on it and lets texts be written."""

import json
from pathlib import Path

import pytest

from seqwright.recipe import recipe_from
from seqwright.runs import train
from tests.story.command import typed

TEXTS = {"French": "bonjour", "German": "guten tag", "Czech": "dobry den"}
RECIPE = """
task = "vector-to-text"
[data]
train = "mine.tsv"
valid = "mine.tsv"
text = "greeting"
label = "language"
[model]
kind = "gru"
width = 32
dropout = 0.0
[training]
steps = 120
schedule = "constant"
rate = 0.01
warmup = 0
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, a recipe and a run."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        rows = ["language\tgreeting", *(f"{label}\t{text}" for label, text in TEXTS.items())]
        Path("mine.tsv").write_text("\n".join(rows) + "\n")
        Path("mine.toml").write_text(RECIPE)
        assert typed("train", "mine.toml") == 0
    return folder


@pytest.fixture
def say(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Type a command in that folder; get what it prints and, where it was refused, the sentence."""
    monkeypatch.chdir(home)

    def said(*words: str) -> str:
        code = typed(*words)
        out, err = capsys.readouterr()
        if code:
            assert (code, out) == (2, "")
            return err.strip().splitlines()[-1]
        return out

    return said


def test_a_text_is_written_for_each_label_in_its_place(say) -> None:
    found = say("describe", "runs/mine", "German", "French").splitlines()
    assert found == [TEXTS["German"], TEXTS["French"]]


def test_several_with_scores_are_the_best_of_a_beam(say) -> None:
    lines = say("describe", "runs/mine", "Czech", "--beam", "4", "--n-best", "3", "--scores").splitlines()
    scores, texts = zip(*(line.split("\t") for line in lines), strict=True)
    assert texts[0] == TEXTS["Czech"]
    assert len(set(texts)) == 3
    assert sorted(map(float, scores), reverse=True) == list(map(float, scores))


def test_json_says_what_was_given(say) -> None:
    (found,) = map(json.loads, say("describe", "runs/mine", "French", "--json").splitlines())
    assert (found["input"], found["text"], found["rank"], found["finished"]) == ("French", "bonjour", 1, True)


def test_drawing_must_be_asked_for(say) -> None:
    chosen = {say("describe", "runs/mine", "French") for _ in range(3)}
    drawn = say("describe", "runs/mine", *["French"] * 20, "--temperature", "3", "--seed", "1").splitlines()
    assert chosen == {"bonjour\n"}
    assert len(set(drawn)) > 10


def test_an_option_for_drawing_leaves_the_temperature_of_the_recipe(say) -> None:
    words = ["French"] * 20
    drawn = {say("describe", "runs/mine", *words, "--seed", "1", "--temperature", text) for text in ("1", "3")}
    assert len(drawn) == 2
    assert say("describe", "runs/mine", *words, "--seed", "1") in drawn  # the recipe has none: 1, the model's own
    resolved = Path("runs/mine/resolved.toml")
    before = resolved.read_text()
    resolved.write_text(before.replace("temperature = 0.0", "temperature = 3.0"))
    found = say("describe", "runs/mine", *words, "--seed", "1")
    resolved.write_text(before)
    assert found == say("describe", "runs/mine", *words, "--seed", "1", "--temperature", "3")


def test_evaluation_takes_the_runs_own_data_and_other_files(say) -> None:
    scores = json.loads(say("eval", "runs/mine", "--json"))
    assert scores["exact"] == 100
    assert set(scores) == {"loss", "perplexity", "exact", "chrf", "groups"}
    Path("other.tsv").write_text("greeting\tlanguage\nbonjour\tFrench\ntag\tGerman\n")
    assert json.loads(say("eval", "runs/mine", "--data", "other.tsv", "--json"))["exact"] == 50


def test_a_look_before_training_finds_the_labels(say) -> None:
    found = say("check", "mine.toml")
    assert "one of Czech, French, German" in found
    assert "ready: seqwright train mine.toml" in found


def test_what_cannot_be_written_from_is_refused(say) -> None:
    meant = say("describe", "runs/mine", "Fench")
    assert "there is no label 'Fench', expected one of Czech, French, German. Did you mean 'French'?" in meant
    assert "learnt vector-to-text; score is for a language model" in say("score", "runs/mine", "bonjour")
    Path("other.tsv").write_text("language\tgreeting\nDutch\thallo\n")
    assert "there is no label 'Dutch'" in say("eval", "runs/mine", "--data", "other.tsv")


def test_numbers_are_asked_for_where_numbers_were_learnt(say) -> None:
    plain = {
        "task": "vector-to-text",
        "data": {"card": "numbers", "largest": 99, "examples": 60, "valid": 2, "test": 2},
        "model": {"width": 8},
        "training": {"steps": 1},
    }
    train(recipe_from(plain), Path("runs/numbers"))
    assert "'12a' was given, expected a whole number from 0 to 99, in digits alone" in say(
        "describe", "runs/numbers", "7", "12a"
    )
    assert len(say("describe", "runs/numbers", "7", "12", "--longest", "5").splitlines()) == 2
