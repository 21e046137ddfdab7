import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from seqwright.pictures import Array
from seqwright.pictures.attention import AttentionMap, HeadChoice, Looked
from seqwright.pictures.page import FOLDER, attention_page

SCRIPT = (FOLDER / "page.js").read_text(encoding="utf-8")
STYLE = (FOLDER / "page.css").read_text(encoding="utf-8")

EVIL = [
    "<script>alert(1)</script>",
    "</script>",
    "<!--",
    "]]>",
    "\"'&amp;",
    "@@DATA@@",
    "\u2028",
    "<img src=x onerror=alert(1)>",
]


def softmax(*shape: int) -> Array:
    grown = np.exp(np.random.default_rng(0).normal(size=shape))
    result: Array = grown / grown.sum(axis=-1, keepdims=True)
    return result


def looked(source: list[str], target: list[str], title: str = "") -> Looked:
    maps = {
        "cross": AttentionMap(softmax(2, 3, len(target), len(source)), target, source),
        "encoder": AttentionMap(softmax(2, 5, len(source), len(source)), source, source),
    }
    return Looked(" ".join(source), " ".join(target), maps, title=title)


class Reader(HTMLParser):
    """What a browser sees: the elements, their attributes, and the text inside each kind of element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        self.inside.setdefault(self.open[-1] if self.open else "", []).append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def data_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert found
    return json.loads(found[1])


def test_words_of_the_user_never_become_elements() -> None:
    honest = Reader(attention_page(looked(["a"] * 8, ["b"] * 8)))
    attacked = Reader(attention_page(looked(EVIL, EVIL[::-1], title="</title><script>alert(1)</script>")))
    assert [name for name, _ in attacked.elements] == [name for name, _ in honest.elements]
    assert attacked.count("script") == 2
    assert attacked.open == []
    assert attacked.inside["title"] == ["</title><script>alert(1)</script>"]


def test_words_of_the_user_arrive_unchanged() -> None:
    packed = data_of(attention_page(looked(EVIL, ["ü", "東京", "\ud800"])))
    assert packed["cross"]["columns"] == EVIL
    assert packed["cross"]["rows"] == ["ü", "東京", "\ud800"]


def test_the_sentence_stands_there_as_it_was_given() -> None:
    maps = {"encoder": AttentionMap(softmax(1, 1, 3, 3), ["May", "5", "</s>"], ["May", "5", "</s>"])}
    reader = Reader(attention_page(Looked("May  5,", "5. Mai", maps)))
    assert reader.inside["dd"] == ["May  5,", "5. Mai"]


def test_what_stands_along_the_axes_arrives() -> None:
    kind = AttentionMap(softmax(1, 1, 2, 3), ["a", "b"], ["c", "d", "e"], "word being written", "source word")
    packed = data_of(attention_page(Looked("c d e", "a b", {"cross-attention": kind})))
    assert packed["cross-attention"]["axes"] == {"rows": "word being written", "columns": "source word"}
    assert packed["cross-attention"]["caption"] == "Cross-attention"


def test_the_data_cannot_end_its_element() -> None:
    text = attention_page(looked(EVIL, EVIL))
    inside = text.split('id="data">')[1].split("</script>")[0]
    assert not set("<>&") & set(inside)
    assert inside.endswith("}}")


def test_the_weights_arrive_to_the_thousandth() -> None:
    given = looked(["a"] * 7, ["b"] * 5)
    packed = data_of(attention_page(given))
    assert list(packed) == ["cross", "encoder"]
    for name, kind in given.maps.items():
        assert (packed[name]["layers"], packed[name]["heads"]) == kind.weights.shape[:2]
        arrived = np.array(packed[name]["weights"]).reshape(kind.weights.shape) / 1000
        np.testing.assert_allclose(arrived, kind.weights, atol=0.0005001)


def test_the_page_opens_at_the_chosen_layer_and_head() -> None:
    given = looked(["a"], ["b"])
    choices = {
        HeadChoice(): {},
        HeadChoice(2): {"data-layer": "1"},
        HeadChoice(2, 3): {"data-layer": "1", "data-head": "2"},
    }
    for choice, expected in choices.items():
        (main,) = [attributes for tag, attributes in Reader(attention_page(given, choice)).elements if tag == "main"]
        assert {name: value for name, value in main.items() if name.startswith("data")} == expected


def test_every_head_has_a_colour_of_its_own() -> None:
    packed = data_of(attention_page(looked(["a"], ["b"])))
    assert [len(set(kind["colours"])) for kind in packed.values()] == [3, 5]


def test_the_page_asks_the_network_for_nothing() -> None:
    text = attention_page(looked(["a"], ["b"]))
    assert not re.search(r"https?:|//[a-z]|@import|url\(|fetch\(|XMLHttpRequest|import\(", text)
    reader = Reader(text)
    assert not [attributes for _, attributes in reader.elements if {"src", "href"} & set(attributes)]
    assert "default-src 'none'" in text


def test_the_script_finds_every_element_it_names() -> None:
    named = set(re.findall(r'at\("([a-z-]+)"\)', SCRIPT)) | {"rows", "columns"}
    assert {"layer", "head", "lines"} <= named
    reader = Reader(attention_page(looked(["a"], ["b"])))
    assert named <= {attributes.get("id") for _, attributes in reader.elements}


def test_the_script_writes_text_only_as_text() -> None:
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", SCRIPT)


def test_light_and_dark_are_both_dressed() -> None:
    names = [set(re.findall(r"(--[a-z-]+):", part)) for part in STYLE.split("@media (prefers-color-scheme: dark)")]
    used = set(re.findall(r"var\((--[a-z-]+)\)", STYLE))
    assert used <= names[0]
    assert names[1] >= used


@pytest.mark.parametrize(("target", "score", "expected"), [("b", -1.5, True), ("b", None, False), ("", -1.5, False)])
def test_the_score_stands_beside_an_output(target: str, score: float | None, expected: bool) -> None:
    maps = {"encoder": AttentionMap(softmax(1, 1, 2, 2), ["a", "b"], ["a", "b"])}
    text = attention_page(Looked("a b", target, maps, score=score))
    assert ("-1.5" in text) == expected
    assert ("<dt>Output</dt>" in text) == bool(target)


def test_the_same_sentence_makes_the_same_page() -> None:
    assert attention_page(looked(["a"], ["b"])) == attention_page(looked(["a"], ["b"]))
