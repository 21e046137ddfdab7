"""The Transformer against torch's own layers with the same weights, and against the paper's formulas and sizes.

B batch · S source · T target · D width · F feed-forward · V vocabulary
"""

import math
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqwright.batches.pairs import Pairs
from seqwright.layers.attention import Attention
from seqwright.layers.blocks import DecoderBlock, EncoderBlock, FeedForward, PostNorm, PreNorm
from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import PositionedEmbedding, TokenEmbedding
from seqwright.layers.positions import SinusoidalPositions
from seqwright.models.encoder_decoder import EncoderDecoder
from seqwright.models.transformer import TransformerSettings, transformer
from seqwright.runs import parameters

B, S, T, D, H, F, V = 3, 7, 5, 12, 4, 17, 19
RESIDUALS = pytest.mark.parametrize("residual", [PostNorm, PreNorm])
Residual = type[PostNorm] | type[PreNorm]


def shaken(module: nn.Module) -> nn.Module:
    """Biases and norms away from 0 and 1, so that one that is left out or swapped shows."""
    draw = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=draw))
    return module


def copy_attention(ours: nn.Module, theirs: nn.MultiheadAttention) -> None:
    assert theirs.in_proj_weight is not None
    weights = dict(ours.named_parameters())
    theirs.in_proj_weight.copy_(torch.cat([weights["query.weight"], weights["key_value.weight"]]))
    theirs.in_proj_bias.zero_()
    theirs.out_proj.weight.copy_(weights["output.weight"])
    theirs.out_proj.bias.zero_()


def copy_feed_forward(ours: nn.Module, layer: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> None:
    assert isinstance(ours, FeedForward)
    layer.linear1.load_state_dict(ours.widen.state_dict())
    layer.linear2.load_state_dict(ours.narrow.state_dict())


@torch.no_grad()
def copy_encoder_block(ours: EncoderBlock, theirs: nn.TransformerEncoderLayer) -> None:
    copy_attention(ours.attention, theirs.self_attn)
    copy_feed_forward(ours.feed_forward, theirs)
    theirs.norm1.load_state_dict(ours.around_attention.norm.state_dict())
    theirs.norm2.load_state_dict(ours.around_feed_forward.norm.state_dict())


@torch.no_grad()
def copy_decoder_block(ours: DecoderBlock, theirs: nn.TransformerDecoderLayer) -> None:
    copy_attention(ours.attention, theirs.self_attn)
    copy_attention(ours.source_attention, theirs.multihead_attn)
    copy_feed_forward(ours.feed_forward, theirs)
    theirs.norm1.load_state_dict(ours.around_attention.norm.state_dict())
    theirs.norm2.load_state_dict(ours.around_source_attention.norm.state_dict())
    theirs.norm3.load_state_dict(ours.around_feed_forward.norm.state_dict())


def encoder_layer(residual: Residual) -> nn.TransformerEncoderLayer:
    return nn.TransformerEncoderLayer(D, H, F, dropout=0.0, batch_first=True, norm_first=residual is PreNorm)


def decoder_layer(residual: Residual) -> nn.TransformerDecoderLayer:
    return nn.TransformerDecoderLayer(D, H, F, dropout=0.0, batch_first=True, norm_first=residual is PreNorm)


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def real(length: int, *lengths: int) -> Tensor:
    return torch.arange(length) < torch.tensor(lengths)[:, None]


@RESIDUALS
def test_an_encoder_block_is_torchs_encoder_layer(residual: Residual) -> None:
    around = partial(residual, width=D, dropout=0.0)
    ours = EncoderBlock(Attention(width=D, heads=H), FeedForward(width=D, inner=F), around)
    shaken(ours)
    theirs = encoder_layer(residual)
    copy_encoder_block(ours, theirs)
    x_BSD, real_BS = drawn(B, S, D), real(S, 7, 4, 2)
    found_BSD = ours(x_BSD, real_BS.unsqueeze(1))
    target_BSD = theirs(x_BSD, src_key_padding_mask=~real_BS)
    torch.testing.assert_close(found_BSD[real_BS], target_BSD[real_BS], rtol=0, atol=1e-5)


@RESIDUALS
def test_a_decoder_block_is_torchs_decoder_layer(residual: Residual) -> None:
    around, attention = partial(residual, width=D, dropout=0.0), partial(Attention, width=D, heads=H)
    ours = DecoderBlock(attention(), attention(), FeedForward(width=D, inner=F), around)
    shaken(ours)
    theirs = decoder_layer(residual)
    copy_decoder_block(ours, theirs)
    x_BTD, memory_BSD, real_BS = drawn(B, T, D), drawn(B, S, D), real(S, 3, 7, 1)
    past_TT = torch.ones(T, T, dtype=torch.bool).tril()
    source = ours.source_attention.remember(memory_BSD)
    found_BTD, _ = ours(x_BTD, None, source, past_TT.expand(B, T, T), real_BS.unsqueeze(1))
    target_BTD = theirs(x_BTD, memory_BSD, tgt_mask=~past_TT, memory_key_padding_mask=~real_BS)
    torch.testing.assert_close(found_BTD, target_BTD, rtol=0, atol=1e-5)


def small_transformer(residual: Residual) -> EncoderDecoder:
    torch.manual_seed(1)
    block = {PostNorm: "post-norm", PreNorm: "pre-norm"}[residual]
    settings = TransformerSettings.model_validate(
        {
            "width": D,
            "heads": H,
            "encoder_layers": 2,
            "decoder_layers": 3,
            "feed_forward": F,
            "dropout": 0.0,
            "block": block,
        }
    )
    model = transformer(settings, source_vocabulary=V + 4, target_vocabulary=V, shared=False)
    shaken(model)
    return model


def torchs_transformer(ours: EncoderDecoder, residual: Residual) -> nn.Transformer:
    norms: list[nn.LayerNorm | None] = [None, None]
    if residual is PreNorm:
        for place, norm in enumerate((ours.body.norm, ours.decoder.norm)):
            copied = nn.LayerNorm(D)
            copied.load_state_dict(norm.state_dict())
            norms[place] = copied
    encoder = nn.TransformerEncoder(
        encoder_layer(residual), len(ours.body.blocks), norms[0], enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(decoder_layer(residual), len(ours.decoder.blocks), norms[1])
    whole = nn.Transformer(D, H, custom_encoder=encoder, custom_decoder=decoder, batch_first=True)
    # Its constructor draws every matrix anew, so the weights are copied afterwards; it leaves the norms as they are.
    for block, layer in zip(ours.body.blocks, encoder.layers, strict=True):
        assert isinstance(block, EncoderBlock)
        assert isinstance(layer, nn.TransformerEncoderLayer)
        copy_encoder_block(block, layer)
    for block, layer in zip(ours.decoder.blocks, decoder.layers, strict=True):
        assert isinstance(block, DecoderBlock)
        assert isinstance(layer, nn.TransformerDecoderLayer)
        copy_decoder_block(block, layer)
    return whole


def papers_positions(positions: int, width: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/D)), PE(pos, 2i+1) = cos(pos / 10000^(2i/D)), in double precision."""
    encoding = np.zeros((positions, width))
    for pos in range(positions):
        for place in range(width):
            i = place // 2
            angle = pos / 10000 ** (2 * i / width)
            encoding[pos, place] = np.sin(angle) if place % 2 == 0 else np.cos(angle)
    return torch.from_numpy(encoding)


@RESIDUALS
def test_the_whole_stack_is_torchs_transformer(residual: Residual) -> None:
    ours = small_transformer(residual)
    theirs = torchs_transformer(ours, residual)
    draw = torch.Generator().manual_seed(11)
    source_BS, input_BT = torch.randint(V + 4, (B, S), generator=draw), torch.randint(V, (B, T), generator=draw)
    source_real_BS, real_BT = real(S, 2, 7, 5), real(T, 5, 1, 3)
    found_BTV, _ = ours(Pairs(source_BS, source_real_BS, input_BT, input_BT, real_BT))

    source_VD, target_VD = (e.tokens.weight for e in (ours.body.embedding, ours.decoder.embedding))
    target_BTD = theirs(
        source_VD[source_BS] * math.sqrt(D) + papers_positions(S, D).float(),
        target_VD[input_BT] * math.sqrt(D) + papers_positions(T, D).float(),
        tgt_mask=torch.ones(T, T, dtype=torch.bool).triu(1),
        src_key_padding_mask=~source_real_BS,
        memory_key_padding_mask=~source_real_BS,
    )
    target_BTV = target_BTD @ target_VD.T
    torch.testing.assert_close(found_BTV[real_BT], target_BTV[real_BT], rtol=0, atol=1e-5)


@RESIDUALS
def test_dropout_acts_on_what_a_sublayer_adds(residual: Residual) -> None:
    """Section 5.4: on the output of each sublayer, before it is added and normalised."""
    around = residual(width=D, dropout=0.4)
    x_BTD, change_BTD = drawn(B, T, D), drawn(T, B, D).transpose(0, 1)
    torch.manual_seed(3)
    found_BTD = around.after(x_BTD, change_BTD)
    torch.manual_seed(3)
    sum_BTD = x_BTD + Dropout(0.4)(change_BTD)
    target_BTD = sum_BTD if residual is PreNorm else nn.functional.layer_norm(sum_BTD, (D,))
    torch.testing.assert_close(found_BTD, target_BTD, rtol=0, atol=1e-6)
    assert not torch.allclose(found_BTD, around.eval().after(x_BTD, change_BTD))


def test_dropout_acts_on_the_sum_of_embedding_and_position() -> None:
    tokens = TokenEmbedding(vocabulary=V, width=D)
    embedding = PositionedEmbedding(tokens, SinusoidalPositions(width=D), dropout=0.4)
    token_BT = torch.arange(B * T).view(B, T)
    torch.manual_seed(3)
    found_BTD = embedding(token_BT, torch.arange(T))
    torch.manual_seed(3)
    summed_BTD = tokens.weight[token_BT] * math.sqrt(D) + papers_positions(T, D).float()
    torch.testing.assert_close(found_BTD, Dropout(0.4)(summed_BTD), rtol=0, atol=1e-5)


def test_every_dropout_of_the_model_is_the_settings() -> None:
    """Two embeddings; two sublayers a block of the encoder, three a block of the decoder."""
    settings = TransformerSettings.model_validate({"size": "tiny", "dropout": 0.3})
    model = transformer(settings, source_vocabulary=V, target_vocabulary=V)
    assert [module.share for module in model.modules() if isinstance(module, Dropout)] == [0.3] * (2 + 2 * 2 + 2 * 3)


@pytest.mark.parametrize("width", [12, 7, 512])
def test_positions_are_the_papers(width: int) -> None:
    found_TD = SinusoidalPositions(width=width)(torch.arange(101))
    torch.testing.assert_close(found_TD.double(), papers_positions(101, width), rtol=0, atol=1e-5)


def hand_count(*, V: int, D: int, F: int, layers: int) -> int:
    """One vocabulary for both sides. Every attention has four D × D matrices and no biases (section 3.2.2)."""
    embedding = V * D  # once: source, target and output share it (section 3.4)
    feed_forward = 2 * D * F + F + D  # two matrices, two biases
    norm = 2 * D  # a gain and a bias
    encoder_layer = 4 * D**2 + feed_forward + 2 * norm
    decoder_layer = 8 * D**2 + feed_forward + 3 * norm
    return embedding + layers * (encoder_layer + decoder_layer)


def count(size: str, vocabulary: int, **other: str) -> int:
    with torch.device("meta"):
        settings = TransformerSettings.model_validate({"size": size, **other})
        return parameters(transformer(settings, source_vocabulary=vocabulary, target_vocabulary=vocabulary))


@pytest.mark.parametrize(
    ("size", "D", "F", "layers"), [("tiny", 128, 512, 2), ("base", 512, 2048, 6), ("big", 1024, 4096, 6)]
)
def test_a_named_size_has_as_many_parameters_as_counted_by_hand(size: str, D: int, F: int, layers: int) -> None:
    assert count(size, 1009) == hand_count(V=1009, D=D, F=F, layers=layers)
    # Pre-norm ends either stack in one more norm.
    assert count(size, 1009, block="pre-norm") == hand_count(V=1009, D=D, F=F, layers=layers) + 4 * D


@pytest.mark.parametrize(("size", "millions"), [("base", 65), ("big", 213)])
def test_the_papers_sizes_have_about_the_papers_parameters(size: str, millions: int) -> None:
    """Table 3, with the 37,000 tokens of section 5.1."""
    assert count(size, 37_000) == pytest.approx(millions * 1e6, rel=0.05)


def test_two_vocabularies_have_two_embeddings() -> None:
    settings = TransformerSettings.model_validate({"size": "tiny"})
    with torch.device("meta"):
        apart = transformer(settings, source_vocabulary=29, target_vocabulary=31, shared=False)
    assert parameters(apart) == hand_count(V=29 + 31, D=128, F=512, layers=2)
