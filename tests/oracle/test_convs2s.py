"""ConvS2S against its equations, written out in NumPy for one sentence pair at a time (Gehring et al. 2017, section 3).

S source · T target · E embedding · D width
"""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from pydantic import ValidationError

from seqwright.layers.linear import Linear
from seqwright.layers.taps import listen
from seqwright.models.convs2s import ConvS2SSettings, convs2s, normed, scaled_gradient
from seqwright.models.encoder_decoder import EncoderDecoder
from tests.small_models import small, some_pairs

Array = NDArray[Any]
HALF = np.sqrt(0.5)


def shaken() -> EncoderDecoder:
    torch.manual_seed(3)
    model: EncoderDecoder = small("convs2s", "translation").eval()
    with torch.no_grad():
        for parameter in model.parameters():  # biases begin as zeros and lengths as those of the directions
            parameter.add_(torch.rand(parameter.shape) * 0.3)
    return model


def mapped(x: Array, linear: Any) -> Array:
    """`x Wᵀ + b`, where each row of W is its length times its direction."""
    length, direction = (np.asarray(t.detach()) for t in linear.parametrizations.weight.parameters())
    weight = length * direction / np.sqrt((direction**2).sum(axis=1, keepdims=True))
    mapping: Array = x @ weight.T + np.asarray(linear.bias.detach())
    return mapping


def gated(x_TD: Array, convolution: Any, shift: int) -> Array:
    """GLU of a convolution with a kernel of 3; at t the last position read is t + shift."""
    rows = []
    for t in range(len(x_TD)):
        reads = [t + shift - 2, t + shift - 1, t + shift]
        window = np.concatenate([x_TD[i] if 0 <= i < len(x_TD) else np.zeros(x_TD.shape[1]) for i in reads])
        a, b = np.split(mapped(window, convolution.filters), 2)
        rows.append(a / (1 + np.exp(-b)))
    return np.stack(rows)


def vectors(words: Any, tokens: list[int]) -> Array:
    last = len(words.positions.weight) - 1
    token, position = (np.asarray(part.weight.detach()) for part in (words.tokens, words.positions))
    return np.stack([token[id_] + position[min(t, last)] for t, id_ in enumerate(tokens)])


def by_hand(model: EncoderDecoder, source: list[int], target: list[int]) -> tuple[Array, list[Array]]:
    """The logits, and the weights of the attention of each layer."""
    e_SE = vectors(model.body.embedding, source)
    x_SD = mapped(e_SE, model.body.widen)
    for block in model.body.blocks:
        x_SD = (x_SD + gated(x_SD, block.convolution, 1)) * HALF
    z_SE = mapped(x_SD, model.body.narrow)
    g_TE = vectors(model.decoder.embedding, target)
    x_TD = mapped(g_TE, model.decoder.widen)
    weights = []
    for block in model.decoder.blocks:
        h_TD = gated(x_TD, block.convolution, 0)
        attention: Any = block.attention
        score_TS = (mapped(h_TD, attention.query) + g_TE) * HALF @ z_SE.T
        weight_TS = np.exp(score_TS) / np.exp(score_TS).sum(axis=1, keepdims=True)
        c_TE = weight_TS @ ((z_SE + e_SE) * HALF) * len(source) * np.sqrt(1 / len(source))
        h_TD = (h_TD + mapped(c_TE, attention.output)) * HALF
        x_TD = (x_TD + h_TD) * HALF
        weights.append(weight_TS)
    return mapped(x_TD, model.decoder.narrow) @ np.asarray(model.decoder.embedding.tokens.weight.detach()).T, weights


@torch.no_grad()
def test_it_is_what_the_equations_say_of_each_pair_alone() -> None:
    model, batch = shaken(), some_pairs()
    with listen(model) as heard:
        found_BTV, _ = model(batch)
    for row in range(3):
        source = batch.source_BS[row][batch.source_real_BS[row]].tolist()
        target = batch.input_BT[row][batch.real_BT[row]].tolist()
        target_TV, weights = by_hand(model, source, target)
        np.testing.assert_allclose(found_BTV[row, : len(target)], target_TV, atol=1e-4)
        for layer, target_TS in enumerate(weights):
            (found_BTS,) = heard[f"decoder.blocks.{layer}.attention.weights"]
            np.testing.assert_allclose(found_BTS[row, : len(target), : len(source)], target_TS, atol=1e-5)
            assert not bool(found_BTS[row, :, len(source) :].any())


def gradients(monkeypatch: pytest.MonkeyPatch, scaled: bool) -> dict[str, torch.Tensor]:
    if not scaled:
        monkeypatch.setattr("seqwright.models.convs2s.scaled_gradient", lambda x, scale: x)
    model = shaken()
    model(some_pairs())[0].square().sum().backward()
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def test_the_encoder_learns_a_share_of_what_all_attentions_say_and_the_source_words_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scaled, plain = gradients(monkeypatch, scaled=True), gradients(monkeypatch, scaled=False)
    for name, gradient in scaled.items():
        encoder = name.startswith(("body.blocks.", "body.widen.", "body.narrow."))
        torch.testing.assert_close(gradient, plain[name] / 3 if encoder else plain[name], rtol=1e-4, atol=1e-5)


def test_a_scaled_gradient_is_that_of_the_scaled_and_the_value_is_not() -> None:
    x = torch.tensor([2.0, -3.0], requires_grad=True)
    y = scaled_gradient(x, 0.25)
    assert torch.equal(y, x)
    (y**2).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, -1.5]


@pytest.mark.parametrize(("keep", "gated", "variance"), [(1.0, False, 1.0), (0.5, False, 0.5), (0.5, True, 2.0)])
def test_weights_begin_so_that_variances_stay(keep: float, gated: bool, variance: float) -> None:
    torch.manual_seed(1)
    linear = normed(Linear(400, 300), keep=keep, gated=gated)
    assert float(linear.weight.detach().var()) == pytest.approx(variance / 400, rel=0.03)
    assert not bool(linear.bias.any())
    assert len(list(linear.parametrizations["weight"].parameters())) == 2  # type: ignore[index, union-attr]


def test_positions_beyond_the_last_share_its_vector() -> None:
    model = shaken()
    place_1T = torch.tensor([[3, 4, 5, 999]])
    e_1TE = model.body.embedding(torch.full((1, 4), 6), place_1T)
    assert torch.equal(e_1TE[0, 1], e_1TE[0, 3])
    assert not torch.equal(e_1TE[0, 0], e_1TE[0, 1])


@pytest.mark.parametrize("wrong", [{"kernel": 0}, {"dropout": 1.0}, {"decoder_layers": 0}, {"heads": 2}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ConvS2SSettings.model_validate(wrong)


def test_one_vocabulary_has_one_size() -> None:
    with pytest.raises(ValueError, match="one size, not 5 and 7"):
        convs2s(ConvS2SSettings(), source_vocabulary=5, target_vocabulary=7)
