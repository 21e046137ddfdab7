"""Dataset cards: what a public corpus is, where it lies, its licence, and the sha256 that tells an unchanged copy.

A card's files are looked for in `$SEQWRIGHT_DATA/NAME`, then among the downloads in `$SEQWRIGHT_CACHE/data/NAME`
(without that variable, `~/.cache/seqwright/data/NAME`). Reading never downloads; `seqwright data get NAME` does.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from seqwright.data.examples import Pair, PartName
from seqwright.data.pairs import PairFiles, PairFilesSettings
from seqwright.errors import DataError, SettingError, instead, nearest
from seqwright.settings import Settings


class CardFile(NamedTuple):
    """One file of a dataset, as published."""

    path: str  # inside the dataset's folder
    address: str
    sha256: str
    size: int  # in bytes


@dataclass(frozen=True)
class Card:
    """A public parallel corpus: one compressed text file for each part and language, line-aligned."""

    name: str
    title: str
    languages: tuple[str, ...]
    licence: str
    files: tuple[CardFile, ...]
    parts: Mapping[PartName, str]  # what the publisher calls each part
    examples: Mapping[PartName, int]
    cite: str
    folder: str = ""  # its name, where several datasets lie in one; otherwise it is the dataset's own

    @property
    def home(self) -> str:
        """The name of the folder that its files lie in."""
        return self.folder or self.name

    def file(self, part: PartName, language: str) -> CardFile:
        """The file that holds one language of one part."""
        path = f"{self.parts[part]}.{language}.gz"
        return next(file for file in self.files if file.path == path)


_MULTI30K_ADDRESS = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
_MULTI30K_FILES = [
    ("train.en.gz", 568929, "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f"),
    ("train.de.gz", 637044, "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6"),
    ("train.fr.gz", 604242, "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c"),
    ("train.cs.gz", 593827, "a65adb8b32e3bc664f21ecba7a6e7f6950fd1f405e135f7c312faabdb6255077"),
    ("val.en.gz", 21650, "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28"),
    ("val.de.gz", 24681, "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a"),
    ("val.fr.gz", 23001, "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9"),
    ("val.cs.gz", 22096, "b63226e05c4bd5dd6a42897d74b86a1b9d2c31498252c572b1ea7f7996927fcc"),
    ("test_2016_flickr.en.gz", 21077, "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9"),
    ("test_2016_flickr.de.gz", 22890, "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8"),
    ("test_2016_flickr.fr.gz", 22310, "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90"),
    ("test_2016_flickr.cs.gz", 22572, "200a4a74cc9560f051924abb9803be008d1908d77f747e9141aeb86dfd2797f1"),
]

CATALOG: Mapping[str, Card] = {
    "multi30k": Card(
        name="multi30k",
        title="Multi30k: descriptions of 31,014 Flickr30k images, English with German, French and Czech translations",
        languages=("en", "de", "fr", "cs"),
        licence="CC BY-NC-SA 4.0 (non-commercial)",
        files=tuple(
            CardFile(path, f"{_MULTI30K_ADDRESS}/{path}", sha256, size) for path, size, sha256 in _MULTI30K_FILES
        ),
        parts={"train": "train", "valid": "val", "test": "test_2016_flickr"},
        examples={"train": 29000, "valid": 1014, "test": 1000},
        cite=(
            "Elliott, Frank, Sima'an and Specia 2016, Multi30K: Multilingual English-German Image Descriptions "
            "(doi:10.18653/v1/W16-3210); French: Elliott et al. 2017 (WMT); Czech: Barrault et al. 2018 (WMT)"
        ),
    ),
}


def card(name: str) -> Card:
    """The card of a dataset."""
    if name not in CATALOG:
        raise DataError(f"there is no dataset card '{name}'{instead(name, CATALOG)}")
    return CATALOG[name]


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


class CardPairsSettings(Settings):
    """A parallel corpus of the catalogue."""

    kind: Literal["card"] = "card"

    name: str
    """The dataset's name in the catalogue, such as "multi30k"."""

    source: str
    """The language to translate from, such as "de"."""

    target: str
    """The language to translate into, such as "en"; the source's own is for an autoencoder, which says what it
    read."""


class CardPairs:
    """Two languages of a corpus of the catalogue (a `PairData`)."""

    def __init__(self, settings: CardPairsSettings) -> None:
        self.settings = settings
        self.card = card(settings.name)
        self._require_languages()
        test = self._located("test") if "test" in self.card.parts else None
        files = PairFilesSettings(train=self._located("train"), valid=self._located("valid"), test=test)
        self._files = PairFiles(files)

    def parts(self) -> list[PartName]:
        """The parts that exist, in the order train, valid, test."""
        return self._files.parts()

    def paths(self) -> list[Path]:
        """Every file the corpus is read from, each once."""
        return self._files.paths()

    def pairs(self, part: PartName) -> Iterator[Pair]:
        """Every pair of a part in the published order."""
        return self._files.pairs(part)

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the contents; it does not depend on where the files lie."""
        return self._files.fingerprint(part)

    def _require_languages(self) -> None:
        known = list(self.card.languages)
        chosen = {"source": self.settings.source, "target": self.settings.target}
        for side, language in chosen.items():
            if language not in known:
                raise SettingError(
                    f"data.{side} is '{language}', but {self.card.name} has only {', '.join(known)}."
                    f"{nearest(language, known)}"
                )

    def _located(self, part: PartName) -> tuple[str, str]:
        """The source and the target file of a part."""
        sides = [self.card.file(part, language) for language in (self.settings.source, self.settings.target)]
        source, target = (located(self.card, side) for side in sides)
        if source is None or target is None:
            missing = sides[0] if source is None else sides[1]
            name, folder = self.card.name, download_folder(self.card)
            raise DataError(
                f"{missing.path} of {name} is neither in $SEQWRIGHT_DATA/{name} nor in {folder}: "
                f"run `seqwright data get {name}`"
            )
        return str(source), str(target)
