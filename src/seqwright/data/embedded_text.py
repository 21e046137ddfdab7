"""Text that every Python has: the source of its standard library, and its language reference. Nothing is downloaded.

The name of a document, by its hash, decides to which part it belongs.
"""

import hashlib
import json
import sys
import sysconfig
import tokenize
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from seqwright.data.examples import PartName
from seqwright.data.files import place_of, share_of
from seqwright.data.generated import CardSettings
from seqwright.data.pieces import pieces_of, refuse_impossible_shares
from seqwright.errors import DataError, SettingError

# Tests have bad syntax and foreign encodings on purpose; the others are tables and prose in the clothes of source.
LEFT_OUT = frozenset({"test", "tests", "idle_test", "encodings", "pydoc_data"})


class EmbeddedTextSettings(CardSettings):
    """What is held out of an embedded corpus."""

    valid: str = "5%"
    """The share of the documents that is the validation part."""
    test: str = "5%"
    """The share of the documents that is the test part."""

    @model_validator(mode="after")
    def _are_shares(self) -> "EmbeddedTextSettings":
        for part, share in {"valid": self.valid, "test": self.test}.items():
            if share_of(part, share) is None:
                raise SettingError(f"data.{part} is '{share}', expected a share such as '5%'")
        refuse_impossible_shares(None, self.valid, self.test)
        return self


class PythonSourceSettings(EmbeddedTextSettings):
    """The source of Python's standard library."""

    card: Literal["python"] = "python"
    megabytes: float | None = Field(default=None, gt=0)
    """About how much of it: a sample of whole modules. Left out: all of it, about 10 MB."""


class ReferenceSettings(EmbeddedTextSettings):
    """Python's language reference."""

    card: Literal["reference"] = "reference"
    valid: str = "10%"
    """The share of the topics that is the validation part."""
    test: str = "10%"
    """The share of the topics that is the test part."""


class PythonSource:
    """The modules of the standard library that are written in Python, each a document (a `TextData`)."""

    def __init__(self, settings: PythonSourceSettings, folder: Path | None = None) -> None:
        self.settings = settings
        self.folder = folder or Path(sysconfig.get_path("stdlib"))
        self._modules = _shared_out(self._sample(), settings)
        _require_every_part(self._modules, f"the modules of {self.folder}")

    def parts(self) -> list[PartName]:
        """Always train, valid and test."""
        return list(self._modules)

    def paths(self) -> list[Path]:
        """No file is the user's own."""
        return []

    def examples(self, part: PartName) -> Iterator[str]:
        """The modules of a part in the order of their names."""
        return (_source(self.folder / name) for name in self._modules[part])

    def remarks(self) -> list[str]:
        """What a user should know of it."""
        return []

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the version of Python and of the modules."""
        return _fingerprint(self._modules[part], self.examples(part))

    def _sample(self) -> list[str]:
        """The modules, as many as the limit allows, in the order of their names."""
        size = {path.relative_to(self.folder).as_posix(): path.stat().st_size for path in _modules(self.folder)}
        if not size:
            raise DataError(f"{self.folder} has no source of the standard library: use a Python that has it in files")
        left = sys.maxsize if self.settings.megabytes is None else self.settings.megabytes * 1e6
        chosen = []
        for name in sorted(size, key=lambda name: place_of(f"whether to take {name}")):
            if size[name] <= left:
                chosen.append(name)
                left -= size[name]
        return sorted(chosen)


class Reference:
    """The topics of Python's `help()`: English prose with examples, each topic a document (a `TextData`)."""

    def __init__(self, settings: ReferenceSettings) -> None:
        self.settings = settings
        self._names = _shared_out(sorted(self._topics), settings)
        _require_every_part(self._names, "the topics of the language reference")

    def parts(self) -> list[PartName]:
        """Always train, valid and test."""
        return list(self._names)

    def paths(self) -> list[Path]:
        """No file is the user's own."""
        return []

    def examples(self, part: PartName) -> Iterator[str]:
        """The topics of a part in the order of their names."""
        return (self._topics[name] for name in self._names[part])

    def remarks(self) -> list[str]:
        """What a user should know of it."""
        return []

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the version of Python and of the topics."""
        return _fingerprint(self._names[part], self.examples(part))

    @cached_property
    def _topics(self) -> dict[str, str]:
        try:
            from pydoc_data.topics import topics
        except ImportError as error:
            raise DataError("this Python has no pydoc_data.topics: use one with its whole standard library") from error
        first = {text: name for name, text in sorted(topics.items(), reverse=True)}  # some have two names
        return {name: text for text, name in first.items()}


def _modules(library: Path) -> Iterator[Path]:
    """The files of the modules: no tests, and nothing that was installed later."""
    for top in library.iterdir():
        if top.name.removesuffix(".py") in sys.stdlib_module_names:
            found = top.rglob("*.py") if top.is_dir() else [top]
            yield from (path for path in found if not LEFT_OUT.intersection(path.relative_to(library).parts))


def _source(path: Path) -> str:
    try:
        with tokenize.open(path) as file:  # in the encoding that the module itself declares
            return file.read()
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({error}): repair this Python") from error


def _shared_out(names: list[str], settings: EmbeddedTextSettings) -> dict[PartName, list[str]]:
    """Which documents each part has."""
    pieces = pieces_of(names, settings.valid, settings.test, opened=list)
    return {part: [name for name in names if piece.holds(name)] for part, piece in pieces.items()}


def _require_every_part(shares: dict[PartName, list[str]], what: str) -> None:
    for part, names in shares.items():
        if not names:
            raise DataError(f"the {part} part is empty: none of {what} falls into it; raise its share or the limit")


def _fingerprint(names: list[str], texts: Iterable[str]) -> str:
    digest = hashlib.sha256(json.dumps([sys.version_info[:3], names]).encode())
    for text in texts:
        digest.update(hashlib.sha256(text.encode()).digest())
    return digest.hexdigest()
