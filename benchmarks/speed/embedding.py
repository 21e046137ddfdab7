"""How many sentences per CPU-second become vectors, beside transformers' padded batches and ONNX Runtime?

A BERT of MiniLM's size (6 layers, width 384) with random weights reads made-up sentences of 5 to 45 words, from text
to the mean of the last layer's vectors. All read the same folder: ours by `load` and `embed`, transformers in batches
of 32 in the order given, and sorted by length as sentence-transformers does, ONNX Runtime the same sorted batches with
the model exported from it. The vectors must be the same.

L layers · D width · F feed-forward · N sentences
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed.harness import OURS, Answers, Contestant, Limit, Question, Settings
from benchmarks.speed.peers import ONNX, TRANSFORMERS, package
from benchmarks.speed.worker import Turns, Work

MEASURE = "sentences"
COMPARED = 7  # vectors
SHORTEST, LONGEST = 5, 45  # words
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def seqwright(settings: dict[str, Any]) -> Turns:
    """Ours, as Python and the verb `embed` do it."""
    from seqwright.devices import keep_freed_memory
    from seqwright.runs import load

    keep_freed_memory()
    with tempfile.TemporaryDirectory() as folder:
        write_model(settings, Path(folder) / "bert")
        os.environ["SEQWRIGHT_CACHE"] = folder
        run = load(Path(folder) / "bert")
    texts = sentences(settings)

    def turn() -> Work:
        vectors_ND = run.embed(texts)
        return Work(len(texts), vectors_ND[:COMPARED].tolist())

    return {MEASURE: turn}


def transformers(settings: dict[str, Any]) -> Turns:
    """Batches in the order given."""
    return _transformers(settings, lambda texts: list(range(len(texts))))


def transformers_sorted(settings: dict[str, Any]) -> Turns:
    """Batches of like length."""
    return _transformers(settings, longest_first)


def _transformers(settings: dict[str, Any], order: Callable[[Sequence[str]], list[int]]) -> Turns:
    import torch

    tokenizer, model = opened(settings)

    @torch.inference_mode()
    def read(batch: Any) -> Any:
        return model(**batch).last_hidden_state

    return {MEASURE: lambda: embedded(settings, tokenizer, read, order)}


def onnxruntime(settings: dict[str, Any]) -> Turns:
    """The exported model, batches of like length."""
    import torch

    ort = package("onnxruntime")
    tokenizer, model = opened(settings)
    names = ("input_ids", "attention_mask", "token_type_ids")
    example = tokenizer(sentences(settings)[:3], padding=True, return_tensors="pt")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens")}
        torch.onnx.export(
            Wrapped.of(model),
            tuple(example[name] for name in names),
            str(path),
            input_names=list(names),
            output_names=["vectors"],
            dynamic_shapes=(axes, axes, axes),
            dynamo=True,
            verbose=False,
        )
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = settings["threads"]
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def read(batch: Any) -> Any:
        return torch.from_numpy(session.run(None, {name: batch[name].numpy() for name in names})[0])

    return {MEASURE: lambda: embedded(settings, tokenizer, read, longest_first)}


class Wrapped:
    """A model as the exporter wants it: tensors by place, one tensor back."""

    @staticmethod
    def of(model: Any) -> Any:
        """The module around it."""
        from torch import Tensor, nn

        class Around(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.model = model

            def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Any:
                return self.model(input_ids, attention_mask, token_type_ids).last_hidden_state

        return Around().eval()


def embedded(settings: Settings, tokenizer: Any, read: Callable[[Any], Any], order: Any) -> Work:
    """The mean of the vectors of each text, padding left out."""
    import torch

    texts = sentences(settings)
    found, places = [], order(texts)
    for low in range(0, len(texts), settings["batch"]):
        some = [texts[place] for place in places[low : low + settings["batch"]]]
        batch = tokenizer(some, padding=True, return_tensors="pt")
        real_BT1 = batch["attention_mask"].unsqueeze(-1)
        found.append((read(batch) * real_BT1).sum(1) / real_BT1.sum(1))
    vectors_ND = torch.cat(found)
    back = sorted(range(len(places)), key=places.__getitem__)
    return Work(len(texts), vectors_ND[back][:COMPARED].tolist())


def longest_first(texts: Sequence[str]) -> list[int]:
    """As sentence-transformers sorts."""
    return sorted(range(len(texts)), key=lambda place: -len(texts[place]))


def opened(settings: Settings) -> tuple[Any, Any]:
    """Tokenizer and model by transformers."""
    hf = package("transformers")
    with tempfile.TemporaryDirectory() as folder:
        write_model(settings, Path(folder))
        return hf.AutoTokenizer.from_pretrained(folder), hf.AutoModel.from_pretrained(folder).eval()


def write_model(settings: Settings, folder: Path) -> None:
    """The same random BERT in every process, with a vocabulary of made-up words."""
    import torch

    hf, size = package("transformers"), settings["model"]
    torch.manual_seed(1)
    config = hf.BertConfig(
        vocab_size=settings["vocabulary"],
        hidden_size=size["width"],
        num_hidden_layers=size["layers"],
        num_attention_heads=size["heads"],
        intermediate_size=size["feed_forward"],
    )
    hf.BertModel(config).save_pretrained(folder)
    words = [*SPECIAL, *(f"w{number}" for number in range(settings["vocabulary"] - len(SPECIAL)))]
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    hf.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)


def sentences(settings: Settings) -> list[str]:
    """Made-up sentences, the same in every process."""
    import numpy as np

    rng: Any = np.random.default_rng(1)
    words = settings["vocabulary"] - len(SPECIAL)
    lengths = rng.integers(SHORTEST, LONGEST + 1, settings["sentences"])
    return [" ".join(f"w{number}" for number in rng.integers(0, words, length)) for length in lengths]


def limit(settings: Settings, measure: str) -> Limit:
    """Two operations for each weight in a matrix product and token, special ones included."""
    size = settings["model"]
    weights = size["layers"] * (4 * size["width"] ** 2 + 2 * size["width"] * size["feed_forward"])
    return Limit("matrix", 2 * weights * ((SHORTEST + LONGEST) / 2 + 2))


def same(answers: Answers) -> dict[str, Any]:
    """The least cosine of a vector of ours and theirs."""
    import numpy as np

    vectors = {name: np.array(each) for name, each in answers[MEASURE].items()}
    unit = {name: each / np.linalg.norm(each, axis=1, keepdims=True) for name, each in vectors.items()}
    return {
        f"least cosine with {name}": round(float((unit[OURS] * each).sum(1).min()), 6)
        for name, each in unit.items()
        if name != OURS
    }


QUESTION = Question(
    name="embedding",
    about=__doc__ or "",
    unit="sentences",
    contestants=(
        Contestant(OURS, seqwright),
        Contestant("transformers", transformers, TRANSFORMERS, ("torch", "transformers")),
        Contestant("transformers, sorted", transformers_sorted, TRANSFORMERS, ("torch", "transformers")),
        Contestant("ONNX Runtime, sorted", onnxruntime, ONNX, ("onnxruntime", "onnx", "onnxscript")),
    ),
    full={
        "model": {"width": 384, "heads": 12, "layers": 6, "feed_forward": 1536},
        "vocabulary": 30522,
        "sentences": 1000,
        "batch": 32,
    },
    quick={"model": {"width": 64, "heads": 2, "layers": 2, "feed_forward": 256}, "vocabulary": 1009, "sentences": 211},
    rounds=3,
    limit=limit,
    marks={MEASURE: {"transformers": 2.0}},
    compare=same,
)
