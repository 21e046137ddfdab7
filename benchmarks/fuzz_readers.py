"""Every reader of a user's files, each with small valid files that `mutations` damages.

A reader is a name, its files, and what is done with them. Readers of text need no model; those of `MODELS` open or
import one, and what they damage is a whole folder, a file of it in each case.
"""

import gzip
import io
import json
import warnings
from collections.abc import Callable, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

from benchmarks.fuzz_files import (
    CACHED,
    CARD_OF_GRAPHS,
    COMPARISON,
    CONLL,
    CONLLU,
    DICTIONARY,
    GRAPHS,
    LABELS,
    OVERRIDES,
    RECIPE,
    TABLE_OF_QUESTIONS,
    TEXTS,
    TS,
    UCR,
    VECTORS,
    WIKI,
    Files,
    arpa_file,
    cached,
    compared_files,
    contents,
    journal_file,
    labelled,
    lines,
    objects,
    parquet,
    squad,
    tarred,
    waves,
    workbook,
    write_files,
    zipped,
)
from benchmarks.fuzz_films import FILM_FILES
from benchmarks.fuzz_images import CAPTIONS, IMAGE_FILES

Read = Callable[[Path], object]


class FileReader(NamedTuple):
    """What is damaged and how it is read; `files` are below the folder that `read` is given."""

    files: Callable[[], Files]
    read: Read
    builds: bool = False  # a model


SHARES: dict[str, Any] = {"valid": "30%"}


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


def given_to_a_verb(name: str, folder: Path) -> None:
    """A table that a classifier is to read, and write back."""
    from seqwright.cli.tables import given_table
    from seqwright.data.labelled import LabelledFilesSettings
    from seqwright.data.tables import Usual

    with redirect_stderr(io.StringIO()):
        columns = {"text": Usual(("text", "sentence"), text=False)}
        table = given_table(folder / name, columns, LabelledFilesSettings(train="none.csv"), ())
        list(table.rows)
        table.later()


def forecast_from(folder: Path) -> None:
    """A series that a forecast is to continue."""
    from seqwright.data.series import SeriesFilesSettings, ending_of

    ending = ending_of(folder / "a.csv", ("high", "low"), SeriesFilesSettings(train="none.csv", **STEPS))
    if ending.rhythm is not None:
        ending.rhythm.later(3)


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


def images_read(train: tuple[str, ...], settings: Mapping[str, Any], folder: Path) -> None:
    """Images as a recipe opens them, decoded, fitted, and learnt from."""
    from seqwright.data import cards
    from seqwright.inputs import Examples, Room
    from seqwright.inputs.image import ImageInput, ImageSettings

    paths = [str(folder / name) for name in train]
    given = {"train": paths[0] if len(paths) == 1 else paths, **SHARES, **settings}
    kind = "labelled-images"
    data = cards.opened_data(cards.READERS[kind].settings(**given), kind)
    part = Examples(lambda: data.examples("train"), data.fingerprint("train"), "the train part")
    input = ImageInput.learn(part, ImageSettings(size=5), room=Room())
    input.stack(list(input.encode(part).images.pixels_NYXC))
    data.remarks()


def films_read(train: tuple[str, ...], settings: Mapping[str, Any], folder: Path) -> None:
    """Films as a recipe opens them, decoded, fitted, and learnt from, their places too where they have any."""
    import numpy as np

    from seqwright.data import cards
    from seqwright.inputs import Examples, Room
    from seqwright.inputs.film import FilmInput, FilmSettings
    from seqwright.outputs.places import PlacesOutput

    data = cards.opened_data(
        cards.READERS["films"].settings(**{"train": str(folder / train[0]), **SHARES, **settings}), "films"
    )
    part = Examples(lambda: data.examples("train"), data.fingerprint("train"), "the train part")
    input = FilmInput.learn(part, FilmSettings(size=5), room=Room())
    rows = input.encode(part)
    input.stack(rows.take(np.arange(len(rows.example_N)), None))
    if any(example.places for example in part):
        output = PlacesOutput.learn(part, None, input)
        output.encode(part, rows)
    data.remarks()


def captions_read(train: tuple[str, ...], settings: Mapping[str, Any], folder: Path) -> None:
    """Images with captions as a recipe opens them, learnt from, and stacked with the tokens of all captions."""
    from seqwright.data import cards
    from seqwright.inputs import Examples
    from seqwright.inputs.captioned_image import CaptionedImageInput
    from seqwright.inputs.image import ImageSettings
    from seqwright.outputs.caption import CaptionOutput, CaptionSettings
    from seqwright.tasks.wired import Wires

    given = {"train": str(folder / train[0]), **SHARES, **settings}
    if "features" in given:
        given["features"] = str(folder / given["features"])
    kind = "captioned-images"
    data = cards.opened_data(cards.READERS[kind].settings(**given), kind)
    part = Examples(lambda: data.examples("train"), data.fingerprint("train"), "the train part")
    reading = ImageSettings() if "features" in given else ImageSettings(size=5)
    wires = Wires.learn(CaptionedImageInput, CaptionOutput, part, reading, CaptionSettings())
    for _ in wires.training_batches(part, tokens=64).once():
        pass
    data.remarks()


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


def compared_again(folder: Path) -> bytes:
    """The rows of a comparison of a file of predictions; what is not there is written whole."""
    from seqwright.cli.comparing import compare_rows
    from seqwright.comparison import stages, work

    write_files({name: content for name, content in COMPARED().items() if not (folder / name).exists()}, folder)
    quiet = redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO())
    with chdir(folder), quiet[0], quiet[1], suppress(SystemExit), patch.object(stages, "done", work._done):
        compare_rows("again.toml", Path("runs"), dry_run=False, as_json=False)
    return json.dumps(json.loads((folder / "runs/again/table.json").read_text())["rows"]).encode()


@cache
def compared_whole() -> Files:
    """The records of such a comparison, and the rows of its table."""
    with TemporaryDirectory() as home:
        rows = compared_again(Path(home))
        return {**contents(Path(home) / RECORDS), "rows": rows}


def kept_records() -> Files:
    """The records of such a comparison."""
    return {f"{RECORDS}/{name}": content for name, content in compared_whole().items() if name != "rows"}


def recorded(folder: Path) -> None:
    """A comparison whose records are damaged finds the same again."""
    if compared_again(folder) != compared_whole()["rows"]:
        raise AssertionError("damaged records were taken for whole")


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


def graphs(folder: Path) -> None:
    """A folder of ONNX graphs: what its card names is as it was written."""
    from seqwright.interchange.onnx import read_onnx

    found = read_onnx(folder)
    for graph in found.card["graphs"].values():
        if (folder / graph["file"]).read_bytes() != GRAPHS[graph["file"]]:
            raise AssertionError("a damaged graph was taken for whole")


def alignments(folder: Path) -> None:
    """Links in Pharaoh's format."""
    from seqwright.data.alignments import read_alignments

    read_alignments(folder / "a.align")


def journal(folder: Path) -> None:
    """What training wrote down."""
    from seqwright.history import History
    from seqwright.training.journal import Journal

    history = History(Journal(folder / "journal.jsonl").lines())
    for name in dict(history):
        history[name]
    repr(history), history.train, history.valid


def token_cache(folder: Path) -> None:
    """An entry of the cache is as it was written, or is made again."""
    import numpy as np

    from seqwright.cache import Ragged, damage_of

    if damage_of(folder) is None:
        rows = Ragged.mapped(folder / "rows")
        if [row.tolist() for row in rows.take(np.arange(len(rows)), None)] != CACHED:
            raise AssertionError("a damaged entry was taken for whole")


COMPARED, RECORDS = cache(compared_files), "runs/again/records"
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
        "labelled",
        "a.tsv",
        lambda: lines(["sentence1\tsentence2\tlabel", *(f"{t}\t{t}\t{i}" for i, t in enumerate(TEXTS))]),
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
        "questions",
        "a.csv",
        lambda: lines(["question,context,answer,start", *(f"who {i}?,the red cat {i},cat,8" for i in range(12))]),
    ),
    "questions-parquet": files_reader("questions", "a.parquet", lambda: parquet(**TABLE_OF_QUESTIONS)),
    "pairs-tsv": files_reader("pairs", "a.tsv", lambda: lines(f"{text}\t{text[::-1]}" for text in TEXTS)),
    "pairs-jsonl": files_reader("pairs", "a.jsonl", lambda: objects(source=TEXTS, target=LABELS)),
    "aligned-texts": FileReader(lambda: {"a.de": lines(TEXTS), "a.en": lines(TEXTS)}, aligned),
    "dictionary": files_reader("pronunciations", "a.dict", lambda: DICTIONARY),
    "text-lines": files_reader("text", "a.txt", lambda: lines(TEXTS)),
    "text-paragraphs": files_reader(
        "text", "a.txt.gz", lambda: gzip.compress(lines(f"{t}\n" for t in TEXTS), mtime=0), documents="paragraphs"
    ),
    "text-articles": files_reader("text", "a.txt", lambda: WIKI, documents="articles", split="end"),
    "text-files": files_reader("text", "a.txt", lambda: lines(TEXTS), documents="files", split="end"),
    "verb-csv": FileReader(lambda: {"a.csv": labelled(",")}, partial(given_to_a_verb, "a.csv")),
    "verb-jsonl": FileReader(
        lambda: {"a.jsonl": objects(text=TEXTS, label=LABELS)}, partial(given_to_a_verb, "a.jsonl")
    ),
    "verb-series": FileReader(lambda: {"a.csv": waves()}, forecast_from),
    "new": FileReader(lambda: {"a.csv": labelled(",")}, guessed),
    "recipe": FileReader(lambda: {"a.toml": b'base = "b.toml"\ntask = "translation"\n', "b.toml": RECIPE}, recipe),
    "overrides": FileReader(lambda: {"words.txt": OVERRIDES}, overridden),
    "comparison": FileReader(lambda: {"a.toml": COMPARISON}, compared),
    "predictions": FileReader(lambda: {"p.jsonl.gz": COMPARED()["p.jsonl.gz"]}, compared_again),
    "records": FileReader(kept_records, recorded),
    "arpa": FileReader(lambda: {"a.arpa": arpa_file()}, arpa),
    "onnx": FileReader(lambda: {**GRAPHS, "seqwright-onnx.json": CARD_OF_GRAPHS}, graphs),
    "alignments": FileReader(lambda: {"a.align": lines(["0-0 1?2", "", "3-4"])}, alignments),
    "journal": FileReader(lambda: {"journal.jsonl": journal_file()}, journal),
    "token-cache": FileReader(cached, token_cache),
    **{
        name: FileReader(each.files, partial(images_read, each.train, each.settings))
        for name, each in IMAGE_FILES.items()
    },
    **{
        name: FileReader(each.files, partial(films_read, each.train, each.settings))
        for name, each in FILM_FILES.items()
    },
    **{
        name: FileReader(each.files, partial(captions_read, each.train, each.settings))
        for name, each in CAPTIONS.items()
    },
}


@cache
def valid_files(name: str) -> Mapping[str, bytes]:
    """The files of a reader, made once."""
    return every_reader()[name].files()


def every_reader() -> dict[str, FileReader]:
    """Readers of text and those that build a model."""
    from benchmarks.fuzz_runs import MODELS

    return {**READERS, **MODELS}
