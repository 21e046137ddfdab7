"""The losses of distillation against NumPy in double precision."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seqwright.batches.annotated import UNLABELLED, TaughtLabels, TaughtTokens
from seqwright.batches.labelled import Labelled
from seqwright.errors import SettingError
from seqwright.objectives.distilled_labels import DistilledLabels, DistilledLabelsSettings
from seqwright.objectives.distilled_tokens import DistilledTokens, DistilledTokensSettings, bucketed

B, T, C, V, D, N = 5, 7, 3, 11, 4, 6
Array = NDArray[np.float64]


def drawn(*shape: int, seed: int) -> Tensor:
    return 3 * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def softmax(logits: Any) -> Array:
    powers: Array = np.exp(np.asarray(logits, dtype=np.float64))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def divergence(wanted: Array, found: Array) -> float:
    return float((wanted * np.log(wanted / found)).sum())


# ---------------------------------------------------------------------------------------------------- labels


class Says(nn.Module):
    """Says the same of every batch."""

    def __init__(self) -> None:
        super().__init__()
        self.logits_BC = nn.Parameter(drawn(B, C, seed=1))

    def forward(self, batch: Any, carry: Any) -> tuple[Tensor, Any]:
        assert isinstance(batch, Labelled)  # a student reads what it would read without a teacher
        return self.logits_BC, carry


def texts(target_B: list[int]) -> TaughtLabels:
    tokens_BT, real_BT = torch.zeros(B, T, dtype=torch.int64), torch.ones(B, T, dtype=torch.bool)
    return TaughtLabels(tokens_BT, real_BT, torch.tensor(target_B), tokens_BT, teacher_BC=drawn(B, C, seed=2))


def labels(**settings: float) -> DistilledLabels:
    return DistilledLabels(DistilledLabelsSettings(teacher="", **settings))  # type: ignore[arg-type]


def total(objective: Any, model: Any, batch: Any) -> Tensor:
    loss, _ = objective(model, batch, None)
    assert objective.counts(batch) == {name: part.over for name, part in loss.parts.items()}
    found: Tensor = loss.total(objective.counts(batch))
    return found


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_soft_targets_and_labels_are_weighed_as_the_paper_says(temperature: float) -> None:
    batch, model = texts([2, 0, 1, 1, 0]), Says()
    teacher_BC, student_BC = batch.teacher_BC.numpy(), model.logits_BC.detach().numpy()
    soft = divergence(softmax(teacher_BC / temperature), softmax(student_BC / temperature)) / B
    hard = -np.log(softmax(student_BC)[range(B), batch.target_B.numpy()]).mean()
    found = total(labels(temperature=temperature, soft=0.7, labels=0.3), model, batch)
    assert found.item() == pytest.approx(0.7 * temperature**2 * soft + 0.3 * hard, rel=1e-5)


def test_a_text_without_a_label_has_only_the_teacher() -> None:
    batch, model = texts([2, UNLABELLED, 1, UNLABELLED, UNLABELLED]), Says()
    loss, _ = labels()(model, batch, None)
    known = -np.log(softmax(model.logits_BC.detach())[[0, 2], [2, 1]]).sum()
    assert (loss.parts["soft"].over, loss.parts["loss"].over) == (B, 2)
    assert loss.parts["loss"].sum.item() == pytest.approx(known, rel=1e-5)


def test_a_batch_without_any_label_still_teaches() -> None:
    model = Says()
    total(labels(), model, texts([UNLABELLED] * B)).backward()
    assert model.logits_BC.grad is not None
    assert bool(model.logits_BC.grad.isfinite().all())
    assert model.logits_BC.grad.norm().item() > 0


def test_the_gradient_does_not_shrink_with_the_temperature() -> None:
    """At a high temperature it is (z - z_teacher) / C for logits of mean 0 (Hinton et al. 2015, equation 4)."""
    batch, model = texts([0] * B), Says()
    total(labels(temperature=1000.0, labels=0.0), model, batch).backward()
    student_BC, teacher_BC = model.logits_BC.detach(), batch.teacher_BC
    centred_BC = (student_BC - student_BC.mean(-1, keepdim=True)) - (teacher_BC - teacher_BC.mean(-1, keepdim=True))
    assert model.logits_BC.grad is not None
    torch.testing.assert_close(model.logits_BC.grad, centred_BC / (C * B), rtol=0.02, atol=1e-3)


def test_a_student_that_says_the_same_has_nothing_to_learn() -> None:
    batch, model = texts([0] * B), Says()
    model.logits_BC.data.copy_(batch.teacher_BC)
    total(labels(labels=0.0), model, batch).backward()
    assert model.logits_BC.grad is not None
    torch.testing.assert_close(model.logits_BC.grad, torch.zeros(B, C), rtol=0, atol=1e-6)


def test_nothing_to_learn_from_is_refused() -> None:
    with pytest.raises(SettingError, match="nothing would be learnt"):
        DistilledLabelsSettings(teacher="", soft=0, labels=0)
    with pytest.raises(SettingError, match="nothing would be learnt"):
        DistilledTokensSettings(teacher="", soft=0, masked_token=0)


# ---------------------------------------------------------------------------------------------------- masked tokens


class FixedMaskedLM(nn.Module):
    """Predicts the same of every batch, and has vectors of its own width."""

    def __init__(self, width: int = D) -> None:
        super().__init__()
        self.logits_NV, self.h_BTD = nn.Parameter(drawn(N, V, seed=3)), nn.Parameter(drawn(B, T, width, seed=4))

    def read(self, batch: Any) -> Tensor:
        return self.h_BTD

    def predictions(self, h_BTD: Tensor, batch: Any) -> tuple[Tensor, None]:
        return self.logits_NV, None


def hidden_words(teacher_NV: Tensor, *, likeliest: int, hidden_BTD: Tensor | None = None) -> TaughtTokens:
    """A batch in which N words are hidden, its rows of different length."""
    chosen_BT = torch.zeros(B, T, dtype=torch.bool)
    chosen_BT.view(-1)[:N] = True
    real_BT = torch.arange(T) < torch.tensor([7, 7, 5, 3, 2]).unsqueeze(1)
    target_BT = torch.arange(B * T).view(B, T) % V
    zero_BT = torch.zeros(B, T, dtype=torch.int64)
    token_NK, probability_NK = bucketed(teacher_NV.softmax(-1), likeliest)
    likeliest_BTK = torch.zeros(B, T, token_NK.shape[1], dtype=torch.int64)
    probability_BTK = torch.zeros(B, T, probability_NK.shape[1])
    likeliest_BTK[chosen_BT], probability_BTK[chosen_BT] = token_NK, probability_NK
    return TaughtTokens(
        *(zero_BT, real_BT, zero_BT, chosen_BT, target_BT, torch.full((B,), -1)),
        likeliest_BTK=likeliest_BTK,
        probability_BTK=probability_BTK,
        teacher_BTD=hidden_BTD,
    )


def tokens(**settings: float) -> DistilledTokensSettings:
    return DistilledTokensSettings(teacher="", **settings)  # type: ignore[arg-type]


def test_the_likeliest_are_kept_and_the_rest_is_one_number() -> None:
    teacher_NV = drawn(N, V, seed=5)
    token_NK, probability_NK = bucketed(teacher_NV.softmax(-1), 4)
    for row, target_V in enumerate(softmax(teacher_NV)):
        order = np.argsort(-target_V)
        assert token_NK[row].tolist() == order[:4].tolist()
        expected = [*target_V[order[:4]], target_V[order[4:]].sum()]
        np.testing.assert_allclose(probability_NK[row].numpy(), expected, rtol=1e-5)


def test_there_is_always_a_rest() -> None:
    token_NK, probability_NK = bucketed(drawn(N, V, seed=5).softmax(-1), 64)
    assert token_NK.shape == (N, V - 1)
    assert probability_NK.shape == (N, V)


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_the_divergence_over_the_buckets_is_numpys(temperature: float) -> None:
    teacher_NV, model = drawn(N, V, seed=5), FixedMaskedLM()
    batch = hidden_words(teacher_NV / temperature, likeliest=4)
    teacher, student = (softmax(logits.detach() / temperature) for logits in (teacher_NV, model.logits_NV))
    wanted = 0.0
    for one_V, other_V in zip(teacher, student, strict=True):
        order = np.argsort(-one_V)
        theirs, ours = ([*p_V[order[:4]], p_V[order[4:]].sum()] for p_V in (one_V, other_V))
        wanted += temperature**2 * divergence(np.array(theirs), np.array(ours))
    found = total(DistilledTokens(tokens(temperature=temperature, soft=1, masked_token=0)), model, batch)
    assert found.item() == pytest.approx(wanted / N, rel=1e-4)


def test_with_every_token_kept_but_one_it_is_the_whole_divergence() -> None:
    teacher_NV, model = drawn(N, V, seed=5), FixedMaskedLM()
    whole = divergence(softmax(teacher_NV), softmax(model.logits_NV.detach())) / N
    found = total(
        DistilledTokens(tokens(temperature=1, soft=1, masked_token=0)), model, hidden_words(teacher_NV, likeliest=64)
    )
    assert found.item() == pytest.approx(whole, rel=1e-5)


def test_the_words_themselves_are_learnt_beside_the_teacher() -> None:
    model, batch = FixedMaskedLM(), hidden_words(drawn(N, V, seed=5), likeliest=4)
    logp_NV = np.log(softmax(model.logits_NV.detach()))
    words = -logp_NV[range(N), batch.target_N.numpy()].mean()
    found = total(DistilledTokens(tokens(soft=0, masked_token=2)), model, batch).item()
    assert found == pytest.approx(2 * words, rel=1e-5)


def test_vectors_are_compared_by_their_direction_at_real_tokens() -> None:
    theirs_BTD, model = drawn(B, T, D, seed=6), FixedMaskedLM()
    batch = hidden_words(drawn(N, V, seed=5), likeliest=4, hidden_BTD=theirs_BTD)
    ours, wanted = model.h_BTD.detach().double().numpy(), theirs_BTD.double().numpy()
    lengths = np.linalg.norm(ours, axis=-1) * np.linalg.norm(wanted, axis=-1)
    apart = (1 - (ours * wanted).sum(-1) / lengths)[batch.real_BT.numpy()]
    objective = DistilledTokens(tokens(soft=0, masked_token=0, cosine=1), width=D, teacher_width=D)
    assert objective.projection is None
    assert total(objective, model, batch).item() == pytest.approx(apart.mean(), rel=1e-5)


def test_the_teacher_reads_a_batch_before_it_is_learnt_from_where_its_vectors_count() -> None:
    theirs_BTD, batch = drawn(B, T, D, seed=6), hidden_words(drawn(N, V, seed=5), likeliest=4)
    objective = DistilledTokens(tokens(cosine=1), width=D, teacher_width=D, teacher_vectors=lambda some: theirs_BTD)
    prepared = objective.prepare(FixedMaskedLM(), batch)
    assert batch.teacher_BTD is None
    assert torch.equal(prepared.teacher_BTD, theirs_BTD)
    assert objective.counts(prepared)["cosine"] == batch.tokens
    assert DistilledTokens(tokens()).prepare(FixedMaskedLM(), batch) is batch


def test_vectors_of_another_width_are_projected_and_the_projection_learns() -> None:
    batch = hidden_words(drawn(N, V, seed=5), likeliest=4, hidden_BTD=drawn(B, T, 3, seed=6))
    objective = DistilledTokens(tokens(soft=0, masked_token=0, cosine=1), width=D, teacher_width=3)
    assert objective.projection is not None
    total(objective, FixedMaskedLM(), batch).backward()
    gradient = objective.projection.weight.grad
    assert gradient is not None
    assert gradient.shape == (3, D)
    assert gradient.norm().item() > 0


def test_half_batches_with_the_counts_of_both_add_up_to_the_whole() -> None:
    whole, model = texts([2, UNLABELLED, 1, UNLABELLED, 0]), Says()
    objective = labels()
    counts = objective.counts(whole)
    parts = []
    for some in (slice(0, 2), slice(2, B)):
        batch = whole.rows(some)
        said_BC = model.logits_BC[some]
        loss, _ = objective(lambda batch, carry, said_BC=said_BC: (said_BC, carry), batch, None)
        parts.append(loss.total(counts).item())
    assert sum(parts) == pytest.approx(total(objective, model, whole).item(), rel=1e-6)
