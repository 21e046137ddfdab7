"""Recurrent encoders and decoders, row by row and step by step, from torch's own cells with copied weights.

B batch · S source · T target · E embedding · D width · C context width
"""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqwright.batches.pairs import Pairs
from seqwright.errors import SettingError
from seqwright.layers.fast_forward import FastForwardLayer
from seqwright.layers.recurrence import RecurrentCell
from seqwright.layers.taps import listen
from seqwright.models.attentional_rnn import BahdanauSettings, LuongSettings, bahdanau, luong
from seqwright.models.context_rnn import ContextRNNSettings, context_rnn
from seqwright.models.deep_att import DeepAttSettings, deep_att, layers_of
from seqwright.models.gnmt import GNMTSettings, gnmt
from seqwright.models.seq2seq import Seq2SeqSettings, seq2seq
from seqwright.outputs.alignments import Attentive
from tests.small_models import PAIR_SIZES, some_pairs

D, E = 6, 5
BATCH = some_pairs()
MODELS: dict[str, Any] = {"bahdanau": (bahdanau, BahdanauSettings), "luong": (luong, LuongSettings)}


def built(kind: Any, settings: Any) -> Any:
    torch.manual_seed(2)
    return kind(settings, **PAIR_SIZES).double().eval()


def one(row: int) -> tuple[Tensor, Tensor]:
    """The source and the given target of a row, without padding."""
    return BATCH.source_BS[row][BATCH.source_real_BS[row]], BATCH.input_BT[row][BATCH.real_BT[row]]


def close(found: Tensor, wanted: Tensor, by: float = 1e-9) -> None:
    torch.testing.assert_close(found, wanted, rtol=0, atol=by)


def agrees(model: nn.Module, alone: Any) -> None:
    """The model's logits of the whole batch, and those that `alone` computes for each row."""
    found_BTV, _ = model(BATCH)
    for row in range(len(BATCH.input_BT)):
        target_TV = alone(*one(row))
        close(found_BTV[row, : len(target_TV)], target_TV)


def torchs(cell: RecurrentCell[Any], feed: nn.Linear | None = None) -> Any:
    """Torch's own cell with the same weights; what is fed stands beside the input."""
    weights = cell.weights
    assert weights.input_GE is not None
    input_GE = weights.input_GE if feed is None else torch.cat((weights.input_GE, feed.weight), dim=1)
    kind: Any = {1: nn.RNNCell, 3: nn.GRUCell, 4: nn.LSTMCell}[len(weights.blocks)]
    theirs = kind(input_GE.shape[1], weights.width).double()
    for name, value in (("weight_ih", input_GE), ("weight_hh", weights.hidden_GD), ("bias_ih", weights.bias_G)):
        getattr(theirs, name).copy_(value)
    theirs.bias_hh.zero_()
    return theirs


def first_of(state: Any) -> Tensor:
    found: Tensor = state[0] if isinstance(state, tuple) else state
    return found


def through(cell: RecurrentCell[Any], x_TE: Tensor, backwards: bool = False) -> tuple[Tensor, Any]:
    """What a cell says at each step of one row, and its last state."""
    theirs, state, said = torchs(cell), None, []
    for x_E in x_TE.flip(0) if backwards else x_TE:
        state = theirs(x_E, state)
        said.append(first_of(state))
    return torch.stack(said[::-1] if backwards else said), state


def both_ways(layer: Any, x_SE: Tensor) -> tuple[Tensor, Any, Any]:
    forwards, backwards = layer.directions()
    (one_SD, first), (other_SD, second) = through(forwards, x_SE), through(backwards, x_SE, backwards=True)
    return torch.cat((one_SD, other_SD), dim=1), first, second


def additive(score: Any, query_D: Tensor, memory_SD: Tensor) -> Tensor:
    weight = torch.cat((score.of_memory.weight, score.of_query.weight), dim=1)
    sums = [score.vector.weight[0] @ (weight @ torch.cat((h_D, query_D))).tanh() for h_D in memory_SD]
    return torch.stack(sums).softmax(0)


def logits(model: Any, said_TD: Tensor) -> Tensor:
    found_TV: Tensor = model.decoder.embedding.narrow(said_TD) @ model.decoder.embedding.weight.T
    return found_TV


def maxout(output: Any, s_D: Tensor, x_E: Tensor, c_C: Tensor) -> Tensor:
    wide = output.of_state(s_D) + output.of_token(x_E) + output.of_context(c_C)
    return torch.maximum(wide[0::2], wide[1::2])


# ------------------------------------------------------------------------------------------------ without attention


@pytest.mark.parametrize("backwards", [True, False])
@torch.no_grad()
def test_a_thought_vector_is_all_that_the_decoder_knows(backwards: bool) -> None:
    """Read backwards, a source a b c end is c b a end."""
    model = built(seq2seq, Seq2SeqSettings(width=D, embedding=E, layers=2, reversed=backwards))

    def alone(source_S: Tensor, input_T: Tensor) -> Tensor:
        *words, end = source_S.tolist()
        read_S = torch.tensor([*(words[::-1] if backwards else words), end])
        x, y, states = model.body.embedding(read_S), model.decoder.embedding(input_T), []
        for reader in model.body.recurrent.stack():
            x, state = through(reader.directions()[0], x)
            states.append(state)
        for place, writer in enumerate(model.decoder.recurrent.stack()):
            theirs, said = torchs(writer.directions()[0]), []
            for y_E in y:
                states[place] = theirs(y_E, states[place])
                said.append(states[place][0])
            y = torch.stack(said)
        return logits(model, y)

    agrees(model, alone)


@torch.no_grad()
def test_what_is_heard_of_a_reversed_source_is_in_the_order_of_its_words() -> None:
    model = built(seq2seq, Seq2SeqSettings(width=D, embedding=E))
    with listen(model) as heard:
        model(BATCH)
    source_S, _ = one(2)
    turned_S = torch.cat((source_S[:-1].flip(0), source_S[-1:]))
    said_SD, _ = through(model.body.recurrent.stack()[0].directions()[0], model.body.embedding(turned_S))
    target_SD = torch.cat((said_SD[:-1].flip(0), said_SD[-1:]))
    close(heard["body.contextual"][0][2, : len(source_S)], target_SD)


@torch.no_grad()
def test_a_summary_is_seen_at_every_step_and_by_the_output() -> None:
    model = built(context_rnn, ContextRNNSettings(width=D, embedding=E))
    (writer,) = model.decoder.recurrent.stack()

    def alone(source_S: Tensor, input_T: Tensor) -> Tensor:
        _, last_D = through(model.body.recurrent.stack()[0].directions()[0], model.body.embedding(source_S))
        c_D = model.body.summary(last_D).tanh()
        h_D, theirs, said = model.decoder.bridge.linear(c_D).tanh(), torchs(writer.directions()[0]), []
        for x_E in model.decoder.embedding(input_T):
            h_D = theirs(torch.cat((x_E, c_D)), h_D)
            said.append(maxout(model.decoder.deep_output, h_D, x_E, c_D))
        return logits(model, torch.stack(said))

    agrees(model, alone)


# ------------------------------------------------------------------------------------------------ with attention


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@torch.no_grad()
def test_bahdanaus_decoder_looks_before_each_step(cell: Any) -> None:
    model = built(bahdanau, BahdanauSettings(cell=cell, width=D, embedding=E))
    layer = model.decoder.attending

    def alone(source_S: Tensor, input_T: Tensor) -> Tensor:
        h_SD, _, last = both_ways(model.body.recurrent.stack()[0], model.body.embedding(source_S))
        first = model.decoder.first.linear(first_of(last)).tanh()
        state = (first[:D], first[D:]) if cell == "lstm" else first
        theirs, said = torchs(layer.cell, layer.feed), []
        for x_E in model.decoder.embedding(input_T):
            c_C = additive(layer.alignment.score, first_of(state), h_SD) @ h_SD
            state = theirs(torch.cat((x_E, c_C)), state)
            said.append(maxout(model.decoder.deep_output, first_of(state), x_E, c_C))
        return logits(model, torch.stack(said))

    agrees(model, alone)


@pytest.mark.parametrize("feeding", [True, False])
@torch.no_grad()
def test_luongs_decoder_looks_after_each_step(feeding: bool) -> None:
    model = built(luong, LuongSettings(width=D, embedding=E, layers=2, input_feeding=feeding))

    def alone(source_S: Tensor, input_T: Tensor) -> Tensor:
        h_SD, states = model.body.embedding(source_S), []
        for layer in model.body.recurrent.stack():
            h_SD, first, second = both_ways(layer, h_SD)
            states.append(tuple(torch.cat(parts) for parts in zip(first, second, strict=True)))
        lower, upper = (layer.directions()[0] for layer in model.decoder.recurrent.stack())
        cells, said, tilde_D = [torchs(lower, model.decoder.feed), torchs(upper)], [], torch.zeros(D).double()
        for x_E in model.decoder.embedding(input_T):
            x = torch.cat((x_E, tilde_D)) if feeding else x_E
            for place, theirs in enumerate(cells):
                states[place] = theirs(x, states[place])
                x = states[place][0]
            weight_S = torch.stack([h_D @ model.decoder.alignment.score.weight.weight.T @ x for h_D in h_SD]).softmax(0)
            tilde_D = (model.decoder.of_context(weight_S @ h_SD) + model.decoder.of_state(x)).tanh()
            said.append(tilde_D)
        return logits(model, torch.stack(said))

    agrees(model, alone)


@torch.no_grad()
def test_gnmt_is_torchs_lstm_layers_wired_by_hand() -> None:
    model = built(gnmt, GNMTSettings(width=D, embedding=E, encoder_layers=4, decoder_layers=4))

    def alone(source_S: Tensor, input_T: Tensor) -> Tensor:
        x_SD, _, _ = both_ways(model.body.both_ways.stack()[0], model.body.embedding(source_S))
        second, third, fourth = (layer.directions()[0] for layer in model.body.above.stack())
        x_SD = lstm(second)(x_SD)[0]
        x_SD = lstm(third)(x_SD)[0] + x_SD
        x_SD = lstm(fourth)(x_SD)[0] + x_SD
        layer, state, lowest, contexts = model.decoder.attending, None, [torch.zeros(D).double()], []
        theirs = torchs(layer.cell, layer.feed)
        for x_E in model.decoder.embedding(input_T):
            contexts.append(additive(layer.alignment.score, lowest[-1], x_SD) @ x_SD)
            state = theirs(torch.cat((x_E, contexts[-1])), state)
            lowest.append(state[0])
        y_TD, a_TD = torch.stack(lowest[1:]), torch.stack(contexts)
        second, third, fourth = (layer.directions()[0] for layer in model.decoder.stack())
        y_TD = lstm(second)(torch.cat((y_TD, a_TD), dim=1))[0]
        y_TD = lstm(third)(torch.cat((y_TD, a_TD), dim=1))[0] + y_TD
        y_TD = lstm(fourth)(torch.cat((y_TD, a_TD), dim=1))[0] + y_TD
        return logits(model, y_TD)

    agrees(model, alone)


def lstm(cell: RecurrentCell[Any]) -> nn.LSTM:
    """Torch's own layer with the weights of a cell."""
    weights = cell.weights
    assert weights.input_GE is not None
    theirs = nn.LSTM(weights.input_GE.shape[1], weights.width).double()
    for name, value in (("weight_ih", weights.input_GE), ("weight_hh", weights.hidden_GD), ("bias_ih", weights.bias_G)):
        getattr(theirs, f"{name}_l0").copy_(value)
    nn.init.zeros_(theirs.get_parameter("bias_hh_l0"))
    return theirs


@torch.no_grad()
def test_deep_att_is_its_equations() -> None:
    model = built(deep_att, DeepAttSettings(width=D, embedding=E, encoder_layers=3, decoder_layers=3))

    def layer_of(layer: FastForwardLayer, x: Tensor, backwards: bool) -> tuple[Tensor, Tensor, Tensor]:
        weights = layer.cell.weights
        assert weights.input_GE is not None
        f = x @ weights.input_GE.T + weights.bias_G
        h, _ = through(layer.cell, x, backwards)
        return f, h, torch.cat((f[:, : 2 * D], h), dim=1)

    def alone(source_S: Tensor, input_T: Tensor) -> Tensor:
        hidden, given = [], []
        for column in range(2):
            x = model.body.embedding(source_S)
            for place, layer in enumerate(layers_of(model.body.columns[column])):
                f, h, x = layer_of(layer, x, backwards=place % 2 != column)
            hidden.append(h)
            given.append(f)
        e_SC = torch.cat((*hidden, *given), dim=1) @ model.body.interface.weight.T
        assert e_SC.shape[1] == (2 * D + 2 * 4 * D) // 4
        layer, state, h_D, f_all, h_all = model.decoder.attending, None, torch.zeros(D).double(), [], []
        theirs = torchs(layer.cell, layer.feed)
        for x_E in model.decoder.embedding(input_T):
            x = torch.cat((x_E, additive(layer.alignment.score, h_D, e_SC) @ e_SC))
            state = theirs(x, state)
            h_D = state[0]
            f_all.append(theirs.weight_ih @ x + theirs.bias_ih)
            h_all.append(h_D)
        x = torch.cat((torch.stack(f_all)[:, : 2 * D], torch.stack(h_all)), dim=1)
        for layer in layers_of(model.decoder.above):
            _, h, x = layer_of(layer, x, backwards=False)
        return logits(model, h)

    agrees(model, alone)


# ------------------------------------------------------------------------------------------------ every variant

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("bahdanau", {"score": "dot", "cell": "rnn"}),
    ("bahdanau", {"score": "mlp", "cell": "ugrnn", "focus": "local-m", "window": 1}),
    ("bahdanau", {"score": "tanh", "cell": "lstm", "layers": 3, "focus": "local-p", "window": 2}),
    ("bahdanau", {"query_key_value": True, "heads": 3, "tied": False}),
    ("luong", {"score": "dot", "cell": "gru", "focus": "local-m", "window": 2}),
    ("luong", {"score": "additive", "input_feeding": False, "focus": "local-p", "window": 1}),
    ("luong", {"score": "mlp", "input_feeding": False, "query_key_value": True, "heads": 2}),
    ("luong", {"score": "tanh", "cell": "ugrnn", "layers": 3}),
]


def variant(kind: str, settings: dict[str, Any]) -> Any:
    model, chosen = MODELS[kind]
    return built(model, chosen(**{"width": D, "embedding": E, **settings}))


def looked(model: Attentive, state: Any) -> Tensor:
    weight_BS = model.attention_of(state)
    assert weight_BS is not None
    return weight_BS


@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
@torch.no_grad()
def test_every_variant_steps_as_it_reads_and_can_be_asked_where_it_looked(kind: str, settings: dict[str, Any]) -> None:
    own = variant(kind, settings)
    model = Attentive(own)
    with listen(own) as heard:
        own.read(BATCH.input_BT, BATCH.real_BT, own.start(BATCH))
    (weight_BHTS,) = (tensors[0] for name, tensors in heard.items() if name.endswith("alignment.weights"))
    whole_BTV, after = model.read(BATCH.input_BT, BATCH.real_BT, model.start(BATCH))
    length_B = BATCH.real_BT.sum(1)
    state = model.start(BATCH)
    for t, tokens_B in enumerate(BATCH.input_BT.T):
        logits_BV, state = model.step(tokens_B, state)
        real_B = length_B > t
        close(logits_BV[real_B], whole_BTV[real_B, t])
        close(looked(model, state)[real_B], weight_BHTS.mean(1)[real_B, t].float(), by=1e-6)
    last_BS = weight_BHTS.mean(1)[torch.arange(len(length_B)), length_B - 1]
    close(looked(model, after), last_BS.float(), by=1e-6)
    close(last_BS.sum(1), torch.ones(len(last_BS)).double(), by=1e-6)


@pytest.mark.parametrize(("kind", "settings"), VARIANTS)
def test_every_parameter_of_every_variant_learns_in_bfloat16(kind: str, settings: dict[str, Any]) -> None:
    model = variant(kind, settings).float().train()
    with torch.autocast("cpu", torch.bfloat16):
        logits_BTV, after = model.read(BATCH.input_BT, BATCH.real_BT, model.start(BATCH))
    logits_BTV[BATCH.real_BT].float().log_softmax(-1)[:, 3].sum().backward()
    still = [name for name, p in model.named_parameters() if p.grad is None or not bool(p.grad.any())]
    assert still == []
    assert {part.dtype for part in floating(after) if part.shape[1:] == (D,)} == {torch.float32}


def floating(state: Any) -> list[Tensor]:
    """The tensors of a state but of the source, which is computed once and not carried from step to step."""
    if isinstance(state, Tensor):
        return [state] if state.is_floating_point() else []
    return [leaf for part in state if not hasattr(part, "values_BHSK") for leaf in floating(part)]


@torch.no_grad()
def test_what_is_fed_back_matters() -> None:
    fed = variant("luong", {})
    state = fed.start(BATCH)
    _, state = fed.step(BATCH.input_BT[:, 0], state)
    other_BV, _ = fed.step(BATCH.input_BT[:, 1], state._replace(attentional_BD=state.attentional_BD + 1))
    found_BV, _ = fed.step(BATCH.input_BT[:, 1], state)
    assert not torch.allclose(other_BV, found_BV)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"width": 7}, "width 7 is odd, but the encoder's two directions share it; make it even"),
        ({"heads": 2}, "2 heads need projections of their own; set query_key_value to true"),
        ({"width": 8, "heads": 3, "query_key_value": True}, "width 8 does not divide into 3 heads"),
        ({"cell": "grue"}, "'rnn', 'ugrnn', 'gru' or 'lstm'"),
        ({"score": "cosine"}, "'dot', 'bilinear', 'additive', 'mlp' or 'tanh'"),
    ],
)
@pytest.mark.parametrize("settings", [BahdanauSettings, LuongSettings])
def test_settings_that_do_not_fit_are_refused_in_a_sentence(settings: Any, given: Any, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        settings(**given)


@pytest.mark.parametrize("settings", [GNMTSettings, DeepAttSettings])
def test_the_size_of_the_paper_can_be_asked_for_and_changed(settings: Any) -> None:
    paper = settings(size="paper")
    assert (paper.width, paper.encoder_layers, paper.decoder_layers) in {(1024, 8, 8), (512, 9, 7)}
    assert settings(size="paper", decoder_layers=3).decoder_layers == 3
    assert settings().width < paper.width


def test_two_vocabularies_of_different_size_cannot_be_shared() -> None:
    with pytest.raises(ValueError, match="a shared vocabulary has one size, not 17 and 11"):
        seq2seq(Seq2SeqSettings(), source_vocabulary=17, target_vocabulary=11, shared=True)


def test_the_example_is_padded_on_both_sides() -> None:
    assert isinstance(BATCH, Pairs)
    assert not bool(BATCH.source_real_BS.all())
    assert not bool(BATCH.real_BT.all())
