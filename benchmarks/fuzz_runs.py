"""Run folders and folders of `transformers` for the fuzzing: small models of every kind, a step of training each.

In each case one file of the folder is damaged. It then opens and predicts, or is refused; where a checkpoint is
damaged, an older one serves, and training is resumed from it to the same weights.
"""

import json
import warnings
from collections.abc import Callable
from contextlib import chdir
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from benchmarks.fuzz_files import (
    CONLL,
    TABLE_OF_QUESTIONS,
    TEXTS,
    UCR,
    VECTORS,
    Files,
    contents,
    labelled,
    lines,
    objects,
    waves,
    write_files,
)
from benchmarks.fuzz_images import IMAGE_FILES, captions_csv, pixels
from benchmarks.fuzz_readers import FileReader, valid_files

SMALL = {"width": 8, "heads": 2, "layers": 1, "feed_forward": 16}
READING = {"width": 7, "embedding": 5}
COUNTED = {"ngram", "least-squares"}  # models that do not descend
Plain = dict[str, Any]


def recipe(
    task: str, content: bytes, ending: str, model: Plain, beside: Files | None = None, **sections: Plain
) -> Callable[[Path], Plain]:
    """A recipe over a file that stands beside it, and perhaps others."""

    def written(folder: Path) -> Plain:
        path = folder / f"a.{ending}"
        path.write_bytes(content)
        write_files(beside or {}, folder)
        data = {"train": str(path), "valid": "30%", **sections.get("data", {})}
        plain: Plain = {"task": task, "model": model, **sections, "data": data}
        plain["training"] = {"steps": 2, "save_every": 1, "keep": 2, "tokens": 150, "device": "cpu"}
        plain["training"] |= {"warmup": 0, "schedule": "constant"} if model["kind"] not in COUNTED else {}
        plain["training"] |= sections.get("training", {})
        return plain

    return written


RECIPES: dict[str, tuple[Callable[[Path], Plain], Any]] = {
    "translation": (
        recipe(
            "translation",
            lines(f"{text}\t{text[::-1]}" for text in TEXTS),
            "tsv",
            {
                "kind": "transformer",
                "width": 8,
                "heads": 2,
                "encoder_layers": 1,
                "decoder_layers": 1,
                "feed_forward": 16,
            },
            input={"tokenizer": "characters", "longest": 30},
            decoding={"beam": 1},
        ),
        "red cat",
    ),
    "language": (
        recipe(
            "language-modeling",
            lines(TEXTS),
            "txt",
            {"kind": "gpt", **SMALL, "context": 30},
            input={"tokenizer": "bpe", "vocabulary": 60, "rows": "documents", "longest": 29},
        ),
        "red",
    ),
    "stream": (  # with a state that is carried, and averages
        recipe(
            "language-modeling",
            lines(TEXTS),
            "txt",
            {"kind": "lstm", "width": 7},
            input={"tokenizer": "characters"},
            training={"average": "ema"},
        ),
        "red",
    ),
    "ngram": (
        recipe(
            "language-modeling",
            lines(TEXTS),
            "txt",
            {"kind": "ngram", "order": 3},
            input={"tokenizer": "words", "rows": "documents"},
        ),
        "red",
    ),
    "masked": (
        recipe(
            "masked-language-modeling",
            lines(TEXTS),
            "txt",
            {"kind": "bert", **SMALL, "context": 13, "pooler": False},
            input={"tokenizer": "words", "rows": "full-sentences", "longest": 13},
        ),
        "red <mask>",
    ),
    "classification": (
        recipe(
            "text-classification",
            labelled("\t"),
            "tsv",
            {"kind": "lstm", **READING},
            input={"tokenizer": "words", "longest": 17},
        ),
        "red cat",
    ),
    "regression": (
        recipe(
            "text-regression",
            lines(["text\tscore", *(f"{t}\t{i / 7}" for i, t in enumerate(TEXTS))]),
            "tsv",
            {"kind": "gru", **READING},
            input={"tokenizer": "words", "longest": 17},
        ),
        "red cat",
    ),
    "tags": (
        recipe(
            "token-classification",
            CONLL,
            "conll",
            {"kind": "gru", **READING},
            input={"tokenizer": "characters", "longest": 13},
        ),
        "red cat",
    ),
    "questions": (
        recipe(
            "question-answering",
            objects(**TABLE_OF_QUESTIONS),
            "jsonl",
            {"kind": "bert", **SMALL, "context": 17},
            input={"tokenizer": "words", "longest": 17, "longest_question": 5, "stride": 7},
            output={"longest_answer": 3},
        ),
        {"question": "who is red?", "context": "the red cat"},
    ),
    "forecasts": (
        recipe(
            "forecasting",
            waves(),
            "csv",
            {"kind": "gru", "width": 5, "layers": 1},
            data={"valid": 7, "history": 3, "horizon": 2, "time": "date"},
        ),
        None,
    ),
    "series-labels": (recipe("series-classification", UCR, "tsv", {"kind": "lstm", **READING}), (0.1, 0.5, -0.2)),
    "instruction": (
        recipe(
            "instruction",
            lines(f"{text}\t{text[::-1]}" for text in TEXTS),
            "tsv",
            {"kind": "gpt", **SMALL, "context": 29},
            input={"tokenizer": "words", "longest": 11},
            objective={"kind": "answer-only"},
        ),
        "red cat",
    ),
    "least-squares": (
        recipe(
            "forecasting",
            waves(),
            "csv",
            {"kind": "least-squares"},
            data={"valid": 7, "history": 3, "horizon": 2, "time": "date"},
        ),
        None,
    ),
    "images": (
        recipe(
            "image-classification",
            IMAGE_FILES["images-npz"].files()["a.npz"],
            "npz",
            {"kind": "vit", "patch": 3, "width": 8, "heads": 2, "layers": 1},
        ),
        pixels(3),
    ),
    "captions": (
        recipe(
            "image-captioning",
            captions_csv()["a.csv"],
            "csv",
            {"kind": "captioner", "width": 7, "encoder_width": 4, "encoder_layers": 2},
            input={"augment": ["shift"]},
            output={"longest": 17},
            objective={"kind": "doubly-stochastic"},
            beside={name: content for name, content in captions_csv().items() if name != "a.csv"},
        ),
        pixels(3),
    ),
    "vectors": (
        recipe(
            "vector-to-text",
            VECTORS,
            "tsv",
            {"kind": "gru", "width": 7},
            data={"columns": ["size", "age"]},
            output={"longest": 17},
        ),
        (3.0, 1.5),
    ),
}


def trained(name: str) -> Files:
    """The files of a run that learnt for two steps: the same bytes whenever and wherever it did."""
    from seqwright.recipe import recipe_from
    from seqwright.runs import train

    with (
        TemporaryDirectory() as home,
        chdir(home),
        warnings.catch_warnings(),
        patch("time.monotonic", return_value=0.0),
    ):
        warnings.simplefilter("ignore")
        plain = RECIPES[name][0](Path())
        run = train(recipe_from(plain, name=name), Path("run"), text=json.dumps(plain["task"]))
        from seqwright.inputs.dictionary import save_dictionary
        from seqwright.model_card import write_card

        write_card(run)
        if name == "translation":
            save_dictionary([("cat", "tac", 3), ("red", "der", 2)], run.folder / "output")
        return contents(run.folder)


def opened(name: str, folder: Path) -> None:
    """Open a run, ask it something, and list it."""
    from seqwright.cli.run_list import removals, summary_of
    from seqwright.runs import open_run

    list(removals(summary_of(folder)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = open_run(folder)
        repr(run)
        if RECIPES[name][1] is not None:
            run(RECIPES[name][1])


LEARNT_STEP = "step-000002"
RESUMED = {  # the run, and what of it is damaged before it is trained for a third step
    "resume-state": ("classification", (f"{LEARNT_STEP}/state.json",)),
    "resume-checkpoint": (
        "stream",
        (
            *(f"{LEARNT_STEP}/{kind}.safetensors" for kind in ("model", "optimizer", "averages", "carry")),
            *("last", "best", "journal.jsonl", "pace.jsonl"),
        ),
    ),
}


def last_state(name: str) -> Files:
    """What a run resumes from."""
    run, damaged = RESUMED[name]
    return {path: valid_files(f"run-{run}")[path] for path in damaged}


def resumed(name: str, folder: Path) -> None:
    """Train such a run for a third step: it ends in the weights of one that nothing is wrong with."""
    if _third_step(name, folder) != _third_step_of_whole(name):
        raise AssertionError("it was resumed to other weights")


@cache
def _third_step_of_whole(name: str) -> bytes:
    with TemporaryDirectory() as home:
        write_files(last_state(name), Path(home))
        return _third_step(name, Path(home))


def _third_step(name: str, folder: Path) -> bytes:
    from seqwright.recipe import recipe_from
    from seqwright.runs import train

    run, damaged = RESUMED[name]
    write_files({path: data for path, data in valid_files(f"run-{run}").items() if path not in damaged}, folder)
    with chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = RECIPES[run][0](Path())
        plain["training"]["steps"] = 3
        train(recipe_from(plain, name=run), Path.cwd())
    return (folder / "step-000003/model.safetensors").read_bytes()


def exported(kind: str) -> Files:
    """A folder as `transformers` writes it."""
    from seqwright.cli.exporting import FORMATS
    from seqwright.recipe import recipe_from
    from seqwright.runs import train

    with TemporaryDirectory() as home, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = (RECIPES["images"][0] if kind == "vit" else language_recipe(kind))(Path(home))
        run = train(recipe_from(plain, name=kind), Path(home) / "run")
        FORMATS["hf"].write(run, Path(home) / "hf", None)
        return contents(Path(home) / "hf")


def language_recipe(kind: str) -> Callable[[Path], Plain]:
    """A recipe of a model of a text, for the exchange."""
    causal = kind == "gpt"
    rows = {"rows": "documents", "longest": 12} if causal else {"rows": "full-sentences", "longest": 12}
    task = "language-modeling" if causal else "masked-language-modeling"
    model = {"kind": kind, **SMALL, "context": 13} | ({} if causal else {"pooler": False})
    return recipe(task, lines(TEXTS), "txt", model, input={"tokenizer": "bpe", "vocabulary": 60, **rows})


def imported(folder: Path) -> None:
    """Read such a folder, and make a run of it."""
    from seqwright.conversion import converted
    from seqwright.interchange.pretrained import read_pretrained

    with warnings.catch_warnings(), TemporaryDirectory(dir=folder.parent) as aside:
        warnings.simplefilter("ignore")
        converted(read_pretrained(folder), "fuzzed", Path(aside) / "run")


MODELS: dict[str, FileReader] = {
    **{f"run-{name}": FileReader(partial(trained, name), partial(opened, name), builds=True) for name in RECIPES},
    **{name: FileReader(partial(last_state, name), partial(resumed, name), builds=True) for name in RESUMED},
    **{
        f"import-{kind}": FileReader(partial(exported, kind), imported, builds=True)
        for kind in ("gpt", "bert", "roberta", "vit")
    },
}
