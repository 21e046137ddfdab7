import numpy as np
import pytest

from seqwright.errors import UserError
from seqwright.pictures.similarities import WordInContext, similarity_picture

SENTENCES = [
    WordInContext("by the river ", "bank", ""),
    WordInContext("the ", "bank", " lends"),
    WordInContext("", "bank", f" {'x' * 99}"),
]
COSINES = np.array([np.ones((3, 3)), [[1, 0.42, 0.996], [0.42, 1, -0.13], [0.996, -0.13, 1]]])


def test_each_layer_is_a_map_and_all_share_one_scale() -> None:
    figure = similarity_picture(COSINES, ["embedding", "layer 1"], SENTENCES, title="a title")
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert [axes.get_title() for axes in panels] == ["embedding", "layer 1"]
    for axes, expected_NN in zip(panels, COSINES, strict=True):
        np.testing.assert_allclose(np.asarray(axes.images[0].get_array()), expected_NN)
        assert axes.images[0].get_clim() == (-0.2, 1.0)
    numbers = [text.get_text() for text in panels[1].texts]
    assert numbers == ["1", ".42", "1.00", ".42", "1", "-.13", "1.00", "-.13", "1"]


def test_the_word_stands_in_each_sentence_in_a_colour_of_its_own() -> None:
    figure = similarity_picture(COSINES, ["embedding", "layer 1"], SENTENCES)
    words = [text for text in figure.texts if text.get_text() == "bank"]
    assert len(words) == 3
    assert {text.get_color() for text in words} != {"black"}
    figure.canvas.draw()
    by = next(text for text in figure.texts if text.get_text().startswith("by the river"))
    assert words[0].get_window_extent().x0 == pytest.approx(by.get_window_extent().x1, abs=2)
    assert any(text.get_text().endswith("x…") for text in figure.texts), "a long text is cut"


def test_cosines_of_another_form_are_refused() -> None:
    with pytest.raises(UserError, match="expected \\[layers, sentences, sentences\\]"):
        similarity_picture(COSINES, ["embedding"], SENTENCES)
