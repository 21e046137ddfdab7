"""A GPT from training to writing: many prompts, stop strings, a context that ends, documents packed into rows."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from seqwright.runs import open_run
from tests.story.command import typed

Say = Callable[..., tuple[int, str, str]]
TEXT = "".join(f"{i} the cat sat on the mat and the dog {i * i} barked\n" for i in range(60))
RECIPE = """
task = "language-modeling"
input = { tokenizer = "characters", segment = 24, longest = 60 }
[data]
train = "mine.txt"
[model]
kind = "gpt"
width = 16
heads = 2
layers = 2
context = 64
[training]
schedule = "cosine"
rate = 0.01
warmup = 2
steps = 6
tokens = 192
threads = 1
"""


@pytest.fixture
def say(answered: Say, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    """Type a command, and something for it to read; get its exit code, what it printed and what it complained of."""

    def answer(*words: str, stdin: str = "") -> tuple[int, str, str]:
        capfd.readouterr()
        reading, writing = os.pipe()
        os.write(writing, stdin.encode())
        os.close(writing)
        with os.fdopen(reading) as given, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", given)
            return answered(*words)

    return answer


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a trained run of joined text, and one of packed documents."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("SEQWRIGHT_CACHE", str(folder / "cache"))
        (folder / "mine.txt").write_text(TEXT, encoding="utf-8")
        (folder / "mine.toml").write_text(RECIPE, encoding="utf-8")
        assert typed("train", "mine.toml", "--run", "runs/joined") == 0
        apart = ["input.rows=documents", "input.rows=packed", "input.segment=64"]
        assert typed("train", "mine.toml", "--run", "runs/packed", *apart) == 0
        yield folder


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("run", ["runs/joined", "runs/packed"])
def test_prompts_come_as_texts_as_a_file_and_by_standard_input(say: Say, run: str) -> None:
    prompts, options = ["the", "a cat sat", "", "dog"], ["--longest", "5", "--seed", "3", "--json"]
    Path("prompts.txt").write_text("\n".join(prompts) + "\n", encoding="utf-8")
    code, out, err = say("generate", run, *prompts, *options)
    assert code == 0, err
    assert say("generate", run, "--file", "prompts.txt", *options)[1] == out
    assert say("generate", run, "-", *options, stdin="\n".join(prompts) + "\n")[1] == out
    answers = [json.loads(line) for line in out.splitlines()]
    assert [answer["prompt"] for answer in answers] == prompts
    assert all(answer["text"].startswith(answer["prompt"]) for answer in answers)
    alone = json.loads(say("generate", run, "the", *options)[1])
    assert alone["text"] == answers[0]["text"]
    assert alone["log_probability"] == pytest.approx(answers[0]["log_probability"], abs=1e-4)


@pytest.mark.usefixtures("home")
def test_a_stop_string_ends_a_text_and_is_not_shown(say: Say) -> None:
    free = say("generate", "runs/joined", "the", "--greedy", "--longest", "12")[1].rstrip("\n")
    stop = free[5]
    code, out, err = say("generate", "runs/joined", "the", "--greedy", "--longest", "12", "--stop", stop)
    assert code == 0, err
    assert out == free[: 3 + free[3:].index(stop)] + "\n"
    assert "--longest" not in err


@pytest.mark.usefixtures("home")
def test_where_the_context_ends_so_does_the_text_and_it_is_told(say: Say) -> None:
    code, out, err = say("generate", "runs/joined", "the cat", "--longest", "500", "--shortest", "500")
    assert code == 0, err
    assert len(out.rstrip("\n")) == 64
    assert "filled the model's context of 64 tokens: 1" in err
    code, out, err = say("generate", "runs/joined", "the cat " * 20)
    assert (code, out) == (2, "")
    assert "has 160 tokens and one before it, but the model reads at most 64; shorten it" in err


@pytest.mark.usefixtures("home")
def test_options_only_drawing_knows_are_refused_without_it(say: Say) -> None:
    code, _, err = say("generate", "runs/joined", "the", "--greedy", "--min-p", "0.1")
    assert code == 2
    assert "--min-p is for sampling" in err
    code, _, err = say("generate", "runs/joined", "the", "--min-p", "1.5")
    assert code == 2
    assert "--min-p" in err
    assert say("generate", "runs/joined", "the", "--repetition-penalty", "1.3", "--min-p", "0.1")[0] == 0


@pytest.mark.usefixtures("home")
def test_a_text_longer_than_the_context_is_scored_and_evaluated(say: Say) -> None:
    code, out, err = say("score", "runs/joined", TEXT[:150].replace("\n", " "), "--json")
    assert code == 0, err
    assert len(json.loads(out)["tokens"]) == 151
    for run in ("runs/joined", "runs/packed"):
        code, out, err = say("eval", run, "--json")
        assert code == 0, err
        assert 1 < json.loads(out)["loss"] < 5


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("overrides", "found"),
    [
        (["input.segment=65"], "input.segment is 65, but the model reads at most model.context = 64"),
        (["input.rows=documents", "input.longest=64"], "input.longest is 64 and one token begins each document"),
    ],
)
def test_rows_that_a_model_cannot_read_are_refused(say: Say, overrides: list[str], found: str) -> None:
    code, _, err = say("train", "mine.toml", "--run", "runs/none", *overrides)
    assert code == 2
    assert found in err


@pytest.mark.usefixtures("home")
def test_packing_is_refused_to_a_model_that_would_mix_documents_up(say: Say) -> None:
    text = RECIPE.replace('kind = "gpt"', 'kind = "lstm"').replace("heads = 2\n", "").replace("context = 64\n", "")
    Path("lstm.toml").write_text(text, encoding="utf-8")
    code, _, err = say("train", "lstm.toml", "input.rows=documents", "input.rows=packed")
    assert code == 2
    assert "a model of the kind 'lstm' cannot keep documents in a row apart; set input.rows=documents" in err


@pytest.mark.usefixtures("home")
def test_check_tells_windows_and_documents_per_row(say: Say) -> None:
    code, out, err = say("check", "mine.toml")
    assert code == 0, err
    assert "of 24 tokens, cut again each epoch" in out + err
    code, out, err = say("check", "mine.toml", "input.rows=documents", "input.rows=packed", "input.segment=64")
    assert code == 0, err
    assert "documents per row" in out + err


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", ["windows", "packed"])
def test_a_training_that_was_stopped_goes_on_to_the_same_bits(name: str) -> None:
    """Across the border of an epoch, where windows are cut and documents packed anew."""
    overrides = ["training.schedule=constant", "training.tokens=960"]
    if name == "packed":
        overrides += ["input.rows=documents", "input.rows=packed", "input.segment=64"]
    for run, all_steps in (("straight", (9,)), ("stopped", (4, 9))):
        for steps in all_steps:
            assert (
                typed("train", "mine.toml", "--run", f"runs/{name}-{run}", *overrides, f"training.steps={steps}") == 0
            )
    one, other = (open_run(Path(f"runs/{name}-{run}"), which="last").model for run in ("straight", "stopped"))
    assert all(torch.equal(tensor, other.state_dict()[key]) for key, tensor in one.state_dict().items())
