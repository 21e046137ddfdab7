"""`embed`: texts, images, … in, vectors out; printed, or written as a table or as NumPy's .npy."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
from torch import Tensor

from seqwright.analysis.embedder import Embedder, embedder_of
from seqwright.analysis.pooled import PooledEmbedder
from seqwright.cli.asking import AskedInput, Asking, Result
from seqwright.cli.given import split_lines
from seqwright.cli.opening import computed_by, opened_run
from seqwright.cli.options import Answers, TableAnswers, Things
from seqwright.cli.tables import WRITTEN, refuse_output
from seqwright.cli.terminal import say, shown
from seqwright.cli.using_any import EmbedOptions
from seqwright.data.files import extension_of
from seqwright.devices import Precision
from seqwright.errors import DataError, SettingError
from seqwright.inputs import Examples, Given
from seqwright.runs import Pooling
from seqwright.whole_file import bytes_whole

ARRAY = ".npy"


def embed_things(things: Things, options: EmbedOptions) -> None:
    """Print each vector, its numbers with spaces between them or as JSON; or write them all into a file."""
    pooling, output, precision = options.pooling, options.output, options.precision
    if pooling not in {None, "mean", "first", "thought"}:
        raise SettingError(f"--pooling is '{pooling}'; choose mean, first or thought")
    if precision not in {None, *get_args(Precision)}:
        raise SettingError(f"--precision is '{precision}'; choose {', '.join(get_args(Precision))}")
    if output is not None:
        refuse_output(output, (ARRAY, *WRITTEN), as_json=options.json, yes=options.yes)
    in_array = output is not None and output.suffix == ARRAY
    answers = Answers(options.json) if in_array else TableAnswers(options.json, output=output, yes=True)
    asking = Asking("embed", replace(things, texts=split_lines(things.texts)), answers)
    run = computed_by(opened_run(things.run, options.which), options.engine)
    embedder = embedder_of(run, cast(Pooling | None, pooling), cast(Precision, precision or "float32"))
    kept: list[Tensor] = []  # for an array, which is written at once
    read, names = 0, _columns(embedder, asking.output)
    asking.added = {name: name for name in names}

    def predict(examples: Given[Any], first: int) -> Iterator[list[Result]]:
        nonlocal read
        read += len(examples.examples)
        for vector_D in embedder(examples.examples, normalise=options.normalise):
            if in_array:
                kept.append(vector_D)
            yield [] if in_array else [_result(vector_D.tolist(), names)]

    if isinstance(embedder, Embedder):
        asking.give(run, predict, embedded_input(embedder), dict(islice(run.input.table_columns().items(), 1)))
    else:
        asking.give(run, predict)
    if asking.output is None and not read:
        raise DataError("there is no text; give some, or a file of them with --file")
    if output is not None and in_array:
        with bytes_whole(output) as plain:
            np.save(plain, np.stack([vector_D.numpy() for vector_D in kept]))
        blank = sum(bool(vector_D.isnan().any()) for vector_D in kept)
        told = f"; rows without numbers (NaN), for nothing could be read: {blank:,}" if blank else ""
        say(f"wrote {len(kept):,} vectors of width {len(kept[0])} to {shown(output)}{told}")


def _columns(embedder: Embedder | PooledEmbedder, table: Path | None) -> list[str]:
    """What the numbers of a vector are called: in JSON they are one field, in another table a column each."""
    if table is None or extension_of(table) == ".jsonl":
        return ["vector"]
    return [f"vector_{place}" for place in range(1, embedder.width + 1)]


def _result(vector: list[float], names: list[str]) -> Result:
    if any(map(math.isnan, vector)):  # what could not be read
        return Result("", dict.fromkeys(names))
    rounded = [round(value, 6) for value in vector]
    fields = {"vector": rounded} if names == ["vector"] else dict(zip(names, rounded, strict=True))
    return Result(" ".join(f"{value:.6g}" for value in vector), fields)


def embedded_input(embedder: Embedder) -> AskedInput:
    """Texts of which a model makes vectors, each by itself, whatever its task reads."""

    def parse(given: str) -> str:
        if not given.strip():
            raise DataError("it is blank, and nothing has no vector; remove it")
        return given

    def remarks(examples: Examples[str], first: int = 0) -> list[str]:
        most, rows = embedder.most, embedder.encode(list(examples))
        return [
            f"text {number} has {len(row):,} tokens; the model reads {most:,}, the rest is left out"
            for number, row in enumerate(rows, start=first + 1)
            if most is not None and len(row) > most
        ]

    return AskedInput(parse, lambda text: {"text": text}, remarks)
