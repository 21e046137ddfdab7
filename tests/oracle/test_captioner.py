"""Show, attend and tell: soft attention and the decoder against NumPy, hard attention against every way to look.

B batch · T target · S places
"""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from seqwright.batches.captioned import Captioned
from seqwright.batches.pairs import decoder_rows
from seqwright.errors import SettingError
from seqwright.layers.side_losses import collected
from seqwright.layers.taps import listen
from seqwright.layers.visual_attention import HardAttention, SoftAttention
from seqwright.models.captioner import CaptionerSettings, HardCaptionerSettings, captioner
from seqwright.objectives.doubly_stochastic import DoublyStochastic, DoublyStochasticSettings
from seqwright.objectives.next_token import NextToken, NextTokenSettings
from seqwright.objectives.reinforce import Reinforce, ReinforceSettings
from tests.small_models import example, small

Q, C, A, S = 5, 7, 3, 4


def plain(tensor: Tensor) -> Any:
    return tensor.detach().double().numpy()


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def looks_and_context(attention: Any, query_BQ: Any, memory_BSC: Any) -> tuple[Any, Any]:
    """Equations 4 to 6 and 8 to 13 of the paper in NumPy."""
    score, gate = attention.score, attention.gate
    inner = memory_BSC @ plain(score.of_memory.weight).T + (query_BQ @ plain(score.of_query.weight).T)[:, None]
    looks_BS = softmax((np.tanh(inner) @ plain(score.vector.weight).T)[..., 0])
    beta_B1 = sigmoid(query_BQ @ plain(gate.weight).T + plain(gate.bias))
    return looks_BS, beta_B1


def test_soft_attention_is_the_gated_expected_place() -> None:
    torch.manual_seed(1)
    attention = SoftAttention(query=Q, memory=C, inner=A)
    query_BQ, memory_BSC = torch.randn(3, Q), torch.randn(3, S, C)
    source = attention.remember(memory_BSC, None)
    context_B1C, weight_BH1S = attention.attend(query_BQ.unsqueeze(1), source, torch.zeros(3, 1))
    looks_BS, beta_B1 = looks_and_context(attention, plain(query_BQ), plain(memory_BSC))
    np.testing.assert_allclose(plain(weight_BH1S)[:, 0, 0], looks_BS, atol=1e-6)
    expected_BC = beta_B1 * np.einsum("bs,bsc->bc", looks_BS, plain(memory_BSC))
    np.testing.assert_allclose(plain(context_B1C)[:, 0], expected_BC, atol=1e-6)


def test_hard_attention_in_use_reads_the_most_probable_place() -> None:
    torch.manual_seed(1)
    attention = HardAttention(query=Q, memory=C, inner=A, expected=0.5).eval()
    query_BQ, memory_BSC = torch.randn(3, Q), torch.randn(3, S, C)
    source = attention.remember(memory_BSC, None)
    context_B1C, weight_BH1S = attention.attend(query_BQ.unsqueeze(1), source, torch.zeros(3, 1))
    looks_BS, beta_B1 = looks_and_context(attention, plain(query_BQ), plain(memory_BSC))
    place_B = looks_BS.argmax(-1)
    assert plain(weight_BH1S)[:, 0, 0].tolist() == np.eye(S)[place_B].tolist()
    np.testing.assert_allclose(plain(context_B1C)[:, 0], beta_B1 * plain(memory_BSC)[range(3), place_B], atol=1e-6)


def test_the_decoder_is_the_paper_s() -> None:
    """Equations 1 to 3 and 7, step by step, over features that come as they are."""
    torch.manual_seed(1)
    settings = CaptionerSettings(width=Q, embedding=6)
    model = captioner(settings, vocabulary=11, features=C, rows=2, columns=2).eval()
    memory_BSC, tokens_BT = torch.randn(2, S, C), torch.tensor([[2, 7, 5], [2, 4, 9]])
    with torch.no_grad():
        state = model.decoder.start(memory_BSC, None)
        found_BTV, _ = model.read(tokens_BT, torch.ones_like(tokens_BT, dtype=torch.bool), state)
    decoder = model.decoder
    layer, memory = decoder.attending, plain(memory_BSC)
    first = np.tanh(memory.mean(1) @ plain(decoder.first.linear.weight).T + plain(decoder.first.linear.bias))
    h_BD, c_BD = first[:, :Q], first[:, Q:]
    cell = layer.cell.weights
    for t in range(3):
        y_BE = plain(decoder.embedding.tokens.weight)[tokens_BT[:, t].numpy()] * 6**0.5
        looks_BS, beta_B1 = looks_and_context(layer.alignment, h_BD, memory)
        z_BC = beta_B1 * np.einsum("bs,bsc->bc", looks_BS, memory)
        sums = y_BE @ plain(cell.input_GE).T + h_BD @ plain(cell.hidden_GD).T + plain(cell.bias_G)
        i, f, g, o = np.split(sums + z_BC @ plain(layer.feed.weight).T, 4, axis=1)
        c_BD = sigmoid(f) * c_BD + sigmoid(i) * np.tanh(g)
        h_BD = sigmoid(o) * np.tanh(c_BD)
        said_BE = y_BE + h_BD @ plain(decoder.of_state.weight).T + plain(decoder.of_state.bias)
        said_BE = said_BE + z_BC @ plain(decoder.of_context.weight).T
        output = decoder.embedding.output
        logits_BV = said_BE @ plain(output.weight).T + plain(output.bias)
        np.testing.assert_allclose(plain(found_BTV)[:, t], logits_BV, atol=1e-5)


def test_the_regulariser_is_how_far_the_looks_at_each_place_are_from_one() -> None:
    torch.manual_seed(1)
    model, batch = small("captioner", "image-captioning").eval(), example("captioner", "image-captioning")
    objective = DoublyStochastic(DoublyStochasticSettings(even=0.3, label_smoothing=0.0))
    loss, _ = objective(model, batch, objective.start(model, batch))
    with listen(model) as heard:
        model(batch)
    (weight_B1TS,) = heard["decoder.attending.alignment.weights"]
    expected = 0.0
    for weight_TS, real_T in zip(plain(weight_B1TS)[:, 0], batch.real_BT.numpy(), strict=True):
        expected += ((1 - weight_TS[real_T].sum(0)) ** 2).sum()
    assert loss.parts["uneven"].sum.item() == pytest.approx(expected, rel=1e-5)
    assert loss.parts["uneven"].weight == 0.3
    counts = objective.counts(batch)
    assert counts == {"loss": int(batch.real_BT.sum()), "uneven": int(batch.real_BT.sum())}
    words = NextToken(NextTokenSettings(label_smoothing=0.0))
    alone = words(model, batch, None)[0].total(counts)
    assert loss.total(counts).item() == pytest.approx(alone.item() + 0.3 * expected / counts["loss"], rel=1e-5)


# ------------------------------------------------------------------------------------------------ hard attention


def hard_model_and_batch() -> tuple[Any, Captioned]:
    """A model over 3 places that draws each of them, and captions of 2 words and of 1 beside padding."""
    torch.manual_seed(3)
    settings = HardCaptionerSettings(width=5, embedding=4, dropout=0.0, expected=0.0)
    model = captioner(settings, vocabulary=7, features=3, rows=1, columns=3).double().train()
    rows = [np.array([4]), np.array([], dtype=np.int64)]
    features = 2 * torch.randn(2, 3, 3, dtype=torch.float64)
    return model, Captioned(features, **decoder_rows(rows, 2, begin=2, end=3))


def gradient(value: Tensor, model: Any) -> list[Tensor]:
    found = torch.autograd.grad(value, list(model.parameters()), allow_unused=True)
    return [torch.zeros_like(p) if g is None else g for p, g in zip(model.parameters(), found, strict=True)]


def drawing(places_TB: Any, patch: pytest.MonkeyPatch) -> None:
    """Let the model draw these places, one step after the other."""
    waiting = iter(torch.tensor(places_TB))
    patch.setattr(torch, "multinomial", lambda looks_BS, count: next(waiting).unsqueeze(1))


@pytest.mark.parametrize("baseline", [0.0, -1.7])
def test_the_gradient_of_hard_attention_is_that_of_its_expected_value(
    baseline: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over every way to look: Σ_s p(s) estimate(s) = ∇ Σ_s p(s) log p(y | s), whatever the baseline is."""
    model, batch = hard_model_and_batch()
    objective = Reinforce(ReinforceSettings(label_smoothing=0.0, entropy=0.0)).double()
    objective.baseline.fill_(baseline)
    counts = dict.fromkeys(objective.counts(batch), 1)
    estimate: list[Tensor] = [torch.zeros_like(p) for p in model.parameters()]
    exact = torch.zeros((), dtype=torch.float64)
    steps, rows = batch.real_BT.shape[1], len(batch)
    for places in product(product(range(3), repeat=rows), repeat=steps):
        drawing(places, monkeypatch)
        loss, _ = objective(model, batch, None)
        descended = gradient(-loss.total(counts), model)
        drawing(places, monkeypatch)
        with collected(model) as noted:
            logits_BTV, _ = model(batch)
        logp_BT = logits_BTV.log_softmax(-1).gather(-1, batch.target_BT.unsqueeze(-1)).squeeze(-1)
        places_BT = torch.stack(noted["places"], dim=1)
        probability = places_BT.double().sum().exp()  # of all draws, also those at padding
        estimate = [total + probability.detach() * each for total, each in zip(estimate, descended, strict=True)]
        exact = exact + probability * (logp_BT * batch.real_BT).sum()
    wanted = gradient(exact, model)
    assert max(float(each.abs().max()) for each in wanted) > 0.1
    for found, right in zip(estimate, wanted, strict=True):
        torch.testing.assert_close(found, right, rtol=1e-4, atol=1e-5)


def test_the_entropy_is_that_of_what_places_are_drawn_from() -> None:
    model, batch = hard_model_and_batch()
    objective = Reinforce(ReinforceSettings(label_smoothing=0.0, entropy=0.5)).double()
    with collected(model) as noted:
        model(batch)
    entropy_BT = torch.stack(noted["entropy"], dim=1)
    assert bool((entropy_BT > 0).all())
    assert bool((entropy_BT <= np.log(3) + 1e-6).all())
    torch.manual_seed(5)
    loss, _ = objective(model, batch, None)
    torch.manual_seed(5)
    with collected(model) as noted:
        model(batch)
    real_entropy = (torch.stack(noted["entropy"], dim=1) * batch.real_BT).sum()
    assert loss.parts["entropy"].sum.item() == pytest.approx(-real_entropy.item(), rel=1e-6)
    assert loss.parts["entropy"].weight == 0.5


def test_the_baseline_follows_log_p_of_a_word() -> None:
    model, batch = hard_model_and_batch()
    objective = Reinforce(ReinforceSettings(label_smoothing=0.0)).double()
    for step in (1, 2):
        loss, _ = objective(model, batch, None)
        mean = -loss.parts["loss"].sum.item() / loss.parts["loss"].over
        before = objective.baseline.item()
        objective.after_step(model, step, 9)
        expected = mean if step == 1 else 0.9 * before + 0.1 * mean
        assert objective.baseline.item() == pytest.approx(expected, rel=1e-5)
    assert "baseline" in objective.state_dict()


def test_steps_that_read_the_expected_place_draw_none() -> None:
    torch.manual_seed(1)
    attention = HardAttention(query=Q, memory=C, inner=A, expected=1.0).train()
    query_BQ, memory_BSC = torch.randn(3, Q), torch.randn(3, S, C)
    with collected(attention) as noted:
        source = attention.remember(memory_BSC, None)
        _, weight_BH1S = attention.attend(query_BQ.unsqueeze(1), source, torch.zeros(3, 1))
    looks_BS, _ = looks_and_context(attention, plain(query_BQ), plain(memory_BSC))
    np.testing.assert_allclose(plain(weight_BH1S)[:, 0, 0], looks_BS, atol=1e-6)
    assert noted["places"][0].tolist() == [0.0] * 3


@pytest.mark.parametrize(
    ("objective", "kind", "told"),
    [
        (DoublyStochastic(), "hard-captioner", "has no soft attention: choose model.kind=captioner"),
        (DoublyStochastic(), "transformer", "has no soft attention"),
        (Reinforce(), "captioner", "draws none: choose model.kind=hard-captioner"),
    ],
)
def test_a_model_that_looks_otherwise_is_refused(objective: Any, kind: str, told: str) -> None:
    model, batch = small(kind, "image-captioning"), example(kind, "image-captioning")
    with pytest.raises(SettingError, match=told):
        objective.start(model, batch)
