"""Tables of images with captions: what is read, in which order, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from seqwright.data.captioned_files import CaptionedFiles, CaptionedFilesSettings
from seqwright.data.cards import card
from seqwright.data.decoded_images import UnreadableImageError
from seqwright.data.image_features import FeatureFile
from seqwright.data.images import ImageExample
from seqwright.errors import DataError, SettingError, without_settings
from tests.small_images import bytes_of, random_pixels

ALL = {"valid": "1%"}


def images(folder: Path, *names: str) -> None:
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(bytes_of(random_pixels(number)))


def read(path: Path, **settings: Any) -> list[ImageExample]:
    """Every image of a table."""
    data = CaptionedFiles(CaptionedFilesSettings(train=str(path), valid=str(path), **settings))
    return list(data.examples("train"))


def captions(examples: list[ImageExample]) -> dict[str, tuple[str, ...]]:
    return {example.name: example.captions for example in examples}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    images(tmp_path, "a.png", "b.png", "c.png")
    return tmp_path


def test_the_rows_of_an_image_are_one_example_where_it_is_first_named(folder: Path) -> None:
    table = folder / "t.csv"
    table.write_text('image,caption\nb.png,a dog\na.png," two, men "\nb.png,a hound\n', encoding="utf-8")
    found = read(table)
    assert captions(found) == {"b.png": ("a dog", "a hound"), "a.png": ("two, men",)}
    assert found[0].pixels_YXC.tolist() == random_pixels(1).tolist()
    assert (found[0].source, found[0].target, found[0].kind) == ("b.png", "a dog", "")


@pytest.mark.parametrize(
    ("name", "text", "settings"),
    [
        ("t.csv", "path,caption_1,caption_2\na.png,a dog,a hound\nb.png,a cat,\n", {}),
        ("t.csv", "a.png,a dog,a hound\nb.png,a cat,\n", {"image": 1, "caption": (2, 3)}),
        ("t.tsv", "one\tx\ttwo\na dog\ta.png\ta hound\na cat\tb.png\t\n", {"image": "x", "caption": ("one", "two")}),
        ("t.jsonl", '{"file": "a.png", "text": ["a dog", "a hound"]}\n{"file": "b.png", "text": "a cat"}\n', {}),
        ("t.txt", "a.png#0\ta dog\na.png#1\ta hound\nb.png#0\ta cat\n", {"image": 1, "caption": 2}),
    ],
)
def test_captions_stand_in_columns_lists_or_numbered_rows(
    name: str, text: str, settings: dict[str, Any], folder: Path
) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    assert captions(read(folder / name, **settings)) == {"a.png": ("a dog", "a hound"), "b.png": ("a cat",)}


def test_captions_may_stand_in_a_table_of_their_own_and_images_in_several_places(tmp_path: Path) -> None:
    images(tmp_path, "one/a.webp", "two/b.png", "two/c.png")
    (tmp_path / "list.txt").write_text("b.jpg\na.jpg\n", encoding="utf-8")
    (tmp_path / "all.token.txt").write_text("a.jpg#0\tA dog .\nb.jpg#0\tA cat .\na.jpg#1\tA hound .\n")
    found = read(tmp_path / "list.txt", captions="all.token.txt", images=("one", "two"))
    assert captions(found) == {"b.jpg": ("A cat .",), "a.jpg": ("A dog .", "A hound .")}
    assert found[1].pixels_YXC.shape == (5, 7, 3)


def test_an_image_without_a_caption_and_a_row_without_an_image_stay_examples(folder: Path) -> None:
    (folder / "t.csv").write_text("image,caption\na.png,\n,a dog\nb.png,a cat\n", encoding="utf-8")
    found = read(folder / "t.csv")
    assert [example.captions for example in found] == [(), ("a dog",), ("a cat",)]
    with pytest.raises(UnreadableImageError, match=r"t\.csv:3 names no image"):
        _ = found[1].pixels_YXC


def test_shares_are_cut_by_the_image_so_that_no_part_has_one_in_common(tmp_path: Path) -> None:
    names = [f"{number}.png" for number in range(60)]
    images(tmp_path, *names)
    rows = [f"{name},caption {turn} of {name}" for turn in range(2) for name in names]
    (tmp_path / "t.csv").write_text("\n".join(["image,caption", *rows]) + "\n", encoding="utf-8")
    data = CaptionedFiles(CaptionedFilesSettings(train=str(tmp_path / "t.csv"), valid="20%", test="20%"))
    parts = {part: {example.name for example in data.examples(part)} for part in data.parts()}
    assert sum(map(len, parts.values())) == len(set().union(*parts.values())) == 60
    assert all(len(example.captions) == 2 for part in data.parts() for example in data.examples(part))
    assert 4 < len(parts["valid"]) < 24
    from_end = CaptionedFiles(CaptionedFilesSettings(train=str(tmp_path / "t.csv"), valid="5%"), from_end=True)
    assert [example.name for example in from_end.examples("valid")] == names[-3:]
    assert [example.name for example in from_end.examples("train")] == names[:-3]


def test_the_fingerprint_follows_captions_images_and_features(folder: Path) -> None:
    table, features = folder / "t.csv", folder / "f.safetensors"
    table.write_text("image,caption\na.png,a dog\n", encoding="utf-8")
    save_file({"a.png": np.ones((1, 2, 3), dtype=np.float32)}, features)

    def fingerprint(**settings: Any) -> str:
        return CaptionedFiles(CaptionedFilesSettings(train=str(table), **settings)).fingerprint("train")

    known = [fingerprint(), fingerprint(features=str(features))]
    table.write_text("image,caption\na.png,a cat\n", encoding="utf-8")
    known.append(fingerprint())
    (folder / "a.png").write_bytes(bytes_of(random_pixels(99)))
    known.append(fingerprint())
    assert len(set(known)) == 4
    assert fingerprint() == known[-1]


@pytest.mark.parametrize(
    ("text", "settings", "told"),
    [
        ("image,caption\nnone.png,a dog\n", {}, r"t\.csv:2 names the image 'none\.png', which is not .*: correct"),
        ("image,words\na.png,a dog\n", {"caption": "caption"}, r"t\.csv:1 has no column 'caption'"),
        ("image,caption\na.png\n", {}, r"t\.csv:2 has 1 column"),
        ("image,caption\na.png,a dog\n", {"images": "nowhere"}, r"no folder or archive .*nowhere with the images"),
        ("image,caption\na.png,a dog\n", {"features": "none.safetensors"}, "there is no file none.safetensors"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(
    text: str, settings: dict[str, Any], told: str, folder: Path
) -> None:
    (folder / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=told) as refused:
        read(folder / "t.csv", **settings)
    assert "\n" not in str(refused.value)


def test_what_is_no_text_is_no_caption(folder: Path) -> None:
    for value in (7, {"a": 1}, [3]):
        line = json.dumps({"image": "a.png", "caption": value})
        (folder / "t.jsonl").write_text(line + "\n", encoding="utf-8")
        with pytest.raises(DataError, match=r"t\.jsonl:1 has .* for a caption, expected text"):
            read(folder / "t.jsonl")


def test_an_empty_list_of_columns_is_refused(folder: Path) -> None:
    (folder / "t.csv").write_text("image,caption\na.png,a dog\n", encoding="utf-8")
    with pytest.raises(SettingError, match=r"data\.caption is empty"):
        read(folder / "t.csv", caption=())


def test_a_missing_image_may_be_left_out_by_a_setting_that_a_verb_does_not_name(folder: Path) -> None:
    (folder / "t.csv").write_text("image,caption\nnone.png,a dog\na.png,a cat\n", encoding="utf-8")
    found = read(folder / "t.csv", bad_rows="skip")
    assert [example.captions for example in found] == [("a dog",), ("a cat",)]
    with pytest.raises(UnreadableImageError, match=r"none\.png"):
        _ = found[0].pixels_YXC
    with without_settings(), pytest.raises(DataError) as refused:
        read(folder / "t.csv")
    assert "data." not in str(refused.value)


# ------------------------------------------------------------------------------------------------ features


def grids(**shapes: tuple[int, ...]) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def test_features_are_found_by_path_name_or_stem_and_read_as_they_are(folder: Path) -> None:
    tensors = {**grids(a=(2, 3, 5)), "some/b.png": np.ones((2, 3, 5), dtype=np.float16)}
    save_file(tensors, folder / "f.safetensors")
    (folder / "t.csv").write_text("image,caption\na.png,a dog\nb.png,a cat\n", encoding="utf-8")
    found = read(folder / "t.csv", features=str(folder / "f.safetensors"))
    assert [example.features is not None for example in found] == [True, True]
    first, second = (example.features for example in found)
    assert first is not None
    assert second is not None
    assert first.value_YXC.tolist() == tensors["a"].tolist()
    assert second.value_YXC.dtype == np.float32
    assert first.file.shape == (2, 3, 5)


def test_with_features_the_image_itself_may_be_missing(folder: Path) -> None:
    save_file(grids(gone=(1, 2, 3)), folder / "f.safetensors")
    (folder / "t.csv").write_text("image,caption\ngone.png,a dog\n", encoding="utf-8")
    (found,) = read(folder / "t.csv", features=str(folder / "f.safetensors"))
    assert found.features is not None
    with pytest.raises(UnreadableImageError, match=r"gone\.png"):
        _ = found.pixels_YXC


@pytest.mark.parametrize(
    ("tensors", "told"),
    [
        (grids(b=(1, 2, 3)), "t.csv:2 names the image 'a.png', of which .*f.safetensors has no features"),
        (grids(a=(2, 3)), r"has 'a' as F32 of the shape \(2, 3\), expected \(rows, columns, channels\)"),
        (grids(a=(1, 2, 3), b=(2, 2, 3)), r"has 'b' in the shape \(2, 2, 3\), but 'a' in \(1, 2, 3\)"),
        ({"a": np.ones((1, 2, 3), dtype=np.int32)}, "has 'a' as I32"),
        ({}, "has no tensors"),
    ],
)
def test_features_of_other_shapes_or_of_other_images_are_refused(
    tensors: dict[str, Any], told: str, folder: Path
) -> None:
    save_file(tensors, folder / "f.safetensors")
    (folder / "t.csv").write_text("image,caption\na.png,a dog\n", encoding="utf-8")
    with pytest.raises(DataError, match=told) as refused:
        read(folder / "t.csv", features=str(folder / "f.safetensors"))
    assert "\n" not in str(refused.value)


def test_numbers_that_are_not_finite_are_refused_when_they_are_read(folder: Path) -> None:
    save_file({"a": np.full((1, 1, 2), np.nan, dtype=np.float32)}, folder / "f.safetensors")
    found = FeatureFile(str(folder / "f.safetensors")).find("a")
    assert found is not None
    with pytest.raises(DataError, match="not finite"):
        _ = found.value_YXC


def test_what_is_no_safetensors_file_is_refused(folder: Path) -> None:
    (folder / "f.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{broken}")
    with pytest.raises(DataError, match="is no safetensors file that can be read") as refused:
        FeatureFile(str(folder / "f.safetensors"))
    assert "\n" not in str(refused.value)


def test_flickr8k_is_cut_as_its_card_says(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (shared_data / "flickr8k").is_dir():
        pytest.skip(f"{shared_data} has no flickr8k")
    monkeypatch.setenv("SEQWRIGHT_DATA", str(shared_data))
    data = card("flickr8k").open()
    parts = {part: list(data.examples(part)) for part in data.parts()}
    assert {part: len(examples) for part, examples in parts.items()} == {"train": 5500, "valid": 500, "test": 1000}
    every = [example for examples in parts.values() for example in examples]
    assert {len(example.captions) for example in every} == {5}
    assert len({example.name for example in every}) == 7000
    assert parts["test"][0].captions[0].startswith("the boy laying face down on a skateboard")
    assert min(parts["valid"][0].pixels_YXC.shape[:2]) == 128
