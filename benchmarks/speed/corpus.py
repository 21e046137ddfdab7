"""How do time and memory grow with the corpus: time no faster than its tokens, memory not at all?

Made-up text of one million tokens and more, by Zipf's law, is given to `seqwright train`, a process of its own for
each size: it learns a vocabulary, tokenises the text once into the cache, and trains a small LSTM for some steps, as
many for each size. Time is that of the processor, memory the most that the process ever held. By theory time is
linear, for every token is read a fixed number of times, and memory is constant, for the corpus is mapped from the
disk.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.speed.growth import compared
from benchmarks.speed.harness import OURS, Answered, Contestant, Question, Settings, Table
from benchmarks.speed.worker import Turns, Work, processor_seconds

WORDS = 2000
LINE = 20  # words
CHUNK = 1_000_000  # tokens made at once
FLAT = 0.1  # the largest exponent of memory
RECIPE = """task = "language-modeling"
input = {{ tokenizer = "whitespace", vocabulary = 2000, segment = 64 }}
data = {{ train = "{train}", valid = "{valid}" }}
[model]
kind = "lstm"
width = 64
[training]
steps = 20
tokens = 1024
validate_every = 20
threads = {threads}
"""


def seqwright(settings: dict[str, Any]) -> Turns:
    """Every size, each in a process of its own."""
    return {str(size): partial(trained, size, settings) for size in settings["sizes"]}


def trained(size: int, settings: Settings) -> Work:
    """Make the text, train, and say what the training took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_text(folder / "train.txt", size)
        write_text(folder / "valid.txt", 1000)
        names = {"train": "train.txt", "valid": "valid.txt", "threads": settings["threads"]}
        (folder / "corpus.toml").write_text(RECIPE.format(**names), encoding="utf-8")
        before = processor_seconds()
        process = subprocess.Popen(
            [sys.executable, "-m", "seqwright", "train", str(folder / "corpus.toml"), "--run", str(folder / "run")],
            env={**os.environ, "SEQWRIGHT_CACHE": str(folder / "cache")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        told = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
        if process.returncode:
            raise RuntimeError(told.strip().splitlines()[-1])
        seconds = processor_seconds() - before
        scale = 1 if sys.platform == "darwin" else 1024  # in which unit the system counts
        return Work(size, {"seconds": seconds, "memory": used.ru_maxrss * scale})


def write_text(path: Path, tokens: int) -> None:
    """Lines of words, drawn piece by piece."""
    import numpy as np

    rng = np.random.default_rng(1)
    shares = 1 / np.arange(1, WORDS + 1)
    words = np.array([f"w{number}" for number in range(WORDS)])
    edges = np.cumsum(shares / shares.sum())
    with path.open("w", encoding="utf-8") as file:
        for low in range(0, tokens, CHUNK):
            some = np.searchsorted(edges, rng.random(min(CHUNK, tokens - low)), side="right").clip(max=WORDS - 1)
            file.writelines(" ".join(words[some[i : i + LINE]]) + "\n" for i in range(0, len(some), LINE))


def exponents(settings: Settings, answered: Answered) -> dict[str, Any]:
    """Of time, and of memory, which is to be flat."""
    sizes = settings["sizes"]
    if len(sizes) < 2:
        return {}
    seconds, memory = (
        [min(answer[what] for answer in answered[str(size)]) for size in sizes] for what in ("seconds", "memory")
    )
    held = compared(sizes, memory, [1.0] * len(sizes))
    return {
        "time": compared(sizes, seconds, [float(size) for size in sizes]),
        "memory": {
            "sizes": held["sizes"],
            "megabytes": [round(value / 1e6, 1) for value in memory],
            "exponent": held["exponent"],
            "theory": 0.0,
            "no_faster_than_theory": held["exponent"] <= FLAT,
        },
    }


def table(found: Mapping[str, Any]) -> Table:
    """Time and memory at every size."""
    if not found["conclusions"]:
        return Table(("against the corpus",), [])
    time, memory = (found["conclusions"][what] for what in ("time", "memory"))
    rows = [
        [f"{size:,} tokens", f"{seconds:.3g} s", f"{held:,.0f} MB"]
        for size, seconds, held in zip(time["sizes"], time["seconds"], memory["megabytes"], strict=True)
    ]
    rows.append(["exponent", *(f"{each['exponent']:.2f} (theory {each['theory']:.0f})" for each in (time, memory))])
    return Table(("against the corpus", "processor", "memory"), rows)


QUESTION = Question(
    name="corpus",
    about=__doc__ or "",
    unit="tokens",
    contestants=(Contestant(OURS, seqwright),),
    full={"sizes": [1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000]},
    quick={"sizes": [10_000, 100_000]},
    rounds=1,
    conclude=exponents,
    table=table,
    warm=False,
)
