"""Recurrent decoders that look into the source for every word (Bahdanau et al. 2015; Luong et al. 2015).

B batch · S source · T target · H heads · E embedding · D width · C context width
"""

from typing import Literal, NamedTuple, TypeVar, Unpack

import torch
from pydantic import PositiveInt, model_validator
from torch import Tensor

from seqwright.layers.alignment import (
    Alignment,
    Everywhere,
    Focus,
    MonotonicWindow,
    PredictiveWindow,
    QueryKeyValue,
    Remembered,
    Whole,
)
from seqwright.layers.attending import AttendingLayer, StackState, join_heard, lengths, reached
from seqwright.layers.bridging import Bridge
from seqwright.layers.deep_output import DeepOutput
from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import TiedEmbedding, TokenEmbedding
from seqwright.layers.initialisation import initialise
from seqwright.layers.linear import Linear
from seqwright.layers.recurrence import HiddenState, LSTMState
from seqwright.layers.scanning import Recurrent, RecurrentState
from seqwright.layers.scores import ScoreName, score_named
from seqwright.models.encoder_decoder import (
    Decoder,
    Encoder,
    EncoderDecoder,
    EncoderDecoderSettings,
    Vocabularies,
    tied_vocabularies,
)
from seqwright.models.reading import CELLS

CellState = TypeVar("CellState", HiddenState, LSTMState)


class AttentionalSettings(EncoderDecoderSettings):
    """A bidirectional encoder, and a decoder that looks at all its states.

    Each direction of the encoder has half of `width`, so that both together are as wide as the decoder: every score
    fits then, a dot product too.
    """

    layers: PositiveInt = 1
    """Recurrent layers, one above the other, in the encoder and in the decoder."""
    score: ScoreName = "additive"
    """How well a state of the decoder fits a position: hᵀs, hᵀWs, vᵀtanh(W[h; s]), MLP([h, s]) or tanh(w[h; s])."""
    focus: Literal["global", "local-m", "local-p"] = "global"
    """Where it may look: everywhere, in a window that moves on with each word, or in one that it places itself."""
    window: PositiveInt = 5
    """Positions on each side of the middle of a local window."""
    query_key_value: bool = False
    """Whether queries, keys and values are projections of their own; if not, they are the states themselves."""
    heads: PositiveInt = 1
    """Heads that look at once, each with its own queries, keys and values; they share the width."""

    @model_validator(mode="after")
    def _widths_that_divide(self) -> "AttentionalSettings":
        if self.width % 2:
            raise ValueError(f"width {self.width} is odd, but the encoder's two directions share it; make it even")
        if self.heads > 1 and not self.query_key_value:
            raise ValueError(f"{self.heads} heads need projections of their own; set query_key_value to true")
        if self.width % self.heads:
            raise ValueError(f"width {self.width} does not divide into {self.heads} heads")
        return self

    def alignment(self) -> Alignment:
        """The attention that is asked for."""
        width = self.width
        form: Whole | QueryKeyValue = Whole(query=width, memory=width)
        if self.query_key_value:
            form = QueryKeyValue(query=width, memory=width, width=width, heads=self.heads)
        score = score_named(self.score, query=form.query_width, memory=form.key_width, inner=form.key_width)
        focus: Focus = Everywhere()
        if self.focus == "local-m":
            focus = MonotonicWindow(self.window)
        elif self.focus == "local-p":
            focus = PredictiveWindow(query=width, window=self.window)
        return Alignment(score, form, focus)

    def encoder(self) -> Recurrent:
        """What reads the source, in both directions."""
        return Recurrent(
            CELLS[self.cell],
            inputs=self.token_width,
            width=self.width // 2,
            layers=self.layers,
            bidirectional=True,
            between=Dropout(self.dropout),
        )


class BahdanauSettings(AttentionalSettings):
    """Attention before the step: the last state of the decoder asks, and the context enters the cell."""

    kind: Literal["bahdanau"] = "bahdanau"
    cell: Literal["rnn", "ugrnn", "gru", "lstm"] = "gru"
    """The cells of every layer; the paper's are gru."""


def bahdanau(settings: BahdanauSettings, **sizes: Unpack[Vocabularies]) -> EncoderDecoder:
    """Joint learning to align and translate (Bahdanau et al. 2015, section 3 and appendix A.2).

        h = [→h; ←h]        s_0 = tanh(W_s ←h_1)
        c_i = Σ_j softmax_j(score(s_{i-1}, h_j)) h_j        s_i = cell([e(y_{i-1}); c_i], s_{i-1})
        t~_i = U s_i + V e(y_{i-1}) + C c_i        t_i = max of pairs of t~_i        p_i = softmax(W t_i)

    Differs from the paper: each direction of the encoder has half of the decoder's width; there may be layers above
    the one that looks, which are computed for all words at once; t~ has s_i as in the paper's equation 4, where its
    appendix prints s_{i-1}; the output is `tied` unless told otherwise.
    """
    source, target = tied_vocabularies(settings, settings.token_width, **sizes)
    alignment = settings.alignment()
    model = EncoderDecoder(BahdanauEncoder(settings, source), BahdanauDecoder(settings, target, alignment))
    initialise(model, settings.initialisation, forget_bias=settings.forget_bias)
    return model


class BahdanauEncoder(Encoder):
    """What the highest layer says of each word, in both directions (section 3.2)."""

    def __init__(self, settings: BahdanauSettings, embedding: TokenEmbedding) -> None:
        super().__init__(embedding)
        self.dropout, self.recurrent = Dropout(settings.dropout), settings.encoder()

    def forward(self, source_BS: Tensor, real_BS: Tensor) -> Tensor:
        """`h_BSD`."""
        x_BSE = self.dropout(self.embedding(source_BS))
        h_BSD: Tensor = self.contextual(self.recurrent(x_BSE, None, real_BS)[0])
        return h_BSD


class BahdanauDecoder(Decoder):
    """The lowest layer looks into the source before each step; it begins where the second half of the memory ends."""

    def __init__(self, settings: BahdanauSettings, embedding: TiedEmbedding, alignment: Alignment) -> None:
        super().__init__(embedding)
        self.dropout, cell = Dropout(settings.dropout), CELLS[settings.cell]
        width, tokens, layers = settings.width, settings.token_width, settings.layers
        self.attending = AttendingLayer(cell(inputs=tokens, width=width), alignment)
        self.above = Recurrent(cell, inputs=width, width=width, layers=layers - 1, between=self.dropout)
        self.first = Bridge(Recurrent(cell, inputs=width, width=width, layers=layers), inputs=width // 2)
        context = alignment.form.context_width
        self.deep_output = DeepOutput(state=width, token=tokens, context=context, output=tokens)

    def start(self, memory_BSD: Tensor, real_BS: Tensor | None) -> StackState:
        """From ←h_1: what reads backwards ends at the first word."""
        source = self.attending.alignment.remember(self.dropout(memory_BSD), real_BS)
        backwards_BD = memory_BSD[:, 0, memory_BSD.shape[2] // 2 :]
        (lowest,), *above = self.first(backwards_BD.to(self.first.linear.weight.dtype))
        return StackState(source, self.attending.start(lowest, source), tuple(above))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: StackState) -> tuple[Tensor, StackState]:
        """See `Decoder.read`."""
        x_BTE = self.embedding(tokens_BT)
        attended, attending = self.attending(x_BTE, state.attending, state.source, real_BT)
        s_BTD, above = self.dropout(attended.hidden_BTD), state.above
        if above:
            s_BTD, above = self.above(s_BTD, above, real_BT)
            s_BTD = self.dropout(s_BTD)
        output_BTE = self.deep_output(s_BTD, x_BTE, attended.context_BTC)
        return self.embedding.logits(self.contextual(output_BTE)), StackState(state.source, attending, above)


class LuongSettings(AttentionalSettings):
    """Attention after the step: the new state of the decoder asks, and the context is joined to what it says."""

    kind: Literal["luong"] = "luong"
    score: ScoreName = "bilinear"
    """How well a state of the decoder fits a position: hᵀs, hᵀWs, vᵀtanh(W[h; s]), MLP([h, s]) or tanh(w[h; s])."""
    input_feeding: bool = True
    """Whether the decoder reads h~ of the word before beside the word; without, all words are computed at once."""


class LuongMemory(NamedTuple):
    """What the encoder says of each word, and the states in which its layers end, both directions side by side."""

    memory_BSD: Tensor
    layers: RecurrentState


class LuongState(NamedTuple):
    """The source, the state of each layer, h~ of the last word, and how many were read."""

    source: Remembered
    layers: RecurrentState
    attentional_BD: Tensor
    position_B: Tensor


def luong(settings: LuongSettings, **sizes: Unpack[Vocabularies]) -> EncoderDecoder:
    """Effective approaches to attention (Luong et al. 2015, section 3).

        h_t = cells([e(y_{t-1}); h~_{t-1}], h_{t-1})        h~_{t-1} with input feeding (section 3.3) only
        c_t = Σ_s softmax_s(score(h_t, h_s)) h_s
        h~_t = tanh(W_c [c_t; h_t])        p_t = softmax(W_s h~_t)

    The decoder begins in the last states of the encoder, layer by layer, both directions side by side.

    Differs from the paper: the encoder reads in both directions, the source is not reversed, and the output is `tied`
    unless told otherwise.
    """
    source, target = tied_vocabularies(settings, settings.width, **sizes)
    alignment = settings.alignment()
    model = EncoderDecoder(LuongEncoder(settings, source), LuongDecoder(settings, target, alignment))
    initialise(model, settings.initialisation, forget_bias=settings.forget_bias)
    return model


class LuongEncoder(Encoder):
    """As Bahdanau's, and the states in which it ends."""

    def __init__(self, settings: LuongSettings, embedding: TokenEmbedding) -> None:
        super().__init__(embedding)
        self.dropout, self.recurrent = Dropout(settings.dropout), settings.encoder()

    def forward(self, source_BS: Tensor, real_BS: Tensor) -> LuongMemory:
        """`h_BSD`, and the last states."""
        h_BSD, last = self.recurrent(self.dropout(self.embedding(source_BS)), None, real_BS)
        return LuongMemory(self.contextual(h_BSD), tuple((_beside(*directions),) for directions in last))


class LuongDecoder(Decoder):
    """Looks into the source after each step."""

    def __init__(self, settings: LuongSettings, embedding: TiedEmbedding, alignment: Alignment) -> None:
        super().__init__(embedding)
        cell, width, tokens = CELLS[settings.cell], settings.width, settings.token_width
        self.dropout, self.alignment = Dropout(settings.dropout), alignment
        self.recurrent = Recurrent(cell, inputs=tokens, width=width, layers=settings.layers, between=self.dropout)
        gates = len(self.recurrent.stack()[0].directions()[0].weights.bias_G)
        self.feed = Linear(width, gates, bias=False) if settings.input_feeding else None
        self.of_context = Linear(alignment.form.context_width, width)
        self.of_state = Linear(width, width, bias=False)

    def start(self, memory: LuongMemory, real_BS: Tensor | None) -> LuongState:
        """In the encoder's last states."""
        source = self.alignment.remember(self.dropout(memory.memory_BSD), real_BS)
        nothing_BD = torch.zeros_like(memory.layers[-1][0].hidden_BD)
        return LuongState(source, memory.layers, nothing_BD, torch.zeros_like(source.real_BS[:, 0], dtype=torch.long))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: LuongState) -> tuple[Tensor, LuongState]:
        """See `Decoder.read`."""
        x_BTE = self.embedding(tokens_BT)
        position_BT = state.position_B.unsqueeze(1) + torch.arange(x_BTE.shape[1], device=x_BTE.device)
        if self.feed is None:
            h_BTD, layers = self.recurrent(x_BTE, state.layers, real_BT)
            context_BTC, _ = self.alignment(h_BTD, state.source, position_BT)
            attentional_BTD, attentional_BD = (
                self._attentional(context_BTC, h_BTD),
                state.attentional_BD,
            )  # which nobody will read
        else:
            attentional_BTD, layers, attentional_BD = self._fed(x_BTE, position_BT, real_BT, state)
        position_B = state.position_B + real_BT.sum(1)
        logits_BTV = self.embedding.logits(self.contextual(attentional_BTD))
        return logits_BTV, LuongState(state.source, layers, attentional_BD, position_B)

    def _attentional(self, context_BTC: Tensor, h_BTD: Tensor) -> Tensor:
        """H~ = tanh(W_c [c; h])."""
        attentional_BTD: Tensor = (self.of_context(context_BTC) + self.of_state(h_BTD)).tanh()
        return attentional_BTD

    def _fed(
        self, x_BTE: Tensor, position_BT: Tensor, real_BT: Tensor, state: LuongState
    ) -> tuple[Tensor, RecurrentState, Tensor]:
        """`attentional_BTD` step by step, since each needs h~ of the one before; and what remains after."""
        assert self.feed is not None
        layers = self.recurrent.stack()
        cells = [layer.directions()[0] for layer in layers]
        states, attentional, weights = [[before for (before,) in state.layers]], [state.attentional_BD], []
        for t, input_BG in enumerate(cells[0].project(x_BTE).unbind(1)):
            h_BD, after = None, []
            for cell, before in zip(cells, states[-1], strict=True):
                fed_BG = input_BG + self.feed(attentional[-1]) if h_BD is None else cell.project(self.dropout(h_BD))
                after.append(cell.advance(fed_BG, before))
                h_BD = after[-1].hidden_BD
            assert h_BD is not None
            context_B1C, weight_BH1S = self.alignment.attend(h_BD.unsqueeze(1), state.source, position_BT[:, t : t + 1])
            attentional.append(self._attentional(context_B1C.squeeze(1), h_BD).to(state.attentional_BD.dtype))
            states.append(after)
            weights.append(weight_BH1S)
        length_B, reached_layers = lengths(real_BT), []
        for place, layer in enumerate(layers):
            own = [each[place] for each in states]
            join_heard(cells[place], x_BTE.shape[1])
            layer.hidden(torch.stack([each.hidden_BD for each in own[1:]], dim=1))
            reached_layers.append((reached(own, length_B),))
        (attentional_BD,) = reached([(each,) for each in attentional], length_B)
        self.alignment.weights(torch.cat(weights, dim=2))
        return torch.stack(attentional[1:], dim=1), tuple(reached_layers), attentional_BD


def _beside(forwards: CellState, backwards: CellState) -> CellState:
    """The states of two directions as one."""
    parts = (torch.cat(both, dim=1) for both in zip(forwards, backwards, strict=True))
    return type(forwards)(*parts)
