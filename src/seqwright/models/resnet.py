"""ResNet: convolutions around which a shortcut leads (He et al. 2016).

B batch · C channels · Y rows of pixels · X columns · P places of the last image · D width
"""

from typing import Any, ClassVar, Literal, NamedTuple

import torch.nn.functional as F
from pydantic import model_validator
from torch import Tensor, nn

from seqwright.layers.embeddings import TokenVectors
from seqwright.layers.image_convolution import Norm, NormalisedConvolution, places
from seqwright.layers.taps import Tap
from seqwright.models.heads import Mean
from seqwright.setting_classes import ModelSettings

Shortcut = Literal["A", "B"]


class Form(NamedTuple):
    """How many blocks each stage has, its channels, the shortcut that is usual, and whether images are large."""

    blocks: tuple[int, ...]
    widths: tuple[int, ...]
    shortcut: Shortcut
    large: bool


FORMS = {
    **{6 * n + 2: Form((n, n, n), (16, 32, 64), "A", large=False) for n in (3, 5, 7, 9, 18)},  # section 4.2
    18: Form((2, 2, 2, 2), (64, 128, 256, 512), "B", large=True),  # table 1
    34: Form((3, 4, 6, 3), (64, 128, 256, 512), "B", large=True),
}


class ResNetSettings(ModelSettings):
    """The forms of the paper: 20 to 110 layers for images of 32 rows and columns, 18 and 34 for those of 224."""

    kind: Literal["resnet"] = "resnet"
    layers: Literal[18, 20, 32, 34, 44, 56, 110] = 20
    """Layers with weights. 20, 32, 44, 56 and 110 are for small images (section 4.2); 18 and 34 for large ones (table
    1), which are made four times smaller before the first block."""
    shortcut: Shortcut
    """What leads around a block that changes the size: A, every second pixel, with zeros as new channels; B, a learnt
    map of it. Left out: A for small images, B for large ones."""
    norm: Norm = "group"
    """What normalises the outputs of a convolution: group, of each image alone; batch, as in the paper, over the images
    of a micro-batch, in use over what training saw."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in_the_shortcut(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        form = FORMS.get(given.get("layers", 20)) if isinstance(given.get("layers", 20), int) else None
        return {"shortcut": "A" if form is None else form.shortcut, **given}

    @model_validator(mode="after")
    def _blocks_are_not_alike(self) -> "ResNetSettings":
        if self.init_layers is not None:
            raise ValueError("init_layers chooses among blocks that are alike, and those of a resnet are not")
        return self

    def body(self, *, channels: int, rows: int, columns: int) -> "ResNet":
        """The network; images may have any size."""
        return ResNet(self, channels=channels)


class ResNet(nn.Module):
    """x ← block(x), several times: n blocks of each width, whose first halves rows and columns (He et al. 2016).

    Differs from the paper: outputs are normalised in groups of channels (Wu & He 2018), unless `norm` says otherwise.
    """

    also_reads: ClassVar[tuple[str, ...]] = ()

    def __init__(self, settings: ResNetSettings, *, channels: int) -> None:
        super().__init__()
        self.settings, form = settings, FORMS[settings.layers]
        self.width = form.widths[-1]
        first, kernel, stride = form.widths[0], *((7, 2) if form.large else (3, 1))
        self.halvings = len(form.widths) - 1 + (2 if form.large else 0)
        self.stem = NormalisedConvolution(
            inputs=channels, outputs=first, kernel=kernel, stride=stride, norm=settings.norm
        )
        self.halved = nn.MaxPool2d(3, stride=2, padding=1) if form.large else nn.Identity()
        self.blocks = nn.ModuleList()
        inputs = first
        for count, outputs in zip(form.blocks, form.widths, strict=True):
            for number in range(count):
                stride = 2 if number == 0 and outputs != first else 1
                self.blocks.append(ResidualBlock(settings, inputs=inputs, outputs=outputs, stride=stride))
                inputs = outputs
        self.contextual = Tap()

    def forward(self, x_BCYX: Tensor, real: Tensor | None = None) -> Tensor:
        """`h_BPD`: a vector for each place of the last image. `real` is not asked: an image is real as a whole."""
        x_BCYX = self.halved(self.stem(x_BCYX).relu())
        for block in self.blocks:
            x_BCYX = block(x_BCYX)
        h_BPD: Tensor = self.contextual(places(x_BCYX))
        return h_BPD

    hidden = forward

    def pool(self) -> Mean:
        """The mean over all places."""
        return Mean()

    def grid(self, rows: int, columns: int) -> tuple[int, int]:
        """How many rows and columns of places it makes of an image."""
        for _ in range(self.halvings):
            rows, columns = -(-rows // 2), -(-columns // 2)
        return rows, columns

    def depths(self) -> dict[str, int]:
        """The first convolution lies below all blocks."""
        return {"stem": 0} | {f"blocks.{place}": place + 1 for place in range(len(self.blocks))}

    def token_vectors(self) -> dict[str, TokenVectors]:
        """None: it reads no tokens."""
        return {}


class ResidualBlock(nn.Module):
    """relu(F(x) + x), F(x) = norm(W₂ * relu(norm(W₁ * x))) (section 3.2, eq. 1 and 2)."""

    def __init__(self, settings: ResNetSettings, *, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.stride, self.new = stride, outputs - inputs
        norm = settings.norm
        self.first = NormalisedConvolution(inputs=inputs, outputs=outputs, kernel=3, stride=stride, norm=norm)
        self.second = NormalisedConvolution(inputs=outputs, outputs=outputs, kernel=3, norm=norm)
        maps = settings.shortcut == "B" and (stride > 1 or inputs != outputs)
        self.shortcut = (
            NormalisedConvolution(inputs=inputs, outputs=outputs, kernel=1, stride=stride, norm=norm) if maps else None
        )
        self.stream = Tap()

    def forward(self, x_BCYX: Tensor) -> Tensor:
        """The image after it."""
        change_BCYX = self.second(self.first(x_BCYX).relu())
        y_BCYX: Tensor = self.stream((change_BCYX + self._around(x_BCYX)).relu())
        return y_BCYX

    def _around(self, x_BCYX: Tensor) -> Tensor:
        """Of option A: the pixels that stay, and zeros as channels that are new."""
        if self.shortcut is not None:
            y_BCYX: Tensor = self.shortcut(x_BCYX)
            return y_BCYX
        if self.stride > 1:
            x_BCYX = x_BCYX[:, :, :: self.stride, :: self.stride]
        return F.pad(x_BCYX, (0, 0, 0, 0, 0, self.new)) if self.new else x_BCYX
