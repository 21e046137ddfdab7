"""Pairs, ratings and fine-tuning as users type them, and what they get wrong: one clear sentence, exit code 2."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from seqwright.recipe import read_recipe
from seqwright.runs import open_run
from seqwright.training.weights import transferred
from tests.story.command import typed

Say = Callable[..., tuple[int, str, str]]
FEW = ["training.steps=2", "training.validate_every=2", "training.tokens=256", "training.threads=1"]
TEXT = "".join(f"the cat sat on mat {i} and the dog barked\n" for i in range(40))
PAIRS = "premise\thypothesis\tlabel\n" + "".join(
    f"the cat sat {i}\tthe {('cat', 'dog')[i % 2]} sat\t{('yes', 'no')[i % 2]}\n" for i in range(40)
)
SCORES = PAIRS.replace("label", "score").replace("yes", "4.5").replace("no", "0.5")
LANGUAGE = """
task = "language-modeling"
[data]
train = "text.txt"
[input]
tokenizer = "words"
segment = 16
[model]
kind = "gpt"
width = 16
heads = 2
layers = 1
context = 32
"""
TUNED = """
task = "{task}"
[data]
train = "{table}"
valid = "30%"
[model]
kind = "gpt"
weights = "runs/language"
[objective]
kind = "{goal}-and-next-token"
"""


@pytest.fixture
def say(answered: Say) -> Say:
    """Type a command where the test is."""
    return answered


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model, and the same fine-tuned to label and to rate pairs."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, text in {
            "text.txt": TEXT,
            "pairs.tsv": PAIRS,
            "scores.tsv": SCORES,
            "language.toml": LANGUAGE,
        }.items():
            Path(name).write_text(text)
        Path("labels.toml").write_text(TUNED.format(task="text-classification", table="pairs.tsv", goal="labels"))
        rating = TUNED.format(task="text-regression", table="scores.tsv", goal="regression")
        Path("rating.toml").write_text(rating)
        Path("plain.toml").write_text('task = "text-classification"\n[data]\ntrain = "pairs.tsv"\nvalid = "30%"\n')
        for recipe in ("language", "labels", "rating"):
            assert typed("train", f"{recipe}.toml", *FEW) == 0
    return folder


@pytest.fixture(autouse=True)
def at_home(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the runs are."""
    monkeypatch.chdir(runs)


def refused(answer: tuple[int, str, str], *found: str) -> None:
    """The answer is exit code 2, nothing printed, and one sentence with these words."""
    code, out, err = answer
    assert code == 2, err
    assert out == ""
    sentence = err.strip().splitlines()[-1]
    assert sentence.startswith("seqwright")
    for words in found:
        assert words in sentence


def test_a_fine_tuned_run_has_the_sizes_and_the_tokenizer_of_the_one_it_began_from() -> None:
    before, after = open_run(Path("runs/language")), open_run(Path("runs/labels"))
    assert (after.recipe.model.width, after.recipe.model.context) == (16, 32)
    assert after.inputs.tokenizer.fingerprint() == before.inputs.tokenizer.fingerprint()
    assert after.inputs.input.pairs
    assert after.inputs.input.longest == 29  # of 32, beside a beginning and two ends


def test_pairs_are_classified_from_the_command_line_and_from_a_file(say: Say) -> None:
    code, out, err = say("classify", "runs/labels", "the cat sat", "--text-pair", "the dog sat", "--top", "2")
    assert code == 0, err
    assert {out.split("\t")[0], out.split("\t")[2]} == {"yes", "no"}
    Path("asked.txt").write_text("the cat sat\tthe dog sat\n\nthe cat\tthe cat\n")
    code, out, err = say("classify", "runs/labels", "--file", "asked.txt", "--json")
    assert code == 0, err
    first, blank, last = map(json.loads, out.splitlines())
    assert (first["text"], first["text_pair"]) == ("the cat sat", "the dog sat")
    assert blank["label"] is None
    assert last["label"] in {"yes", "no"}
    assert say("classify", "runs/labels", "the cat sat\tthe dog sat")[0] == 0


def test_ratings_are_numbers(say: Say) -> None:
    code, out, err = say("predict", "runs/rating", "the cat sat", "--text-pair", "the dog sat")
    assert code == 0, err
    assert -10 < float(out) < 10
    code, out, err = say("predict", "runs/rating", "the cat sat\tthe dog sat", "--json")
    assert json.loads(out).keys() == {"text", "text_pair", "value"}
    code, out, err = say("eval", "runs/rating", "--json")
    assert code == 0, err
    assert {"loss", "mse", "pearson", "spearman", "baseline_mean_mse", "baseline_linear_pearson"} <= json.loads(
        out
    ).keys()
    assert list(Path("runs/rating/eval").glob("*.png"))
    assert say("eval", "runs/rating", "--data", "scores.tsv")[0] == 0


def test_checking_knows_pairs_and_ratings(say: Say) -> None:
    code, out, err = say("check", "rating.toml")
    assert code == 0, err
    assert "pairs of texts with values from 0.5 to 4.5" in " ".join(out.split())


def test_checking_overfits_from_the_weights_that_training_begins_from(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []

    def keep(source: torch.nn.Module, model: torch.nn.Module, where: str, layers: object) -> None:
        transferred(source, model, where)
        begun.append((where, model.get_parameter("body.tokens.weight").detach().clone()))

    monkeypatch.setattr("seqwright.cli.checking.transferred", keep)
    assert say("check", "labels.toml", *FEW)[0] == 0
    assert say("check", "plain.toml", *FEW)[0] == 0
    ((where, weight_VD),) = begun
    assert where == "runs/language"
    assert torch.equal(weight_VD, open_run("runs/language").model.get_parameter("body.tokens.weight"))


def test_new_recipes_find_the_pairs(say: Say) -> None:
    code, _, err = say("new", "text-classification", "--data", "pairs.tsv", "-o", "new-pairs.toml")
    assert code == 0, err
    recipe = read_recipe("new-pairs.toml")
    assert (recipe.data.text, recipe.data.text_pair, recipe.data.label) == ("premise", "hypothesis", "label")
    code, _, err = say("new", "text-regression", "--data", "scores.tsv", "-o", "new-scores.toml", "model.width=4")
    assert code == 0, err
    assert "with values from 0.5 to 4.5" in err
    assert read_recipe("new-scores.toml").task == "text-regression"
    refused(say("new", "text-regression", "--data", "pairs.tsv", "-o", "x.toml"), "the label 'yes'", "must be a number")


def test_layer_wise_rates_and_frozen_bodies_are_settings(say: Say) -> None:
    settings = ["model.frozen=true", "training.layer_decay=0.9", "training.schedule=linear", "training.warmup=0"]
    assert say("train", "labels.toml", "--run", "runs/frozen", *FEW, *settings)[0] == 0
    before, after = open_run(Path("runs/language")), open_run(Path("runs/frozen"))
    body = dict(after.model.body.named_parameters())  # type: ignore[union-attr]
    for name, parameter in before.model.body.named_parameters():  # type: ignore[union-attr]
        assert torch.equal(parameter, body[name])


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["classify", "runs/labels", "lonely"], ["text 1: 'lonely' is a single text", "--text-pair"]),
        (["classify", "runs/labels", "a", "--text-pair", "b", "--text-pair", "c"], ["1 texts and 2 times --text-pair"]),
        (["predict", "runs/rating", "a\tb", "--top", "2"], ["no such option: --top"]),
        (["classify", "runs/language", "a"], ["learnt language-modeling", "use generate"]),
        (["train", "rating.toml", "--run", "runs/x", "data.train=pairs.tsv"], ["the label 'no'", "must be a number"]),
        (
            ["train", "labels.toml", "--run", "runs/x", "data.text_pair=hypotesis"],
            ["no column 'hypotesis'", "hypothesis'?"],
        ),
        (["train", "labels.toml", "--run", "runs/x", "input.longest=30"], ["the model reads 32 tokens", "longest=29"]),
        (["train", "labels.toml", "--run", "runs/x", "model.weights=runs/none"], ["model.weights", "there is no run"]),
        (["train", "labels.toml", "--run", "runs/x", "model.width=24"], ["leave the sizes out of [model]"]),
        (["train", "labels.toml", "--run", "runs/x", "training.metric=matthew"], ["Did you mean 'matthews'?"]),
        (["train", "labels.toml", "--run", "runs/x", "objective.kind=span"], ["objective.kind 'span'"]),
        (
            ["train", "waves-dense", "--run", "runs/x", "training.layer_decay=0.9"],
            ["layer_decay", "leave it out"],
        ),
    ],
)
def test_what_cannot_be_is_refused(say: Say, words: list[str], found: list[str]) -> None:
    shutil.rmtree("runs/x", ignore_errors=True)  # which some refusals leave begun
    refused(say(*words, *(FEW if words[0] == "train" else [])), *found)


def test_an_auxiliary_loss_needs_a_language_model(say: Say) -> None:
    Path("lstm.toml").write_text(
        TUNED.format(task="text-classification", table="pairs.tsv", goal="labels").replace('"gpt"', '"lstm"')
    )
    text = Path("lstm.toml").read_text().replace('weights = "runs/language"\n', "")
    Path("lstm.toml").write_text(text)
    refused(say("train", "lstm.toml", "--run", "runs/lstm", *FEW), "auxiliary loss", "model.kind=gpt")


def test_a_label_that_training_lacks_is_refused(say: Say) -> None:
    Path("other.tsv").write_text("premise\thypothesis\tlabel\na cat\ta dog\tmaybe\n")
    refused(say("eval", "runs/labels", "--data", "other.tsv"), "the label 'maybe'", "training knew only 'no', 'yes'")
    Path("single.tsv").write_text("text\tlabel\na cat\tyes\n")
    refused(say("eval", "runs/labels", "--data", "single.tsv"), "has single texts, but the model reads pairs")


def test_a_label_that_no_judged_text_has_is_shown_without_a_share(say: Say) -> None:
    Path("agreed.tsv").write_text("premise\thypothesis\tlabel\nthe cat sat 1\tthe cat sat\tyes\n")
    code, out, _ = say("eval", "runs/labels", "--data", "agreed.tsv")
    assert code == 0
    assert ["no", "0/0", "–", "0.00"] in [line.split() for line in out.splitlines()]


# ---------------------------------------------------------------------------------------------------- new --from


@pytest.mark.parametrize(("task", "table"), [("text-classification", "pairs.tsv"), ("text-regression", "scores.tsv")])
def test_new_writes_a_recipe_that_fine_tunes_a_run(say: Say, task: str, table: str) -> None:
    where = Path(f"{task}-tuned.toml")
    code, _, err = say("new", task, "--data", table, "--from", "runs/language", "-o", str(where))
    assert code == 0, err
    recipe = read_recipe(str(where))
    assert (recipe.model.kind, recipe.model.weights, recipe.model.width) == ("gpt", "runs/language", 16)
    assert recipe.training.warmup is None
    assert recipe.training.patience is not None
    assert recipe.training.epochs == 20
    assert recipe.training.layer_decay == 0.9
    code, _, err = say("train", str(where), *FEW)
    assert code == 0, err
    assert "weights from runs/language" in err


def test_new_fine_tunes_a_language_model_on_other_text(say: Say) -> None:
    code, _, err = say("new", "language-modeling", "--data", "text.txt", "--from", "runs/language", "-o", "more.toml")
    assert code == 0, err
    assert read_recipe("more.toml").model.weights == "runs/language"


def test_new_says_where_no_model_of_the_task_has_that_body(say: Say) -> None:
    code, _, err = say("new", "translation", "--data", "pairs.tsv", "--from", "runs/language", "-o", "none.toml")
    assert code == 2
    sentence = err.strip().splitlines()[-1]
    assert "runs/language is a gpt for language-modeling, and no model for translation" in sentence
    assert "leave --from out" in sentence
    assert not Path("none.toml").exists()
    code, _, err = say("new", "text-classification", "--data", "pairs.tsv", "--from", "nowhere", "-o", "none.toml")
    assert code == 2
    assert "there is no run nowhere" in err
