"""Every shipped recipe whose kind of model `transformers` knows: a tiny run of it is exported and computes the same."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from seqwright.batches.labelled import Labelled
from seqwright.batches.text import Text
from seqwright.cli.exporting import export_run
from seqwright.cli.importing import import_model
from seqwright.interchange.families import FAMILIES
from seqwright.recipe import Recipe, parsed, read_recipe, recipe_from, shipped, with_base
from seqwright.runs import Run, model_of, open_run, train, write_run
from tests.contract.tiny_tasks import TINY
from tests.oracle.test_transformers import agree, shaken

transformers = pytest.importorskip("transformers", reason="transformers is not installed: pip install seqwright[dev]")
transformers.logging.set_verbosity_error()

MEAN = "MeanPooledBertForSequenceClassification"  # with code of its own
EXPORTED = {
    "dialogsum-gpt": "GPT2LMHeadModel",
    "dialogsum-gpt-tuned": "GPT2LMHeadModel",
    "glue-cola": "BertForSequenceClassification",
    "glue-mrpc": "BertForSequenceClassification",
    "glue-rte": "BertForSequenceClassification",
    "glue-stsb": "BertForSequenceClassification",
    "guests-bert": "BertForQuestionAnswering",
    "imdb-bert": MEAN,
    "mappings-gpt": "GPT2LMHeadModel",
    "multi30k-en-fr-gpt": "GPT2LMHeadModel",
    "multi30k-en-fr-gpt-tuned": "GPT2LMHeadModel",
    "python-gpt": "GPT2LMHeadModel",
    "reference-bert": "BertForPreTraining",
    "shakespeare-gpt": "GPT2LMHeadModel",
    "shakespeare-nanogpt": "GPT2LMHeadModel",
    "sms-spam-bert": MEAN,
    "sst2-bert": MEAN,
    "sst2-r-drop": MEAN,
    "subjqa-bert": "BertForQuestionAnswering",
    "wikitext2-bert": "BertForPreTraining",
    "wikitext2-gpt-small": "GPT2LMHeadModel",
    "wnut17-bert": "BertForTokenClassification",
}
REAL = torch.tensor([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0]], dtype=torch.bool)


def test_every_shipped_recipe_of_a_family_that_is_exchanged_is_here() -> None:
    kinds = {family.kind for family in FAMILIES.values()}
    assert {name for name in shipped() if read_recipe(name).model.kind in kinds} == EXPORTED.keys()


def tiny_recipe(name: str, folder: Path, **other: Any) -> Recipe:
    """The shipped recipe with a model of a few parameters, and the files of the tiny task in place of its data."""
    plain = with_base(parsed(shipped()[name].read_text(encoding="utf-8"), name), name)
    tiny = next(each for each in TINY if each.task == plain["task"])
    for file, text in tiny.files.items():
        sentences = text.replace(" ", ". ") if file.endswith(".txt") else text  # documents of several
        (folder / file).write_text(sentences, encoding="utf-8")
    sizes = {"width": 12, "heads": 3, "layers": 2, "feed_forward": 19, "context": 400}
    model = {key: value for key, value in plain["model"].items() if key not in {"size", "weights", "init_layers"}}
    own = {key: value for key, value in plain.get("input", {}).items() if key in {"tokenizer", "rows"}}
    training = {"steps": 1, "tokens": 300, "schedule": "constant", "rate": 1e-3, "device": "cpu"}
    data = tomllib.loads(tiny.recipe)["data"]
    return recipe_from(
        {**plain, "data": data, "input": own, "output": {}, "model": {**model, **sizes, **other}, "training": training}
    )


def tiny_run(name: str, folder: Path, **other: Any) -> Run:
    """A run that was trained for a step, none of whose tensors is at its beginning any more."""
    trained = train(tiny_recipe(name, folder, **other), folder / "trained")
    model = shaken(model_of(trained.recipe, trained.inputs.sizes()))
    write_run(trained.recipe, folder / "run", trained.inputs, model)
    return open_run(folder / "run")


@torch.no_grad()
def ours(run: Run, tokens_BT: Tensor) -> Tensor:
    model: Any = run.model
    match type(model).__name__:
        case "LanguageModel":
            logits: Tensor = model(Text(tokens_BT, tokens_BT, REAL))[0]
        case "MaskedBert":
            logits = model.lens(model.body(tokens_BT, REAL, torch.zeros_like(tokens_BT)))
        case _:
            logits = model(Labelled(tokens_BT, REAL, torch.zeros(len(REAL)), torch.zeros_like(tokens_BT)))[0]
    output = run.inputs.output
    scaled = hasattr(output, "deviation")  # a number is predicted there as it is
    return output.mean + output.deviation * logits if scaled else logits


@torch.no_grad()
def theirs(folder: Path, architecture: str, tokens_BT: Tensor) -> Tensor:
    if architecture == MEAN:
        model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True)
    else:
        model = getattr(transformers, architecture).from_pretrained(folder)
    said = model.eval()(tokens_BT, attention_mask=REAL.long())
    if "start_logits" in said:
        return torch.stack((said.start_logits, said.end_logits), dim=-1)
    found: Tensor = said.prediction_logits if "prediction_logits" in said else said.logits
    return found


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))
    # Where code that a folder brings along is copied to.
    monkeypatch.setattr(transformers.dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))


@pytest.mark.parametrize("name", EXPORTED)
def test_a_shipped_recipe_is_exported_and_computes_the_same(name: str, tmp_path: Path) -> None:
    run = tiny_run(name, tmp_path)
    export_run(tmp_path / "run", tmp_path / "hf", "hf", None, "best", yes=False)
    config = json.loads((tmp_path / "hf" / "config.json").read_text())
    assert config["architectures"] == [EXPORTED[name]]
    size = run.inputs.tokenizer.size
    tokens_BT = torch.randint(5, size, REAL.shape, generator=torch.Generator().manual_seed(3)).masked_fill(~REAL, 0)
    one, other = ours(run, tokens_BT), theirs(tmp_path / "hf", EXPORTED[name], tokens_BT)
    if one.dim() == 3:
        one, other = one[REAL], other[REAL]
    agree(one, other)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    assert 0 < max(tokenizer("red cat sea")["input_ids"]) < size


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert"])
def test_a_classifier_over_the_mean_comes_back_as_it_was(kind: str, tmp_path: Path) -> None:
    run = tiny_run("sst2-bert", tmp_path, kind=kind, head_dropout=0.3)
    export_run(tmp_path / "run", tmp_path / "hf", "hf", None, "best", yes=False)
    import_model(tmp_path / "hf", tmp_path / "back", None, yes=False)
    back = open_run(tmp_path / "back")
    assert (back.recipe.model.pooling, back.recipe.model.head_dropout) == ("mean", 0.3)
    tokens_BT = torch.randint(5, run.inputs.tokenizer.size, REAL.shape).masked_fill(~REAL, 0)
    torch.testing.assert_close(ours(back, tokens_BT), ours(run, tokens_BT))
    there = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "hf", trust_remote_code=True)
    with torch.no_grad():
        agree(there.eval()(tokens_BT, attention_mask=REAL.long()).logits, ours(run, tokens_BT))


def test_a_class_that_reads_the_first_vector_does_not_take_the_weights_unnoticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny_run("sst2-bert", tmp_path)
    export_run(tmp_path / "run", tmp_path / "hf", "hf", None, "best", yes=False)
    assert f"wrote {MEAN}, which transformers loads with trust_remote_code=True, to " in capsys.readouterr().err
    with pytest.raises(ValueError, match="trust_remote_code"):
        transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "hf", trust_remote_code=False)
