"""What inputs and outputs know, as JSON files in the run folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from seqwright.errors import RunError

ThingT = TypeVar("ThingT")


def save_json(path: Path, plain: Any) -> None:
    """Write plain values."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(plain, ensure_ascii=False, indent=1), encoding="utf-8")


def load_json(path: Path, make: Callable[[Any], ThingT]) -> ThingT:
    """What `make` makes of the plain values in a file."""
    try:
        return make(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise RunError(f"{path} is missing; expected what training wrote there: restore it") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path} cannot be read as {path.stem} ({error}); restore the file from a copy") from error
