"""Somebody has a file of words with tags, trains on it, looks at the scores and tags new sentences."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from seqwright.cli.asking import ask_run, coloured_line, print_line
from seqwright.cli.options import Answers, Things
from seqwright.errors import DataError, RunError
from seqwright.recipe import recipe_from
from seqwright.runs import train
from tests.story.command import typed

SENTENCES = ["Ada/B-per lives/O in/O New/B-loc York/I-loc ./O", "Bob/B-per saw/O Ada/B-per ./O", "in/O Rome/B-loc ,/O"]
TINY: dict[str, dict[str, Any]] = {
    "input": {"tokenizer": "bpe", "vocabulary": 60},
    "model": {"kind": "gru", "width": 16, "embedding": 16, "dropout": 0.0, "word_dropout": 0.0},
    "training": {"steps": 60, "tokens": 256, "rate": 0.02, "schedule": "constant", "warmup": 0, "device": "cpu"},
}


def columns(sentences: list[str]) -> str:
    return "\n".join("".join(pair.replace("/", "\t") + "\n" for pair in each.split()) for each in sentences)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file and a run trained on it."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "mine.conll").write_text(columns(SENTENCES * 5))
    (folder / "valid.conll").write_text(columns(SENTENCES))
    data = {"train": str(folder / "mine.conll"), "valid": str(folder / "valid.conll")}
    train(recipe_from({"task": "token-classification", "data": data, **TINY}), folder / "run")
    return folder


def tag(folder: Path, *texts: str, **options: Any) -> None:
    answers = Answers(options.pop("as_json", False), "best")
    ask_run("tag", Things(folder, list(texts), options.pop("file", None)), answers, **options)


def test_entities_are_shown_with_their_tags(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tag(home / "run", "Ada lives in New York.", "", "in Rome, Bob saw Ada.")
    wanted = "Ada/B-per lives in New/B-loc York/I-loc .\n\nin Rome/B-loc , Bob/B-per saw Ada/B-per .\n"
    assert capsys.readouterr().out == wanted


def test_json_has_words_tags_and_entities(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tag(home / "run", "Ada lives in New York.", as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["words"] == ["Ada", "lives", "in", "New", "York", "."]
    assert found["tags"] == ["B-per", "O", "O", "B-loc", "I-loc", "O"]
    assert len(found["probabilities"]) == 6
    assert found["entities"] == [
        {"type": "per", "text": "Ada", "begin": 0, "end": 1},
        {"type": "loc", "text": "New York", "begin": 3, "end": 5},
    ]


def test_a_text_that_is_cut_already_stays_as_it_is(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tag(home / "run", "Ada. saw", reading={"split": "whitespace"}, as_json=True)
    assert json.loads(capsys.readouterr().out)["words"] == ["Ada.", "saw"]


def test_a_file_and_standard_input_are_read_line_by_line(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "lines.txt").write_text("in Rome\n\nBob saw Ada\n")
    tag(home / "run", file=home / "lines.txt")
    from_file = capsys.readouterr().out
    assert from_file.splitlines() == ["in Rome/B-loc", "", "Bob/B-per saw Ada/B-per"]
    with (home / "lines.txt").open() as lines:
        monkeypatch.setattr(sys, "stdin", lines)
        tag(home / "run", "-")
    assert capsys.readouterr().out == from_file


def test_a_very_long_sentence_is_tagged_to_its_end(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tag(home / "run", " ".join(["Bob saw Ada ."] * 900), as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert len(found["words"]) == len(found["tags"]) == len(found["probabilities"]) == 3600
    assert found["tags"].count("B-per") > 1500


def test_words_that_the_vocabulary_lacks_are_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tag(home / "run", "Ωmega saw ☃")
    assert "the vocabulary lacks Ωmega ☃: the model knows such words only by what" in capsys.readouterr().err


def test_types_have_colours_on_a_terminal() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, color_system="standard")
    print_line(coloured_line([("Ada/B-per", 1), (" saw ", None), ("Rome/B-loc", 0)]), console)
    colours = [part.split("m")[0] for part in screen.getvalue().split("\x1b[")[1:]]
    assert len({colour for colour in colours if colour.startswith("1;")}) == 2


def test_the_scores_of_each_type_stand_beside_its_count(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert typed("eval", str(home / "run")) == 0
    lines = [" ".join(line.split()) for line in capfd.readouterr().out.splitlines()]
    assert "f1 100.000 harmonic mean of the two" in lines
    assert "baseline_f1 100.000 baseline: the most frequent tag of each word" in lines
    assert lines[-4:] == [
        "type right share precision recall f1",
        "loc 2/2 100.0 % 100.00 100.00 100.00",
        "per 3/3 100.0 % 100.00 100.00 100.00",
        "all 5/5 100.0 %",
    ]
    assert sorted(path.suffix for path in (home / "run" / "eval").glob("valid-*")) == [
        ".json",
        ".jsonl",
        ".png",
        ".svg",
    ]


def test_a_type_that_is_only_predicted_has_no_share(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (home / "none.conll").write_text(columns(["Ada/O lives/O in/O Rome/O ./O"]))
    assert typed("eval", str(home / "run"), "--data", str(home / "none.conll")) == 0
    table = [line.split() for line in capfd.readouterr().out.splitlines()]
    assert ["per", "0/0", "–", "0.00", "0.00", "0.00"] in table
    assert ["all", "0/0", "–"] in table


def test_the_verbs_take_a_tagger(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert typed("tag", str(home / "run"), "Ada saw Rome") == 0
    assert capfd.readouterr().out.startswith("Ada/B-per saw Rome")
    assert typed("eval", str(home / "run"), "--data", str(home / "mine.conll"), "--json") == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["f1"] == 100
    assert "there is no baseline: the data it would learn from is not here" in err  # it learnt from this very file
    assert len(list((home / "run" / "eval").glob("mine-*.png"))) == 1
    recipe = home / "r.toml"
    recipe.write_text(f'task = "token-classification"\n[data]\ntrain = {str(home / "mine.conll")!r}\nvalid = "40%"\n')
    small = ("model.width=8", "model.embedding=8", "input.vocabulary=60", "training.threads=1")
    assert typed("check", str(recipe), *small) == 0
    assert "the most frequent tag of each word is right for" in capfd.readouterr().out


def test_what_cannot_be_read_ends_with_one_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.toml").write_text('task = "token-classification"\n[data]\ntrain = "a.conll"\n')
    for text, sentence in {
        "a X\nb\n": "a.conll:2 has 1 column, expected at least 2",
        "": "a.conll is empty",
        "a X\nb X\n\n" * 30: "every word of the training part has the tag 'X'",
    }.items():
        Path("a.conll").write_text(text)
        assert typed("train", "r.toml") == 2
        err = capfd.readouterr().err
        assert sentence in err
        assert "Traceback" not in err


def test_texts_and_a_file_at_once_are_refused(home: Path) -> None:
    with pytest.raises(DataError, match="both texts and --file"):
        tag(home / "run", "x", file=home / "mine.conll")
    with pytest.raises(DataError, match="no file"):
        tag(home / "run", file=home / "nowhere.txt")


def test_only_taggers_tag(tmp_path: Path) -> None:
    plain: dict[str, Any] = {
        "task": "translation",
        "data": {"card": "copy", "examples": 50, "valid": 5, "test": 0},
        "input": {"tokenizer": "words"},
        "model": {"size": "tiny", "width": 8, "heads": 2, "feed_forward": 8},
        "training": {"steps": 1, "device": "cpu"},
    }
    train(recipe_from(plain), tmp_path / "run")
    with pytest.raises(RunError, match=r"learnt translation; tag is for a tagger"):
        tag(tmp_path / "run", "x")


def test_two_readings_can_be_made_to_agree(home: Path) -> None:
    data = {"train": str(home / "mine.conll"), "valid": str(home / "valid.conll")}
    drops = {**TINY, "model": {**TINY["model"], "dropout": 0.5}, "training": {**TINY["training"], "log_every": 60}}
    plain = {"task": "token-classification", "data": data, **drops, "objective": {"kind": "r-drop", "agreement": 4.0}}
    train(recipe_from(plain), home / "agreed")
    lines = [json.loads(line) for line in (home / "agreed" / "journal.jsonl").read_text().splitlines()]
    assert [line["kl"] > 0 for line in lines if line["event"] == "train"] == [True]
    assert lines[-1]["accuracy"] == 100
