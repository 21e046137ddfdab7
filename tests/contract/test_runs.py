"""What every model of the family promises of its run folder: reopened, it says what it said, to the last bit.

Run over `lineage.py`: a new model is tested here without a change, a new task needs a little data below.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from seqwright.batches import Place
from seqwright.kinds import task_of
from seqwright.lineage import MODELS, Model
from seqwright.recipe import recipe_from
from seqwright.runs import data_of, model_of, open_run, train

FEW = {"examples": 60, "valid": 10, "test": 0}
SMALL: dict[str, dict[str, Any]] = {  # by task
    "translation": {"data": {"card": "reverse", **FEW}, "input": {"tokenizer": "words"}},
    "instruction": {
        "data": {"card": "reverse", **FEW},
        "input": {"tokenizer": "words", "longest": 16},
        "objective": {"kind": "answer-only"},
    },
    "language-modeling": {"data": {"train": "text.txt"}, "input": {"tokenizer": "characters"}},
    "masked-language-modeling": {
        "data": {"train": "text.txt"},
        "input": {"tokenizer": "characters", "rows": "full-sentences"},
        "model": {"pooler": False},
        "objective": {"kind": "masked-token"},
    },
    "text-classification": {
        "data": {"train": "labelled.tsv"},
        "input": {"tokenizer": "characters"},
    },
    "text-regression": {
        "data": {"train": "rated.tsv"},
        "input": {"tokenizer": "characters"},
        "objective": {"kind": "regression"},
    },
    "token-classification": {"data": {"train": "tagged.conll"}, "input": {"tokenizer": "characters"}},
    "question-answering": {"data": {"card": "guests", **FEW}, "input": {"tokenizer": "characters"}},
    "series-classification": {"data": {"card": "waveforms", **FEW}},
    "image-classification": {"data": {"card": "digits"}},
    "film-classification": {"data": {"card": "dots", **FEW}},
    "film-tracking": {"data": {"card": "dots", **FEW}},
    "image-captioning": {"data": {"card": "shapes", **FEW}, "model": {"width": 8, "encoder_width": 4}},
    "forecasting": {"data": {"card": "waves", "history": 20, **FEW}},
    "vector-to-text": {"data": {"card": "numbers", **FEW}},
}
TRAINING = {"steps": 2, "tokens": 200, "schedule": "constant", "rate": 0.01, "warmup": 0, "device": "cpu"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    lines = [f"{number} times {number} makes {number * number}" for number in range(80)]
    files = {
        "text.txt": "".join(f"{line}\n" for line in lines),
        "labelled.tsv": "".join(f"{line}\t{'odd' if n % 2 else 'even'}\n" for n, line in enumerate(lines)),
        "rated.tsv": "text1\ttext2\tscore\n" + "".join(f"{line}\t{n} times\t{n / 8}\n" for n, line in enumerate(lines)),
        "tagged.conll": "\n".join(
            "".join(f"{word} {'NUMBER' if word.isdigit() else 'WORD'}\n" for word in line.split()) for line in lines
        ),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@torch.no_grad()
def said(model: Any, batch: Any) -> list[Tensor]:
    """What a model says of a batch, and the log-probabilities where it offers them."""
    more = [model.log_probability(batch)[0]] if hasattr(model, "log_probability") else []
    return [model(batch, None)[0], *more]


@pytest.mark.parametrize("row", MODELS, ids=[f"{row.task}-{row.kind}" for row in MODELS])
def test_a_saved_and_reopened_model_scores_to_the_same_bit(
    row: Model, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data)
    small = SMALL[row.task]
    size = {"size": "tiny"} if "size" in row.load(row.settings).model_fields else {}
    model = {"kind": row.kind, **size, **small.get("model", {})}
    recipe = recipe_from({**small, "task": row.task, "model": model, "training": TRAINING})
    trained = train(recipe, tmp_path / "run")
    prepared = task_of(recipe.task).prepared(recipe, data_of(recipe), trained.inputs)
    batch = prepared.train.at(Place(0, 0))
    wanted = said(trained.model, batch)
    assert not torch.equal(said(model_of(recipe, trained.inputs.sizes()).eval(), batch)[0], wanted[0])
    shutil.move(tmp_path / "run", tmp_path / "moved")
    monkeypatch.chdir(tmp_path)  # far from the data
    found = said(open_run(Path("moved")).model, batch)
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))
