"""The language model with a window: what it sees, and what it does not."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from seqwright.batches.text import Text
from seqwright.layers.taps import listen
from seqwright.models.language_model import LanguageModel
from seqwright.models.mlp_lm import MLPLM, MLPLMSettings
from tests.small_models import small, some_texts

V, N, E, D = 13, 3, 5, 7


def a_model(**more) -> LanguageModel:
    torch.manual_seed(1)
    settings = MLPLMSettings(**{"window": N, "embedding": E, "width": D, **more})
    model = LanguageModel(MLPLM(settings, vocabulary=V)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model


def a_text(length: int = 6, *, fresh: bool = True) -> Text:
    stream_BT = torch.randint(4, V, (2, length + 1), generator=torch.Generator().manual_seed(4))
    real_BT = torch.ones(2, length, dtype=torch.bool)
    return Text(stream_BT[:, :-1], stream_BT[:, 1:], real_BT, fresh_B=torch.full((2,), fresh))


def test_a_one_hot_vector_times_the_matrix_is_the_look_up() -> None:
    C_VE = a_model().body.embedding_VE
    tokens_BT = a_text().input_BT
    one_hot_BTV = F.one_hot(tokens_BT, V + 1).float()
    assert torch.equal(one_hot_BTV @ C_VE, F.embedding(tokens_BT, C_VE))


@pytest.mark.parametrize("direct", [False, True])
@torch.no_grad()
def test_it_is_the_papers_formula(direct: bool) -> None:
    """The sum b + W x + U tanh(d + H x), position by position, with the last vector of C before the beginning."""
    model, batch = a_model(direct=direct), a_text()
    body = model.body
    C, H, d = body.embedding_VE.numpy(), body.inner.weight.numpy(), body.inner.bias.numpy()
    U, b = body.output.weight.numpy(), body.output.bias.numpy()
    W = np.zeros((V, N * E)) if body.direct is None else body.direct.weight.numpy()
    found_BTV, _ = model(batch, None)
    for row, tokens in enumerate(batch.input_BT.tolist()):
        for t in range(len(tokens)):
            window = ([V] * N + tokens[: t + 1])[-N:]
            x = np.concatenate([C[token] for token in window])
            wanted = b + W @ x + U @ np.tanh(d + H @ x)
            np.testing.assert_allclose(found_BTV[row, t].numpy(), wanted, rtol=0, atol=1e-4)


@torch.no_grad()
def test_it_sees_the_window_and_nothing_before_it() -> None:
    model, batch = a_model(), a_text()
    target_BTV, _ = model(batch, None)
    for t in range(6):
        other_BT = batch.input_BT.clone()
        other_BT[:, t] = 4 + (other_BT[:, t] - 3) % (V - 4)
        found_BTV, _ = model(batch.replace(input_BT=other_BT), None)
        changed_T = (found_BTV - target_BTV).abs().amax((0, 2)) > 1e-6
        assert changed_T.tolist() == [t <= place < t + N for place in range(6)]


@pytest.mark.parametrize("window", [1, 3, 9])
@torch.no_grad()
def test_two_segments_with_the_carry_say_what_one_long_one_says(window: int) -> None:
    """Also where the window is one token, or longer than a segment."""
    model, whole = a_model(window=window), a_text()
    target_BTV, end = model(whole, None)
    first, second = (
        Text(whole.input_BT[:, half], whole.target_BT[:, half], whole.real_BT[:, half], fresh_B=torch.full((2,), fresh))
        for half, fresh in ((slice(None, 3), True), (slice(3, None), False))
    )
    first_BTV, carry = model(first, None)
    second_BTV, reached = model(second, carry)
    torch.testing.assert_close(torch.cat((first_BTV, second_BTV), dim=1), target_BTV, rtol=0, atol=1e-5)
    assert torch.equal(reached.tokens_BM, end.tokens_BM)
    mixed_BTV, _ = model(second.replace(fresh_B=torch.tensor([True, False])), carry)
    torch.testing.assert_close(mixed_BTV[0], model(second, None)[0][0], rtol=0, atol=1e-5)
    torch.testing.assert_close(mixed_BTV[1], second_BTV[1], rtol=0, atol=1e-5)


def test_the_state_is_that_before_the_padding() -> None:
    model = a_model()
    tokens_BT = torch.tensor([[4, 5, 6, 7], [8, 9, 4, 4], [10, 4, 4, 4], [4, 4, 4, 4]])
    real_BT = torch.arange(4) < torch.tensor([4, 2, 1, 0])[:, None]
    everywhere_B = torch.ones(4, dtype=torch.bool)
    _, state = model.read(tokens_BT, real_BT, model.start(Text(tokens_BT, tokens_BT, real_BT, fresh_B=everywhere_B)))
    assert state.tokens_BM.tolist() == [[6, 7], [8, 9], [V, 10], [V, V]]


@torch.no_grad()
def test_the_log_probabilities_are_those_of_the_logits() -> None:
    model, batch = small("mlp", "language-modeling").eval(), some_texts()
    found_BT, _ = model.log_probability(batch)
    logits_BTV, _ = model(batch, None)
    for row, t in batch.real_BT.nonzero().tolist():
        wanted = logits_BTV[row, t].log_softmax(-1)[batch.target_BT[row, t]]
        assert float(found_BT[row, t]) == pytest.approx(float(wanted), abs=1e-5)
    assert not bool(found_BT[~batch.real_BT].any())


def test_batches_of_another_number_of_rows_may_follow_if_all_of_them_are_fresh() -> None:
    model = a_model()
    _, carry = model(some_texts(), None)
    assert torch.equal(model(a_text(), carry)[0], model(a_text(), None)[0])
    with pytest.raises(AssertionError, match="rows that continue"):
        model(a_text(fresh=False), carry)


def test_the_hidden_layer_can_be_heard() -> None:
    model, batch = a_model(), a_text()
    with listen(model) as heard:
        model(batch, None)
    assert heard["body.hidden"][0].shape == (2, 6, D)
    assert float(heard["body.hidden"][0].abs().max()) <= 1
