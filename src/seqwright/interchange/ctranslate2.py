"""Transformers, GPTs and BERTs as models of CTranslate2, with the same numbers.

What it has no layer for is refused by name. `seqwright.engines` computes with what is written here.

P positions · D width · V vocabulary
"""

import os
import platform
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seqwright.errors import RunError, SettingError
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.interchange.tokenizer_files import write_tokenizer
from seqwright.layers.attention import Attention
from seqwright.layers.blocks import Block, DecoderBlock, EncoderBlock, FeedForward, GELUFeedForward, PreNorm, Residual
from seqwright.layers.embeddings import PositionedEmbedding
from seqwright.models.bert import Bert, MaskedBert
from seqwright.models.encoder_decoder import EncoderDecoder
from seqwright.models.gpt import GPT
from seqwright.models.heads import Headed
from seqwright.models.language_model import LanguageModel
from seqwright.models.transformer import TransformerDecoder, TransformerEncoder

Form = Literal["translator", "generator", "encoder"]
"""What a model is to CTranslate2: it translates, it continues texts, or it gives a vector for each token."""
ADVICE = "install it with `pip install 'seqwright[ctranslate2]'`, or use --engine plain"
MKL = "CT2_USE_MKL"
POSITIONS = 2048  # that a Transformer can read or write there; here there is no limit
Floats = NDArray[np.float32]


def ctranslate2_library() -> Any:
    """The library, or a sentence on how to have it."""
    int8_is_exact()
    try:
        import ctranslate2
    except ImportError as error:
        raise SettingError(f"CTranslate2 is not installed: {ADVICE}") from error
    return ctranslate2


@lru_cache(1)
def int8_is_exact() -> bool:
    """Whether its products of int8 are right on this processor, told before it is imported for the first time.

    Of processors without instructions for them (VNNI) oneDNN adds two products in 16 bits, which overflow: vectors come
    out wrong by a third. MKL does not, which CTranslate2 takes on AMD's only where the environment says so as it loads.
    """
    if int8_is_quick():
        return True
    if "ctranslate2" not in sys.modules:
        os.environ.setdefault(MKL, "1")
    return os.environ.get(MKL) == "1"


def int8_is_quick() -> bool:
    """Whether its products of int8 are the fast ones here: without instructions for them, by MKL, ours are faster."""
    return platform.machine().lower() not in {"x86_64", "amd64"} or torch.cpu._is_vnni_supported()


def ctranslate2_form(model: nn.Module, *, vectors: bool = False) -> Form:
    """What a model, or with `vectors` its body, is to CTranslate2; a part that has no equal there is named."""
    if vectors:
        _encoder_in(model)
        return "encoder"
    body = model.body if isinstance(model, LanguageModel) else None
    if isinstance(body, GPT):
        return "generator"
    if isinstance(model, EncoderDecoder):
        _refuse_parts(model.body, TransformerEncoder, "encoder")
        _refuse_parts(model.decoder, TransformerDecoder, "decoder")
        return "translator"
    _encoder_in(model)
    return "encoder"


def write_ctranslate2(
    folder: Path, model: nn.Module, source: Tokenizer, target: Tokenizer, *, vectors: bool = False
) -> "WrittenModel":
    """Write into a new folder what CTranslate2 loads: a model in float32, its vocabularies and the tokenizers.

    With `vectors` it is what reads alone, as `embed` needs it.
    """
    ctranslate2_library()
    form = ctranslate2_form(model, vectors=vectors)
    spec = ctranslate2_spec(form, model, *map(token_names, (source, target)))
    around = form == "encoder"  # a translator gets its end there, and what is continued has none
    spec.save(str(folder))
    write_tokenizer(source, folder, context=POSITIONS, around=around, segments=False)
    if target is not source:
        (folder / "target").mkdir()
        write_tokenizer(target, folder / "target", context=POSITIONS, around=False, segments=False)
    return WrittenModel(form, whole=form != "encoder")


class WrittenModel(NamedTuple):
    """What a folder is to CTranslate2, and whether it has all of the model: of an encoder there is no head."""

    form: Form
    whole: bool


class TokenNames(NamedTuple):
    """The tokens of a vocabulary by number, each called otherwise, and those with a meaning."""

    tokens: list[str]
    begin: str
    end: str
    unknown: str


def token_names(tokenizer: Tokenizer) -> TokenNames:
    """The tokens as the vocabulary has them; where none is for what is unknown, that which ends a text."""
    marks = tokenizer.begin, tokenizer.end, tokenizer.end if tokenizer.unknown is None else tokenizer.unknown
    return TokenNames(tokenizer.pieces(range(tokenizer.size)), *tokenizer.pieces(marks))


def ctranslate2_spec(form: Form, model: nn.Module, source: TokenNames, target: TokenNames) -> Any:
    """A model in float32 as CTranslate2 describes it, ready to be saved."""
    spec = SPECS[form](model, source, target)
    spec.validate()
    spec.optimize(quantization="float32")
    return spec


# ------------------------------------------------------------------------------------------------ whole models


def _translator(model: Any, source: TokenNames, target: TokenNames) -> Any:
    """An encoder and a decoder; as its `config.json` says, what is translated gets the token that ends a text."""
    from ctranslate2.specs import TransformerSpec

    encoder, decoder = _transformer_encoder(model.body), _transformer_decoder(model.decoder)
    spec = TransformerSpec(encoder, decoder)
    spec.register_source_vocabulary(source.tokens)
    spec.register_target_vocabulary(target.tokens)
    _name_marks(spec, target, epsilon=_epsilon(model.decoder.blocks[0]))
    spec.config.decoder_start_token = spec.config.bos_token
    spec.config.add_source_eos = True
    return spec


def _generator(model: Any, source: TokenNames, target: TokenNames) -> Any:
    from ctranslate2.specs import TransformerDecoderModelSpec, common_spec

    body: GPT = model.body
    spec = TransformerDecoderModelSpec.from_config(
        len(body.blocks), body.settings.heads, activation=common_spec.Activation.GELUTanh
    )
    decoder = spec.decoder
    decoder.scale_embeddings = False
    decoder.embeddings.weight = decoder.projection.weight = array(body.tokens.weight)
    decoder.position_encodings.encodings = array(body.positions.weight)
    _fill_norm(decoder.layer_norm, body.norm)
    _fill_blocks(decoder.layer, body.blocks)
    spec.register_vocabulary(source.tokens)
    _name_marks(spec, source, epsilon=_epsilon(body.blocks[0]))
    return spec


def _encoder(model: Any, source: TokenNames, target: TokenNames) -> Any:
    from ctranslate2.specs import TransformerEncoderModelSpec

    body = _encoder_in(model)
    pooler = body.pooler if isinstance(body, Bert) else None
    layers = _bert_encoder(body) if isinstance(body, Bert) else _transformer_encoder(body)
    spec = TransformerEncoderModelSpec(layers, pooling_layer=pooler is not None)
    if pooler is not None:
        _fill_linear(spec.pooler_dense, pooler)
    spec.register_vocabulary(source.tokens)
    _name_marks(spec, source, epsilon=_epsilon(body.blocks[0]))
    return spec


SPECS = {"translator": _translator, "generator": _generator, "encoder": _encoder}


def _name_marks(spec: Any, names: TokenNames, *, epsilon: float) -> None:
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = names.begin, names.end, names.unknown
    spec.config.layer_norm_epsilon = epsilon


def _encoder_in(model: nn.Module) -> Any:
    """What of a model gives a vector for each token, reading all others."""
    body: Any = model.body if isinstance(model, EncoderDecoder | MaskedBert | Headed | LanguageModel) else model
    if isinstance(body, GPT):
        raise RunError(
            "CTranslate2 gives the logits of a GPT and keeps its vectors, which embed and a head read: use the plain "
            "engine"
        )
    if not isinstance(body, Bert):
        _refuse_parts(body, TransformerEncoder, "encoder")
    return body


def _refuse_parts(part: Any, known: type[nn.Module], name: str) -> None:
    """Only a Transformer with ordinary feed-forwards has an equal there."""
    if not isinstance(part, known):
        raise RunError(
            f"CTranslate2 has Transformers, GPT and BERT, and the model's {name} is a {type(part).__name__}: use the "
            "plain engine"
        )
    blocks: Any = part.blocks
    for place, block in enumerate(blocks, start=1):
        if not isinstance(block.feed_forward, FeedForward):
            raise RunError(
                f"CTranslate2 has no {type(block.feed_forward).__name__.lower()}, which block {place} of the model's "
                f"{name} has in place of a feed-forward: use the plain engine"
            )


# ------------------------------------------------------------------------------------------------ stacks of blocks


def _transformer_encoder(encoder: TransformerEncoder) -> Any:
    from ctranslate2.specs.transformer_spec import TransformerEncoderSpec

    block: Any = encoder.blocks[0]
    spec = TransformerEncoderSpec(len(encoder.blocks), block.attention.heads, pre_norm=_normalises_first(block))
    spec.embeddings[0].weight = array(encoder.embedding.tokens.weight)
    spec.position_encodings.encodings = _sinusoids(encoder.embedding)
    if spec.pre_norm:
        _fill_norm(spec.layer_norm, encoder.norm)
    _fill_blocks(spec.layer, encoder.blocks)
    return spec


def _transformer_decoder(decoder: TransformerDecoder) -> Any:
    from ctranslate2.specs.transformer_spec import TransformerDecoderSpec

    block: Any = decoder.blocks[0]
    spec = TransformerDecoderSpec(len(decoder.blocks), block.attention.heads, pre_norm=_normalises_first(block))
    spec.embeddings.weight = spec.projection.weight = array(decoder.embedding.tokens.weight)
    spec.position_encodings.encodings = _sinusoids(decoder.embedding)
    if spec.pre_norm:
        _fill_norm(spec.layer_norm, decoder.norm)
    _fill_blocks(spec.layer, decoder.blocks)
    return spec


def _sinusoids(embedding: PositionedEmbedding) -> Floats:
    """Written out, since those of CTranslate2 itself stand in another order."""
    return array(embedding.positions(torch.arange(POSITIONS)))


def _bert_encoder(body: Bert) -> Any:
    """Where all is one segment, its vector is part of the positions."""
    from ctranslate2.specs import common_spec
    from ctranslate2.specs.transformer_spec import TransformerEncoderSpec

    settings, position_PD = body.settings, body.positions.weight[body.positions.first :]
    segments = settings.segments if body.segments is not None and settings.segments > 1 else 0
    spec = TransformerEncoderSpec(
        len(body.blocks),
        settings.heads,
        pre_norm=False,
        activation=common_spec.Activation.GELU,
        num_source_embeddings=2 if segments else 1,
        embeddings_merge=common_spec.EmbeddingsMerge.ADD,
        layernorm_embedding=True,
    )
    spec.scale_embeddings = False
    spec.embeddings[0].weight = array(body.tokens.weight)
    if body.segments is not None and segments:
        spec.embeddings[1].weight = array(body.segments.weight)
    elif body.segments is not None:
        position_PD = position_PD + body.segments.weight[0]
    spec.position_encodings.encodings = array(position_PD)
    _fill_norm(spec.layernorm_embedding, body.norm)
    _fill_blocks(spec.layer, body.blocks)
    return spec


# ------------------------------------------------------------------------------------------------ blocks and layers


def _fill_blocks(specs: Any, blocks: Any) -> None:
    block: EncoderBlock | DecoderBlock | Block
    for spec, block in zip(specs, blocks, strict=True):
        _fill_self_attention(spec.self_attention, block.attention, block.around_attention)
        if isinstance(block, DecoderBlock):
            _fill_source_attention(spec.attention, block.source_attention, block.around_source_attention)
        feed_forward: Any = block.feed_forward
        assert isinstance(feed_forward, FeedForward | GELUFeedForward)
        _fill_linear(spec.ffn.linear_0, feed_forward.widen)
        _fill_linear(spec.ffn.linear_1, feed_forward.narrow)
        _fill_norm(spec.ffn.layer_norm, block.around_feed_forward.norm)


def _fill_self_attention(spec: Any, attention: Attention, around: Residual) -> None:
    """There queries, keys and values are one projection."""
    query, key_value = attention.query, attention.key_value
    spec.linear[0].weight = array(torch.cat([query.weight, key_value.weight]))
    if query.bias is not None and key_value.bias is not None:
        spec.linear[0].bias = array(torch.cat([query.bias, key_value.bias]))
    _fill_linear(spec.linear[1], attention.output)
    _fill_norm(spec.layer_norm, around.norm)


def _fill_source_attention(spec: Any, attention: Attention, around: Residual) -> None:
    for part, linear in zip(spec.linear, (attention.query, attention.key_value, attention.output), strict=True):
        _fill_linear(part, linear)
    _fill_norm(spec.layer_norm, around.norm)


def _fill_linear(spec: Any, linear: nn.Linear) -> None:
    spec.weight = array(linear.weight)
    if linear.bias is not None:
        spec.bias = array(linear.bias)


def _fill_norm(spec: Any, norm: nn.Module) -> None:
    assert isinstance(norm, nn.LayerNorm)
    spec.gamma, spec.beta = array(norm.weight), array(norm.bias)


def _normalises_first(block: EncoderBlock | DecoderBlock) -> bool:
    return isinstance(block.around_attention, PreNorm)


def _epsilon(block: Any) -> float:
    return float(block.around_attention.norm.eps)


def array(tensor: Tensor) -> Floats:
    """The numbers of a tensor, on the CPU."""
    numbers: Floats = tensor.detach().float().cpu().numpy()
    return numbers
