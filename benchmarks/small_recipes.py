"""One small recipe of each family, with data that are made up: what is killed and resumed in a few seconds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

WORDS = ["rain", "wind", "a", "grey", "sea", "the", "old", "ship", "sails", "on", "night", "and", "day"]
GOOD, BAD = ["fine", "lovely", "great"], ["dull", "awful", "poor"]
TRAINING = """
[training]
tokens = 90
schedule = "constant"
rate = 0.003
warmup = 3
log_every = 1
threads = 1
device = "cpu"
"""
BERT = 'kind = "bert"\nwidth = 16\nheads = 2\nlayers = {}\ncontext = 24\ndropout = 0.1'


@dataclass(frozen=True)
class Family:
    """A recipe in a folder of its own, and the command that trains it."""

    recipe: str
    files: Mapping[str, str]
    first: tuple[tuple[str, ...], ...] = ()  # commands before
    words: tuple[str, ...] = ("train", "recipe.toml")
    descends: bool = True

    def write(self, folder: Path) -> None:
        """Put the files into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in {**self.files, "recipe.toml": self.recipe}.items():
            (folder / name).write_text(text, encoding="utf-8")

    def command(self, *, steps: int, save_every: int) -> list[str]:
        """The training, for the first time and after every kill."""
        often = f"training.save_every={save_every}", f"training.validate_every={2 * save_every}"
        settings = [f"training.steps={steps}", *often] if self.descends else []
        return [*self.words, "--run", "run", *settings]


def phrases(count: int, seed: int = 1) -> list[str]:
    """Lines of words."""
    rng = Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(2, 9))) for _ in range(count)]


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _reviews(count: int, seed: int) -> str:
    rng = Random(seed)
    rows = []
    for line in phrases(count, seed):
        good = rng.random() < 0.5
        rows.append(f"{line} {rng.choice(GOOD if good else BAD)}\t{'good' if good else 'bad'}")
    return "text\tlabel\n" + _lines(rows)


def _pairs(count: int, seed: int) -> str:
    return _lines([f"{line}\t{' '.join(reversed(line.split()))}" for line in phrases(count, seed)])


TEXT = {"train.txt": _lines(phrases(150)), "valid.txt": _lines(phrases(20, 2)), "test.txt": _lines(phrases(12, 3))}
REVIEWS = {"train.tsv": _reviews(80, 1), "valid.tsv": _reviews(20, 2), "test.tsv": _reviews(12, 3)}
PAIRS = {"train.tsv": _pairs(90, 1), "valid.tsv": _pairs(10, 2), "test.tsv": _pairs(7, 3)}
SERIES = "value\n" + _lines([f"{math.sin(step / 3) + math.cos(step / 5):.4f}" for step in range(160)])
DATA = '[data]\ntrain = "train.{0}"\nvalid = "valid.{0}"\ntest = "test.{0}"\n'
CLASSIFIER = (
    f'task = "text-classification"\n{DATA.format("tsv")}[input]\ntokenizer = "bpe"\nvocabulary = 60\nlongest = 22\n'
)

FAMILIES = {
    "language": Family(
        f'task = "language-modeling"\n{DATA.format("txt")}[input]\ntokenizer = "characters"\nsegment = 7\n'
        f'[model]\nkind = "lstm"\nwidth = 24\nlayers = 2\ndropout = 0.1\n{TRAINING}accumulate = 2\naverage = "ema"\n',
        TEXT,
    ),
    "translation": Family(
        f'task = "translation"\n{DATA.format("tsv")}[input]\ntokenizer = "bpe"\nvocabulary = 60\nlongest = 22\n'
        '[model]\nkind = "transformer"\nwidth = 16\nheads = 2\nencoder_layers = 1\ndecoder_layers = 1\n'
        f"feed_forward = 16\ndropout = 0.1\n{TRAINING}",
        PAIRS,
    ),
    "classification": Family(f"{CLASSIFIER}[model]\n{BERT.format(2)}\n{TRAINING}", REVIEWS),
    "forecasting": Family(
        'task = "forecasting"\n[data]\ntrain = "series.csv"\nvalid = "20%"\ntest = "20%"\n'
        f'history = 12\nhorizon = 3\n[model]\nkind = "lstm"\nwidth = 8\n{TRAINING}',
        {"series.csv": SERIES},
    ),
    "masked": Family(
        f'task = "masked-language-modeling"\n{DATA.format("txt")}[input]\ntokenizer = "bpe"\nvocabulary = 60\n'
        f'longest = 24\nrows = "full-sentences"\n[model]\n{BERT.format(2)}\npooler = false\n'
        f'[objective]\nkind = "masked-token"\n{TRAINING}',
        TEXT,
    ),
    "distilled": Family(
        f"{CLASSIFIER}[model]\n{BERT.format(1)}\n{TRAINING}",
        {**REVIEWS, "teacher.toml": f"{CLASSIFIER}[model]\n{BERT.format(3)}\n{TRAINING}"},
        first=(("train", "teacher.toml", "--run", "teacher", "training.steps=20"),),
        words=("distil", "teacher", "recipe.toml"),
    ),
    "counted": Family(
        f'task = "language-modeling"\n{DATA.format("txt")}[input]\ntokenizer = "words"\nvocabulary = 60\n'
        '[model]\nkind = "ngram"\norder = 3\n',
        TEXT,
        descends=False,
    ),
}
