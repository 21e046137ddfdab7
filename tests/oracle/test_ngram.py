"""n-gram models against the papers' formulas, written once more with dictionaries, and against lmplz.

lmplz is KenLM's estimator (Heafield et al. 2013); it comes with no wheel, so its test runs where the program is.
"""

import math
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqwright.batches.text import texts
from seqwright.interchange.arpa import read_arpa
from seqwright.models.ngram import Ngram, NgramSettings

PADDING, BEGIN, END = 0, 2, 3
V = 13
SMOOTHINGS = ["maximum-likelihood", "add-k", "stupid-backoff", "kneser-ney", "modified-kneser-ney"]
Gram = tuple[int, ...]


def some_text(seed: int, rows: int = 29, vocabulary: int = V) -> list[NDArray[np.int64]]:
    """Rows of unequal length, empty ones too, of tokens of unequal frequency; token 1 and the last never occur."""
    draw = np.random.default_rng(seed)
    return [4 + np.minimum(draw.zipf(1.6, draw.integers(0, 11)) - 1, vocabulary - 6) for _ in range(rows)]


def counted(settings: NgramSettings, rows: list[NDArray[np.int64]], vocabulary: int = V) -> Ngram:
    model = Ngram(settings, vocabulary=vocabulary)
    model.observe(texts(rows, begin=BEGIN, end=END))
    model.conclude()
    return model


class Slow:
    """Every formula read off the papers, one n-gram at a time."""

    def __init__(self, settings: NgramSettings, rows: list[NDArray[np.int64]]) -> None:
        self.settings, self.order = settings, settings.order
        self.every = Counter[Gram]()
        for row in rows:
            sequence = (BEGIN, *row.tolist(), END)
            for end in range(2, len(sequence) + 1):
                self.every.update(sequence[end - n : end] for n in range(1, min(self.order, end) + 1))
        least = [*settings.prune, *[settings.prune[-1] if settings.prune else 0] * self.order]
        self.kept = {gram for gram, count in self.every.items() if count > least[len(gram) - 1]}
        before: dict[Gram, set[int]] = {}
        for gram in self.every:
            before.setdefault(gram[1:], set()).add(gram[0])
        self.adjusted = {
            gram: count if len(gram) == self.order or gram[0] == BEGIN else len(before[gram])
            for gram, count in self.every.items()
        }
        self.after: dict[Gram, list[int]] = {}
        for gram in self.every:
            self.after.setdefault(gram[:-1], []).append(gram[-1])
        self.predicted = [token for token in range(V) if token not in (PADDING, BEGIN)]
        self.discounts = [self.discount(n) for n in range(1, self.order + 1)]

    def discount(self, n: int) -> list[float]:
        of = [sum(a == j and len(gram) == n for gram, a in self.adjusted.items()) for j in range(5)]
        if self.settings.smoothing == "kneser-ney":
            y = of[1] / (of[1] + 2 * of[2]) if of[1] and of[2] else self.settings.fallback[0]
            return [0, y, y, y]
        if 0 in of[1:4]:
            return [0, *self.settings.fallback]
        y = of[1] / (of[1] + 2 * of[2])
        found = [j - (j + 1) * y * of[j + 1] / of[j] for j in (1, 2, 3)]
        good = all(0 <= d <= j for j, d in enumerate(found, start=1))
        return [0, *(found if good else self.settings.fallback)]

    def probability(self, token: int, before: Gram) -> float:
        """The probability of a token after all tokens of its row."""
        if token not in self.predicted:
            return 0.0
        context = before[len(before) - min(len(before), self.order - 1) :]
        match self.settings.smoothing:
            case "maximum-likelihood":
                return self.likely(token, context, 0.0)
            case "add-k":
                return self.likely(token, context, self.settings.added)
            case "stupid-backoff":
                return self.score(token, context) / sum(self.score(other, context) for other in self.predicted)
            case _:
                return self.kneser_ney(token, context)

    def likely(self, token: int, context: Gram, k: float) -> float:
        above = k + (self.every[*context, token] if (*context, token) in self.kept else 0)
        seen = [(*context, other) for other in self.after.get(context, [])]
        below = k * len(self.predicted) + sum(self.every[gram] for gram in seen if gram in self.kept)
        return above / below if below else 0.0

    def score(self, token: int, context: Gram) -> float:
        gram = (*context, token)
        if gram in self.kept:
            if context:
                return self.every[gram] / sum(self.every[*context, other] for other in self.after[context])
            return self.every[gram] / sum(self.every[one] for one in self.kept if len(one) == 1)
        return self.settings.factor * (self.score(token, context[1:]) if context else 1 / len(self.predicted))

    def kneser_ney(self, token: int, context: Gram) -> float:
        lower = self.kneser_ney(token, context[1:]) if context else 1 / len(self.predicted)
        seen = [(*context, other) for other in self.after.get(context, [])]
        if not seen:
            return lower
        discount = self.discounts[len(context)]
        total = sum(self.adjusted[gram] for gram in seen)
        left = sum(discount[min(self.adjusted[gram], 3)] if gram in self.kept else self.adjusted[gram] for gram in seen)
        gram = (*context, token)
        own = self.adjusted[gram] - discount[min(self.adjusted[gram], 3)] if gram in self.kept else 0
        return own / total + left / total * lower


def questions(rows: list[NDArray[np.int64]]) -> Tensor:
    """`tokens_BT` to read: rows of the text, and rows that mix all tokens."""
    draw = np.random.default_rng(5)
    seen = [row[:6] for row in rows if len(row) >= 6][:4]
    mixed = draw.choice([1, *range(4, V)], size=(3, 6))
    return torch.from_numpy(np.insert(np.stack([*seen, *mixed]), 0, BEGIN, axis=1))


def said(model: Ngram, tokens_BT: Tensor) -> Tensor:
    state = model.start(texts([np.empty(0, dtype=np.int64)] * len(tokens_BT), begin=BEGIN, end=END))
    return model.read(tokens_BT, torch.ones_like(tokens_BT, dtype=torch.bool), state)[0].exp()


@pytest.mark.parametrize("prune", [(), (0, 1), (1, 1, 2)], ids=str)
@pytest.mark.parametrize("order", [1, 2, 3, 6])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_probabilities_are_those_of_the_formulas(smoothing: str, order: int, prune: tuple[int, ...]) -> None:
    settings = NgramSettings.model_validate(
        {"order": order, "smoothing": smoothing, "prune": prune[:order], "added": 0.3}
    )
    rows = some_text(order)
    slow, tokens_BT = Slow(settings, rows), questions(rows)
    found_BTV = said(counted(settings, rows), tokens_BT)
    target_BTV = torch.tensor(
        [
            [[slow.probability(token, tuple(row[: t + 1])) for token in range(V)] for t in range(len(row))]
            for row in tokens_BT.tolist()
        ]
    )
    torch.testing.assert_close(found_BTV, target_BTV, rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("smoothing", SMOOTHINGS[1:])
def test_probabilities_sum_to_one_after_any_context(smoothing: str, seed: int) -> None:
    settings = NgramSettings.model_validate({"order": 4, "smoothing": smoothing, "prune": (0, 0, seed)})
    rows = some_text(seed, rows=71)
    sum_BT = said(counted(settings, rows), questions(rows)).sum(-1)
    torch.testing.assert_close(sum_BT, torch.ones_like(sum_BT), rtol=0, atol=1e-6)


@pytest.mark.parametrize("rows", [29, 211])
def test_discounts_come_from_the_corpus_or_stand_in_for_it(rows: int) -> None:
    """29 short rows are too few for some order, 211 are enough for every one."""
    settings = NgramSettings(order=3)
    text = some_text(2, rows, vocabulary=53 if rows > 100 else V)
    model = counted(settings, text, vocabulary=53)
    wanted = torch.tensor([d[1:] for d in Slow(settings, text).discounts], dtype=torch.float64)
    torch.testing.assert_close(model.discount_N3, wanted)
    stands_in = (model.discount_N3 == torch.tensor(settings.fallback, dtype=torch.float64)).all(1)
    assert bool(stands_in.any()) == (rows < 100)


@pytest.mark.parametrize("order", [1, 4])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_looking_up_what_is_wanted_agrees_with_the_logits(smoothing: str, order: int) -> None:
    model = counted(NgramSettings.model_validate({"order": order, "smoothing": smoothing}), some_text(1))
    batch = texts(some_text(1)[:7] + some_text(7)[:11], begin=BEGIN, end=END)
    logp_BT, state = model.log_probability(batch)
    logits_BTV, read_state = model(batch, None)
    target_BT = logits_BTV.gather(2, batch.target_BT.unsqueeze(2)).squeeze(2)
    found_Q, target_Q = (each_BT.exp()[batch.real_BT] for each_BT in (logp_BT, target_BT.double()))
    torch.testing.assert_close(found_Q, target_Q, rtol=0, atol=1e-6)
    assert not logp_BT[~batch.real_BT].any()
    assert all(torch.equal(one, other) for one, other in zip(state, read_state, strict=True))


def test_the_lectures_example() -> None:
    """It has "students opened their" 1000 times, followed by "books" 400 and by "exams" 100 times."""
    words = ["<pad>", "<unk>", "<s>", "</s>", "students", "opened", "their", "books", "exams", "minds", "laptops"]
    number = {word: token for token, word in enumerate(words)}
    followed = {"books": 400, "exams": 100, "minds": 500}
    sentences = [f"students opened their {word}" for word, times in followed.items() for _ in range(times)]
    rows = [np.array([number[word] for word in sentence.split()]) for sentence in sentences]
    model = counted(NgramSettings(order=4, smoothing="maximum-likelihood"), rows, len(words))
    before = torch.tensor([[number[word] for word in ("students", "opened", "their")]])
    probability = dict(zip(words, said(model, before)[0, -1].tolist(), strict=True))
    assert probability["books"] == pytest.approx(0.4, abs=1e-7)
    assert probability["exams"] == pytest.approx(0.1, abs=1e-7)

    # The sparsity problem: what never followed has probability 0, and so has all after what never occurred.
    assert probability["laptops"] == 0
    row = np.array([number[word] for word in ("students", "opened", "laptops", "books")])
    logp_BT, _ = model.log_probability(texts([row], begin=BEGIN, end=END))
    assert logp_BT[0, :2].exp().tolist() == [1, 1]
    assert logp_BT[0, 2:].tolist() == [-math.inf] * 3


@pytest.mark.skipif(shutil.which("lmplz") is None, reason="the program lmplz of KenLM is not installed")
@pytest.mark.parametrize("prune", [(), (0, 0, 1)], ids=str)
@pytest.mark.parametrize("order", [1, 2, 3, 5, 6])
def test_the_estimate_is_that_of_lmplz(order: int, prune: tuple[int, ...], tmp_path: Path) -> None:
    """To 2e-5, since lmplz computes in single precision. `--vocab_pad` counts the tokens that do not occur."""
    # The last n-gram of each order in lmplz's own order is taken with its raw count into the counts of counts; a last
    # row of one new word makes that count 1, adjusted or not.
    pieces = ["<pad>", "<unk>", "<s>", "</s>", *(f"w{token}" for token in range(4, V))]
    rows = [*some_text(order, rows=211), np.array([V - 1])]
    text = "".join(" ".join(pieces[token] for token in row) + "\n" for row in rows)
    options = ["--vocab_pad", str(V - 2), "--discount_fallback"]
    options += ["--prune", *map(str, prune[:order])] if prune else []
    command = ["lmplz", "-o", str(order), "-S", "50M", "-T", f"{tmp_path}/", "--arpa", str(tmp_path / "their.arpa")]
    subprocess.run([*command, *options], input=text.encode(), check=True, capture_output=True)
    theirs, left_out = read_arpa(tmp_path / "their.arpa", pieces)
    ours = counted(NgramSettings(order=order, prune=prune[:order]), rows)
    assert left_out == 0
    torch.testing.assert_close(ours.base_V, theirs.base_V, rtol=0, atol=2e-5)
    for n in range(2, order + 1):
        assert torch.equal(ours.table(n).key_G, theirs.table(n).key_G)
        torch.testing.assert_close(ours.table(n).logp_G, theirs.table(n).logp_G, rtol=0, atol=2e-5)
        torch.testing.assert_close(ours.table(n).weight_C, theirs.table(n).weight_C, rtol=0, atol=2e-5)
