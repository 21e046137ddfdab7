"""Files of images as arrays, by Pillow; whatever a file may be, it is an image of 8 bits or refused in one sentence.

Y rows of pixels · X columns · C channels
"""

import struct
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from seqwright.data.limits import file_limits
from seqwright.errors import DataError

Pixels = NDArray[np.uint8]

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # none that starts another program, as EPS does
ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
WIDE = ("I", "I;16", "I;16B", "I;16L")  # more than 8 bits for a shade of grey
GREY = ("1", "L", "LA", "La")
COLOURED = ("P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "HSV")
CLEAR = ("LA", "La", "PA", "RGBA", "RGBa")  # which say how far one sees through
DAMAGED = (  # what Pillow raises over bytes that are not what they should be
    *(OSError, SyntaxError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError, EOFError),
    *(AssertionError, RuntimeError, NotImplementedError, MemoryError, struct.error, zlib.error),
)


class UnreadableImageError(DataError):
    """Bytes that are no image, or one that cannot be read; `reason` says it in a few words."""

    def __init__(self, sentence: str, reason: str) -> None:
        super().__init__(sentence)
        self.reason = reason


class Undecoded(NamedTuple):
    """An image in a file, in an archive or in memory, which is decoded when somebody asks for it."""

    content: Callable[[], bytes]
    where: str

    def decoded(self) -> Pixels:
        """Its pixels."""
        return decoded_image(self.content(), self.where)


def decoded_image(content: bytes, where: object) -> Pixels:
    """`pixels_YXC` of an image, of one channel (grey) or three (red, green, blue).

    It stands upright as its EXIF data says; shades of 16 bits lose the lower 8, and what can be seen through is seen on
    white. How large it is, is told by its header before anything is decoded.
    """
    try:
        with silent(), opened_image(content, where) as image:
            _refuse_several(image, where)
            image.load()
            return pixels_of_image(ImageOps.exif_transpose(image), where)
    except Image.DecompressionBombError as error:  # told by a frame, not by the header
        raise too_many_pixels(where, "far too many") from error
    except DAMAGED as error:
        raise damaged_image(where, error) from error


@contextmanager
def silent() -> Iterator[None]:
    """Without Pillow's warnings: of odd EXIF data, and of sizes for which we have a limit of our own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def opened_image(content: bytes, where: object) -> Image.Image:
    """A file of a kind that is read; how large it is, its header tells."""
    most = file_limits().pixels
    try:
        image = Image.open(BytesIO(content), formats=FORMATS)
    except Image.DecompressionBombError as error:
        raise too_many_pixels(where, "far too many") from error
    except DAMAGED as error:
        what = "is empty" if not content else f"is no image of a kind that is read ({', '.join(FORMATS)})"
        raise unreadable_image(where, what, "no image", "convert it, or leave it out") from error
    if image.width * image.height > most:
        raise too_many_pixels(where, f"{image.width:,} × {image.height:,}")
    return image


def _refuse_several(image: Image.Image, where: object) -> None:
    """Refuse a film, and a document of several pages; the second one in a photograph (MPO) is a preview of it."""
    count = int(getattr(image, "n_frames", 1))
    if count > 1 and image.format != "MPO":
        what = "pages" if image.format == "TIFF" else "frames"
        raise unreadable_image(
            where, f"has {count} {what}, expected one image", f"{count} {what}", "save the one that is meant by itself"
        )


def pixels_of_image(image: Image.Image, where: object) -> Pixels:
    """The pixels of what Pillow has decoded."""
    if image.mode in WIDE:
        shade_YX = np.asarray(image).astype(np.int64)
        if shade_YX.min() < 0 or shade_YX.max() >= 2**16:
            raise unreadable_image(where, "has shades of 32 bits", "32 bits", "convert it to 8 or 16 bits")
        return (shade_YX >> 8).astype(np.uint8)[:, :, None]
    if image.mode not in (*GREY, *COLOURED):
        raise unreadable_image(
            where, f"has pixels of the kind {image.mode}", f"mode {image.mode}", "convert it to grey or RGB"
        )
    if image.mode in CLEAR or "transparency" in image.info:
        whole = image.convert("RGBA")
        seen = Image.alpha_composite(Image.new("RGBA", whole.size, "white"), whole)
    else:
        seen = image
    if image.mode in GREY:
        return np.array(seen.convert("L"), dtype=np.uint8)[:, :, None]
    return np.array(seen.convert("RGB"), dtype=np.uint8)


def too_many_pixels(where: object, found: str) -> UnreadableImageError:
    """That it needs more memory than is meant for an image."""
    most = file_limits()
    return unreadable_image(
        where,
        f"has {found} pixels, expected at most {most.pixels:,}",
        "too many pixels",
        f"make it smaller; {most.raised('pixels')}",
    )


def damaged_image(where: object, error: BaseException) -> UnreadableImageError:
    """That Pillow could not make anything of it."""
    return unreadable_image(where, f"is damaged ({_brief(error)})", "damaged", "get it again, or leave it out")


def unreadable_image(where: object, what: str, reason: str, remedy: str) -> UnreadableImageError:
    """Where, what was found, in a few words too, and what to do."""
    return UnreadableImageError(f"{where} {what}: {remedy}", reason)


def _brief(error: BaseException) -> str:
    return " ".join(str(error).split())[:100] or type(error).__name__
