"""How many tokens per CPU-second does a 5-gram model count and score, beside KenLM?

Modified Kneser–Ney over made-up text with Zipf's law, in which a word hangs on the one before. Ours counts lines of
token numbers; lmplz, where it is on the path, counts the same words in a file and writes an ARPA file. The scoring of
KenLM is its Python module's, a sentence at a time, with our model as an ARPA file: the sums must be the same.
"""

import math
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.speed.harness import OURS, Answers, Contestant, Question, Settings
from benchmarks.speed.peers import KENLM, package
from benchmarks.speed.worker import Turns, Work

COUNTED, SCORED = "counted", "scored"
RESERVED = ("<pad>", "<unk>", "<s>", "</s>")
SHORTEST, LONGEST = 5, 35  # words in a line


def seqwright(settings: dict[str, Any]) -> Turns:
    """Ours, from rows of token numbers."""
    from benchmarks.ngram import batches_of, estimate, surprise

    train, test = rows_of(settings, 1), rows_of(settings, 2, settings["scored"])
    model = model_of(settings)
    estimate(model, train)
    batches = batches_of(test)

    def count() -> Work:
        estimate(model_of(settings), train)
        return Work(tokens_of(train))

    return {COUNTED: count, SCORED: lambda: Work(tokens_of(test), -surprise(model, batches) / math.log(10))}


def kenlm(settings: dict[str, Any]) -> Turns:
    """The Python module of KenLM with our model."""
    from benchmarks.ngram import estimate
    from seqwright.interchange.arpa import write_arpa

    model, test = model_of(settings), rows_of(settings, 2, settings["scored"])
    estimate(model, rows_of(settings, 1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.arpa"
        write_arpa(model, path, pieces_of(settings))
        theirs = package("kenlm").Model(str(path))
    lines = list(lines_of(settings, test))

    def score() -> Work:
        return Work(tokens_of(test), sum(theirs.score(line, bos=True, eos=True) for line in lines))

    return {SCORED: score}


def lmplz(settings: dict[str, Any]) -> Turns:
    """KenLM's program, from a file of words to an ARPA file."""
    train = rows_of(settings, 1)
    folder = Path(tempfile.mkdtemp())
    text = folder / "train.txt"
    text.write_text("".join(f"{line}\n" for line in lines_of(settings, train)), encoding="utf-8")
    command = ["lmplz", "-o", str(settings["order"]), "-S", "1G", "-T", f"{folder}/", "--discount_fallback"]

    def count() -> Work:
        subprocess.run([*command, "--text", str(text), "--arpa", str(folder / "m")], check=True, capture_output=True)
        return Work(tokens_of(train))

    return {COUNTED: count}


def without_lmplz(settings: Settings) -> str | None:
    """Why the program is not measured, if it is not."""
    return None if shutil.which("lmplz") else "the program lmplz is not on the path; KenLM's sources build it"


def rows_of(settings: Settings, seed: int, tokens: int | None = None) -> list[Any]:
    """Lines of token numbers: half of the words follow from the one before, the others from Zipf's law alone."""
    import numpy as np

    rng = np.random.default_rng(seed)
    count, words = tokens or settings["counted"], settings["vocabulary"] - len(RESERVED)
    shares = 1 / np.arange(1, words + 1)
    drawn = rng.choice(words, count, p=shares / shares.sum())
    follows = rng.random(count) < 0.5
    for step in range(1, 4):  # a run of words that follow each other has a few
        drawn[step:] = np.where(follows[step:], (drawn[:-step] * 31 + 7 * step) % words, drawn[step:])
    ends = np.cumsum(rng.integers(SHORTEST, LONGEST + 1, count // SHORTEST))
    return [row for row in np.split(drawn + len(RESERVED), ends[ends < count]) if len(row)]


def lines_of(settings: Settings, rows: list[Any]) -> Any:
    """The same as text."""
    pieces = pieces_of(settings)
    return (" ".join(pieces[number] for number in row) for row in rows)


def pieces_of(settings: Settings) -> list[str]:
    """The words."""
    return [*RESERVED, *(f"w{number}" for number in range(settings["vocabulary"] - len(RESERVED)))]


def tokens_of(rows: list[Any]) -> int:
    """Words and the ends of lines."""
    return sum(map(len, rows)) + len(rows)


def model_of(settings: Settings) -> Any:
    """A model that has counted nothing yet."""
    from seqwright.models.ngram import Ngram, NgramSettings

    return Ngram(NgramSettings(order=settings["order"]), vocabulary=settings["vocabulary"])


def same(answers: Answers) -> dict[str, Any]:
    """How far the sums of all logarithms are apart."""
    sums = answers.get(SCORED, {})
    if "KenLM" not in sums:
        return {}
    return {"relative difference of the log-probability of all that was scored": abs(sums["KenLM"] / sums[OURS] - 1)}


QUESTION = Question(
    name="ngrams",
    about=__doc__ or "",
    unit="tokens",
    contestants=(
        Contestant(OURS, seqwright),
        Contestant("KenLM", kenlm, KENLM, ("ufal.kenlm",)),
        Contestant("lmplz", lmplz, absent=without_lmplz),
    ),
    full={"order": 5, "vocabulary": 30_000, "counted": 300_000, "scored": 100_000},
    quick={"vocabulary": 997, "counted": 20_011, "scored": 5_003},
    compare=same,
)
