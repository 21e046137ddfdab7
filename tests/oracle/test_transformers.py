"""GPT-2, BERT, RoBERTa and DistilBERT against Hugging Face's `transformers`: both directions, every hidden state."""

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
from tokenizers import models, pre_tokenizers, processors, trainers
from torch import Tensor

import seqwright as sw
from seqwright.batches.labelled import Labelled
from seqwright.batches.text import Text
from seqwright.cli.exporting import export_run
from seqwright.cli.importing import import_model
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings
from seqwright.interchange.families import FAMILIES
from seqwright.layers.taps import listen
from seqwright.outputs.number import NumberOutput
from seqwright.recipe import recipe_from
from seqwright.runs import Run, model_of, open_run, write_run
from seqwright.tasks.wired import Wires
from seqwright.training.weights import unique_tensors
from tests.wires import text_input

transformers = pytest.importorskip("transformers", reason="transformers is not installed: pip install seqwright[dev]")
transformers.logging.set_verbosity_error()

V, CONTEXT = 67, 17
WORDS = ["the quick brown fox", "jumps over the lazy dog", "naïve café"] * 5
TOKENS = torch.tensor([[2, 7, 1, 5, 31, 3], [2, 41, 3, 0, 0, 0], [2, 13, 3, 23, 3, 0]])
REAL = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0]], dtype=torch.bool)
SEGMENT = torch.tensor([[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0]])
LABELS: dict[str, dict[Any, Any]] = {
    "id2label": {0: "bad", 1: "so so", 2: "good"},
    "label2id": {"bad": 0, "so so": 1, "good": 2},
}
ENCODER = {"hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 19}
CONFIGS: dict[str, dict[str, Any]] = {
    "gpt2": {"n_embd": 12, "n_head": 3, "n_layer": 2, "n_positions": CONTEXT, "bos_token_id": 2, "eos_token_id": 3},
    "bert": {**ENCODER, "max_position_embeddings": CONTEXT},
    "roberta": {**ENCODER, "max_position_embeddings": CONTEXT + 1, "type_vocab_size": 1, "pad_token_id": 0},
    "distilbert": {"dim": 12, "n_heads": 3, "n_layers": 2, "hidden_dim": 19, "max_position_embeddings": CONTEXT},
}
ARCHITECTURES = [
    ("gpt2", "GPT2LMHeadModel", "language-modeling"),
    ("gpt2", "GPT2Model", "language-modeling"),
    ("bert", "BertModel", "masked-language-modeling"),
    ("bert", "BertForMaskedLM", "masked-language-modeling"),
    ("bert", "BertForPreTraining", "masked-language-modeling"),
    ("bert", "BertForSequenceClassification", "text-classification"),
    ("bert", "BertForTokenClassification", "token-classification"),
    ("bert", "BertForQuestionAnswering", "question-answering"),
    ("roberta", "RobertaModel", "masked-language-modeling"),
    ("roberta", "RobertaForMaskedLM", "masked-language-modeling"),
    ("roberta", "RobertaForSequenceClassification", "text-classification"),
    ("roberta", "RobertaForTokenClassification", "token-classification"),
    ("roberta", "RobertaForQuestionAnswering", "question-answering"),
    ("distilbert", "DistilBertModel", "masked-language-modeling"),
    ("distilbert", "DistilBertForMaskedLM", "masked-language-modeling"),
    ("distilbert", "DistilBertForSequenceClassification", "text-classification"),
    ("distilbert", "DistilBertForTokenClassification", "token-classification"),
    ("distilbert", "DistilBertForQuestionAnswering", "question-answering"),
]


@torch.no_grad()
def shaken(model: torch.nn.Module) -> torch.nn.Module:
    """A model none of whose tensors is at its beginning, zeros and ones, where a mistake would not be seen."""
    draw = torch.Generator().manual_seed(7)
    for parameter in model.parameters():
        parameter.add_(torch.randn(parameter.shape, generator=draw) * 0.2)
    return model.eval()


def their_tokenizer(folder: Path) -> None:
    library = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    library.train_from_iterator(
        WORDS, trainers.WordPieceTrainer(vocab_size=61, special_tokens=names, show_progress=False)
    )
    library.save(str(folder / "tokenizer.json"))


def theirs(family: str, architecture: str, folder: Path, **settings: Any) -> Any:
    """A model of theirs of a few parameters, saved."""
    config = transformers.AutoConfig.for_model(family, vocab_size=V, **CONFIGS[family], **settings)
    model: Any = shaken(getattr(transformers, architecture)(config))
    model.save_pretrained(folder)
    their_tokenizer(folder)
    return model


def imported(folder: Path, run: Path) -> Run:
    import_model(folder, run, None, yes=False)
    return open_run(run)


def our_batch(run: Run) -> Any:
    if run.recipe.task == "language-modeling":
        return Text(TOKENS, TOKENS, REAL)
    return Labelled(TOKENS, REAL, torch.zeros(len(TOKENS)), segments_for(run))


def segments_for(run: Run) -> Tensor:
    tagging, without = run.recipe.task == "token-classification", run.recipe.model.kind != "bert"
    return torch.zeros_like(SEGMENT) if tagging or without else SEGMENT


@torch.no_grad()
def ours_said(run: Run) -> tuple[list[Tensor], Tensor | None, Tensor | None]:
    """Every hidden state, what enters the first block before all, the output, and whether the second text follows."""
    model: Any = run.model
    batch, follows = our_batch(run), None
    embedded: list[Tensor] = []
    block = model.body.blocks[0]
    hook = block.register_forward_pre_hook(lambda _, given: embedded.append(given[0]))
    with listen(model) as heard:
        if run.recipe.task != "masked-language-modeling":
            output = model(batch)[0]
        else:
            h_BTD = model.body(TOKENS, REAL, SEGMENT)
            output = model.lens(h_BTD) if model.settings.head else None
            follows = model.follows(model.body.pooled(h_BTD)) if model.follows is not None else None
    hook.remove()
    streams = {name: calls[0] for name, calls in heard.items() if name.endswith(("stream", "contextual")) and calls}
    return [embedded[0], *streams.values()], output, follows


@torch.no_grad()
def theirs_said(model: Any, run: Run) -> Any:
    given = {"input_ids": TOKENS, "attention_mask": REAL.long(), "output_hidden_states": True}
    if run.recipe.model.kind == "bert":
        given["token_type_ids"] = segments_for(run)
    return model(**given)


def agree(one: Tensor, other: Tensor) -> None:
    """To 1e-4, in double precision to 1e-10, where there is no padding."""
    if one.dim() == 3:
        one, other = one[REAL], other[REAL]
    torch.testing.assert_close(one, other, atol=1e-10 if one.dtype == torch.float64 else 1e-4, rtol=0)
    assert one.std() > 0.01  # something was computed at all


def same_outputs(run: Run, model: Any) -> None:
    hidden, output, follows = ours_said(run)
    said = theirs_said(model, run)
    last = said.hidden_states[-1]
    for ours, other in zip(hidden[: len(said.hidden_states) - 1], said.hidden_states[:-1], strict=True):
        agree(ours, other)
    agree(hidden[-1], last)
    keys = set(said.keys())
    if output is not None and "start_logits" in keys:
        agree(output[..., 0].unsqueeze(-1), said.start_logits.unsqueeze(-1))
        agree(output[..., 1].unsqueeze(-1), said.end_logits.unsqueeze(-1))
    elif output is not None and "prediction_logits" in keys:
        agree(output, said.prediction_logits)
        assert follows is not None
        agree(follows, said.seq_relationship_logits.flip(-1))  # there the first says that it follows
    elif output is not None and "logits" in keys:
        agree(output, said.logits)
    elif "pooler_output" in keys and said.pooler_output is not None:
        body: Any = run.model.body
        with torch.no_grad():
            agree(body.pooled(hidden[-1]), said.pooler_output)


@pytest.mark.parametrize(("family", "architecture", "task"), ARCHITECTURES)
def test_an_imported_model_computes_the_same(family: str, architecture: str, task: str, tmp_path: Path) -> None:
    labels = LABELS if task in {"text-classification", "token-classification"} else {}
    model = theirs(family, architecture, tmp_path / "theirs", **labels)
    run = imported(tmp_path / "theirs", tmp_path / "run")
    assert (run.recipe.task, run.recipe.model.context) == (task, CONTEXT)
    same_outputs(run, model)
    same_outputs(run._replace(model=run.model.double()), model.double())
    if labels:
        assert list(run.inputs.output.counts) == ["bad", "so so", "good"]


def test_a_folder_of_theirs_is_loaded_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))
    model = theirs("roberta", "RobertaForSequenceClassification", tmp_path / "theirs", **LABELS)
    with pytest.warns(UserWarning, match="vectors that belong to no token"):
        run = sw.load(tmp_path / "theirs")
    found = run("the lazy dog")
    tokens = [2, *run.inputs.tokenizer.encode(["the lazy dog"])[0].tolist(), 3]
    with torch.no_grad():
        expected_C = model(torch.tensor([tokens])).logits[0].softmax(-1)
    assert found.label == LABELS["id2label"][int(expected_C.argmax())]
    assert found.probability == pytest.approx(float(expected_C.max()), abs=1e-4)


@pytest.mark.parametrize(("family", "architecture", "task"), ARCHITECTURES)
def test_what_was_imported_is_exported_unchanged(family: str, architecture: str, task: str, tmp_path: Path) -> None:
    model = theirs(family, architecture, tmp_path / "theirs")
    run = imported(tmp_path / "theirs", tmp_path / "run")
    export_run(tmp_path / "run", tmp_path / "back", "hf", None, "best", yes=False)
    written = json.loads((tmp_path / "back" / "config.json").read_text())["architectures"]
    assert written == [architecture.replace("GPT2Model", "GPT2LMHeadModel")]
    again: Any = getattr(transformers, architecture).from_pretrained(tmp_path / "back").eval()
    before, after = model.state_dict(), again.state_dict()
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name]), name
    same_outputs(run, again)
    assert again.config.vocab_size == V


RECIPES: list[tuple[str, str, dict[str, Any]]] = [
    ("gpt", "GPT2LMHeadModel", {}),
    ("bert", "BertForPreTraining", {}),
    ("bert", "BertForMaskedLM", {"pooler": False}),
    ("roberta", "RobertaForMaskedLM", {}),
    ("distilbert", "DistilBertForMaskedLM", {}),
]


@pytest.mark.parametrize(("kind", "architecture", "settings"), RECIPES)
def test_a_model_of_ours_computes_the_same_there(
    kind: str, architecture: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    tokenizer = Tokenizer.train(WORDS, TokenizerSettings(tokenizer="wordpiece", vocabulary=V), special=("<mask>",))
    objective = "next-token" if kind == "gpt" else "masked-token"
    sizes = {"width": 12, "heads": 3, "layers": 2, "context": CONTEXT, "feed_forward": 19}
    recipe = recipe_from(
        {
            "task": "language-modeling" if kind == "gpt" else "masked-language-modeling",
            "data": {"train": "none.txt"},
            "input": {"tokenizer": "wordpiece", "vocabulary": V},
            "model": {"kind": kind, **sizes, **settings},
            "objective": {"kind": objective},
        }
    )
    inputs = _inputs(recipe.task, tokenizer)
    model = shaken(model_of(recipe, inputs.sizes()))
    write_run(recipe, tmp_path / "run", inputs, model)
    export_run(tmp_path / "run", tmp_path / "hf", "hf", None, "best", yes=False)
    there: Any = getattr(transformers, architecture).from_pretrained(tmp_path / "hf").eval()
    run = open_run(tmp_path / "run")
    same_outputs(run, there)
    text = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")("the", "dog", return_tensors="pt")
    assert ("token_type_ids" in text) == (kind == "bert")
    with torch.no_grad():
        assert torch.isfinite(there(**text)[0]).all()
    count = sum(parameter.numel() for parameter in there.parameters())
    spare = 12 if kind == "roberta" else 0  # our padding is token 0, so that its positions count from 1 there
    assert count + spare == sum(tensor.numel() for tensor in unique_tensors(run.model).values())


def _inputs(task: str, tokenizer: Tokenizer) -> Any:
    from tests.wires import masked_wires, running_wires

    return running_wires(tokenizer) if task == "language-modeling" else masked_wires(tokenizer, 16)


@pytest.mark.parametrize("kind", ["characters", "words", "bpe", "unigram", "wordpiece"])
def test_an_exported_tokenizer_of_ours_does_the_same_there(kind: Any, tmp_path: Path) -> None:
    from seqwright.interchange.tokenizer_files import write_tokenizer

    tokenizer = Tokenizer.train(WORDS, TokenizerSettings(tokenizer=kind, vocabulary=97), special=("<mask>",))
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    write_tokenizer(tokenizer, tmp_path, context=CONTEXT, around=True, segments=True)
    there = transformers.AutoTokenizer.from_pretrained(tmp_path)
    text = "the quick lazy fox café"
    ids = tokenizer.encode([text])[0].tolist()
    assert there(text)["input_ids"] == [tokenizer.begin, *ids, tokenizer.end]
    pair = there("the fox", "the dog")
    assert pair["input_ids"].count(tokenizer.end) == 2
    assert there.decode(there(text)["input_ids"], skip_special_tokens=True) == tokenizer.decode(ids) == text
    assert (there.mask_token_id, there.pad_token_id, there.cls_token_id) == (tokenizer.mask, 0, 2)
    assert there.model_max_length == CONTEXT


def template(single: str) -> processors.PostProcessor:
    return processors.TemplateProcessing(single=single, special_tokens=[("[CLS]", 2), ("[SEP]", 3)])


@pytest.mark.parametrize(
    ("around", "before", "end"),
    [
        (template("$A [SEP]"), [], 3),
        (template("$A [CLS]"), [], 2),
        (template("[CLS] $A [SEP]"), [2], 3),
        (template("[SEP] [CLS] $A [SEP] [CLS]"), [3, 2], 2),
        (processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)), [2], 3),
        (processors.RobertaProcessing(("[SEP]", 3), ("[CLS]", 2)), [2], 3),
        (processors.Sequence([processors.ByteLevel(), template("[CLS] $A [SEP]")]), [2], 3),
        (template("[CLS] $A"), [2], 3),
        (processors.ByteLevel(), [], 3),
    ],
)
def test_a_prompt_is_not_closed_there_before_it_is_written_on(
    around: processors.PostProcessor, before: list[int], end: int, tmp_path: Path
) -> None:
    theirs("gpt2", "GPT2LMHeadModel", tmp_path / "theirs")
    path = tmp_path / "theirs" / "tokenizer.json"
    library = tokenizers.Tokenizer.from_file(str(path))
    library.post_processor = around
    library.save(str(path))
    run = imported(tmp_path / "theirs", tmp_path / "run")
    export_run(tmp_path / "run", tmp_path / "back", "hf", None, "best", yes=False)
    after = transformers.AutoTokenizer.from_pretrained(tmp_path / "back")
    for text in WORDS:
        assert after(text)["input_ids"] == [*before, *library.encode(text, add_special_tokens=False).ids]
    assert (run.inputs.tokenizer.end, after.eos_token_id) == (end, end)
    again = imported(tmp_path / "back", tmp_path / "again")
    assert (again.inputs.tokenizer.begin, again.inputs.tokenizer.end) == (2, end)


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_a_classifier_with_one_output_rates(family: str, tmp_path: Path) -> None:
    architecture = next(name for kind, name, task in ARCHITECTURES if (kind, task) == (family, "text-classification"))
    model = theirs(family, architecture, tmp_path / "theirs", num_labels=1)
    run = imported(tmp_path / "theirs", tmp_path / "run")
    assert run.recipe.task == "text-regression"
    with torch.no_grad():
        rating_B = run.model(our_batch(run))[0].flatten()
    torch.testing.assert_close(rating_B, theirs_said(model, run).logits.flatten(), atol=1e-4, rtol=0)
    export_run(tmp_path / "run", tmp_path / "back", "hf", None, "best", yes=False)
    again: Any = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "back").eval()
    assert (again.config.num_labels, again.config.problem_type) == (1, "regression")
    torch.testing.assert_close(rating_B, theirs_said(again, run).logits.flatten(), atol=1e-4, rtol=0)


def test_a_rating_is_told_on_the_scale_it_was_learnt_on(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(WORDS, TokenizerSettings(vocabulary=V))
    plain = {
        "task": "text-regression",
        "data": {"train": "none.tsv"},
        "model": {"kind": "bert", "width": 12, "heads": 3, "layers": 2, "context": CONTEXT},
        "objective": {"kind": "regression"},
    }
    recipe = recipe_from(plain)
    inputs = Wires(text_input(tokenizer, longest=CONTEXT - 2, begins=True), NumberOutput(2.5, 1.5, 0.0, 5.0))
    write_run(recipe, tmp_path / "run", inputs, shaken(model_of(recipe, inputs.sizes())))
    export_run(tmp_path / "run", tmp_path / "hf", "hf", None, "best", yes=False)
    there: Any = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "hf").eval()
    run = open_run(tmp_path / "run")
    with torch.no_grad():
        expected_B = 2.5 + 1.5 * run.model(our_batch(run))[0].flatten()
    torch.testing.assert_close(theirs_said(there, run).logits.flatten(), expected_B, atol=1e-4, rtol=0)


def test_every_tensor_of_every_table_has_one_name_on_each_side() -> None:
    for family in FAMILIES.values():
        for head in family.heads:
            names = family.names(head)
            for side in ("ours", "theirs"):
                found = [name for row in names.rows for name in getattr(row, side)]
                repeated = {name for name in found if found.count(name) > 1}
                # A classifier's pooler is BERT's own, be it in the body or in the head.
                assert repeated <= {"bert.pooler.dense.weight", "bert.pooler.dense.bias"}
            assert not set(head.copies) & {name for row in names.rows for name in row.theirs}
