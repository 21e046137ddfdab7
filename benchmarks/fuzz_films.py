"""Small valid files of films in every form that is read, for the fuzzing to damage."""

import io
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.damage import archived
from benchmarks.fuzz_files import Files, lines
from benchmarks.fuzz_images import ImageFile, encoded, pixels

COUNT, FRAMES = 6, 3


def frames(number: int, channels: int = 1) -> list[NDArray[np.uint8]]:
    """A small film."""
    return [pixels(10 * number + frame, channels) for frame in range(FRAMES)]


def moving(number: int, form: str) -> bytes:
    """A film in one file."""
    from PIL import Image

    first, *others = (Image.fromarray(frame[:, :, 0]) for frame in frames(number))
    held = io.BytesIO()
    first.save(held, form, save_all=True, append_images=others, lossless=True)
    return held.getvalue()


def in_folders() -> Files:
    """A folder of frames for each film, below a folder for each label."""
    return {
        f"{'run' if n % 2 else 'walk'}/{n}/{place}.png": encoded(frame, "PNG")
        for n in range(COUNT)
        for place, frame in enumerate(frames(n, 3))
    }


def in_files() -> Files:
    """A GIF for each film."""
    return {f"{'run' if n % 2 else 'walk'}/{n}.gif": moving(n, "GIF") for n in range(COUNT)}


def in_table() -> Files:
    """A table with labels and places."""
    rows = (f'{name},{name[:3]},"1,{n} - 2.5,{n}"' for n, name in enumerate(in_files()))
    return {"a.csv": lines(["film,label,places", *rows]), **in_files()}


def in_objects() -> Files:
    """The same as JSON lines, over files of WebP."""
    films = {f"{n}.webp": moving(n, "WEBP") for n in range(COUNT)}
    rows = (
        json.dumps({"film": name, "label": n % 2, "places": [[n, 1], None, [n, 2.5]]}) for n, name in enumerate(films)
    )
    return {"a.jsonl": lines(rows), **films}


def in_arrays() -> Files:
    """Arrays of NumPy, the same bytes whenever they are made."""
    every: dict[str, NDArray[Any]] = {
        "films": np.stack([np.stack(frames(n))[:, :, :, 0] for n in range(COUNT)]),
        "labels": np.arange(COUNT) % 2,
        "places": np.arange(COUNT * FRAMES * 2, dtype=np.float32).reshape(COUNT, FRAMES, 2) % 6,
        "lengths": 2 + np.arange(COUNT) % 2,
    }
    members = {}
    for name, array in every.items():
        held = io.BytesIO()
        np.save(held, array)
        members[f"{name}.npy"] = held.getvalue()
    return {"a.npz": archived(members)}


FILM_FILES: dict[str, ImageFile] = {
    "films-folders": ImageFile(in_folders, (".",), {}),
    "films-gif": ImageFile(in_files, (".",), {}),
    "films-zip": ImageFile(lambda: {"a.zip": archived(in_folders())}, ("a.zip",), {}),
    "films-table": ImageFile(in_table, ("a.csv",), {}),
    "films-jsonl": ImageFile(in_objects, ("a.jsonl",), {"bad_rows": "skip"}),
    "films-npz": ImageFile(in_arrays, ("a.npz",), {}),
}
