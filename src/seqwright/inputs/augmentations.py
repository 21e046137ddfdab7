"""Augmentations of images: each makes another image of the same size, which shows the same thing.

Everything random is drawn from the generator that is given.

Y rows of pixels · X columns · C channels
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from seqwright.data.decoded_images import Pixels
from seqwright.inputs.fitted_images import LUMA

Random = np.random.Generator
Values = NDArray[np.float64]

SMALLEST_CROP = 0.4  # of the area
NARROWEST_CROP = 3 / 4  # of width to height; its inverse is the widest
FARTHEST = 8  # the part of a side that an image is shifted at most
JITTER = 0.4  # how far brightness, contrast and saturation go from 1
GREY, BLUR, SOLARISE = 0.2, 0.5, 0.2  # how often these are done; a flip is as often as not
MOST_BLUR = 0.05  # deviation, of the side
THRESHOLD = 128  # shades from which solarising turns into their opposite
CUT = 0.5  # the side of the square that is cut out, of the image's


def crop(pixels_YXC: Pixels, rng: Random) -> Pixels:
    """A rectangle of 40 to 100 % of the area, resized to the whole (Szegedy et al. 2015, section 6)."""
    rows, columns, _ = pixels_YXC.shape
    area = rng.uniform(SMALLEST_CROP, 1)
    ratio = np.exp(rng.uniform(np.log(NARROWEST_CROP), -np.log(NARROWEST_CROP)))
    high, wide = rows * min(1, np.sqrt(area / ratio)), columns * min(1, np.sqrt(area * ratio))
    return _resized(pixels_YXC, rng.uniform(0, rows - high), rng.uniform(0, columns - wide), high, wide)


def shift(pixels_YXC: Pixels, rng: Random) -> Pixels:
    """Moved by up to an eighth of each side; what comes in repeats the edge (He et al. 2016, section 4.2).

    Differs from the paper: there zeros come in.
    """
    rows, columns, _ = pixels_YXC.shape
    down, right = (rng.integers(-most, most + 1) for most in (round(rows / FARTHEST), round(columns / FARTHEST)))
    from_Y = (np.arange(rows) - down).clip(0, rows - 1)
    from_X = (np.arange(columns) - right).clip(0, columns - 1)
    moved: Pixels = pixels_YXC[from_Y[:, None], from_X]
    return moved


def flip(pixels_YXC: Pixels, rng: Random) -> Pixels:
    """Left and right changed, every other time."""
    return pixels_YXC[:, ::-1] if rng.uniform() < 0.5 else pixels_YXC


def colour(pixels_YXC: Pixels, rng: Random) -> Pixels:
    """Other brightness, contrast and saturation."""
    bright, contrast, saturation = rng.uniform(1 - JITTER, 1 + JITTER, 3)
    found = bright * pixels_YXC.astype(np.float64)
    found = found.mean() + contrast * (found - found.mean())
    grey_YX1 = _grey(found)
    return _shades(grey_YX1 + saturation * (found - grey_YX1))


def grey(pixels_YXC: Pixels, rng: Random) -> Pixels:
    """Shades of grey, every fifth time."""
    if rng.uniform() >= GREY:
        return pixels_YXC
    return np.broadcast_to(_shades(_grey(pixels_YXC.astype(np.float64))), pixels_YXC.shape)


def blur(pixels_YXC: Pixels, rng: Random) -> Pixels:
    """A Gaussian filter, every other time."""
    if rng.uniform() >= BLUR:
        return pixels_YXC
    deviation = max(0.3, rng.uniform(0, MOST_BLUR) * min(pixels_YXC.shape[:2]))
    over_YY, over_XX = (_gaussian(count, deviation) for count in pixels_YXC.shape[:2])
    return _shades(np.einsum("yv,vwc,xw->yxc", over_YY, pixels_YXC.astype(np.float64), over_XX, optimize=True))


def solarise(pixels_YXC: Pixels, rng: Random) -> Pixels:
    """The opposite of every bright shade, every fifth time (Grill et al. 2020, appendix B)."""
    if rng.uniform() >= SOLARISE:
        return pixels_YXC
    return np.where(pixels_YXC >= THRESHOLD, 255 - pixels_YXC, pixels_YXC).astype(np.uint8)


def cut_out(pixels_YXC: Pixels, rng: Random) -> Pixels:
    """A square of half the side filled with the mean; its middle may lie anywhere (DeVries & Taylor 2017, section 3.2).

    Differs from the paper: the mean is that of the image, not of the corpus.
    """
    rows, columns, _ = pixels_YXC.shape
    half = max(1, round(CUT * min(rows, columns) / 2))
    y, x = rng.integers(rows), rng.integers(columns)
    found = pixels_YXC.copy()
    found[max(0, y - half) : y + half, max(0, x - half) : x + half] = pixels_YXC.mean((0, 1)).round()
    return found


AUGMENTATIONS: dict[str, Callable[[Pixels, Random], Pixels]] = {
    "crop": crop,
    "shift": shift,
    "flip": flip,
    "colour": colour,
    "grey": grey,
    "blur": blur,
    "solarise": solarise,
    "cut-out": cut_out,
}


def augmented(pixels_YXC: Pixels, names: tuple[str, ...], rng: Random) -> Pixels:
    """An image after each of some augmentations, in their order."""
    for name in names:
        pixels_YXC = AUGMENTATIONS[name](pixels_YXC, rng)
    return pixels_YXC


def _resized(pixels_YXC: Pixels, top: float, left: float, high: float, wide: float) -> Pixels:
    """A rectangle of an image at the size of the whole, between pixels on a line."""
    rows, columns, _ = pixels_YXC.shape
    (above_Y, below_Y, y_Y), (before_X, behind_X, x_X) = _between(top, high, rows), _between(left, wide, columns)
    y_Y11, x_X1 = y_Y[:, None, None], x_X[:, None]
    found = pixels_YXC.astype(np.float64)
    found = found[above_Y] * (1 - y_Y11) + found[below_Y] * y_Y11
    return _shades(found[:, before_X] * (1 - x_X1) + found[:, behind_X] * x_X1)


def _between(first: float, length: float, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Values]:
    """Of so many places at even distances in a stretch, the pixels before and behind each, and how far it is behind."""
    place = (first + (np.arange(count) + 0.5) * length / count - 0.5).clip(0, count - 1)
    before = place.astype(np.int64)
    return before, np.minimum(before + 1, count - 1), place - before


def _gaussian(count: int, deviation: float) -> Values:
    """How much each pixel of a line has of each other; at the edges there are fewer to share."""
    place = np.arange(count)
    weight = np.exp(-0.5 * ((place[:, None] - place) / deviation) ** 2)
    shares: Values = weight / weight.sum(1, keepdims=True)
    return shares


def _grey(found: Values) -> Values:
    grey_YX1: Values = found @ np.array(LUMA)[:, None] if found.shape[2] == len(LUMA) else found
    return grey_YX1


def _shades(found: Values) -> Pixels:
    return found.round().clip(0, 255).astype(np.uint8)
