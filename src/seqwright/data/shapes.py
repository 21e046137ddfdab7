"""Made-up images of coloured shapes, each with one large shape and up to two small ones, and all that is true of them.

A scene is plain data, drawn from (seed, part, number); the image, the exact mask of every shape and the captions follow
from it. Each shape lies in a cell of its own of a 3 × 3 grid, never in the middle one: no two overlap, and none covers
the middle of the image.

N shapes · Y rows of pixels · X columns · C channels
"""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from seqwright.data.decoded_images import Pixels
from seqwright.data.examples import PartName
from seqwright.data.generated import Generated, GeneratedSettings, TestCount, ValidCount
from seqwright.data.images import ImageExample

Bools = NDArray[np.bool_]
Places = NDArray[np.float64]
Language = Literal["en", "de"]

PARTS: tuple[PartName, ...] = ("train", "valid", "test")
GRID = 3
CELLS = [(row, column) for row in range(GRID) for column in range(GRID) if (row, column) != (1, 1)]
RADIUS = {"large": 0.145, "small": 0.085}  # of the side of the image; half a cell is 0.167

# Whether a point is in a shape, by how far it lies below and to the right of the middle, in radii.
FORMS: dict[str, Callable[[Places, Places], Bools]] = {
    "circle": lambda y, x: y**2 + x**2 <= 1,
    "cross": lambda y, x: (np.minimum(abs(y), abs(x)) <= 0.35) & (np.maximum(abs(y), abs(x)) <= 1),
    "diamond": lambda y, x: abs(y) + abs(x) <= 1,
    "square": lambda y, x: np.maximum(abs(y), abs(x)) <= 0.85,
    "triangle": lambda y, x: (y <= 0.8) & (2 * abs(x) <= y + 1),
}
COLOURS = {
    "blue": (40, 80, 240),
    "green": (30, 170, 60),
    "pink": (250, 130, 190),
    "red": (220, 40, 40),
    "white": (245, 245, 245),
    "yellow": (240, 220, 40),
}


class Shape(NamedTuple):
    """One shape: what it is, and where its middle lies, as shares of the height and of the width."""

    form: str
    colour: str
    size: str
    y: float
    x: float


class Scene(NamedTuple):
    """All that is seen in an image; the large shape is the first."""

    shapes: tuple[Shape, ...]
    background: int  # a shade of grey
    grain: int  # what the noise over it is drawn from


# ------------------------------------------------------------------------------------------------- from a scene


def drawn_scene(seed: int, part: int, number: int) -> Scene:
    """The scene of a number."""
    rng = np.random.default_rng((seed, part, number))
    count = int(rng.integers(1, 4))
    cells = [CELLS[place] for place in rng.permutation(len(CELLS))[:count]]
    return Scene(
        tuple(_drawn_shape(rng, cell, "small" if place else "large") for place, cell in enumerate(cells)),
        int(rng.integers(0, 70)),
        int(rng.integers(2**32)),
    )


def _drawn_shape(rng: np.random.Generator, cell: tuple[int, int], size: str) -> Shape:
    spare = 0.5 / GRID - RADIUS[size]  # how far from the middle of its cell it may lie
    y, x = ((place + 0.5) / GRID + rng.uniform(-spare, spare) for place in cell)
    return Shape(str(rng.choice(list(FORMS))), str(rng.choice(list(COLOURS))), size, float(y), float(x))


def masks_of(scene: Scene, size: int) -> Bools:
    """`mask_NYX`: the pixels of each shape."""
    place = (np.arange(size) + 0.5) / size
    masks = []
    for shape in scene.shapes:
        radius = RADIUS[shape.size]
        y_Y1, x_1X = (place[:, None] - shape.y) / radius, (place[None] - shape.x) / radius
        masks.append(FORMS[shape.form](*np.broadcast_arrays(y_Y1, x_1X)))
    return np.stack(masks)


def picture_of(scene: Scene, size: int, noise: float) -> Pixels:
    """`pixels_YXC`, with normal noise over everything."""
    pixels_YXC = np.full((size, size, 3), scene.background, dtype=np.float64)
    for shape, mask_YX in zip(scene.shapes, masks_of(scene, size), strict=True):
        pixels_YXC[mask_YX] = COLOURS[shape.colour]
    pixels_YXC += noise * np.random.default_rng(scene.grain).standard_normal(pixels_YXC.shape)
    return pixels_YXC.round().clip(0, 255).astype(np.uint8)


# ---------------------------------------------------------------------------------------------------- captions


GERMAN_FORMS = {
    "circle": ("Kreis", "m"),
    "cross": ("Kreuz", "n"),
    "diamond": ("Raute", "f"),
    "square": ("Quadrat", "n"),
    "triangle": ("Dreieck", "n"),
}
GERMAN_WORDS = {
    **{"blue": "blau", "green": "grün", "pink": "rosa", "red": "rot", "white": "weiß", "yellow": "gelb"},
    **{"large": "groß", "small": "klein"},
}
RELATIONS = {  # of a shape to another that lies to the right of it, to the left, below, above
    "en": ("left of", "right of", "above", "below"),
    "de": ("links von", "rechts von", "über", "unter"),
}


def named_order(scene: Scene) -> list[int]:
    """The numbers of the shapes as a caption names them: the large one, then the others as one reads."""
    others = range(1, len(scene.shapes))
    cells = [(int(GRID * shape.y), int(GRID * shape.x)) for shape in scene.shapes]
    return [0, *sorted(others, key=cells.__getitem__)]


def caption_of(scene: Scene, language: Language) -> str:
    """What is seen: the large shape, and where it lies beside each of the others. No other caption is right."""
    first, *others = (scene.shapes[number] for number in named_order(scene))
    named = _german if language == "de" else _english
    beside = [f"{RELATIONS[language][_relation(first, other)]} {named(other, True)}" for other in others]
    return " ".join([named(first, False), f" {'und' if language == 'de' else 'and'} ".join(beside)]).strip()


def _relation(one: Shape, other: Shape) -> int:
    """Beside another that lies in another column of the grid; otherwise above it or below."""
    down, right = other.y - one.y, int(GRID * other.x) - int(GRID * one.x)
    if right:
        return 0 if right > 0 else 1
    return 2 if down > 0 else 3


def _english(shape: Shape, dative: bool) -> str:
    return f"a {shape.size} {shape.colour} {shape.form}"


def _german(shape: Shape, dative: bool) -> str:
    """Behind `von`, `über` and `unter` in the dative: `einem kleinen roten Kreis`."""
    noun, gender = GERMAN_FORMS[shape.form]
    article = {"m": "einem", "n": "einem", "f": "einer"} if dative else {"m": "ein", "n": "ein", "f": "eine"}
    ending = "en" if dative else {"m": "er", "n": "es", "f": "e"}[gender]
    adjectives = (GERMAN_WORDS[word] for word in (shape.size, shape.colour))
    declined = (word if word == "rosa" else f"{word}{ending}" for word in adjectives)
    return " ".join((article[gender], *declined, noun))


# ----------------------------------------------------------------------------------------------------- the card


class ShapesSettings(GeneratedSettings):
    """Coloured shapes."""

    card: Literal["shapes"] = "shapes"
    examples: int = Field(default=6_000, ge=1)
    """How many training examples there are."""
    valid: ValidCount = 500
    test: TestCount = 1_000
    size: int = Field(default=48, ge=24, le=512)
    """Rows and columns of an image."""
    noise: float = Field(default=8.0, ge=0, le=255)
    """Standard deviation of the noise, in shades of 255."""
    language: Language = "en"
    """The language of the captions."""
    seed: int = Field(default=1, ge=0, lt=2**32)
    """Another number gives other images."""


class Shapes(Generated):
    """Coloured shapes; the label of an image is the form of its large shape."""

    format = 2

    def scene(self, part: PartName, number: int) -> Scene:
        """All that is seen in an image."""
        return drawn_scene(self.settings.seed, PARTS.index(part), number)

    def examples(self, part: PartName) -> Iterator[ImageExample]:
        """Every image of a part with its label and its caption."""
        return (self._example(self.scene(part, number), number) for number in range(self.size(part)))

    def _example(self, scene: Scene, number: int) -> ImageExample:
        settings = self.settings
        pixels_YXC = picture_of(scene, settings.size, settings.noise)
        captions = (caption_of(scene, settings.language),)
        return ImageExample(pixels_YXC, scene.shapes[0].form, f"shapes {number + 1}", captions)
