"""Each captioner learns in seconds to say which pattern stands where, of images that it has never seen."""

from typing import Any

import pytest
import torch
from torch import Tensor

from seqwright.batches.captioned import Captioned
from seqwright.decoding.settings import DecodingSettings, decoded
from seqwright.models.captioner import (
    CaptionerSettings,
    HardCaptionerSettings,
    TransformerCaptionerSettings,
    captioner,
    transformer_captioner,
)
from seqwright.objectives.doubly_stochastic import DoublyStochastic, DoublyStochasticSettings
from seqwright.objectives.next_token import NextToken, NextTokenSettings
from seqwright.objectives.reinforce import Reinforce, ReinforceSettings

BEGIN, END, PLACES, PATTERNS = 2, 3, 4, 8  # the first words for places and for patterns
SIDE = 4  # of a quarter of an image
LOOKS: dict[str, Any] = {"encoder_width": 12, "encoder_layers": 2, "encoder_dropout": 0.0, "dropout": 0.0}
MODELS: dict[str, tuple[Any, Any, Any]] = {
    "soft": (
        captioner,
        CaptionerSettings(**LOOKS, width=24),
        DoublyStochastic(DoublyStochasticSettings(label_smoothing=0.0, even=0.01)),
    ),
    "hard": (
        captioner,
        HardCaptionerSettings(**LOOKS, width=24),
        Reinforce(ReinforceSettings(label_smoothing=0.0)),
    ),
    "transformer": (
        transformer_captioner,
        TransformerCaptionerSettings(
            **{**LOOKS, "encoder_width": 24},
            patch=2,
            patch_heads=2,
            width=24,
            heads=2,
            decoder_layers=1,
            feed_forward=48,
        ),
        NextToken(NextTokenSettings(label_smoothing=0.0)),
    ),
}


def patterns() -> Tensor:
    """Lines that lie, lines that stand, and a chessboard."""
    row_Y1, column_1X = torch.arange(SIDE).unsqueeze(1), torch.arange(SIDE).unsqueeze(0)
    return torch.stack([(row_Y1 + 0 * column_1X) % 2, (column_1X + 0 * row_Y1) % 2, (row_Y1 + column_1X) % 2]).float()


def images(count: int, seed: int) -> Captioned:
    """A pattern in one quarter of each image, under noise; its caption says the quarter and the pattern."""
    draw = torch.Generator().manual_seed(seed)
    place_B, pattern_B = (torch.randint(most, (count,), generator=draw) for most in (4, 3))
    image_B1YX = 0.2 * torch.randn(count, 1, 2 * SIDE, 2 * SIDE, generator=draw)
    for image_1YX, place, pattern in zip(image_B1YX, place_B.tolist(), pattern_B.tolist(), strict=True):
        top, left = SIDE * (place // 2), SIDE * (place % 2)
        image_1YX[0, top : top + SIDE, left : left + SIDE] += patterns()[pattern] * 2
    word_BT = torch.stack([PLACES + place_B, PATTERNS + pattern_B], dim=1)
    input_BT = torch.cat([torch.full((count, 1), BEGIN), word_BT], dim=1)
    target_BT = torch.cat([word_BT, torch.full((count, 1), END)], dim=1)
    return Captioned(image_B1YX, input_BT, target_BT, torch.ones_like(input_BT, dtype=torch.bool))


@pytest.mark.parametrize("name", MODELS)
def test_it_learns_to_say_what_stands_where(name: str) -> None:
    build, settings, objective = MODELS[name]
    torch.manual_seed(1)
    model = build(settings, vocabulary=11, channels=1, rows=2 * SIDE, columns=2 * SIDE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    for step in range(1, 201):
        batch = images(32, step)
        loss, _ = objective(model, batch, objective.start(model, batch))
        torch.autograd.backward(loss.total(objective.counts(batch)))
        optimizer.step()
        optimizer.zero_grad()
        objective.after_step(model, step, 200)
    unseen = images(200, 10_000)
    with torch.inference_mode():
        first_B = torch.full((200,), BEGIN)
        found = decoded(model, model.eval().start(unseen), DecodingSettings(), first_B=first_B, end=END, steps=5)
    right = [best.tokens == wanted[:-1] for (best,), wanted in zip(found, unseen.target_BT.tolist(), strict=True)]
    assert sum(right) > 190
