import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from seqwright import pictures
from seqwright.errors import UserError
from seqwright.pictures import INK, Array, darkest_weight, legible, save
from seqwright.pictures.alignments import alignment
from seqwright.pictures.attention import AttentionMap, HeadChoice, Looked, figures, heads

SHORT = (["the", "dog", "sleeps", "."], ["der", "Hund", "schläft", "."])
LONG = tuple(
    sentence.split()
    for sentence in (
        "the agreement on the European Economic Area was signed in August 1992 , and since then nobody left",
        "das Abkommen über den Europäischen Wirtschaftsraum wurde im August 1992 unterzeichnet und seither gilt es",
    )
)


def softmax(*shape: int) -> Array:
    grown = np.exp(3 * np.random.default_rng(0).normal(size=shape))
    result: Array = grown / grown.sum(axis=-1, keepdims=True)
    return result


def words(count: int, letter: str = "w") -> list[str]:
    return [f"{letter}{number}" for number in range(count)]


def written(figure: Figure) -> list[tuple[str, Bbox]]:
    """Every visible text of a drawn figure with its box in pixels."""
    figure.canvas.draw()
    texts = list(figure.texts)
    for axes in figure.axes:
        texts += [*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels(which="major")]
    return [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]


def assert_nothing_collides(figure: Figure) -> None:
    width, height = figure.canvas.get_width_height()
    boxes = written(figure)
    for text, box in boxes:
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) >= -1, f"{text} leaves the page"
    for (one, first), (other, second) in combinations(boxes, 2):
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        down = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert across <= 0.5 or down <= 0.5, f"{one} runs into {other}"


# Labels, scale and ink


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("Hund", "Hund"),
        ("\n", "↵"),
        ("a\tb", "a⇥b"),
        (" ", "␣"),
        ("", "␣"),
        ("\x1b[31m", "�[31m"),
        ("x" * 40, "x" * 27 + "…"),
    ],
)
def test_labels_are_made_legible(label: str, shown: str) -> None:
    assert legible(label) == shown


@pytest.mark.parametrize(("peak", "columns", "top"), [(0.2, 30, 0.25), (0.26, 30, 0.5), (0.9, 30, 1), (0.25, 4, 0.5)])
def test_the_darkest_weight_is_a_round_number_and_uniform_attention_is_not_dark(
    peak: float, columns: int, top: float
) -> None:
    weights_TS = np.zeros((3, columns))
    weights_TS[1, 2] = peak
    assert darkest_weight(weights_TS) == top


def test_the_ink_darkens_in_equal_steps_of_lightness() -> None:
    def lightness(colour: str) -> float:
        channels = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return float(116 * np.cbrt(linear @ [0.2126, 0.7152, 0.0722]) - 16)

    np.testing.assert_allclose(np.diff([lightness(colour) for colour in INK]), -86 / 6, atol=0.6)


# One alignment


@pytest.mark.parametrize(
    ("source", "target"), [SHORT, LONG, (words(3), LONG[1]), (["a"], ["b"]), (words(127), words(2, "long"))]
)
def test_labels_never_overlap_nor_leave_the_page(source: list[str], target: list[str]) -> None:
    weights_TS = softmax(len(target), len(source))
    axes = {"row_axis": "target word being written", "column_axis": "source word"}
    title = "What it looked at, and " * 4 + "\n" + "a sentence, " * 11
    assert_nothing_collides(alignment(weights_TS, source, target))
    assert_nothing_collides(alignment(weights_TS, source, target, title=title, **axes))


def test_of_very_many_words_every_second_is_written_on_a_page_of_bounded_size() -> None:
    figure = alignment(softmax(2, 307), words(307), words(2))
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == words(307)[::2]
    assert figure.get_size_inches()[0] < 32


def test_short_sentences_keep_their_labels_horizontal_and_long_ones_turn_them() -> None:
    def angles(source: list[str], target: list[str]) -> set[float]:
        axes = alignment(softmax(len(target), len(source)), source, target).axes[0]
        return {label.get_rotation() for label in axes.get_xticklabels()}

    assert angles(*SHORT) == {0}
    assert angles(*LONG) == {90}


def test_japanese_is_set_downwards_instead_of_turned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_draws", lambda path, letter: True)
    source = ["東京タワー"] * 13
    figure = alignment(softmax(2, 13), source, words(2))
    label = figure.axes[0].get_xticklabels()[0]
    assert (label.get_text(), label.get_rotation()) == ("東\n京\nタ\nワ\nー", 0)


def test_the_cell_of_a_weight_is_the_one_that_is_dark() -> None:
    weights_TS = np.zeros((3, 5))
    weights_TS[2, 1] = 1
    figure = alignment(weights_TS, words(5), words(3, "t"))
    figure.canvas.draw()
    assert isinstance(figure.canvas, FigureCanvasAgg)
    picture = np.asarray(figure.canvas.buffer_rgba())
    pixels = picture[..., :3].astype(int).sum(axis=-1)
    to_pixels = figure.axes[0].transData.transform
    for row, column in np.ndindex(3, 5):
        x, y = to_pixels((column + 0.5, row + 0.5))
        dark = pixels[int(pixels.shape[0] - y), int(x)] < 150
        assert dark == ((row, column) == (2, 1))
    (left, top), (right, bottom) = to_pixels((0.5, 0.5)), to_pixels((4.5, 2.5))
    assert left < right, "the source reads to the right"
    assert top > bottom, "the target reads downwards"


def test_prices_are_not_formulas() -> None:
    figure = alignment(softmax(2, 3), ["$5", "$5_a^b$", "$"], ["a$b$", "$\\frac$"])
    assert {"$5_a^b$", "$\\frac$"} <= {text for text, box in written(figure)}


@pytest.mark.parametrize(("source", "target"), [(3, 1), (2, 4), (2, 3)])
def test_labels_that_do_not_fit_the_weights_are_refused(source: int, target: int) -> None:
    with pytest.raises(UserError, match=f"2 rows and 3 columns .* {target} row words and {source} column words"):
        alignment(softmax(2, 3), words(source), words(target))


# All heads


def test_layers_go_down_and_heads_go_across() -> None:
    weights_LHTS = softmax(2, 3, 5, 7)
    figure = heads(weights_LHTS, words(5), words(7, "s"))
    maps = figure.axes[:-1]  # the last is the colour bar
    corners = (
        sorted({round(axes.get_position().x0, 6) for axes in maps}),
        sorted({-round(axes.get_position().y0, 6) for axes in maps}),
    )
    assert (len(corners[0]), len(corners[1]), len(maps)) == (3, 2, 6)
    for axes in maps:
        head = corners[0].index(round(axes.get_position().x0, 6))
        layer = corners[1].index(-round(axes.get_position().y0, 6))
        np.testing.assert_array_equal(axes.images[0].get_array(), weights_LHTS[layer, head])


@pytest.mark.parametrize(
    ("layers", "across", "rows", "columns"), [(2, 3, 4, 5), (1, 1, 1, 1), (1, 8, 10, 10), (2, 4, 31, 29)]
)
def test_the_captions_of_heads_never_overlap(layers: int, across: int, rows: int, columns: int) -> None:
    labels = words(rows, "Wort"), words(columns, "word")
    axes = {"row_axis": "target word being written", "column_axis": "source word"}
    figure = heads(softmax(layers, across, rows, columns), *labels, title="Heads\nof a sentence", **axes)
    texts = [text for text, box in written(figure)]
    assert {f"layer {layers}", f"head {across}"} <= set(texts)
    assert_nothing_collides(figure)


def test_words_beside_heads_are_written_only_where_they_can_be_read() -> None:
    def texts(size: int) -> set[str]:
        return {text for text, _ in written(heads(softmax(1, 2, size, size), words(size), words(size, "s")))}

    assert {"w2", "s2"} <= texts(5)
    assert not {"w2", "s2"} & texts(61)


# Files


def test_the_same_figure_makes_the_same_bytes(tmp_path: Path) -> None:
    def drawn(name: str) -> list[Path]:
        source, target = SHORT
        return save(alignment(softmax(4, 4), source, target), tmp_path / name / "v1.2", ("png", "svg", "pdf"))

    first, second = drawn("a"), drawn("b")
    assert [path.name for path in first] == ["v1.2.png", "v1.2.svg", "v1.2.pdf"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_an_svg_holds_real_text_and_no_date(tmp_path: Path) -> None:
    _, svg = save(alignment(softmax(4, 4), SHORT[0], ["<b>", "&", "schläft", "."]), tmp_path / "figure")
    text = svg.read_text(encoding="utf-8")
    assert ">schläft</text>" in text
    assert ">&lt;b&gt;</text>" in text
    assert "dc:date" not in text
    assert "Matplotlib v" not in text


def test_an_unknown_format_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"'gif'.*png, svg, pdf"):
        save(alignment(softmax(1, 1), ["a"], ["b"]), tmp_path / "figure", ("png", "gif"))
    assert list(tmp_path.iterdir()) == []


def test_drawing_leaves_matplotlib_as_it_was() -> None:
    program = """
import sys, numpy as np
from seqwright.pictures import attention, curves, page
assert "matplotlib" not in sys.modules, "importing draws nothing"
import matplotlib
settings = lambda: {key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}
before = settings()
attention.heads(np.ones((1, 2, 1, 1)), ["a"], ["b"])
attention.alignment(np.ones((1, 1)), ["a"], ["b"])
assert settings() == before
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# Fonts


@pytest.fixture
def fresh_fonts() -> Iterator[None]:
    pictures.families.cache_clear()
    yield
    pictures.families.cache_clear()


@pytest.mark.usefixtures("fresh_fonts")
def test_a_character_that_no_font_has_is_said_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pictures, "_draws", lambda path, letter: letter != "\U00016fe4")
    with pytest.warns(UserWarning, match="no installed font has the characters '\U00016fe4'") as said:
        save(alignment(softmax(1, 2), ["\U00016fe4", "a"], ["b"]), tmp_path / "figure")
    assert len(said) == 1


@pytest.mark.usefixtures("fresh_fonts")
def test_another_font_steps_in_for_what_the_standard_one_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_draws", lambda path, letter: letter.isascii() or path.endswith("DejaVuSerif.ttf"))
    assert pictures.families(frozenset("aж")) == ["DejaVu Sans", "DejaVu Serif", "sans-serif"]
    assert pictures.families(frozenset("ab")) == ["DejaVu Sans", "sans-serif"]


# What was looked at


def test_every_picture_names_its_sentence_and_its_axes() -> None:
    kind = AttentionMap(softmax(2, 3, 5, 7), words(5), words(7, "s"), "word being written", "source word")
    looked = Looked("May  5", "5. Mai", {"gate of words": kind}, title="a-run")
    drawn = figures(looked) | figures(looked, HeadChoice(2)) | figures(looked, HeadChoice(2, 3))
    assert list(drawn) == [
        *("gate-of-words", "gate-of-words-heads"),
        *("gate-of-words-layer-2", "gate-of-words-layer-2-lines"),
        *("gate-of-words-layer-2-head-3", "gate-of-words-layer-2-head-3-lines"),
    ]
    said = {name: {text for text, _ in written(figure)} for name, figure in drawn.items()}
    assert all({"a-run: May  5", "→ 5. Mai"} <= texts for texts in said.values())
    assert {"word being written", "source word"} <= said["gate-of-words"] & said["gate-of-words-layer-2"]
    assert "rows: word being written; columns: source word" in said["gate-of-words-heads"]
    assert "gate of words, mean of 2 layers and 3 heads" in said["gate-of-words"]
    assert "gate of words, layer 2, mean of 3 heads" in said["gate-of-words-layer-2"]
    assert "gate of words, layer 2" in said["gate-of-words-layer-2-lines"]
    assert "gate of words, layer 2, head 3" in said["gate-of-words-layer-2-head-3"]


def test_every_picture_of_a_sentence_has_a_name() -> None:
    maps = {
        "cross": AttentionMap(softmax(2, 3, 5, 7), words(5), words(7, "s")),
        "decoder": AttentionMap(softmax(1, 1, 5, 5), words(5), words(5)),
    }
    looked = Looked("s", "t", maps, title="Sentence 1")
    drawn = figures(looked)
    assert list(drawn) == ["cross", "cross-heads", "decoder"]
    drawn |= figures(looked, HeadChoice(2)) | figures(looked, HeadChoice(2, 3))
    cross = maps["cross"].weights
    for name, expected_TS in {
        "cross": cross.mean(axis=(0, 1)),
        "cross-layer-2": cross[1].mean(axis=0),
        "cross-layer-2-head-3": cross[1, 2],
    }.items():
        mesh = drawn[name].axes[0].collections[0].get_array()
        np.testing.assert_allclose(np.asarray(mesh).reshape(5, 7), expected_TS)


@pytest.mark.parametrize("choice", [HeadChoice(3), HeadChoice(2, 4), HeadChoice(0)])
def test_a_layer_that_is_not_there_is_refused(choice: HeadChoice) -> None:
    maps = {"cross": AttentionMap(softmax(2, 3, 5, 7), words(5), words(7, "s"))}
    with pytest.raises(UserError, match=f"there is no {choice}; layers go from 1 to 2, heads from 1 to 3"):
        figures(Looked("s", "t", maps), choice)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (softmax(2, 5, 7), "expected \\[layers, heads, rows, columns\\]"),
        (softmax(1, 2, 4, 7), "4 rows"),
        (np.full((1, 2, 5, 7), np.nan), "finite"),
    ],
)
def test_weights_of_another_form_are_refused(weights: Array, message: str) -> None:
    with pytest.raises(UserError, match=message):
        AttentionMap(weights, words(5), words(7))


def test_a_model_without_attention_is_refused() -> None:
    with pytest.raises(UserError, match="no attention weights"):
        Looked("a", "b", {})
