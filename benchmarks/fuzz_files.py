"""Small valid files of every kind that is read, for the fuzzing to damage."""

import gzip
import hashlib
import io
import json
import math
import os
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import chdir
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.damage import archived

Files = dict[str, bytes]
WORDS = ["red", "blue", "green", "cat", "dog", "cow", "sun", "sea", "sky", "old", "new"]
TEXTS = [" ".join(WORDS[(3 * i + k) % 11] for k in range(2 + i % 4)) for i in range(12)]
LABELS = ["animal" if {"cat", "dog", "cow"} & set(text.split()) else "thing" for text in TEXTS]


def lines(rows: Any) -> bytes:
    """Rows of text as a file."""
    return "".join(f"{row}\n" for row in rows).encode()


def labelled(separator: str) -> bytes:
    """Texts with labels as a table."""
    return lines([f"text{separator}label", *map(separator.join, zip(TEXTS, LABELS, strict=True))])


def objects(**columns: list[Any]) -> bytes:
    """Columns as JSON lines."""
    return lines(json.dumps(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))


def workbook(rows: list[list[Any]]) -> bytes:
    """A sheet of Excel, the same bytes whenever it is made."""
    from openpyxl import Workbook
    from openpyxl.writer.excel import ExcelWriter

    book, held = Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.properties.created = book.properties.modified = datetime(1980, 1, 1)
    ExcelWriter(book, zipfile.ZipFile(held, "w")).save()  # what `book.save` does after it has looked at the clock
    with zipfile.ZipFile(held) as archive:
        return archived({name: archive.read(name) for name in archive.namelist()})


def parquet(**columns: list[Any]) -> bytes:
    """A file of Parquet."""
    import pyarrow as pa
    from pyarrow import parquet as library

    held = io.BytesIO()
    library.write_table(pa.table(columns), held)
    return held.getvalue()


def zipped(**members: bytes) -> bytes:
    """An archive of files, `_` for the point in a name."""
    return archived({name.replace("_", "."): content for name, content in members.items()})


def tarred(members: Mapping[str, bytes]) -> bytes:
    """An archive of label folders."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return held.getvalue()


def squad() -> bytes:
    """Questions as SQuAD has them."""
    context = "The red cat sat on the old sea. A dog saw it."
    asked: list[dict[str, Any]] = [
        {"id": str(i), "question": f"who is {w}?", "answers": [{"text": w, "answer_start": context.index(w)}]}
        for i, w in enumerate(("red cat", "old sea", "dog"))
    ]
    asked.append({"id": "9", "question": "who?", "answers": [], "is_impossible": True})
    articles = [{"title": str(i), "paragraphs": [{"context": f"{context} {i}", "qas": asked}]} for i in range(6)]
    return json.dumps({"version": "2", "data": articles}).encode()


def waves(separator: str = ",", when: Callable[[int], str] = "2024-01-{:02d}".format) -> bytes:
    """A series with a column of times."""
    rows = [(when(step + 1), f"{math.sin(step):.3f}", str(step)) for step in range(28)]
    return lines(map(separator.join, [("date", "high", "low"), *rows]))


def arpa_file() -> bytes:
    """Two orders of n-grams."""
    return (
        b"\\data\\\nngram 1=4\nngram 2=3\n\n\\1-grams:\n-99\t<s>\t-0.3\n-0.9\tred\t-0.2\n-0.5\t</s>\n-1.2\t<unk>\t0\n\n"
        b"\\2-grams:\n-0.4\t<s> red\n-0.6\tred </s>\n-0.7\tred red\n\n\\end\\\n"
    )


def journal_file() -> bytes:
    """Three steps and a validation."""
    train = [{"step": i, "event": "train", "loss": 1 / i, "rate": 0.1, "norm": 0.5, "epoch": 0} for i in (1, 2, 3)]
    return lines(map(json.dumps, [*train, {"step": 3, "event": "valid", "loss": 0.3, "bleu": 12.5, "epoch": 0}]))


AGAIN = b"""part = "valid"
threads = 1
resamples = 40
[[rows]]
name = "r"
predictions = "p.jsonl.gz"
"""


def compared_files() -> Files:
    """A comparison of a file of predictions."""
    from seqwright.data.cards import opened_data
    from seqwright.recipe import recipe_from

    with TemporaryDirectory() as home, chdir(home):
        Path("a.csv").write_bytes(labelled(","))
        recipe = recipe_from({"task": "text-classification", "data": {"train": "a.csv", "valid": "30%"}})
        data = opened_data(recipe.data, "labelled")
        examples = list(data.examples("valid"))
        header = {"predictions": 1, "kind": "label", "examples": len(examples), "part": "valid", "parameters": 5}
        header |= {"sha256": data.fingerprint("valid"), "training": {"steps": 2, "tokens": 9, "seconds": 1.5}}
        header |= {"scores": {"accuracy": 50.0, "macro_f1": 40.0}, "recipe": recipe.resolved()}
    predicted = [{"example": number, "predicted": "animal"} for number in range(len(examples))]
    packed = gzip.compress(lines(map(json.dumps, [header, *predicted])), mtime=0)
    return {"a.csv": labelled(","), "again.toml": AGAIN, "p.jsonl.gz": packed}


CACHED = [[i, i + 1] for i in range(7)]


def cached() -> Files:
    """The files of an entry."""
    import numpy as np

    from seqwright.cache import RaggedWriter, kept_folder

    def write(folder: Path) -> None:
        with RaggedWriter(folder / "rows") as rows:
            for row in CACHED:
                rows.add(np.array(row, dtype=np.uint16))

    with TemporaryDirectory() as home:
        before = os.environ.get("SEQWRIGHT_CACHE")
        os.environ["SEQWRIGHT_CACHE"] = home
        try:
            return contents(kept_folder("fuzzed", write))
        finally:
            os.environ.pop("SEQWRIGHT_CACHE")
            os.environ.update({} if before is None else {"SEQWRIGHT_CACHE": before})


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Files below a folder, with the folders that they lie in."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def contents(folder: Path) -> Files:
    """Every file of a folder, but for locks."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


RECIPE = b"""name = "mine"
task = "translation"
description = "a small one"
[data]
card = "dates"
[input]
vocabulary = 300
[model]
kind = "transformer"
width = 32
heads = 2
[training]
steps = 100
rate = 0.001
[decoding]
beam = 4
"""
COMPARISON = b"""name = "small"
seeds = [1, 2]
baseline = "one"
[budget]
minutes = 1
[[rows]]
name = "one"
recipe = "dates-demo"
[[rows]]
name = "two"
recipe = "dates-demo"
model = { width = 32 }
"""
OVERRIDES = b"""training.steps=10
model.width=32
data.examples=100
decoding.beam=
input.tokenizer="bpe"
training.rate=find
"""
GRAPHS: Files = {"encoder.onnx": b"no graph" * 99, "tokenizer.json": b"{}"}
CARD_OF_GRAPHS = json.dumps(
    {
        "format": 1,
        "graphs": {"encoder": {"file": "encoder.onnx", "inputs": {}, "outputs": {}}},
        "tokenizer": "tokenizer.json",
        "target_tokenizer": "tokenizer.json",
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in GRAPHS.items()},
    }
).encode()
CONLL = lines(
    "\n".join(f"{w}\tX\t{'B-a' if w in {'cat', 'dog'} else 'O'}" for w in text.split()) + "\n" for text in TEXTS
)
CONLLU = lines(
    "# text\n" + "\n".join(f"{i}\t{w}\t{w}\tNOUN\t_\t_\t0\troot\t_\t_" for i, w in enumerate(text.split(), 1)) + "\n"
    for text in TEXTS
)
TS = lines(
    ["@problemName a", "@timeStamps false", "@univariate false", "@classLabel true a b", "@data"]
    + [f"0.1,{i},2:1,2,3.5:{'a' if i % 2 else 'b'}" for i in range(12)]
)
UCR = lines("\t".join(["a" if i % 2 else "b", "0.5", str(i), "-1e-3"]) for i in range(12))
DICTIONARY = lines(f"{''.join(w[0] for w in text.split()).upper()}  {text.upper()}" for text in TEXTS)
WIKI = lines(line for i, text in enumerate(TEXTS) for line in (" ", f" = {WORDS[i % 11]} = ", " ", f" {text} "))
VECTORS = lines(["size\tage\ttext", *(f"{i}\t{i % 5 - 1.5}\t{text}" for i, text in enumerate(TEXTS))])
TABLE_OF_QUESTIONS: dict[str, list[Any]] = {
    "question": ["who is red?"] * 12,
    "context": [f"the red cat {i}" for i in range(12)],
    "answers": [[{"text": "cat", "answer_start": 8}]] * 12,
}
