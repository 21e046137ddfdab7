"""Films as arrays: frames that are files of images, or the frames of one file (GIF, WebP, PNG), by Pillow.

T frames · Y rows of pixels · X columns · C channels
"""

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageOps, ImageSequence

from seqwright.data.decoded_images import (
    DAMAGED,
    Pixels,
    Undecoded,
    UnreadableImageError,
    damaged_image,
    opened_image,
    pixels_of_image,
    silent,
    too_many_pixels,
    unreadable_image,
)
from seqwright.data.limits import file_limits

ENDINGS = (".gif", ".webp", ".png", ".apng")  # of files that may have several frames


def film_of_file(content: bytes, where: object) -> Pixels:
    """`pixels_TYXC` of a file with one frame or several; how large it is, is told before anything is decoded."""
    try:
        with silent(), opened_image(content, where) as image:
            count, size = int(getattr(image, "n_frames", 1)), image.size
            refuse_large(count, image.height, image.width, where)
            frames = list[Pixels]()
            for each in ImageSequence.Iterator(image):
                if each.size != size:
                    told = f"has frames of {size[1]} × {size[0]} and of {each.height} × {each.width} pixels"
                    raise unreadable_image(where, told, "frames of several sizes", "save it again")
                frames.append(pixels_of_image(ImageOps.exif_transpose(each.copy()), where))
    except UnreadableImageError:
        raise
    except Image.DecompressionBombError as error:
        raise too_many_pixels(where, "far too many") from error
    except DAMAGED as error:
        raise damaged_image(where, error) from error
    return joined_frames(frames, where)


def film_of_frames(images: Sequence[Undecoded], where: object) -> Pixels:
    """`pixels_TYXC` of files that are a frame each."""
    frames = list[Pixels]()
    for image in images:
        frame = image.decoded()
        if not frames:
            refuse_large(len(images), frame.shape[0], frame.shape[1], where)
        if frames and frame.shape[:2] != frames[0].shape[:2]:
            few, many = (f"{rows} × {columns}" for rows, columns in (frames[0].shape[:2], frame.shape[:2]))
            raise unreadable_image(
                image.where,
                f"has {many} pixels, but the frames before it {few}",
                "frames of several sizes",
                "resize it",
            )
        frames.append(frame)
    return joined_frames(frames, where)


def joined_frames(frames: Sequence[Pixels], where: object) -> Pixels:
    """Frames of one size as a film; it has colours where one of them does."""
    if not frames:
        raise unreadable_image(where, "has no frame", "no frames", "leave it out")
    channels = max(frame.shape[2] for frame in frames)
    whole = [frame if frame.shape[2] == channels else np.repeat(frame, channels, axis=2) for frame in frames]
    return np.stack(whole)


def refuse_large(frames: int, rows: int, columns: int, where: object) -> None:
    """Refuse a film that needs more memory than is meant for a file."""
    most = file_limits()
    if frames * rows * columns > most.pixels:
        raise unreadable_image(
            where,
            f"has {frames:,} frames of {rows:,} × {columns:,} pixels, expected at most {most.pixels:,} in all",
            "too many pixels",
            f"cut it, or make it smaller; {most.raised('pixels')}",
        )
