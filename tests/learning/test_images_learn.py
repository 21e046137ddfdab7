"""Each model of images learns to tell stripes from each other in seconds, and reads images it has never seen."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seqwright.batches.labelled import Labelled
from seqwright.models.headed import (
    CNNClassifierSettings,
    ResNetClassifierSettings,
    ViTClassifierSettings,
    pooled_model,
)

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
