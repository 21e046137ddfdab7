"""What each token of Python's own source is for, against statements worked by hand and against `ast`."""

import ast
import sys
from collections import Counter
from pathlib import Path

import pytest

from seqwright.data.python_tokens import PythonTokens, PythonTokensSettings, statements
from seqwright.data.tagged import TaggedData
from seqwright.inputs.word_splits import cut_as_code


def tagged(text: str) -> str:
    """`word/tag word/tag …`, a statement a line."""
    lines = (zip(words, tags, strict=True) for words, tags, _ in statements(text))
    return "\n".join(" ".join(f"{word}/{tag}" for word, tag in line if tag != "operator") for line in lines)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "def f(a, *b, c=d, **e): pass",
            "def/keyword f/function a/parameter b/parameter c/parameter d/name e/parameter pass/keyword",
        ),
        ("class A(B): pass", "class/keyword A/class B/name pass/keyword"),
        ("x = f(y, z=x)", "x/assigned f/called y/name z/argument x/name"),
        ("a.b.c(d).e = 1.5", "a/name b/attribute c/method d/name e/attribute 1.5/number"),
        ("a, (b, c) = d", "a/assigned b/assigned c/assigned d/name"),
        ("for i in range(3): x += i", "for/keyword i/assigned in/keyword range/called 3/number x/assigned i/name"),
        ("import a.b as c, d", "import/keyword a/module b/module as/keyword c/assigned d/module"),
        (
            "from ..a.b import c as d, e",
            "from/keyword a/module b/module import/keyword c/imported as/keyword d/assigned e/imported",
        ),
        ("with f() as g: h", "with/keyword f/called as/keyword g/assigned h/name"),
        (
            "try: pass\nexcept E as e: raise",
            "try/keyword pass/keyword\nexcept/keyword E/name as/keyword e/assigned raise/keyword",
        ),
        (
            "f = lambda x: x if x else None",
            "f/assigned lambda/keyword x/parameter x/name if/keyword x/name else/keyword None/keyword",
        ),
        (
            "match = x\nmatch x:\n    case y: pass",
            "match/assigned x/name\nmatch/keyword x/name\ncase/keyword y/assigned pass/keyword",
        ),
        ("'''doc'''\nx = 'a b' 'c' # remark", 'x/assigned "…"/string "…"/string'),
        ("x = f'{y!r} {f\"{z}\"}' + w", 'x/assigned "…"/string w/name'),
        ("größe = {'ä': é.ö}", 'größe/assigned "…"/string é/name ö/attribute'),
        ("f(\n  a,\n  # b\n  c.d(),\n)", "f/called a/name c/name d/method"),
        (
            "@a.b\n@c(1)\nasync def g(): await h",
            "a/name b/attribute\nc/called 1/number\nasync/keyword def/keyword g/function await/keyword h/name",
        ),
    ],
)
def test_what_a_name_is_for(text: str, wanted: str) -> None:
    assert tagged(text + "\n") == wanted


def test_every_operator_is_one() -> None:
    words, tags, _ = next(statements("a ** b // c != d\n"))
    assert (words[1::2], tags[1::2]) == (("**", "//", "!="), ("operator",) * 3)


@pytest.fixture(scope="module")
def real() -> TaggedData:
    return PythonTokens(PythonTokensSettings(megabytes=0.4, valid="30%", test="30%"))


def test_the_real_library_has_every_tag_and_no_module_in_two_parts(real: TaggedData) -> None:
    assert len({tag for sentence in real.examples("train") for tag in sentence.tags}) == 15
    assert real.parts() == ["train", "valid", "test"]
    assert real.paths() == []
    assert len({real.fingerprint(part) for part in real.parts()}) == 3


def test_it_finds_as_many_of_each_as_the_tree_has() -> None:
    text = Path(ast.__file__).read_text(encoding="utf-8")
    found = Counter(tag for sentence in statements(text) for tag in sentence.tags)
    tree = ast.parse(text)
    strings = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    in_strings = {id(node) for string in strings for node in ast.walk(string)}  # which are tokens as a whole
    count = Counter(type(node) for node in ast.walk(tree) if id(node) not in in_strings)
    assert found["function"] == count[ast.FunctionDef] > 50
    assert found["class"] == count[ast.ClassDef] > 10
    assert found["parameter"] == count[ast.arg] > 50
    assert found["attribute"] + found["method"] == count[ast.Attribute] > 50


def test_typed_code_is_cut_like_the_source(real: TaggedData) -> None:
    """A statement whose tokens are written with spaces between them is cut into the same tokens."""
    sentences = [sentence.words for sentence in real.examples("valid")]
    assert len(sentences) > 100
    for words in sentences:
        assert cut_as_code(" ".join(words)) == list(words)


def test_the_fingerprint_follows_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = PythonTokensSettings(megabytes=0.4, valid="30%", test="30%")
    before = PythonTokens(settings).fingerprint("train")
    monkeypatch.setattr(sys, "version_info", (9, 9, 9))
    assert PythonTokens(settings).fingerprint("train") != before
