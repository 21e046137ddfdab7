"""What inputs and outputs know, as JSON files in the run folder."""

import hashlib
import json
from collections.abc import Callable, Collection
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from seqwright.errors import RunError
from seqwright.whole_file import write_whole

ThingT = TypeVar("ThingT")

LARGEST = 2**53  # of a whole number: no text or series is as long, and arrays can hold it


def save_json(path: Path, plain: Any) -> None:
    """Write plain values, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(plain, ensure_ascii=False, indent=1))


def load_json(path: Path, make: Callable[[Any], ThingT]) -> ThingT:
    """What `make` makes of the plain values in a file."""
    try:
        return make(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise RunError(f"{path} is missing; expected what training wrote there: restore it") from error
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise RunError(
            f"{path} cannot be read as {path.stem} ({_reason(error)}); restore the file from a copy"
        ) from error


def _reason(error: Exception) -> str:
    """What is wrong with a file in a few words on one line."""
    told = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
    return " ".join(told.split())[:200]


def saved_sum(thing: Any) -> str:
    """A sha256 of everything that an input or an output saves."""
    found = hashlib.sha256()
    with TemporaryDirectory() as folder:
        thing.save(Path(folder))
        for path in sorted(Path(folder).iterdir()):
            found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


def plain_fields(thing: Any, without: Collection[str] = ()) -> dict[str, Any]:
    """The fields of a dataclass with their values, but for some and those that are not compared."""
    return {name: getattr(thing, name) for name in _names(thing, without)}


def load_fields(kind: type[ThingT], path: Path, **known: Any) -> ThingT:
    """An instance of a dataclass: what is known, and its other fields from a file, each of the type that it has."""
    types, names = get_type_hints(kind), _names(kind, known)

    def made(plain: Any) -> ThingT:
        values = {name: TypeAdapter(types[name]).validate_python(plain[name]) for name in names}
        for name, value in values.items():
            if type(value) is int:  # True is another one
                checked_size(name, value)
        return kind(**known, **values)

    return load_json(path, made)


def checked_size(name: str, size: int) -> int:
    """A whole number of a file, all of which count something that there is."""
    if not 1 <= size <= LARGEST:
        raise ValueError(f"{name} is no number from 1 to {LARGEST:,}")
    return size


def _names(thing: Any, without: Collection[str]) -> list[str]:
    return [each.name for each in fields(thing) if each.compare and each.name not in without]
