"""A model prepared for decoding says what the model itself says, whatever a search does with its states."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqwright.decoding import DecodingSettings, Prefix, decoded, repeated
from seqwright.decoding.stepper import reordered
from seqwright.layers import key_value_cache as caching
from seqwright.layers import prepared as preparing
from seqwright.layers.blocks import FeedForward
from seqwright.layers.key_value_cache import KeyValueCache
from seqwright.layers.positions import NoPositions, SinusoidalPositions
from seqwright.layers.prepared import (
    PackedLinear,
    PackedTokens,
    PreparedAttention,
    PreparedSinusoids,
    prepared,
    prepared_for,
)
from seqwright.lineage import MODELS, Model
from tests import small_models
from tests.contract.test_positions import DistanceBias, Rotation, T, block, drawn

STEPPERS = [row for row in MODELS if "steps" in row.promises]
every_stepper = pytest.mark.parametrize("row", STEPPERS, ids=[f"{row.task}-{row.kind}" for row in STEPPERS])
END = small_models.END


@pytest.fixture(autouse=True)
def small_matrices_are_packed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "LARGE", 1)


def made(row: Model) -> tuple[Any, Any, Any]:
    """A model, the same prepared, and a batch."""
    torch.manual_seed(1)
    model = small_models.small(row.kind, row.task).eval()
    return model, prepared(model), small_models.example(row.kind, row.task)


def some_tokens(batch: Any, rows: int, time: int, seed: int = 3) -> Tensor:
    known: Tensor = batch.input_BT[batch.real_BT]
    return known[torch.randint(len(known), (rows, time), generator=torch.Generator().manual_seed(seed))]


def close(found: Tensor, target: Tensor) -> None:
    torch.testing.assert_close(found, target, rtol=0, atol=1e-5)


class Both:
    """A model and its prepared twin, led through the same steps; each time they must say the same."""

    def __init__(self, model: Any, twin: Any, batch: Any) -> None:
        self.model, self.twin, self.batch = model, twin, batch
        self.state, self.twins = model.start(batch), twin.start(batch)
        self.rows, self.seed = len(batch.input_BT), 0

    def read(self, length_B: list[int]) -> None:
        self.seed += 1
        tokens_BT = some_tokens(self.batch, self.rows, max(length_B), self.seed)
        real_BT = torch.arange(max(length_B)) < torch.tensor(length_B)[:, None]
        logits_BTV, self.state = self.model.read(tokens_BT, real_BT, self.state)
        found_BTV, self.twins = self.twin.read(tokens_BT, real_BT, self.twins)
        close(found_BTV[real_BT], logits_BTV[real_BT])

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.seed += 1
            token_B = some_tokens(self.batch, self.rows, 1, self.seed)[:, 0]
            logits_BV, self.state = self.model.step(token_B, self.state)
            found_BV, self.twins = self.twin.step(token_B, self.twins)
            close(found_BV, logits_BV)

    def repeat(self, times: int) -> None:
        self.state, self.twins = repeated(self.state, times), repeated(self.twins, times)
        self.rows *= times

    def reorder(self, rows: list[int]) -> None:
        rows_B = torch.tensor(rows)
        self.state, self.twins = reordered(self.state, rows_B), reordered(self.twins, rows_B)
        self.rows = len(rows)


@pytest.fixture(params=["by sums of rows", "by products"])
def either_way_of_reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on this processor, and as on one without the kernel for sums."""
    if request.param == "by products":
        monkeypatch.setattr(caching, "sums_are_quick", lambda x: False)


@every_stepper
@pytest.mark.usefixtures("either_way_of_reading")
@torch.inference_mode()
def test_it_agrees_with_the_model_however_rows_are_repeated_moved_and_dropped(row: Model) -> None:
    both = Both(*made(row))
    both.read([3, 1, 2])
    both.step(2)
    both.reorder([2, 0, 2])
    both.step()
    both.repeat(3)
    both.step()
    both.reorder([1, 1, 0, 5, 3, 4, 6, 6, 8])  # within the rows
    both.step(2)
    both.read([2, 1, 2, 2, 2, 1, 1, 2, 2])
    both.reorder([1, 0, 0, 8, 7, 6])  # a row is over
    both.step(2)
    both.reorder([5, 3, 4, 0, 0, 1])  # the rows change places
    both.step()
    both.reorder([0, 3, 4, 5, 2, 2, 1])  # across the rows
    both.step()
    both.repeat(2)
    both.step(2)
    both.repeat(2)
    both.step()


@every_stepper
@pytest.mark.usefixtures("either_way_of_reading")
@torch.inference_mode()
def test_where_only_a_few_of_the_beginnings_live_on_it_still_agrees(row: Model) -> None:
    """Long enough that what nobody has grown from is cleared away."""
    both = Both(*made(row))
    both.repeat(5)
    for _ in range(11):
        both.step()
        both.reorder([5 * place + rank for place in range(3) for rank in (2, 2, 2, 2, 4)])


@every_stepper
@pytest.mark.usefixtures("either_way_of_reading")
@torch.inference_mode()
def test_a_state_stays_what_it_was_whoever_goes_on_from_it(row: Model) -> None:
    """Two ways on from the same state, one after the other, and the first again."""
    _, twin, batch = made(row)
    tokens_BT = some_tokens(batch, 2 * len(batch.input_BT), 7)
    _, state = twin.step(tokens_BT[: len(batch.input_BT), 0], twin.start(batch))
    states = [repeated(state, 2)]
    states.append(twin.step(tokens_BT[:, 1], states[0])[1])
    states.append(reordered(states[1], torch.tensor([1, 1, 2, 3, 5, 4])))
    before = [twin.step(tokens_BT[:, 2], each)[0] for each in states]
    for each in states:
        for t in (3, 4):
            _, each = twin.step(tokens_BT[:, t], each)  # noqa: PLW2901 - another way on
    for each, logits_BV in zip(states, before, strict=True):
        assert torch.equal(twin.step(tokens_BT[:, 2], each)[0], logits_BV)


SETTINGS = {
    "greedy": DecodingSettings(),
    "rules": DecodingSettings(no_repeat=2, shortest=3, repetition_penalty=1.3),
    "beam": DecodingSettings(beam=3, n_best=2, shortest=2),
    "samples": DecodingSettings(temperature=1.2, n_best=3, top_k=5),
}


@every_stepper
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("prefix", [False, True])
@torch.inference_mode()
def test_searches_find_the_same(row: Model, settings: DecodingSettings, prefix: bool) -> None:
    model, twin, batch = made(row)
    rows = len(batch.input_BT)
    real_BT = torch.arange(2) < torch.tensor([2, 0, 1])[torch.arange(rows) % 3, None]
    begins = Prefix(some_tokens(batch, rows, 2), real_BT) if prefix else None
    found = [
        decoded(
            each,
            each.start(batch),
            settings,
            first_B=batch.input_BT[:, 0],
            end=END,
            steps=11,
            forbidden=(0, 1, 2),
            prefix=begins,
        )
        for each in (model, twin)
    ]
    for plain, fast in zip(*found, strict=True):
        assert [each.tokens for each in fast] == [each.tokens for each in plain]
        assert [each.finished for each in fast] == [each.finished for each in plain]
        assert [each.score for each in fast] == pytest.approx([each.score for each in plain], abs=1e-5)


@every_stepper
@torch.inference_mode()
def test_it_agrees_in_the_precision_in_which_training_validates(row: Model) -> None:
    model, twin, batch = made(row)
    token_B = some_tokens(batch, len(batch.input_BT), 1)[:, 0]
    with torch.autocast("cpu", torch.bfloat16):
        state, twins = model.start(batch), twin.start(batch)
        for _ in range(3):
            logits_BV, state = model.step(token_B, state)
            found_BV, twins = twin.step(token_B, twins)
            assert found_BV.dtype is logits_BV.dtype
            torch.testing.assert_close(found_BV, logits_BV, rtol=0, atol=0.05)


@every_stepper
def test_the_model_itself_stays_as_it_is(row: Model) -> None:
    model, twin, _ = made(row)
    kinds = PackedLinear, PackedTokens, PreparedAttention
    assert not any(isinstance(module, kinds) for module in model.modules())
    mine = {parameter.data_ptr() for parameter in model.parameters()}
    assert {parameter.data_ptr() for parameter in twin.parameters()} <= mine
    model.train()
    assert not any(module.training for module in twin.modules())


@torch.inference_mode()
def test_hypotheses_share_what_they_have_read_before_they_parted() -> None:
    """Neither the source nor the beginning of the text is there once for each hypothesis."""
    _, twin, batch = made(next(row for row in STEPPERS if row.kind == "transformer"))
    _, state = twin.step(batch.input_BT[:, 0], twin.start(batch))
    shared = repeated(state, 4)
    later = reordered(shared, torch.tensor([1, 0, 3, 3, 4, 5, 6, 7, 8, 8, 8, 8]))
    for before, after in zip((*state.source, *state.past), (*later.source, *later.past), strict=True):
        assert isinstance(after, KeyValueCache)
        assert after.width == 4
        assert after.buffer is before.buffer


@torch.inference_mode()
def test_what_no_hypothesis_has_grown_from_is_cleared_away() -> None:
    _, twin, batch = made(next(row for row in STEPPERS if row.kind == "transformer"))
    state = repeated(twin.step(batch.input_BT[:, 0], twin.start(batch))[1], 5)
    for _ in range(17):
        _, state = twin.step(some_tokens(batch, 5 * len(batch.input_BT), 1)[:, 0], state)
        state = reordered(state, torch.arange(0, 5 * len(batch.input_BT), 5).repeat_interleave(5))
    assert state.past[0].length < 5 * 17 - 20


@pytest.mark.parametrize("shape", [(3, 1, 7), (1, 1, 7), (3, 5, 7), (3, 7)])
@pytest.mark.parametrize("outputs", [11, 61])
@pytest.mark.parametrize("bias", [False, True])
@torch.inference_mode()
def test_a_packed_product_is_that_of_the_layer(shape: tuple[int, ...], outputs: int, bias: bool) -> None:
    torch.manual_seed(1)
    linear, x_BTD = nn.Linear(7, outputs, bias=bias), torch.randn(shape)
    close(PackedLinear(linear.weight, linear.bias)(x_BTD), linear(x_BTD))


@pytest.mark.parametrize("least", [1, 1 << 19], ids=["packed", "small"])
@torch.inference_mode()
def test_negative_outputs_become_zeros_on_the_way(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "LARGE", least)
    linear, x_B1D = nn.Linear(7, 11), torch.randn(3, 1, 7)
    close(PackedLinear(linear.weight, linear.bias)(x_B1D, "relu"), linear(x_B1D).relu())


@torch.inference_mode()
def test_positions_that_are_looked_up_are_those_that_are_computed_however_far() -> None:
    positions = SinusoidalPositions(width=6)
    known = prepared(nn.Sequential(positions))
    for place_BT in (torch.tensor([[0, 1, 2], [1, 0, 5]]), torch.tensor([[999], [3]]), torch.tensor([[4], [-1]])):
        assert torch.equal(known(place_BT), positions(place_BT.clamp_min(0)))
    assert isinstance(known[0], PreparedSinusoids)


@torch.inference_mode()
def test_a_feed_forward_leaves_padding_of_a_text_out() -> None:
    layer, x_BTD = FeedForward(width=7, inner=11), torch.randn(3, 5, 7)
    real_BT = torch.arange(5) < torch.tensor([[5], [2], [3]])
    found_BTD = prepared(layer)(x_BTD, real_BT)
    close(found_BTD[real_BT], layer(x_BTD)[real_BT])
    assert not found_BTD[~real_BT].any()
    close(prepared(layer)(x_BTD), layer(x_BTD))
    close(prepared(layer)(x_BTD[:, :1], torch.zeros(3, 1, dtype=torch.bool)), layer(x_BTD[:, :1]))


@torch.inference_mode()
def test_the_layers_of_a_step_are_told_once_who_may_read_what() -> None:
    allowed_R1C = torch.tensor([[[True, False, True]]])
    bias_R1C = caching.bias_of(allowed_R1C)
    assert bias_R1C is not None
    assert bias_R1C.tolist() == [[[0.0, -torch.inf, 0.0]]]
    assert caching.bias_of(allowed_R1C) is bias_R1C
    assert caching.bias_of(torch.ones(1, 1, 3, dtype=torch.bool)) is None


@torch.inference_mode()
def test_a_matrix_is_packed_where_it_is_multiplied_again_or_by_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    linear = nn.Linear(7, 11)
    for shape, packs in (((1, 1, 7), True), ((3, 5, 7), False), ((3, 1, 7), True), ((4, 16, 7), True)):
        layer = PackedLinear(linear.weight, linear.bias)
        layer(torch.randn(shape))
        assert ("packed" in vars(layer)) is packs
    monkeypatch.setattr(preparing, "LARGE", 3 * 7 * 11 + 1)
    layer = PackedLinear(linear.weight, linear.bias)
    layer(torch.randn(3, 1, 7))
    assert "packed" not in vars(layer)


@torch.inference_mode()
def test_without_such_an_operation_the_product_is_the_plain_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: Any) -> Tensor:
        raise RuntimeError("Could not run 'mkldnn::_linear_pointwise'")

    monkeypatch.setattr(preparing, "product", refused)
    linear, x_B1D = nn.Linear(7, 11), torch.randn(3, 1, 7)
    assert torch.equal(PackedLinear(linear.weight, linear.bias)(x_B1D), linear(x_B1D))


def test_models_on_another_device_in_another_precision_or_too_large_are_not_packed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert preparing.may_be_packed(nn.Linear(7, 11)) == torch.backends.mkldnn.is_available()
    assert not preparing.may_be_packed(nn.Linear(7, 11, device="meta"))
    assert not preparing.may_be_packed(nn.Linear(7, 11).bfloat16())
    monkeypatch.setattr(preparing, "MOST", 76)
    assert not preparing.may_be_packed(nn.Linear(7, 11))


@pytest.mark.parametrize("kind", [Rotation, DistanceBias])
@torch.inference_mode()
def test_attention_that_is_told_of_places_is_told_after_reordering_too(kind: type[NoPositions]) -> None:
    """A block whose attention has positions, in its own cache and in a shared one that has been reordered."""
    each, rows_R, position_1T = block(kind), torch.tensor([1, 0, 2, 2, 5, 4]), torch.arange(T).unsqueeze(0)
    twin, x_RTD = prepared(each), drawn().repeat_interleave(2, dim=0)
    x_RTD = x_RTD + torch.randn(x_RTD.shape, generator=torch.Generator().manual_seed(3))
    past: Any = None
    twins: Any = None
    for t in range(3):
        x_R1D, place_1C = x_RTD[:, t : t + 1], position_1T[:, : t + 1]
        if t == 0:  # what both hypotheses of a row have read
            _, past = each(x_R1D[::2], None, None, place_1C)
            _, twins = twin(x_R1D[::2], None, None, place_1C)
            past, twins = repeated(past, 2), repeated(twins, 2)
            continue
        target_R1D, past = each(x_R1D, None, past, place_1C)
        found_R1D, twins = twin(x_R1D, None, twins, place_1C)
        close(found_R1D, target_R1D)
        past, twins = reordered(past, rows_R), reordered(twins, rows_R)


def test_a_model_is_prepared_where_hypotheses_share_or_a_matrix_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Sequential(nn.Linear(3, 5))
    monkeypatch.setattr("seqwright.layers.prepared.LARGE", 16)
    assert prepared_for(model, 1) is model
    assert prepared_for(model, 2) is not model
    monkeypatch.setattr("seqwright.layers.prepared.LARGE", 15)
    assert prepared_for(model, 1) is not model
