"""What of a model is computed at once, as graphs that ONNX can hold: names and sizes of what goes in and comes out.

An encoder reads a text whole. A step of a decoder reads tokens and a state, and gives logits and the state after them.

B batch · S source · T time · P past, what was read before · D width · V vocabulary
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from seqwright.errors import RunError
from seqwright.layers.embeddings import HasSentenceVectors, HasTokenVectors
from seqwright.layers.taps import Tap, listen
from seqwright.models.bert import Bert, MaskedBert
from seqwright.models.bytenet import ByteNetEncoder
from seqwright.models.encoder_decoder import EncoderDecoder
from seqwright.models.heads import Headed
from seqwright.models.language_model import LanguageModel

ENCODER, STEP = "encoder", "decoder_step"
SIZES: Mapping[str, int] = {"batch": 3, "source": 4, "past": 2, "time": 3}  # of the examples that a graph is made with
SHAPE = re.compile(r"_[A-Z0-9]+$")  # at the end of a tensor's name
Leaves = tuple[Tensor, ...]


class Graph(NamedTuple):
    """A graph before it is written.

    `computed` makes of a model the module that is the graph; `examples` makes inputs of given sizes. Of what belongs to
    a state, `first` says what it is before anything was read: what the encoder gives under the same name, or a number
    in every place; `after` says which output takes its place, if any does.
    """

    name: str
    computed: Callable[[Any], nn.Module]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    examples: Callable[[Mapping[str, int]], Leaves]
    first: Mapping[str, str | float] = {}
    after: Mapping[str, str] = {}

    def axes(self) -> list[dict[int, str]]:
        """The axes of each input that may have any size, by name: those that grow with it."""
        plain, found = self.examples(SIZES), [dict[int, str]() for _ in self.inputs]
        for name, size in SIZES.items():
            for axes, one, other in zip(found, plain, self.examples({**SIZES, name: size + 1}), strict=True):
                axes.update({n: name for n, (a, b) in enumerate(zip(one.shape, other.shape, strict=True)) if a != b})
        return found


def graphs_of(model: nn.Module) -> list[Graph]:
    """The graphs of a model that reads tokens; one that has none is refused by name."""
    if isinstance(model, Headed | MaskedBert | Bert):
        return [_reading(model)]
    if isinstance(model, EncoderDecoder):
        if not model.body.token_vectors():
            raise RunError("ONNX export has models that read tokens, and this one reads numbers: use Python")
        if isinstance(model.body, ByteNetEncoder):
            raise RunError(
                "an ONNX graph cannot hold a ByteNetEncoder, which makes as many columns as the longest source asks "
                "for: train another kind of model, such as convs2s"
            )
        started, tokens = _Started(model), _vocabularies(model)
        return [_encoding(started, tokens["source"]), _stepping(started, tokens["target"])]
    if isinstance(model, LanguageModel):
        return [_stepping(_Started(model), _vocabularies(model)["tokens"])]
    raise RunError(
        "ONNX export has models over tokens that learnt by descending a gradient: encoders, classifiers, taggers, "
        f"translators and language models; this one is a {type(model).__name__}: use another format"
    )


def _vocabularies(model: nn.Module) -> dict[str, int]:
    assert isinstance(model, HasTokenVectors)
    return {side: len(vectors.embedding_VD) for side, vectors in model.token_vectors().items()}


def _tokens(rows: int, length: int, vocabulary: int) -> Tensor:
    """Some tokens, the same every time."""
    drawn = torch.Generator().manual_seed(rows * length)
    return torch.randint(vocabulary, (rows, length), generator=drawn)


def _mean(vector_BTD: Tensor, real_BT: Tensor) -> Tensor:
    real_BT1 = real_BT.unsqueeze(-1).to(vector_BTD.dtype)
    return (vector_BTD * real_BT1).sum(1) / real_BT1.sum(1)


# ------------------------------------------------------------------------------------------------ encoders


class ReadingGraph(nn.Module):
    """What a body makes of a text, and what the head on it says: `vectors`, their mean `vector`, and `logits`."""

    def __init__(self, model: Any, *, segments: bool) -> None:
        super().__init__()
        self.model, self.segments = model, segments

    def forward(self, tokens_BT: Tensor, real_BT: Tensor, *segment_BT: Tensor) -> Leaves:
        """`segment_BT` is 0 in the first text and 1 in the second, where the model tells them apart."""
        more = {"segment_BT": segment_BT[0]} if self.segments else {}
        body = self.model if isinstance(self.model, Bert) else self.model.body
        vector_BTD = body.hidden(tokens_BT, real_BT, **more)
        vectors = vector_BTD, _mean(vector_BTD, real_BT)
        if isinstance(self.model, Headed):
            return *vectors, self.model.head(vector_BTD, SimpleNamespace(real=real_BT))
        if isinstance(self.model, MaskedBert) and self.model.settings.head:
            return *vectors, self.model.lens(vector_BTD)
        return vectors


def _reading(model: Any) -> Graph:
    vocabularies = _vocabularies(model)
    if not vocabularies:
        raise RunError("ONNX export has models that read tokens, and this one reads numbers: use Python")
    body = model if isinstance(model, Bert) else model.body
    segments = isinstance(body, Bert) and body.settings.segments > 1
    speaks = isinstance(model, Headed) or (isinstance(model, MaskedBert) and model.settings.head)

    def examples(sizes: Mapping[str, int]) -> Leaves:
        tokens_BT = _tokens(sizes["batch"], sizes["time"], vocabularies["tokens"])
        more = (torch.zeros_like(tokens_BT),) if segments else ()
        return tokens_BT, torch.ones_like(tokens_BT, dtype=torch.bool), *more

    return Graph(
        ENCODER,
        lambda copy: ReadingGraph(copy, segments=segments),
        ("tokens", "real", *(["segment"] if segments else [])),
        ("vectors", "vector", *(["logits"] if speaks else [])),
        examples,
    )


class EncodingGraph(nn.Module):
    """What an encoder makes of a source, as vectors and as the state in which the decoder begins."""

    def __init__(self, model: Any, names: Sequence[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, tokens_BS: Tensor, real_BS: Tensor) -> Leaves:
        """The vectors, one of the whole source, and what of the state depends on it."""
        body: Any = self.model.body
        contextual: Tap = body.contextual
        with listen(contextual) as heard:
            memory = body.hidden(tokens_BS, real_BS)
        (vector_BSD,) = heard[""]
        state = dict(leaves_of(self.model.decoder.start(memory, real_BS)))
        thinks = isinstance(body, HasSentenceVectors)
        vector_BD = body.sentence_vectors(tokens_BS, real_BS) if thinks else _mean(vector_BSD, real_BS)
        return vector_BSD, vector_BD, *(state[name] for name in self.names)


def _encoding(started: "_Started", vocabulary: int) -> Graph:
    def examples(sizes: Mapping[str, int]) -> Leaves:
        tokens_BS = _tokens(sizes["batch"], sizes["source"], vocabulary)
        return tokens_BS, torch.ones_like(tokens_BS, dtype=torch.bool)

    names = [name for name, first in started.first.items() if first == ENCODER]
    made = ("vectors", "vector", *names)
    return Graph(ENCODER, lambda copy: EncodingGraph(copy, names), ("tokens", "real"), made, examples)


# ------------------------------------------------------------------------------------------------ decoders


class SteppingGraph(nn.Module):
    """`logits_BTV` of what follows tokens that are read after a state, and what of the state has become another.

    A state that `grows` with what is read knows padding by itself. Any other is read one token at a time, and where
    that is padding it stays.
    """

    def __init__(self, model: Any, like: Any, moving: Sequence[str], *, grows: bool) -> None:
        super().__init__()
        self.model, self.like, self.moving, self.grows = model, like, moving, grows

    def forward(self, tokens_BT: Tensor, real_BT: Tensor, *given: Tensor) -> Leaves:
        """`given` are the tensors of the state."""
        reads_BT = real_BT if self.grows else torch.ones_like(real_BT)
        state = filled(self.like, iter(given))
        before = dict(leaves_of(state))
        logits_BTV, state = self.model.read(tokens_BT, reads_BT, state)
        after = dict(leaves_of(state))
        if not self.grows:
            after = {name: _kept(before[name], after[name], real_BT) for name in self.moving}
        return logits_BTV, *(after[name] for name in self.moving)


def _kept(before: Tensor, after: Tensor, real_B1: Tensor) -> Tensor:
    return after.where(real_B1.view(-1, *(1 for _ in after.shape[1:])), before)


def _stepping(started: "_Started", vocabulary: int) -> Graph:
    names, moving, grows = list(started.first), started.moving, started.grows
    after = {name: name.replace("state", "next", 1) for name in moving}

    def examples(sizes: Mapping[str, int]) -> Leaves:
        tokens_BT = _tokens(sizes["batch"], sizes["time"] if grows else 1, vocabulary)
        state = {name: part.detach().contiguous() for name, part in leaves_of(started.state(sizes))}
        return tokens_BT, torch.ones_like(tokens_BT, dtype=torch.bool), *(state[name] for name in names)

    return Graph(
        STEP,
        lambda copy: SteppingGraph(copy, started.state(SIZES), moving, grows=grows),
        ("tokens", "real", *names),
        ("logits", *after.values()),
        examples,
        started.first,
        after,
    )


class _Started:
    """The state of a model that writes: what it consists of, what of it moves, and how it begins.

    It is asked and not known: states are made from other sources and after other texts, and compared.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        every = _vocabularies(model)
        self.source, self.target = every.get("source", 0), every.get("target", every.get("tokens", 0))
        first = dict(leaves_of(self._start(SIZES)))
        now, later = self.state(SIZES), self.state({**SIZES, "past": SIZES["past"] + 1})
        before, after = dict(leaves_of(now)), dict(leaves_of(later))
        self.grows = any(before[name].shape != after[name].shape for name in before)
        read = dict(leaves_of(self._read(now, 1)))
        self.moving = [name for name in before if read[name] is not before[name]]
        self.first = {name: _beginning(first.get(name)) for name in before}

    def state(self, sizes: Mapping[str, int]) -> Any:
        """That after some tokens."""
        return self._read(self._start(sizes), sizes["past"])

    def _start(self, sizes: Mapping[str, int]) -> Any:
        """From sources that are not equally long."""
        rows, length = sizes["batch"], sizes["source"]
        tokens_BS = _tokens(rows, length, max(self.source, 1))
        real_BS = torch.arange(length) < torch.tensor([[length], *[[length - 1]] * (rows - 1)])
        return self.model.start(SimpleNamespace(input=tokens_BS, real=real_BS, input_BT=tokens_BS))

    def _read(self, state: Any, length: int) -> Any:
        tokens_BT = _tokens(len(next(leaves_of(state))[1]), length, self.target)
        for tokens_B1 in tokens_BT.unsqueeze(2).unbind(1):
            _, state = self.model.read(tokens_B1, torch.ones_like(tokens_B1, dtype=torch.bool), state)
        return state


def _beginning(first: Tensor | None) -> str | float:
    """Where a part of a state comes from: a number where it is that in all places, or where it is empty."""
    if first is None or not first.numel():
        return 0.0
    number = first.flatten()[0]
    return number.item() if bool((first == number).all()) else ENCODER


def leaves_of(state: Any, name: str = "state") -> Iterator[tuple[str, Tensor]]:
    """The tensors of a state, each under the names of the parts that it lies in."""
    if isinstance(state, Tensor):
        yield name, state
    elif isinstance(state, tuple):
        parts = state._fields if hasattr(state, "_fields") else map(str, range(len(state)))
        for part, inner in zip(parts, state, strict=True):
            yield from leaves_of(inner, f"{name}.{SHAPE.sub('', part)}")


def filled(like: Any, tensors: Iterator[Tensor]) -> Any:
    """A state of the same form with other tensors."""
    if isinstance(like, Tensor):
        return next(tensors)
    if not isinstance(like, tuple):
        return like
    parts = [filled(part, tensors) for part in like]
    named: Any = type(like)
    return tuple(parts) if named is tuple else named(*parts)
