"""Scores of attention before the Transformer: how well what a decoder wants fits each position of a memory.

B batch · T query positions · S memory positions · Q query width · D memory width · A inner width

The memory h_BSD is what an encoder made of a sentence, the query s_BTQ what the decoder asks of it. Heads, where there
are several, stand between B and the rest of both; they share the weights of a score and differ by what they project.
"""

from abc import abstractmethod
from typing import Literal

from torch import Tensor, nn

from seqwright.layers.linear import Linear

ScoreName = Literal["dot", "bilinear", "additive", "mlp", "tanh"]


class AlignmentScore(nn.Module):
    """`score_BTS`, in two parts: `prepare` is done once for a sentence, `score` for each query.

    What becomes of the scores is a softmax over the memory, c_t = Σ_s softmax(score)_ts h_s. Some write 1/N before the
    sum of N positions. It is the same number for every word of a sentence and only shrinks all its contexts alike, the
    more the longer the sentence is; the weights sum to one without it, and it is left out.
    """

    @abstractmethod
    def prepare(self, memory_BSD: Tensor) -> Tensor:
        """What of the score does not depend on the query; its next to last axis, or in `TanhScore` its last, is S."""

    @abstractmethod
    def score(self, query_BTQ: Tensor, prepared: Tensor) -> Tensor:
        """`score_BTS` of each query with each position of a memory that is prepared."""

    def forward(self, query_BTQ: Tensor, memory_BSD: Tensor) -> Tensor:
        """`score_BTS` of each query with each position of a memory."""
        return self.score(query_BTQ, self.prepare(memory_BSD))


class DotScore(AlignmentScore):
    """hᵀs (Luong et al. 2015, section 3.1, "dot"): nothing to learn; both have one width."""

    def __init__(self, *, query: int, memory: int) -> None:
        super().__init__()
        if query != memory:
            raise ValueError(f"a dot product needs a query as wide as the memory, not {query} and {memory}")

    def prepare(self, memory_BSD: Tensor) -> Tensor:
        """The memory itself."""
        return memory_BSD

    def score(self, query_BTQ: Tensor, prepared: Tensor) -> Tensor:
        """Its product with each query."""
        return query_BTQ @ prepared.transpose(-2, -1)


class BilinearScore(AlignmentScore):
    """hᵀ W s (Luong et al. 2015, section 3.1, "general")."""

    def __init__(self, *, query: int, memory: int) -> None:
        super().__init__()
        self.weight = Linear(memory, query, bias=False)

    def prepare(self, memory_BSD: Tensor) -> Tensor:
        """hᵀ W."""
        prepared_BSQ: Tensor = self.weight(memory_BSD)
        return prepared_BSQ

    def score(self, query_BTQ: Tensor, prepared: Tensor) -> Tensor:
        """Its product with each query."""
        return query_BTQ @ prepared.transpose(-2, -1)


class AdditiveScore(AlignmentScore):
    """vᵀ tanh(W [h; s]) (Bahdanau et al. 2015, appendix A.1.2; Luong et al. 2015, section 3.1, "concat").

    W [h; s] is W_h h + W_s s: the first once for a sentence, the second once for a query. tanh(x) is taken as
    2σ(2x) - 1, which on a CPU is several times faster: a fifth of beam search's time went into the tanh.
    """

    def __init__(self, *, query: int, memory: int, inner: int) -> None:
        super().__init__()
        self.of_memory = Linear(memory, inner, bias=False)
        self.of_query = Linear(query, inner, bias=False)
        self.vector = Linear(inner, 1, bias=False)

    def prepare(self, memory_BSD: Tensor) -> Tensor:
        """2 W_h h."""
        prepared_BSA: Tensor = 2 * self.of_memory(memory_BSD)
        return prepared_BSA

    def score(self, query_BTQ: Tensor, prepared: Tensor) -> Tensor:
        """2 vᵀ σ(2 W [h; s]) - vᵀ 1."""
        score_BTS: Tensor = self.vector(_sums(2 * self.of_query(query_BTQ), prepared).sigmoid_()).squeeze(-1)
        return 2 * score_BTS - self.vector.weight.sum()


class MLPScore(AlignmentScore):
    """MLP([h, s]): a perceptron with two hidden layers.

        vᵀ max(0, W₂ max(0, W₁ [h; s] + b₁) + b₂)

    `AdditiveScore` is the one with a single hidden layer; W₁ is taken apart as there. A last bias would be the same for
    all positions, and the softmax would not see it.
    """

    def __init__(self, *, query: int, memory: int, inner: int) -> None:
        super().__init__()
        self.of_memory = Linear(memory, inner)
        self.of_query = Linear(query, inner, bias=False)
        self.second = Linear(inner, inner)
        self.vector = Linear(inner, 1, bias=False)

    def prepare(self, memory_BSD: Tensor) -> Tensor:
        """The share of h in W₁ [h; s] + b₁."""
        prepared_BSA: Tensor = self.of_memory(memory_BSD)
        return prepared_BSA

    def score(self, query_BTQ: Tensor, prepared: Tensor) -> Tensor:
        """The rest of the perceptron."""
        hidden_BTSA = self.second(_sums(self.of_query(query_BTQ), prepared).relu_()).relu()
        score_BTS: Tensor = self.vector(hidden_BTSA).squeeze(-1)
        return score_BTS


class TanhScore(AlignmentScore):
    """tanh(w [h; s]), with a single row of weights.

    The score lies between -1 and 1, so no position weighs more than e² ≈ 7.4 times as much as another: this attention
    cannot become sharp.
    """

    def __init__(self, *, query: int, memory: int) -> None:
        super().__init__()
        self.of_memory = Linear(memory, 1, bias=False)
        self.of_query = Linear(query, 1, bias=False)

    def prepare(self, memory_BSD: Tensor) -> Tensor:
        """w_h h, one number for each position."""
        prepared_BS: Tensor = self.of_memory(memory_BSD).squeeze(-1)
        return prepared_BS

    def score(self, query_BTQ: Tensor, prepared: Tensor) -> Tensor:
        """The tanh of both shares."""
        score_BTS: Tensor = (self.of_query(query_BTQ) + prepared.unsqueeze(-2)).tanh()
        return score_BTS


def score_named(name: ScoreName, *, query: int, memory: int, inner: int) -> AlignmentScore:
    """A score for queries and memories of given widths; `inner` is for those that have hidden units."""
    match name:
        case "dot":
            return DotScore(query=query, memory=memory)
        case "bilinear":
            return BilinearScore(query=query, memory=memory)
        case "additive":
            return AdditiveScore(query=query, memory=memory, inner=inner)
        case "mlp":
            return MLPScore(query=query, memory=memory, inner=inner)
        case "tanh":
            return TanhScore(query=query, memory=memory)


def _sums(query_BTA: Tensor, memory_BSA: Tensor) -> Tensor:
    """`sum_BTSA`: each query with each position."""
    return query_BTA.unsqueeze(-2) + memory_BSA.unsqueeze(-3)
