"""What recurrent cells remember: one symbol, asked for after a delay of other tokens."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqwright.batches.text import Text
from seqwright.models.language_model import LanguageModel
from seqwright.models.rnn_lm import RecurrentLM, RecurrentLMSettings

SYMBOLS, OTHERS = 6, 4
CUE = SYMBOLS + OTHERS
SHORT, LONG = 2, 40


def questions(rows: int, delay: int, draw: torch.Generator) -> tuple[Text, Tensor]:
    """`symbol, other, other, …, cue`, and the symbol that should follow the cue."""
    symbol_B = torch.randint(SYMBOLS, (rows,), generator=draw)
    others_BT = SYMBOLS + torch.randint(OTHERS, (rows, delay), generator=draw)
    input_BT = torch.cat((symbol_B[:, None], others_BT, torch.full((rows, 1), CUE)), dim=1)
    real_BT = torch.ones_like(input_BT, dtype=torch.bool)
    return Text(input_BT, input_BT, real_BT, fresh_B=real_BT[:, 0]), symbol_B


def share_right(kind, delay: int, steps: int = 400) -> float:
    """The share of new questions that are answered right, after learning from the last output alone."""
    torch.manual_seed(1)
    draw = torch.Generator().manual_seed(1)
    settings = RecurrentLMSettings(kind=kind, width=32, dropout=0, forget_bias=4.0)
    model = LanguageModel(RecurrentLM(settings, vocabulary=CUE + 1))
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        batch, symbol_B = questions(32, delay, draw)
        loss = F.cross_entropy(model(batch, None)[0][:, -1], symbol_B)
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        if float(loss.detach()) < 0.01:
            break
    batch, symbol_B = questions(400, delay, draw)
    with torch.no_grad():
        return float((model(batch, None)[0][:, -1].argmax(-1) == symbol_B).float().mean())


@pytest.mark.parametrize("kind", ["ugrnn", "gru", "lstm"])
def test_gated_cells_remember_over_a_long_delay(kind) -> None:
    assert share_right(kind, LONG) >= 0.99


def test_the_simple_cell_remembers_over_a_short_delay_only() -> None:
    assert share_right("rnn", SHORT) >= 0.99
    assert share_right("rnn", LONG) <= 0.4
