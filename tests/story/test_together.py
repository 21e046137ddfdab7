"""Several runs at once, alignments and the tree of a search, from the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from seqwright.analysis.beam_trees import beam_tree_of
from seqwright.decoding.settings import DecodingSettings
from seqwright.devices import computes_bfloat16
from seqwright.recipe import recipe_from
from seqwright.runs import open_run, train

Say = Callable[..., tuple[int, str, str]]
PAIRS = [("ein Hund schläft .", "a dog sleeps ."), ("eine Katze rennt .", "a cat runs .")]
TRAINING = {"steps": 2, "tokens": 64, "validate_every": 2, "threads": 1}
SMALL = {"width": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 13, "dropout": 0.0}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two translators of the same words, one of characters, and gold alignments."""
    folder = tmp_path_factory.mktemp("home")
    data = folder / "pairs.tsv"
    data.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS * 3), encoding="utf-8")
    (folder / "gold.txt").write_text("0-0 1-1 2-2 3-3\n" * 6)
    (folder / "broken.txt").write_text("0-0 1-1\n0-0 x\n")
    (folder / "short.txt").write_text("0-0\n")
    (folder / "beyond.txt").write_text("0-0 4-0\n" * 6)
    for name, seed, kind in (("one", 1, "words"), ("two", 2, "words"), ("letters", 1, "characters")):
        plain = {
            "task": "translation",
            "data": {"train": str(data), "valid": str(data), "test": str(data)},
            "input": {"tokenizer": kind, "shared": False},
            "model": {"kind": "transformer", **SMALL},
            "training": {**TRAINING, "seed": seed},
            "decoding": {"longest": 7},
        }
        train(recipe_from(plain, name=name), folder / "runs" / name)
    return folder


def test_runs_translate_together(say: Say) -> None:
    asked = ("translate", "runs/one", "ein Hund rennt .", "--beam", "3", "--scores")
    code, alone, _ = say(*asked)
    assert code == 0
    assert say(*asked, "--with", "runs/one")[1] == alone
    code, both, _ = say(*asked, "--with", "runs/two")
    assert code == 0
    assert both != alone
    assert say(*asked, "--with", "runs/two", "--average", "log-probabilities")[1] != both


def test_runs_are_evaluated_together(say: Say, home: Path) -> None:
    scores = json.loads(say("eval", "runs/one", "--json")[1])
    code, out, err = say("eval", "runs/one", "--with", "runs/one", "--json")
    assert code == 0
    assert json.loads(out)["loss"] == pytest.approx(scores["loss"], abs=1e-3)
    assert "runs/one, step 2, runs/one, step 2, on the test part" in err
    code, out, _ = say("eval", "runs/one", "--with", "runs/two", "--average", "log-probabilities", "--json")
    written = home / "runs/one/eval/test-step-000002-beam-1-with-two-log-probabilities.json"
    report = json.loads(written.read_text())
    assert report["with"] == {"two": 2}
    assert report["average"] == "log-probabilities"
    assert report["scores"]["loss"] == json.loads(out)["loss"]


def test_a_run_translates_in_bfloat16(say: Say, home: Path) -> None:
    asked = ("translate", "runs/one", "ein Hund rennt .", "--beam", "3", "--json")
    exact, rounded = (json.loads(say(*asked, "--precision", name)[1]) for name in ("float32", "bfloat16"))
    assert json.loads(say(*asked)[1]) == exact
    if computes_bfloat16(torch.device("cpu")):
        assert rounded["log_probability"] != exact["log_probability"]
    assert rounded["log_probability"] == pytest.approx(exact["log_probability"], rel=0.05)
    code, out, _ = say("eval", "runs/one", "--with", "runs/two", "--precision", "bfloat16", "--json")
    assert code == 0
    report = json.loads((home / "runs/one/eval/test-step-000002-beam-1-bfloat16-with-two.json").read_text())
    assert report["decoding"]["precision"] == "bfloat16"
    assert json.loads(out)["bleu"] == report["scores"]["bleu"]
    code, _, err = say(*asked, "--precision", "half")
    assert code == 2
    assert "--precision" in err
    assert "'bfloat16'" in err


def test_words_that_the_vocabulary_lacks_are_named_whole(say: Say) -> None:
    said = say("translate", "runs/one", "ein Hundschläft rennt .")[2]
    assert "the vocabulary lacks 'Hundschläft'×1" in said
    assert "lacks" not in say("translate", "runs/one", "ein Hund rennt .")[2]


def test_alignments_are_written_measured_and_learnt_from(say: Say, home: Path) -> None:
    code, _, err = say("translate", "runs/one", "Otto", "--unknown", "dictionary")
    assert code == 2
    assert "learn one with `seqwright align RUN`" in err
    code, out, _ = say("align", "runs/one", "--json")
    assert code == 0
    assert set(json.loads(out)) == {"pairs", "entropy", "coverage", "diagonality"}
    lines = (home / "runs/one/output/train.txt").read_text().splitlines()
    assert len(lines) == 6
    for line in lines:
        assert sorted(int(link.split("-")[1]) for link in line.split()) == [0, 1, 2, 3]
        assert all(0 <= int(link.split("-")[0]) < 4 for link in line.split())
    words = [line.split("\t") for line in (home / "runs/one/output/dictionary.tsv").read_text().splitlines()]
    assert {source for source, _, _ in words} <= {word for source, _ in PAIRS for word in source.split()}
    assert sum(int(count) for *_, count in words) <= 24
    assert say("translate", "runs/one", "Otto", "--unknown", "dictionary")[0] == 0
    code, out, _ = say("align", "runs/one", "--gold", "gold.txt", "-o", "test.txt")
    assert code == 0
    hits = sum(len({"0-0", "1-1", "2-2", "3-3"}.intersection(line.split())) for line in lines)
    assert f"error rate   {1 - 2 * hits / 48:.3f}" in out
    assert (home / "test.txt").read_text().splitlines() == lines


def test_a_run_of_letters_can_be_opened_after_its_dictionary_was_learnt(say: Say, home: Path) -> None:
    assert say("align", "runs/letters")[0] == 0
    entries = (home / "runs/letters/output/dictionary.tsv").read_text().splitlines()
    assert entries
    assert all(word.strip() for entry in entries for word in entry.split("\t"))
    assert say("translate", "runs/letters", "ein Hund", "--unknown", "dictionary")[0] == 0


def test_alignments_of_several_runs_stand_side_by_side(say: Say, home: Path) -> None:
    code, out, _ = say("look", "runs/one", "eine Katze rennt .", "--with", "runs/two", "--beam", "2", "-o", "beside")
    assert code == 0
    assert out.count("entropy") == 2
    for name in ("alignments.png", "alignments.svg", "alignments.html"):
        assert (home / "beside" / name).stat().st_size > 1000
    page = (home / "beside/alignments.html").read_text()
    assert page.count("<figure>") == 2
    assert "http" not in page.replace("http-equiv", "")
    code, out, _ = say("look", "runs/one", "eine Katze rennt .", "--json", "-o", "beside")
    assert set(json.loads(out)) == {"run", "source", "translation", "entropy", "coverage", "diagonality"}


def test_the_tree_of_a_beam_search_is_drawn(say: Say, home: Path) -> None:
    code, _, err = say("look", "runs/one", "eine Katze <b> .", "--beam-tree", "--beam", "3", "-o", "tree")
    assert code == 0
    assert "kept" in err
    page = (home / "tree/beam-tree.html").read_text()
    assert "eine Katze &lt;b&gt; ." in page
    assert page.count('<g id="twig-') == page.count("; dropped</title>") + page.count("; kept</title>") + page.count(
        "; finished</title>"
    )
    svg = (home / "tree/beam-tree.svg").read_text()
    assert 'id="twig-0"' in svg
    assert (home / "tree/beam-tree.png").stat().st_size > 1000


def test_every_branch_of_a_tree_falls_to_the_log_probability_of_its_text(home: Path) -> None:
    """So that no score that is divided by a length stands between log-probabilities that are not."""
    run, text = open_run(home / "runs/one"), "eine Katze rennt ."
    decoding = DecodingSettings(beam=3, length_penalty=1.0, longest=7)
    tree = beam_tree_of(run, text, decoding)
    for twig in tree.twigs:
        if twig.parent is not None:
            assert twig.log_probability <= tree.twigs[twig.parent].log_probability
    winner, found = tree.twigs[tree.best[-1]], run(text, beam=3, length_penalty=1.0, longest=7).candidates[0]
    assert winner.log_probability == pytest.approx(found.log_probability, abs=1e-4)
    assert winner.score == pytest.approx(found.score, abs=1e-4)
    assert winner.score > winner.log_probability


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("translate", "runs/one", "--with", "runs/letters", "ein"), "runs/one and runs/letters write different"),
        (("translate", "runs/one", "--with", "runs/tow", "ein"), "there is no run runs/tow. Did you mean 'runs/two'?"),
        (("eval", "runs/one", "--with", "runs/nothing-like-it"), "there is no run runs/nothing-like-it"),
        (("translate", "runs/one", "ein", "--average", "probabilities"), "add --with and another run"),
        (("translate", "runs/one", "ein", "--with", "runs/two", "--average", "median"), "--average is 'median'"),
        (("translate", "runs/one", "ein", "--unknown", "drop"), "--unknown"),
        (("align", "runs/one", "--gold", "broken.txt"), "broken.txt:2: 'x' is no link"),
        (("align", "runs/one", "--gold", "short.txt"), "short.txt has 1 lines for 6 pairs"),
        (("align", "runs/one", "--gold", "beyond.txt"), "beyond.txt:1: there is a link 4-0, but the pair has 4 source"),
        (("look", "runs/one", "ein Hund", "--beam-tree", "--with", "runs/two"), "not for --beam-tree"),
        (("look", "runs/one", "ein Hund", "--beam-tree", "--beam", "1"), "give a sentence and a beam above 1"),
        (("look", "runs/one", "ein Hund", "--beam-tree", "--json"), "--json gives the numbers of"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(say: Say, words: tuple[str, ...], sentence: str) -> None:
    code, _, err = say(*words)
    assert code == 2
    assert sentence in err
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) <= 2
