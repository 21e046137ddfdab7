"""Films: a convolutional network for each frame, and recurrent layers over what it makes of them.

B batch · T frames · C channels · Y rows of pixels · X columns · P places of the last image · D width · E embedding
"""

from pydantic import Field, PositiveInt
from torch import Tensor, nn

from seqwright.layers.linear import Linear
from seqwright.models.cnn import CNN, CNNSettings
from seqwright.models.reading import ReadingSettings, RecurrentReader


class FilmReadingSettings(ReadingSettings):
    """A network that sees a film frame by frame and remembers in a state of fixed size."""

    width: PositiveInt = 64
    """Width of the state of each layer, in each direction."""
    embedding: PositiveInt = 64
    """Width of the vector of a frame."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share that is dropped, in training, of what goes from layer to layer and of the last one's output."""
    embedding_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of the frames' vectors that is dropped in training: the same values at every frame of a film."""
    word_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of the frames whose whole vector is dropped in training."""
    frame_width: PositiveInt = 16
    """Channels of the first stage of the convolutional network that sees a frame."""
    frame_stages: PositiveInt = Field(default=2, le=8)
    """Its stages; from stage to stage rows and columns are halved and channels doubled."""

    def body(  # type: ignore[override]
        self, *, channels: int, rows: int, columns: int
    ) -> RecurrentReader:
        """The layers, for frames of so many channels, rows and columns of pixels."""
        first = FrameVectors(self, channels=channels, rows=rows, columns=columns)
        return RecurrentReader(self, first=first)


class FrameVectors(nn.Module):
    """e_t = W [h_1; …; h_P] + b, h_p what a CNN makes of each place of frame t (Donahue et al. 2015, section 3).

    All places stand side by side, so that the vector also tells where something is.

    Differs from the paper: a small network that is learnt with the rest.
    """

    def __init__(self, settings: FilmReadingSettings, *, channels: int, rows: int, columns: int) -> None:
        super().__init__()
        plain = CNNSettings(width=settings.frame_width, stages=settings.frame_stages, dropout=0.0)
        self.network = CNN(plain, channels=channels)
        for _ in range(settings.frame_stages - 1):
            rows, columns = -(-rows // 2), -(-columns // 2)
        self.output = Linear(rows * columns * self.network.width, settings.embedding)

    def forward(self, x_BTCYX: Tensor) -> Tensor:
        """`e_BTE`: the vector of each frame."""
        h_BPD = self.network(x_BTCYX.flatten(0, 1))
        e_BTE: Tensor = self.output(h_BPD.flatten(1)).view(*x_BTCYX.shape[:2], -1)
        return e_BTE
