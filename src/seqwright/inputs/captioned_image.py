"""What a caption is written from: the pixels of an image, or features of it that another program has computed.

B batch · N rows · P places of a grid, row by row · C channels
"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch

from seqwright.batches import Numbers, Rows
from seqwright.data.decoded_images import UnreadableImageError
from seqwright.data.image_features import Features, GridFeatures
from seqwright.data.images import ImageExample
from seqwright.errors import DataError, SettingError, brief
from seqwright.inputs import Examples, Input, Picture, Room, Stacked
from seqwright.inputs.fitted_images import Frame, fitted
from seqwright.inputs.image import SHOWN, ImageInput, ImageSettings
from seqwright.inputs.saved import load_json, save_json
from seqwright.setting_classes import Settings

GRID = "features.json"
DRAWN = Frame(3, 128, 128)  # an image whose features alone are read


class CaptionedImageInput(ImageInput):
    """As `ImageInput`; where images come with features, `FeatureInput` is learnt in its place."""

    unit: ClassVar[str] = "tokens"  # of the captions: batches are planned by them

    @classmethod
    def learn(cls, train: Examples[ImageExample], settings: Any, *, room: Room, like: Any = None) -> Any:
        """By the first example: all of a part have features, or none."""
        if next(iter(train)).features is not None:
            return FeatureInput.learn(train, settings, room=room, like=like)
        return super().learn(train, settings, room=room, like=like)

    @classmethod
    def load(cls, folder: str | Path) -> Any:
        """Read what either has saved."""
        return FeatureInput.load(folder) if Path(folder, GRID).is_file() else super().load(folder)

    def picture(self, examples: Examples[ImageExample]) -> Picture | None:
        """Some images at even distances, each with a caption; below, one after each augmentation of the settings."""
        drawn = super().picture(examples)
        if drawn is None:
            return None
        images = self._fitted(examples)
        captions = [example.captions for example in examples]
        places = np.unique(np.linspace(0, len(images.example_N) - 1, SHOWN // 2).round().astype(int)).tolist()
        sheet = [(next(iter(captions[images.example_N[place]]), ""), images.pixels_NYXC[place]) for place in places]
        return Picture("captions", {**drawn.data, "images": sheet})


# ---------------------------------------------------------------------------------------------------- features


class Grid(NamedTuple):
    """How many places the features of an image are of, and how many numbers each is told by."""

    rows: int
    columns: int
    features: int


class FeatureRows(Rows[Features]):
    """The features of each image, read when they are asked for; each of length 1, as images are."""

    def __init__(self, features: Sequence[GridFeatures], example_N: Numbers) -> None:
        self.features, self.example_N = features, example_N
        self.length_N = np.ones(len(example_N), dtype=np.int64)

    def take(self, numbers: Numbers, epoch: int | None) -> list[Features]:
        """Those of some images, the same in every epoch."""
        return [self.features[number].value_YXC for number in numbers.tolist()]


@dataclass(frozen=True)
class FeatureInput(Input[ImageExample, Features]):
    """The size of the grid; and of each channel nothing, since what computed the features has scaled them."""

    settings: ClassVar[type[Settings]] = ImageSettings
    noun: ClassVar[str] = "images"
    at_once: ClassVar[int] = 64

    grid: Grid

    @classmethod
    def learn(cls, train: Examples[ImageExample], settings: Any, *, room: Room, like: Any = None) -> Self:
        """The size of the grid."""
        given = settings.model_dump(exclude_defaults=True)
        if given:
            raise SettingError(
                f"input.{next(iter(given))} is set, but images are read as the features of data.features, of which "
                "nothing is resized or augmented: leave it out"
            )
        first = next(iter(train)).features
        assert first is not None
        return cls(Grid(*first.file.shape))

    def encode(self, examples: Examples[ImageExample], *, seed: int = 0) -> FeatureRows:
        """The features of every image; what a user types has none of its own and is refused."""
        found = list[GridFeatures]()
        for example in examples:
            if example.features is None:
                raise _without_features(example.name)
            file = example.features.file
            if file.shape != self.grid:
                raise DataError(
                    f"{file.path} has features of the shape {file.shape}, but the run learnt from {tuple(self.grid)}: "
                    "compute them by the same model"
                )
            found.append(example.features)
        return FeatureRows(found, np.arange(len(found)))

    def stack(self, rows: Sequence[Features]) -> Stacked:
        """`input_B`, (B, P, C), the places row by row."""
        grids_BYXC = torch.from_numpy(np.stack(rows))
        return {"input_B": grids_BYXC.flatten(1, 2), "real_BT": torch.ones(len(rows), 1, dtype=torch.bool)}

    def parse(self, given: Any) -> ImageExample:
        """An example with features; nothing else has any."""
        if isinstance(given, ImageExample) and given.features is not None:
            return given
        raise _without_features(given.name if isinstance(given, ImageExample) else str(given))

    def example_fields(self, example: ImageExample) -> dict[str, Any]:
        """Its name."""
        return {"image": example.name}

    def line_start(self, example: ImageExample) -> str:
        """Its name, for which of many a line is could not be seen."""
        return f"{example.name}\t"

    def digest(self, example: ImageExample) -> bytes:
        """Of the features."""
        assert example.features is not None
        return hashlib.blake2b(example.features.value_YXC.tobytes(), digest_size=8).digest()

    def picture(self, examples: Examples[ImageExample]) -> Picture | None:
        """Some images at even distances, each with a caption, as far as they are there: only features are read."""
        every = list(examples)
        sheet = []
        for place in np.unique(np.linspace(0, len(every) - 1, SHOWN // 2).round().astype(int)).tolist():
            with suppress(UnreadableImageError):
                sheet.append((every[place].target, fitted(every[place].pixels_YXC, DRAWN)))
        return Picture("captions", {"images": sheet, "augmented": []}) if sheet else None

    def part_sentence(self, examples: Examples[ImageExample], rows: Rows[Any]) -> tuple[str, str]:
        """How many images are read, and of what size the features are."""
        high, wide, channels = self.grid
        return f"{len(rows.example_N):,} images of {high} × {wide} places with {channels:,} features", ""

    def sizes(self) -> dict[str, int]:
        """The rows and columns of the grid, and the numbers of each place."""
        return self.grid._asdict()

    def save(self, folder: str | Path) -> None:
        """Write the size."""
        save_json(Path(folder, GRID), self.grid._asdict())

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote."""
        return load_json(Path(folder, GRID), cls._from_plain)

    @classmethod
    def _from_plain(cls, plain: Mapping[str, Any]) -> Self:
        grid = Grid(*(int(plain[name]) for name in Grid._fields))
        if min(grid) < 1:
            raise ValueError("expected a grid of places with features")
        return cls(grid)


def _without_features(name: str) -> DataError:
    return DataError(
        f"{brief(name)} has no features, and the run reads those of a file in place of pixels: name an image that "
        "data.features has, or train a run on pixels"
    )
