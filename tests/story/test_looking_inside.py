"""`look` at runs that do not translate: pictures where there is something to see, otherwise one sentence."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seqwright.recipe import recipe_from
from seqwright.runs import train

Plain = dict[str, Any]
Say = Callable[..., tuple[int, str, str]]
TEXT = 'he said "no" and (may be) "yes"'
TRAINING = {"steps": 2, "tokens": 64, "validate_every": 2, "threads": 1}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small runs of language models, of a BERT and of a forecaster."""
    folder = tmp_path_factory.mktemp("home")
    texts, rows = folder / "mine.txt", folder / "mine.csv"
    texts.write_text(f"{TEXT}\n" * 5)
    rows.write_text("value\n" + "".join(f"{number % 5}\n" for number in range(40)))
    language = {"data": {"train": str(texts), "valid": str(texts)}}
    kinds: dict[str, Plain] = {"gru": {"width": 9}, "lstm": {"width": 9, "layers": 2}, "mlp": {"width": 9}, "ngram": {}}
    for name, model in kinds.items():
        characters = {"tokenizer": "characters", "segment": 16}
        plain: Plain = {**language, "input": characters, "model": {"kind": name, **model}}
        made(folder / "runs" / name, {"task": "language-modeling", **plain})
    blocks = {"width": 8, "heads": 2, "layers": 2, "context": 40}
    words = {"tokenizer": "words", "segment": 16}
    plain = {**language, "input": words, "model": {"kind": "gpt", **blocks}}
    made(folder / "runs" / "gpt", {"task": "language-modeling", **plain})
    sentences = {"tokenizer": "words", "rows": "full-sentences", "longest": 32}
    bert = {"input": sentences, "model": {"kind": "bert", "pooler": False, **blocks}}
    made(folder / "runs" / "bert", {"task": "masked-language-modeling", **language, **bert})
    series = {"train": str(rows), "valid": str(rows), "history": 7, "horizon": 1}
    model = {"kind": "rnn", "width": 5, "layers": 1}
    made(folder / "runs" / "series", {"task": "forecasting", "data": series, "model": model})
    return folder


def made(folder: Path, plain: Plain) -> None:
    counted = plain["model"]["kind"] == "ngram"
    train(recipe_from({**plain, "training": {} if counted else TRAINING}, name=folder.name), folder)


@pytest.fixture
def say(say: Say) -> Say:
    """Type `seqwright look`; get its exit code, output and complaints."""
    return lambda *words: say("look", *words)


def test_a_recurrent_model_shows_its_units_over_the_text(say: Say, home: Path) -> None:
    code, out, err = say("runs/gru", TEXT)
    assert code == 0, err
    assert "bits per token" in out
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


def test_attention_is_drawn_layer_by_layer_and_as_lines(say: Say, home: Path) -> None:
    code, out, err = say("runs/bert", TEXT, "-o", "bert")
    assert code == 0, err
    assert out.startswith("self-attention\nrows: word that reads\ncolumns: word that is read\n")
    code, out, err = say("runs/gpt", TEXT, "--layer", "2", "--head", "1", "-o", "gpt")
    assert code == 0, err
    assert out.startswith("self-attention, layer 2, head 1\n")
    assert "(open attention.html in a browser)" in err
    stems = {"bert": ("", "-heads"), "gpt": ("-layer-2-head-1", "-layer-2-head-1-lines")}
    for folder, names in stems.items():
        pictures = {f"self-attention{name}.{form}" for name in names for form in ("png", "svg")}
        assert {path.name for path in (home / folder).iterdir()} == {"attention.html", *pictures}
    assert 'data-layer="1" data-head="0"' in (home / "gpt/attention.html").read_text(encoding="utf-8")


def test_each_layer_says_what_comes_next(say: Say, home: Path) -> None:
    code, out, err = say("runs/gpt", "he said no", "--lens", "-o", "lens", "--json")
    assert code == 0, err
    found = [json.loads(line) for line in out.splitlines()]
    assert [(each["token"], each.get("next")) for each in found] == [
        *(("</s>", "he"), ("he", " said"), (" said", " no"), (" no", None))
    ]
    for each in found:
        assert [layer["layer"] for layer in each["layers"]] == [1, 2]
        chances = [guess["probability"] for guess in each["layers"][1]["says"]]
        assert chances == sorted(chances, reverse=True)
        assert len(chances) == 5
    assert {path.name for path in (home / "lens").iterdir()} == {"lens.html", "lens.png", "lens.svg"}
    code, out, err = say("runs/bert", "he said <mask> and", "--lens", "-o", "hidden")
    assert code == 0, err
    assert out.splitlines()[0].split() == ["layer", "1", "layer", "2"]
    assert [line.split()[0] for line in out.splitlines()[1:7]] == ["<s>", "he", "said", "<mask>", "and", "</s>"]


@pytest.mark.parametrize("run", ["gpt", "gru", "ngram"])
def test_the_surprisal_of_any_language_model_is_drawn(say: Say, home: Path, run: str) -> None:
    code, out, err = say(f"runs/{run}", TEXT, "--surprisal", "-o", f"surprisal-{run}")
    assert code == 0, err
    plain = re.sub(r"\[\d+\.\d\]", "", out)  # the bits of each token
    assert plain.startswith(f"{TEXT} end  ")
    bits = float(plain.removeprefix(f"{TEXT} end").split()[0])
    drawn = (home / f"surprisal-{run}/surprisal.svg").read_text(encoding="utf-8")
    assert f"{run}: {bits:.2f} bits per token" in drawn
    assert f"{bits:.2f} bits each" in (home / f"surprisal-{run}/surprisal.html").read_text(encoding="utf-8")


def test_a_word_is_compared_in_several_texts(say: Say, home: Path) -> None:
    some = ("he said", "said may be", "and said")
    code, out, err = say("runs/bert", *some, "--word", "said", "-o", "word", "--json")
    assert code == 0, err
    found = [json.loads(line) for line in out.splitlines()]
    assert [each["texts"] for each in found] == [[1, 2], [1, 3], [2, 3]]
    assert all(list(each["cosine"]) == ["embedding", "layer 1", "layer 2"] for each in found)
    assert all(each["cosine"]["embedding"] == 1 for each in found)
    code, out, err = say("runs/bert", *some, "--word", "said", "-o", "word")
    assert (code, out.splitlines()[0]) == (0, "1  he [said]")
    assert (home / "word/word.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("runs/series",), "reads no text; see what it forecasts with `seqwright forecast runs/series --picture"),
        (("runs/series", TEXT, "--gradients"), "reads no text; leave it out"),
        (("runs/ngram", TEXT), "a model of kind 'ngram', without recurrent units"),
        (("runs/mlp", TEXT), "`seqwright look runs/mlp TEXT --surprisal` shows how surprising a text is"),
        (("runs/mlp", "--gradients"), "no gradient goes back through time in it"),
        (("runs/gru",), "there is nothing to look at: say a text that runs/gru shall read"),
        (("runs/gru", " "), "the text is blank"),
        (("runs/gru", TEXT, "--file", "mine.txt"), "both a text and --file"),
        (("runs/gru", TEXT, "--gradients", "--rule", "quotes"), "--units and --gradients are different pictures"),
        (("runs/gru", TEXT, "--with", "runs/lstm"), "--with is for alignments of translations and for --gradients"),
        (("runs/gru", TEXT, "--units", "--json"), "--json gives the numbers of --lens, --word, --gradients"),
        (("runs/gru", TEXT, "--json"), "--json gives the numbers of --lens"),
        (("runs/gru", TEXT, "--beam-tree"), "runs/gru learnt language-modeling; a beam tree is drawn for translation"),
        (("runs/gru", TEXT, "--beam", "2"), "--beam is for translation, and runs/gru learnt language-modeling"),
        (("runs/gru", TEXT, "--rule", "zebra"), "the rule 'zebra' is on nowhere in these 31 tokens"),
        (("runs/gru", TEXT, "--unit", "10"), "layer 1 has the units 1 to 9"),
        (("runs/gru", "--with", "runs/none", "--gradients"), "there is no run runs/none"),
        (("runs/gru", TEXT, "--lens"), "have no output over words to look through"),
        (("runs/gru", TEXT, "--layer", "1"), "a model of kind 'gru', without attention"),
        (("runs/gpt", TEXT, "--layer", "3"), "there is no layer 3; layers go from 1 to 2, heads from 1 to 2"),
        (("runs/gpt", TEXT, "--head", "1"), "--head is one of a layer's; say also which --layer"),
        (("runs/gpt", TEXT, "--lens", "--surprisal"), "--lens and --surprisal are different pictures"),
        (("runs/gpt", "--file", "mine.txt"), "--file is for --surprisal, --word and recurrent units"),
        (("runs/gpt", "--units", TEXT), "a model of kind 'gpt', without recurrent units"),
        (("runs/gpt", "he", "said"), "reads one text at a time, and there are 2; give one, in quotes"),
        (("runs/gpt", "he", "said", "--surprisal"), "there are 2 texts, and --surprisal is of one"),
        (("runs/bert", TEXT, "--surprisal"), "surprisal needs a language model"),
        (("runs/bert", "he said", "--word", "said"), "'said' stands once in the texts"),
        (("runs/bert", "he", "he" + " said" * 37, "--word", "said"), "text 2 has 38 tokens; runs/bert reads 37"),
        (("runs/bert", "he said", "--word", "zebra"), "'zebra' is not in the model's vocabulary"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_sentence(say: Say, words: tuple[str, ...], sentence: str) -> None:
    code, out, err = say(*words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1
