"""A Transformer with experts: the feed-forward of some blocks is a mixture of many (Lepikhin et al. 2021, GShard)."""

from typing import Literal, Unpack

from pydantic import PositiveInt, model_validator
from torch import nn

from seqwright.layers.blocks import FeedForward
from seqwright.layers.experts import Experts
from seqwright.layers.taps import View
from seqwright.models.encoder_decoder import EncoderDecoder, Vocabularies
from seqwright.models.transformer import TransformerSettings, transformer

READ = {"encoder": "source", "decoder": "target"}  # what stands at the positions of each stack


class MoETransformerSettings(TransformerSettings):
    """A Transformer's settings, and those of the experts; `feed_forward` is the inner width of each."""

    kind: Literal["moe-transformer"] = "moe-transformer"  # type: ignore[assignment]
    experts: PositiveInt = 8
    """Experts there are in each block that has any."""
    experts_per_token: PositiveInt = 2
    """Experts that each position uses."""
    every: PositiveInt = 2
    """Every so many blocks one has experts, counted from the last: 1 is all, 2 every other one."""

    @model_validator(mode="after")
    def _no_more_are_chosen_than_there_are(self) -> "MoETransformerSettings":
        if self.experts_per_token > self.experts:
            raise ValueError(
                f"experts_per_token is {self.experts_per_token}, but there are only {self.experts} experts"
            )
        return self


def moe_transformer(settings: MoETransformerSettings, **sizes: Unpack[Vocabularies]) -> EncoderDecoder:
    """The Transformer with a layer of experts in place of the feed-forward of every other block (section 2.2).

        y = Σ_i G(x)_i E_i(x),  E_i(x) = max(0, x W₁ + b₁) W₂ + b₂

    Differs from the paper: the gate is the noisy one of Shazeer et al. 2017, an expert takes as many positions as
    choose it, and the use of the experts is balanced by that paper's two losses (objective `balanced-next-token`).
    """

    def inside(stack: Literal["encoder", "decoder"], place: int) -> nn.Module:
        width, inner = settings.width, settings.feed_forward
        layers = settings.encoder_layers if stack == "encoder" else settings.decoder_layers
        if (layers - 1 - place) % settings.every:
            return FeedForward(width=width, inner=inner)
        # A picture of its own for each block: the experts of one have nothing to do with those of another.
        view = View(f"expert use of {stack} block {place + 1}", rows=READ[stack], columns="experts")
        experts, chosen = settings.experts, settings.experts_per_token
        return Experts(width=width, inner=inner, experts=experts, chosen=chosen, view=view)

    return transformer(settings, feed_forwards=inside, **sizes)
