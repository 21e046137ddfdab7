"""Dataset cards: what a corpus is, where it lies, its licence, and the sha256 that tells an unchanged copy.

`cards.toml` has the facts, `card("sst2").open()` gives the examples. A card's files are looked for in
`$SEQWRIGHT_DATA/NAME`, then among the downloads in `$SEQWRIGHT_CACHE/data/NAME` (without that variable,
`~/.cache/seqwright/data/NAME`). Reading never downloads; `seqwright data get NAME` does. A card without files makes its
examples itself.
"""

import functools
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, create_model

from seqwright.data.absent import AbsentData
from seqwright.data.examples import PartName
from seqwright.data.generated import CardSettings
from seqwright.data.imported import ImportedSettings
from seqwright.data.in_memory import InMemorySettings
from seqwright.data.labelled_folders import LabelFolders
from seqwright.errors import DataError, SettingError, instead, nearest
from seqwright.setting_classes import Settings


class Reader(NamedTuple):
    """How a kind of examples is read from files; made-up examples may be of a kind that no file has."""

    examples: str  # what they are called
    thing: str = ""  # the class, as `file.Class`; its settings are called like it
    chosen: tuple[str, ...] = ()  # those of its settings that a recipe can choose for a card
    columns: tuple[str, ...] = ()  # those that say how other files are read in the same way
    like_cards: bool = False  # whether other files are read like those of the card that a run was trained on

    @property
    def settings(self) -> type[Settings]:
        """The class of its settings."""
        found: type[Settings] = _loaded(f"{self.thing}Settings")
        return found


WRITTEN = ("encoding", "separator", "bad_rows")
SIDES = ("source", "target", *WRITTEN)
TEXT_COLUMNS = ("text", "label", "text_pair", "label_names", "fold_labels", "decimal", *WRITTEN)
QUESTION_COLUMNS = ("question", "context", "answer", "start", "no_answer", *WRITTEN)
SERIES_COLUMNS = ("columns", "time", "history", "horizon", "missing", "gaps", "first_rows", "decimal", *WRITTEN)
READERS = {
    "pairs": Reader("pairs", "pairs.PairFiles", columns=SIDES),
    "prompts": Reader("prompts with examples"),
    "summaries": Reader("texts with summaries", "pairs.PairFiles", columns=SIDES),
    "pronunciations": Reader("words with their pronunciations", "pairs.DictionaryFiles", columns=("encoding",)),
    "text": Reader("running text", "text.TextFiles", ("documents",), ("documents", "split", "encoding")),
    "labelled": Reader("labelled texts", "labelled.LabelledFiles", (), TEXT_COLUMNS, like_cards=True),
    "tagged": Reader("sentences with tags", "tagged.TaggedFiles", (), ("token", "tag", "encoding")),
    "questions": Reader("questions", "questions.QuestionFiles", ("overlap",), QUESTION_COLUMNS, like_cards=True),
    "series": Reader("time series", "series.SeriesFiles", (), SERIES_COLUMNS, like_cards=True),
    "labelled-series": Reader(
        "labelled series", "labelled_series.LabelledSeriesFiles", (), ("label", "fold_labels", "decimal", *WRITTEN)
    ),
    "labelled-images": Reader("labelled images", "image_files.ImageFiles", (), ("image", "label", "images", *WRITTEN)),
    "films": Reader(
        "films",
        "film_files.FilmFiles",
        (),
        ("film", "label", "places", "films", "label_names", "fold_labels", *WRITTEN),
    ),
    "captioned-images": Reader(
        "images with captions",
        "captioned_files.CaptionedFiles",
        ("features",),
        ("image", "caption", "images", "captions", "features", *WRITTEN),
    ),
    "scenes": Reader("images with labels and captions"),
    "described": Reader(
        "texts with vectors", "described.DescribedFiles", (), ("text", "label", "columns", "decimal", *WRITTEN)
    ),
}


def _loaded(name: str) -> Any:
    """Something of this folder, as `file.Thing`."""
    file, _, thing = name.rpartition(".")
    return getattr(import_module(f"seqwright.data.{file}"), thing)


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
    obtain: str = ""
    suggests: Mapping[str, str] = field(default_factory=dict)

    @property
    def home(self) -> str:
        """The name of the folder that its files lie in."""
        return self.folder or self.name

    def file(self, path: str) -> CardFile:
        """The file with this path, or the archive that it leads into."""
        return next(file for file in self.files if path == file.path or path.startswith(f"{file.path}/"))

    @functools.cached_property
    def settings(self) -> type[CardSettings]:
        """The class of what a recipe says of it: its name, and what can be chosen."""
        if self.generator:
            return _loaded(f"{self.generator}Settings")  # type: ignore[no-any-return]
        fields: dict[str, Any] = {}
        for name, known in self.choices.items():
            told = f"One of {', '.join(known)}."
            optional = name == "subset"
            fields[name] = (str | None, Field(None, description=told)) if optional else (str, Field(description=told))
        for name in READERS[self.kind].chosen:
            read = READERS[self.kind].settings.model_fields[name]
            default = self.reading.get(name, read.default)
            fields[name] = (read.annotation, Field(default, description=read.description))
        if not fields:
            return CardSettings
        return create_model("CardSettings", __base__=CardSettings, __doc__=CardSettings.__doc__, **fields)

    def open(self, **chosen: Any) -> Any:
        """The data: what gives its examples part by part. A language, a subset or a setting can be chosen."""
        if self.generator:
            return _loaded(self.generator)(self.settings(card=self.name, **chosen))
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
        reader = READERS[self.kind]
        return _loaded(reader.thing)(reader.settings(**{**self.reading, **changed, **parts}), **self.options)

    def _located(self, name: str) -> str:
        """Where a file lies on this machine; a share of the training data stays one."""
        if name.endswith("%"):
            return name
        file = self.file(name)
        path = located(self, file)
        if path is None:
            remedy = f"run `seqwright data get {self.name}`" if file.address else self.obtain or "put it there"
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


def card(name: Any) -> Card:
    """The card of a dataset."""
    if not isinstance(name, str) or name not in cards():
        raise SettingError(f"there is no dataset card '{name}'{instead(str(name), cards())}")
    return cards()[name]


# Places


def cache_folder() -> Path:
    """Where downloads and prepared data are kept between runs."""
    try:
        return Path(os.environ.get("SEQWRIGHT_CACHE") or "~/.cache/seqwright").expanduser()
    except RuntimeError as error:
        raise SettingError("there is no home folder for the cache; point SEQWRIGHT_CACHE to a folder") from error


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


def settings_of(given: Mapping[str, Any], kind: str) -> type[Settings]:
    """The class of the settings of data: of a card, an imported model, examples in memory, or files of a kind."""
    if "card" in given:
        return card(given["card"]).settings
    if "in_memory" in given:
        return InMemorySettings
    return ImportedSettings if "imported" in given else READERS[kind].settings


def opened_data(settings: Any, kind: str) -> Any:
    """The data that settings mean, where files are of a kind of examples."""
    if isinstance(settings, CardSettings):
        return card(settings.card).open(**settings.model_dump(exclude={"card"}, exclude_none=True))
    if isinstance(settings, ImportedSettings | InMemorySettings):
        return AbsentData(settings)
    return _loaded(READERS[kind].thing)(settings)


def other_files(paths: Sequence[Path], known: Any, kind: str) -> dict[str, Any]:
    """Data settings in which every part is these files, read as far as possible like the data of a run."""
    files = str(paths[0]) if len(paths) == 1 else [str(path) for path in paths]
    plain = dict.fromkeys(("train", "valid", "test"), files)
    read_as: dict[str, Any] = known.model_dump(exclude_none=True)
    if isinstance(known, CardSettings):
        read_as = {**card(known.card).reading, **read_as} if READERS[kind].like_cards else {}
    columns = READERS[kind].columns if len(paths) == 1 else ()
    if kind == "labelled" and LabelFolders.fits(paths[0]):
        columns = ("label_names",)
    return plain | {name: read_as[name] for name in columns if name in read_as}
