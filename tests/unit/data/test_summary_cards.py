"""Cards of texts with summaries, read from files that are made here."""

import gzip
from pathlib import Path

import pytest

from seqwright.data.cards import card, located
from seqwright.data.examples import Pair
from seqwright.errors import DataError

HEADER = "id,dialogue,summary,topic\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "dialogsum"
    folder.mkdir()
    monkeypatch.setenv("SEQWRIGHT_DATA", str(tmp_path))
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))
    rows = 'train_0,"#Person1#: Hi, Ann.\n#Person2#: Hi!",They greet.,greet\n'
    for name in ("train", "validation"):
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress((HEADER + rows).encode(), mtime=0))
    return folder


def test_dialogues_keep_their_lines(home: Path) -> None:
    data = card("dialogsum").open()
    assert data.parts() == ["train", "valid"]
    assert list(data.examples("valid")) == [Pair("#Person1#: Hi, Ann.\n#Person2#: Hi!", "They greet.")]
    assert data.paths() == [home / "train.csv.gz", home / "validation.csv.gz"]
    assert data.fingerprint("train") == data.fingerprint("valid")  # the contents are


def test_a_missing_file_is_told(home: Path) -> None:
    (home / "validation.csv.gz").unlink()
    with pytest.raises(DataError, match=r"validation\.csv\.gz of dialogsum is neither in \$SEQWRIGHT_DATA/dialogsum"):
        card("dialogsum").open()


def test_a_file_without_the_columns_is_told(home: Path) -> None:
    (home / "train.csv.gz").write_bytes(gzip.compress(b"id,talk,summary\n1,Hi,They greet.\n"))
    data = card("dialogsum").open()
    with pytest.raises(DataError, match=r"train\.csv\.gz:1 has no column 'dialogue' but 'id', 'talk', 'summary'"):
        list(data.examples("train"))


def test_the_published_files_are_as_the_card_says() -> None:
    known = card("dialogsum")
    files = [located(known, file) for file in known.files]
    if None in files:
        pytest.skip("DialogSum is not on this machine")
    data = card("dialogsum").open()
    counted = sum(1 for _ in data.examples("valid"))
    assert counted == known.examples["valid"]
