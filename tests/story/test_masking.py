"""Somebody pretrains a small BERT on texts of their own, looks at the scores, fills in words and compares texts."""

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from seqwright.analysis.embedder import Embedder
from seqwright.batches.labelled import labelled
from seqwright.errors import DataError, SettingError
from seqwright.inputs import Given
from seqwright.recipe import recipe_from
from seqwright.runs import model_of, open_run, train, write_run
from tests.story.command import typed

SAID = {"cat": "drinks milk", "dog": "eats meat", "bird": "sings songs", "fish": "likes water", "cow": "gives butter"}
MODEL = {"kind": "bert", "width": 32, "heads": 4, "layers": 1, "context": 32, "dropout": 0.0}
TRAINING = {"tokens": 512, "schedule": "cosine", "rate": 0.01, "warmup": 20, "device": "cpu", "validate_every": 500}


def plain(folder: Path, **changes: Any) -> dict[str, Any]:
    sections: dict[str, Any] = {
        "data": {"train": str(folder / "animals.txt"), "valid": "20%", "documents": "paragraphs"},
        "input": {"tokenizer": "words", "vocabulary": 60, "longest": 16},
        "output": {"masking_rate": 0.25},
        "model": MODEL,
        "objective": {"kind": "masked-token"},
        "training": {"steps": 300, **TRAINING},
    }
    changed = {name: {**section, **changes.get(name, {})} for name, section in sections.items()}
    return {"task": "masked-language-modeling", **changed}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with texts, each of one animal, a BERT that read them, and a language model that did too."""
    folder, chance = tmp_path_factory.mktemp("home"), Random(1)
    paragraphs = []
    for number in range(150):
        animal = list(SAID)[number % len(SAID)]
        lines = [f"The {chance.choice(['old', 'small', 'grey'])} {animal} {SAID[animal]}." for _ in range(5)]
        paragraphs.append("\n".join(lines))
    (folder / "animals.txt").write_text("\n\n".join(paragraphs) + "\n", encoding="utf-8")
    train(recipe_from(plain(folder)), folder / "bert")
    data = {"train": str(folder / "animals.txt")}
    small = {"kind": "lstm", "width": 8}
    language = {"data": data, "input": {"tokenizer": "words"}, "model": small, "training": {**TRAINING, "steps": 1}}
    train(recipe_from({"task": "language-modeling", **language}), folder / "lstm")
    return folder


@pytest.fixture(autouse=True)
def _there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)


def test_it_finds_hidden_words_and_what_follows(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("eval", "bert", "--json") == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["accuracy"] > 60  # nothing but chance tells old from small and grey
    assert scores["perplexity"] == pytest.approx(np.exp(scores["loss"]), rel=1e-2)
    [answers] = (home / "bert" / "eval").glob("*.jsonl")
    first = json.loads(answers.read_text(encoding="utf-8").splitlines()[0])
    assert len(first["hidden"]) == len(first["predicted"]) >= first["text"].count("<mask>")
    assert {first["follows"], first["predicted_follows"]} <= {True, False}


def test_evaluating_again_hides_the_same_words(capsys: pytest.CaptureFixture[str]) -> None:
    typed("eval", "bert", "--json")
    first = capsys.readouterr().out
    typed("eval", "bert", "--json")
    assert capsys.readouterr().out == first


@pytest.mark.parametrize("hole", ["<mask>", "[MASK]", "___", "_____"])
def test_a_hidden_word_is_found_however_it_is_written(hole: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("fill", "bert", f"The old cat drinks {hole}.", "--top", "2") == 0
    best, second = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert best[1:] == ["milk", "The old cat drinks milk."]
    assert 1 >= float(best[0]) > float(second[0]) >= 0


def test_several_hidden_words_are_found_each_on_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("fill", "bert", "The grey ___ eats [MASK].", "--top", "1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["text"] == "The grey ___ eats [MASK]."
    assert [candidates[0]["token"] for candidates in found["masks"]] == ["dog", "meat"]
    assert found["masks"][0][0]["text"] == "The grey dog eats [MASK]."
    assert len(found["masks"][1]) == 1


def test_a_file_and_standard_input_are_filled_line_by_line(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "lines.txt").write_text("The old bird sings ___.\n\nThe old cow gives ___.\n", encoding="utf-8")
    assert typed("fill", "bert", "--file", "lines.txt", "--top", "1") == 0
    from_file = capsys.readouterr()
    assert [line.split("\t")[1] for line in from_file.out.splitlines()] == ["songs", "butter"]
    assert "blank lines left out: 1" in from_file.err
    with (home / "lines.txt").open(encoding="utf-8") as lines:
        monkeypatch.setattr(sys, "stdin", lines)
        assert typed("fill", "bert", "-", "--top", "1") == 0
    assert capsys.readouterr().out == from_file.out


def test_the_probabilities_are_those_of_the_whole_vocabulary(home: Path) -> None:
    run = open_run(home / "bert")
    given = Given(["The ___ cat drinks milk."])
    [[candidates]] = run.inputs.output.ranking(1000).fill(run.model, run.inputs.batches(given), given)
    assert [each.text for each in run("The ___ cat drinks milk.")[0]] == [each.text for each in candidates[:5]]
    special = set(run.inputs.tokenizer.special)
    assert len(candidates) == run.inputs.tokenizer.size - len(special)
    assert not special & {each.token for each in candidates}
    assert 0.9 < sum(each.probability for each in candidates) <= 1
    tokens = [2, *run.inputs.tokenizer.encode(["The"])[0], run.inputs.tokenizer.mask]
    tokens += [*run.inputs.tokenizer.encode(["The cat drinks milk."])[0][1:], 3]
    batch = labelled([np.array(tokens[1:-1])], end=3, begin=2)
    with torch.inference_mode():
        logits_BTV, _ = run.model(batch, None)
    best = int(logits_BTV[0, 2].argmax())
    assert run.inputs.tokenizer.decode([best]) == candidates[0].token
    assert candidates[0].probability == pytest.approx(float(logits_BTV[0, 2].softmax(-1)[best]), rel=1e-4)


def test_embeddings_are_the_mean_of_what_the_last_block_says(home: Path) -> None:
    texts = ["The old cat drinks milk.", "The dog."]
    assert typed("embed", "bert", *texts, "--output", "vectors.npy") == 0
    found = np.load(home / "vectors.npy")
    model: Any = (run := open_run(home / "bert")).model
    for vector, text in zip(found, texts, strict=True):
        row = np.array([2, *run.inputs.tokenizer.encode([text])[0], 3])[None]
        with torch.inference_mode():
            hidden = model.body(
                torch.tensor(row), torch.ones(row.shape, dtype=torch.bool), torch.zeros_like(torch.tensor(row))
            )
        np.testing.assert_allclose(vector, hidden[0].mean(0).numpy(), atol=1e-5)
        first = Embedder(run.model, run.inputs, pooling="first")([text, "The old old old dog eats meat."])[0]
        np.testing.assert_allclose(first.numpy(), hidden[0, 0].numpy(), atol=1e-5)


def test_vectors_are_printed_as_json_or_numbers_and_can_be_of_length_one(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed("embed", "bert", "The dog.", "--json", "--normalise") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["text"] == "The dog."
    assert np.linalg.norm(found["vector"]) == pytest.approx(1, abs=1e-4)
    assert typed("embed", "bert", "The dog.", "--normalise") == 0
    assert [float(word) for word in capsys.readouterr().out.split()] == pytest.approx(found["vector"], abs=1e-5)
    assert typed("embed", "bert", "The dog.", "--normalise", "-o", "vectors.jsonl") == 0
    assert json.loads((home / "vectors.jsonl").read_text(encoding="utf-8")) == found


def test_a_language_model_embeds_texts_as_well(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("embed", "lstm", "The dog.", "The old cat drinks milk.") == 0
    both = capsys.readouterr().out.splitlines()
    assert typed("embed", "lstm", "The dog.") == 0
    assert capsys.readouterr().out.splitlines() == both[:1]
    assert both[0] != both[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["fill", "lstm", "The <mask>."],
            "lstm learnt language-modeling; fill is for a BERT, trained to find masked words: use",
        ),
        (["fill", "bert", "The dog."], "'The dog.' hides no word: write <mask>, [MASK] or ___ in its place"),
        (["fill", "bert", "The dog " * 20 + "___"], "the model reads 32 at once: shorten it"),
        (["fill", "bert", "The ___.", "--top", "0"], "--top is 0; ask for one or more"),
        (["generate", "bert", "The"], "bert learnt masked-language-modeling; generate is for"),
        (["embed", "bert", "a", "--pooling", "last"], "--pooling is 'last'; choose mean, first or thought"),
        (
            ["embed", "bert", "a", "--output", "a.txt"],
            "--output is a.txt; end its name in .npy, .csv, .tsv, .jsonl, .xlsx or .parquet",
        ),
        (["embed", "bert", "a", "--output", "animals.jsonl", "--json"], "give one of them"),
        (["embed", "bert", "a", " "], "text 2: it is blank"),
        (["embed", "lstm", "a", "--pooling", "first"], "this model has none: use mean"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(*words) == 2
    assert sentence in capsys.readouterr().err


def test_a_file_that_is_there_is_only_replaced_when_asked(home: Path) -> None:
    (home / "kept.npy").write_bytes(b"precious")
    assert typed("embed", "bert", "a", "-o", "kept.npy") == 2
    assert (home / "kept.npy").read_bytes() == b"precious"
    assert typed("embed", "bert", "The dog.", "-o", "kept.npy", "--yes") == 0
    assert np.load(home / "kept.npy").shape == (1, 32)
    assert not list(home.glob(".kept*"))


def test_what_a_long_text_loses_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("embed", "bert", "The" + " dog" * 50) == 0
    assert "text 1 has 51 tokens; the model reads 30, the rest is left out" in capsys.readouterr().err


def test_checking_shows_sentences_and_examples(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = home / "animals.toml"
    lines = ['task = "masked-language-modeling"', "[data]", f'train = "{home / "animals.txt"}"']
    lines += ['documents = "paragraphs"']
    lines += [
        "[input]",
        'tokenizer = "words"',
        "longest = 24",
        "[model]",
        *(f"{k} = {json.dumps(v)}" for k, v in MODEL.items()),
    ]
    recipe.write_text("\n".join([*lines, "[objective]", 'kind = "masked-token"']), encoding="utf-8")
    assert typed("check", str(recipe), "training.tokens=512") == 0
    out = capsys.readouterr().out
    assert "sentences" in out
    assert "one batch overfitted" in out


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"input": {"longest": 64}}, SettingError, "input.longest is 64, but the model reads 32 tokens at once"),
        ({"model": {"kind": "roberta"}}, SettingError, "set input.rows=full-sentences, or model.pooler=true"),
        ({"input": {"rows": "full-sentences"}}, SettingError, "set model.pooler=false"),
        ({"model": {"head": False}}, SettingError, "set model.head=true"),
        ({"data": {"documents": "lines"}}, DataError, "at least two must have two sentences"),
        ({"data": {"documents": "files", "split": "end"}}, DataError, "1 documents"),
    ],
)
def test_settings_that_cannot_be_learnt_from_are_refused(
    home: Path, tmp_path: Path, changes: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error) as refused:
        train(recipe_from(plain(home, **changes)), tmp_path / "run")
    assert sentence in str(refused.value)


@pytest.mark.parametrize("masking", ["tokens", "whole-words"])
def test_a_roberta_learns_without_next_sentences(home: Path, tmp_path: Path, masking: str) -> None:
    changes: dict[str, Any] = {
        "input": {"rows": "full-sentences"},
        "output": {"masking": masking},
        "model": {"kind": "roberta"},
        "training": {"steps": 3},
    }
    train(recipe_from(plain(home, **changes)), tmp_path / "run")
    lines = [json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_text(encoding="utf-8").splitlines()]
    assert "next_sentence" not in lines[0]
    assert "next_accuracy" not in lines[-1]
    assert lines[-1]["loss"] > 0


def test_an_encoder_without_its_output_for_words_can_still_embed(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs, recipe = open_run(home / "bert").inputs, recipe_from(plain(home, model={"head": False}))
    write_run(recipe, tmp_path / "bare", inputs, model_of(recipe, inputs.sizes()))
    assert typed("fill", str(tmp_path / "bare"), "The ___.") == 2
    assert "was imported without the output that predicts masked tokens; embed can use it" in capsys.readouterr().err
    assert typed("embed", str(tmp_path / "bare"), "The dog.") == 0
