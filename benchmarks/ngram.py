"""How fast are n-gram models of WikiText-2 estimated and asked, how good is each smoothing, and are they lmplz's?

    python -m benchmarks.ngram                                                WikiText-2, into results/ngram.json
    python -m benchmarks.ngram --train F --valid F --test F [--order N]       the perplexities of files, printed

A word is a token, a line a text; `<unk>` of the corpus is a word like any other, since lmplz takes it for none.
Times are of one thread: those of the clock, and those of the processor, which other programs lengthen less. Where
KenLM's program lmplz is on the path, it estimates the same model from the same lines, and all numbers are compared.
"""

import argparse
import math
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.record import options, record, show
from seqwright.batches.text import Text, texts
from seqwright.data.cards import card
from seqwright.data.examples import PartName
from seqwright.data.text import TextData, TextFiles, TextFilesSettings
from seqwright.inputs.tokenizers import BEGIN, PAD, Tokenizer, TokenizerSettings
from seqwright.interchange.arpa import read_arpa
from seqwright.models.ngram import Ngram, NgramSettings, Smoothing

RESERVED = ("<pad>", "<unk>", "<s>", "</s>")
SMOOTHINGS: tuple[Smoothing, ...] = get_args(Smoothing)
ESTIMATED, ASKED = 20.0, 1e6  # the marks: seconds at most, tokens a second at least
AT_ONCE = 200_000  # positions of a batch
EVERY = 2**31  # words that a vocabulary may have, when it is to have all

Rows = list[NDArray[np.int64]]


class Figure(NamedTuple):
    """The perplexity of a file, each line's end foretold too, and how many words it has, unknown ones among them."""

    perplexity: float
    lines: int
    words: int
    unknown: int


class Seconds(NamedTuple):
    """By the clock, and of the processor."""

    clock: float
    processor: float


def main() -> None:
    parser = options("ngram", __doc__)
    parser.add_argument("--order", type=int, default=5, help="the longest n-gram")
    parser.add_argument("--repetitions", type=int, default=3, help="estimates and askings of which the best counts")
    for part in ("train", "valid", "test"):
        parser.add_argument(f"--{part}", type=Path, metavar="FILE", help="a line of words between spaces per sentence")
    given = parser.parse_args()
    torch.set_num_threads(1)
    asked = {part: path for part in ("valid", "test") if (path := getattr(given, part)) is not None}
    if given.train is not None:
        print_perplexities(given.train, asked or {"train": given.train}, NgramSettings(order=given.order))
    elif asked:
        parser.error("--valid and --test need --train, the file whose n-grams are counted")
    else:
        measure(given)


def print_perplexities(train: Path, asked: Mapping[str, Path], settings: NgramSettings) -> None:
    """The table for files of one's own; nothing is recorded."""
    figures = perplexities_of(train, asked, settings)
    rows = [[part, f"{ppl:,.4f}", *(f"{count:,}" for count in counts)] for part, (ppl, *counts) in figures.items()]
    show(["part", *Figure._fields], rows)


def measure(given: argparse.Namespace) -> None:
    """Times, perplexities and the comparison with lmplz, on WikiText-2, shown and recorded."""
    data = card("wikitext2").open()
    train, valid = words_of(data, "train"), words_of(data, "valid")
    if given.quick:
        train, valid, given.repetitions = train[:1000], valid[:300], 1
    pieces = [*RESERVED, *sorted({word for line in train for word in line})]
    rows, asked = numbered(train, pieces), batches_of(numbered(valid, pieces))
    tokens = sum(batch.tokens for batch in asked)

    model = Ngram(NgramSettings(order=given.order), vocabulary=len(pieces))
    estimating = best(lambda: estimate(model, rows), given.repetitions)
    asking = best(lambda: surprise(model, asked), given.repetitions)
    perplexities = by_smoothing(rows, asked, order=given.order, vocabulary=len(pieces))
    theirs = beside_lmplz(model, train, pieces)
    storage = model.storage()

    show(
        ["modified Kneser–Ney", ""],
        [
            ["estimated in", f"{estimating.clock:.2f} s ({estimating.processor:.2f} s of the processor)"],
            ["asked, tokens a second", f"{tokens / asking.clock:,.0f} ({tokens / asking.processor:,.0f})"],
            *([f"{n}-grams", f"{ngrams:,} in {size / 2**20:.1f} MiB"] for n, ngrams, size, _, _ in storage),
            *([f"lmplz, {name}", f"{value:.3g}"] for name, value in theirs.items()),
            *([f"perplexity, {name}", f"{value:,.2f}"] for name, value in perplexities.items()),
        ],
    )
    settings = {"corpus": "wikitext2", "order": given.order, "lines": len(rows), "vocabulary": len(pieces)}
    numbers = {
        "load": round(os.getloadavg()[0], 2),
        "estimate_seconds": estimating._asdict(),
        "asked_tokens": tokens,
        "asked_tokens_per_second": tokens / asking.clock,
        "asked_tokens_per_second_of_the_processor": tokens / asking.processor,
        "marks": {"estimate_seconds": ESTIMATED, "asked_tokens_per_second": ASKED},
        "reached": estimating.clock <= ESTIMATED and tokens / asking.clock >= ASKED,
        "storage": [order._asdict() for order in storage],
        # Infinity is no JSON: what was never seen has probability 0.
        "valid_perplexity": {k: v if math.isfinite(v) else "infinite" for k, v in perplexities.items()},
        "lmplz": theirs or "not installed",
    }
    record("ngram", __doc__, given, threads=1, libraries=["torch", "numpy"], settings=settings, numbers=numbers)


def perplexities_of(train: Path, asked: Mapping[str, Path], settings: NgramSettings) -> dict[str, Figure]:
    """What a model of one file says of others: words are between white space, and every line counts, blank ones too.

    Each word of the first file is in the vocabulary, `<unk>` like any other.
    """
    lines = {name: list(lines_of(path)) for name, path in {"": train, **asked}.items()}
    tokenizer = Tokenizer.train(
        lines[""], TokenizerSettings(tokenizer="whitespace", vocabulary=EVERY, normalise="none")
    )
    model = Ngram(settings, vocabulary=tokenizer.size, padding=PAD, begin=BEGIN)
    rows = {name: [ids.astype(np.int64) for ids in tokenizer.encode(some)] for name, some in lines.items()}
    estimate(model, rows.pop(""))
    figures = {}
    for name, some in rows.items():
        words, batches = sum(map(len, some)), batches_of(some)
        unknown = sum(map(tokenizer.unknowns, some))
        figures[name] = Figure(math.exp(surprise(model, batches) / (words + len(some))), len(some), words, unknown)
    return figures


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a file, plain or .gz."""
    return TextFiles(TextFilesSettings(train=str(path), valid=str(path))).examples("train")


def words_of(data: TextData, part: PartName) -> list[list[str]]:
    return [line.replace("<unk>", "[unk]").split() for line in data.examples(part)]


def numbered(lines: list[list[str]], pieces: list[str]) -> Rows:
    """Words by their place among the pieces; a word that is not among them is the second, `<unk>`."""
    number = {piece: place for place, piece in enumerate(pieces)}
    return [np.array([number.get(word, 1) for word in line], np.int64) for line in lines]


def batches_of(rows: Rows) -> list[Text]:
    """Texts of like length together, so that there is little padding."""
    batches, some, positions = [], [], 0
    for row in sorted(rows, key=len, reverse=True):
        positions = positions or len(row) + 1
        some.append(row)
        if positions * (len(some) + 1) > AT_ONCE:
            batches.append(texts(some, begin=2, end=3))
            some, positions = [], 0
    return [*batches, texts(some, begin=2, end=3)] if some else batches


def estimate(model: Ngram, rows: Rows) -> None:
    for batch in batches_of(rows):
        model.observe(batch)
    model.conclude()


def surprise(model: Ngram, batches: list[Text]) -> float:
    """Minus the logarithm of the probability of all that is wanted."""
    return -sum(float(model.log_probability(batch)[0].double().sum()) for batch in batches)


def by_smoothing(rows: Rows, asked: list[Text], *, order: int, vocabulary: int) -> dict[str, float]:
    """The perplexity of what is asked, of a model of the rows with each way to smooth."""
    tokens = sum(batch.tokens for batch in asked)
    found: dict[str, float] = {}
    for smoothing in SMOOTHINGS:
        model = Ngram(NgramSettings(order=order, smoothing=smoothing), vocabulary=vocabulary)
        estimate(model, rows)
        found[smoothing] = math.exp(surprise(model, asked) / tokens)
    return found


def best(run: Callable[[], Any], times: int) -> Seconds:
    """The shortest time of each kind."""
    taken = []
    for _ in range(times):
        clock, processor = time.perf_counter(), time.process_time()
        run()
        taken.append(Seconds(time.perf_counter() - clock, time.process_time() - processor))
    return Seconds(min(one.clock for one in taken), min(one.processor for one in taken))


def beside_lmplz(model: Ngram, train: list[list[str]], pieces: list[str]) -> dict[str, float]:
    """The time that lmplz takes to its ARPA file, and the largest difference of any natural logarithm in it to ours."""
    if shutil.which("lmplz") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        text, arpa = Path(folder) / "train.txt", Path(folder) / "model.arpa"
        text.write_text("".join(" ".join(line) + "\n" for line in train), encoding="utf-8")
        command = ["lmplz", "-o", str(model.settings.order), "-S", "1G", "-T", f"{folder}/", "--discount_fallback"]
        began = time.perf_counter()
        subprocess.run([*command, "--text", str(text), "--arpa", str(arpa)], check=True, capture_output=True)
        seconds = time.perf_counter() - began
        theirs, left_out = read_arpa(arpa, pieces)
    assert left_out == 0
    pairs = [(model.base_V, theirs.base_V)]
    for n in range(2, model.settings.order + 1):
        ours, other = model.table(n), theirs.table(n)
        assert torch.equal(ours.key_G, other.key_G), f"lmplz has other {n}-grams"
        pairs += [(ours.logp_G, other.logp_G), (ours.weight_C, other.weight_C)]
    differences = [(one - other)[one.isfinite()].abs().max() for one, other in pairs]
    return {"seconds with its file": seconds, "largest difference": float(torch.stack(differences).max())}


if __name__ == "__main__":
    main()
