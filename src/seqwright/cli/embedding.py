"""`embed`: texts in, vectors out; printed, or written as NumPy's .npy or as JSON lines."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np
from torch import Tensor

from seqwright.analysis.embedder import Embedder, Pooling, embedder_of
from seqwright.cli.given import given_blocks, split_lines
from seqwright.cli.opening import opened_run
from seqwright.cli.options import Things
from seqwright.cli.terminal import json_text, refuse_replacing, say, shown
from seqwright.cli.using_any import EmbedOptions
from seqwright.errors import DataError, SettingError
from seqwright.whole_file import bytes_whole, written_whole

ENDINGS = (".npy", ".jsonl")


def embed_texts(things: Things, options: EmbedOptions) -> None:
    """Print each text's vector, its numbers with spaces between them or as JSON; or write them all into a file."""
    pooling, output = options.pooling, options.output
    if pooling not in {None, "mean", "first", "thought"}:
        raise SettingError(f"--pooling is '{pooling}'; choose mean, first or thought")
    _refuse(output, as_json=options.json, yes=options.yes)
    blocks = given_blocks("embed", split_lines(things.texts), things.file)
    embedder = embedder_of(opened_run(things.run, options.which), cast(Pooling | None, pooling))
    vectors = _vectors(embedder, blocks, normalise=options.normalise)
    if output is None:
        for text, vector_D in vectors:
            print(_json(text, vector_D) if options.json else " ".join(f"{value:.6g}" for value in vector_D.tolist()))
            sys.stdout.flush()
    elif output.suffix == ".jsonl":
        with written_whole(output) as lines:
            count = sum(bool(lines.write(f"{_json(text, vector_D)}\n")) for text, vector_D in vectors)
        say(f"wrote {count:,} vectors to {shown(output)}")
    else:
        every = [vector_D.numpy() for _, vector_D in vectors]
        with bytes_whole(output) as plain:
            np.save(plain, np.stack(every))
        say(f"wrote {len(every):,} vectors of width {len(every[0])} to {shown(output)}")


def _refuse(output: Path | None, *, as_json: bool, yes: bool) -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    if output is None:
        return
    if as_json:
        raise SettingError("--json prints and --output writes a file; give one of them (a .jsonl file has JSON lines)")
    if output.suffix not in ENDINGS:
        raise SettingError(f"--output is {output}; end its name in {' or '.join(ENDINGS)}")
    if output.is_dir():
        raise DataError(f"{output} is a folder; name a file in it")
    refuse_replacing(output, yes=yes)


def _vectors(embedder: Embedder, blocks: Iterator[list[str]], *, normalise: bool) -> Iterator[tuple[str, Tensor]]:
    """Each text with its vector."""
    number = 0
    for some in blocks:
        for place, (text, row) in enumerate(zip(some, embedder.encode(some), strict=True), start=number + 1):
            if not text.strip():
                raise DataError(f"text {place} is blank, and nothing has no vector; remove it")
            if embedder.most is not None and len(row) > embedder.most:
                say(f"text {place} has {len(row):,} tokens; the model reads {embedder.most:,}, the rest is left out")
        yield from zip(some, embedder(some, normalise=normalise), strict=True)
        number += len(some)
    if not number:
        raise DataError("there is no text; give some, or a file of them with --file")


def _json(text: str, vector_D: Tensor) -> str:
    return json_text({"text": text, "vector": [round(value, 6) for value in vector_D.tolist()]})
