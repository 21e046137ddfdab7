"""Checkpoints of Hugging Face on their way in and out: what is refused, and in which words."""

import errno
import json
import pickle
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tokenizers import models, pre_tokenizers, processors

import seqwright as sw
from seqwright import conversion
from seqwright.__main__ import main as typed
from seqwright.data.cards import cache_folder
from seqwright.errors import DataError
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings
from seqwright.interchange.heads import is_rounded_up
from seqwright.interchange.pretrained import refuse_tokenizer_of_another
from seqwright.interchange.tokenizer_files import read_tokenizer, write_tokenizer
from seqwright.recipe import recipe_from
from seqwright.runs import model_of, open_run, write_run
from seqwright.training.weights import unique_tensors
from tests.wires import classifier_wires, masked_wires, running_wires

Damage = Callable[[Path], object]
TEXTS = ["the quick brown fox jumps over the lazy dog"] * 3
SIZES: dict[str, Any] = {"width": 12, "heads": 3, "layers": 2, "context": 17, "feed_forward": 19}


def main(words: list[str]) -> int:
    """Type a command; its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["seqwright", *words])
        try:
            typed()
        except SystemExit as end:
            return int(end.code or 0)
    return 0


def made(kind: str, folder: Path, *, joined: bool = True, **settings: Any) -> None:
    """A run of a few parameters that never saw a text."""
    tokenizer = Tokenizer.train(TEXTS, TokenizerSettings(vocabulary=61), special=("<mask>",))
    objective = "next-token" if kind in {"gpt", "lstm"} else "masked-token"
    plain: dict[str, Any] = {
        "task": "language-modeling" if objective == "next-token" else "masked-language-modeling",
        "data": {"train": "none.txt"},
        "input": {} if joined else {"rows": "documents", "longest": 16},
        "model": {"kind": kind, **settings},
        "objective": {"kind": objective},
    }
    recipe = recipe_from(plain, name=folder.name)
    inputs = running_wires(tokenizer, **plain["input"]) if objective == "next-token" else masked_wires(tokenizer, 16)
    write_run(recipe, folder, inputs, model_of(recipe, inputs.sizes()))


def made_classifier(folder: Path, *, pairs: bool) -> None:
    """The same for a RoBERTa that classifies texts, or pairs of them."""
    tokenizer = Tokenizer.train(TEXTS, TokenizerSettings(vocabulary=61), special=("<mask>",))
    plain = {"task": "text-classification", "data": {"train": "none.tsv"}, "model": {"kind": "roberta", **SIZES}}
    recipe = recipe_from(plain, name=folder.name)
    inputs = classifier_wires(tokenizer, {"no": 1, "yes": 1}, longest=13, begins=True, pairs=pairs)
    write_run(recipe, folder, inputs, model_of(recipe, inputs.sizes()))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a GPT and a BERT, and both as other programs have them."""
    folder = tmp_path_factory.mktemp("interchange")
    for kind in ("gpt", "bert"):
        made(kind, folder / "runs" / kind, **SIZES)
        assert main(["export", str(folder / "runs" / kind), str(folder / kind), "--to", "hf"]) == 0
    return folder


@pytest.fixture
def here(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of them, to be damaged."""
    for name in ("gpt", "bert"):
        shutil.copytree(home / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What is said when something is refused: one line, without a traceback, with exit code 2."""
    capsys.readouterr()
    assert main(list(words)) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith(f"seqwright {words[0]}: ")
    return said


@pytest.mark.parametrize("kind", ["gpt", "bert"])
def test_there_and_back_gives_the_same_numbers(kind: str, home: Path, here: Path) -> None:
    assert main(["import", kind]) == 0
    before, after = (open_run(root / "runs" / kind) for root in (home, here))
    assert before.recipe.model.model_dump() == after.recipe.model.model_dump()
    theirs = unique_tensors(after.model)
    for name, tensor in unique_tensors(before.model).items():
        assert torch.equal(tensor, theirs[name]), name
    assert before.inputs.tokenizer.encode(TEXTS)[0].tolist() == after.inputs.tokenizer.encode(TEXTS)[0].tolist()
    assert "imported" in (here / "runs" / kind / "card.md").read_text()


def cached() -> list[Path]:
    return sorted((cache_folder() / "imported").glob("*"))


def test_a_folder_of_transformers_is_loaded_from_the_cache_and_converted_once(
    home: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(here / "cache"))
    run, own = sw.load("bert"), open_run(home / "runs" / "bert")
    assert (run.recipe.name, run.recipe.task) == ("bert", "masked-language-modeling")
    theirs = unique_tensors(run.model)
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in unique_tensors(own.model).items())
    (kept,) = cached()
    assert run.folder == kept / "bert"
    shutil.copytree("bert", "elsewhere")  # the same content
    with monkeypatch.context() as patch:
        patch.delattr(conversion, "converted")  # nothing is converted again
        assert sw.load(here / "bert").folder == sw.load("elsewhere").folder == run.folder
    other = tensors_changed(lambda tensors: tensors["cls.predictions.bias"].add_(1))
    other(here / "elsewhere")
    assert sw.load("elsewhere").folder.name == "elsewhere"
    assert len(cached()) == 2


def test_what_is_remarkable_of_a_loaded_folder_is_warned_of_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(here / "cache"))
    tensors_changed(lambda tensors: tensors.update({"transformer.h.0.attn.bias": torch.ones(1)}))(here / "gpt")
    with pytest.warns(UserWarning, match="gpt: left out, since every model computes them itself: transformer.h.0"):
        sw.load("gpt")
    assert sw.load("gpt").recipe.task == "language-modeling"  # warnings are errors


def test_a_conversion_that_fails_leaves_nothing_and_two_at_once_give_one_run(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(here / "cache"))
    real = write_run

    def dying(*given: Any) -> Any:
        real(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(conversion, "write_run", dying)
        with pytest.raises(KeyboardInterrupt):
            sw.load("bert")
    assert cached() == []

    converted: list[Path] = []
    begun = threading.Event()

    def slow(*given: Any) -> Any:
        converted.append(given[1])
        begun.set()
        time.sleep(0.2)  # the other comes meanwhile
        return real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(conversion, "write_run", slow)
        first = threading.Thread(target=sw.load, args=("bert",))
        first.start()
        begun.wait()
        run = sw.load("bert")
        first.join()
    assert len(converted) == 1  # the second waited for the first
    assert [run.folder.parent] == cached()
    assert sw.load("bert").folder == run.folder


def test_a_folder_that_cannot_be_imported_cannot_be_loaded_either(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(here / "cache"))
    (here / "bert" / "config.json").write_text('{"model_type": "t5"}', encoding="utf-8")
    with pytest.raises(DataError, match="is of model_type 't5'; those that can be imported are gpt2, bert"):
        sw.load("bert")
    assert cached() == []
    (here / "bert" / "model.safetensors").unlink()
    with pytest.raises(DataError, match=r"bert has no model\.safetensors"):
        sw.load("bert")


def test_vectors_alone_need_no_token_for_a_mask(here: Path) -> None:
    without_a_mask(here / "bert")
    tensors_changed(lambda tensors: [tensors.pop(name) for name in list(tensors) if "cls." in name])(here / "bert")
    assert main(["import", "bert"]) == 0
    assert open_run(here / "runs" / "bert").inputs.tokenizer.mask is None


def shortened(run: Path) -> None:
    (weights,) = run.glob("step-*/model.safetensors")
    weights.write_bytes(weights.read_bytes()[:-1])


def without_steps(run: Path) -> None:
    (step,) = run.glob("step-*")
    shutil.rmtree(step)


@pytest.mark.parametrize("damage", [shortened, without_steps])
@pytest.mark.parametrize(
    ("name", "options"), [("gpt", ""), ("text-classification", ""), ("text-classification", "--pairs ")]
)
def test_the_way_out_of_a_damaged_run_is_to_import_it_again(
    name: str, options: str, damage: Damage, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name in HEADS:
        headed(name, here)
    run = Path("my runs/mine")
    assert main(["import", name, "--run", str(run), *options.split()]) == 0
    before = open_run(run)
    damage(run)
    said = refused(capsys, "look", str(run), "the")
    line = f"seqwright import {name} --run 'my runs/mine' {options}--yes"
    assert said.endswith(f"; restore it from a copy, or import it again: {line}")
    assert main(shlex.split(line)[1:]) == 0
    after = open_run(run)
    assert after.recipe == before.recipe
    assert name == "gpt" or after.inputs.input.pairs is before.inputs.input.pairs is bool(options)


def test_an_imported_run_whose_mark_is_lost_is_opened_and_that_is_said(here: Path) -> None:
    assert main(["import", "gpt"]) == 0
    for mark in ("best", "last"):
        Path("runs/gpt", mark).unlink(missing_ok=True)
    said: list[str] = []
    assert open_run(Path("runs/gpt"), notice=said.append).step == 1
    assert said == ["runs/gpt has no checkpoint that `last` names; using step 1 instead"]


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ("weight_files.save_file", SafetensorError("Error while serializing: I/O error: No space left on device")),
        ("pretrained.write_json", OSError(errno.ENOSPC, "No space left on device")),
        ("pretrained.write_tokenizer", OSError(errno.ENOSPC, "No space left on device")),
    ],
)
def test_a_full_disk_leaves_no_half_of_an_exported_folder(
    step: str,
    error: Exception,
    home: Path,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise error

    before = {path.name: path.read_bytes() for path in (here / "gpt").iterdir()}
    monkeypatch.setattr(f"seqwright.interchange.{step}", full)
    for folder in ("new", "gpt"):
        said = refused(capsys, "export", str(home / "runs" / "gpt"), folder, "--to", "hf", "--yes")
        assert f"{folder} cannot be written: " in said
        assert said.endswith("No space left on device; choose another place")
    assert sorted(path.name for path in here.iterdir()) == ["bert", "gpt"]
    assert {path.name: path.read_bytes() for path in (here / "gpt").iterdir()} == before


def test_what_else_lies_in_a_folder_that_is_exported_to_stays(home: Path, here: Path) -> None:
    (here / "gpt" / "README.md").write_text("mine")
    (here / "gpt" / "config.json").write_text("old")
    assert main(["export", str(home / "runs" / "gpt"), "gpt", "--to", "hf", "--yes"]) == 0
    assert (here / "gpt" / "README.md").read_text() == "mine"
    assert json.loads((here / "gpt" / "config.json").read_text())["model_type"] == "gpt2"


def test_without_a_name_the_folder_is_called_after_the_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "gpt"]) == 0
    assert main(["export", "runs/gpt", "--to", "hf"]) == 0
    assert "wrote GPT2LMHeadModel to gpt-hf\n" in capsys.readouterr().err
    assert (here / "gpt-hf" / "config.json").is_file()
    assert "gpt-hf exists; choose another name" in refused(capsys, "export", "runs/gpt", "--to", "hf")
    assert main(["export", "runs/gpt/", "--to", "word2vec"]) == 0
    assert (here / "gpt.vec").read_text(encoding="utf-8").startswith("61 12\n")
    said = refused(capsys, "export", "runs/gpt")
    assert "what shall be written is not said; name a file that ends in .vec or .txt for word2vec, .arpa" in said


def test_the_file_inside_the_folder_will_do_and_a_run_is_not_overwritten(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", "gpt/model.safetensors"]) == 0
    assert open_run(here / "runs" / "gpt").recipe.data.imported == "gpt/model.safetensors"
    assert "runs/gpt is a run already" in refused(capsys, "import", "gpt")
    assert main(["import", "gpt", "--yes"]) == 0


def test_one_architecture_need_not_stand_in_a_list(here: Path) -> None:
    changed("config.json", architectures="GPT2LMHeadModel")(here / "gpt")
    assert main(["import", "gpt"]) == 0


def test_weights_in_several_files_are_one_model(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tensors = load_file(here / "gpt" / "model.safetensors")
    names = sorted(tensors)
    files = {name: f"model-0000{1 + place % 2}-of-00002.safetensors" for place, name in enumerate(names)}
    for file in set(files.values()):
        save_file({name: tensors[name] for name in names if files[name] == file}, here / "gpt" / file)
    (here / "gpt" / "model.safetensors").unlink()
    (here / "gpt" / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))
    assert main(["import", "gpt"]) == 0
    found = unique_tensors(open_run(here / "runs" / "gpt").model)
    assert torch.equal(found["body.tokens.weight"], tensors["transformer.wte.weight"])
    (here / "gpt" / files[names[0]]).unlink()
    assert "is missing, though model.safetensors.index.json names it" in refused(capsys, "import", "gpt", "--yes")


def test_names_without_prefix_old_names_and_half_precision_are_read(here: Path) -> None:
    path = here / "bert" / "model.safetensors"
    tensors = load_file(path)
    old = {name: tensor for name, tensor in tensors.items() if name.startswith("bert.")}
    old = {
        name.removeprefix("bert.").replace("LayerNorm.weight", "LayerNorm.gamma"): tensor.half()
        for name, tensor in old.items()
    }
    old["embeddings.position_ids"] = torch.arange(17)
    save_file(old, path)
    assert main(["import", "bert"]) == 0
    run = open_run(here / "runs" / "bert")
    assert (run.recipe.model.head, run.recipe.model.pooler) == (False, True)
    expected = tensors["bert.encoder.layer.1.output.LayerNorm.weight"].half().float()
    assert torch.equal(unique_tensors(run.model)["body.blocks.1.around_feed_forward.norm.weight"], expected)


@pytest.mark.parametrize("task", ["masked-language-modeling", "text-classification"])
def test_a_pooler_that_nothing_reads_is_left_out_and_that_is_said(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in roberta-base and most that were made from it."""
    monkeypatch.chdir(tmp_path)
    made("roberta", Path("mine"), **SIZES) if task == "masked-language-modeling" else made_classifier(
        Path("mine"), pairs=False
    )
    assert main(["export", "mine", "theirs", "--to", "hf"]) == 0
    path = tmp_path / "theirs" / "model.safetensors"
    idle = {"roberta.pooler.dense.weight": torch.ones(12, 12), "roberta.pooler.dense.bias": torch.ones(12)}
    save_file({**load_file(path), **idle}, path)
    assert main(["import", "theirs"]) == 0
    said = capsys.readouterr().err
    assert "left out, since nothing reads them under this head: roberta.pooler.dense." in said
    before, after = (unique_tensors(open_run(Path(run)).model) for run in ("mine", "runs/theirs"))
    assert before.keys() == after.keys()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items() if "positions" not in name)


def test_a_masked_bert_whose_pooler_lies_idle_is_read(here: Path) -> None:
    path = here / "bert" / "model.safetensors"
    tensors = load_file(path)
    save_file({name: t for name, t in tensors.items() if not name.startswith("cls.seq_relationship")}, path)
    assert main(["import", "bert"]) == 0
    assert open_run(here / "runs" / "bert").recipe.model.pooler is False


def test_pairs_come_back_as_pairs_and_others_can_be_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made_classifier(Path("mine"), pairs=True)
    assert main(["export", "mine", "theirs", "--to", "hf"]) == 0
    assert main(["import", "theirs"]) == 0
    inputs = open_run(Path("runs/theirs")).inputs
    assert (inputs.input.pairs, inputs.input.longest) == (True, 17 - 3)
    capsys.readouterr()
    assert main(["classify", "runs/theirs", "the fox", "--text-pair", "the dog"]) == 0
    assert capsys.readouterr().out.split()[0] in {"no", "yes"}
    made_classifier(Path("single"), pairs=False)
    assert main(["export", "single", "theirs", "--to", "hf", "--yes"]) == 0
    for words, pairs in (([], False), (["--pairs"], True)):
        assert main(["import", "theirs", "--yes", *words]) == 0
        assert open_run(Path("runs/theirs")).inputs.input.pairs is pairs
    made("gpt", Path("gpt"), **SIZES)
    assert main(["export", "gpt", "gpt-hf", "--to", "hf"]) == 0
    said = refused(capsys, "import", "gpt-hf", "--pairs")
    assert said.endswith(
        "--pairs is for text classification and regression, and this is a gpt for language-modeling; leave it out"
    )


def headed(task: str, here: Path) -> None:
    """The BERT with a head that was drawn for another task in place of its own."""
    architecture, output, labels = HEADS[task]
    shutil.copytree(here / "bert", here / task)

    def beheaded(tensors: dict[str, torch.Tensor]) -> None:
        for name in [name for name in tensors if name.startswith("cls.")]:
            tensors.pop(name)
        tensors[f"{output}.weight"] = torch.randn(len(labels), 12, generator=torch.Generator().manual_seed(7))
        tensors[f"{output}.bias"] = torch.zeros(len(labels))

    tensors_changed(beheaded)(here / task)
    changed("config.json", architectures=[architecture], id2label=dict(enumerate(labels)))(here / task)


HEADS = {
    "text-classification": ("BertForSequenceClassification", "classifier", ["no", "yes"]),
    "text-regression": ("BertForSequenceClassification", "classifier", ["LABEL_0"]),
    "token-classification": ("BertForTokenClassification", "classifier", ["O", "B-ANIMAL"]),
    "question-answering": ("BertForQuestionAnswering", "qa_outputs", ["LABEL_0", "LABEL_1"]),
}
THE_FOX, OF_PAIRS = "the fox\tyes\nthe lazy dog\tno\n", "the fox,the dog,yes\nthe dog,the dog,no\n"
COMPARED = {"text-classification", "text-regression"}  # otherwise beside what knows less
FILES: list[tuple[str, list[str], str, str, str, list[Any]]] = [
    ("text-classification", [], "two.tsv", f"text\tlabel\n{THE_FOX}", "label", ["yes", "no"]),
    ("text-classification", [], "bare.tsv", THE_FOX, "text", ["the fox", "the lazy dog"]),
    (
        "text-classification",
        ["--pairs"],
        "two.csv",
        f"sentence1,sentence2,label\n{OF_PAIRS}",
        "text_pair",
        ["the dog"] * 2,
    ),
    ("text-regression", [], "two.tsv", "sentence\tscore\nthe fox\t1.5\nthe dog\t2\n", "value", [1.5, 2.0]),
    ("token-classification", [], "two.conll", "the O\nfox B-ANIMAL\n\nfox O\n", "tags", [["O", "B-ANIMAL"], ["O"]]),
    ("question-answering", [], "one.csv", "question,context,answer\nwho,the quick fox,fox\n", "answers", [["fox"]]),
    ("bert", [], "two.txt", "the fox. a dog.\nthe dog. a fox.\n", "follows", [True, True]),
    ("gpt", [], "two.txt", "the quick fox\nthe lazy dog\n", "text", ["the quick fox", "the lazy dog"]),
]


@pytest.mark.parametrize(("name", "words", "file", "content", "key", "expected"), FILES)
def test_an_imported_model_is_evaluated_on_a_file_of_any_task(
    name: str, words: list[str], file: str, content: str, key: str, expected: list[Any], here: Path
) -> None:
    if name in HEADS:
        headed(name, here)
    (here / file).write_text(content, encoding="utf-8")
    assert main(["import", name, *words]) == 0
    assert main(["eval", f"runs/{name}", "--data", file]) == 0
    (answers,) = (here / "runs" / name / "eval").glob("*.jsonl")
    assert [json.loads(line)[key] for line in answers.read_text(encoding="utf-8").splitlines()] == expected


@pytest.mark.parametrize(("name", "file", "content"), [(row[0], *row[2:4]) for row in FILES if row[0] in COMPARED])
def test_an_imported_model_is_compared_with_nothing(
    name: str, file: str, content: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is mostly right, nobody knows of data that was never here."""
    headed(name, here)
    (here / file).write_text(content, encoding="utf-8")
    assert main(["import", name, *(["--pairs"] if "sentence2" in content else [])]) == 0
    assert main(["eval", f"runs/{name}", "--data", file]) == 0
    said = " ".join("".join(capsys.readouterr()).split())
    assert "what the model was trained on is not known" in said
    assert "baseline_" not in said


PAIR_TABLE = f"sentence1,sentence2,label\n{OF_PAIRS}"
MISFITS = [
    (
        [],
        "text,label\nthe fox,Yes\nthe dog,no\n",
        "the file has the label 'Yes' (1 example), but the model knows only 'no', 'yes': write these into the file. "
        "Did you mean 'yes'?",
    ),
    (
        [],
        PAIR_TABLE,
        "the file has pairs of texts, but the model was imported for single ones: import it with --pairs",
    ),
    (
        ["--pairs"],
        "text,label\nthe fox,yes\nthe dog,no\n",
        "the file has single texts, but the model was imported for pairs: import it without --pairs, or give the file "
        "a second text, in columns named sentence1 and sentence2 or text1 and text2",
    ),
]


@pytest.mark.parametrize(("words", "content", "sentence"), MISFITS)
def test_a_file_that_does_not_fit_an_imported_classifier_is_told_what_would(
    words: list[str], content: str, sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    headed("text-classification", here)
    (here / "table.csv").write_text(content, encoding="utf-8")
    assert main(["import", "text-classification", *words]) == 0
    said = refused(capsys, "eval", "runs/text-classification", "--data", "table.csv")
    assert said == f"seqwright eval: {sentence}"


def test_pairs_for_an_imported_rater_of_single_texts_are_told_the_same(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    headed("text-regression", here)
    (here / "table.csv").write_text("sentence1,sentence2,score\nthe fox,the dog,1.5\n", encoding="utf-8")
    assert main(["import", "text-regression"]) == 0
    said = refused(capsys, "eval", "runs/text-regression", "--data", "table.csv")
    assert said.endswith("but the model was imported for single ones: import it with --pairs")


@pytest.mark.parametrize("joined", [True, False])
def test_what_stands_before_a_text_comes_back_as_it_was(
    joined: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made("gpt", Path("mine"), joined=joined, **SIZES)
    assert main(["export", "mine", "theirs", "--to", "hf"]) == 0
    assert main(["import", "theirs"]) == 0
    before, after = (open_run(Path(run)) for run in ("mine", "runs/theirs"))
    assert before.inputs.input.first == after.inputs.input.first
    assert after.inputs.input.joins is joined


def changed(file: str, **values: Any) -> Damage:
    def damage(folder: Path) -> None:
        plain = json.loads((folder / file).read_text())
        plain = {name: value for name, value in {**plain, **values}.items() if value != "left out"}
        (folder / file).write_text(json.dumps(plain))

    return damage


def tensors_changed(change: Callable[[dict[str, torch.Tensor]], object]) -> Damage:
    def damage(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors")

    return damage


def cut_off(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"a": torch.zeros(1)}, folder / "pytorch_model.bin")


def more_tokens(folder: Path) -> None:
    library = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    library.add_tokens([f"new-{number}" for number in range(70)])
    library.save(str(folder / "tokenizer.json"))


def pickled_under_another_name(protocol: int | None) -> Damage:
    """As `torch.save` wrote it before it made zip files, and as it does since."""

    def damage(folder: Path) -> None:
        if protocol is None:
            torch.save({"a": torch.zeros(1)}, folder / "model.safetensors")
        else:
            (folder / "model.safetensors").write_bytes(pickle.dumps({"a": 1}, protocol))

    return damage


def without_a_mask(folder: Path) -> None:
    """As if the vocabulary of a model that writes had been copied there."""
    plain = json.loads((folder / "tokenizer.json").read_text())
    plain["added_tokens"] = [token for token in plain["added_tokens"] if token["content"] != "<mask>"]
    (folder / "tokenizer.json").write_text(json.dumps(plain))


def more_vectors(count: int) -> Damage:
    def grown(tensors: dict[str, torch.Tensor]) -> None:
        tensors[WTE] = torch.cat([tensors[WTE], torch.ones(count, 12)])

    return tensors_changed(grown)


def labels_called(id2label: Any) -> Damage:
    return changed("config.json", architectures=["BertForSequenceClassification"], id2label=id2label)


LAST_BLOCK = [
    rf"transformer\.h\.2\.{layer}\.{part}"
    for layer in ("ln_1", r"attn\.c_attn", r"attn\.c_proj", "ln_2", r"mlp\.c_fc", r"mlp\.c_proj")
    for part in ("weight", "bias")
]
LATER_BLOCKS = [name.replace(r"h\.2", r"h\.{n}") + r" \(3 times\)" for name in LAST_BLOCK]
WTE, BIAS = "transformer.wte.weight", "transformer.h.1.attn.c_attn.bias"
DAMAGES: list[tuple[str, Damage, str]] = [
    ("gpt", pickled, r"pytorch_model\.bin is a pickle, which can run any program .* convert it .* python -c"),
    ("gpt", cut_off, r"model\.safetensors is damaged or cut off .*: get it again"),
    (
        "gpt",
        pickled_under_another_name(None),
        r"model\.safetensors is a pickle, which can run any program .* python -c",
    ),
    ("gpt", pickled_under_another_name(2), r"model\.safetensors is a pickle, which can run any program .* python -c"),
    ("gpt", pickled_under_another_name(4), r"model\.safetensors is a pickle, which can run any program .* python -c"),
    ("gpt", lambda folder: (folder / "config.json").unlink(), r"there is no gpt/config\.json; expected the folder"),
    ("gpt", lambda folder: (folder / "config.json").write_text("{"), r"config\.json cannot be read as JSON"),
    ("gpt", lambda folder: (folder / "config.json").write_text("[]"), r"config\.json holds no JSON object, but list"),
    ("gpt", lambda folder: (folder / "model.safetensors").unlink(), r"gpt has no model\.safetensors and no"),
    ("gpt", lambda folder: (folder / "tokenizer.json").unlink(), r"gpt has no tokenizer: expected tokenizer\.json"),
    ("gpt", lambda folder: (folder / "tokenizer.json").write_text("{}"), r"tokenizer\.json cannot be read as a tokeni"),
    ("gpt", more_tokens, r"tokenizer of gpt has 131 tokens, but the weights have vectors for 61: they do not belong"),
    ("gpt", more_vectors(62), r"tokenizer of gpt has 61 tokens, but the weights have vectors for 123: they do not bel"),
    (
        "bert",
        without_a_mask,
        r"bert finds words that are masked, but its tokenizer has no .* expected \[MASK\] or <mask>",
    ),
    (
        "bert",
        labels_called(["no", "yes"]),
        r'config\.json has id2label = \["no", "yes"\], expected a name in one line for each num',
    ),
    ("bert", labels_called({"no": 0}), r'config\.json has id2label = {"no": 0}, expected .* as in {"0": "bad", "1": '),
    ("bert", labels_called({"1": "no", "2": "yes"}), r'id2label = {"1": "no", "2": "yes"}, expected .* number from 0'),
    ("bert", labels_called({"0": "no", "1": None}), r'id2label = {"0": "no", "1": null}, expected a name in one line'),
    ("bert", labels_called({"0": "no", "1": " "}), r'id2label = {"0": "no", "1": " "}, expected a name in one line'),
    ("bert", labels_called({"0": "no", "1": ["a"]}), r'id2label = {"0": "no", "1": \["a"\]}, expected a name in one'),
    ("bert", labels_called({"0": "no", "1": "a\n"}), r'id2label = {"0": "no", "1": "a\\n"}, expected a name in one'),
    (
        "bert",
        labels_called({"0": "a", "1": "b", "2": "a"}),
        r"config\.json has one name, 'a', for the labels 0 and 2 in",
    ),
    ("gpt", changed("config.json", model_type="llama"), r"model_type 'llama'; those that can .* gpt2, bert, roberta"),
    ("gpt", changed("config.json", architectures=["GPT2ForTokenClassification"]), r"architecture GPT2ForTokenClass"),
    ("gpt", changed("config.json", architectures="GPT2ForTokenClassification"), r"architecture GPT2ForTokenClass"),
    ("gpt", changed("config.json", activation_function="relu"), r"activation_function = 'relu'; only 'gelu_new' and"),
    ("gpt", changed("config.json", layer_norm_epsilon=1e-6), r"layer_norm_epsilon = 1e-06; only 1e-05 can be"),
    ("bert", changed("config.json", position_embedding_type="relative_key"), r"position_embedding_type = 'relative"),
    ("gpt", changed("config.json", n_head="left out", n_layer=None), r"config\.json lacks n_head, n_layer: get it"),
    (
        "bert",
        changed(
            "config.json", architectures=["BertForSequenceClassification"], problem_type="multi_label_classification"
        ),
        r"config\.json gives an example several labels at once \(problem_type\); only one",
    ),
    ("gpt", changed("config.json", n_head=5), r"model: width 12 does not divide into 5 heads"),
    ("gpt", changed("config.json", n_embd=18), r"wte\.weight \(61, 12\), but its settings make that \(61, 18\)"),
    ("gpt", changed("config.json", n_layer=3), rf"gpt lacks {', '.join(LAST_BLOCK)}; such a model cannot be imported"),
    ("gpt", changed("config.json", n_layer=5), rf"gpt lacks {', '.join(LATER_BLOCKS)}; such a model cannot be impor"),
    ("gpt", changed("config.json", n_layer=1), r"gpt has the unknown transformer\.h\.1\.attn\.c_attn\.bias, "),
    (
        "gpt",
        tensors_changed(lambda tensors: tensors.update({f"transformer.h.{n}.rotary": torch.zeros(2) for n in (0, 1)})),
        r"gpt has the unknown transformer\.h\.{n}\.rotary \(2 times\); such",
    ),
    ("gpt", tensors_changed(lambda tensors: tensors.pop(BIAS)), rf"gpt lacks {BIAS}; such a model cannot"),
    ("gpt", tensors_changed(lambda tensors: tensors.pop(WTE)), rf"gpt lacks {WTE}; such a model cannot"),
    ("gpt", tensors_changed(lambda tensors: tensors.update(extra=torch.zeros(2))), r"gpt has the unknown extra; such"),
    (
        "gpt",
        tensors_changed(lambda tensors: tensors.update({"lm_head.weight": tensors[WTE] + 1})),
        r"another lm_head\.weight than transformer\.wte\.weight; only models where they are one",
    ),
    (
        "bert",
        tensors_changed(lambda tensors: tensors.pop("cls.predictions.transform.dense.bias")),
        r"bert lacks cls\.predictions\.transform\.dense\.bias; such",
    ),
]


@pytest.mark.parametrize(("kind", "damage", "sentence"), DAMAGES)
def test_what_cannot_be_imported_is_named(
    kind: str, damage: Damage, sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(here / kind)
    said = refused(capsys, "import", kind)
    assert re.search(sentence, said), said
    assert not (here / "runs" / kind).exists()


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.safetensors"])
def test_the_way_out_of_a_pickle_works(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = here / "gpt" / "model.safetensors"
    tensors = load_file(path)
    path.unlink()
    torch.save({**tensors, "lm_head.weight": tensors[WTE]}, here / "gpt" / name)
    said = refused(capsys, "import", "gpt")
    assert refused(capsys, "import", f"gpt/{name}") == said
    line = said.split('python -c "')[1].removesuffix('"')
    subprocess.run([sys.executable, "-c", line], cwd=here / "gpt", check=True)
    assert main(["import", "gpt"]) == 0
    assert torch.equal(unique_tensors(open_run(here / "runs" / "gpt").model)["body.tokens.weight"], tensors[WTE])


def test_a_safetensors_file_that_begins_like_a_pickle_is_only_cut_off(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its first bytes are the length of its header, here 640: those of a pickle of protocol 2."""
    path = here / "gpt" / "model.safetensors"
    save_file({"a": torch.zeros(1)}, path, metadata={"format": "x" * 557})
    assert path.read_bytes().startswith(b"\x80\x02")
    path.write_bytes(path.read_bytes()[:-1])
    assert "model.safetensors is damaged or cut off" in refused(capsys, "import", "gpt")


def test_tensors_that_every_model_computes_itself_are_left_out_and_that_is_said(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def old(tensors: dict[str, torch.Tensor]) -> None:
        for block in range(2):
            tensors[f"transformer.h.{block}.attn.bias"] = torch.ones(1, 1, 17, 17)
        tensors["transformer.h.0.attn.masked_bias"] = torch.tensor(-1e4)

    tensors_changed(old)(here / "gpt")
    assert main(["import", "gpt"]) == 0
    said = "transformer.h.{n}.attn.bias (2 times), transformer.h.0.attn.masked_bias\n"
    assert f"left out, since every model computes them itself: {said}" in capsys.readouterr().err


VOCABULARIES = [
    (50_257, 50_257, True),  # GPT-2
    (50_257, 50_259, True),  # the same with two tokens that somebody added
    (50_257, 50_304, True),  # nanoGPT
    (50_257, 51_200, True),  # Megatron on eight devices
    (30_522, 30_528, True),  # MosaicBERT
    (31_102, 32_102, False),  # dbmdz/bert-base-italian-xxl, which was published so
    (30_521, 50_000, False),  # IndoBERT, too
    (50_257, 50_265, False),  # the tokenizer of GPT-2 beside RoBERTa
    (28_996, 30_522, False),  # that of BERT with capitals beside BERT without
    (61, 122, False),
]


@pytest.mark.parametrize(("tokens", "vectors", "rounded"), VOCABULARIES)
def test_a_vocabulary_may_be_rounded_up_or_be_published_with_more_vectors(
    tokens: int, vectors: int, rounded: bool
) -> None:
    refuse_tokenizer_of_another(tokens, vectors, Path("folder"))
    assert is_rounded_up(tokens, vectors) is rounded


@pytest.mark.parametrize(("tokens", "vectors"), [(30_522, 28_996), (31, 1024), (61, 123)])
def test_no_model_has_fewer_vectors_than_tokens_or_over_half_of_them_unused(tokens: int, vectors: int) -> None:
    with pytest.raises(DataError, match="do not belong together"):
        refuse_tokenizer_of_another(tokens, vectors, Path("folder"))


def test_vectors_that_no_token_has_get_names_that_no_text_has(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "gpt", "--run", "runs/whole"]) == 0
    assert "no token" not in capsys.readouterr().err
    more_vectors(3)(here / "gpt")
    assert main(["import", "gpt"]) == 0
    said = "vectors that belong to no token of the tokenizer: 3 of 64, from <unused-61> on\n"
    assert said in capsys.readouterr().err
    run = open_run(here / "runs" / "gpt")
    tokenizer = run.inputs.tokenizer
    assert (tokenizer.size, tokenizer.pieces([61, 63])) == (64, ["<unused-61>", "<unused-63>"])
    assert {61, 62, 63} <= set(tokenizer.unwritten())


def test_more_vectors_than_rounding_explains_may_mean_another_tokenizer(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more_vectors(8)(here / "gpt")
    assert main(["import", "gpt"]) == 0
    said = "8 of 69, from <unused-61> on; rounding explains fewer: unless the model was published so, the tokenizer may"
    assert said in capsys.readouterr().err
    assert open_run(here / "runs" / "gpt").inputs.tokenizer.size == 69


def test_options_that_mean_nothing_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--like is for ARPA files" in refused(capsys, "import", "gpt", "--like", "runs/other")
    (here / "model.onnx").touch()
    assert "expected a folder or a file that ends in .arpa" in refused(capsys, "import", "model.onnx")
    assert "there is no file nowhere.safetensors" in refused(capsys, "import", "nowhere.safetensors")
    for nowhere in ("nowhere", "nowhere.bin", "no/where"):
        said = refused(capsys, "import", nowhere)
        assert f"there is no file or folder {nowhere}, expected a folder or a file that ends in .arpa" in said
    assert refused(capsys, "import", "berd").endswith("Did you mean 'bert'?")
    assert main(["import", "gpt"]) == 0
    assert "gpt exists; choose another name" in refused(capsys, "export", "runs/gpt", "gpt", "--to", "hf")
    (here / "file").touch()
    assert "file is a file; name a folder" in refused(capsys, "export", "runs/gpt", "file", "--to", "hf")
    made("lstm", here / "runs" / "lstm", width=8)
    said = refused(capsys, "export", "runs/lstm", "lstm", "--to", "hf")
    assert (
        "a lstm for language-modeling has no equal in transformers; those that have are gpt for language-modeling and "
        "instruction, bert for masked-language-modeling, " in said
    )


# ---------------------------------------------------------------------------------------------------- vocabularies


def test_the_vocabulary_of_bert_is_a_file_of_lines(tmp_path: Path) -> None:
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "fox", "##es", "cafe", ","]
    (tmp_path / "vocab.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    tokenizer = read_tokenizer(tmp_path, causal=False)
    assert tokenizer.pieces(tokenizer.encode(["The foxes, Café dog"])[0]) == [
        "the",
        "fox",
        "##es",
        ",",
        "cafe",
        "[UNK]",
    ]
    assert (tokenizer.begin, tokenizer.end, tokenizer.mask, tokenizer.size) == (2, 3, 4, 10)
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    cased = read_tokenizer(tmp_path, causal=False)
    assert cased.pieces(cased.encode(["The the"])[0]) == ["[UNK]", "the"]


def test_the_vocabulary_of_gpt_2_is_two_files(tmp_path: Path) -> None:
    pieces = ["t", "h", "e", "Ġ", "th", "the", "Ġthe", "<|endoftext|>"]
    numbered = json.dumps({piece: number for number, piece in enumerate(pieces)})
    merges = "#version: 0.2\nt h\nth e\nĠ the\n"
    for first, second in (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")):
        folder = tmp_path / first
        folder.mkdir()
        (folder / first).write_text(numbered, encoding="utf-8")
        (folder / second).write_text(merges, encoding="utf-8")
        tokenizer = read_tokenizer(folder, causal=True)
        assert tokenizer.encode(["the the"])[0].tolist() == [5, 6]
        assert (tokenizer.begin, tokenizer.end, tokenizer.mask) == (7, 7, None)
        assert tokenizer.decode([7, 5, 6, 7]) == "the the"


X = processors.TemplateProcessing(
    single="<|x|> $A </s>", pair="<|x|> $A </s> $B </s>", special_tokens=[("<|x|>", 3), ("</s>", 1)]
)
XS_OWN = processors.RobertaProcessing(("</s>", 1), ("<|x|>", 3))


@pytest.mark.parametrize(
    ("around", "before"),
    [(X, [3]), (processors.Sequence([processors.ByteLevel(), X]), [3]), (XS_OWN, [3]), (processors.ByteLevel(), [])],
)
def test_another_end_leaves_what_stands_before_a_text(
    around: processors.PostProcessor, before: list[int], tmp_path: Path
) -> None:
    names = ["<s>", "</s>", "<|eot|>", "<|x|>"]
    numbered = {name: number for number, name in enumerate([*names, "the", "fox"])}
    library = tokenizers.Tokenizer(models.WordLevel(numbered, unk_token="<s>"))
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    library.add_special_tokens(names)
    library.post_processor = around
    library.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|eot|>"}')
    tokenizer = read_tokenizer(tmp_path, causal=True)
    assert tokenizer.end == 2
    again = tokenizers.Tokenizer.from_str(tokenizer.json())
    assert again.encode("the fox").ids == [*before, 4, 5, 2]
    assert again.encode("the", "fox").ids[: len(before)] == before
    write_tokenizer(tokenizer, tmp_path, context=17, around=False, segments=False)
    out = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert out.encode("the fox").ids == [*before, 4, 5]
    assert out.encode("the", "fox").ids[-1] == 5


def test_letters_with_names_in_brackets_are_a_vocabulary(tmp_path: Path) -> None:
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "A", "C", "[HEAVY]", "[HUMAN]"]
    (tmp_path / "vocab.txt").write_text("\n".join(names), encoding="utf-8")
    tokenizer = read_tokenizer(tmp_path, causal=True)
    ids = tokenizer.encode(["[HEAVY][HUMAN]ACA"])[0].tolist()
    assert ids == [7, 8, 5, 6, 5]
    assert tokenizer.decode([*ids, tokenizer.end]) == "[HEAVY][HUMAN]ACA"
    assert (tokenizer.end, tokenizer.unwritten()) == (2, [0, 1, 3, 4])
    tokenizer.save(tmp_path / "text.json")
    assert Tokenizer.load(tmp_path / "text.json").end == 2
    assert read_tokenizer(tmp_path, causal=False).end == 3
    (tmp_path / "out").mkdir()
    write_tokenizer(tokenizer, tmp_path / "out", context=17, around=False, segments=False)
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json")).encode("ACA").ids == [5, 6, 5]
    again = read_tokenizer(tmp_path / "out", causal=True)
    assert (again.end, again.unwritten()) == (2, [0, 1, 3, 4])
