"""Small images for tests: what Pillow writes, and files, folders and archives of them."""

import gzip
import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels = NDArray[np.uint8]


def random_pixels(seed: int, rows: int = 5, columns: int = 7, channels: int = 3) -> Pixels:
    shape = (rows, columns, channels)
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


def bytes_of(image: Image.Image | Pixels, form: str = "PNG", **options: Any) -> bytes:
    """An image as a file has it."""
    if isinstance(image, np.ndarray):
        image = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)
    held = io.BytesIO()
    image.save(held, form, **options)
    return held.getvalue()


def folder_of(
    root: Path, per_label: int = 4, labels: tuple[str, ...] = ("cat", "dog"), **shape: int
) -> dict[str, bytes]:
    """A folder for each label with some images; what stands in each file."""
    files = {
        f"{label}/{number}.png": bytes_of(random_pixels(10 * place + number, **shape))
        for place, label in enumerate(labels)
        for number in range(per_label)
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return files


def idx(values: Pixels, *, packed: bool = True) -> bytes:
    """Bytes in the format of MNIST."""
    head = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    return gzip.compress(head + values.tobytes(), mtime=0) if packed else head + values.tobytes()
