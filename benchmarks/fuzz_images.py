"""Small valid files of images in every form that is read, for the fuzzing to damage."""

import gzip
import io
import json
import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.damage import archived
from benchmarks.fuzz_files import Files, lines, tarred

COUNT, SIDE = 8, 6


class ImageFile(NamedTuple):
    """Files, which of them are the training part, and what else a recipe says of them."""

    files: Callable[[], Files]
    train: tuple[str, ...]
    settings: Mapping[str, Any]


def pixels(number: int, channels: int = 3) -> NDArray[np.uint8]:
    """A small image."""
    return np.random.default_rng(number).integers(0, 256, (SIDE, SIDE, channels)).astype(np.uint8)


def encoded(array: NDArray[np.uint8], form: str, **options: Any) -> bytes:
    """An image as a file has it."""
    from PIL import Image

    held = io.BytesIO()
    Image.fromarray(array[:, :, 0] if array.shape[2] == 1 else array).save(held, form, **options)
    return held.getvalue()


def turned() -> bytes:
    """A photograph with EXIF data."""
    from PIL import Image

    exif = Image.Exif()
    exif[274] = 6
    return encoded(pixels(1), "JPEG", exif=exif)


def folders(form: str, **options: Any) -> Files:
    """Images in folders of their labels."""
    ending = form.lower()
    return {
        f"{'cat' if n % 2 else 'dog'}/{n}.{ending}": encoded(pixels(n, 4 if form == "PNG" else 3), form, **options)
        for n in range(COUNT)
    }


def idx(values: NDArray[np.uint8]) -> bytes:
    """Bytes in the format of MNIST."""
    return struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape) + values.tobytes()


def idx_pair() -> Files:
    """Images and labels in the format of MNIST."""
    shades = np.stack([pixels(n, 1)[:, :, 0] for n in range(COUNT)])
    labels = (np.arange(COUNT) % 2).astype(np.uint8)
    return {
        "images.idx3.gz": gzip.compress(idx(shades), mtime=0),
        "labels.idx1.gz": gzip.compress(idx(labels), mtime=0),
    }


def arrays() -> Files:
    """Arrays of NumPy, the same bytes whenever they are made."""
    members = {}
    every: dict[str, NDArray[Any]] = {
        "images": np.stack([pixels(n) for n in range(COUNT)]),
        "labels": np.arange(COUNT) % 2,
    }
    for name, array in every.items():
        held = io.BytesIO()
        np.save(held, array)
        members[f"{name}.npy"] = held.getvalue()
    return {"a.npz": archived(members)}


def sheet() -> Files:
    """Tiles on a sheet, and their labels."""
    every = np.concatenate([pixels(n) for n in range(COUNT)])
    return {"a.png": encoded(every, "PNG"), "a.labels.txt": lines(n % 2 for n in range(COUNT))}


def table() -> Files:
    """A table with the paths of images."""
    files = folders("GIF")
    return {"a.csv": lines(["image,label", *(f"{name},{name[:3]}" for name in files)]), **files}


def captions_csv() -> Files:
    """A table with several captions of each image."""
    files = folders("GIF")
    rows = [f"{name},a {name[:3]} {turn}" for turn in ("sits", "runs") for name in files]
    return {"a.csv": lines(["image,caption", *rows]), **files}


def captions_jsonl() -> Files:
    """The same as objects, each with a list."""
    files = folders("PNG")
    rows = [json.dumps({"path": name, "captions": [f"a {name[:3]}", f"it is {name}"]}) for name in files]
    return {"a.jsonl": lines(rows), **files}


def captions_apart() -> Files:
    """A list of images, and their captions in a table of their own, both as Flickr8k has them."""
    files = folders("WEBP")
    captions = [f"{name[:-5]}.jpg#{turn}\ta {name[:3]} {turn} ." for name in files for turn in range(2)]
    listed = [f"{name[:-5]}.jpg" for name in files]
    return {"a.txt": lines(listed), "b.txt.gz": gzip.compress(lines(captions), mtime=0), **files}


def captions_of_features() -> Files:
    """A table, and features in place of the pixels."""
    from safetensors.numpy import save

    grids = {f"{n}": np.random.default_rng(n).standard_normal((2, 3, 4)).astype(np.float32) for n in range(COUNT)}
    return {
        "a.csv": lines(["image,caption", *(f"{n}.png,text {n}" for n in range(COUNT))]),
        "f.safetensors": save(grids),
    }


CAPTIONS: dict[str, ImageFile] = {
    "captions-csv": ImageFile(captions_csv, ("a.csv",), {}),
    "captions-jsonl": ImageFile(captions_jsonl, ("a.jsonl",), {"bad_rows": "skip"}),
    "captions-apart": ImageFile(captions_apart, ("a.txt",), {"captions": "b.txt.gz", "image": 1}),
    "captions-features": ImageFile(captions_of_features, ("a.csv",), {"features": "f.safetensors"}),
}
IMAGE_FILES: dict[str, ImageFile] = {
    **{
        f"images-{form.lower()}": ImageFile(partial(folders, form), (".",), {})
        for form in ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")
    },
    "images-exif": ImageFile(lambda: {"cat/a.jpg": turned(), "dog/b.jpg": turned()}, (".",), {"valid": "1%"}),
    "images-zip": ImageFile(lambda: {"a.zip": archived(folders("PNG"))}, ("a.zip",), {}),
    "images-tar": ImageFile(lambda: {"a.tar": tarred(folders("PNG"))}, ("a.tar",), {}),
    "images-tar-gz": ImageFile(lambda: {"a.tar.gz": gzip.compress(tarred(folders("PNG")), mtime=0)}, ("a.tar.gz",), {}),
    "images-table": ImageFile(table, ("a.csv",), {}),
    "images-idx": ImageFile(idx_pair, ("images.idx3.gz",), {}),
    "images-npz": ImageFile(arrays, ("a.npz",), {}),
    "images-sheet": ImageFile(sheet, ("a.png",), {"tile": SIDE}),
}
