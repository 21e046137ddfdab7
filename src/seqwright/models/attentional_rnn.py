"""Recurrent decoders that look into the source for every word (Bahdanau et al. 2015; Luong et al. 2015).

B batch · S source · T target · H heads · E embedding · D width · C context width
"""

from typing import Literal, NamedTuple, TypeVar, Unpack

import torch
from pydantic import PositiveInt, model_validator
from torch import Tensor, nn

from seqwright.batches.pairs import Pairs
from seqwright.layers.alignment import (
    Alignment,
    Everywhere,
    Focus,
    MonotonicWindow,
    PredictiveWindow,
    QueryKeyValue,
    Remembered,
    Whole,
    last_weight,
)
from seqwright.layers.attending import AttendingLayer, join_heard, lengths, reached
from seqwright.layers.bridging import Bridge
from seqwright.layers.deep_output import DeepOutput
from seqwright.layers.initialisation import initialise
from seqwright.layers.recurrence import Hidden, LSTMState
from seqwright.layers.scanning import Recurrent, RecurrentState
from seqwright.layers.scores import ScoreName, score_named
from seqwright.models.encoder_decoder import (
    AttendingStack,
    EncoderDecoder,
    EncoderDecoderSettings,
    StackState,
    Vocabularies,
)
from seqwright.models.reading import CELLS

CellState = TypeVar("CellState", Hidden, LSTMState)


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

    def encoder(self, between: nn.Module) -> Recurrent:
        """What reads the source, in both directions."""
        return Recurrent(
            CELLS[self.cell],
            inputs=self.token_width,
            width=self.width // 2,
            layers=self.layers,
            bidirectional=True,
            between=between,
        )


class BahdanauSettings(AttentionalSettings):
    """Attention before the step: the last state of the decoder asks, and the context enters the cell."""

    kind: Literal["bahdanau"] = "bahdanau"
    cell: Literal["rnn", "ugrnn", "gru", "lstm"] = "gru"
    """The cells of every layer; the paper's are gru."""


class Bahdanau(AttendingStack):
    """Joint learning to align and translate (Bahdanau et al. 2015, section 3 and appendix A.2).

        h = [→h; ←h]        s_0 = tanh(W_s ←h_1)
        c_i = Σ_j softmax_j(score(s_{i-1}, h_j)) h_j        s_i = cell([e(y_{i-1}); c_i], s_{i-1})
        t~_i = U s_i + V e(y_{i-1}) + C c_i        t_i = max of pairs of t~_i        p_i = softmax(W t_i)

    Differs from the paper: each direction of the encoder has half of the decoder's width; there may be layers above
    the one that looks, which are computed for all words at once; t~ has s_i as in the paper's equation 4, where its
    appendix prints s_{i-1}; the output is `tied` unless told otherwise.
    """

    def __init__(self, settings: BahdanauSettings, **sizes: Unpack[Vocabularies]) -> None:
        width, embedding = settings.width, settings.token_width
        super().__init__(settings, said=embedding, **sizes)
        cell, alignment = CELLS[settings.cell], settings.alignment()
        self.encoder = settings.encoder(self.dropout)
        self.attending = AttendingLayer(cell(inputs=embedding, width=width), alignment)
        self.above = Recurrent(cell, inputs=width, width=width, layers=settings.layers - 1, between=self.dropout)
        self.first = Bridge(Recurrent(cell, inputs=width, width=width, layers=settings.layers), inputs=width // 2)
        context = alignment.form.context_width
        self.deep_output = DeepOutput(state=width, token=embedding, context=context, output=embedding)
        initialise(self, settings.initialisation, forget_bias=settings.forget_bias)

    def start(self, batch: Pairs) -> StackState:
        """The source read, nothing written yet."""
        h_BSD, after = self.encoder(self.source_vectors(batch.source_BS), None, batch.source_real_BS)
        memory_BSD = self.dropout(self.source_contextual(h_BSD))
        source = self.attending.alignment.remember(memory_BSD, batch.source_real_BS)
        (lowest,), *above = self.first(after[-1][1].hidden_BD)  # what reads backwards ends at the first word
        return StackState(source, self.attending.start(lowest, source), tuple(above))

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: StackState) -> tuple[Tensor, StackState]:
        """Read target tokens; the logits at t are for the token after t. Padding stands on the right."""
        x_BTE = self.target_vectors(tokens_BT)
        attended, attending = self.attending(x_BTE, state.attending, state.source, real_BT)
        s_BTD, above = self.dropout(attended.hidden_BTD), state.above
        if above:
            s_BTD, above = self.above(s_BTD, above, real_BT)
            s_BTD = self.dropout(s_BTD)
        said_BTE = self.deep_output(s_BTD, x_BTE, attended.context_BTC)
        return self.logits(said_BTE), StackState(state.source, attending, above)


class LuongSettings(AttentionalSettings):
    """Attention after the step: the new state of the decoder asks, and the context is joined to what it says."""

    kind: Literal["luong"] = "luong"
    score: ScoreName = "bilinear"
    """How well a state of the decoder fits a position: hᵀs, hᵀWs, vᵀtanh(W[h; s]), MLP([h, s]) or tanh(w[h; s])."""
    input_feeding: bool = True
    """Whether the decoder reads h~ of the word before beside the word; without, all words are computed at once."""


class LuongState(NamedTuple):
    """The source, the state of each layer, h~ of the last word, where that was looked for, and how many were read."""

    source: Remembered
    layers: RecurrentState
    said_BD: Tensor
    weight_BS: Tensor
    position_B: Tensor


class Luong(EncoderDecoder[LuongState]):
    """Effective approaches to attention (Luong et al. 2015, section 3).

        h_t = cells([e(y_{t-1}); h~_{t-1}], h_{t-1})        h~_{t-1} with input feeding (section 3.3) only
        c_t = Σ_s softmax_s(score(h_t, h_s)) h_s
        h~_t = tanh(W_c [c_t; h_t])        p_t = softmax(W_s h~_t)

    The decoder begins in the last states of the encoder, layer by layer, both directions side by side.

    Differs from the paper: the encoder reads in both directions, the source is not reversed, and the output is `tied`
    unless told otherwise.
    """

    def __init__(self, settings: LuongSettings, **sizes: Unpack[Vocabularies]) -> None:
        width, embedding = settings.width, settings.token_width
        super().__init__(settings, said=width, **sizes)
        self.settings = settings
        self.alignment = settings.alignment()
        self.encoder = settings.encoder(self.dropout)
        cell = CELLS[settings.cell]
        self.decoder = Recurrent(cell, inputs=embedding, width=width, layers=settings.layers, between=self.dropout)
        gates = len(self.decoder.stack()[0].directions()[0].weights.bias_G)
        self.feed = nn.Linear(width, gates, bias=False) if settings.input_feeding else None
        self.of_context = nn.Linear(self.alignment.form.context_width, width)
        self.of_state = nn.Linear(width, width, bias=False)
        initialise(self, settings.initialisation, forget_bias=settings.forget_bias)

    def start(self, batch: Pairs) -> LuongState:
        """The source read, nothing written yet."""
        real_BS = batch.source_real_BS
        h_BSD, after = self.encoder(self.source_vectors(batch.source_BS), None, real_BS)
        source = self.alignment.remember(self.dropout(self.source_contextual(h_BSD)), real_BS)
        layers = tuple((_beside(*directions),) for directions in after)
        first_BD = layers[-1][0].hidden_BD
        weight_BS, position_B = first_BD.new_zeros(real_BS.shape), torch.zeros_like(real_BS[:, 0], dtype=torch.long)
        return LuongState(source, layers, torch.zeros_like(first_BD), weight_BS, position_B)

    def read(self, tokens_BT: Tensor, real_BT: Tensor, state: LuongState) -> tuple[Tensor, LuongState]:
        """Read target tokens; the logits at t are for the token after t. Padding stands on the right."""
        x_BTE = self.target_vectors(tokens_BT)
        position_BT = state.position_B.unsqueeze(1) + torch.arange(x_BTE.shape[1], device=x_BTE.device)
        if self.feed is None:
            h_BTD, layers = self.decoder(x_BTE, state.layers, real_BT)
            context_BTC, weight_BHTS = self.alignment(h_BTD, state.source, position_BT)
            said_BTD, said_BD = self._said(context_BTC, h_BTD), state.said_BD  # which nobody will read
        else:
            said_BTD, weight_BHTS, layers, said_BD = self._fed(x_BTE, position_BT, real_BT, state)
        weight_BS = last_weight(weight_BHTS, state.weight_BS, lengths(real_BT))
        position_B = state.position_B + real_BT.sum(1)
        return self.logits(said_BTD), LuongState(state.source, layers, said_BD, weight_BS, position_B)

    def _said(self, context_BTC: Tensor, h_BTD: Tensor) -> Tensor:
        """H~ = tanh(W_c [c; h])."""
        said_BTD: Tensor = (self.of_context(context_BTC) + self.of_state(h_BTD)).tanh()
        return said_BTD

    def _fed(
        self, x_BTE: Tensor, position_BT: Tensor, real_BT: Tensor, state: LuongState
    ) -> tuple[Tensor, Tensor, RecurrentState, Tensor]:
        """`said_BTD` and `weight_BHTS` step by step, since each needs h~ of the one before; and what remains after."""
        assert self.feed is not None
        layers = self.decoder.stack()
        cells = [layer.directions()[0] for layer in layers]
        states, said, weights = [[before for (before,) in state.layers]], [state.said_BD], []
        for t, input_BG in enumerate(cells[0].project(x_BTE).unbind(1)):
            h_BD, after = None, []
            for cell, before in zip(cells, states[-1], strict=True):
                fed_BG = input_BG + self.feed(said[-1]) if h_BD is None else cell.project(self.dropout(h_BD))
                after.append(cell.advance(fed_BG, before))
                h_BD = after[-1].hidden_BD
            assert h_BD is not None
            context_B1C, weight_BH1S = self.alignment.attend(h_BD.unsqueeze(1), state.source, position_BT[:, t : t + 1])
            said.append(self._said(context_B1C.squeeze(1), h_BD).to(state.said_BD.dtype))
            states.append(after)
            weights.append(weight_BH1S)
        length_B, reached_layers = lengths(real_BT), []
        for place, layer in enumerate(layers):
            own = [each[place] for each in states]
            join_heard(cells[place], x_BTE.shape[1])
            layer.hidden(torch.stack([each.hidden_BD for each in own[1:]], dim=1))
            reached_layers.append((reached(own, length_B),))
        (said_BD,) = reached([(each,) for each in said], length_B)
        weight_BHTS = self.alignment.weights(torch.cat(weights, dim=2))
        return torch.stack(said[1:], dim=1), weight_BHTS, tuple(reached_layers), said_BD

    def attention_of(self, state: LuongState) -> Tensor:
        """`weight_BS`: where the last token read was looked for, the mean over the heads."""
        return state.weight_BS


def _beside(forwards: CellState, backwards: CellState) -> CellState:
    """The states of two directions as one."""
    parts = (torch.cat(both, dim=1) for both in zip(forwards, backwards, strict=True))
    return type(forwards)(*parts)
