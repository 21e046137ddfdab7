"""Reading parallel text from files: every form, every damage, and the split by hash."""

import csv
import gzip
import hashlib
import itertools
import json
import os
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from seqwright.data.examples import Pair, PairData
from seqwright.data.files import content_hash, lines
from seqwright.data.pairs import PairFiles, PairFilesSettings
from seqwright.errors import DataError, SettingError

WANTED = [Pair("ein Hund", "a dog"), Pair("zwei Katzen", "two cats"), Pair("", "nothing"), Pair("drei", "")]
VALID = ("valid.de", "valid.en")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, but for one pair to validate on."""
    monkeypatch.chdir(tmp_path)
    Path("valid.de").write_text("vier\n")
    Path("valid.en").write_text("four\n")
    return tmp_path


def corpus(train: str | tuple[str, str], **settings: Any) -> PairFiles:
    return PairFiles(PairFilesSettings(**{"train": train, "valid": VALID} | settings))


def read(train: str | tuple[str, str], **settings: Any) -> list[Pair]:
    return list(corpus(train, **settings).examples("train"))


def write(name: str, text: str | bytes) -> str:
    content = text.encode() if isinstance(text, str) else text
    Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return name


def tsv(pairs: list[Pair]) -> str:
    return "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs)


def jsonl(pairs: list[Pair], *keys: str) -> str:
    return "".join(json.dumps(dict(zip(keys, pair[:2], strict=True))) + "\n" for pair in pairs)


# Forms


@pytest.mark.parametrize("ending", ["", ".gz"])
class TestEveryFormGivesTheSamePairs:
    def test_tsv_without_a_header(self, ending: str) -> None:
        assert read(write("train.tsv" + ending, tsv(WANTED))) == WANTED

    def test_tsv_with_a_header_that_names_source_and_target(self, ending: str) -> None:
        text = "id\ttarget\tsource\n" + "".join(f"7\t{pair.target}\t{pair.source}\n" for pair in WANTED)
        assert read(write("train.tsv" + ending, text)) == WANTED

    def test_csv_with_named_columns(self, ending: str) -> None:
        with Path("train.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["en", "id", "de"], *([pair.target, "7", pair.source] for pair in WANTED)])
        name = write("train.csv" + ending, Path("train.csv").read_bytes())
        assert read(name, source="de", target="en") == WANTED

    def test_jsonl_with_the_usual_keys(self, ending: str) -> None:
        assert read(write("train.jsonl" + ending, jsonl(WANTED, "source", "target"))) == WANTED

    def test_jsonl_with_other_keys(self, ending: str) -> None:
        assert read(write("train.jsonl" + ending, jsonl(WANTED, "de", "en")), source="de", target="en") == WANTED

    def test_two_line_aligned_files(self, ending: str) -> None:
        source = write("train.de" + ending, "".join(pair.source + "\n" for pair in WANTED))
        target = write("train.en" + ending, "".join(pair.target + "\n" for pair in WANTED))
        assert read((source, target)) == WANTED


def test_column_numbers_count_from_one() -> None:
    assert read(write("train.tsv", "7\ta dog\tein Hund\n"), source=3, target=2) == WANTED[:1]


def test_a_list_of_two_files_is_read_as_a_recipe_writes_it() -> None:
    settings = PairFilesSettings.model_validate({"train": list(VALID), "valid": list(VALID)})
    assert list(PairFiles(settings).examples("train")) == [Pair("vier", "four")]


def test_a_quoted_csv_cell_may_hold_commas_quotes_and_line_feeds() -> None:
    name = write("train.csv", '"one, ""two""\nthree",eins\r\nfour,vier\r\n')
    assert read(name) == [Pair('one, "two"\nthree', "eins"), Pair("four", "vier")]


def test_quotes_in_tsv_are_ordinary_characters() -> None:
    assert read(write("train.tsv", '"so\t"thus"\n')) == [Pair('"so', '"thus"')]


def test_only_a_line_feed_ends_a_line() -> None:
    odd = "a\u2028b\x0bc\x85d\x0ce\u2029f\x1cg\rh"
    write("train.de", f"{odd}\nzwei\n")
    write("train.en", "one\ntwo\n")
    assert read(("train.de", "train.en")) == [Pair(odd, "one"), Pair("zwei", "two")]
    assert read(write("train.tsv", f"{odd}\tone\n")) == [Pair(odd, "one")]


@pytest.mark.parametrize("name", ["train.tsv", "train.csv", "train.jsonl"])
def test_an_empty_line_is_a_pair_of_blank_sides(name: str) -> None:
    line = {"train.tsv": "a\tb", "train.csv": "a,b", "train.jsonl": '{"source": "a", "target": "b"}'}[name]
    assert read(write(name, f"{line}\n\n{line}\n")) == [Pair("a", "b"), Pair("", ""), Pair("a", "b")]


def test_a_byte_order_mark_and_carriage_returns_are_dropped_and_the_last_line_needs_no_ending() -> None:
    assert read(write("train.tsv", "\ufeffsource\ttarget\r\na\tb\r\nc\td")) == [Pair("a", "b"), Pair("c", "d")]


def test_a_byte_order_mark_elsewhere_is_text() -> None:
    assert list(lines(Path(write("text", "a\n\ufeffb\n")))) == ["a", "\ufeffb"]


def test_a_corpus_is_read_again_from_the_start() -> None:
    data: PairData = corpus(write("train.tsv", tsv(WANTED)))
    assert list(data.examples("train")) == list(data.examples("train")) == WANTED


@pytest.mark.parametrize("form", ["one", "two"])
def test_a_large_file_is_never_held_in_memory(form: str) -> None:
    count, sentence = 7001, "word " * 29
    if form == "one":
        files: str | tuple[str, str] = write("train.tsv.gz", f"{sentence}\t{sentence}\n" * count)
    else:
        files = (write("train.de.gz", f"{sentence}\n" * count), write("train.en.gz", f"{sentence}\n" * count))
    data = corpus(files)
    tracemalloc.start()
    assert sum(1 for _ in data.examples("train")) == count
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300_000 < count * len(sentence)


# Damage: one sentence that says where


@pytest.mark.parametrize(
    ("name", "content", "settings", "said"),
    [
        ("train.tsv", b"", {}, ["train.tsv is empty"]),
        ("train.tsv.gz", b"", {}, ["train.tsv.gz is empty"]),
        ("train.tsv", b"source\ttarget\n", {}, ["train part is empty", "train.tsv"]),
        ("train.tsv", b"a\tb\nc\xff\td\n", {}, ["train.tsv:2", "UTF-8", "0xff", "byte 2"]),
        ("train.tsv", "a\tb\n".encode("utf-16")[:-1], {}, ["train.tsv is not utf-16", "truncated data"]),
        ("train.tsv", b"a\tb\nc\td\ne\0\tf\n", {}, ["train.tsv:3", "NUL"]),
        ("train.tsv", b"a\tb\rc\td\re\tf\r", {}, ["train.tsv", "CR alone", "convert"]),
        ("train.tsv.gz", b"a\tb\rc\td", {}, ["train.tsv.gz", "CR alone", "convert"]),
        ("train.tsv", b"a\tb\nc d\n", {}, ["train.tsv:2", "1 column,", "at least 2", "tab"]),
        ("train.tsv", b"a\tb\n", {"source": 1, "target": 5}, ["train.tsv:1", "2 columns", "at least 5"]),
        ("train.csv", b"a,b\n\nc\n", {}, ["train.csv:3", "1 column,", "comma"]),
        ("train.csv", b'a,b\n"c,d\n', {}, ["train.csv:2", "not valid CSV"]),
        ("train.csv", b"a,b\nc;d\n", {}, ["train.csv:2", "1 column,", "it has ';', so set data.separator=';'"]),
        ("train.csv", b"source;target\n", {}, ["train.csv:1", "1 column,", "it has ';'"]),
        ("train.csv", b"de;en\n", {"source": "de", "target": "en"}, ["no column 'de' but 'de;en': it has ';'"]),
        ("train.csv", b"german,english\na,b\n", {"source": "germn", "target": "english"}, ["train.csv:1", "'german'?"]),
        ("train.tsv", b"a\tb\n" * 3, {"source": "x", "target": "y"}, ["train.tsv:1", "no column 'x'", "'a', 'b'"]),
        ("train.jsonl", b'{"source": "a", "target": "b"}\n{"source"\n', {}, ["train.jsonl:2", "not valid JSON"]),
        ("train.jsonl", b"[" * 200_000, {}, ["train.jsonl:1", "not valid JSON"]),
        ("train.jsonl", b'["a", "b"]\n', {}, ["train.jsonl:1", "a list", "an object"]),
        ("train.jsonl", b'{"sourse": "a", "target": "b"}\n', {}, ["train.jsonl:1", "'source'", "mean 'sourse'?"]),
        (
            "train.jsonl",
            b'{"id": "7", "en": "a", "de": "b"}\n',
            {},
            ["'id', 'en', 'de'", "data.source=en data.target=de"],
        ),
        ("train.jsonl", b'{"translation": {"en": "a"}}\n', {}, ["set data.source and data.target to the names of the"]),
        (
            "train.csv",
            b"en,de\na,b\n",
            {"source": "fr", "target": "de"},
            ["'en', 'de'", "data.source=en data.target=de"],
        ),
        ("train.jsonl", b'{"source": 7, "target": "b"}\n', {}, ["train.jsonl:1", "has 7", "'source'"]),
        ("train.jsonl", b'{"source": "a", "target": null}\n', {}, ["train.jsonl:1", "null", "'target'"]),
        ("train.jsonl", b'{"source": "\\u0000", "target": "b"}\n', {}, ["train.jsonl:1", "NUL"]),
        ("train.jsonl", b'{"source": "\\ud800", "target": "b"}\n', {}, ["train.jsonl:1", "surrogate"]),
        ("train.txt", b"a\tb\n", {}, ["train.txt", "'.txt'", ".tsv, .csv, .jsonl, .xlsx or .parquet"]),
        ("train.xml.gz", b"a\tb\n", {}, ["train.xml.gz", "'.xml'"]),
    ],
)
def test_damage_is_told_with_its_place(name: str, content: bytes, settings: dict[str, Any], said: list[str]) -> None:
    write(name, content)
    with pytest.raises(DataError) as told:
        read(name, **settings)
    for words in said:
        assert words in str(told.value)
    assert "\n" not in str(told.value)


def test_what_precedes_the_damage_is_given_first() -> None:
    pairs = corpus(write("train.tsv", b"a\tb\nc\td\n\xff\n")).examples("train")
    assert [next(pairs), next(pairs)] == [Pair("a", "b"), Pair("c", "d")]
    with pytest.raises(DataError, match=r"train\.tsv:3"):
        next(pairs)


@pytest.mark.parametrize(("left", "right"), [(3, 7), (7, 3), (5, 4)])
def test_files_of_different_length_are_told_with_both_counts(left: int, right: int) -> None:
    files = (write("train.de", "ja\n" * left), write("train.en.gz", "yes\n" * right))
    with pytest.raises(DataError, match=rf"train\.de has {left} lines but train\.en\.gz has {right}"):
        read(files)


def test_an_empty_side_is_told() -> None:
    with pytest.raises(DataError, match=r"train\.en is empty"):
        read((write("train.de", "ja\n"), write("train.en", "")))


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_a_missing_file_is_told_before_anything_is_read(part: str) -> None:
    files = {"train": write("train.tsv", tsv(WANTED))} | {part: "trian.tsv"}
    with pytest.raises(DataError, match=r"there is no file trian\.tsv: .*\. Did you mean 'train\.tsv'\?"):
        corpus(**files)


def test_a_missing_file_is_told_with_the_folder_it_was_looked_for_in(folder: Path) -> None:
    (folder / "texts").mkdir()
    for name, where in (("mine.tsv", f"{folder}."), ("texts/mine.tsv", f"{folder / 'texts'}.")):
        with pytest.raises(DataError) as told:
            corpus(name)
        assert f"there is no file {name}: it was looked for in {where}" in str(told.value)
    with pytest.raises(DataError, match=r"nowhere, which is not there either"):
        corpus("nowhere/mine.tsv")


def test_a_folder_is_not_a_file(folder: Path) -> None:
    (folder / "train.tsv").mkdir()
    with pytest.raises(DataError, match=r"train\.tsv is a folder"):
        corpus("train.tsv")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read every file")
def test_a_file_without_permission_is_told(folder: Path) -> None:
    write("train.tsv", tsv(WANTED))
    (folder / "train.tsv").chmod(0)
    with pytest.raises(DataError, match=r"train\.tsv cannot be read"):
        read("train.tsv")


def test_a_cut_gzip_file_is_told_after_the_lines_it_still_has() -> None:
    text = "".join(f"{random.Random(number).random()}\tb\n" for number in range(9973))
    Path("train.tsv.gz").write_bytes(gzip.compress(text.encode())[:-997])
    with pytest.raises(DataError, match=r"train\.tsv\.gz is a damaged gzip file after line \d{4}"):
        read("train.tsv.gz")


def test_what_is_not_gzip_is_told() -> None:
    Path("train.tsv.gz").write_bytes(b"a\tb\n")
    with pytest.raises(DataError, match=r"train\.tsv\.gz is a damaged gzip file"):
        read("train.tsv.gz")


# Settings that do not fit


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"train": "5%"}, "data.train is '5%'"),
        ({"valid": "0%"}, "data.valid is '0%'"),
        ({"valid": "100%"}, "data.valid is '100%'"),
        ({"test": "many%"}, "data.test is 'many%'"),
        ({"valid": "60%", "test": "40%"}, "leave nothing to train on"),
        ({"train": VALID, "source": "de"}, "line-aligned files have none"),
        ({"source": 2, "target": 2}, "both mean column 2"),
        ({"target": 1}, "both mean column 1"),
        ({"train": "train.jsonl", "source": 1}, "data.source is column 1"),
    ],
)
def test_settings_that_do_not_fit_are_told(settings: dict[str, Any], said: str) -> None:
    write("train.tsv", tsv(WANTED))
    write("train.jsonl", jsonl(WANTED, "source", "target"))
    with pytest.raises(SettingError) as told:
        read(**{"train": "train.tsv"} | settings)
    assert said in str(told.value)


def test_columns_count_from_one_not_from_zero() -> None:
    with pytest.raises(SettingError, match="columns are counted from 1, not from 0"):
        PairFilesSettings(train="train.tsv", source=0)


def test_a_part_that_was_not_asked_for_is_told() -> None:
    data = corpus(write("train.tsv", tsv(WANTED)))
    assert data.parts() == ["train", "valid"]
    with pytest.raises(DataError, match=r"no test part: set data\.test"):
        data.examples("test")


# The split by hash


def numbered(count: int) -> list[Pair]:
    return [Pair(f"Satz {number}", f"sentence {number}") for number in range(count)]


def split(pairs: list[Pair], **settings: Any) -> dict[str, list[Pair]]:
    write("train.tsv", tsv(pairs))
    data = PairFiles(PairFilesSettings(train="train.tsv", **settings))
    return {part: list(data.examples(part)) for part in data.parts()}


def test_the_parts_make_up_the_file_in_its_order() -> None:
    pairs = numbered(1499)
    parts = split(pairs, valid="5%", test="12.5%")
    assert list(parts) == ["train", "valid", "test"]
    assert sorted(itertools.chain(*parts.values())) == sorted(pairs)
    for part in parts.values():
        assert part == sorted(part, key=pairs.index)


def test_the_shares_are_what_was_asked_for() -> None:
    count = 20011
    parts = split(numbered(count), valid="5%", test="10%")
    for part, share in (("train", 0.85), ("valid", 0.05), ("test", 0.10)):
        deviation = (count * share * (1 - share)) ** 0.5  # of a binomial
        assert abs(len(parts[part]) - count * share) < 4 * deviation


def test_the_same_source_is_always_in_the_same_part() -> None:
    pairs = [Pair(f"{' ' * (number % 2)}Satz {number % 101}", f"{number}") for number in range(1009)]
    parts = split(pairs, valid="20%", test="20%")
    sources = {part: {pair.source.strip() for pair in found} for part, found in parts.items()}
    assert len(sources["train"]) + len(sources["valid"]) + len(sources["test"]) == 101


def test_the_order_of_the_file_does_not_move_a_pair_to_another_part() -> None:
    pairs = numbered(997)
    before = split(pairs)
    random.Random(3).shuffle(pairs)
    after = split(pairs)
    assert {part: set(found) for part, found in before.items()} == {part: set(found) for part, found in after.items()}


def test_appending_to_the_file_does_not_move_a_pair_to_another_part() -> None:
    before, after = split(numbered(997)), split(numbered(1499))
    assert all(set(before[part]) <= set(after[part]) for part in before)


def test_a_share_of_line_aligned_files_is_the_same_as_of_one_file() -> None:
    pairs = numbered(499)
    write("train.de", "".join(pair.source + "\n" for pair in pairs))
    write("train.en", "".join(pair.target + "\n" for pair in pairs))
    data = PairFiles(PairFilesSettings(train=("train.de", "train.en")))
    assert {part: list(data.examples(part)) for part in data.parts()} == split(pairs)


def test_a_share_too_small_for_the_file_is_told() -> None:
    with pytest.raises(DataError, match=r"valid part is empty: no pair of train\.tsv"):
        split(numbered(7), valid="0.001%")


# Fingerprints


def test_the_content_hash_is_the_sha256_of_the_bytes_and_follows_a_change(folder: Path) -> None:
    path = folder / write("train.tsv", b"a\tb\n")
    assert content_hash(path) == hashlib.sha256(b"a\tb\n").hexdigest()
    write("train.tsv", b"c\td\n")
    os.utime(path, ns=(5, 7))  # a write within the resolution of the clock may leave the time stamp as it was
    assert content_hash(path) == hashlib.sha256(b"c\td\n").hexdigest()


def test_a_fingerprint_follows_what_decides_its_part_and_nothing_else(folder: Path) -> None:
    write("train.tsv", tsv(numbered(97)))
    write("other.tsv", tsv(numbered(89)))
    write("moved.tsv", tsv(numbered(97)))
    usual = corpus("train.tsv", test="7%")
    changes: dict[str, tuple[dict[str, Any], set[str]]] = {
        "another file": ({"train": "other.tsv"}, {"train", "test"}),
        "the same file elsewhere": ({"train": str(folder / "moved.tsv")}, set()),
        "another share": ({"test": "8%"}, {"train", "test"}),
        "a share before it": ({"valid": "7%"}, {"train", "valid", "test"}),
        "swapped columns": ({"source": 2, "target": 1}, {"train", "test"}),
        "swapped validation files": ({"valid": VALID[::-1]}, {"valid"}),
    }
    for change, (settings, affected) in changes.items():
        changed = corpus(**{"train": "train.tsv", "test": "7%"} | settings)
        differ = {part for part in usual.parts() if usual.fingerprint(part) != changed.fingerprint(part)}
        assert differ == affected, change


def test_parts_of_one_file_have_different_fingerprints() -> None:
    data = corpus(write("train.tsv", tsv(numbered(97))), valid="50%", test="25%")
    assert len({data.fingerprint(part) for part in data.parts()}) == 3


def test_the_same_bytes_read_in_another_form_have_another_fingerprint() -> None:
    text = "a,b\tc,d\n"
    assert corpus(write("x.tsv", text)).fingerprint("train") != corpus(write("x.csv", text)).fingerprint("train")


def test_every_file_is_listed_once() -> None:
    write("train.tsv", tsv(numbered(7)))
    assert corpus("train.tsv", test="20%").paths() == [Path("train.tsv"), Path("valid.de"), Path("valid.en")]
