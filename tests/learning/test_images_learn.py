"""Each model of images or films learns in seconds, and reads what it has never seen."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seqwright.batches.labelled import Labelled
from seqwright.batches.tracked import Tracked
from seqwright.models.film_reading import FilmReadingSettings
from seqwright.models.headed import (
    CNNClassifierSettings,
    FilmClassifierSettings,
    ResNetClassifierSettings,
    ViTClassifierSettings,
    pooled_model,
    token_model,
)
from seqwright.objectives.places import Places

SIDE, CLASSES = 8, 4
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "vit": (ViTClassifierSettings, {"width": 24, "heads": 2, "layers": 2, "patch": 4, "dropout": 0.0}),
    "vit, pooled patches": (
        ViTClassifierSettings,
        {
            "width": 24,
            "heads": 2,
            "layers": 2,
            "patch": 4,
            "positions": "sinusoidal",
            "pooling": "patches",
            "class_tokens": 0,
            "layer_scale": 0.1,
            "stochastic_depth": 0.1,
        },
    ),
    "cnn": (CNNClassifierSettings, {"width": 8, "stages": 2}),
    "cnn, batch norm": (CNNClassifierSettings, {"width": 8, "stages": 2, "norm": "batch"}),
    "resnet": (ResNetClassifierSettings, {"layers": 20}),
}


def stripes(count: int, seed: int) -> Labelled:
    """Lines that lie, stand, or lean to one side or the other, two pixels apart, begun anywhere, under noise."""
    draw = torch.Generator().manual_seed(seed)
    label_B = torch.randint(CLASSES, (count,), generator=draw)
    begin_B11 = torch.randint(4, (count, 1, 1), generator=draw)
    row_Y1, column_1X = torch.arange(SIDE).unsqueeze(1), torch.arange(SIDE).unsqueeze(0)
    along = torch.stack([(row_Y1 + 0 * column_1X), (column_1X + 0 * row_Y1), row_Y1 + column_1X, row_Y1 - column_1X])
    image_BYX: Tensor = ((along[label_B] + begin_B11) % 4 < 2).float() * 2 - 1
    noise_BYX = torch.randn(image_BYX.shape, generator=draw) * 0.5
    return Labelled((image_BYX + noise_BYX).unsqueeze(1), torch.ones(count, 1, dtype=torch.bool), label_B)


@pytest.mark.parametrize("name", MODELS)
def test_it_learns_to_tell_stripes_from_each_other(name: str) -> None:
    settings, plain = MODELS[name]
    torch.manual_seed(1)
    model = pooled_model(settings.model_validate(plain), classes=CLASSES, channels=1, rows=SIDE, columns=SIDE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    for step in range(60):
        batch = stripes(32, step)
        loss = F.cross_entropy(model(batch)[0], batch.target_B)
        torch.autograd.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    unseen = stripes(200, 10_000)
    with torch.no_grad():
        right = model.eval()(unseen)[0].argmax(1) == unseen.target_B
    assert right.float().mean() > 0.95


# -------------------------------------------------------------------------------------------------------- films


def films(count: int, seed: int) -> Tracked:
    """A dot that goes along a line in five frames of 5 × 6 pixels; its place in shares of a unit around the middle."""
    draw = torch.Generator().manual_seed(seed)
    begin_B2, end_B2 = torch.rand(count, 2, generator=draw), torch.rand(count, 2, generator=draw)
    place_BT2 = begin_B2.unsqueeze(1).lerp(end_B2.unsqueeze(1), torch.linspace(0, 1, 5).view(1, 5, 1))
    x_BT1, y_BT1 = place_BT2[..., :1] * 5, place_BT2[..., 1:] * 4
    row_BTX, row_BTY = torch.exp(-((torch.arange(6) - x_BT1) ** 2)), torch.exp(-((torch.arange(5) - y_BT1) ** 2))
    image_BTYX = row_BTY.unsqueeze(-1) * row_BTX.unsqueeze(-2)
    noise_BTYX = 0.1 * torch.randn(image_BTYX.shape, generator=draw)
    real_BT = torch.ones(count, 5, dtype=torch.bool)
    size_B2 = torch.tensor([5, 6]).expand(count, 2)
    return Tracked((image_BTYX + noise_BTYX).unsqueeze(2), real_BT, place_BT2 * 4 - 2, real_BT, size_B2)


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn", "ugrnn"])
def test_it_learns_to_follow_a_dot(kind: str) -> None:
    torch.manual_seed(1)
    settings = FilmReadingSettings.model_validate({"kind": kind, "width": 24, "embedding": 24, "frame_width": 8})
    model, objective = token_model(settings, classes=2, channels=1, rows=5, columns=6), Places()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    for step in range(60):
        batch = films(32, step)
        loss, _ = objective(model, batch, None)
        torch.autograd.backward(loss.total(objective.counts(batch)))
        optimizer.step()
        optimizer.zero_grad()
    unseen = films(100, 10_000)
    with torch.no_grad():
        off_BT2 = model.eval()(unseen)[0] - unseen.target_BT2
    assert off_BT2.norm(dim=-1).mean() < 0.25  # of an edge of 4


def test_it_learns_to_tell_which_way_a_dot_goes() -> None:
    """Whether to the right or to the left, which no single frame tells."""
    torch.manual_seed(1)
    settings = FilmClassifierSettings.model_validate({"width": 24, "embedding": 24, "frame_width": 8})
    model = pooled_model(settings, classes=2, channels=1, rows=5, columns=6)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)

    def labelled(count: int, seed: int) -> Labelled:
        some = films(count, seed)
        return Labelled(some.input_B, some.real_BT, (some.target_BT2[:, -1, 0] > some.target_BT2[:, 0, 0]).long())

    for step in range(60):
        batch = labelled(32, step)
        torch.autograd.backward(F.cross_entropy(model(batch)[0], batch.target_B))
        optimizer.step()
        optimizer.zero_grad()
    unseen = labelled(200, 10_000)
    with torch.no_grad():
        right = model.eval()(unseen)[0].argmax(1) == unseen.target_B
    assert right.float().mean() > 0.9
