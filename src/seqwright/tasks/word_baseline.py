"""What a classifier has to beat: logistic regression over the words of a text, whatever their order; a rater, linear.

B texts · V words · C classes · N words of all texts in a line
"""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, final

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

WORD = re.compile(r"\w+|[^\w\s]")
MOST_WORDS = 50_000
STEPS = 100  # of L-BFGS, most of them not needed
PENALTY = 1.0  # of the squared weights, as in -Σ log p + ½ ‖W‖²


class ToBeat(NamedTuple):
    """How good it is to know nothing of a text, or only its words."""

    scores: dict[str, float]  # by the names they are reported under
    sentence: str
    notes: list[str]


class Bag(NamedTuple):
    """Which words occur in some texts: those of all texts in a line, where each text begins, how much each counts."""

    word_N: Tensor
    begin_B: Tensor
    share_N: Tensor


class WordModel(ABC):
    """A linear model over which words occur.

        W x + b        x_v = idf_v where the word v occurs, scaled to length 1

    Fitted by L-BFGS from zero in double precision: the same texts always give the same weights.
    """

    def __init__(self, texts: Iterable[str | set[str]], target_B: Tensor, *, outputs: int) -> None:
        found = [words(text) for text in texts]
        often = Counter(word for one in found for word in one)
        # The most frequent ones that occur in two texts or more; between equals the alphabet decides.
        known = sorted((word for word, count in often.items() if count > 1), key=lambda word: (-often[word], word))
        self.numbers = {word: number for number, word in enumerate(known[:MOST_WORDS])}
        frequency_V = torch.tensor([often[word] for word in self.numbers], dtype=torch.float64)
        self.idf_V = 1 + torch.log((1 + len(found)) / (1 + frequency_V))
        self.weight_VC = torch.zeros(max(1, len(self.numbers)), outputs, dtype=torch.float64)
        self.bias_C = torch.zeros(outputs, dtype=torch.float64)
        self._fit(self._bag(found), target_B)

    @torch.no_grad()
    def said(self, texts: Iterable[str | set[str]]) -> Tensor:
        """`said_BC`: what it says of each text."""
        return self._logits(self._bag([words(text) for text in texts]))

    @abstractmethod
    def _loss(self, said_BC: Tensor, target_B: Tensor) -> Tensor:
        """What is to be small, summed over the texts."""

    def _fit(self, bag: Bag, target_B: Tensor) -> None:
        self.weight_VC.requires_grad_()
        self.bias_C.requires_grad_()
        descent = torch.optim.LBFGS(
            [self.weight_VC, self.bias_C], max_iter=STEPS, tolerance_change=1e-6, line_search_fn="strong_wolfe"
        )

        def loss() -> Tensor:
            descent.zero_grad()
            error = self._loss(self._logits(bag), target_B)
            total = (error + 0.5 * PENALTY * self.weight_VC.square().sum()) / len(target_B)
            total.backward()  # type: ignore[no-untyped-call]
            return total

        with torch.enable_grad():
            descent.step(loss)  # type: ignore[no-untyped-call]
        self.weight_VC, self.bias_C = self.weight_VC.detach(), self.bias_C.detach()

    def _bag(self, found: Sequence[set[str]]) -> Bag:
        known = [sorted(self.numbers[word] for word in one if word in self.numbers) for one in found]
        ends = np.cumsum([0, *map(len, known)])
        word_N = torch.tensor([number for one in known for number in one], dtype=torch.int64)
        square_N = self.idf_V[word_N] ** 2
        text_N = torch.repeat_interleave(torch.arange(len(found)), torch.from_numpy(np.diff(ends)))
        length_B = torch.zeros(len(found), dtype=torch.float64).index_add_(0, text_N, square_N).sqrt()
        return Bag(word_N, torch.from_numpy(ends[:-1]), self.idf_V[word_N] / length_B[text_N])

    def _logits(self, bag: Bag) -> Tensor:
        sum_BC = F.embedding_bag(bag.word_N, self.weight_VC, bag.begin_B, mode="sum", per_sample_weights=bag.share_N)
        return sum_BC + self.bias_C


@final
class WordBaseline(WordModel):
    """Multinomial logistic regression (Cox 1958) over which words occur: p = softmax(W x + b)."""

    def __init__(self, texts: Iterable[str | set[str]], labels: Sequence[int], *, classes: int) -> None:
        super().__init__(texts, torch.tensor(labels), outputs=classes)

    def __call__(self, texts: Iterable[str | set[str]]) -> list[int]:
        """The number of the likeliest class of each text."""
        answers: list[int] = self.said(texts).argmax(-1).tolist()
        return answers

    def _loss(self, said_BC: Tensor, target_B: Tensor) -> Tensor:
        return F.cross_entropy(said_BC, target_B, reduction="sum")


@final
class WordRating(WordModel):
    """Ridge regression (Hoerl & Kennard 1970) over which words occur: W x + b, as near to the ratings as it can be."""

    def __init__(self, texts: Iterable[str | set[str]], ratings: Sequence[float]) -> None:
        super().__init__(texts, torch.tensor(ratings, dtype=torch.float64), outputs=1)

    def __call__(self, texts: Iterable[str | set[str]]) -> list[float]:
        """The rating of each text."""
        answers: list[float] = self.said(texts).squeeze(1).tolist()
        return answers

    def _loss(self, said_BC: Tensor, target_B: Tensor) -> Tensor:
        return 0.5 * (said_BC.squeeze(1) - target_B).square().sum()


def words(text: str | set[str]) -> set[str]:
    """The different words and marks of a text, in small letters; or those that were found already."""
    return text if isinstance(text, set) else set(WORD.findall(text.lower()))
