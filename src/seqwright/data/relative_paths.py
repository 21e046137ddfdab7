"""Where the files of a recipe lie: beside it, else in the current directory; those of a run also beside or above it."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

NAMED = ("train", "valid", "test", "features")  # settings that name files


def beside_recipe(plain: dict[str, Any], where: str) -> dict[str, Any]:
    """Plain values of a recipe; paths of data that are relative to it become relative to the current directory."""
    return _moved(plain, [Path(where).parent, Path()])


def beside_run(plain: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Plain values of a run, with its data found from the current directory, its own folder or one above that.

    Most runs are trained where they lie, in `runs/NAME`: their data is found from anywhere, also when all was moved.
    The run itself is no data, though it is often called like a folder of them.
    """
    return _moved(plain, [Path(), folder.resolve(), *folder.absolute().parents], folder.absolute())


def for_recipe(data: dict[str, Any], where: Path) -> dict[str, Any]:
    """Settings of data, with paths as a recipe in that place has to say them."""

    def said(path: str) -> str:
        kept = where.parent == Path() or Path(path).is_absolute()
        return path if kept else Path(os.path.relpath(path, where.parent)).as_posix()

    return _with_paths(data, said)


def for_run(data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Settings of data as a run keeps them: what has an absolute path is named from the run's folder."""
    here = folder.resolve()  # through a link, `..` would lead elsewhere

    def said(path: str) -> str:
        return Path(os.path.relpath(path, here)).as_posix() if Path(path).is_absolute() else path

    return _with_paths(data, said)


def _moved(plain: dict[str, Any], folders: list[Path], run: Path | None = None) -> dict[str, Any]:
    data = plain.get("data")
    if not isinstance(data, Mapping):
        return plain

    def found(path: str) -> str:
        if Path(path).is_absolute():
            return path
        known = (folder for folder in folders if _is_there(folder / path) and (folder / path).absolute() != run)
        folder = next(known, folders[0])
        return path if folder == Path() else Path(os.path.relpath(folder / path)).as_posix()

    return {**plain, "data": _with_paths(data, found)}


def _with_paths(data: Mapping[str, Any], moved: Callable[[str], str]) -> dict[str, Any]:
    """Settings of data with each of their paths moved."""
    return {**data, **{part: _each_path(data[part], moved) for part in NAMED if part in data}}


def _each_path(given: Any, moved: Callable[[str], str]) -> Any:
    """What a part names, each path moved; shares and numbers stay, and what begins at home."""
    if isinstance(given, list | tuple):
        return [_each_path(each, moved) for each in given]
    if not isinstance(given, str) or not given or given.endswith("%") or given.startswith("~"):
        return given
    return moved(given)


def _is_there(path: Path) -> bool:
    """Whether there is such a file or folder, or an archive that the path leads into."""
    with suppress(OSError):  # no file has a name so long, or none may look
        return path.exists() or any(above.is_file() for above in path.parents)
    return False
