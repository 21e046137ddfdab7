"""What a decoder says, from all that it knows at a step.

B batch · T time · D width of the state · E embedding · C context width · O output width
"""

from torch import Tensor, nn

from seqwright.layers.linear import Linear


class DeepOutput(nn.Module):
    """A maxout layer over state, token and context (Cho et al. 2014, appendix A; Bahdanau et al. 2015, A.2.2).

    t~ = U s + V e(y) + C c, twice as wide as t        t_i = max(t~_{2i-1}, t~_{2i})
    """

    def __init__(self, *, state: int, token: int, context: int, output: int) -> None:
        super().__init__()
        self.of_state = Linear(state, 2 * output)
        self.of_token = Linear(token, 2 * output, bias=False)
        self.of_context = Linear(context, 2 * output, bias=False)

    def forward(self, state_BTD: Tensor, token_BTE: Tensor, context_BTC: Tensor) -> Tensor:
        """`output_BTO`; a context that is the same for all steps may have a time axis of 1."""
        sums: Tensor = self.of_state(state_BTD) + self.of_token(token_BTE) + self.of_context(context_BTC)
        return sums.view(*sums.shape[:-1], -1, 2).amax(-1)
