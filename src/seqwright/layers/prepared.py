"""A model prepared for decoding: the same function, with layers that are fast for few positions at once.

B batch · T query positions · S memory positions · D width · F outputs · H heads · K head width
"""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.layers.attention import Allowed, Attention, Causal, not_later, split_heads
from seqwright.layers.blocks import FeedForward, PostNorm, PreNorm
from seqwright.layers.embeddings import TokenEmbedding, TokenTable
from seqwright.layers.key_value_cache import KeyValueCache
from seqwright.layers.linear import Linear, linear_map, product
from seqwright.layers.positions import SinusoidalPositions

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
        self.outputs, self.inputs = weight_FD.shape
        self.added_F = None if bias_F is None else bias_F.detach()  # found more quickly than a parameter

    @cached_property
    def packed(self) -> Tensor | None:
        """The matrix in oneDNN's layout, once it is needed; None where this build of torch has no such operation."""
        try:
            packed_FD: Tensor = torch.ops.mkldnn._reorder_linear_weight(self.weight.detach())
            product(self.weight.new_zeros(2, self.weight.shape[1]), packed_FD, self.bias)
        except (AttributeError, RuntimeError):
            return None
        return packed_FD

    def forward(self, x_BTD: Tensor, then: Literal["none", "relu"] = "none") -> Tensor:
        """The linear map of each vector, and what `then` makes of it."""
        large = x_BTD.numel() * self.outputs >= LARGE
        narrowed = torch.is_autocast_enabled(x_BTD.device.type)  # which knows plain products alone
        pays = large and not narrowed and ("packed" in self.__dict__ or self._pays(x_BTD))
        if pays and self.packed is not None:
            return product(x_BTD, self.packed, self.added_F, then)
        y_BTF = linear_map(x_BTD, self.weight, self.bias)
        return y_BTF if then == "none" else y_BTF.relu()

    def _pays(self, x_BTD: Tensor) -> bool:
        """Whether to pack: a text is read once, and for a short one it would not be paid back."""
        return x_BTD.shape[-2] == 1 or x_BTD.ndim == 2 or x_BTD.numel() >= MANY * self.inputs


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
    """`Attention` that remembers in a `KeyValueCache`.

    Where matrices are packed, what is scaled by 1/√K is the query's matrix, and what reads itself gets its queries,
    keys and values by one product.
    """

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.heads, self.positions = attention.heads, attention.positions
        given: Any = attention  # its linear maps may be packed by now
        self.query, self.key_value, self.output = given.query, given.key_value, given.output
        self.scale = (attention.output.weight.shape[1] // attention.heads) ** -0.5
        self.query_key_value: PackedLinear | None = None
        if isinstance(self.query, PackedLinear) and isinstance(self.key_value, PackedLinear):
            self.query = scaled(self.query, self.scale)
            self.query_key_value, self.scale = one_map_of(self.query, self.key_value), 1.0

    def continued(
        self,
        x_BTD: Tensor,
        past: KeyValueCache | None,
        allowed: Allowed = None,
        position_BT: Tensor | None = None,
        position_BC: Tensor | None = None,
    ) -> tuple[Tensor, KeyValueCache]:
        """What each of `x_BTD` reads of the past and of `x_BTD` itself, and both of these."""
        if self.query_key_value is None:
            q_BTD, kv_BTD = self.query(x_BTD), self.key_value(x_BTD)
            q_BHTK = split_heads(q_BTD, self.heads)
            k_BHTK, v_BHTK = kv_BTD.unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind()
        else:
            qkv_BTD = self.query_key_value(x_BTD)
            q_BHTK, k_BHTK, v_BHTK = qkv_BTD.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind()
        now = KeyValueCache.of(self.positions.turned(k_BHTK, position_BT), v_BHTK)
        past = now if past is None else past.extended(now)
        return self._read(q_BHTK, past, allowed, position_BT, position_BC), past

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
        return self._read(split_heads(self.query(x_BTD), self.heads), memory, allowed, position_BT, position_BS)

    def _read(
        self,
        q_BHTK: Tensor,
        memory: KeyValueCache,
        allowed: Allowed,
        position_BT: Tensor | None,
        position_BS: Tensor | None,
    ) -> Tensor:
        q_BHTK = self.positions.turned(q_BHTK if self.scale == 1 else q_BHTK * self.scale, position_BT)
        bias_BHTS = self.positions.bias(position_BT, position_BS)
        time = q_BHTK.shape[2]
        allowed_BTS = not_later(time, time, q_BHTK.device).unsqueeze(0) if isinstance(allowed, Causal) else allowed
        if bias_BHTS is None:
            read_BHTK = memory.read(q_BHTK, allowed_BTS)
        else:  # a bias goes by the places of a hypothesis, so each has its own keys and values in their order
            apart = memory.apart()
            if allowed_BTS is not None:
                bias_BHTS = bias_BHTS.masked_fill(~allowed_BTS.unsqueeze(1), -math.inf)
            read_BHTK = F.scaled_dot_product_attention(q_BHTK, apart.keys_BHNK, apart.values_BHNK, bias_BHTS, scale=1.0)
        read_BTD: Tensor = self.output(read_BHTK.transpose(1, 2).flatten(2))
        return read_BTD


def scaled(linear: PackedLinear, scale: float) -> PackedLinear:
    """The linear map times a number."""
    bias_F = None if linear.bias is None else linear.bias.detach() * scale
    return PackedLinear(linear.weight.detach() * scale, bias_F)


def one_map_of(*linears: PackedLinear) -> PackedLinear:
    """Linear maps of the same vectors as one; either all of them or none has a bias."""
    bias_F = [linear.bias.detach() for linear in linears if linear.bias is not None]
    return PackedLinear(
        torch.cat([linear.weight.detach() for linear in linears]), torch.cat(bias_F) if bias_F else None
    )


class PreparedFeedForward(nn.Module):
    """`FeedForward` whose zeros are put in on the way, where matrices are packed. Of a text it leaves padding out."""

    def __init__(self, given: FeedForward) -> None:
        super().__init__()
        self.widen: nn.Module = given.widen
        self.narrow: nn.Module = given.narrow

    def forward(self, x_BTD: Tensor, real_BT: Tensor | None = None) -> Tensor:
        """The transformed positions; zero at padding, where it was left out."""
        if real_BT is None or x_BTD.shape[1] == 1 or real_BT.shape != x_BTD.shape[:2] or bool(real_BT.all()):
            return self._transformed(x_BTD)
        y_ND = self._transformed(x_BTD[real_BT])
        y_BTD = y_ND.new_zeros(x_BTD.shape)
        y_BTD[real_BT] = y_ND
        return y_BTD

    def _transformed(self, x_BTD: Tensor) -> Tensor:
        wide_BTF = self.widen(x_BTD, "relu") if isinstance(self.widen, PackedLinear) else self.widen(x_BTD).relu()
        y_BTD: Tensor = self.narrow(wide_BTF)
        return y_BTD


class PreparedNorm:
    """Layer normalisation without the way through modules."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        self.weight, self.bias = norm.weight.detach(), norm.bias.detach()
        self.shape, self.epsilon = norm.weight.shape, norm.eps

    def __call__(self, x_BTD: Tensor) -> Tensor:
        """The normalised vectors."""
        return torch.layer_norm(x_BTD, self.shape, self.weight, self.bias, self.epsilon)


class PreparedPostNorm(nn.Module):
    """`PostNorm` in two operations, without the way through modules that do nothing here."""

    def __init__(self, around: PostNorm) -> None:
        super().__init__()
        self.norm = PreparedNorm(around.norm)

    def before(self, x_BTD: Tensor) -> Tensor:
        """`x` itself."""
        return x_BTD

    def after(self, x_BTD: Tensor, change_BTD: Tensor) -> Tensor:
        """The normalised sum."""
        return self.norm(x_BTD + change_BTD)


class PreparedPreNorm(nn.Module):
    """`PreNorm` in two operations."""

    def __init__(self, around: PreNorm) -> None:
        super().__init__()
        self.norm = PreparedNorm(around.norm)

    def before(self, x_BTD: Tensor) -> Tensor:
        """The normalised stream."""
        return self.norm(x_BTD)

    def after(self, x_BTD: Tensor, change_BTD: Tensor) -> Tensor:
        """The plain sum."""
        return x_BTD + change_BTD


class PreparedSinusoids(nn.Module):
    """`SinusoidalPositions` that are computed once and looked up."""

    def __init__(self, positions: SinusoidalPositions) -> None:
        super().__init__()
        self.positions = positions
        self.known_ND = positions.rate_D.new_empty(0, len(positions.rate_D))

    def forward(self, position_BT: Tensor) -> Tensor:
        """The encoding of each position; at padding, which is at -1, that of the first."""
        last = int(position_BT.max())
        if last >= len(self.known_ND):
            self.known_ND = self.positions(torch.arange(2 * last + MANY, device=position_BT.device))
        return F.embedding(position_BT.clamp_min(0), self.known_ND)


PREPARED: dict[type[nn.Module], Callable[[Any], nn.Module]] = {
    Attention: PreparedAttention,
    FeedForward: PreparedFeedForward,
    PostNorm: PreparedPostNorm,
    PreNorm: PreparedPreNorm,
    SinusoidalPositions: PreparedSinusoids,
}
"""What takes the place of a layer."""
PACKED: dict[type[nn.Module], Callable[[Any], nn.Module]] = {
    Linear: lambda linear: PackedLinear(linear.weight, linear.bias),
    TokenEmbedding: PackedTokens,
    TokenTable: PackedTokens,
}
"""The same, where there is memory for packed matrices."""
