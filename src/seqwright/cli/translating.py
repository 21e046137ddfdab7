"""`translate`: sentences in, sentences out."""

import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.joining import EnsembleOptions
from seqwright.cli.opening import opened_for
from seqwright.cli.terminal import say
from seqwright.data.files import lines, require_file
from seqwright.errors import DataError, SettingError
from seqwright.inputs import Given
from seqwright.inputs.tokenizers import lacking
from seqwright.outputs.text_search import Search, TextCandidate
from seqwright.runs import Run
from seqwright.tasks.wired import Wires

LINES_AT_ONCE = 512
MOST_TOKENS = 4096  # attention to so long a line needs gigabytes


def translate_texts(
    folder: Path,
    texts: list[str],
    file: Path | None,
    decoding: dict[str, Any],
    ensemble: EnsembleOptions,
    *,
    prefix: str,
    scores: bool,
    as_json: bool,
    which: str,
) -> None:
    """Translate and print, a line for each sentence (for each candidate, where several are asked for)."""
    texts, file = asked("translate", texts, file)
    run, *others = ensemble.opened(opened_for("translate", folder, which), which)
    settings = decoding_settings(run, decoding)
    joined = ensemble.joined([run, *others])
    wires, model = joined.inputs, joined.model
    row = 0
    unknown: Counter[str] = Counter()
    prefix = _usable_prefix(wires, prefix)
    for block in some_lines(texts, file):
        some, refusal = _short_enough(run, block, row)
        unknown += wires.tokenizer.unknown_parts(some)
        search = Search(settings, prefix, first=row)
        given = Given(map(wires.input.parse, some))
        for remark in wires.input.blank_remarks(given, first=row):
            say(remark)
        found = wires.predictions(model, given, search)
        for source, prediction in zip(some, found, strict=True):
            for place, candidate in enumerate(prediction.candidates or [prediction.best], start=1):
                print(_line(source, candidate, place, scores=scores, as_json=as_json))
        sys.stdout.flush()
        row += len(some)
        if refusal:
            _warn_of_unknown(unknown)
            raise DataError(refusal)
    _warn_of_unknown(unknown)


def with_chance(chance: dict[str, Any], *, sample: bool, beam: int | None) -> dict[str, Any]:
    """The decoding settings of `--sample`; its companions without it are a mistake, not a wish."""
    lonely = [f"--{name.replace('_', '-')}" for name, value in chance.items() if value is not None]
    if lonely and not sample:
        raise SettingError(f"{', '.join(lonely)} only means something with --sample; add it")
    if sample and beam not in {None, 1}:
        raise SettingError(f"--sample draws and --beam {beam} searches; give one of them")
    if not sample:
        return {}
    temperature = 1.0 if chance["temperature"] is None else chance["temperature"]
    if temperature <= 0:
        raise SettingError(
            f"--temperature is {temperature:g}; drawing needs one above 0: leave out --sample for the most probable"
        )
    return {"beam": 1, **chance, "temperature": temperature}


def asked(verb: str, texts: list[str], file: Path | None) -> tuple[list[str], Path | None]:
    """Sentences, or a file, or neither for standard input, which is also called `-`."""
    if texts and file is not None:
        raise DataError("there are both texts and --file; give one of them")
    if texts == ["-"] or file == Path("-"):
        return [], None
    if file is not None:
        require_file(file)
    if len(texts) == 1 and _is_file(texts[0]):
        say(f"{texts[0]} is a file; to {verb} its lines use --file {shlex.quote(texts[0])}")
    return texts, file


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # too long for a name
        return False


def some_lines(texts: list[str], file: Path | None) -> Iterator[list[str]]:
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
    where = f"standard input, line {number}"
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise DataError(f"{where}, byte {error.start + 1}: this is not UTF-8; convert it first") from error
    if "\0" in text:
        raise DataError(f"{where} has a NUL byte; it is not text: remove it")
    return text


def _usable_prefix(wires: Wires, prefix: str) -> str:
    """The prefix without the space at its end, which the next word brings along."""
    unknown = wires.output.tokenizer.unknown_characters([prefix])
    if unknown:
        raise DataError(
            f"--prefix has {' '.join(map(repr, unknown))}, which the model's vocabulary lacks; leave it out"
        )
    return prefix.rstrip()


def _warn_of_unknown(unknown: Counter[str]) -> None:
    """Name the words or characters that the model has never seen, once for all lines."""
    for remark in lacking(unknown, then=", do not trust the lines they stand in"):
        say(remark)


def _short_enough(run: Run, some: list[str], row: int) -> tuple[list[str], str]:
    """The lines before the first one that is much too long, and the sentence that refuses that one."""
    known = run.recipe.input.longest
    for i, ids in enumerate(run.inputs.tokenizer.encode(some)):
        number = row + i + 1
        if len(ids) > MOST_TOKENS:
            limit = f"{len(ids):,} tokens, more than {MOST_TOKENS:,}"
            return some[:i], f"line {number} has {limit}; split it into sentences"
        if len(ids) > known:
            say(f"line {number} has {len(ids)} tokens; training had none longer than {known}: do not trust the result")
    return some, ""


def _line(source: str, candidate: TextCandidate, place: int, *, scores: bool, as_json: bool) -> str:
    if as_json:
        fields = {"source": source, "translation": candidate.text, "rank": place, "score": candidate.score}
        fields |= {"log_probability": candidate.log_probability, "finished": candidate.finished}
        return json.dumps(fields, ensure_ascii=False)
    return f"{candidate.score:.4f}\t{candidate.text}" if scores else candidate.text
