"""5-gram modified Kneser–Ney once more, in plain Python on one page, beside what the package says of the same files.

Nothing of the package is used for it: no tokenizer, no batches, no arrays. It is how published figures of words between
spaces are made (Penn Treebank's test part: 141.19), where `<unk>` is a word like any other.
"""

import math
import random
from collections import Counter
from pathlib import Path

import pytest

import seqwright as sw
from benchmarks.ngram import perplexities_of
from seqwright.models.ngram import NgramSettings

BEGIN, END = object(), object()
FALLBACK = (0.5, 1.0, 1.5)  # lmplz's own, where the text is too small for an estimate
ORDER = 5
Gram = tuple[object, ...]


class KneserNey:
    """Interpolated modified Kneser–Ney (Chen & Goodman 1998, section 3 and eq. 26), one n-gram at a time."""

    def __init__(self, text: str, order: int = ORDER) -> None:
        self.order = order
        counts, before = Counter[Gram](), dict[Gram, set[object]]()
        for line in text.splitlines():
            sentence = (BEGIN, *line.split(), END)
            for end in range(2, len(sentence) + 1):
                counts.update(sentence[end - n : end] for n in range(1, min(order, end) + 1))
        for gram in counts:
            before.setdefault(gram[1:], set()).add(gram[0])
        self.count = {
            gram: times if len(gram) == order or gram[0] is BEGIN else len(before[gram])
            for gram, times in counts.items()
        }
        self.after = dict[Gram, list[Gram]]()
        for gram in self.count:
            self.after.setdefault(gram[:-1], []).append(gram)
        self.vocabulary = len(self.after[()]) + 1  # the words, the end of a line, and whatever is not among them
        self.discounts = [(0.0, *self.discount(n)) for n in range(1, order + 1)]

    def discount(self, n: int) -> tuple[float, ...]:
        of = Counter(times for gram, times in self.count.items() if len(gram) == n)
        if not (of[1] and of[2] and of[3]):
            return FALLBACK
        y = of[1] / (of[1] + 2 * of[2])
        found = tuple(j - (j + 1) * y * of[j + 1] / of[j] for j in (1, 2, 3))
        return found if all(0 <= d <= j for j, d in enumerate(found, start=1)) else FALLBACK

    def probability(self, word: object, context: Gram) -> float:
        lower = self.probability(word, context[1:]) if context else 1 / self.vocabulary
        if context not in self.after:
            return lower
        discount, grams = self.discounts[len(context)], self.after[context]
        total = sum(self.count[gram] for gram in grams)
        left = sum(discount[min(self.count[gram], 3)] for gram in grams)
        own = self.count.get((*context, word), 0)
        return (own - discount[min(own, 3)] + left * lower) / total

    def perplexity(self, text: str) -> float:
        costs = []
        for line in text.splitlines():
            sentence = (BEGIN, *line.split(), END)
            for place in range(1, len(sentence)):
                context = sentence[max(0, place - self.order + 1) : place]
                costs.append(-math.log(self.probability(sentence[place], context)))
        return math.exp(math.fsum(costs) / len(costs))


def drawn(seed: int, lines: int) -> str:
    """Lines of words as in Penn Treebank: a space before the first and after the last."""
    rng = random.Random(seed)
    words = ["the", "<unk>", "N", "of", "it", "'s", "a", "mr.", "$", "<s>", *(f"w{number}" for number in range(300))]
    weights = [rank**-1.4 for rank in range(1, len(words) + 1)]
    return "".join(f" {' '.join(rng.choices(words, weights, k=rng.randint(1, 9)))} \n" for _ in range(lines))


TEXTS = {
    "spaces around lines": (" the cat sat \n the <unk> sat \n the cat ran \n", " the cat <unk> \n a cat sat \n"),
    "repeated blanks": ("the  cat\t sat\n\n  \na   b\n the cat\n", "the    cat\n\na\tb\n"),
    "unknown as an ordinary word": ("<unk> the <unk>\nthe <unk>\n<unk>\n", "<unk>\nthe <unk> <s>\n"),
    "sentences of one word": ("yes\nno\n yes\nyes \n", "yes\n no \nperhaps\n"),
    "no line feed at the end": ("a b c\na b", "a b"),
    "enough for every discount": (drawn(1, 900), drawn(2, 90)),
}


def test_all_its_discounts_are_estimated_where_there_is_enough() -> None:
    found = KneserNey(TEXTS["enough for every discount"][0]).discounts
    assert all(discounts[1:] != FALLBACK for discounts in found)


def test_its_probabilities_sum_to_one() -> None:
    model = KneserNey(TEXTS["enough for every discount"][0])
    words = [gram[0] for gram in model.after[()]]
    for context in ((BEGIN,), (BEGIN, "the"), ("of", "the", "<unk>", "N"), ("never",)):
        assert math.fsum(model.probability(word, context) for word in [*words, "never"]) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", TEXTS)
def test_the_command_prints_the_independent_figure(name: str, tmp_path: Path) -> None:
    train, test = TEXTS[name]
    (tmp_path / "train.txt").write_text(train, encoding="utf-8")
    (tmp_path / "test.txt").write_text(test, encoding="utf-8")
    found = perplexities_of(tmp_path / "train.txt", {"test": tmp_path / "test.txt"}, NgramSettings(order=ORDER))
    assert found["test"].perplexity == pytest.approx(KneserNey(train).perplexity(test), rel=1e-9)
    assert found["test"].words == len(test.split())


RECIPE = """
task = "language-modeling"
input = {{ tokenizer = "whitespace", rows = "documents", blank = "keep" }}
[data]
train = "{folder}/train.txt"
valid = "{folder}/test.txt"
[model]
kind = "ngram"
order = 5
"""


@pytest.mark.parametrize("name", TEXTS)
def test_a_run_has_the_independent_figure(name: str, tmp_path: Path) -> None:
    """From a user's files to `evaluate`, and from the run folder on disk."""
    train, test = TEXTS[name]
    (tmp_path / "train.txt").write_text(train, encoding="utf-8")
    (tmp_path / "test.txt").write_text(test, encoding="utf-8")
    (tmp_path / "kn.toml").write_text(RECIPE.format(folder=tmp_path), encoding="utf-8")
    run = sw.train(tmp_path / "kn.toml", run=tmp_path / "run", quiet=True)
    target = KneserNey(train).perplexity(test)
    for each in (run, sw.load(tmp_path / "run")):
        scores = each.evaluate("valid").scores
        assert scores["perplexity"] == pytest.approx(target, rel=1e-9)
        assert scores["word_perplexity"] == pytest.approx(target, rel=1e-9)
