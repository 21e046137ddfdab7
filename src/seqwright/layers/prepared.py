"""A model prepared for decoding: the same function, with layers that are fast for few positions at once.

B batch · T query positions · S memory positions · D width · F outputs · H heads · K head width
"""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.layers.attention import Allowed, Attention, Causal, not_later, split_heads
from seqwright.layers.blocks import PostNorm, PreNorm
from seqwright.layers.embeddings import TokenEmbedding, TokenTable
from seqwright.layers.key_value_cache import KeyValueCache
from seqwright.layers.linear import Linear, linear_map, product

ModuleT = TypeVar("ModuleT", bound=nn.Module)
LARGE = 1 << 19  # multiplications from which a packed matrix pays
MANY = 64  # rows at once that pay for packing
MOST = 1 << 29  # numbers in all matrices of a model up to which they are packed, for they are there twice then


def prepared(model: ModuleT) -> ModuleT:
    """The model for decoding. It shares the parameters of the given one, which stays as it is; it is never trained.

    Attention remembers in a `KeyValueCache`, and matrices are laid out anew for products with few rows, where they are
    large enough. Nobody can listen to the weights of its attention.
    """
    packs = may_be_packed(model)
    made: dict[nn.Module, nn.Module] = {}

    def twin_of(module: nn.Module) -> nn.Module:
        if module not in made:
            twin = module.__new__(type(module))
            twin.__dict__ = module.__dict__.copy()
            twin._modules = {name: None if child is None else twin_of(child) for name, child in module._modules.items()}
            kind, plain = type(module), module._parameters.get("weight") is not None
            instead = PREPARED.get(kind) or (PACKED.get(kind) if packs and plain else None)
            made[module] = twin if instead is None else instead(twin)
        return made[module]

    twin: Any = twin_of(model)
    return twin.eval()  # type: ignore[no-any-return]


def prepared_for(model: ModuleT, hypotheses: int) -> ModuleT:
    """Prepared where that pays: where hypotheses share what they have read, or a matrix is large.

    A small model that writes one text for each row is as fast as it is: of its few columns a copy costs less than a
    place of their own.
    """
    large = any(parameter.ndim == 2 and parameter.numel() >= LARGE for parameter in model.parameters())
    return prepared(model) if hypotheses > 1 or large else model


def may_be_packed(model: nn.Module) -> bool:
    """Whether torch has oneDNN for where the matrices are, and they are not so large that twice would be too much."""
    matrices = [weight for weight in model.parameters() if weight.ndim == 2]
    return (
        torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and all(weight.device.type == "cpu" and weight.dtype is torch.float32 for weight in matrices)
        and sum(weight.numel() for weight in matrices) <= MOST
    )


class PackedLinear(nn.Module):
    """x Wᵀ + b, with W packed once for oneDNN.

    Left alone, a product packs its matrix each time, which takes about as long as the product where there are few
    rows; for one row the matrix is read at half of the speed of memory, and packed at nearly all of it.
    """

    def __init__(self, weight_FD: Tensor, bias_F: Tensor | None) -> None:
        super().__init__()
        self.weight, self.bias = weight_FD, bias_F

    @cached_property
    def packed(self) -> Tensor | None:
        """The matrix in oneDNN's layout, once it is needed; None where this build of torch has no such operation."""
        try:
            packed_FD: Tensor = torch.ops.mkldnn._reorder_linear_weight(self.weight.detach())
            product(self.weight.new_zeros(2, self.weight.shape[1]), packed_FD, self.bias)
        except (AttributeError, RuntimeError):
            return None
        return packed_FD

    def forward(self, x_BTD: Tensor) -> Tensor:
        """The linear map of each vector."""
        outputs, inputs = self.weight.shape
        # A text is read once: for a short one packing would not be paid back.
        again = x_BTD.shape[-2] == 1 or x_BTD.ndim == 2 or x_BTD.numel() >= MANY * inputs or "packed" in self.__dict__
        narrowed = torch.is_autocast_enabled(x_BTD.device.type)  # which knows plain products alone
        if x_BTD.numel() * outputs < LARGE or not again or narrowed or self.packed is None:
            return linear_map(x_BTD, self.weight, self.bias)
        return product(x_BTD, self.packed, self.bias)


class PackedTokens(nn.Module):
    """Vectors of tokens, whose matrix is packed as output."""

    def __init__(self, tokens: TokenEmbedding | TokenTable) -> None:
        super().__init__()
        self.vectors, self.weight = tokens, tokens.weight
        self.output = PackedLinear(tokens.weight, None)

    def forward(self, token_BT: Tensor) -> Tensor:
        """The vector of each token."""
        vectors_BTD: Tensor = self.vectors(token_BT)
        return vectors_BTD

    def logits(self, x_BTD: Tensor) -> Tensor:
        """How well each token of the vocabulary fits each vector."""
        logits_BTV: Tensor = self.output(x_BTD)
        return logits_BTV


class PreparedAttention(nn.Module):
    """`Attention` that remembers in a `KeyValueCache`; the projections are those of the module it is made from."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.heads, self.positions = attention.heads, attention.positions
        self.query, self.key_value, self.output = attention.query, attention.key_value, attention.output

    def remember(self, memory_BSD: Tensor, position_BS: Tensor | None = None) -> KeyValueCache:
        """The keys and values of a memory."""
        keys_BHSK, values_BHSK = (split_heads(x, self.heads) for x in self.key_value(memory_BSD).chunk(2, dim=-1))
        return KeyValueCache.of(self.positions.turned(keys_BHSK, position_BS), values_BHSK)

    def recall(
        self,
        x_BTD: Tensor,
        memory: KeyValueCache,
        allowed: Allowed = None,
        position_BT: Tensor | None = None,
        position_BS: Tensor | None = None,
    ) -> Tensor:
        """What the queries of `x_BTD`, a row for each hypothesis, read from a remembered memory."""
        q_BHTK = self.positions.turned(split_heads(self.query(x_BTD), self.heads), position_BT)
        bias_BHTS = self.positions.bias(position_BT, position_BS)
        time = x_BTD.shape[1]
        allowed_BTS = not_later(time, time, x_BTD.device).unsqueeze(0) if isinstance(allowed, Causal) else allowed
        if bias_BHTS is None:
            read_BHTK = memory.read(q_BHTK, allowed_BTS)
        else:  # a bias goes by the places of a hypothesis, so each has its own keys and values in their order
            apart = memory.apart()
            if allowed_BTS is not None:
                bias_BHTS = bias_BHTS.masked_fill(~allowed_BTS.unsqueeze(1), -math.inf)
            read_BHTK = F.scaled_dot_product_attention(q_BHTK, apart.keys_BHNK, apart.values_BHNK, bias_BHTS)
        read_BTD: Tensor = self.output(read_BHTK.transpose(1, 2).flatten(2))
        return read_BTD


class PreparedPostNorm(nn.Module):
    """`PostNorm` in two operations, without the way through modules that do nothing here."""

    def __init__(self, around: PostNorm) -> None:
        super().__init__()
        self.weight, self.bias, self.epsilon = around.norm.weight, around.norm.bias, around.norm.eps

    def before(self, x_BTD: Tensor) -> Tensor:
        """`x` itself."""
        return x_BTD

    def after(self, x_BTD: Tensor, change_BTD: Tensor) -> Tensor:
        """The normalised sum."""
        return F.layer_norm(x_BTD + change_BTD, self.weight.shape, self.weight, self.bias, self.epsilon)


class PreparedPreNorm(nn.Module):
    """`PreNorm` in two operations."""

    def __init__(self, around: PreNorm) -> None:
        super().__init__()
        self.weight, self.bias, self.epsilon = around.norm.weight, around.norm.bias, around.norm.eps

    def before(self, x_BTD: Tensor) -> Tensor:
        """The normalised stream."""
        return F.layer_norm(x_BTD, self.weight.shape, self.weight, self.bias, self.epsilon)

    def after(self, x_BTD: Tensor, change_BTD: Tensor) -> Tensor:
        """The plain sum."""
        return x_BTD + change_BTD


PREPARED: dict[type[nn.Module], Callable[[Any], nn.Module]] = {
    Attention: PreparedAttention,
    PostNorm: PreparedPostNorm,
    PreNorm: PreparedPreNorm,
}
"""What takes the place of a layer."""
PACKED: dict[type[nn.Module], Callable[[Any], nn.Module]] = {
    Linear: lambda linear: PackedLinear(linear.weight, linear.bias),
    TokenEmbedding: PackedTokens,
    TokenTable: PackedTokens,
}
"""The same, where there is memory for packed matrices."""
