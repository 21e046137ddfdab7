"""A caption over its image: what is bright, what the page holds, and what cannot be drawn."""

import re

import numpy as np
import pytest

from seqwright.errors import SettingError, UserError
from seqwright.pictures.attention import HeadChoice
from seqwright.pictures.caption_maps import CaptionMaps, brightest, caption_figure, caption_page, lit
from seqwright.pictures.contact_sheet import caption_sheet


def seen(words: int = 3) -> CaptionMaps:
    """Two layers with two heads over 2 × 3 places, of an image of 4 × 6 pixels."""
    rng = np.random.default_rng(1)
    map_LHTYX = rng.dirichlet(np.ones(6), size=(2, 2, words)).reshape(2, 2, words, 2, 3)
    pixels = rng.integers(0, 256, (4, 6, 3)).astype(np.uint8)
    return CaptionMaps("a<b>.png", pixels, "a red <cat>", ["a", "red", "<cat>"][:words], map_LHTYX, -1.5)


def test_the_mean_is_over_layers_and_heads_or_over_those_that_are_chosen() -> None:
    found = seen()
    assert np.allclose(found.of(HeadChoice()), found.map_LHTYX.mean((0, 1)))
    assert np.allclose(found.of(HeadChoice(2)), found.map_LHTYX[1].mean(0))
    assert np.allclose(found.of(HeadChoice(2, 1)), found.map_LHTYX[1, 0])
    with pytest.raises(SettingError, match="there is no head 3 that looks at the image; they go from 1 to 2"):
        found.of(HeadChoice(1, 3))


def test_a_place_is_bright_where_it_was_looked_at_and_its_pixels_alone() -> None:
    share = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    black = lit(np.zeros((4, 6, 1), dtype=np.uint8), share)
    assert black.shape == (4, 6, 3)
    assert (black.sum(-1) > 0).tolist() == [[False] * 4 + [True] * 2] * 2 + [[False] * 6] * 2
    assert np.array_equal(lit(seen().pixels_YXC, None), seen().pixels_YXC)


def test_a_map_that_is_nearly_even_stays_dim() -> None:
    even, sharp = np.full((3, 4), 1 / 12), np.eye(3, 4) * 0.9
    assert (even / brightest(even)).max() == pytest.approx(0.25)
    assert (sharp / brightest(sharp)).max() == 1


def test_the_page_has_an_image_for_each_word_and_escapes_what_is_written() -> None:
    page = caption_page(seen(), title="t")
    assert len(re.findall("<svg", page)) == 4
    assert "&lt;cat&gt;" in page
    assert "<cat>" not in page
    assert "a&lt;b&gt;.png" in page


def test_figures_are_drawn_of_maps_and_of_sheets() -> None:
    assert caption_figure(seen(), title="t").get_axes()
    found = caption_sheet([("a cat " * 30, seen().pixels_YXC)] * 5, [("blur", [seen().pixels_YXC] * 3)])
    texts = [text.get_text() for text in found.get_axes()[0].texts]
    assert len(texts) == 6
    assert texts[0].count("\n") == 3
    assert texts[0].endswith("…")
    with pytest.raises(UserError, match="was given no images"):
        caption_sheet([], [])


def test_maps_of_another_number_of_words_are_refused() -> None:
    with pytest.raises(UserError, match="expected one for each of 2 words"):
        CaptionMaps("a", seen().pixels_YXC, "a b", ["a", "b"], seen().map_LHTYX)
