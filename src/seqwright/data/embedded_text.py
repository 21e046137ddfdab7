"""Text that every Python has: the source of its standard library, and its language reference. Nothing is downloaded.

The name of a document, by its hash, decides to which part it belongs.
"""

import hashlib
import json
import sys
import sysconfig
import tokenize
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from seqwright.data.examples import PartName
from seqwright.data.files import place_of, share_of
from seqwright.data.generated import CardSettings, WithoutFiles
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


class EmbeddedText(WithoutFiles, ABC):
    """Documents that have names (a `TextData`)."""

    def __init__(self, names: list[str], settings: EmbeddedTextSettings, what: str) -> None:
        pieces = pieces_of(names, settings.valid, settings.test, opened=list)
        self._names = {part: [name for name in names if piece.holds(name)] for part, piece in pieces.items()}
        for part, held in self._names.items():
            if not held:
                raise DataError(f"the {part} part is empty: none of {what} falls into it; raise its share or the limit")

    @abstractmethod
    def document(self, name: str) -> str:
        """The text with this name."""

    def parts(self) -> list[PartName]:
        """Always train, valid and test."""
        return list(self._names)

    def examples(self, part: PartName) -> Iterator[str]:
        """The documents of a part in the order of their names."""
        return map(self.document, self._names[part])

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the version of Python and of the documents."""
        digest = hashlib.sha256(json.dumps([sys.version_info[:3], self._names[part]]).encode())
        for text in self.examples(part):
            digest.update(hashlib.sha256(text.encode()).digest())
        return digest.hexdigest()


class PythonSource(EmbeddedText):
    """The modules of the standard library that are written in Python, each a document."""

    def __init__(self, settings: PythonSourceSettings, folder: Path | None = None) -> None:
        self.folder = folder or Path(sysconfig.get_path("stdlib"))
        super().__init__(self._sample(settings.megabytes), settings, f"the modules of {self.folder}")

    def document(self, name: str) -> str:
        """The source of a module."""
        path = self.folder / name
        try:
            with tokenize.open(path) as file:  # in the encoding that the module itself declares
                return file.read()
        except (OSError, SyntaxError, UnicodeDecodeError) as error:
            raise DataError(f"{path} cannot be read ({error}): repair this Python") from error

    def _sample(self, megabytes: float | None) -> list[str]:
        """The modules, as many as the limit allows, in the order of their names."""
        size = {path.relative_to(self.folder).as_posix(): path.stat().st_size for path in _modules(self.folder)}
        if not size:
            raise DataError(f"{self.folder} has no source of the standard library: use a Python that has it in files")
        left = sys.maxsize if megabytes is None else megabytes * 1e6
        chosen = []
        for name in sorted(size, key=lambda name: place_of(f"whether to take {name}")):
            if size[name] <= left:
                chosen.append(name)
                left -= size[name]
        return sorted(chosen)


class Reference(EmbeddedText):
    """The topics of Python's `help()`: English prose with examples, each topic a document."""

    def __init__(self, settings: ReferenceSettings) -> None:
        super().__init__(sorted(self._topics), settings, "the topics of the language reference")

    def document(self, name: str) -> str:
        """The text of a topic."""
        return self._topics[name]

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
