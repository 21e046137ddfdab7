"""Text that every Python has: its library's source and its reference."""

import ast
import sys
from itertools import chain
from pathlib import Path

import pytest

from seqwright.data.embedded_text import PythonSource, PythonSourceSettings, Reference, ReferenceSettings
from seqwright.data.text import TextData
from seqwright.errors import DataError, SettingError

LIBRARY = ["abc.py", "json/__init__.py", "json/decoder.py", *(f"email/part{n}.py" for n in range(60))]
STRANGERS = ["json/tests/test_json.py", "test/bad.py", "site-packages/torch.py", "encodings/cp1.py", "pydoc_data/t.py"]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A standard library in small, with what does not belong to it."""
    for name in [*LIBRARY, *STRANGERS, "abc.pyc"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"# {name}\n" + "pass\n" * 100, encoding="utf-8")
    return tmp_path


def source(library: Path, megabytes: float | None = None, valid: str = "10%", test: str = "10%") -> PythonSource:
    return PythonSource(PythonSourceSettings(megabytes=megabytes, valid=valid, test=test), library)


def names(data: PythonSource) -> list[str]:
    texts = chain(*(data.examples(part) for part in data.parts()))
    return [text.splitlines()[0].removeprefix("# ") for text in texts]


def test_every_module_of_the_library_is_in_one_part(library: Path) -> None:
    data = source(library)
    assert sorted(names(data)) == sorted(LIBRARY)
    assert data.parts() == ["train", "valid", "test"]
    assert data.paths() == []


def test_modules_come_in_the_order_of_their_names(library: Path) -> None:
    train = [text.splitlines()[0] for text in source(library).examples("train")]
    assert len(train) > 30
    assert train == sorted(train)


def test_a_limit_takes_a_sample_of_whole_modules(library: Path) -> None:
    few = names(source(library, megabytes=0.013, valid="30%", test="30%"))
    size = (library / "email/part10.py").stat().st_size
    assert len(few) == 13_000 // size
    assert sorted(few) != sorted(LIBRARY)[: len(few)]
    assert set(few) <= set(names(source(library, megabytes=0.02)))


def test_a_module_is_read_in_the_encoding_it_declares(library: Path) -> None:
    for name in LIBRARY:
        (library / name).write_bytes("# coding: latin-1\n# größer\r\n".encode("latin-1"))
    assert next(source(library).examples("train")) == "# coding: latin-1\n# größer\n"


def test_a_module_that_cannot_be_read_is_named(library: Path) -> None:
    for name in LIBRARY:
        (library / name).write_bytes(b"# gr\xf6\xdfer\n")
    with pytest.raises(DataError, match=r"\.py cannot be read"):
        next(source(library).examples("train"))


def test_the_fingerprint_follows_the_modules_and_the_version(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = source(library).fingerprint("train")
    assert source(library).fingerprint("train") == before
    assert source(library).fingerprint("valid") != before
    monkeypatch.setattr(sys, "version_info", (9, 9, 9))
    assert source(library).fingerprint("train") != before
    monkeypatch.undo()
    for name in LIBRARY:
        (library / name).write_text("changed\n", encoding="utf-8")
    assert source(library).fingerprint("train") != before


def test_the_real_library_is_python() -> None:
    data = PythonSource(PythonSourceSettings(megabytes=0.5, valid="20%", test="20%"))
    for text in data.examples("valid"):
        ast.parse(text)
    assert 300_000 < sum(len(text) for part in data.parts() for text in data.examples(part)) <= 500_000


def test_a_python_without_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no source of the standard library"):
        source(tmp_path)


def test_a_part_without_a_document_is_refused(library: Path) -> None:
    with pytest.raises(DataError, match="part is empty: none of the modules"):
        source(library, megabytes=0.0015)


def test_the_reference_is_prose() -> None:
    data: TextData = Reference(ReferenceSettings())
    found = {part: list(data.examples(part)) for part in data.parts()}
    assert list(found) == ["train", "valid", "test"]
    whole = "".join(chain(*found.values()))
    assert len(whole) > 300_000
    assert whole.count(" the ") > 3000
    assert len(set(chain(*found.values()))) == len(list(chain(*found.values())))
    assert len({data.fingerprint(part) for part in data.parts()}) == 3


@pytest.mark.parametrize(
    ("valid", "test", "words"),
    [("file.txt", "5%", "data.valid is 'file.txt', expected a share"), ("50%", "50%", "leave nothing to train on")],
)
def test_only_shares_are_held_out(valid: str, test: str, words: str) -> None:
    with pytest.raises(SettingError) as error:
        ReferenceSettings(valid=valid, test=test)
    assert words in str(error.value)
