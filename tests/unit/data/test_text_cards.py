"""Cards of running text: what they say, how they are read, and that they describe the real files."""

import gzip
from pathlib import Path

import pytest

from seqwright.data.cards import Card, card, cards, download_folder
from seqwright.data.fetch import fetch, require_addresses
from seqwright.data.text import TextFiles
from seqwright.errors import DataError, DownloadError, SettingError


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own data, empty, and an empty cache."""
    monkeypatch.setenv("SEQWRIGHT_DATA", str(tmp_path / "own"))
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "own"


def put(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())


def corpus(name: str) -> TextFiles:
    data = card(name).open()
    assert isinstance(data, TextFiles)
    return data


TEXT_CARDS = {name: known for name, known in cards().items() if known.kind == "text" and known.files}


@pytest.mark.parametrize("known", TEXT_CARDS.values(), ids=TEXT_CARDS)
def test_a_text_card_counts_what_is_in_the_real_files(known: Card, shared_data: Path) -> None:
    for part, count in known.examples.items():
        path = shared_data / known.name / str(known.parts[part])
        if not path.is_file():
            pytest.skip(f"{path} is not there")
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
        assert count == (len(text) if known.unit == "characters" else len(text.splitlines()))


def test_the_last_tenth_of_shakespeare_is_held_out(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shared_data / "tinyshakespeare" / "input.txt"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    monkeypatch.setenv("SEQWRIGHT_DATA", str(shared_data))
    data = corpus("tinyshakespeare")
    (train,), (valid,) = data.examples("train"), data.examples("valid")
    assert train + valid == path.read_text(encoding="utf-8")
    assert len(valid) == pytest.approx(111_540, abs=100)
    assert train.endswith("\n")


def test_a_corpus_with_two_files_has_them_as_parts(own: Path) -> None:
    put(own / "wikitext2", "train_article_permuted.txt.gz", " = A = \n \n text \n")
    put(own / "wikitext2", "valid.txt.gz", " = B = \n")
    data = corpus("wikitext2")
    assert {part: list(data.examples(part)) for part in data.parts()} == {
        "train": ["= A =", "", "text"],
        "valid": ["= B ="],
    }
    assert len(data.paths()) == 2


def test_a_name_is_in_one_part_only(own: Path) -> None:
    names = [f"name{n % 300}" for n in range(400)]
    put(own / "names", "names.txt", "\n".join(names))
    data = corpus("names")
    found = {part: set(data.examples(part)) for part in data.parts()}
    assert list(found) == ["train", "valid", "test"]
    assert set.union(*found.values()) == set(names)
    assert sum(map(len, found.values())) == 300


def test_a_download_serves_where_there_is_no_copy_of_ones_own(own: Path) -> None:
    put(download_folder(card("names")), "names.txt", "\n".join(f"name{n}" for n in range(100)))
    data = corpus("names")
    before = data.fingerprint("train")
    put(own / "names", "names.txt", "\n".join(f"name{n}" for n in range(100)))
    assert data.paths() != corpus("names").paths()
    assert corpus("names").fingerprint("train") == before


@pytest.mark.usefixtures("own")
def test_what_is_missing_is_named_with_the_command_that_gets_it() -> None:
    with pytest.raises(DataError, match=r"names\.txt of names is neither in .*seqwright data get names"):
        corpus("names")
    with pytest.raises(DataError, match=r"train_article_permuted\.txt\.gz of wikitext2 is neither.*: put it there"):
        corpus("wikitext2")


def test_an_unknown_text_card_offers_the_nearest() -> None:
    with pytest.raises(SettingError, match=r"no dataset card 'wikitext3'.*Did you mean 'wikitext2'"):
        corpus("wikitext3")


def test_what_has_no_address_cannot_be_downloaded_but_used(own: Path) -> None:
    wikitext, names = card("wikitext2"), card("names")
    require_addresses(names)
    with pytest.raises(DownloadError, match=r"train_article_permuted.*no address.*\$SEQWRIGHT_DATA/wikitext2"):
        require_addresses(wikitext)
    for file in wikitext.files:
        put(own / "wikitext2", file.path, "a copy")
    require_addresses(wikitext)


def test_an_unchanged_copy_is_not_downloaded_again(
    tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (shared_data / "names" / "names.txt").is_file():
        pytest.skip("the names are not there")
    monkeypatch.setenv("SEQWRIGHT_DATA", str(shared_data))
    assert [got.downloaded for got in fetch(card("names"), tmp_path)] == [False]
