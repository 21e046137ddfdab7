"""`translate`: sentences in, sentences out."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.terminal import say
from seqwright.data.pairs import lines
from seqwright.errors import DataError
from seqwright.runs import Run, open_run
from seqwright.tasks.translator import Translation, Translator

LINES_AT_ONCE = 512
MOST_TOKENS = 4096  # attention to so long a line needs gigabytes


def translate_texts(
    folder: Path,
    texts: list[str],
    file: Path | None,
    decoding: dict[str, Any],
    *,
    prefix: str,
    scores: bool,
    as_json: bool,
    which: str,
) -> None:
    """Translate and print, a line for each sentence (for each candidate, where several are asked for)."""
    if texts and file is not None:
        raise DataError("there are both sentences and --file; give one of them")
    run = open_run(folder, which=which, notice=say)
    translator = Translator(run.model, run.inputs, decoding_settings(run, decoding))
    row = 0
    for some in _some(texts, file):
        _remark_on_length(run, some, row)
        for source, candidates in zip(some, translator(some, prefix=prefix, first_row=row), strict=True):
            for place, candidate in enumerate(candidates, start=1):
                print(_line(source, candidate, place, scores=scores, as_json=as_json))
        sys.stdout.flush()
        row += len(some)


def _some(texts: list[str], file: Path | None) -> Iterator[list[str]]:
    """The sentences, as many at once as there are: a file in blocks, standard input as it comes."""
    if texts:
        yield [line for text in texts for line in text.split("\n")]
    elif file is not None:
        block: list[str] = []
        for line in lines(file):
            block.append(line)
            if len(block) == LINES_AT_ONCE:
                yield block
                block = []
        if block:
            yield block
    else:
        yield from _standard_input()


def _standard_input() -> Iterator[list[str]]:
    """Whole lines as soon as they are there: a person gets an answer to each, a pipe is served in blocks."""
    if sys.stdin.isatty():
        say("type a sentence and Enter; Ctrl-D ends")
    rest, number = b"", 0
    while True:
        data = os.read(sys.stdin.fileno(), 1 << 16)
        *whole, rest = (rest + data).split(b"\n")
        if not data and rest:
            whole, rest = [rest], b""
        decoded = [_decoded(line, number + i) for i, line in enumerate(whole, start=1)]
        number += len(whole)
        for i in range(0, len(decoded), LINES_AT_ONCE):
            yield decoded[i : i + LINES_AT_ONCE]
        if not data:
            return


def _decoded(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise DataError(
            f"standard input, line {number}, is not UTF-8 (byte {error.start + 1}); convert it first"
        ) from error


def _remark_on_length(run: Run, some: list[str], row: int) -> None:
    known = run.recipe.inputs.longest
    for i, ids in enumerate(run.inputs.source.encode(some), start=row + 1):
        if len(ids) > MOST_TOKENS:
            raise DataError(f"line {i} has {len(ids):,} tokens, more than {MOST_TOKENS:,}; split it into sentences")
        if len(ids) > known:
            say(f"line {i} has {len(ids)} tokens; training had none longer than {known}: do not trust the translation")


def _line(source: str, candidate: Translation, place: int, *, scores: bool, as_json: bool) -> str:
    if as_json:
        fields = {"source": source, "translation": candidate.text, "rank": place, "score": candidate.score}
        fields |= {"log_probability": candidate.log_probability, "finished": candidate.finished}
        return json.dumps(fields, ensure_ascii=False)
    return f"{candidate.score:.4f}\t{candidate.text}" if scores else candidate.text
