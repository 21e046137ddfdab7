"""The families that are exchanged: what each setting and each tensor is called there.

Names of tensors are those of `transformers`. What is `fixed` is not a setting here: a checkpoint that has it otherwise
computes something else, and is refused.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from seqwright.interchange.heads import (
    CausalLM,
    Head,
    MaskedLM,
    QuestionAnswering,
    SequenceClassification,
    TokenClassification,
)
from seqwright.interchange.names import TensorNames, TensorRow, layer, single

Rows = tuple[TensorRow, ...]


class Family(NamedTuple):
    """A kind of model, here and there."""

    kind: str  # here
    model_type: str  # there
    prefix: str  # of the tensors of the body, where it has a head
    body: Rows
    useless: tuple[str, ...]
    settings: Mapping[str, str]  # ours → theirs
    fixed: Mapping[str, tuple[Any, ...]]  # theirs → what it may be, the usual value first
    heads: tuple[Head, ...]  # the first is that of a bare body
    bare: str  # how a body without a head is called there
    head_dropouts: tuple[str, ...] = ()  # the settings there for the share that is dropped before the output

    def names(self, head: Head) -> TensorNames:
        """The tensors of the body and a head."""
        return TensorNames(self.body + head.rows, head.copies, self.useless)

    def head_of(self, architecture: str | None) -> Head | None:
        """The head of what is called so there; of a bare body, or where nothing is said, the first."""
        if architecture in {None, self.bare}:
            return self.heads[0]
        return next((head for head in self.heads if architecture in head.architectures), None)


def _gpt2() -> Family:
    block, theirs = "body.blocks.{n}", "transformer.h.{n}"
    attention = [f"{block}.attention.{part}" for part in ("query", "key_value")]
    body = (
        *single("body.tokens.weight", "transformer.wte.weight"),
        *single("body.positions.weight", "transformer.wpe.weight"),
        *layer(f"{block}.around_attention.norm", f"{theirs}.ln_1"),
        *layer(attention, f"{theirs}.attn.c_attn", "transposed"),
        *layer(f"{block}.attention.output", f"{theirs}.attn.c_proj", "transposed"),
        *layer(f"{block}.around_feed_forward.norm", f"{theirs}.ln_2"),
        *layer(f"{block}.feed_forward.widen", f"{theirs}.mlp.c_fc", "transposed"),
        *layer(f"{block}.feed_forward.narrow", f"{theirs}.mlp.c_proj", "transposed"),
        *layer("body.norm", "transformer.ln_f"),
    )
    return Family(
        kind="gpt",
        model_type="gpt2",
        prefix="transformer.",
        body=body,
        useless=(f"{theirs}.attn.bias", f"{theirs}.attn.masked_bias"),
        settings={
            "width": "n_embd",
            "heads": "n_head",
            "layers": "n_layer",
            "context": "n_positions",
            "feed_forward": "n_inner",
            "dropout": "resid_pdrop",
            "attention_dropout": "attn_pdrop",
        },
        fixed={
            "activation_function": ("gelu_new", "gelu_pytorch_tanh"),
            "layer_norm_epsilon": (1e-5,),
            "scale_attn_weights": (True,),
            "scale_attn_by_inverse_layer_idx": (False,),
            "add_cross_attention": (False,),
            "tie_word_embeddings": (True,),
        },
        heads=(CausalLM(("GPT2LMHeadModel",), copies={"lm_head.weight": "transformer.wte.weight"}),),
        bare="GPT2Model",
    )


def _encoder(prefix: str) -> Rows:
    """The body of BERT and RoBERTa."""
    block, theirs = "body.blocks.{n}", f"{prefix}encoder.layer.{{n}}"
    attention = [f"{block}.attention.{part}" for part in ("query", "key_value")]
    return (
        *single("body.tokens.weight", f"{prefix}embeddings.word_embeddings.weight"),
        *single("body.positions.weight", f"{prefix}embeddings.position_embeddings.weight"),
        *single("body.segments.weight", f"{prefix}embeddings.token_type_embeddings.weight"),
        *layer("body.norm", f"{prefix}embeddings.LayerNorm"),
        *layer(attention, [f"{theirs}.attention.self.{part}" for part in ("query", "key", "value")]),
        *layer(f"{block}.attention.output", f"{theirs}.attention.output.dense"),
        *layer(f"{block}.around_attention.norm", f"{theirs}.attention.output.LayerNorm"),
        *layer(f"{block}.feed_forward.widen", f"{theirs}.intermediate.dense"),
        *layer(f"{block}.feed_forward.narrow", f"{theirs}.output.dense"),
        *layer(f"{block}.around_feed_forward.norm", f"{theirs}.output.LayerNorm"),
        *layer("body.pooler", f"{prefix}pooler.dense"),
    )


ENCODER_SETTINGS = {
    "width": "hidden_size",
    "heads": "num_attention_heads",
    "layers": "num_hidden_layers",
    "feed_forward": "intermediate_size",
    "context": "max_position_embeddings",
    "segments": "type_vocab_size",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "epsilon": "layer_norm_eps",
}
ENCODER_FIXED: dict[str, tuple[Any, ...]] = {
    "hidden_act": ("gelu",),
    "position_embedding_type": ("absolute",),
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "tie_word_embeddings": (True,),
}


def _mean_pooled(stem: str) -> Head:
    """A classifier over the mean of all vectors, which no class of `transformers` has."""
    architecture = f"MeanPooled{stem}ForSequenceClassification"
    return SequenceClassification((architecture,), layer("head.output", "classifier"), pooling="mean")


def _bert() -> Family:
    words = "bert.embeddings.word_embeddings.weight"
    masking = (
        *layer("transform", "cls.predictions.transform.dense"),
        *layer("transform_norm", "cls.predictions.transform.LayerNorm"),
        *single("bias_V", "cls.predictions.bias"),
        *layer("follows", "cls.seq_relationship", "flipped"),  # there the first says that the second text follows
    )
    copies = {"cls.predictions.decoder.weight": words, "cls.predictions.decoder.bias": "cls.predictions.bias"}
    pooler = layer("head.pool.pooler", "bert.pooler.dense")  # of a classifier whose body has none
    return Family(
        kind="bert",
        model_type="bert",
        prefix="bert.",
        body=_encoder("bert."),
        useless=("bert.embeddings.position_ids",),
        settings=ENCODER_SETTINGS,
        fixed=ENCODER_FIXED,
        heads=(
            MaskedLM(("BertForPreTraining", "BertForMaskedLM"), masking, copies),
            SequenceClassification(("BertForSequenceClassification",), pooler + layer("head.output", "classifier")),
            _mean_pooled("Bert"),
            TokenClassification(("BertForTokenClassification",), layer("head.output", "classifier")),
            QuestionAnswering(("BertForQuestionAnswering",), layer("head.output", "qa_outputs")),
        ),
        bare="BertModel",
        head_dropouts=("classifier_dropout",),
    )


def _roberta() -> Family:
    masking = (
        *layer("transform", "lm_head.dense"),
        *layer("transform_norm", "lm_head.layer_norm"),
        *single("bias_V", "lm_head.bias"),
    )
    copies = {
        "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
        "lm_head.decoder.bias": "lm_head.bias",
    }
    text = layer("head.pool.pooler", "classifier.dense") + layer("head.output", "classifier.out_proj")
    return Family(
        kind="roberta",
        model_type="roberta",
        prefix="roberta.",
        body=_encoder("roberta."),
        useless=("roberta.embeddings.position_ids",),
        settings=ENCODER_SETTINGS,
        fixed=ENCODER_FIXED,
        heads=(
            MaskedLM(("RobertaForMaskedLM",), masking, copies),
            SequenceClassification(("RobertaForSequenceClassification",), text),
            _mean_pooled("Roberta"),
            TokenClassification(("RobertaForTokenClassification",), layer("head.output", "classifier")),
            QuestionAnswering(("RobertaForQuestionAnswering",), layer("head.output", "qa_outputs")),
        ),
        bare="RobertaModel",
        head_dropouts=("classifier_dropout",),
    )


def _distilbert() -> Family:
    block, theirs = "body.blocks.{n}", "distilbert.transformer.layer.{n}"
    attention = [f"{block}.attention.{part}" for part in ("query", "key_value")]
    words = "distilbert.embeddings.word_embeddings.weight"
    body = (
        *single("body.tokens.weight", words),
        *single("body.positions.weight", "distilbert.embeddings.position_embeddings.weight"),
        *layer("body.norm", "distilbert.embeddings.LayerNorm"),
        *layer(attention, [f"{theirs}.attention.{part}_lin" for part in ("q", "k", "v")]),
        *layer(f"{block}.attention.output", f"{theirs}.attention.out_lin"),
        *layer(f"{block}.around_attention.norm", f"{theirs}.sa_layer_norm"),
        *layer(f"{block}.feed_forward.widen", f"{theirs}.ffn.lin1"),
        *layer(f"{block}.feed_forward.narrow", f"{theirs}.ffn.lin2"),
        *layer(f"{block}.around_feed_forward.norm", f"{theirs}.output_layer_norm"),
    )
    masking = (
        *layer("transform", "vocab_transform"),
        *layer("transform_norm", "vocab_layer_norm"),
        *single("bias_V", "vocab_projector.bias"),
    )
    text = layer("head.pool.pooler", "pre_classifier") + layer("head.output", "classifier")
    return Family(
        kind="distilbert",
        model_type="distilbert",
        prefix="distilbert.",
        body=body,
        useless=("distilbert.embeddings.position_ids",),
        settings={
            "width": "dim",
            "heads": "n_heads",
            "layers": "n_layers",
            "feed_forward": "hidden_dim",
            "context": "max_position_embeddings",
            "dropout": "dropout",
            "attention_dropout": "attention_dropout",
        },
        fixed={"activation": ("gelu",), "tie_word_embeddings": (True,)},
        heads=(
            MaskedLM(("DistilBertForMaskedLM",), masking, {"vocab_projector.weight": words}),
            SequenceClassification(("DistilBertForSequenceClassification",), text),
            _mean_pooled("DistilBert"),
            TokenClassification(("DistilBertForTokenClassification",), layer("head.output", "classifier")),
            QuestionAnswering(("DistilBertForQuestionAnswering",), layer("head.output", "qa_outputs")),
        ),
        bare="DistilBertModel",
        head_dropouts=("seq_classif_dropout", "qa_dropout"),
    )


FAMILIES = {family.model_type: family for family in (_gpt2(), _bert(), _roberta(), _distilbert())}
