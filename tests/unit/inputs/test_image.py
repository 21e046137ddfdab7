"""Images as an input: one size, scaled by the training part, augmented from (seed, epoch, number)."""

import dataclasses
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from seqwright.batches import Place
from seqwright.data.cards import cache_folder
from seqwright.data.decoded_images import Undecoded
from seqwright.data.images import ImageExample
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs import Examples, Given, Room
from seqwright.inputs import fitted_images as fitting
from seqwright.inputs.augmentations import AUGMENTATIONS
from seqwright.inputs.fitted_images import Frame, fitted
from seqwright.inputs.image import ImageInput, ImageSettings, shown_places
from seqwright.outputs.label import LabelOutput
from seqwright.tasks.wired import Wires
from tests.small_images import bytes_of, random_pixels

EXAMPLES = [
    ImageExample(random_pixels(n), ("cat", "dog")[n % 2], f"{n}.png", captions=("one", "two")) for n in range(11)
]


def learnt(examples: list[ImageExample] = EXAMPLES, **settings: Any) -> ImageInput:
    return ImageInput.learn(Given(examples), ImageSettings(**settings), room=Room())


def part(examples: list[ImageExample], fingerprint: str) -> Examples[ImageExample]:
    return Examples(lambda: examples, fingerprint, "the train part")


def unreadable(name: str = "bad.png") -> ImageExample:
    return ImageExample(Undecoded(lambda: b"no image", name), "cat", name)


def test_a_batch_has_mean_0_and_deviation_1_over_the_training_part() -> None:
    input = learnt()
    stacked = input.stack(input.encode(Given(EXAMPLES)).take(np.arange(11), None))
    assert stacked["input_B"].shape == (11, 3, 5, 7)
    assert stacked["real_BT"].shape == (11, 1)
    torch.testing.assert_close(stacked["input_B"].mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(stacked["input_B"].std((0, 2, 3), correction=0), torch.ones(3), atol=1e-5, rtol=0)
    row = torch.from_numpy(EXAMPLES[4].pixels_YXC / 255).permute(2, 0, 1)
    mean_C, deviation_C = (torch.tensor(each)[:, None, None] for each in (input.mean_C, input.deviation_C))
    torch.testing.assert_close(stacked["input_B"][4].double(), (row - mean_C) / deviation_C, atol=1e-5, rtol=1e-5)


def test_a_channel_that_never_changes_is_only_shifted() -> None:
    blank = np.full((5, 7, 1), 51, dtype=np.uint8)
    input = learnt([ImageExample(blank, "cat"), ImageExample(blank, "dog")])
    assert input.mean_C == pytest.approx((0.2,))
    assert input.deviation_C == (1.0,)


def test_an_image_counts_as_one_and_a_batch_has_so_many() -> None:
    wires = Wires.learn(ImageInput, LabelOutput, EXAMPLES, ImageSettings())
    assert wires.sizes() == {"channels": 3, "rows": 5, "columns": 7, "classes": 2}
    batches = wires.training_batches(EXAMPLES, tokens=4)
    assert [batches.at(Place(0, n)).tokens for n in range(batches.in_epoch(0))].count(4) == 2
    assert wires.input.unit == "images"


def test_one_image_of_colours_makes_three_channels_of_all() -> None:
    grey = [ImageExample(random_pixels(n, channels=1), "cat") for n in range(3)]
    assert learnt(grey).frame.channels == 1
    mixed = learnt([*grey, EXAMPLES[0]])
    assert mixed.frame.channels == 3
    row = mixed.encode(Given(grey[:1])).take(np.arange(1), None)[0]
    np.testing.assert_array_equal(row, np.repeat(grey[0].pixels_YXC, 3, axis=2))
    green = np.zeros((5, 7, 3), dtype=np.uint8)
    green[..., 1] = 255
    assert (fitted(green, Frame(1, 5, 7)) == 150).all()


def test_different_sizes_are_refused_or_fitted() -> None:
    small, large = ImageExample(random_pixels(1, 4, 6), "cat", "a"), ImageExample(random_pixels(2, 40, 60), "dog", "b")
    with pytest.raises(DataError, match=r"such as 4 × 6 \(a\) and 40 × 60 \(b\): .*input\.size=64"):
        learnt([small, large])
    rows = learnt([small, large], size=8).encode(Given([small, large]))
    assert rows.images.pixels_NYXC.shape == (2, 8, 8, 3)
    assert learnt([small, large], size=8).part_sentence(Given([small, large]), rows)[0] == (
        "2 images of 4 × 6 to 40 × 60 pixels"
    )


def test_the_shorter_side_is_resized_and_the_middle_kept() -> None:
    wide = np.zeros((10, 30, 3), dtype=np.uint8)
    wide[:, 10:20] = 200
    assert (fitted(wide, Frame(3, 10, 10)) == 200).all()
    assert (fitted(wide.swapaxes(0, 1).copy(), Frame(3, 10, 10)) == 200).all()
    expected = np.asarray(Image.fromarray(wide).resize((60, 20), Image.Resampling.BICUBIC))[:, 20:40]
    np.testing.assert_allclose(fitted(wide, Frame(3, 20, 20)).astype(int), expected.astype(int), atol=2)


# ------------------------------------------------------------------------------------------------- unreadable


def test_an_image_that_cannot_be_read_has_no_row_and_is_named() -> None:
    examples = [EXAMPLES[0], unreadable(), EXAMPLES[1]]
    for some in (Given(examples), part(examples, "unreadable")):
        rows = learnt().encode(some)
        assert rows.example_N.tolist() == [0, 2]
        told = "1 image cannot be read: bad.png (no image)"
        assert learnt().part_sentence(some, rows) == ("2 images of 5 × 7 pixels", f"; left out: {told}")
        assert learnt().blank_remarks(some) == [told]
        assert [len(each) for each in learnt().features(some)] == [105, 105, 105]


def test_an_image_that_was_too_large_is_read_once_the_limit_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytes_of(EXAMPLES[3].pixels_YXC)
    some = part([EXAMPLES[0], ImageExample(Undecoded(lambda: content, "3.png"), "dog", "3.png")], "limits")
    monkeypatch.setenv("SEQWRIGHT_LIMITS", "pixels=34")
    assert learnt().encode(some).images.told() == "1 image cannot be read: 3.png (too many pixels)"
    monkeypatch.setenv("SEQWRIGHT_LIMITS", "pixels=35")
    assert learnt().encode(some).example_N.tolist() == [0, 1]


def test_when_nothing_can_be_read_it_is_said_why() -> None:
    with pytest.raises(
        DataError, match=r"no image of the input can be read; 2 images cannot be read: a \(no image\), b"
    ):
        learnt([unreadable("a"), unreadable("b")])


def test_images_are_decoded_once_and_then_kept_outside_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()

    def content(number: int) -> bytes:
        asked.append(number)
        return bytes_of(EXAMPLES[number].pixels_YXC)

    some = [ImageExample(Undecoded(partial(content, n), str(n)), str(n % 2)) for n in range(5)]
    first = learnt().encode(part(some, "decoded once"))
    assert asked == [0, 1, 2, 3, 4]
    monkeypatch.setattr(fitting, "_opened", {})
    again = learnt().encode(part(some, "decoded once"))
    assert asked == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(first.images.pixels_NYXC, again.images.pixels_NYXC)
    assert isinstance(again.images.pixels_NYXC, np.memmap)
    monkeypatch.setattr(fitting, "_opened", {})
    shutil.rmtree(cache_folder() / "images")
    np.testing.assert_array_equal(learnt().encode(part(some, "decoded once")).images.pixels_NYXC[3], EXAMPLES[3].image)


# ----------------------------------------------------------------------------------------- what is given, saved


@pytest.mark.parametrize("kind", ["path", "text", "bytes", "array", "fractions", "grey array", "example"])
def test_an_image_is_given_in_many_ways(kind: str, tmp_path: Path) -> None:
    pixels = random_pixels(3, channels=1 if kind == "grey array" else 3)
    path = tmp_path / "a.png"
    path.write_bytes(bytes_of(pixels))
    ways: dict[str, Any] = {
        "path": path,
        "text": str(path),
        "bytes": path.read_bytes(),
        "array": pixels,
        "fractions": pixels / 255,
        "grey array": pixels[:, :, 0],
        "example": ImageExample(pixels),
    }
    np.testing.assert_array_equal(learnt().parse(ways[kind]).pixels_YXC, pixels)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("nowhere.png", "there is no file nowhere.png"),
        (b"x", "the image is no image of a kind"),
        (np.zeros((2, 3, 4, 5)), r"an array of the shape \(2, 3, 4, 5\)"),
        (np.zeros((2, 3, 4)), "is no image: give"),
        (np.full((2, 3), np.nan), "is no image: give"),
        (np.full((2, 3), 256), "has values from 256 to 256, expected 0 to 255"),
        (np.zeros((0, 3)), "is no image"),
        (None, "is no image"),
    ],
)
def test_what_is_no_image_is_refused(given: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        learnt().parse(given)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    input = learnt(augment=("flip", "cut-out"))
    input.save(tmp_path)
    assert ImageInput.load(tmp_path) == input
    assert ImageInput.load(tmp_path).fingerprint() == input.fingerprint() != learnt().fingerprint()


@pytest.mark.parametrize("rows", [8192 * 8193, 10**12])
def test_a_saved_size_beyond_any_image_is_refused(rows: int, tmp_path: Path) -> None:
    input = learnt()
    dataclasses.replace(input, frame=input.frame._replace(rows=rows, columns=1)).save(tmp_path)
    with pytest.raises(RunError, match=r"image\.json cannot be read as image \(expected at most 67,108,864 pixels\)"):
        ImageInput.load(tmp_path)


def test_a_contact_sheet_has_every_label() -> None:
    labels = ["rare"] + ["common"] * 200 + ["other"] * 70
    shown = [labels[place] for place in shown_places(labels)]
    assert {"rare", "common", "other"} == set(shown)
    assert len(shown) <= 48
    assert len(shown_places([str(n) for n in range(99)])) == 48


# ---------------------------------------------------------------------------------------------- augmentations


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_an_augmented_image_is_another_of_the_same_size(name: str, channels: int) -> None:
    pixels = random_pixels(5, 12, 16, channels)
    before = pixels.copy()
    found = [AUGMENTATIONS[name](pixels, np.random.default_rng(seed)) for seed in range(20)]
    assert {(each.shape, each.dtype) for each in found} == {((12, 16, channels), np.dtype(np.uint8))}
    assert any((each != pixels).any() for each in found) or (name == "grey" and channels == 1)
    np.testing.assert_array_equal(pixels, before)
    again = AUGMENTATIONS[name](pixels, np.random.default_rng(7))
    np.testing.assert_array_equal(found[7], again)


def test_an_even_image_stays_so_whatever_moves_in_it() -> None:
    even = np.full((9, 11, 3), 77, dtype=np.uint8)
    for name in ("crop", "shift", "flip", "grey", "blur", "cut-out"):
        for seed in range(9):
            assert (AUGMENTATIONS[name](even, np.random.default_rng(seed)) == 77).all(), name


def test_a_crop_is_a_part_of_the_image_and_keeps_its_order() -> None:
    slope = np.broadcast_to(np.arange(0, 250, 10, dtype=np.uint8)[None, :, None], (25, 25, 1))
    for seed in range(20):
        found = AUGMENTATIONS["crop"](slope, np.random.default_rng(seed))[:, :, 0].astype(int)
        assert (np.diff(found, axis=1) >= 0).all()
        assert (np.diff(found, axis=0) == 0).all()
        assert 120 <= found[0, -1] - found[0, 0] <= 240


def test_what_is_drawn_follows_from_seed_epoch_and_number_alone() -> None:
    rows = learnt(augment=("crop", "flip", "colour")).encode(Given(EXAMPLES), seed=3)
    together = rows.take(np.arange(11), 2)
    for order in ([7], [7, 2], [10, 7, 0]):
        np.testing.assert_array_equal(rows.take(np.array(order), 2)[order.index(7)], together[7])
    assert (rows.take(np.array([7]), 3)[0] != together[7]).any()
    other = learnt(augment=("crop", "flip", "colour")).encode(Given(EXAMPLES), seed=4)
    assert (other.take(np.array([7]), 2)[0] != together[7]).any()
    np.testing.assert_array_equal(rows.take(np.array([7]), None)[0], EXAMPLES[7].pixels_YXC)


def test_an_unknown_augmentation_is_refused() -> None:
    with pytest.raises(SettingError, match="augment"):
        ImageSettings(augment=("flop",))  # type: ignore[arg-type]
    assert ImageSettings(augment="flip").augment == ("flip",)  # type: ignore[arg-type]
