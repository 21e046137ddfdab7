"""A post-norm Transformer as a CTranslate2 model, with tokens whose names are their numbers."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from seqwright.inputs.tokenizers import BEGIN, END, PAD, UNKNOWN
from seqwright.layers.attention import Attention
from seqwright.layers.blocks import FeedForward, PostNorm
from seqwright.models.encoder_decoder import EncoderDecoder

NAMES = {PAD: "<blank>", UNKNOWN: "<unk>", BEGIN: "<s>", END: "</s>"}


def tokens_of(size: int) -> list[str]:
    """The names of a vocabulary."""
    return [NAMES.get(number, f"t{number}") for number in range(size)]


def convert(model: EncoderDecoder, folder: Path, tokens: list[str]) -> None:
    """Write a post-norm Transformer as a CTranslate2 model."""
    layers = len(model.body.blocks), len(model.decoder.blocks)
    from ctranslate2.specs import TransformerSpec

    spec = TransformerSpec.from_config(layers, model.decoder.blocks[0].attention.heads, pre_norm=False)
    # CTranslate2 scales embeddings by the root of the width as we do, but its own sinusoids are in another order.
    positions = array(model.decoder.embedding.positions(torch.arange(512)))
    embeddings = array(model.decoder.embedding.tokens.weight)
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = embeddings
    spec.decoder.projection.weight = embeddings
    for side in (spec.encoder, spec.decoder):
        side.position_encodings.encodings = positions
    block: Any
    for layer, block in zip(spec.encoder.layer, model.body.blocks, strict=True):
        fill_self_attention(layer.self_attention, block.attention, block.around_attention)
        fill_feed_forward(layer.ffn, block.feed_forward, block.around_feed_forward)
    for layer, block in zip(spec.decoder.layer, model.decoder.blocks, strict=True):
        fill_self_attention(layer.self_attention, block.attention, block.around_attention)
        fill_source_attention(layer.attention, block.source_attention, block.around_source_attention)
        fill_feed_forward(layer.ffn, block.feed_forward, block.around_feed_forward)
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = model.decoder.blocks[0].around_attention.norm.eps
    spec.validate()
    spec.optimize(quantization="float32")
    spec.save(str(folder))


def fill_self_attention(spec: Any, attention: Attention, around: PostNorm) -> None:
    spec.linear[0].weight = array(torch.cat([attention.query.weight, attention.key_value.weight]))
    fill_linear(spec.linear[1], attention.output)
    fill_norm(spec.layer_norm, around.norm)


def fill_source_attention(spec: Any, attention: Attention, around: PostNorm) -> None:
    for part, linear in zip(spec.linear, (attention.query, attention.key_value, attention.output), strict=True):
        fill_linear(part, linear)
    fill_norm(spec.layer_norm, around.norm)


def fill_feed_forward(spec: Any, feed_forward: FeedForward, around: PostNorm) -> None:
    fill_linear(spec.linear_0, feed_forward.widen)
    fill_linear(spec.linear_1, feed_forward.narrow)
    fill_norm(spec.layer_norm, around.norm)


def fill_linear(spec: Any, linear: nn.Linear) -> None:
    spec.weight = array(linear.weight)
    if linear.bias is not None:
        spec.bias = array(linear.bias)


def fill_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = array(norm.weight), array(norm.bias)


def array(tensor: torch.Tensor) -> Any:
    return tensor.detach().numpy()
