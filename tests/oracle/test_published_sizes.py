"""The sizes that the papers name have the parameters that were published; nothing is allocated to count them."""

import pytest
import torch
from torch import nn

from seqwright.models.bert import Bert, BertSettings
from seqwright.models.gpt import GPT, GPTSettings


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
