import re

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from seqwright.errors import UserError
from seqwright.pictures.surprisal import LABELLED, MOST_BITS, surprisal_page, surprisal_picture

PIECES, BITS = ["The", " cat", " sat", "</s>"], [2.0, 20.0, 0.5, 5.5]


def test_each_token_has_a_bar_as_high_as_its_bits() -> None:
    axes = surprisal_picture(PIECES, BITS, title="a title").axes[1]
    assert [bar.get_height() for bar in axes.patches] == BITS  # type: ignore[attr-defined]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["The", "cat", "sat", "</s>"]
    assert [text.get_text() for text in axes.texts] == ["mean 7.00"]


def test_a_token_is_as_red_in_the_text_as_its_bar() -> None:
    text, bars = surprisal_picture(PIECES, BITS).axes
    grounds = text.collections[0].get_facecolor()
    letters = np.repeat(range(4), [len(piece) for piece in PIECES])
    for ground, token in zip(np.asarray(grounds), letters, strict=True):
        np.testing.assert_allclose(ground, bars.patches[token].get_facecolor())
    np.testing.assert_allclose(to_rgb(bars.patches[1].get_facecolor()), np.array([0xB2, 0x18, 0x2B]) / 255)


def test_a_long_text_numbers_its_tokens() -> None:
    axes = surprisal_picture(["ab"] * (LABELLED + 1), [1.0] * (LABELLED + 1)).axes[1]
    assert axes.get_xlabel() == "token"
    assert "ab" not in [label.get_text() for label in axes.get_xticklabels()]


def test_the_page_says_the_bits_of_each_token() -> None:
    page = surprisal_page(["<script>", "\n"], [3.0, MOST_BITS + 1], title="<i>")
    assert not re.search("<script|<i>", page)
    assert 'title="3.00 bits, p = 0.125">&lt;script&gt;</span>' in page
    assert "background:rgb(178,24,43)" in page, "as red as can be"
    assert "2 tokens, 10.00 bits each" in page


def test_a_token_without_bits_is_refused() -> None:
    with pytest.raises(UserError, match="4 tokens and 3 numbers of bits"):
        surprisal_picture(PIECES, BITS[:3])
