"""Every reader of a user's files, each with small valid files that `mutations` damages.

A reader is a name, its files, and what is done with them. Readers of text need no model; those of `MODELS` open or
import one, and what they damage is a whole folder, a file of it in each case.
"""

import gzip
import io
import json
import math
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

Files = dict[str, bytes]
Read = Callable[[Path], object]


class FileReader(NamedTuple):
    """What is damaged and how it is read; `files` are below the folder that `read` is given."""

    files: Callable[[], Files]
    read: Read
    builds: bool = False  # a model


WORDS = "red blue green cat dog cow sun sea sky old new".split()
TEXTS = [" ".join(WORDS[(3 * i + k) % 11] for k in range(2 + i % 4)) for i in range(12)]
LABELS = ["animal" if {"cat", "dog", "cow"} & set(text.split()) else "thing" for text in TEXTS]
SHARES: dict[str, Any] = {"valid": "30%"}


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
    """A sheet of Excel."""
    from openpyxl import Workbook

    book, held = Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(held)
    return held.getvalue()


def parquet(**columns: list[Any]) -> bytes:
    """A file of Parquet."""
    import pyarrow as pa
    from pyarrow import parquet as library

    held = io.BytesIO()
    library.write_table(pa.table(columns), held)
    return held.getvalue()


def zipped(**members: bytes) -> bytes:
    """An archive of files, `_` for the point in a name."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return held.getvalue()


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
    asked = [
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


def consumed(kind: str, path: Path, **settings: Any) -> None:
    """Open files as a recipe would, and ask all that a training asks of data."""
    from seqwright.data import cards

    opened = cards.opened_data(cards.READERS[kind].settings(**{"train": str(path), **SHARES, **settings}), kind)
    opened.fingerprint("train")
    for _ in opened.series("train") if kind == "series" else opened.examples("train"):
        pass
    opened.remarks()
    if kind == "series":
        opened.ending().rhythm.later(3)


def files_reader(kind: str, name: str, content: Callable[[], bytes], **settings: Any) -> FileReader:
    """A reader of one file of a kind of examples."""
    return FileReader(lambda: {name: content()}, lambda folder: consumed(kind, folder / name, **settings))


def aligned(folder: Path) -> None:
    """Two files of which line n of one translates line n of the other."""
    from seqwright.data.pairs import PairFiles, PairFilesSettings

    sides = (str(folder / "a.de"), str(folder / "a.en"))
    data = PairFiles(PairFilesSettings(train=sides, **SHARES))
    list(data.examples("train"))
    data.remarks()


def guessed(folder: Path) -> None:
    """What `new` makes of a table it has never seen."""
    from seqwright.cli.first_recipes import first_recipe

    for task in ("text-classification", "translation", "forecasting", "vector-to-text"):
        try:
            first_recipe(task, [folder / "a.csv"], {})
        except _user_error():
            continue


def _user_error() -> type[Exception]:
    from seqwright.errors import UserError

    return UserError


def recipe(folder: Path) -> None:
    """A recipe with its base, read whole."""
    from seqwright.recipe import read_recipe

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read_recipe(str(folder / "a.toml"))


def overridden(folder: Path) -> None:
    """Words of the command line over a recipe."""
    from seqwright.recipe import read_recipe

    words = (folder / "words.txt").read_bytes().decode("utf-8", "surrogateescape").split("\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read_recipe("dates-demo", [word for word in words if word])


def compared(folder: Path) -> None:
    """The plan of a comparison."""
    from seqwright.comparison.settings import read_comparison

    read_comparison(str(folder / "a.toml"))


def arpa(folder: Path) -> None:
    """N-grams of another program, with a sentence scored by them."""
    import numpy as np
    import torch

    from seqwright.batches.text import texts
    from seqwright.interchange.arpa import read_arpa, read_words

    words = read_words(folder / "a.arpa")
    model, _ = read_arpa(folder / "a.arpa", ["<pad>", "<s>", "</s>", "<unk>", *words])
    logits_BTV, _ = model(texts([np.array([4 if words else 3, 3])], begin=1, end=2))
    if torch.isnan(logits_BTV).any():
        raise AssertionError("a probability is no number")


def arpa_file() -> bytes:
    """Two orders of n-grams."""
    return (
        b"\\data\\\nngram 1=4\nngram 2=3\n\n\\1-grams:\n-99\t<s>\t-0.3\n-0.9\tred\t-0.2\n-0.5\t</s>\n-1.2\t<unk>\t0\n\n"
        b"\\2-grams:\n-0.4\t<s> red\n-0.6\tred </s>\n-0.7\tred red\n\n\\end\\\n"
    )


def alignments(folder: Path) -> None:
    """Links in Pharaoh's format."""
    from seqwright.data.alignments import read_alignments

    read_alignments(folder / "a.align")


def journal(folder: Path) -> None:
    """What training wrote down."""
    from seqwright.history import History
    from seqwright.training.journal import Journal

    history = History(Journal(folder / "journal.jsonl").lines())
    for name in history.keys():
        history[name]
    repr(history), history.train, history.valid


def journal_file() -> bytes:
    """Three steps and a validation."""
    train = [{"step": i, "event": "train", "loss": 1 / i, "rate": 0.1, "norm": 0.5, "epoch": 0} for i in (1, 2, 3)]
    return lines(map(json.dumps, [*train, {"step": 3, "event": "valid", "loss": 0.3, "bleu": 12.5, "epoch": 0}]))


def token_cache(folder: Path) -> None:
    """An entry of the cache is as it was written, or is made again."""
    import numpy as np

    from seqwright.cache import Ragged, damage_of

    if damage_of(folder) is None:
        rows = Ragged.mapped(folder / "rows")
        if [row.tolist() for row in rows.take(np.arange(len(rows)), None)] != CACHED:
            raise AssertionError("a damaged entry was taken for whole")


CACHED = [[i, i + 1] for i in range(7)]


def cached() -> Files:
    """The files of an entry."""
    import os

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


def contents(folder: Path) -> Files:
    """Every file of a folder, but for locks."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


RECIPE = b'''name = "mine"
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
'''
COMPARISON = b'''name = "small"
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
'''
OVERRIDES = b'''training.steps=10
model.width=32
data.examples=100
decoding.beam=
input.tokenizer="bpe"
training.rate=find
'''
CONLL = lines("\n".join(f"{w}\tX\t{'B-a' if w in {'cat', 'dog'} else 'O'}" for w in text.split()) + "\n" for text in TEXTS)
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
TABLE_OF_QUESTIONS = {
    "question": ["who is red?"] * 12,
    "context": [f"the red cat {i}" for i in range(12)],
    "answers": [[{"text": "cat", "answer_start": 8}]] * 12,
}
STEPS: dict[str, Any] = {"valid": 7, "history": 3, "horizon": 2, "time": "date"}

READERS: dict[str, FileReader] = {
    "labelled-csv": files_reader("labelled", "a.csv", partial(labelled, ",")),
    "labelled-tsv": files_reader("labelled", "a.tsv", partial(labelled, "\t")),
    "labelled-skip": files_reader("labelled", "a.csv", partial(labelled, ";"), bad_rows="skip", fold_labels=True),
    "labelled-jsonl": files_reader("labelled", "a.jsonl", lambda: objects(text=TEXTS, label=LABELS)),
    "labelled-gz": files_reader("labelled", "a.csv.gz", lambda: gzip.compress(labelled(","), mtime=0)),
    "labelled-zip": files_reader("labelled", "a.zip", lambda: zipped(a_csv=labelled(","))),
    "labelled-xlsx": files_reader(
        "labelled", "a.xlsx", lambda: workbook([["text", "label"], *map(list, zip(TEXTS, LABELS, strict=True))])
    ),
    "labelled-parquet": files_reader("labelled", "a.parquet", lambda: parquet(text=TEXTS, label=LABELS)),
    "labelled-tar": files_reader(
        "labelled",
        "a.tar",
        lambda: tarred({f"{LABELS[i]}/{i}.txt": text.encode() for i, text in enumerate(TEXTS)}),
    ),
    "labelled-tar-gz": files_reader(
        "labelled",
        "a.tar.gz",
        lambda: gzip.compress(tarred({f"{LABELS[i]}/{i}.txt": text.encode() for i, text in enumerate(TEXTS)}), mtime=0),
    ),
    "text-pairs": files_reader(
        "labelled", "a.tsv", lambda: lines(["sentence1\tsentence2\tlabel", *(f"{t}\t{t}\t{i}" for i, t in enumerate(TEXTS))])
    ),
    "numbers-csv": files_reader("described", "a.tsv", lambda: VECTORS, columns=("size", "age")),
    "series-csv": files_reader("series", "a.csv", waves, **STEPS),
    "series-semicolons": files_reader(
        "series", "a.csv", lambda: waves(";").replace(b".", b","), **{**STEPS, "missing": "last", "gaps": "linear"}
    ),
    "series-times": files_reader("series", "a.tsv", lambda: waves("\t", str), **{**STEPS, "gaps": "last"}),
    "series-xlsx": files_reader(
        "series", "a.xlsx", lambda: workbook([row.split(",") for row in waves().decode().splitlines()]), **STEPS
    ),
    "series-parquet": files_reader(
        "series",
        "a.parquet",
        lambda: parquet(date=[f"2024-01-{i + 1:02d}" for i in range(28)], high=[i / 7 for i in range(28)]),
        **STEPS,
    ),
    "series-ucr": files_reader("labelled-series", "a.tsv", lambda: UCR),
    "series-ts": files_reader("labelled-series", "a.ts", lambda: TS),
    "conll": files_reader("tagged", "a.conll", lambda: CONLL),
    "conllu": files_reader("tagged", "a.conllu", lambda: CONLLU),
    "squad": files_reader("questions", "a.json", squad),
    "questions-jsonl": files_reader("questions", "a.jsonl", lambda: objects(**TABLE_OF_QUESTIONS)),
    "questions-csv": files_reader(
        "questions", "a.csv", lambda: lines(["question,context,answer,start", *(f"who {i}?,the red cat {i},cat,8" for i in range(12))])
    ),
    "questions-parquet": files_reader("questions", "a.parquet", lambda: parquet(**TABLE_OF_QUESTIONS)),
    "pairs-tsv": files_reader("pairs", "a.tsv", lambda: lines(f"{text}\t{text[::-1]}" for text in TEXTS)),
    "pairs-jsonl": files_reader("pairs", "a.jsonl", lambda: objects(source=TEXTS, target=LABELS)),
    "aligned-texts": FileReader(lambda: {"a.de": lines(TEXTS), "a.en": lines(TEXTS)}, aligned),
    "dictionary": files_reader("pronunciations", "a.dict", lambda: DICTIONARY),
    "text-lines": files_reader("text", "a.txt", lambda: lines(TEXTS)),
    "text-paragraphs": files_reader("text", "a.txt.gz", lambda: gzip.compress(lines(f"{t}\n" for t in TEXTS), mtime=0), documents="paragraphs"),
    "text-articles": files_reader("text", "a.txt", lambda: WIKI, documents="articles", split="end"),
    "text-files": files_reader("text", "a.txt", lambda: lines(TEXTS), documents="files", split="end"),
    "new": FileReader(lambda: {"a.csv": labelled(",")}, guessed),
    "recipe": FileReader(lambda: {"a.toml": b'base = "b.toml"\ntask = "translation"\n', "b.toml": RECIPE}, recipe),
    "overrides": FileReader(lambda: {"words.txt": OVERRIDES}, overridden),
    "comparison": FileReader(lambda: {"a.toml": COMPARISON}, compared),
    "arpa": FileReader(lambda: {"a.arpa": arpa_file()}, arpa),
    "alignments": FileReader(lambda: {"a.align": lines(["0-0 1?2", "", "3-4"])}, alignments),
    "journal": FileReader(lambda: {"journal.jsonl": journal_file()}, journal),
    "token-cache": FileReader(cached, token_cache),
}


@cache
def valid_files(name: str) -> Mapping[str, bytes]:
    """The files of a reader, made once."""
    return every_reader()[name].files()


def every_reader() -> dict[str, FileReader]:
    """Readers of text and those that build a model."""
    from benchmarks.fuzz_runs import MODELS

    return {**READERS, **MODELS}
