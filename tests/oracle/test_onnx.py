"""Graphs of ONNX compute what the model computes: onnxruntime is the oracle, with inputs of other sizes."""

import importlib.util
import json
import logging
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tokenizers
import torch
from torch import Tensor

import seqwright as sw
from seqwright.decoding import DecodingSettings, Prefix, decoded
from seqwright.errors import DataError, RunError, UserError
from seqwright.interchange import onnx
from seqwright.interchange.onnx import CARD, OnnxFolder, Surroundings, read_onnx, write_onnx
from seqwright.layers.embeddings import HasSentenceVectors
from seqwright.lineage import MODELS, model_row
from tests.random_runs import LETTERS, language_model, random_run, translator, vocabulary
from tests.small_models import BEGIN, END, example, small
from tests.story.command import typed
from tests.wires import classifier_wires, running_wires

if any(importlib.util.find_spec(name) is None for name in ("onnx", "onnxscript", "onnxruntime")):
    pytest.skip("ONNX is not installed: pip install 'seqwright[onnx]' onnxruntime", allow_module_level=True)

BLOCKS = re.findall(
    r"^```python\n(.*?)^```",
    (Path(__file__).resolve().parents[2] / "docs" / "engines.md").read_text(encoding="utf-8"),
    flags=re.MULTILINE | re.DOTALL,
)
QUICK = {  # beside a Transformer and a GPT that are exported whole
    ("bert", "text-classification"),
    ("rnn", "text-classification"),
    ("luong", "translation"),
    ("lstm", "language-modeling"),
}
NUMBERS = {
    "forecasting": "lstm",
    "image-captioning": "captioner",
    "image-classification": "vit",
    "film-classification": "lstm",
    "film-tracking": "lstm",
    "series-classification": "lstm",
    "vector-to-text": "lstm",
}
REFUSED = {("ngram", "language-modeling"), ("bytenet", "translation")}
EVERY = [(row.kind, row.task) for row in MODELS if row.task not in NUMBERS and (row.kind, row.task) not in REFUSED]
WRITES = {"translation", "language-modeling", "instruction"}


def some(pairs: list[tuple[str, str]]) -> Any:
    return [pytest.param(*pair, marks=[] if pair in QUICK else [pytest.mark.long]) for pair in pairs]


def written(folder: Path, model: Any) -> OnnxFolder:
    tokenizer = vocabulary(LETTERS)
    folder.mkdir()
    told = write_onnx(
        folder, model, tokenizer, tokenizer, around=Surroundings([], [], [END]), context=None, about={"task": "any"}
    )
    assert told.checked
    return read_onnx(folder)


def model_of(kind: str, task: str) -> Any:
    torch.manual_seed(3)
    model = small(kind, task).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.7) if parameter.dim() > 1 else parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def said(session: Any, **inputs: Any) -> dict[str, Tensor]:
    arrays = session.run(None, {name: np.asarray(each) for name, each in inputs.items()})
    names = (each.name for each in session.get_outputs())
    return {name: torch.from_numpy(array) for name, array in zip(names, arrays, strict=True)}


# ------------------------------------------------------------------------------------------------ encoders


@pytest.mark.parametrize(("kind", "task"), some([pair for pair in EVERY if pair[1] not in WRITES]))
@torch.no_grad()
def test_an_encoder_says_what_the_model_says_and_padding_changes_nothing(tmp_path: Path, kind: str, task: str) -> None:
    model, batch = model_of(kind, task), example(kind, task)
    session = written(tmp_path / "graphs", model).session("encoder")
    real_BT, tensors = batch.real, batch.tensors()
    reads_segments = len(session.get_inputs()) > 2
    segments = {"segment": tensors.get("segment_BT", torch.zeros_like(batch.input))} if reads_segments else {}
    found = said(session, tokens=batch.input, real=real_BT, **segments)
    more = {"segment_BT": segments["segment"]} if segments else {}
    vector_BTD, logits = model.body.hidden(batch.input, real_BT, **more), model(batch, None)[0]
    per_token = logits.dim() == 3
    for mine, theirs in ((vector_BTD, found["vectors"]), (logits, found["logits"])):
        chosen = real_BT if mine is vector_BTD or per_token else slice(None)
        torch.testing.assert_close(theirs[chosen], mine[chosen], atol=1e-5, rtol=1e-5)
    for row, length in enumerate(real_BT.sum(1).tolist()):
        alone = {name: each[row : row + 1, :length] for name, each in segments.items()}
        one = said(session, tokens=batch.input[row : row + 1, :length], real=real_BT[row : row + 1, :length], **alone)
        torch.testing.assert_close(one["vectors"][0], found["vectors"][row, :length], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(one["vector"][0], vector_BTD[row, :length].mean(0), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(found["vector"][row], one["vector"][0], atol=1e-5, rtol=1e-5)
        kept = found["logits"][row, :length] if per_token else found["logits"][row]
        torch.testing.assert_close(one["logits"][0], kept, atol=1e-5, rtol=1e-5)


# ------------------------------------------------------------------------------------------------ decoders


class Stepping:
    """A folder that is asked step by step, as its card says and in no other way."""

    def __init__(self, folder: OnnxFolder, rows: int, **source: Any) -> None:
        graphs = folder.card["graphs"]
        self.inputs, self.session = graphs["decoder_step"]["inputs"], folder.session("decoder_step")
        memory = said(folder.session("encoder"), **source) if source else {}
        self.state: dict[str, Any] = {}
        for name, told in self.inputs.items():
            if "first" in told:
                shape = [{"batch": rows, "past": 0}.get(size, size) for size in told["shape"]]
                whole = memory[name] if told["first"] == "encoder" else np.full(shape, told["first"], told["type"])
                self.state[name] = whole

    @property
    def at_once(self) -> bool:
        return bool(self.inputs["tokens"]["shape"][1] == "time")

    def read(self, tokens_BT: Tensor, real_BT: Tensor | None = None) -> Tensor:
        real_BT = torch.ones_like(tokens_BT, dtype=torch.bool) if real_BT is None else real_BT
        found = said(self.session, tokens=tokens_BT, real=real_BT, **self.state)
        self.state |= {name: found[told["after"]] for name, told in self.inputs.items() if "after" in told}
        return found["logits"]


@torch.no_grad()
def steps_agree(folder: OnnxFolder, model: Any, batch: Any, *, end: int) -> None:
    """Of every token what the model says, and greedily the tokens that it writes."""
    reads = "encoder" in folder.card["graphs"]
    source = {"tokens": batch.input, "real": batch.real} if reads else {}
    if reads and isinstance(model.body, HasSentenceVectors):
        found = said(folder.session("encoder"), **source)
        thought_BD = model.body.sentence_vectors(batch.input, batch.real)
        torch.testing.assert_close(found["vector"], thought_BD, atol=1e-5, rtol=1e-5)
    input_BT, real_BT = batch.input_BT, batch.real_BT
    logits_BTV = model(batch, None)[0]
    stepping = Stepping(folder, len(batch), **source)
    each = [stepping.read(input_BT[:, t : t + 1], real_BT[:, t : t + 1]) for t in range(input_BT.shape[1])]
    torch.testing.assert_close(torch.cat(each, dim=1)[real_BT], logits_BTV[real_BT], atol=1e-5, rtol=1e-5)
    apart, padding_BT = Stepping(folder, len(batch), **source), torch.zeros_like(input_BT[:, :1])
    apart.read(input_BT[:, :1])
    apart.read(padding_BT, padding_BT > 0)
    torch.testing.assert_close(apart.read(input_BT[:, 1:2]), each[1], atol=1e-5, rtol=1e-5)
    if stepping.at_once:
        whole = Stepping(folder, len(batch), **source)
        torch.testing.assert_close(whole.read(input_BT, real_BT)[real_BT], logits_BTV[real_BT], atol=1e-5, rtol=1e-5)
    first_B = torch.full((len(batch),), BEGIN)
    ours = decoded(model, model.start(batch), DecodingSettings(), first_B=first_B, prefix=None, steps=9, end=end)
    for row in range(len(batch)):  # alone, and without its padding
        kept = {name: tensor[row : row + 1, batch.real[row]] for name, tensor in source.items()}
        alone, tokens, chosen = Stepping(folder, 1, **kept), torch.tensor([[BEGIN]]), list[int]()
        while len(chosen) < 9 and chosen[-1:] != [end]:
            tokens = alone.read(tokens)[:, -1:].argmax(dim=-1)
            chosen.append(int(tokens))
        assert [token for token in chosen if token != end] == ours[row][0].tokens


@pytest.mark.parametrize(("kind", "task"), some([pair for pair in EVERY if pair[1] in WRITES]))
def test_steps_say_what_the_model_says_and_write_the_same(tmp_path: Path, kind: str, task: str) -> None:
    model = model_of(kind, task)
    steps_agree(written(tmp_path / "graphs", model), model, example(kind, task), end=END)


# ------------------------------------------------------------------------------------------------ whole runs


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a translator and a language model, and with what they were exported to."""
    folder = tmp_path_factory.mktemp("home")
    translator(folder / "mine", "pre-norm", shared=False, layers=(1, 2))
    language_model(folder / "writer", layers=2)
    for name in ("mine", "writer"):
        assert typed("export", str(folder / name), str(folder / f"{name}-onnx"), "--to", "onnx") == 0
    return folder


@pytest.mark.parametrize("text", ["a b c d e", "f", "g h i j k l m"])
def test_the_loop_that_is_shown_writes_what_the_run_writes(
    home: Path, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home)
    loop, opening = BLOCKS
    exec(compile(loop.replace("Guten Morgen.", text), "engines.md", "exec"), {})
    plain = sw.load("mine")(text, longest=100).text
    assert capsys.readouterr().out == plain + "\n"
    assert plain
    exec(compile(opening, "engines.md", "exec"), {})
    assert capsys.readouterr().out.startswith("translation ['vectors', 'vector', 'state.source.0.keys'")


def test_the_vector_of_a_source_is_what_embed_gives(home: Path) -> None:
    run, session = sw.load(home / "mine"), read_onnx(home / "mine-onnx").session("encoder")
    texts = ["a b c d e", "f", "g h i"]
    rows = [[*row.tolist(), run.input.tokenizer.end] for row in run.input.tokenizer.encode(texts)]
    real_BS = np.arange(6) < np.array([[len(row)] for row in rows])
    tokens_BS = np.array([row + [0] * (6 - len(row)) for row in rows])
    np.testing.assert_allclose(said(session, tokens=tokens_BS, real=real_BS)["vector"], run.embed(texts), atol=1e-5)


def test_the_steps_of_whole_runs_say_what_the_runs_say(home: Path) -> None:
    for name, task in (("mine", "translation"), ("writer", "language-modeling")):
        run: Any = sw.load(home / name)
        batch = example("gpt" if task == "language-modeling" else "transformer", task)
        if task == "translation":
            batch = batch.replace(source_BS=batch.source_BS.clamp_max(run.input.tokenizer.size - 1))
        steps_agree(read_onnx(home / f"{name}-onnx"), run.model, batch, end=run.output.tokenizer.end)


def test_a_prompt_is_read_at_once_wherever_its_padding_stands(home: Path) -> None:
    run, folder = sw.load(home / "writer"), read_onnx(home / "writer-onnx")
    tokenizer = run.input.tokenizer
    (begin,) = folder.card["around"]["before"]
    assert (begin, folder.card["around"]["behind"], folder.card["context"]) == (tokenizer.end, [], 29)
    rows = [[begin, *tokenizer.encode([text])[0].tolist()] for text in ("a b c", "d", "e f g h")]
    tokens_BT = torch.tensor([[0] * (5 - len(row)) + row for row in rows])  # on the left
    real_BT = torch.arange(5) >= torch.tensor([[5 - len(row)] for row in rows])
    stepping = Stepping(folder, 3)
    logits_BV, chosen = stepping.read(tokens_BT, real_BT)[:, -1], []
    for _ in range(6):
        logits_BV[:, folder.card["never_written"]] = -np.inf
        chosen.append(logits_BV.argmax(1))
        logits_BV = stepping.read(chosen[-1].unsqueeze(1))[:, -1]
    model: Any = run.model
    for row, found in zip(rows, torch.stack(chosen, dim=1).tolist(), strict=True):
        prefix = torch.tensor([row[1:]])
        ours = decoded(
            model,
            model.start(SimpleNamespace(input_BT=prefix)),
            DecodingSettings(),
            first_B=torch.tensor([begin]),
            prefix=Prefix(prefix, torch.ones_like(prefix, dtype=torch.bool)),
            steps=6,
            end=tokenizer.end,
            forbidden=tokenizer.unwritten(),
        )[0][0].tokens
        assert found[: len(ours)] == ours


def test_a_classifier_is_given_with_its_labels_and_what_stands_around_a_text(tmp_path: Path) -> None:
    sizes = {"kind": "bert", "width": 8, "heads": 2, "layers": 1, "context": 19}
    wires = classifier_wires(vocabulary(LETTERS), {"even": 3, "odd": 4}, begins=True)
    run = random_run(tmp_path / "run", {"task": "text-classification", "model": sizes}, wires, scale=9.0)
    assert typed("export", str(tmp_path / "run"), str(tmp_path / "graphs"), "--to", "onnx") == 0
    folder = read_onnx(tmp_path / "graphs")
    around = folder.card["around"]
    assert (folder.card["labels"], around) == (["even", "odd"], {"before": [2], "between": [], "behind": [3]})
    reading = tokenizers.Tokenizer.from_file(str(folder.folder / "tokenizer.json"))
    for text in ("a b c d", "e f", "g h i"):
        ids = reading.encode(text, add_special_tokens=False).ids
        assert reading.encode(text).ids == [*around["before"], *ids, *around["behind"]]
        tokens = np.array([reading.encode(text).ids])
        found = said(folder.session("encoder"), tokens=tokens, real=tokens >= 0, segment=np.zeros_like(tokens))
        probabilities = found["logits"][0].softmax(0)
        assert run(text).label == folder.card["labels"][int(probabilities.argmax())]
        assert run(text).probability == pytest.approx(float(probabilities.max()), abs=1e-5)
        np.testing.assert_allclose(found["vector"][0], run.embed(text), atol=1e-5)


def test_the_card_says_what_another_program_needs(home: Path) -> None:
    run, card = sw.load(home / "mine"), read_onnx(home / "mine-onnx").card
    target, source = run.output.tokenizer, run.input.tokenizer
    assert (card["format"], card["task"], card["kind"]) == (1, "translation", "transformer")
    assert card["marks"] == {role: getattr(target, role) for role in ("begin", "end", "unknown", "mask", "pad")}
    assert card["around"] == {"before": [], "between": [], "behind": [source.end]}
    assert (card["tokenizer"], card["target_tokenizer"]) == ("tokenizer.json", "target/tokenizer.json")
    assert card["graphs"]["encoder"]["inputs"]["tokens"] == {"type": "int64", "shape": ["batch", "source"]}
    past = card["graphs"]["decoder_step"]["inputs"]["state.past.1.keys"]
    assert past == {"type": "float32", "shape": ["batch", 2, "past", 8], "first": 0.0, "after": "next.past.1.keys"}
    assert {path.name for path in (home / "mine-onnx").iterdir()} == {
        *("encoder.onnx", "decoder_step.onnx", "target", "tokenizer.json", "tokenizer_config.json", CARD)
    }


def refusal(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    capfd.readouterr()
    code = typed(*words)
    out, err = capfd.readouterr()
    assert (code, out, err.strip().count("\n")) == (2, "", 0), err
    return str(err)


def copied(home: Path, folder: Path, **changes: Any) -> Path:
    """A folder of one file and its card, in which some keys are others."""
    folder.mkdir()
    card = json.loads((home / "writer-onnx" / CARD).read_text(encoding="utf-8"))
    for name in card["files"]:
        (folder / name).write_bytes((home / "writer-onnx" / name).read_bytes())
    (folder / CARD).write_text(json.dumps(card | changes), encoding="utf-8")
    return folder


def test_what_is_damaged_or_of_another_version_is_one_sentence(home: Path, tmp_path: Path) -> None:
    assert read_onnx(copied(home, tmp_path / "same")).card["kind"] == "gpt"
    later = copied(home, tmp_path / "later", format=2)
    with pytest.raises(DataError, match=r"is of format 2, and this version of Seqwright reads format 1: export"):
        read_onnx(later)
    with pytest.raises(DataError, match="lacks 'files' or 'graphs'"):
        read_onnx(copied(home, tmp_path / "bare", files=None))
    with pytest.raises(DataError, match=f"has no {CARD}; expected a folder that"):
        read_onnx(tmp_path)
    cut = copied(home, tmp_path / "cut")
    (cut / "decoder_step.onnx").write_bytes((cut / "decoder_step.onnx").read_bytes()[:-1])
    with pytest.raises(DataError, match=r"decoder_step\.onnx was changed since"):
        read_onnx(cut)
    (cut / "decoder_step.onnx").unlink()
    with pytest.raises(DataError, match=r"decoder_step\.onnx is missing, which"):
        read_onnx(cut)
    with pytest.raises(RunError, match="has no graph 'encoder', only decoder_step: choose that"):
        read_onnx(home / "writer-onnx").session("encoder")


def test_a_file_of_operators_that_onnxruntime_does_not_know_is_one_sentence(home: Path, tmp_path: Path) -> None:
    import onnx as library

    newer = copied(home, tmp_path / "newer")
    graph = library.load(newer / "decoder_step.onnx")
    graph.opset_import[0].version = 999
    library.save(graph, newer / "decoder_step.onnx")
    told = json.loads((newer / CARD).read_text(encoding="utf-8"))
    with pytest.raises(RunError, match=r"^onnxruntime \S+ cannot load .*decoder_step.onnx \(.*\): install a newer one"):
        OnnxFolder(newer, told).session("decoder_step")


def test_a_graph_that_says_something_else_is_not_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = onnx.onnxruntime_library()

    class Wrong:
        def __init__(self, *given: Any, **named: Any) -> None:
            self.session = runtime_session(*given, **named)

        def run(self, *given: Any) -> Any:
            return [array + 0.01 if array.dtype == np.float32 else array for array in self.session.run(*given)]

    runtime_session = runtime.InferenceSession
    monkeypatch.setattr(runtime, "InferenceSession", Wrong)
    with pytest.raises(RunError, match=r"computes other logits with decoder_step\.onnx than the model does"):
        written(home / "wrong", model_of("mlp", "language-modeling"))


def test_weights_that_are_too_many_for_a_graph_lie_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx, "APART", 0)
    folder = written(tmp_path / "graphs", model_of("mlp", "language-modeling"))
    assert {"decoder_step.onnx", "decoder_step.onnx.data"} <= folder.card["files"].keys()
    assert folder.session("decoder_step").get_outputs()[0].name == "logits"


@pytest.mark.parametrize(("kind", "task"), sorted(REFUSED))
def test_what_onnx_cannot_hold_is_refused_by_name(tmp_path: Path, kind: str, task: str) -> None:
    told = {"ngram": "this one is a Ngram: use another format", "bytenet": "cannot hold a ByteNetEncoder"}
    with pytest.raises(RunError, match=told[kind]):
        written(tmp_path / "graphs", model_of(kind, task) if kind == "bytenet" else small(kind, task))


@pytest.mark.parametrize("task", NUMBERS)
def test_what_reads_numbers_is_refused(tmp_path: Path, task: str) -> None:
    kind = NUMBERS[task]
    assert model_row(kind, task)
    with pytest.raises(RunError, match=r"reads numbers: use Python|this one is a RecurrentForecaster"):
        written(tmp_path / "graphs", small(kind, task))


def test_what_torch_cannot_follow_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any, **named: Any) -> None:
        raise ValueError("something\nof its own")

    monkeypatch.setattr(torch.onnx, "export", broken)
    with pytest.raises(UserError, match=r"^torch cannot make an ONNX graph of the decoder_step of this LanguageModel"):
        written(tmp_path / "graphs", model_of("mlp", "language-modeling"))


@pytest.mark.parametrize("missing", ["onnx", "onnxscript"])
def test_without_the_extra_a_sentence_says_how_to_install_it(
    home: Path, missing: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    told = refusal(capfd, "export", str(home / "mine"), str(home / "nowhere"), "--to", "onnx")
    assert "install them with `pip install 'seqwright[onnx]'`" in told
    assert not (home / "nowhere").exists()


def test_without_onnxruntime_it_is_said_that_nothing_was_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    logged = list[logging.LogRecord]()
    monkeypatch.setattr(logging.Logger, "callHandlers", lambda logger, record: logged.append(record))
    plain = {"task": "language-modeling", "model": {"kind": "mlp", "width": 7, "embedding": 5, "window": 3}}
    random_run(tmp_path / "run", plain, running_wires(vocabulary(LETTERS)), scale=2.0)
    assert typed("export", str(tmp_path / "run"), str(tmp_path / "again"), "--to", "onnx") == 0
    told = "writing …\nwrote decoder_step.onnx, not checked, since onnxruntime is not installed, to "
    assert capfd.readouterr().err.startswith(told)
    assert [record.getMessage() for record in logged if record.levelno >= logging.WARNING] == []
    with pytest.raises(UserError, match="onnxruntime is not installed: install it with `pip install onnxruntime`"):
        read_onnx(tmp_path / "again").session("decoder_step")
