"""Labelled images in the user's own files: every form gives the same images, and bad input one sentence."""

import gzip
import io
import json
import tarfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqwright.data.image_files import ImageFiles, ImageFilesSettings
from seqwright.data.images import ImageExample
from seqwright.errors import DataError, SettingError
from tests.small_images import bytes_of, folder_of, idx, random_pixels

IMAGES = np.stack([random_pixels(seed, 4, 4, 1) for seed in range(10)])
LABELS = [str(number % 3) for number in range(10)]


def data(train: Any, **settings: Any) -> ImageFiles:
    given = [str(each) for each in train] if isinstance(train, list) else str(train)
    return ImageFiles(ImageFilesSettings(**{"train": given, "valid": "30%", **settings}))


def every(found: ImageFiles) -> list[ImageExample]:
    return [example for part in found.parts() for example in found.examples(part)]


def said(found: ImageFiles) -> Counter[tuple[str, bytes]]:
    """The label and the pixels of every image, whatever the order."""
    return Counter((example.label, example.pixels_YXC.tobytes()) for example in every(found))


# ------------------------------------------------------------------------------------------ folders and archives


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder_of(tmp_path / "pets", 6)
    return tmp_path / "pets"


def packed(folder: Path, form: str) -> Path:
    """The folder in an archive."""
    path = folder.parent / f"all{form}"
    if form == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for file in sorted(folder.rglob("*.png")):
                archive.write(file, Path("pets") / file.relative_to(folder))
        return path
    with tarfile.open(path, "w:gz" if form.endswith("gz") else "w") as archive:
        archive.add(folder, "pets")
    return path


@pytest.mark.parametrize("form", [".zip", ".tar", ".tar.gz", ".tgz"])
def test_an_archive_is_read_like_the_folder_in_it_and_cut_into_the_same_parts(folder: Path, form: str) -> None:
    in_folder, in_archive = data(folder), data(packed(folder, form) / "pets")
    for part in in_folder.parts():
        expected = {(each.name, each.label, each.content()) for each in in_folder.examples(part)}
        assert {(each.name, each.label, each.content()) for each in in_archive.examples(part)} == expected
    assert [path.name for path in in_archive.paths()] == [f"all{form}"]


def test_the_parts_have_no_image_in_common(folder: Path) -> None:
    (folder / "dog" / "again.png").write_bytes((folder / "cat" / "1.png").read_bytes())
    found = data(folder, test="30%")
    contents = [{example.content() for example in found.examples(part)} for part in found.parts()]
    assert sum(map(len, contents)) == len(set().union(*contents)) == 12


def test_the_fingerprint_follows_the_content(folder: Path) -> None:
    before = data(folder).fingerprint("train")
    assert data(folder).fingerprint("train") == before
    (folder / "cat" / "1.png").write_bytes(bytes_of(random_pixels(99)))
    assert data(folder).fingerprint("train") != before


def test_what_is_passed_over_is_told(folder: Path) -> None:
    (folder / "loose.png").write_bytes(b"")
    (folder / "cat" / "notes.txt").write_text("x")
    (folder / ".hidden").mkdir()
    (folder / "cow").mkdir()
    remarks = data(folder).remarks()
    assert remarks == [
        f"images of {folder} in no label's folder, passed over: 1 (loose.png)",
        f"files of {folder} whose names are not those of images, passed over: 1 (cat/notes.txt)",
        f"folders of {folder} without an image, which are no labels: 1 (cow)",
    ]
    assert {example.label for example in every(data(folder))} == {"cat", "dog"}


def test_labels_can_be_renamed(folder: Path) -> None:
    assert {example.label for example in every(data(folder, label_names={"cat": "Katze"}))} == {"Katze", "dog"}


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: (path / "a" / "b").mkdir(parents=True), "has no folder with images in it"),
        (lambda path: folder_of(path / "sub"), "lies too deep, .* perhaps '.*sub' was meant"),
    ],
)
def test_a_folder_of_another_form_is_refused(make, told: str, tmp_path: Path) -> None:
    make(tmp_path)
    with pytest.raises(DataError, match=told):
        list(data(tmp_path).examples("train"))


@pytest.mark.parametrize("form", [".zip", ".tar", ".tar.gz"])
def test_a_damaged_archive_is_refused(folder: Path, form: str) -> None:
    path = packed(folder, form)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(DataError, match="damaged archive"):
        list(data(path / "pets").examples("train"))


def test_something_without_a_name_in_an_archive_is_passed_over(folder: Path) -> None:
    path = packed(folder, ".zip")
    before = [example.name for example in data(path / "pets").examples("train")]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(zipfile.ZipInfo(""), b"nothing")
    assert [example.name for example in data(path / "pets").examples("train")] == before


def test_a_folder_that_an_archive_lacks_is_refused(folder: Path) -> None:
    for form in (".zip", ".tar"):
        with pytest.raises(DataError, match="there is no file below 'cats' in"):
            list(data(packed(folder, form) / "cats").examples("train"))


# ------------------------------------------------------------------------------------------------------ tables


def table(folder: Path, rows: list[str], name: str = "all.csv") -> Path:
    (folder / name).write_text("".join(f"{row}\n" for row in rows))
    return folder / name


def test_a_table_names_images_from_its_own_folder(folder: Path) -> None:
    rows = [f"{label}/{number}.png,{label}" for label in ("cat", "dog") for number in range(6)]
    for path in (table(folder, ["file,class", *rows]), table(folder, rows, "plain.csv")):
        assert said(data(path)) == said(data(folder))


def test_a_list_names_images_without_endings_in_an_archive(folder: Path) -> None:
    rows = [f"pets/{label}/{number} {label} 1" for label in ("cat", "dog") for number in range(6)]
    path = table(packed(folder, ".zip").parent, rows, "list.txt")
    found = data(path, image=1, label=2, separator=" ", images="all.zip")
    assert said(found) == said(data(folder))


def test_rows_without_their_image_are_refused_together_or_counted(folder: Path) -> None:
    rows = ["image,label", *(f"cat/{number}.png,cat" for number in range(4, 9))]
    path = table(folder, rows)
    with pytest.raises(DataError, match=r"all\.csv:4 names the image 'cat/6\.png', which is not in .*; in all, 3 rows"):
        list(data(path).examples("train"))
    skipped = every(data(path, bad_rows="skip"))
    assert len(skipped) == 5
    with pytest.raises(DataError, match="which is not in"):
        _ = skipped[-1].pixels_YXC


def test_a_folder_of_images_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match=r"there is no folder or archive .*photos .*data\.images"):
        data(table(folder, ["image,label", "a.png,cat"]), images="photos")


# -------------------------------------------------------------------------------------------------- IDX and .npz


def idx_pair(folder: Path, images=IMAGES[..., 0], labels=None) -> Path:
    known = np.array(LABELS, dtype=np.uint8) if labels is None else labels
    (folder / "train-images-idx3-ubyte.gz").write_bytes(idx(images))
    (folder / "train-labels-idx1-ubyte.gz").write_bytes(idx(known))
    return folder / "train-images-idx3-ubyte.gz"


def expected(images=IMAGES) -> Counter[tuple[str, bytes]]:
    return Counter((label, image.tobytes()) for label, image in zip(LABELS, images, strict=True))


def test_idx_files_are_read(tmp_path: Path) -> None:
    assert said(data(idx_pair(tmp_path))) == expected()
    plain = tmp_path / "a.idx3"
    plain.write_bytes(idx(IMAGES[..., 0], packed=False))
    assert said(data(plain, label_file="train-labels-idx1-ubyte.gz")) == expected()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\0\0\x0d\x03" + bytes(40), "no IDX file of bytes"),
        (idx(IMAGES[..., 0], packed=False)[:50], "ends after 34 of 160 bytes"),
        (b"\0\0\x08\x03" + b"\xff" * 12, "more than 268,435,456"),
        (b"\0\0\x08\x03" + bytes(12), "is empty by its header"),
        (b"", "no IDX file"),
        (idx(IMAGES[:, 0, 0, 0], packed=False), "has 1 axes"),
    ],
)
def test_a_bad_idx_file_is_refused(content: bytes, told: str, tmp_path: Path) -> None:
    path = idx_pair(tmp_path)
    path.write_bytes(gzip.compress(content))
    with pytest.raises(DataError, match=told):
        list(data(path).examples("train"))


def test_labels_that_are_missing_or_too_few_are_told(tmp_path: Path) -> None:
    path = idx_pair(tmp_path, labels=np.zeros(7, dtype=np.uint8))
    with pytest.raises(DataError, match=r"has 10 images, but 7 labels in .*labels-idx1.* belong to them"):
        list(data(path).examples("train"))
    (tmp_path / "train-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(DataError, match=r"the labels of .* are not in .*labels-idx1.*: name it with data\.label_file"):
        data(path)


@pytest.mark.parametrize("scale", [1, 255])
def test_arrays_of_numpy_are_read_by_part(scale: int, tmp_path: Path) -> None:
    images = IMAGES if scale == 1 else IMAGES.astype(np.float32) / scale
    labels = np.array(LABELS, dtype=np.int64)[:, None]
    np.savez_compressed(tmp_path / "a.npz", x_train=images, y_train=labels, x_test=images[:2], y_test=labels[:2])
    found = data(tmp_path / "a.npz" / "train", test=str(tmp_path / "a.npz" / "test"))
    assert len(list(found.examples("test"))) == 2
    assert said(data(tmp_path / "a.npz" / "train")) == expected()
    with pytest.raises(DataError, match=r"has no array called images or .* but x_train, y_train"):
        list(data(tmp_path / "a.npz").examples("train"))


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"images": IMAGES.astype(np.int64) * 99, "labels": LABELS}, "expected bytes"),
        ({"images": IMAGES[0, 0], "labels": LABELS}, "images × rows × columns"),
        ({"images": IMAGES, "labels": LABELS[:3]}, "has 10 images, but 3 labels"),
        ({"images": IMAGES, "labels": np.zeros(10)}, "has labels of float64"),
        ({"images": np.array([{}] * 10), "labels": LABELS}, r"is no \.npz file that can be read"),
    ],
)
def test_bad_arrays_are_refused(arrays: dict[str, Any], told: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=told):
        list(data(tmp_path / "a.npz").examples("train"))


# ------------------------------------------------------------------------------------------------------ sheets


def test_tiles_are_cut_from_left_to_right(tmp_path: Path) -> None:
    blank = np.zeros((2, 4, 4, 1), dtype=np.uint8)
    rows = np.concatenate((IMAGES, blank)).reshape(3, 4, 4, 4, 1)
    sheet = rows.swapaxes(1, 2).reshape(12, 16, 1)
    (tmp_path / "a.png").write_bytes(bytes_of(sheet))
    (tmp_path / "a.labels.txt").write_text("\n".join(LABELS))
    assert said(data(tmp_path / "a.png", tile=4)) == expected()
    with pytest.raises(DataError, match=r"12 × 16 pixels, which no tiles of 5 × 5 fill"):
        list(data(tmp_path / "a.png", tile=5).examples("train"))
    with pytest.raises(DataError, match=r"is one image: .* data\.tile=32"):
        list(data(tmp_path / "a.png").examples("train"))


def test_each_row_of_several_sheets_is_an_image(tmp_path: Path) -> None:
    colour = np.stack([random_pixels(seed, 4, 4) for seed in range(10)])
    for name, some in (("1", colour[:6]), ("2", colour[6:])):
        (tmp_path / f"{name}.png").write_bytes(bytes_of(some.reshape(len(some), 16, 3)))
    (tmp_path / "test.png").write_bytes((tmp_path / "2.png").read_bytes())
    (tmp_path / "labels.json").write_text(json.dumps([int(label) for label in LABELS]))
    (tmp_path / "others.json").write_text("[1, 2, 0, 1]")
    files, labels = [tmp_path / "1.png", tmp_path / "2.png"], {"train": "labels.json", "test": "others.json"}
    settings: dict[str, Any] = {"tile": 4, "sheet": "rows", "test": str(tmp_path / "test.png"), "label_file": labels}
    found = data(files, **settings)
    train = [(each.label, each.pixels_YXC.tobytes()) for part in ("train", "valid") for each in found.examples(part)]
    assert Counter(train) == expected(colour)
    assert [example.label for example in found.examples("test")] == ["1", "2", "0", "1"]


def test_two_folders_for_a_part_are_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="and 1 more are given for one part, and only sheets can be"):
        data([folder, folder])
    with pytest.raises(SettingError, match=r"data\.train is '10%'"):
        ImageFilesSettings(train="10%")


def test_a_npz_that_unpacks_to_too_much_is_refused_before_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "a.npz", images=np.zeros((100, 50, 50), dtype=np.uint8), labels=np.zeros(100, int))
    assert (tmp_path / "a.npz").stat().st_size < 5000
    monkeypatch.setenv("SEQWRIGHT_LIMITS", "document=200000")
    with pytest.raises(DataError, match="more than 200,000"):
        list(data(tmp_path / "a.npz").examples("train"))


def test_images_are_decoded_only_when_they_are_asked_for(folder: Path) -> None:
    (folder / "cat" / "1.png").write_bytes(b"no image")
    examples = {example.name: example for example in every(data(folder))}
    assert len(examples) == 12
    with pytest.raises(DataError, match=r"cat/1\.png is no image of a kind that is read"):
        _ = examples["cat/1.png"].pixels_YXC
    assert examples["cat/2.png"].pixels_YXC.shape == (5, 7, 3)
    assert io.BytesIO(examples["cat/2.png"].content()).read(4) == b"\x89PNG"
