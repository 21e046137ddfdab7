"""Labelled series in files: rows of a table, the format of the archives, and what is wrong with a file."""

import gzip
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqwright.data.labelled_series import LabelledSeriesFiles, LabelledSeriesFilesSettings, header_remarks, series_of
from seqwright.data.rows import PLAIN
from seqwright.errors import DataError, SettingError

ARCHIVE = """# made up
@problemName two
@univariate false
@classLabel true a b
@data
1,2,3:4,5,6:a
7,8:9,10:b
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def read(path: Path, **settings: Any) -> list[tuple[str, list[list[float]]]]:
    return [(series.label, series.values_TC.tolist()) for series in series_of(path, **settings)]


@pytest.mark.parametrize("name", ["x.tsv", "x.csv", "x.tsv.gz", "x.csv.gz", "x.txt"])
def test_a_row_is_a_label_and_values(tmp_path: Path, name: str) -> None:
    separator = "," if ".csv" in name else "  " if name.endswith(".txt") else "\t"
    rows = [["up", "1", "2.5", "-3e-1"], ["-1", "7", "8", "9"]]
    path = written(tmp_path, name, "\n".join(map(separator.join, rows)) + "\n\n")
    assert read(path) == [("up", [[1.0], [2.5], [-0.3]]), ("-1", [[7.0], [8.0], [9.0]])]


@pytest.mark.parametrize(("label", "top"), [("first", "class,t0,t1"), ("last", "t0,t1,class"), ("none", "t0,t1")])
def test_a_first_line_of_names_is_left_out_and_that_is_told(tmp_path: Path, label: str, top: str) -> None:
    row = {"first": "a,1,?", "last": "1,,a", "none": "1,?"}[label]
    (tmp_path / "named.csv").write_text(f"{top}\n{row}\n")
    (tmp_path / "plain.csv").write_text(f"{row}\n")
    both = [list(series_of(tmp_path / name, label=label)) for name in ("named.csv", "plain.csv")]
    assert [[each.values_TC.tolist() for each in some] for some in both] == [[[[1]]], [[[1]]]]
    assert ["named.csv:1 holds names" in told for told in header_remarks(tmp_path / "named.csv", label, PLAIN)] == [
        True
    ]
    assert header_remarks(tmp_path / "plain.csv", label, PLAIN) == []


def test_a_label_alone_in_the_first_line_is_a_blank_series(tmp_path: Path) -> None:
    path = written(tmp_path, "x.tsv", "slow\nfast\t1\t2\n")
    assert read(path) == [("slow", []), ("fast", [[1.0], [2.0]])]
    assert header_remarks(path, "first", PLAIN) == []


def test_the_label_may_stand_last(tmp_path: Path) -> None:
    path = written(tmp_path, "x.csv", "1,2,up\n3,,down\n")
    assert read(path, label="last") == [("up", [[1.0], [2.0]]), ("down", [[3.0]])]


def test_empty_and_missing_cells_at_the_end_are_no_values(tmp_path: Path) -> None:
    path = written(tmp_path, "x.tsv", "a\t1\t2\t3\nb\t4\tNaN\tNaN\nc\t5\t\t\nd\tNaN\tNaN\tNaN\n")
    assert [(label, len(values)) for label, values in read(path)] == [("a", 3), ("b", 1), ("c", 1), ("d", 0)]


@pytest.mark.parametrize("hole", ["NaN", "", "?", "inf"])
def test_a_hole_inside_of_a_series_is_refused_with_its_line(tmp_path: Path, hole: str) -> None:
    path = written(tmp_path, "x.tsv", f"a\t1\t2\t3\nb\t1\t{hole}\t3\n")
    with pytest.raises(DataError, match=r"x\.tsv:2 has a missing or infinite value inside of a series"):
        read(path)


def test_what_is_no_number_is_refused_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "x.csv", "label,first,1\na,1,2\n")
    with pytest.raises(
        DataError, match=r"x\.csv:1 has a value that is no number \(.*'first'\): a row is a label and the values"
    ):
        read(path)


@pytest.mark.parametrize("name", ["x.ts", "x.ts.gz"])
def test_channels_of_an_archive_stand_between_colons(tmp_path: Path, name: str) -> None:
    assert read(written(tmp_path, name, ARCHIVE)) == [
        ("a", [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]),
        ("b", [[7.0, 9.0], [8.0, 10.0]]),
    ]


def test_an_archive_may_have_no_labels(tmp_path: Path) -> None:
    text = ARCHIVE.replace("@classLabel true a b", "@classLabel false").replace(":a", "").replace(":b", "")
    assert [label for label, _ in read(written(tmp_path, "x.ts", text))] == ["", ""]
    assert read(written(tmp_path, "x.ts", text))[1][1] == [[7.0, 9.0], [8.0, 10.0]]


def test_channels_of_different_length_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "x.ts", ARCHIVE + "1,2:3:a\n")
    with pytest.raises(DataError, match=r"x\.ts:8 has channels of different length"):
        read(path)


def test_an_archive_without_its_head_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x\.ts:1 has a series before the line @data"):
        read(written(tmp_path, "x.ts", "1,2:a\n"))


def files(folder: Path, rows: int = 97, **settings: Any) -> LabelledSeriesFiles:
    text = "".join(f"{'ab'[number % 2]}\t{number}\t{number + 0.5}\n" for number in range(rows))
    given = {"train": str(written(folder, "train.tsv", text)), **settings}
    return LabelledSeriesFiles(LabelledSeriesFilesSettings.model_validate(given))


def test_shares_cut_the_file_without_overlap(tmp_path: Path) -> None:
    data = files(tmp_path, valid="20%", test="20%")
    assert data.parts() == ["train", "valid", "test"]
    assert [path.name for path in data.paths()] == ["train.tsv"]
    each = [[series.values_TC[0, 0] for series in data.examples(part)] for part in data.parts()]
    assert sorted(chain(*each)) == list(range(97))
    assert [part == sorted(part) and len(part) > 7 for part in each] == [True] * 3
    assert len({data.fingerprint(part) for part in data.parts()}) == 3


def test_the_fingerprint_is_of_what_is_read_and_not_of_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    here, there = files(tmp_path), files(tmp_path / "there")
    assert here.fingerprint("train") == there.fingerprint("train")
    assert files(tmp_path, label="last").fingerprint("train") != here.fingerprint("train")
    assert files(tmp_path, rows=96).fingerprint("train") != there.fingerprint("train")


def test_files_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="missing"):
        files(tmp_path, valid=str(tmp_path / "missing.tsv"))
    with pytest.raises(DataError, match=r"has the extension '\.json', expected \.tsv, \.csv or \.ts"):
        files(tmp_path, valid=str(written(tmp_path, "x.json", "[]")))
    with pytest.raises(SettingError, match="leave nothing to train on"):
        files(tmp_path, valid="60%", test="40%")
    with pytest.raises(DataError, match=r"the valid part is empty: nothing of .*train\.tsv falls into it"):
        list(files(tmp_path, rows=1, valid="1%").examples("valid"))


# Series of both published parts, the range of their lengths, channels and classes.
PUBLISHED = {
    "ArrowHead.tsv": (36, 175, 251, 251, 1, 3),
    "BME.tsv": (30, 150, 128, 128, 1, 3),
    "CBF.tsv": (30, 900, 128, 128, 1, 3),
    "Chinatown.tsv": (20, 343, 24, 24, 1, 2),
    "Coffee.tsv": (28, 28, 286, 286, 1, 2),
    "ECG200.tsv": (100, 100, 96, 96, 1, 2),
    "ECG5000.tsv": (500, 4500, 140, 140, 1, 5),
    "ElectricDevices.tsv": (8926, 7711, 96, 96, 1, 7),
    "ItalyPowerDemand.ts": (67, 1029, 24, 24, 1, 2),
    "BasicMotions.ts": (40, 40, 100, 100, 6, 4),
    "JapaneseVowels.ts": (270, 370, 7, 29, 12, 9),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_series_are_read_whole(name: str, shared_data: Path) -> None:
    stem, form = name.split(".")
    paths = [shared_data / "ucr" / f"{stem}_{part}.{form}.gz" for part in ("TRAIN", "TEST")]
    if not all(path.is_file() for path in paths):
        pytest.skip(f"{paths[0]} is not there")
    train, test = (list(series_of(path)) for path in paths)
    lengths, channels = zip(*(series.values_TC.shape for series in train + test), strict=True)
    labels = Counter(series.label for series in train + test)
    assert len({*channels}) == 1
    assert (len(train), len(test), min(lengths), max(lengths), channels[0], len(labels)) == PUBLISHED[name]
    assert labels.keys() == {series.label for series in train}
    assert all(np.isfinite(series.values_TC).all() for series in train)
