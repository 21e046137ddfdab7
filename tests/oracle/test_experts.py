"""Experts: gates, losses and mixtures against the equations of Shazeer et al. 2017 in NumPy.

N positions · D width · E experts
"""

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seqwright.errors import SettingError
from seqwright.layers.blocks import FeedForward
from seqwright.layers.experts import QUIETEST, Experts, NoisyTopK, variation
from seqwright.layers.recurrence import Weights
from seqwright.layers.side_losses import collected
from seqwright.layers.taps import View, listen
from seqwright.models import moe_lstm, moe_transformer
from seqwright.objectives.balanced_next_token import BalancedNextToken, BalancedNextTokenSettings
from seqwright.objectives.next_token import NextToken
from tests.small_models import TWO_SIDES, example, small

Array = NDArray[Any]
N, D, E, K = 13, 7, 5, 2


def gate(chosen: int = K, experts: int = E) -> NoisyTopK:
    made = NoisyTopK(width=D, experts=experts, chosen=chosen)
    draw = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for matrix_DE in (made.mean_DE, made.noise_DE):
            matrix_DE.copy_(torch.randn(matrix_DE.shape, generator=draw) * 0.5)
    return made


def layer(chosen: int = K, experts: int = E) -> Experts:
    torch.manual_seed(4)
    made = Experts(width=D, inner=3, experts=experts, chosen=chosen, view=View("use", "tokens", "experts"))
    made.gate = gate(chosen, experts)
    return made


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(6))


def softmax_of_largest(score_NE: Array, chosen: int) -> Array:
    """KeepTopK and softmax (equations 3 and 5), row by row."""
    found = np.zeros_like(score_NE)
    for row, score_E in enumerate(score_NE):
        kept = sorted(range(len(score_E)), key=lambda i: -score_E[i])[:chosen]
        total = sum(math.exp(score_E[i]) for i in kept)
        for i in kept:
            found[row, i] = math.exp(score_E[i]) / total
    return found


def deviation(made: NoisyTopK, x_ND: Tensor) -> Array:
    spread: Array = np.log1p(np.exp(np.asarray((x_ND @ made.noise_DE).detach()))) + QUIETEST
    return spread


# ------------------------------------------------------------------------------------------------ gates


@pytest.mark.parametrize("chosen", [1, 2, E])
@torch.no_grad()
def test_the_gate_is_the_softmax_of_the_largest(chosen: int) -> None:
    made, x_ND = gate(chosen).eval(), drawn(N, D)
    found_NE = made(x_ND).gate()
    np.testing.assert_allclose(found_NE, softmax_of_largest(np.asarray(x_ND @ made.mean_DE), chosen), atol=1e-6)


@torch.no_grad()
def test_in_training_noise_of_a_learnt_size_is_added() -> None:
    made, x_ND = gate().train(), drawn(N, D)
    torch.manual_seed(8)
    found_NE = made(x_ND).gate()
    torch.manual_seed(8)
    noise_NE = np.asarray(torch.randn(N, E))
    score_NE = np.asarray(x_ND @ made.mean_DE) + noise_NE * deviation(made, x_ND)
    np.testing.assert_allclose(found_NE, softmax_of_largest(score_NE, K), atol=1e-6)
    assert not torch.equal(made(x_ND).gate(), found_NE)
    made.eval()
    assert torch.equal(made(x_ND).gate(), made(x_ND).gate())


@torch.no_grad()
def test_the_probability_of_a_use_is_how_often_new_noise_leads_to_it() -> None:
    """Appendix A: the noise of one expert is drawn again many times, that of the others stays."""
    made, x_ND, times = gate().train(), drawn(3, D), 20_000
    torch.manual_seed(9)
    found_NE = made(x_ND).probability_NE
    torch.manual_seed(9)
    mean_NE, spread_NE = np.asarray(x_ND @ made.mean_DE), deviation(made, x_ND)
    score_NE = mean_NE + np.asarray(torch.randn(3, E)) * spread_NE
    again = np.random.default_rng(1).standard_normal(times)
    for row in range(3):
        for i in range(E):
            others = np.delete(score_NE[row], i)
            larger = (others[:, None] > mean_NE[row, i] + again * spread_NE[row, i]).sum(axis=0)
            assert float((larger < K).mean()) == pytest.approx(float(found_NE[row, i]), abs=0.015)


@torch.no_grad()
def test_a_new_gate_leaves_the_choice_to_chance_alone() -> None:
    choice = NoisyTopK(width=D, experts=E, chosen=K).train()(drawn(4000, D))
    share_E = choice.gate().gt(0).float().mean(0)
    assert share_E.tolist() == pytest.approx([K / E] * E, abs=0.03)


def test_more_experts_than_there_are_cannot_be_chosen() -> None:
    with pytest.raises(ValueError, match="6 of 5 experts"):
        NoisyTopK(width=D, experts=5, chosen=6)


# ------------------------------------------------------------------------------------------------ mixtures


@pytest.mark.parametrize("training", [False, True])
@torch.no_grad()
def test_one_expert_is_the_plain_layer(training: bool) -> None:
    made, x_BTD = layer(1, 1).train(training), drawn(3, 5, D)
    torch.testing.assert_close(made(x_BTD), made.experts[0](x_BTD))


@pytest.mark.parametrize("chosen", [2, E])
@torch.no_grad()
def test_a_mixture_is_the_weighted_sum_of_all_experts(chosen: int) -> None:
    made, x_BTD = layer(chosen).eval(), drawn(3, 5, D)
    gate_NE = torch.tensor(softmax_of_largest(np.asarray(x_BTD.flatten(0, 1) @ made.gate.mean_DE), chosen))
    said_BTDE = torch.stack([expert(x_BTD) for expert in made.experts], dim=-1)
    target_BTD = (said_BTDE * gate_NE.view(3, 5, 1, E)).sum(-1)
    torch.testing.assert_close(made(x_BTD), target_BTD, rtol=0, atol=1e-5)
    assert bool((gate_NE > 0).sum(1).eq(chosen).all())


@torch.no_grad()
def test_an_expert_computes_the_real_positions_that_chose_it_and_no_other() -> None:
    made, x_BTD = layer().eval(), drawn(3, 5, D)
    real_BT = torch.arange(5) < torch.tensor([5, 2, 3])[:, None]
    given: list[int] = []
    for expert in made.experts:
        expert.register_forward_hook(lambda _, inputs, __: given.append(len(inputs[0])))
    with listen(made) as heard:
        y_BTD = made(x_BTD, real_BT)
    (use_BTE,) = heard["use"]
    assert given == use_BTE[real_BT].gt(0).sum(0).tolist()
    assert sum(given) == 10 * K
    assert not bool(y_BTD[~real_BT].any())
    assert not bool(use_BTE[~real_BT].any())
    torch.testing.assert_close(y_BTD[real_BT], made(x_BTD)[real_BT])


def test_experts_learn_under_bfloat16_and_those_without_a_position_have_a_gradient_of_zeros() -> None:
    made = layer(1, 3).train()
    with torch.no_grad():
        made.gate.mean_DE.copy_(torch.tensor([0.0, 0.0, -1e3]).expand(D, 3))
    x_BTD = drawn(2, 5, D).abs()
    with torch.autocast("cpu", torch.bfloat16):
        y_BTD = made(x_BTD)
    y_BTD.float().square().sum().backward()
    grads = [float(expert.narrow.bias.grad.abs().sum()) for expert in made.experts]  # type: ignore[operator, union-attr]
    assert grads[2] == 0.0
    assert grads[0] > 0
    assert grads[1] > 0


# ------------------------------------------------------------------------------------------------ losses


def squared_variation(values: Array) -> float:
    return float(values.var() / values.mean() ** 2)


def test_the_losses_are_the_squared_variations_of_importance_and_load() -> None:
    made, x_BTD = layer().train(), drawn(3, 5, D)
    real_BT = torch.arange(5) < torch.tensor([5, 2, 3])[:, None]
    torch.manual_seed(3)
    with collected(made) as noted:
        made(x_BTD, real_BT)
    torch.manual_seed(3)
    choice = made.gate(x_BTD[real_BT])
    (importance,), (load,) = noted["importance"], noted["load"]
    for loss, of_NE in ((importance, choice.gate()), (load, choice.probability_NE)):
        assert loss.item() == pytest.approx(squared_variation(of_NE.detach().numpy().sum(axis=0)), rel=1e-4)
        made.zero_grad()
        loss.backward(retain_graph=True)
        assert made.gate.mean_DE.grad is not None
        assert bool(made.gate.mean_DE.grad.any())


def test_experts_that_are_used_alike_cost_nothing() -> None:
    assert float(variation(torch.full((4,), 3.0))) == 0.0
    assert float(variation(torch.tensor([2.0, 0.0]))) == 1.0
    assert float(variation(torch.zeros(4))) == 0.0


def test_nothing_is_noted_where_nobody_collects() -> None:
    made = layer().train()
    with collected(made) as noted:
        pass
    made(drawn(3, 5, D))
    assert not noted


@pytest.mark.parametrize(
    ("kind", "task", "layers"), [("moe-lstm", "language-modeling", 1), ("moe-transformer", "translation", 3)]
)
def test_the_objective_adds_what_the_layers_note(kind: str, task: str, layers: int) -> None:
    torch.manual_seed(1)
    model, batch = small(kind, task).train(), example(kind, task)
    objective = BalancedNextToken(BalancedNextTokenSettings(importance=0.25, load=0.5, label_smoothing=0.1))
    torch.manual_seed(2)
    with collected(model) as noted:
        model(batch, None)
    torch.manual_seed(2)
    words, _ = NextToken()(model, batch, None)
    torch.manual_seed(2)
    loss, _ = objective(model, batch, objective.start(model, batch))
    counts, tokens = objective.counts(batch), int(batch.real_BT.sum())
    assert counts == dict.fromkeys(("loss", "smoothed", "importance", "load"), tokens)
    assert len(noted["importance"]) == len(noted["load"]) == layers
    side = 0.25 * sum(part.item() for part in noted["importance"]) + 0.5 * sum(part.item() for part in noted["load"])
    assert loss.total(counts).item() == pytest.approx(words.total(NextToken().counts(batch)).item() + side, rel=1e-5)


def test_batches_that_share_an_update_count_by_their_tokens() -> None:
    """The losses of two micro-batches are their means, weighted by the tokens of each."""
    torch.manual_seed(1)
    model, batch = (
        small("moe-lstm", "language-modeling"),
        example("moe-lstm", "language-modeling"),
    )  # without noise, so that the parts can be had one by one
    model.eval()
    objective = BalancedNextToken()
    pieces = [batch.rows(some) for some in ([0], [1, 2])]
    counts = [objective.counts(piece) for piece in pieces]
    together = {name: float(sum(c[name] for c in counts)) for name in counts[0]}
    found, wanted = 0.0, 0.0
    for piece, count in zip(pieces, counts, strict=True):
        loss, _ = objective(model, piece, None)
        found += loss.total(together).item()
        wanted += loss.total(count).item() * count["loss"] / together["loss"]
    assert counts[0]["loss"] != counts[1]["loss"]
    assert found == pytest.approx(wanted, rel=1e-5)


def test_a_model_without_experts_cannot_be_balanced() -> None:
    with pytest.raises(SettingError, match="no experts"):
        BalancedNextToken().start(small("transformer", "translation"), example("transformer", "translation"))


# ------------------------------------------------------------------------------------------------ models


@torch.no_grad()
def test_a_transformer_with_one_expert_is_the_plain_one() -> None:
    torch.manual_seed(1)
    plain, batch = small("transformer", "translation").eval(), example("transformer", "translation")
    settings = moe_transformer.MoETransformerSettings.model_validate(
        {**TWO_SIDES, "experts": 1, "experts_per_token": 1, "every": 1}
    )
    model = moe_transformer.moe_transformer(settings, source_vocabulary=17, target_vocabulary=11, shared=False).eval()
    tensors = {
        name.replace(".feed_forward.", ".feed_forward.experts.0."): tensor
        for name, tensor in plain.state_dict().items()
    }
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    assert unexpected == []
    assert all(name.endswith(("gate.mean_DE", "gate.noise_DE")) for name in missing)
    found_BTV, target_BTV = model(batch)[0], plain(batch)[0]
    torch.testing.assert_close(found_BTV[batch.real_BT], target_BTV[batch.real_BT], rtol=0, atol=1e-5)


@pytest.mark.parametrize(("every", "wanted"), [(1, "EEE"), (2, "EFE"), (3, "FFE"), (9, "FFE")])
def test_every_so_many_blocks_one_has_experts(every: int, wanted: str) -> None:
    settings = moe_transformer.MoETransformerSettings(
        width=8, heads=2, encoder_layers=3, decoder_layers=3, feed_forward=5, dropout=0.0, every=every
    )
    model = moe_transformer.moe_transformer(settings, source_vocabulary=7, target_vocabulary=7)
    for stack in (model.body.blocks, model.decoder.blocks):
        kinds = {Experts: "E", FeedForward: "F"}
        assert "".join(kinds[type(block.feed_forward)] for block in stack) == wanted


@torch.no_grad()
def test_the_language_model_is_lstm_experts_lstm_each_added_to_what_it_read() -> None:
    model, batch = small("moe-lstm", "language-modeling").eval(), example("moe-lstm", "language-modeling")
    body, networks = model.body, []
    for part in (body.below, body.above):
        network: Any = nn.LSTM(7, 7, batch_first=True)
        (weights,) = (module for module in part.modules() if isinstance(module, Weights))
        assert weights.input_GE is not None
        network.weight_ih_l0.copy_(weights.input_GE)
        network.weight_hh_l0.copy_(weights.hidden_GD)
        network.bias_ih_l0.copy_(weights.bias_G)
        network.bias_hh_l0.zero_()
        networks.append(network)
    found_BTV, _ = model(batch)
    for row, length in enumerate(batch.real_BT.sum(1).tolist()):
        x_1TD = body.embedding.weight[batch.input_BT[row, :length]].unsqueeze(0) * math.sqrt(7)
        x_1TD = x_1TD + networks[0](x_1TD)[0]
        x_1TD = x_1TD + 1 / (1 + torch.exp(-body.experts(x_1TD)))
        x_1TD = x_1TD + networks[1](x_1TD)[0]
        torch.testing.assert_close(found_BTV[row, :length], x_1TD[0] @ body.embedding.weight.T, rtol=0, atol=1e-4)


@pytest.mark.parametrize("settings", [moe_lstm.MoELSTMSettings, moe_transformer.MoETransformerSettings])
def test_no_more_experts_can_be_chosen_than_there_are(settings: Any) -> None:
    with pytest.raises(SettingError, match="experts_per_token is 5, but there are only 4 experts"):
        settings(experts=4, experts_per_token=5)
