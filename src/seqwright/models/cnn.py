"""A plain convolutional network: filters, what is largest around, more filters (LeCun et al. 1989 and 1998).

B batch · C channels · Y rows of pixels · X columns · P places of the last image · D width
"""

from typing import ClassVar, Literal

from pydantic import Field, PositiveInt, model_validator
from torch import Tensor, nn

from seqwright.layers.dropout import Dropout
from seqwright.layers.embeddings import TokenVectors
from seqwright.layers.image_convolution import Norm, NormalisedConvolution, channels_last, places
from seqwright.layers.taps import Tap
from seqwright.models.heads import Mean
from seqwright.setting_classes import ModelSettings


class CNNSettings(ModelSettings):
    """Convolutions stage by stage; from stage to stage rows and columns are halved and channels doubled."""

    kind: Literal["cnn"] = "cnn"
    width: PositiveInt = 32
    """Channels of the first stage."""
    stages: PositiveInt = Field(default=3, le=8)
    """Stages, one above the other; the vectors of the last have 2 to the power of stages - 1 times the width."""
    convolutions: PositiveInt = 2
    """Convolutions in each stage."""
    kernel: PositiveInt = 3
    """Rows and columns that a filter sees; an odd number."""
    norm: Norm = "group"
    """What normalises the outputs of a convolution: group, of each image alone; batch, over the images of a
    micro-batch, in use over what training saw."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of each stage's output that is dropped in training."""

    @model_validator(mode="after")
    def _a_filter_has_a_middle(self) -> "CNNSettings":
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel {self.kernel} is even, but a filter needs a middle; make it odd")
        if self.init_layers is not None:
            raise ValueError("init_layers chooses among blocks that are alike, and the stages of a cnn are not")
        return self

    def body(self, *, channels: int, rows: int, columns: int) -> "CNN":
        """The network; images may have any size."""
        return CNN(self, channels=channels)


class CNN(nn.Module):
    """Stages of x ← relu(norm(W * x)), and between two of them the largest value of each 2 × 2 pixels.

    Differs from the papers: ReLU, normalisation and small filters, as the successors have them (Simonyan & Zisserman
    2015; Ioffe & Szegedy 2015), and no dense layers.
    """

    also_reads: ClassVar[tuple[str, ...]] = ()

    def __init__(self, settings: CNNSettings, *, channels: int) -> None:
        super().__init__()
        self.settings = settings
        widths = [settings.width * 2**stage for stage in range(settings.stages)]
        self.width = widths[-1]
        self.stages = nn.ModuleList(
            Stage(settings, inputs=inputs, outputs=outputs)
            for inputs, outputs in zip([channels, *widths], widths, strict=False)
        )
        self.halved = nn.MaxPool2d(2, ceil_mode=True)  # of a single row or column it keeps that
        self.contextual = Tap()

    def forward(self, x_BCYX: Tensor, real: Tensor | None = None) -> Tensor:
        """`h_BPD`: a vector for each place of the last stage. `real` is not asked: an image is real as a whole."""
        x_BCYX = channels_last(x_BCYX)
        for number, stage in enumerate(self.stages):
            x_BCYX = stage(x_BCYX if number == 0 else self.halved(x_BCYX))
        h_BPD: Tensor = self.contextual(places(x_BCYX))
        return h_BPD

    hidden = forward

    def pool(self) -> Mean:
        """The mean over all places."""
        return Mean()

    def grid(self, rows: int, columns: int) -> tuple[int, int]:
        """How many rows and columns of places it makes of an image."""
        for _ in range(self.settings.stages - 1):
            rows, columns = -(-rows // 2), -(-columns // 2)
        return rows, columns

    def depths(self) -> dict[str, int]:
        """Each stage lies above the one before."""
        return {f"stages.{place}": place for place in range(self.settings.stages)}

    def token_vectors(self) -> dict[str, TokenVectors]:
        """None: it reads no tokens."""
        return {}


class Stage(nn.Module):
    """Convolutions one after another, over as many rows and columns."""

    def __init__(self, settings: CNNSettings, *, inputs: int, outputs: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            NormalisedConvolution(
                inputs=inputs if number == 0 else outputs, outputs=outputs, kernel=settings.kernel, norm=settings.norm
            )
            for number in range(settings.convolutions)
        )
        self.dropout, self.stream = Dropout(settings.dropout), Tap()

    def forward(self, x_BCYX: Tensor) -> Tensor:
        """What they make of an image."""
        for convolution in self.convolutions:
            x_BCYX = convolution(x_BCYX).relu()
        y_BCYX: Tensor = self.stream(self.dropout(x_BCYX))
        return y_BCYX
