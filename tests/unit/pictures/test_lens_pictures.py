import re

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from seqwright.errors import UserError
from seqwright.pictures.lens import Lens, LensPrediction, lens_lines, lens_table
from seqwright.pictures.lens_page import lens_page

GIVEN = ["<s>", "May", " is", " 5\n"]
WANTED = ["May", " is", " 5\n", ""]


def a_lens(layers: int = 3) -> Lens:
    """Layer l says its number everywhere, but the last one is right in the first place."""

    def said_by(layer: int, place: int) -> LensPrediction:
        return LensPrediction(
            [(f"L{layer}p{place}", 0.1 + 0.2 * layer), ("other", 0.05)], (layer, place) == (layers, 0)
        )

    said = [[said_by(layer, place) for place in range(4)] for layer in range(1, layers + 1)]
    return Lens([f"layer {number}" for number in range(1, layers + 1)], GIVEN, WANTED, said)


def heights(figure: Figure) -> dict[str, float]:
    """Where each text stands, from the bottom of the figure up."""
    figure.canvas.draw()
    texts = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    return {text.get_text(): text.get_window_extent().y0 for text in texts if text.get_text()}


def test_layers_go_up_from_what_was_read_to_what_came_next() -> None:
    at = heights(lens_table(a_lens(), title="a title"))
    order = ["token read", "layer 1", "layer 2", "layer 3", "what came next", "a title"]
    assert sorted(order, key=lambda text: at[text]) == order
    assert at["layer 2"] == pytest.approx(at["L2p3"], abs=4)
    assert "5↵" in at
    assert "␣" not in at, "nobody knows what comes after the last token"


def test_only_what_was_right_is_framed() -> None:
    axes = lens_table(a_lens()).axes[0]
    (frame,) = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert (int(frame.get_x()), int(frame.get_y())) == (0, 2)


def test_the_ink_is_the_probability() -> None:
    mesh = lens_table(a_lens()).axes[0].collections[0].get_array()
    assert mesh is not None
    assert mesh.reshape(3, 4)[:, 1].tolist() == pytest.approx([0.3, 0.5, 0.7])


@pytest.mark.parametrize(("width", "layers"), [(40, [1, 2, 3]), (30, [1, 3]), (12, [3])])
def test_the_terminal_has_the_last_layer_and_as_many_others_as_fit(width: int, layers: list[int]) -> None:
    lines = lens_lines(a_lens(), width=width, colour=False).plain.splitlines()
    assert re.findall(r"layer (\d)", lines[0]) == [str(layer) for layer in layers]
    assert lines[1].startswith("<s>")
    assert lines[1].split()[-1] == "*7", "right, and seven tenths"
    assert max(map(len, lines)) <= max(width, 18)


def test_fewer_tokens_are_the_first_ones() -> None:
    few = a_lens().first(2)
    assert (few.input, few.target) == (GIVEN[:2], WANTED[:2])
    assert [len(row) for row in few.predictions] == [2, 2, 2]


def test_the_page_has_every_guess_and_no_element_of_the_users() -> None:
    said = [[LensPrediction([("</td><script>", 0.5), ("x", 0.25)], right=True)]]
    page = lens_page(Lens(["layer 1"], ["<b>"], [], said), title="<i>", text="<u>")
    assert not re.search(r"<script|<b>|<i>|<u>", page)
    assert "0.500  &lt;/td&gt;&lt;script&gt;\n0.250  x" in page
    assert page.count('class="right"') == 1
    assert "what came next" not in page


def test_a_lens_with_a_gap_is_refused() -> None:
    with pytest.raises(UserError, match="2 layers and 4 tokens, but predictions of 1 × "):
        Lens(["layer 1", "layer 2"], GIVEN, WANTED, a_lens(1).predictions)
