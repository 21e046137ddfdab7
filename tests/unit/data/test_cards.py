"""Dataset cards: what they say, where their files are looked for, and that they describe the real files."""

import gzip
import hashlib
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from seqwright.data.cards import READERS, Card, cache_folder, card, cards, download_folder, located, provided
from seqwright.data.examples import Pair, PairData
from seqwright.data.fetch import require_addresses
from seqwright.data.pairs import PairFiles
from seqwright.errors import DataError, DownloadError, SettingError

MULTI30K = card("multi30k")
PUBLISHED = ("train", "val", "test_2016_flickr")
IN_FILES = {name: known for name, known in cards().items() if not known.generator}
MADE = {name: known for name, known in cards().items() if known.generator}


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two empty places for data: the user's own, and the cache."""
    monkeypatch.setenv("SEQWRIGHT_DATA", str(tmp_path / "own"))
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "own" / "multi30k", tmp_path / "cache" / "data" / "multi30k"


def put(folder: Path, language: str, word: str, parts: tuple[str, ...] = PUBLISHED) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for part in parts:
        (folder / f"{part}.{language}.gz").write_bytes(gzip.compress(f"{word} {part}\n".encode(), mtime=0))


def corpus(source: str = "de", target: str = "en") -> PairFiles:
    data = MULTI30K.open(source=source, target=target)
    assert isinstance(data, PairFiles)
    return data


# Cards


@pytest.mark.parametrize("known", IN_FILES.values(), ids=IN_FILES)
def test_a_card_is_complete(known: Card) -> None:
    assert known.kind in READERS
    for said in (known.title, known.unit, known.licence, known.cite):
        assert said
    assert known.languages or known.kind == "labelled-images"
    assert len({file.sha256 for file in known.files}) == len(known.files)
    for file in known.files:
        assert not file.address or (urlsplit(file.address).scheme == "https" and file.address.endswith("/" + file.path))
        assert len(bytes.fromhex(file.sha256)) == 32
        assert file.size > 0
    assert list(known.parts)[:2] == ["train", "valid"]
    assert set(known.examples) <= set(known.parts)


@pytest.mark.parametrize("known", IN_FILES.values(), ids=IN_FILES)
def test_every_file_of_a_card_is_in_a_part(known: Card) -> None:
    named = [name for given in known.parts.values() for name in ([given] if isinstance(given, str) else given)]
    choices = known.choices.get("subset") or known.choices.get("source") or [""]
    paths = {re.sub(r"\{\w+\}", choice, name) for name in named for choice in choices if not name.endswith("%")}
    read = [known.reading.get(name, ()) for name in ("images", "captions")]
    others = {path for each in read for path in ([each] if isinstance(each, str) else each)}
    beside = {file for file in known.files if "label" in file.path or file.path in others}
    assert {known.file(path) for path in paths} | beside == set(known.files)


@pytest.mark.parametrize("known", IN_FILES.values(), ids=IN_FILES)
def test_a_card_describes_the_real_files(known: Card, shared_data: Path) -> None:
    for file in known.files:
        path = shared_data / known.home / file.path
        if not path.is_file():
            pytest.skip(f"{path} is not there")
        with path.open("rb") as content:
            assert hashlib.file_digest(content, "sha256").hexdigest() == file.sha256
        assert path.stat().st_size == file.size


@pytest.mark.parametrize("known", MADE.values(), ids=MADE)
def test_a_card_without_files_makes_its_examples(known: Card) -> None:
    data = known.open()
    assert {"train", "valid"} <= set(data.parts())
    assert next(iter(data.examples("valid"))) is not None
    assert not known.files


def test_the_settings_of_a_generator_can_be_chosen() -> None:
    data = card("reverse").open(examples=3, longest=4)
    assert len(list(data.examples("train"))) == 3
    assert next(data.examples("train")).kind == "reverse"


@pytest.mark.parametrize(
    ("name", "end"),
    [("mutli30k", ". Did you mean 'multi30k'?"), ("zzz", "; there are " + ", ".join(cards()))],
)
def test_an_unknown_card_is_told_with_the_nearest_or_with_all(name: str, end: str) -> None:
    with pytest.raises(SettingError) as told:
        card(name)
    assert str(told.value) == f"there is no dataset card '{name}'{end}"


# Places


def test_the_users_own_copy_comes_before_a_download(places: tuple[Path, Path]) -> None:
    own, downloads = places
    file = MULTI30K.file("train.de.gz")
    assert located(MULTI30K, file) is None
    put(downloads, "de", "Hund")
    assert located(MULTI30K, file) == downloads / "train.de.gz"
    assert provided(MULTI30K, file) is None
    put(own, "de", "Hund")
    assert located(MULTI30K, file) == provided(MULTI30K, file) == own / "train.de.gz"


def test_without_a_variable_the_cache_lies_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEQWRIGHT_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "seqwright"
    assert download_folder(MULTI30K) == tmp_path / ".cache" / "seqwright" / "data" / "multi30k"


def test_a_tilde_in_a_variable_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SEQWRIGHT_CACHE", "~/kept")
    assert cache_folder() == tmp_path / "kept"


# Pairs


def test_the_published_parts_are_read_as_ours_in_the_asked_direction(places: tuple[Path, Path]) -> None:
    put(places[0], "de", "Hund")
    put(places[0], "en", "dog")
    data = corpus()
    assert data.parts() == ["train", "valid", "test"]
    assert list(data.examples("train")) == [Pair("Hund train", "dog train")]
    assert list(data.examples("valid")) == [Pair("Hund val", "dog val")]
    assert list(corpus("en", "de").examples("test")) == [Pair("dog test_2016_flickr", "Hund test_2016_flickr")]
    assert data.paths()[0] == places[0] / "train.de.gz"
    assert len(data.paths()) == 6


def test_the_fingerprint_does_not_depend_on_the_place(places: tuple[Path, Path]) -> None:
    for folder in places:
        put(folder, "de", "Hund")
        put(folder, "en", "dog")
    own = corpus()
    fingerprint = own.fingerprint("train")
    for path in places[0].iterdir():
        path.unlink()
    downloaded = corpus()
    assert set(own.paths()).isdisjoint(downloaded.paths())
    assert fingerprint == downloaded.fingerprint("train") != downloaded.fingerprint("valid")


def test_missing_files_are_told_with_the_command_that_gets_them(places: tuple[Path, Path]) -> None:
    put(places[0], "de", "Hund")
    put(places[0], "en", "dog", parts=("train", "val"))
    with pytest.raises(DataError) as told:
        corpus()
    assert "test_2016_flickr.en.gz" in str(told.value)
    assert "$SEQWRIGHT_DATA/multi30k" in str(told.value)
    assert str(places[1]) in str(told.value)
    assert "`seqwright data get multi30k`" in str(told.value)


def test_a_language_can_be_its_own_target_for_an_autoencoder(places: tuple[Path, Path]) -> None:
    put(places[0], "de", "Hund")
    assert list(corpus("de", "de").examples("valid")) == [Pair("Hund val", "Hund val")]


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("ger", "en", "data.source is 'ger', but multi30k has only en, de, fr, cs."),
        ("de", "csc", "data.target is 'csc', but multi30k has only en, de, fr, cs. Did you mean 'cs'?"),
    ],
)
def test_languages_that_do_not_fit_are_told(source: str, target: str, said: str) -> None:
    with pytest.raises(SettingError) as told:
        corpus(source, target)
    assert said in str(told.value)


def test_what_a_card_does_not_have_cannot_be_chosen() -> None:
    with pytest.raises(SettingError, match=r"data\.documents is 'lines', but multi30k has nothing to choose by that"):
        MULTI30K.open(source="de", target="en", documents="lines")
    with pytest.raises(SettingError, match=r"data\.target is not set; multi30k has en, de, fr, cs"):
        MULTI30K.open(source="de")


@pytest.mark.parametrize(("source", "target"), [("de", "en"), ("en", "fr"), ("cs", "de")])
def test_the_real_parts_have_the_published_numbers_of_examples(
    source: str, target: str, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEQWRIGHT_DATA", str(shared_data))
    data: PairData = corpus(source, target)
    assert {part: sum(1 for _ in data.examples(part)) for part in data.parts()} == MULTI30K.examples


def test_the_real_first_pair_is_read(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_DATA", str(shared_data))
    assert next(corpus().examples("train")) == Pair(
        "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche.",
        "Two young, White males are outside near many bushes.",
    )


def test_a_card_that_cannot_be_downloaded_says_how_it_is_had() -> None:
    known = card("fashion-mnist")
    with pytest.raises(DataError, match="apt-get install dataset-fashion-mnist"):
        known.open()
    with pytest.raises(DownloadError, match="SEQWRIGHT_DATA=/usr/share/datasets"):
        require_addresses(known)
