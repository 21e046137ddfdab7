"""What a classifier has to beat: logistic regression over the words of a text, whatever their order.

B texts · V words · C classes · N words of all texts in a line
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

WORD = re.compile(r"\w+|[^\w\s]")
MOST_WORDS = 50_000
STEPS = 100  # of L-BFGS, most of them not needed
PENALTY = 1.0  # of the squared weights, as in -Σ log p + ½ ‖W‖²


class Bag(NamedTuple):
    """Which words occur in some texts: those of all texts in a line, where each text begins, how much each counts."""

    word_N: Tensor
    begin_B: Tensor
    share_N: Tensor


class WordBaseline:
    """Multinomial logistic regression (Cox 1958) over which words occur.

        p = softmax(W x + b)        x_v = idf_v where the word v occurs, scaled to length 1

    Fitted by L-BFGS from zero in double precision: the same texts always give the same weights.
    """

    def __init__(self, texts: Iterable[str], labels: Sequence[int], *, classes: int) -> None:
        found = [words(text) for text in texts]
        often = Counter(word for one in found for word in one)
        # The most frequent ones that occur in two texts or more; between equals the alphabet decides.
        known = sorted((word for word, count in often.items() if count > 1), key=lambda word: (-often[word], word))
        self.numbers = {word: number for number, word in enumerate(known[:MOST_WORDS])}
        frequency_V = torch.tensor([often[word] for word in self.numbers], dtype=torch.float64)
        self.idf_V = 1 + torch.log((1 + len(found)) / (1 + frequency_V))
        self.weight_VC = torch.zeros(max(1, len(self.numbers)), classes, dtype=torch.float64)
        self.bias_C = torch.zeros(classes, dtype=torch.float64)
        self._fit(self._bag(found), torch.tensor(labels))

    @torch.no_grad()
    def __call__(self, texts: Iterable[str]) -> list[int]:
        """The number of the likeliest class of each text."""
        answers: list[int] = self._logits(self._bag([words(text) for text in texts])).argmax(-1).tolist()
        return answers

    def _fit(self, bag: Bag, label_B: Tensor) -> None:
        self.weight_VC.requires_grad_()
        self.bias_C.requires_grad_()
        descent = torch.optim.LBFGS(
            [self.weight_VC, self.bias_C], max_iter=STEPS, tolerance_change=1e-6, line_search_fn="strong_wolfe"
        )

        def loss() -> Tensor:
            descent.zero_grad()
            nll = F.cross_entropy(self._logits(bag), label_B, reduction="sum")
            total = (nll + 0.5 * PENALTY * self.weight_VC.square().sum()) / len(label_B)
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


def words(text: str) -> set[str]:
    """The different words and marks of a text, in small letters."""
    return set(WORD.findall(text.lower()))
