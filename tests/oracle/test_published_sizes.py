"""The sizes that the papers name have the parameters that were published; nothing is allocated to count them."""

import pytest
import torch
from torch import nn

from seqwright.models.bert import Bert, BertSettings
from seqwright.models.gpt import GPT, GPTSettings
from seqwright.models.headed import ResNetClassifierSettings, ViTClassifierSettings, pooled_model


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


# Of the checkpoints that OpenAI released: the paper's table 2 says 117M, 345M, 762M and 1542M.
@pytest.mark.parametrize(
    ("size", "published"),
    [("small", 124_439_808), ("medium", 354_823_168), ("large", 774_030_080), ("xl", 1_557_611_200)],
)
def test_gpt2_has_the_parameters_of_the_released_checkpoints(size: str, published: int) -> None:
    with torch.device("meta"):
        model = GPT(GPTSettings.model_validate({"size": size}), vocabulary=50_257)
    assert parameters(model) == published


def test_gpt3_has_175_billion_parameters() -> None:
    settings = GPTSettings.model_validate({"size": "175b"})
    assert (settings.layers, settings.heads, settings.width // settings.heads) == (96, 96, 128)
    with torch.device("meta"):
        model = GPT(settings, vocabulary=50_257)
    assert round(parameters(model) / 1e9) == 175


# Of the checkpoints that were released: Devlin et al. 2019 say 110M and 340M, Liu et al. 2019 125M, Sanh et al. 66M.
@pytest.mark.parametrize(
    ("settings", "vocabulary", "published"),
    [
        ({"kind": "bert", "size": "base"}, 30_522, 109_482_240),
        ({"kind": "bert", "size": "large"}, 30_522, 335_141_888),
        ({"kind": "bert", "size": "tiny"}, 30_522, 4_385_920),
        ({"kind": "bert", "size": "mini"}, 30_522, 11_170_560),
        ({"kind": "bert", "size": "small"}, 30_522, 28_763_648),
        ({"kind": "bert", "size": "medium"}, 30_522, 41_373_184),
        ({"kind": "distilbert", "size": "base"}, 30_522, 66_362_880),
        ({"kind": "roberta", "size": "base", "pooler": True}, 50_265, 124_645_632),
    ],
)
def test_berts_have_the_parameters_of_the_released_checkpoints(
    settings: dict[str, object], vocabulary: int, published: int
) -> None:
    with torch.device("meta"):
        model = Bert(BertSettings.model_validate(settings), vocabulary=vocabulary)
    assert parameters(model) == published


# Of the checkpoints that were released; Touvron et al. 2021 (DeiT, table 1) say 5M and 22M, Dosovitskiy et al. 2021
# (table 1) 86M, 307M and 632M. With an output for the 1,000 classes of ImageNet.
@pytest.mark.parametrize(
    ("size", "published"),
    [
        ("tiny", 5_717_416),
        ("small", 22_050_664),
        ("base", 86_567_656),
        ("large", 304_326_632),
        ("huge", 632_045_800),
    ],
)
def test_vits_have_the_parameters_of_the_released_checkpoints(size: str, published: int) -> None:
    with torch.device("meta"):
        settings = ViTClassifierSettings.model_validate({"size": size})
        model = pooled_model(settings, classes=1000, channels=3, rows=224, columns=224)
    assert parameters(model) == published


# He et al. 2016, table 6, in millions; for ImageNet (table 1) those of torchvision's checkpoints.
@pytest.mark.parametrize(
    ("layers", "classes", "published"),
    [(20, 10, 0.27), (32, 10, 0.46), (44, 10, 0.66), (56, 10, 0.85), (18, 1000, 11.689512), (34, 1000, 21.797672)],
)
@pytest.mark.parametrize("norm", ["group", "batch"])
def test_resnets_have_the_parameters_of_the_paper(layers: int, classes: int, published: float, norm: str) -> None:
    with torch.device("meta"):
        settings = ResNetClassifierSettings.model_validate({"layers": layers, "norm": norm})
        model = pooled_model(settings, classes=classes, channels=3, rows=32, columns=32)
    digits = len(str(published).split(".")[1])
    assert round(parameters(model) / 1e6, digits) == published


# He et al. 2016, table 6: 110 layers have 1.7M.
def test_the_deepest_small_resnet() -> None:
    with torch.device("meta"):
        settings = ResNetClassifierSettings.model_validate({"layers": 110})
        model = pooled_model(settings, classes=10, channels=3, rows=32, columns=32)
    assert round(parameters(model) / 1e6, 1) == 1.7
