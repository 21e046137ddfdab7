"""What every model of the family promises, run over `lineage.py`: a new row there is tested here without a change.

A batch is made of tensors whose names end in their shape, so it can be padded and cut by the names alone; `input_B`, of
tokens or of values, begins with B and T. Left-to-right models are given `input_BT` and `real_BT`. An example has three
rows or more, and five positions or more.
"""

from copy import deepcopy
from typing import Any

import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from seqwright.batches.packed import packed_texts
from seqwright.batches.text import Text, texts
from seqwright.decoding.stepper import reordered
from seqwright.devices import computes_bfloat16, computes_int8, in_precision
from seqwright.errors import SettingError
from seqwright.kinds import chosen
from seqwright.layers.embeddings import HasTokenVectors
from seqwright.layers.int8 import Int8Weight
from seqwright.layers.taps import Tap, listen
from seqwright.lineage import MODELS, Model
from seqwright.models.language_model import LanguageModel
from seqwright.training.weights import load_tensors, unique_tensors
from tests import small_models

NAMES = {row: f"{row.task}-{row.kind}" for row in MODELS}


def those_that(promise: str) -> pytest.MarkDecorator:
    promising = [row for row in MODELS if promise in row.promises]
    return pytest.mark.parametrize("row", promising, ids=[NAMES[row] for row in promising])


every_model = pytest.mark.parametrize("row", MODELS, ids=NAMES.values())
EMBEDDED = [row for row in MODELS if isinstance(small_models.small(row.kind, row.task), HasTokenVectors)]
those_with_token_vectors = pytest.mark.parametrize("row", EMBEDDED, ids=[NAMES[row] for row in EMBEDDED])


def small(row: Model, seed: int = 1) -> Any:
    torch.manual_seed(seed)
    return small_models.small(row.kind, row.task).eval()


def example(row: Model) -> Any:
    return small_models.example(row.kind, row.task)


@torch.no_grad()
def logits(model: nn.Module, batch: Any) -> Tensor:
    """What the model says of a batch, its padding left out."""
    found: Tensor = model(batch, None)[0]
    return found[batch.loss_mask]


def shape_of(name: str) -> str:
    """The axes of a tensor as its name has them: `source_BS` has B and S."""
    return "BT" if name == "input_B" else name.rsplit("_", 1)[-1]


def longer(batch: Any, by: int, axis: str) -> Any:
    """The batch with more padding along an axis: rubbish where something is read, False where flags say what is."""
    parts = {}
    for name, tensor in batch.tensors().items():
        place = shape_of(name).find(axis)
        if place < 0:
            continue
        shape = [*tensor.shape]
        shape[place] = by
        rubbish = False if tensor.dtype == torch.bool else tensor.flatten()[0].item()
        parts[name] = torch.cat([tensor, tensor.new_full(shape, rubbish)], dim=place)
    return batch.replace(**parts)


def axes(batch: Any) -> list[str]:
    """The axes that hold padding."""
    return sorted({name[-1] for name in batch.tensors() if "real_" in name})


def full_rows(batch: Any) -> Tensor:
    """`tokens_BT` without padding: known tokens, another row each."""
    known: Tensor = batch.input_BT[batch.real_BT]
    draw = torch.Generator().manual_seed(3)
    return known[torch.randint(len(known), batch.input_BT.shape, generator=draw)]


def read_tokens(batch: Any, side: str) -> Tensor:
    """The tokens of a batch that a model has vectors for: those of the source, or those it is given."""
    tensors: dict[str, Tensor] = batch.tensors()
    return tensors["source_BS"] if side == "source" else tensors["input_B" if "input_B" in tensors else "input_BT"]


def all_real(tokens_BT: Tensor) -> Tensor:
    return torch.ones_like(tokens_BT, dtype=torch.bool)


def leaves(state: Any) -> list[Tensor]:
    if state is None:
        return []
    return [state] if isinstance(state, Tensor) else [leaf for part in state for leaf in leaves(part)]


def close(found: Tensor, wanted: Tensor, by: float = 1e-5) -> None:
    torch.testing.assert_close(found, wanted, rtol=0, atol=by)


# ------------------------------------------------------------------------------------------------ every model


@every_model
def test_the_same_batch_gives_the_same_bits(row: Model) -> None:
    model, batch = small(row), example(row)
    assert torch.equal(logits(model, batch), logits(model, batch))


@every_model
@torch.no_grad()
def test_rows_do_not_influence_each_other(row: Model) -> None:
    model, batch = small(row), example(row)
    for number in range(len(batch)):
        together = model(batch, None)[0][number][batch.loss_mask[number]]
        close(logits(model, batch.rows([number])), together)


@every_model
@torch.no_grad()
def test_the_order_of_the_rows_does_not_matter(row: Model) -> None:
    model, batch = small(row), example(row)
    order = list(reversed(range(len(batch))))
    moved = batch.rows(order)
    close(logits(model, moved), model(batch, None)[0][order][moved.loss_mask])


@every_model
def test_another_model_given_the_saved_tensors_scores_to_the_same_bit(row: Model) -> None:
    model, other, batch = small(row, seed=1), small(row, seed=2), example(row)
    wanted = logits(model, batch)
    assert not torch.equal(logits(other, batch), wanted)
    load_tensors(other, load(save(unique_tensors(model))))
    assert torch.equal(logits(other, batch), wanted)


@every_model
def test_listening_changes_nothing(row: Model) -> None:
    model, batch = small(row), example(row)
    before = logits(model, batch)
    with listen(model):
        while_listening = logits(model, batch)
    close(while_listening, before)
    assert torch.equal(logits(model, batch), before)


@every_model
def test_every_tap_is_heard_and_weights_sum_to_one(row: Model) -> None:
    model, batch = small(row), example(row)
    with listen(model) as heard:
        logits(model, batch)
    assert {name for name, tensors in heard.items() if tensors} == {
        name for name, module in model.named_modules() if isinstance(module, Tap)
    }
    for name, tensors in heard.items():
        for weights in tensors if name.endswith("weights") else []:
            assert bool((weights >= 0).all())
            close(weights.sum(-1), torch.ones(weights.shape[:-1]))


@those_with_token_vectors
@torch.no_grad()
def test_the_vectors_of_the_tokens_are_those_the_model_reads(row: Model) -> None:
    """Another vector of a token that stands in the batch, and what the model says and makes of the tokens is other."""
    model, batch = small(row), example(row)
    before = logits(model, batch)
    for side, vectors in model.token_vectors().items():
        tokens_BT = read_tokens(batch, side)
        assert int(tokens_BT.max()) < len(vectors.embedding_VD)
        with listen(model):
            logits(model, batch)
            (heard_BTD,) = vectors.contextual.heard
        assert heard_BTD.shape[:2] == tokens_BT.shape
        kept = vectors.embedding_VD.clone()
        vectors.embedding_VD[tokens_BT[0, 1]] += torch.randn(kept.shape[1], generator=torch.Generator().manual_seed(2))
        with listen(model):
            assert not torch.allclose(logits(model, batch), before)
            (other_BTD,) = vectors.contextual.heard
        assert not torch.allclose(other_BTD[0, 1], heard_BTD[0, 1])
        vectors.embedding_VD.copy_(kept)


@those_that("gradient")
def test_every_parameter_learns(row: Model) -> None:
    model, batch = small(row).train(), example(row)
    kind = chosen("objective", None, row.task)
    objective = kind.load(kind.thing)()
    loss, _ = objective(model, batch, objective.start(model, batch))
    loss.total(objective.counts(batch)).backward()
    still = [name for name, p in model.named_parameters() if p.grad is None or not bool(p.grad.any())]
    assert still == []


@those_that("gradient")
def test_the_model_is_trained_with_chance_and_used_without(row: Model) -> None:
    model, batch = small(row), example(row)
    used = logits(model, batch)
    torch.manual_seed(1)
    trained = logits(model.train(), batch)
    torch.manual_seed(1)
    assert torch.equal(logits(model, batch), trained)
    assert torch.equal(logits(model.eval(), batch), used)


# ------------------------------------------------------------------------------------------------ those that pad


@those_that("pads")
@pytest.mark.parametrize("more", [1, 5])
def test_padding_changes_nothing(row: Model, more: int) -> None:
    model, batch = small(row), example(row)
    wanted, longest = logits(model, batch), batch
    for axis in axes(batch):
        close(logits(model, longer(batch, more, axis)), wanted)
        longest = longer(longest, more, axis)
    close(logits(model, longest), wanted)


@those_that("pads")
def test_what_stands_in_the_padding_changes_nothing(row: Model) -> None:
    model, batch = small(row), example(row)
    tensors = batch.tensors()
    changed = {}
    for name, tensor in tensors.items():
        axis = shape_of(name)[-1]
        real = next((flags for flag, flags in tensors.items() if "real_" in flag and flag[-1] == axis), None)
        if real is not None and tensor.dtype != torch.bool:
            assert not bool(real.all()), f"the example has no padding along {axis}"
            changed[name] = tensor.clone()
            changed[name][~real] = tensor[real][0]
    close(logits(model, batch.replace(**changed)), logits(model, batch))


# ------------------------------------------------------------------------------------------------ those that step


@those_that("steps")
@torch.no_grad()
def test_stepping_agrees_with_reading_it_all_at_once(row: Model) -> None:
    model, batch = small(row), example(row)
    tokens_BT = full_rows(batch)
    whole_BTV, _ = model.read(tokens_BT, all_real(tokens_BT), model.start(batch))
    state = model.start(batch)
    for t, tokens_B in enumerate(tokens_BT.T):
        logits_BV, state = model.step(tokens_B, state)
        close(logits_BV, whole_BTV[:, t])


@those_that("steps")
@torch.no_grad()
def test_reading_in_pieces_agrees_with_reading_it_all_at_once(row: Model) -> None:
    model, batch = small(row), example(row)
    whole_BTV, _ = model.read(batch.input_BT, batch.real_BT, model.start(batch))
    for pieces in ([1, 2], [3, 1], [2, 2, 2]):
        state, found = model.start(batch), []
        sizes = [*pieces, batch.input_BT.shape[1] - sum(pieces)]
        for tokens_BT, real_BT in zip(batch.input_BT.split(sizes, 1), batch.real_BT.split(sizes, 1), strict=True):
            logits_BTV, state = model.read(tokens_BT, real_BT, state)
            found.append(logits_BTV)
        close(torch.cat(found, dim=1)[batch.real_BT], whole_BTV[batch.real_BT])


@those_that("steps")
@torch.no_grad()
def test_prompts_of_different_length_share_a_batch(row: Model) -> None:
    model, batch = small(row), example(row)
    tokens_BT = full_rows(batch)
    whole_BTV, _ = model.read(tokens_BT, all_real(tokens_BT), model.start(batch))
    row_B = torch.arange(len(tokens_BT))
    length_B = torch.tensor([2, 4, 1])[row_B % 3]
    real_BT = torch.arange(4) < length_B[:, None]
    prompt_BTV, state = model.read(tokens_BT[:, :4], real_BT, model.start(batch))
    close(prompt_BTV[real_BT], whole_BTV[:, :4][real_BT])
    while int(length_B.max()) < tokens_BT.shape[1]:
        logits_BV, state = model.step(tokens_BT[row_B, length_B], state)
        close(logits_BV, whole_BTV[row_B, length_B])
        length_B = length_B + 1


@those_that("steps")
@torch.no_grad()
def test_the_future_is_hidden(row: Model) -> None:
    model, batch = small(row), example(row)
    tokens_BT = full_rows(batch)
    whole_BTV, _ = model.read(tokens_BT, all_real(tokens_BT), model.start(batch))
    known = tokens_BT.unique()
    for t in range(1, tokens_BT.shape[1]):
        other_BT = tokens_BT.clone()
        next_B = torch.searchsorted(known, tokens_BT[:, t].contiguous()) + 1
        other_BT[:, t] = known[next_B % len(known)]
        changed_BTV, _ = model.read(other_BT, all_real(other_BT), model.start(batch))
        close(changed_BTV[:, :t], whole_BTV[:, :t], by=1e-6)
        assert bool(((changed_BTV[:, t] - whole_BTV[:, t]).abs().amax(-1) > 1e-4).all())


@those_that("steps")
@torch.inference_mode()
def test_rounded_to_bfloat16_it_says_nearly_the_same_and_leaves_the_model_alone(row: Model) -> None:
    model, batch = small(row), example(row)
    before = [parameter.clone() for parameter in model.parameters()]
    rounded = in_precision(model, "bfloat16") if computes_bfloat16(torch.device("cpu")) else deepcopy(model).bfloat16()
    assert all(each.dtype == torch.bfloat16 for each in rounded.parameters())
    assert all(map(torch.equal, before, model.parameters()))
    state, exact = rounded.start(batch), model.start(batch)
    for token_B in full_rows(batch).unbind(1):
        logits_BV, state = rounded.step(token_B, state)
        target_BV, exact = model.step(token_B, exact)
        close(logits_BV.float(), target_BV.float(), by=0.1 * max(1.0, float(target_BV.abs().max())))


@those_that("steps")
@pytest.mark.parametrize("narrowed", [False, True], ids=["alone", "where training validates in bfloat16"])
@torch.inference_mode()
def test_in_int8_it_says_nearly_the_same_and_leaves_the_model_alone(row: Model, narrowed: bool) -> None:
    model, batch = small(row), example(row)
    if not computes_int8(torch.device("cpu")):
        pytest.skip("no kernels for int8 here")
    if not any(True for _ in model.parameters()):
        with pytest.raises(SettingError, match="this one has counted"):
            in_precision(model, "int8")
        return
    before = [parameter.clone() for parameter in model.parameters()]
    rounded, products, product = in_precision(model, "int8"), list[Int8Weight](), Int8Weight.product

    def heard(weight: Int8Weight, x: torch.Tensor) -> torch.Tensor:
        products.append(weight)
        return product(weight, x)

    with pytest.MonkeyPatch.context() as patch, torch.autocast("cpu", torch.bfloat16, enabled=narrowed):
        patch.setattr(Int8Weight, "product", heard)
        state, exact = rounded.start(batch), model.start(batch)
        for token_B in full_rows(batch).unbind(1):
            logits_BV, state = rounded.step(token_B, state)
            target_BV, exact = model.step(token_B, exact)
            close(logits_BV.float(), target_BV.float(), by=0.1 * max(1.0, float(target_BV.abs().max())))
    assert products  # or nothing was rounded
    assert all(map(torch.equal, before, model.parameters()))


@those_that("steps")
@torch.no_grad()
def test_a_step_never_writes_into_the_state_it_was_given(row: Model) -> None:
    model, batch = small(row), example(row)
    tokens_BT = full_rows(batch)
    real_BT = all_real(tokens_BT[:, :3])
    for state in (model.start(batch), model.read(tokens_BT[:, :3], real_BT, model.start(batch))[1]):
        before = [leaf.clone() for leaf in leaves(state)]
        first_BV, _ = model.step(tokens_BT[:, 3], state)
        model.read(tokens_BT[:, :3], real_BT, state)
        again_BV, _ = model.step(tokens_BT[:, 3], state)
        assert all(torch.equal(leaf, kept) for leaf, kept in zip(leaves(state), before, strict=True))
        assert torch.equal(again_BV, first_BV)


@those_that("steps")
@torch.no_grad()
def test_a_reordered_state_is_the_state_of_the_reordered_rows(row: Model) -> None:
    model, batch = small(row), example(row)
    tokens_BT = full_rows(batch)
    state = model.start(batch)
    _, after = model.read(tokens_BT[:, :3], all_real(tokens_BT[:, :3]), state)
    rows = [2, 0, 0, 1]
    moved_BT = tokens_BT[rows]
    for before, known in ((state, 0), (after, 3)):
        found_BV, _ = model.step(moved_BT[:, known], reordered(before, torch.tensor(rows)))
        fresh = model.start(batch.rows(rows))
        target_BTV, _ = model.read(moved_BT[:, : known + 1], all_real(moved_BT[:, : known + 1]), fresh)
        close(found_BV, target_BTV[:, -1])


@those_that("steps")
@torch.no_grad()
def test_every_tensor_of_a_state_has_a_row_for_each_row(row: Model) -> None:
    model, batch = small(row), example(row)
    tokens_BT = full_rows(batch)
    state = model.start(batch)
    for t in range(2):
        assert {len(leaf) for leaf in leaves(state)} == {len(tokens_BT)}
        _, state = model.step(tokens_BT[:, t], state)


BODIES = [row for row in MODELS if isinstance(small_models.small(row.kind, row.task), LanguageModel)]


@pytest.mark.parametrize("row", BODIES, ids=[NAMES[row] for row in BODIES])
@torch.no_grad()
def test_the_body_of_a_language_model_makes_logits_of_tokens_alone(row: Model) -> None:
    model, batch = small(row), example(row)
    close(model.body(batch.input_BT)[batch.real_BT], logits(model, batch))
    close(model.body(batch.input_BT, batch.real_BT)[batch.real_BT], logits(model, batch))


# ------------------------------------------------------------------------------------------------ those that pack


def documents(batch: Any) -> list[Any]:
    """The rows of a batch without what stands before and after them."""
    return [given[real][1:].numpy() for given, real in zip(batch.input_BT, batch.real_BT, strict=True)]


def packed(batch: Any, rows: list[list[Any]]) -> Text:
    """Documents in the rows of a batch that packs them, begun and ended as in another batch."""
    return packed_texts(rows, begin=int(batch.input_BT[0, 0]), end=int(batch.target_BT[0, batch.real_BT[0]][-1]))


@those_that("packs")
def test_a_packed_document_is_read_as_if_it_stood_alone(row: Model) -> None:
    model, batch = small(row), example(row)
    first, second, third = documents(batch)
    alone = [logits(model, packed(batch, [[text]])) for text in (first, second, third)]
    for text, wanted in zip((first, second, third), alone, strict=True):
        apart = texts([text], begin=int(batch.input_BT[0, 0]), end=1)
        close(logits(model, apart), wanted)
    together = logits(model, packed(batch, [[third, first, second], [second, third]]))
    close(together, torch.cat([alone[n] for n in (2, 0, 1, 1, 2)]))


@those_that("packs")
@torch.no_grad()
def test_another_document_in_the_row_changes_nothing(row: Model) -> None:
    model, batch = small(row), example(row)
    first, second, third = documents(batch)
    one, other = (packed(batch, [[first, text, second]]) for text in (third, third[::-1].copy()))
    assert not torch.equal(one.input_BT, other.input_BT)
    for number in (1, 2, 3):
        here = one.document_BT == number
        before, after = model(one, None)[0][here], model(other, None)[0][here]
        assert torch.equal(before, after) == (number != 2)
