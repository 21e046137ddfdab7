"""Files of images: what is read of each kind, and one sentence for what is none."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from seqwright.data.decoded_images import UnreadableImageError, decoded_image
from tests.small_images import bytes_of, random_pixels

PIXELS = random_pixels(1)
GREY = PIXELS[:, :, :1]


@pytest.mark.parametrize("form", ["PNG", "BMP", "TIFF", "PPM", "WEBP"])
def test_an_image_is_read_as_it_was_written(form: str) -> None:
    options = {"lossless": True} if form == "WEBP" else {}
    np.testing.assert_array_equal(decoded_image(bytes_of(PIXELS, form, **options), "a"), PIXELS)


def test_shades_of_grey_have_one_channel() -> None:
    np.testing.assert_array_equal(decoded_image(bytes_of(GREY), "a"), GREY)
    assert decoded_image(bytes_of(Image.fromarray(GREY[:, :, 0] > 100)), "a").tolist() == (255 * (GREY > 100)).tolist()


def test_a_palette_is_looked_up() -> None:
    image = Image.fromarray(GREY[:, :, 0]).convert("P")
    image.putpalette([value for shade in range(256) for value in (shade, 255 - shade, 7)])
    shade = np.asarray(image)
    expected = np.stack((shade, 255 - shade, np.full_like(shade, 7)), axis=2)
    np.testing.assert_array_equal(decoded_image(bytes_of(image), "a"), expected)


def test_what_can_be_seen_through_is_seen_on_white() -> None:
    alpha = np.zeros((5, 7, 1), dtype=np.uint8)
    alpha[:, :3] = 255
    found = decoded_image(bytes_of(np.concatenate((PIXELS, alpha), axis=2)), "a")
    np.testing.assert_array_equal(found[:, :3], PIXELS[:, :3])
    assert (found[:, 3:] == 255).all()
    grey = Image.merge("LA", (Image.fromarray(GREY[:, :, 0]), Image.fromarray(alpha[:, :, 0])))
    assert decoded_image(bytes_of(grey), "a")[:, 3:].tolist() == np.full((5, 4, 1), 255).tolist()


def test_16_bits_are_scaled_and_not_cut_off() -> None:
    wide = (GREY[:, :, 0].astype(np.uint16) << 8) + 77
    np.testing.assert_array_equal(decoded_image(bytes_of(Image.fromarray(wide)), "a"), GREY)


@pytest.mark.parametrize(
    ("turn", "expected"), [(3, PIXELS[::-1, ::-1]), (6, np.rot90(PIXELS, -1)), (2, PIXELS[:, ::-1])]
)
def test_an_image_stands_as_its_exif_data_says(turn: int, expected) -> None:
    exif = Image.Exif()
    exif[274] = turn
    np.testing.assert_array_equal(decoded_image(bytes_of(PIXELS, exif=exif), "a"), expected)


def bomb(rows: int = 60_000, columns: int = 60_000) -> bytes:
    """A small PNG whose header promises gigabytes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(10**6))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


FRAMES = [Image.fromarray(random_pixels(seed)) for seed in (1, 2, 3)]
BAD = {
    "no image": (b"a cat", "is no image of a kind that is read"),
    "empty": (b"", "is empty"),
    "a page of PostScript, which starts a program": (
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        "is no image",
    ),
    "truncated": (bytes_of(random_pixels(1, 50, 70))[:900], "is damaged"),
    "animated": (bytes_of(FRAMES[0], "GIF", save_all=True, append_images=FRAMES[1:]), "has 3 frames"),
    "several pages": (bytes_of(FRAMES[0], "TIFF", save_all=True, append_images=FRAMES[1:]), "has 3 pages"),
    "a wrong mode": (bytes_of(Image.fromarray(GREY[:, :, 0].astype(np.float32)), "TIFF"), "pixels of the kind F"),
    "32 bits": (bytes_of(Image.fromarray(GREY[:, :, 0].astype(np.int32) << 16), "TIFF"), "has shades of 32 bits"),
    "a bomb": (bomb(), "far too many pixels"),
    "a smaller bomb": (bomb(9_000, 9_000), "has 9,000 × 9,000 pixels, expected at most 67,108,864"),
    "the bomb between": (bomb(9_000, 12_000), "has 12,000 × 9,000 pixels"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_refused_in_a_sentence(name: str) -> None:
    content, told = BAD[name]
    with pytest.raises(UnreadableImageError, match=told) as refused:
        decoded_image(content, "cats/7.png")
    assert str(refused.value).startswith("cats/7.png ")
    assert ": " in str(refused.value)
    assert refused.value.reason


def test_how_many_pixels_are_too_many_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_LIMITS", "pixels=34")
    with pytest.raises(UnreadableImageError, match=r"SEQWRIGHT_LIMITS=pixels=68"):
        decoded_image(bytes_of(PIXELS), "a")
    monkeypatch.setenv("SEQWRIGHT_LIMITS", "pixels=35")
    assert decoded_image(bytes_of(PIXELS), "a").shape == (5, 7, 3)
