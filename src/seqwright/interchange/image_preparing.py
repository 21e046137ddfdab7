"""How images are prepared for a model: preprocessor_config.json as `transformers` has it, and ours."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seqwright.errors import DataError
from seqwright.inputs.fitted_images import Frame
from seqwright.inputs.image import ImageInput
from seqwright.interchange.weight_files import read_json, write_json

PREPROCESSOR = "preprocessor_config.json"
LARGEST = 4096  # rows and columns that [input] takes
BYTE = 1 / 255
BICUBIC = 3  # of Pillow


def preparing(
    folder: Path, config: Mapping[str, Any], colours: tuple[tuple[float, ...], tuple[float, ...]], notes: list[str]
) -> ImageInput:
    """What a run reads images by; what is prepared otherwise there goes into `notes`."""
    path, channels, side = folder / PREPROCESSOR, int(config["num_channels"]), int(config["image_size"])
    mean_C, deviation_C = (each[:channels] for each in colours)
    if not path.is_file():
        notes.append(f"there is no {PREPROCESSOR}: images are scaled by the mean {mean_C} and deviation {deviation_C}")
        return ImageInput(Frame(channels, side, side), mean_C, deviation_C)
    plain = read_json(path)
    size = plain.get("crop_size") if plain.get("do_center_crop") else plain.get("size")
    rows, columns = _size(size, side, path)
    if not rows == columns <= LARGEST:
        raise DataError(
            f"{path} prepares images of {rows} × {columns}; only square ones, of at most {LARGEST}, are read"
        )
    if not math.isclose(_number(plain.get("rescale_factor", BYTE), path), BYTE, rel_tol=1e-6):
        raise DataError(f"{path} has rescale_factor = {plain['rescale_factor']!r:.60}; only 1/255 can be imported")
    notes += _otherwise(plain, rows, path)
    if plain.get("do_normalize") is False:
        mean_C, deviation_C = (0.0,) * channels, (1.0,) * channels
    else:
        mean_C = _colours(plain.get("image_mean"), mean_C, channels, path)
        deviation_C = _colours(plain.get("image_std"), deviation_C, channels, path)
    if min(deviation_C) <= 0:
        raise DataError(f"{path} has image_std = {deviation_C}, expected numbers above 0: get it again")
    return ImageInput(Frame(channels, rows, columns), mean_C, deviation_C)


def prepared_as(read: ImageInput, folder: Path) -> None:
    """Write how a run reads images: the shorter side is resized, the middle cut out, and colours are scaled."""
    side = read.frame.rows
    plain = {
        "image_processor_type": "BitImageProcessor",
        "do_convert_rgb": read.frame.channels == 3,
        "do_resize": True,
        "size": {"shortest_edge": side},
        "resample": BICUBIC,
        "do_center_crop": True,
        "crop_size": {"height": side, "width": side},
        "do_rescale": True,
        "rescale_factor": BYTE,
        "do_normalize": True,
        "image_mean": read.mean_C,
        "image_std": read.deviation_C,
    }
    write_json(folder / PREPROCESSOR, plain)


def _size(size: Any, side: int, path: Path) -> tuple[int, int]:
    """Rows and columns as they are written there: a number, or a mapping of one or two."""
    if isinstance(size, dict):
        shortest = size.get("shortest_edge", side)
        size = (size.get("height", shortest), size.get("width", shortest))
    both = (side, side) if size is None else (size, size) if isinstance(size, int) else size
    whole = isinstance(both, list | tuple) and len(both) == 2
    if not whole or not all(isinstance(each, int) and not isinstance(each, bool) and each > 0 for each in both):
        raise DataError(f"{path} has the size {size!r:.60}, expected whole numbers above 0: get it again")
    return both[0], both[1]


def _otherwise(plain: Mapping[str, Any], rows: int, path: Path) -> list[str]:
    """How images are resized there, if it is not as here."""
    cut = bool(plain.get("do_center_crop"))
    high, wide = _size(plain.get("size"), rows, path) if plain.get("do_resize", True) else (rows, rows)
    here = f"here their shorter side becomes {rows} and the middle is cut out"
    if cut and (high, wide) == (rows, rows) and plain.get("resample", BICUBIC) == BICUBIC:
        return []
    there = f"the middle {rows} of {high}" if cut else f"all of an image squeezed to {high} × {wide}"
    return [f"{PREPROCESSOR} reads {there}; {here}, by bicubic interpolation"]


def _colours(given: Any, usual: tuple[float, ...], channels: int, path: Path) -> tuple[float, ...]:
    """A number for each channel."""
    if given is None:
        return usual
    several = [given] * channels if not isinstance(given, list) else given
    if len(several) != channels:
        raise DataError(f"{path} has {several!r:.60} for {channels} channels, expected a number for each: get it again")
    return tuple(_number(each, path) for each in several)


def _number(given: Any, path: Path) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise DataError(f"{path} has {given!r:.60} where a number is expected: get it again")
    return float(given)
