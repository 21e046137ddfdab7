"""ByteNet: its block against torch's own convolution, what it sees, and how it is unfolded (Kalchbrenner et al. 2016).

B batch · S columns of the source · T target · D width · V vocabulary
"""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError
from torch import Tensor, nn

from seqwright.batches.pairs import Pairs, pairs
from seqwright.layers.taps import listen
from seqwright.models.bytenet import ByteNetSettings, SourceBlock, TargetBlock, bytenet, columns_at
from seqwright.models.encoder_decoder import EncoderDecoder

C, K = 5, 3


def built(**settings: Any) -> EncoderDecoder:
    torch.manual_seed(2)
    chosen = ByteNetSettings(**{"channels": C, "encoder_sets": 1, "decoder_sets": 1, "dilations": (1, 2), **settings})
    return bytenet(chosen, source_vocabulary=17, target_vocabulary=11, shared=False).eval().double()


def batch_of(source: int, target: int) -> Pairs:
    draw = torch.Generator().manual_seed(1)
    rows = [torch.randint(4, 11, (length,), generator=draw).numpy() for length in (source - 1, target - 1)]
    return pairs([rows[0]], [rows[1]], begin=2, end=3)


def relu_of_norm(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return ((centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()) * norm.weight + norm.bias).clamp_min(0)


@pytest.mark.parametrize(("block", "before", "after"), [(SourceBlock, 4, 4), (TargetBlock, 8, 0)])
@torch.no_grad()
def test_a_block_is_the_papers_figure(block: type[SourceBlock | TargetBlock], before: int, after: int) -> None:
    ours = block(channels=C, kernel=K, dilation=4, dropout=0.1).eval()
    for parameter in ours.parameters():
        parameter.add_(torch.rand(parameter.shape, generator=torch.Generator().manual_seed(7)) * 0.2)
    x_1TD = torch.randn(1, 13, 2 * C, generator=torch.Generator().manual_seed(8))
    around = ours.around
    narrow_1TC = relu_of_norm(x_1TD, around.wide_norm) @ around.narrow.weight.T + around.narrow.bias
    h_1TC = relu_of_norm(narrow_1TC, around.narrow_norm)
    filters = ours.convolution.filters
    weight_CCK = filters.weight.view(C, K, C).transpose(1, 2)
    h_1CT = F.conv1d(F.pad(h_1TC.mT, (before, after)), weight_CCK, filters.bias, dilation=4)
    target_1TD = x_1TD + relu_of_norm(h_1CT.mT, around.said_norm) @ around.widen.weight.T + around.widen.bias
    if isinstance(ours, SourceBlock):
        found_1TD = ours(x_1TD, torch.ones(1, 13, dtype=torch.bool))
    else:
        found_1TD, _ = ours(x_1TD, ours.convolution.start(1), None)
    torch.testing.assert_close(found_1TD, target_1TD, rtol=0, atol=1e-5)


def extent(gradient_TD: Tensor) -> int:
    place = gradient_TD.any(-1).nonzero()
    return int(place.max() - place.min()) + 1


@pytest.mark.parametrize(
    ("settings", "source", "target"),
    [
        ({"dilations": (1, 2)}, 7, 7),
        ({"dilations": (1, 2), "decoder_sets": 2}, 7, 13),
        ({"dilations": (1, 2, 4), "encoder_sets": 2}, 29, 15),
        ({"dilations": (1, 3), "kernel": 2}, 5, 5),
    ],
)
def test_the_receptive_field_is_the_one_measured_by_gradients(
    settings: dict[str, Any], source: int, target: int
) -> None:
    """From where to where inputs have a gradient of what is said in the middle of a sentence longer than the field."""
    model, length = built(**settings, stretch=1.0), 67
    assert model.body.settings.receptive_field() == (source, target)
    embedded: list[Tensor] = []
    for words in (model.body.embedding, model.decoder.embedding):
        words.register_forward_hook(lambda _, __, e_BTD: embedded.append(e_BTD.requires_grad_()) or e_BTD)  # type: ignore[func-returns-value]
    logits_BTV, _ = model(batch_of(length, length))
    read_BSD, written_BTD = embedded
    (seen_BTD,) = torch.autograd.grad(logits_BTV[0, 40].sum(), written_BTD, retain_graph=True)
    # Of the source the decoder sees the columns of the target tokens it sees, each with the field of the encoder.
    (read,) = torch.autograd.grad(logits_BTV[0, 40].sum(), read_BSD)
    assert extent(seen_BTD[0]) == target
    assert extent(read[0]) == target + source - 1


@torch.no_grad()
def test_the_encoder_makes_as_many_columns_as_the_target_may_be_long() -> None:
    model = built(stretch=1.5, extra=2)
    state = model.start(batch_of(6, 4))
    assert state.source_BSD.shape == (1, 11, 2 * C)
    assert bool(state.source_BSD.any(-1).all())
    place_1T = torch.tensor([[0, 10, 11, 50]])
    found_1TD = columns_at(state.source_BSD, place_1T)
    assert torch.equal(found_1TD[0, :2], state.source_BSD[0, [0, 10]])
    assert not bool(found_1TD[0, 2:].any())


@torch.no_grad()
def test_a_column_after_the_source_knows_of_it() -> None:
    model, batch = built(stretch=1.5, dilations=(1, 2, 4)), batch_of(6, 4)
    before = model.start(batch).source_BSD
    other = batch.replace(source_BS=batch.source_BS.clone())
    other.source_BS[0, 4] = 4 + (other.source_BS[0, 4] - 3) % 7
    changed_S = (model.start(other).source_BSD != before).any(-1)[0]
    assert bool(changed_S[8])


@torch.no_grad()
def test_a_target_goes_on_where_there_are_no_columns() -> None:
    model, batch = built(stretch=1.0), batch_of(3, 9)
    with listen(model) as heard:
        logits_BTV, _ = model(batch)
    assert logits_BTV.shape[1] == 9
    assert heard["body.contextual"][0].shape[1] == 3
    assert bool(torch.isfinite(logits_BTV).all())


@pytest.mark.parametrize("wrong", [{"dilations": ()}, {"dilations": (0,)}, {"stretch": 0.9}, {"extra": -1}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ByteNetSettings.model_validate(wrong)
