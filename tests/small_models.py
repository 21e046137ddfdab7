"""Each model of the lineage with a few thousand parameters, and a batch for it, by its kind and its task.

`small("gpt", "language-modeling")` draws its weights from torch's own generator, so seed that before; `example` is
always the same. A batch has at least three rows and five positions, with padding along every axis that can have it;
sizes are distinct, so that swapped axes fail.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from seqwright.batches.captioned import Captioned
from seqwright.batches.described import Described
from seqwright.batches.labelled import Labelled, labelled
from seqwright.batches.masked import Masked
from seqwright.batches.pairs import Pairs, decoder_rows, pairs
from seqwright.batches.questions import Asked, PlacedTokens, position_in, stacked_windows, window
from seqwright.batches.series import Series, windows
from seqwright.batches.tagged import Stretch, Tagged, stacked, stretches
from seqwright.batches.text import Text, texts
from seqwright.batches.tracked import Tracked
from seqwright.layers.experts import Experts
from seqwright.lineage import Model, model_row
from seqwright.models.least_squares import LeastSquaresForecaster
from seqwright.models.ngram import Ngram

V, C = 13, 3
BEGIN, END = 2, 3
PAIR_SIZES: dict[str, Any] = {"source_vocabulary": 17, "target_vocabulary": 11, "shared": False}  # mixed up, it shows
RECURRENT = {"width": 7, "embedding": 5, "layers": 2, "dropout": 0.1}
TRANSFORMER = {"width": 8, "heads": 2, "feed_forward": 13, "dropout": 0.1}
BERT = TRANSFORMER | {"layers": 2, "context": 19}
DEEP = {"width": 7, "embedding": 5, "dropout": 0.1}
TWO_SIDES = TRANSFORMER | {"encoder_layers": 2, "decoder_layers": 3, "block": "pre-norm"}
OVER_A_MODEL = {"width": 8, "layers": 2, "dropout": 0.1}


def drawn(*lengths: int, vocabulary: int = V, seed: int = 1) -> list[NDArray[Any]]:
    """Rows of tokens that are no special ones."""
    draw = torch.Generator().manual_seed(seed)
    return [torch.randint(4, vocabulary, (length,), generator=draw).numpy() for length in lengths]


# ----------------------------------------------------------------------------------------------------- the batches


def some_pairs() -> Pairs:
    """Padding on both sides."""
    draw = torch.Generator().manual_seed(1)
    source = [torch.randint(4, 17, (length,), generator=draw).numpy() for length in (5, 2, 7)]
    target = [torch.randint(4, 11, (length,), generator=draw).numpy() for length in (6, 3, 1)]
    return pairs(source, target, begin=BEGIN, end=END)


def some_texts() -> Text:
    return texts(drawn(6, 2, 4), begin=BEGIN, end=END)


def longer_texts() -> Text:
    return texts(drawn(6, 3, 8), begin=BEGIN, end=END)


def some_described() -> Described:
    draw = torch.Generator().manual_seed(1)
    rows = [torch.randint(4, V, (length,), generator=draw).numpy() for length in (6, 2, 4)]
    return Described(torch.randn(3, 5, generator=draw), **decoder_rows(rows, 3, begin=BEGIN, end=END))


def some_captioned() -> Captioned:
    """Two channels, 5 rows and 7 columns, which patches of 2 do not tile."""
    draw = torch.Generator().manual_seed(1)
    rows = [torch.randint(4, V, (length,), generator=draw).numpy() for length in (6, 2, 4)]
    return Captioned(torch.randn(3, 2, 5, 7, generator=draw), **decoder_rows(rows, 3, begin=BEGIN, end=END))


def some_windows() -> Series:
    return windows(torch.randn(3, 7 + 3, 2, generator=torch.Generator().manual_seed(1)), horizon=3)


def some_labelled() -> Labelled:
    return labelled(drawn(6, 2, 4, 1), [2, 0, 1, 1], end=END)


def begun_labelled() -> Labelled:
    """With a token before each text."""
    return labelled(drawn(6, 2, 4, 1), [2, 0, 1, 1], end=END, begin=BEGIN)


def labelled_with_seconds() -> Labelled:
    """With a second text in two rows."""
    rows = drawn(6, 3, 4, 1)
    rows[0][2] = rows[2][1] = END  # of a first text
    return labelled(rows, [2, 0, 1, 1], end=END, begin=BEGIN)


def labelled_series() -> Labelled:
    """Values of two channels in place of tokens."""
    draw = torch.Generator().manual_seed(1)
    real_BT = torch.arange(6) < torch.tensor([[6], [2], [4], [1]])
    return Labelled(torch.randn(4, 6, 2, generator=draw), real_BT, torch.tensor([2, 0, 1, 1]))


def labelled_images() -> Labelled:
    """Two channels, 5 rows and 7 columns, which patches of 2 do not tile; each image is real as a whole."""
    draw = torch.Generator().manual_seed(1)
    real_BT = torch.ones(4, 1, dtype=torch.bool)
    return Labelled(torch.randn(4, 2, 5, 7, generator=draw), real_BT, torch.tensor([2, 0, 1, 1]))


def labelled_films() -> Labelled:
    """Two channels, frames of 4 rows and 5 columns, and padding behind the shorter films."""
    draw = torch.Generator().manual_seed(1)
    real_BT = torch.arange(6) < torch.tensor([[6], [2], [4], [1]])
    return Labelled(torch.randn(4, 6, 2, 4, 5, generator=draw), real_BT, torch.tensor([2, 0, 1, 1]))


def tracked_films() -> Tracked:
    """The same films, with a place in each frame but one."""
    films, draw = labelled_films(), torch.Generator().manual_seed(2)
    known_BT = films.real_BT.clone()
    known_BT[0, 3] = False
    place_BT2, size_B2 = torch.randn(4, 6, 2, generator=draw), torch.tensor([4, 5]).expand(4, 2)
    return Tracked(films.input_B, films.real_BT, place_BT2, known_BT, size_B2)


def some_tagged(begin: int | None = None) -> Tagged:
    """Words of several tokens."""
    draw = torch.Generator().manual_seed(1)
    rows, tags = list[Stretch](), list[int]()
    for lengths in ((1, 3, 2), (2,), (1, 1, 1, 1)):
        words = [torch.randint(4, V, (length,), generator=draw).numpy() for length in lengths]
        rows += stretches(words, longest=11)
        tags += torch.randint(C, (len(words),), generator=draw).tolist()
    read = stacked(rows, end=END, begin=begin)
    target_BT = torch.zeros_like(read["input_BT"])
    target_BT[read["first_BT"]] = torch.tensor(tags)
    return Tagged(**read, target_BT=target_BT)


def begun_tagged() -> Tagged:
    """With a token before each text."""
    return some_tagged(begin=BEGIN)


def some_asked() -> Asked:
    """A question without an answer among them."""
    draw = torch.Generator().manual_seed(1)
    rows, at_B2 = [], []
    for lengths, answer in zip(((2, 5), (3, 2), (1, 4)), ((1, 2), None, (0, 0)), strict=True):
        question, context = (torch.randint(4, V, (length,), generator=draw).numpy() for length in lengths)
        unknown = np.zeros_like(context)
        rows.append(window(np.append(question, END), PlacedTokens(context, unknown, unknown)))
        at_B2.append((0, 0) if answer is None else position_in(rows[-1], answer))
    start_B, end_B = torch.tensor(at_B2).unbind(1)
    return Asked(**stacked_windows(rows, begin=BEGIN, end=END), start_B=start_B, end_B=end_B)


def some_masked() -> Masked:
    """A second text in two rows."""
    draw = torch.Generator().manual_seed(1)
    tokens_BT = torch.randint(4, V, (3, 7), generator=draw)
    real_BT = torch.arange(7) < torch.tensor([[7], [4], [5]])
    segment_BT = ((torch.arange(7) > 3) & real_BT).long()
    chosen_BT = (torch.rand(3, 7, generator=draw) < 0.4) & real_BT
    target_BT = torch.randint(4, V, (3, 7), generator=draw)
    return Masked(tokens_BT, real_BT, segment_BT, chosen_BT, target_BT, torch.tensor([1, 0, 1]))


def masked_sentences() -> Masked:
    """Nobody is asked whether a text follows another."""
    batch = some_masked()
    return batch.replace(next_B=torch.full_like(batch.next_B, -1))


# ------------------------------------------------------------------------------------------------------ the models


class Small(NamedTuple):
    """What a model is built from: `settings` of every kind it has, `own` of one kind; and a batch for it."""

    sizes: Mapping[str, Any]
    example: Callable[[], Any]
    settings: Mapping[str, Any]
    own: Mapping[str, Mapping[str, Any]] = {}


LANGUAGE = ({"vocabulary": V}, some_texts)
MLP = {"window": 3, "embedding": 5, "width": 7, "direct": True, "dropout": 0.1}
EXPERTS = {"width": 7, "experts": 3, "experts_per_token": 2, "expert_width": 5, "dropout": 0.1}
TRANSLATION = (PAIR_SIZES, some_pairs)
FORECAST = ({"channels": 2, "horizon": 3, "history": 7}, some_windows)
CLASSES = {"vocabulary": V, "classes": C}
FILM_READER = RECURRENT | {"frame_width": 4, "frame_stages": 2}
CAPTIONS = ({"channels": 2, "rows": 5, "columns": 7, "vocabulary": V}, some_captioned)
LOOKS = {"encoder_width": 4, "encoder_layers": 2, "dropout": 0.1}
IMAGES = ({"channels": 2, "rows": 5, "columns": 7, "classes": C}, labelled_images)
# By the name of the model's class; where that is a head, by its settings too.
SMALL: dict[str, Small] = {
    "Ngram": Small({"vocabulary": V}, longer_texts, {"order": 4}),
    "language_model MLPLMSettings": Small(*LANGUAGE, MLP),
    "language_model RecurrentLMSettings": Small(
        *LANGUAGE,
        {"width": 7, "layers": 2, "dropout": 0.1},
        {
            "ugrnn": {"transition": 1},
            "gru": {"layers": 3, "residual": True, "dropout_kind": "variational"},
            "lstm": {"embedding": 5},
        },
    ),
    "language_model MoELSTMSettings": Small(*LANGUAGE, EXPERTS),
    "language_model GPTSettings": Small(*LANGUAGE, OVER_A_MODEL | {"layers": 3, "heads": 2, "context": 19}),
    "vector_to_sequence": Small(
        {"inputs": 5, "vocabulary": V},
        some_described,
        {"width": 7, "dropout": 0.1},
        {
            "rnn": {"layers": 2, "fed": False},
            "ugrnn": {"transition": 1},
            "gru": {"layers": 3, "residual": True},
            "lstm": {"embedding": 5, "layers": 2, "fed": False},
        },
    ),
    "captioner": Small(
        *CAPTIONS,
        LOOKS | {"width": 7, "embedding": 5},
        {"hard-captioner": {"encoder": "resnet", "encoder_layers": 20}},
    ),
    "transformer_captioner": Small(
        *CAPTIONS,
        LOOKS | {"encoder_width": 6, "patch": 2, "patch_heads": 2, "width": 8, "heads": 2, "feed_forward": 13},
    ),
    "LeastSquaresForecaster": Small(*FORECAST, {}),
    "DenseForecaster": Small(*FORECAST, {}),
    "MLPForecaster": Small(*FORECAST, {"width": 11, "layers": 2, "dropout": 0.1}),
    "RecurrentForecaster": Small(
        *FORECAST,
        {"width": 5, "dropout": 0.1},
        {"rnn": {"output_layer": "recurrent", "dropout": 0.0}, "lstm": {"output_layer": "recurrent"}},
    ),
    "bytenet": Small(
        *TRANSLATION, {"channels": 5, "encoder_sets": 1, "decoder_sets": 2, "dilations": (1, 2), "dropout": 0.1}
    ),
    "convs2s": Small(*TRANSLATION, DEEP | {"encoder_layers": 2, "decoder_layers": 3, "kernel": 3, "context": 5}),
    "context_rnn": Small(*TRANSLATION, RECURRENT),
    "seq2seq": Small(*TRANSLATION, RECURRENT),
    "bahdanau": Small(*TRANSLATION, RECURRENT | {"width": 8}),
    "luong": Small(*TRANSLATION, RECURRENT | {"width": 8, "query_key_value": True, "heads": 2}),
    "gnmt": Small(*TRANSLATION, DEEP | {"encoder_layers": 4, "decoder_layers": 4}),
    "deep_att": Small(*TRANSLATION, DEEP | {"encoder_layers": 3, "decoder_layers": 3}),
    "transformer": Small(*TRANSLATION, TWO_SIDES),
    "moe_transformer": Small(*TRANSLATION, TWO_SIDES | {"experts": 3, "experts_per_token": 2}),
    "MaskedBert": Small({"vocabulary": V}, masked_sentences, BERT),
    "pooled_model RecurrentClassifierSettings": Small(
        CLASSES,
        some_labelled,
        RECURRENT,
        {
            "rnn": {"pooling": "last", "bidirectional": False},
            "ugrnn": {"pooling": "last"},
            "gru": {"pooling": "mean"},
            "lstm": {"pooling": "max"},
        },
    ),
    "pooled_model GPTClassifierSettings": Small(CLASSES, begun_labelled, OVER_A_MODEL | {"heads": 2, "context": 19}),
    "pooled_model RecurrentLMClassifierSettings": Small(CLASSES, begun_labelled, OVER_A_MODEL),
    "pooled_model BertTextSettings": Small(CLASSES, labelled_with_seconds, BERT),
    "pooled_model ViTClassifierSettings": Small(
        *IMAGES, TRANSFORMER | {"layers": 2, "patch": 2, "registers": 1, "layer_scale": 0.5, "stochastic_depth": 0.1}
    ),
    "pooled_model FilmClassifierSettings": Small(
        {"channels": 2, "rows": 4, "columns": 5, "classes": C}, labelled_films, FILM_READER
    ),
    "token_model FilmReadingSettings": Small(
        {"channels": 2, "rows": 4, "columns": 5, "classes": 2}, tracked_films, FILM_READER
    ),
    "pooled_model CNNClassifierSettings": Small(*IMAGES, {"width": 4, "stages": 2, "dropout": 0.1}),
    "pooled_model ResNetClassifierSettings": Small(*IMAGES, {"layers": 20, "shortcut": "B"}),
    "token_model ReadingSettings": Small(CLASSES, some_tagged, RECURRENT, {"rnn": {"bidirectional": False}}),
    "token_model BertHeadSettings": Small(CLASSES, begun_tagged, BERT),
    "span_model BertHeadSettings": Small({"vocabulary": V}, some_asked, BERT),
}
# What is another thing for one task or one kind.
SIZES = {"text-regression": {"vocabulary": V}, "series-classification": {"channels": 2, "classes": C}}
SETTINGS = {("BertTextSettings", "text-regression"): {"pooling": "mean"}}
EXAMPLES = {("MaskedBert", "bert"): some_masked}  # BERT is asked whether a text follows another
TASK_EXAMPLES = {"series-classification": labelled_series}


def small(kind: str, task: str) -> Any:
    """A new model."""
    row = model_row(kind, task)
    made = _made(row)
    own = {**made.own.get(kind, {}), **SETTINGS.get((row.settings, task), {})}
    settings = row.load(row.settings)(kind=kind, **{**made.settings, **own})
    model = row.load(row.thing)(settings, **SIZES.get(task, made.sizes))
    for layer in model.modules():
        if isinstance(layer, Experts):
            nn.init.normal_(layer.gate.mean_DE)  # prefers some, which it does not at first
    if isinstance(model, Ngram):
        model.observe(texts([torch.randint(4, V, (n,)).numpy() for n in (31, 7, 53, 2, 41, 67)], begin=BEGIN, end=END))
        model.conclude()
    if isinstance(model, LeastSquaresForecaster):
        model.observe(windows(torch.randn(29, 10, 2), horizon=3))
        model.conclude()
    return model


def example(kind: str, task: str) -> Any:
    """A batch for it."""
    row = model_row(kind, task)
    return TASK_EXAMPLES.get(task, EXAMPLES.get((row.thing, kind), _made(row).example))()


def _made(row: Model) -> Small:
    return SMALL[row.thing if row.thing in SMALL else f"{row.thing} {row.settings}"]
