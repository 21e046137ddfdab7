"""An encoder-decoder is any body × any decoder: pairs that no paper has."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqwright.batches.pairs import Pairs
from seqwright.models.encoder_decoder import EncoderDecoder
from seqwright.models.reading import ReadingSettings
from tests.small_models import SMALL, example, small, some_pairs

BODIES = ("bert", "reader", "transformer", "bahdanau")
DECODERS = ("transformer", "bahdanau", "bytenet")


def body(name: str) -> Any:
    """Each reads tokens and gives vectors of width 8."""
    if name == "bert":
        return small("bert", "text-classification").body
    if name == "reader":
        return ReadingSettings(kind="gru", width=4, embedding=5).body(vocabulary=17)
    return small(name, "translation").body


def pair(reads: str, writes: str) -> EncoderDecoder:
    torch.manual_seed(1)
    decoder = small(writes, "translation").decoder
    source = body(reads)
    if writes == "bytenet":  # whose stream is 10 wide
        source = Widened(source, nn.Linear(8, 10))
    return EncoderDecoder(source, decoder).eval()


class Widened(nn.Module):
    def __init__(self, inner: Any, linear: nn.Linear) -> None:
        super().__init__()
        self.inner, self.linear = inner, linear

    def hidden(self, source_BS: Tensor, real_BS: Tensor | None) -> Tensor:
        memory_BSD: Tensor = self.linear(self.inner.hidden(source_BS, real_BS))
        return memory_BSD if real_BS is None else memory_BSD.masked_fill(~real_BS.unsqueeze(-1), 0.0)


def batch_for(reads: str) -> Pairs:
    """BERT knows fewer tokens."""
    batch = some_pairs()
    return batch.replace(source_BS=batch.source_BS.clamp_max(12)) if reads == "bert" else batch


@pytest.mark.parametrize("reads", BODIES)
@pytest.mark.parametrize("writes", DECODERS)
def test_every_decoder_writes_from_every_body_and_teaches_it(reads: str, writes: str) -> None:
    model, batch = pair(reads, writes), batch_for(reads)
    logits_BTV, carry = model(batch)
    assert carry is None
    state = model.start(batch)
    for t, tokens_B in enumerate(batch.input_BT.T):
        logits_BV, state = model.step(tokens_B, state)
        real_B = batch.real_BT[:, t]
        torch.testing.assert_close(logits_BV[real_B], logits_BTV[real_B, t], rtol=0, atol=1e-5)
    logits_BTV[batch.real_BT].log_softmax(-1)[:, 3].sum().backward()
    taught = [p.grad is not None and bool(p.grad.any()) for p in model.body.parameters()]
    assert sum(taught) > len(taught) / 2


def test_heads_on_the_body_are_named_and_the_decoder_is_one_of_them() -> None:
    whole, batch = small("transformer", "translation").eval(), example("transformer", "translation")
    head = Counted()
    model = EncoderDecoder(whole.body, whole.decoder, heads={"length": head}).eval()
    outputs, _ = model(batch)
    assert outputs.keys() == {"decoder", "length"}
    assert torch.equal(outputs["decoder"], whole(batch)[0])
    assert outputs["length"].tolist() == batch.source_real_BS.sum(1).tolist()


class Counted(nn.Module):
    def forward(self, memory_BSD: Tensor, batch: Any) -> Tensor:
        length_B: Tensor = batch.real.sum(1)
        return length_B


def test_the_pairs_are_as_wide_as_they_are_said_to_be() -> None:
    assert SMALL["transformer"].settings["width"] == SMALL["bahdanau"].settings["width"] == 8
