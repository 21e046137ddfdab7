"""Dataset cards: what a corpus is, where it lies, its licence, and the sha256 that tells an unchanged copy.

`cards.toml` has the facts, `card("sst2").open()` gives the examples. A card's files are looked for in
`$SEQWRIGHT_DATA/NAME`, then among the downloads in `$SEQWRIGHT_CACHE/data/NAME` (without that variable,
`~/.cache/seqwright/data/NAME`). Reading never downloads; `seqwright data get NAME` does. A card without files makes its
examples itself.
"""

import functools
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

from seqwright.data.examples import PartName
from seqwright.data.question_files import Shared
from seqwright.data.text import Form
from seqwright.errors import DataError, SettingError, instead, nearest
from seqwright.settings import Settings


class Reader(NamedTuple):
    """The class that reads the files of a kind of examples, and those of its settings that a recipe can choose."""

    thing: str  # its settings are called like it
    chosen: tuple[str, ...] = ()


READERS = {
    "pairs": Reader("pairs.PairFiles"),
    "text": Reader("text.TextFiles", ("documents",)),
    "labelled": Reader("labelled.LabelledFiles"),
    "tagged": Reader("tagged.TaggedFiles"),
    "questions": Reader("questions.QuestionFiles", ("shared",)),
}


class CardFile(NamedTuple):
    """One file of a dataset, as published."""

    path: str  # inside the dataset's folder
    address: str  # empty where it is published nowhere in this form
    sha256: str
    size: int  # in bytes


@dataclass(frozen=True)
class Card:
    """A corpus; `cards.toml` says what its fields mean."""

    name: str
    kind: str
    title: str
    unit: str
    languages: tuple[str, ...] = ()
    licence: str = ""
    cite: str = ""
    folder: str = ""
    files: tuple[CardFile, ...] = ()
    parts: Mapping[PartName, str | list[str]] = field(default_factory=dict)
    examples: Mapping[PartName, int] = field(default_factory=dict)
    choices: Mapping[str, list[str]] = field(default_factory=dict)
    together: bool = False
    reading: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    generator: str = ""

    @property
    def home(self) -> str:
        """The name of the folder that its files lie in."""
        return self.folder or self.name

    def file(self, path: str) -> CardFile:
        """The file with this path, or the archive that it leads into."""
        return next(file for file in self.files if path == file.path or path.startswith(f"{file.path}/"))

    def open(self, **chosen: Any) -> Any:
        """The data: what gives its examples part by part. A language, a subset or a setting can be chosen."""
        if self.generator:
            return self._made(self.generator, {**self.reading, **chosen})
        self._refuse_unknown(chosen)
        if "subset" not in self.choices:
            return self._read(chosen)
        from seqwright.data.questions import QuestionSubsets

        known = self.choices["subset"]
        subsets = [chosen["subset"]] if "subset" in chosen else known if self.together else known[:1]
        return QuestionSubsets({name: self._read(chosen | {"subset": name}) for name in subsets})

    def _refuse_unknown(self, chosen: Mapping[str, Any]) -> None:
        for name, value in chosen.items():
            known = self.choices.get(name)
            if known is None and name not in READERS[self.kind].chosen:
                raise SettingError(
                    f"data.{name} is '{value}', but {self.name} has nothing to choose by that: leave it out"
                )
            if known is not None and value not in known:
                raise SettingError(
                    f"data.{name} is '{value}', but {self.name} has only {', '.join(known)}.{nearest(value, known)}"
                )
        for name in self.choices:
            if name not in {*chosen, "subset"}:
                raise SettingError(f"data.{name} is not set; {self.name} has {', '.join(self.choices[name])}")

    def _read(self, chosen: Mapping[str, Any]) -> Any:
        changed = {name: value for name, value in chosen.items() if name not in self.choices}
        parts: dict[str, Any] = {}
        for part, given in self.parts.items():
            found = [self._located(name.format(**chosen)) for name in ([given] if isinstance(given, str) else given)]
            parts[part] = found[0] if isinstance(given, str) else tuple(found)
        return self._made(READERS[self.kind].thing, {**self.reading, **changed, **parts}, **self.options)

    def _made(self, thing: str, settings: Mapping[str, Any], **options: Any) -> Any:
        """Something made of settings, whose class is called like it."""
        module, _, name = thing.rpartition(".")
        found = import_module(f"seqwright.data.{module}")
        return getattr(found, name)(getattr(found, f"{name}Settings")(**settings), **options)

    def _located(self, name: str) -> str:
        """Where a file lies on this machine; a share of the training data stays one."""
        if name.endswith("%"):
            return name
        file = self.file(name)
        path = located(self, file)
        if path is None:
            remedy = f"run `seqwright data get {self.name}`" if file.address else "put it there"
            raise DataError(
                f"{file.path} of {self.name} is neither in $SEQWRIGHT_DATA/{self.home} nor in {download_folder(self)}: "
                f"{remedy}"
            )
        return str(path) + name.removeprefix(file.path)


@functools.cache
def cards() -> dict[str, Card]:
    """Every card by its name."""
    text = Path(__file__).with_name("cards.toml").read_text(encoding="utf-8")
    return {name: _card(name, facts) for name, facts in tomllib.loads(text).items()}


def _card(name: str, facts: dict[str, Any]) -> Card:
    address = facts.pop("address", "")
    files = tuple(
        CardFile(file["path"], f"{address}/{file['path']}" if address else "", file["sha256"], file["size"])
        for file in facts.pop("files", ())
    )
    return Card(name, languages=tuple(facts.pop("languages", ())), files=files, **facts)


def card(name: str, kind: str = "") -> Card:
    """The card of a dataset, of a kind of examples if one is told."""
    known = {each.name: each for each in cards().values() if kind in {"", each.kind}}
    if name not in known:
        raise DataError(f"there is no {kind or 'dataset'} card '{name}'{instead(name, known)}")
    return known[name]


# Places


def cache_folder() -> Path:
    """Where downloads and prepared data are kept between runs."""
    return Path(os.environ.get("SEQWRIGHT_CACHE") or "~/.cache/seqwright").expanduser()


def download_folder(card: Card) -> Path:
    """Where `seqwright data get` puts a dataset."""
    return cache_folder() / "data" / card.home


def provided(card: Card, file: CardFile) -> Path | None:
    """The user's own copy of a file, in `$SEQWRIGHT_DATA/NAME`, if there is one."""
    folder = os.environ.get("SEQWRIGHT_DATA")
    if not folder:
        return None
    path = Path(folder).expanduser() / card.home / file.path
    return path if path.is_file() else None


def located(card: Card, file: CardFile) -> Path | None:
    """Where a file lies on this machine, if it does: the user's own copy before a download."""
    downloaded = download_folder(card) / file.path
    return provided(card, file) or (downloaded if downloaded.is_file() else None)


# Recipes


class CardSettings(Settings):
    """A corpus of the catalogue in which nothing can be chosen."""

    kind: Literal["labelled-card", "tagged-card", "summaries-card", "pronunciations-card"]

    name: str
    """The dataset's name in the catalogue. Labelled: "sst2", "imdb", "sms_spam"; of GLUE "cola", "rte", "mrpc", and
    "stsb", whose labels are numbers. Tagged: "wnut17". Summaries: "dialogsum". Pronunciations: "cmudict"."""


class PairCardSettings(Settings):
    """A parallel corpus of the catalogue."""

    kind: Literal["card"] = "card"

    name: str
    """The dataset's name in the catalogue, such as "multi30k"."""

    source: str
    """The language to translate from, such as "de"."""

    target: str
    """The language to translate into, such as "en"; the source's own is for an autoencoder, which says what it
    read."""


class TextCardSettings(Settings):
    """Running text of the catalogue."""

    kind: Literal["text-card"] = "text-card"

    name: str
    """The dataset's name in the catalogue: "wikitext2", "tinyshakespeare" or "names"."""

    documents: Form | None = None
    """What stands for itself, as in files of your own; left out: as the card says. The articles of WikiText-2, whose
    card gives lines, are "articles"."""


class QuestionCardSettings(Settings):
    """Questions of the catalogue."""

    kind: Literal["questions-card"] = "questions-card"

    name: str
    """The dataset's name in the catalogue: "subjqa", "xquad" or "squad"."""

    subset: str | None = None
    """One domain of subjqa (electronics, grocery, restaurants or tripadvisor; left out: all of them), or one language
    of xquad (en, de or es; left out: en)."""

    shared: Shared = "drop"
    """What becomes of training questions about a context that the validation part has too: with keep the parts are as
    they were published, and the scores flatter."""


def open_card(settings: CardSettings | PairCardSettings | TextCardSettings | QuestionCardSettings) -> Any:
    """The data of the card that a recipe names."""
    kind = settings.kind.removesuffix("-card")
    chosen = settings.model_dump(exclude={"kind", "name"}, exclude_none=True)
    return card(settings.name, kind if kind in READERS else "pairs").open(**chosen)
