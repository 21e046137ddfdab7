"""Python's own source as tagged text: each token of the standard library, and what it is for. Nothing is downloaded.

A sentence is a statement. What a name is for, `ast` says; to say it without a grammar needs what stands before it
(`def f(here`), behind it (`here, x = y`) and farther off (`f(x, here=1)`): no table of words knows it.
"""

import ast
import hashlib
import io
import keyword
import token
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from seqwright.data.embedded_text import EmbeddedTextSettings, PythonSource, PythonSourceSettings
from seqwright.data.examples import PartName
from seqwright.data.generated import WithoutFiles
from seqwright.data.tagged import TaggedSentence

STRING = '"…"'  # what stands for every string: what is in it plays no part
LAYOUT = frozenset({token.NL, token.INDENT, token.DEDENT, token.COMMENT, token.ENDMARKER})
AFTER = {"def": "function", "class": "class", "as": "assigned", "from": "module"}
FORMAT = 1  # of the tags: changes with what they mean
Place = tuple[int, int]  # the line and the byte in it where a token begins, as `ast` counts


class PythonTokensSettings(EmbeddedTextSettings):
    """The source of Python's standard library, each token with what it is for."""

    card: Literal["python-tokens"] = "python-tokens"
    valid: str = "10%"
    """The share of the modules that is the validation part."""
    test: str = "10%"
    """The share of the modules that is the test part."""
    megabytes: float = Field(default=2, gt=0)
    """About how much of it: a sample of whole modules. There are about 10 MB."""


class PythonTokens(WithoutFiles):
    """The statements of the standard library's modules, but for those that are only a string (a `TaggedData`).

    Tags of names: `keyword`, `function` and `class` where they are defined, `parameter`, `argument` (the name in
    `f(name=1)`), `called`, `method` (called after a dot), `attribute`, `assigned`, `module`, `imported`, and `name` for
    what is only read. The others are `operator`, `number` and `string`.
    """

    def __init__(self, settings: PythonTokensSettings, folder: Path | None = None) -> None:
        self.source = PythonSource(PythonSourceSettings(**settings.model_dump(exclude={"card"})), folder)
        self._read: dict[PartName, list[TaggedSentence]] = {}

    def parts(self) -> list[PartName]:
        """Always train, valid and test."""
        return self.source.parts()

    def examples(self, part: PartName) -> Iterator[TaggedSentence]:
        """The statements of the modules of a part; what was read once is kept, since parsing takes seconds."""
        if part not in self._read:
            self._read[part] = [sentence for text in self.source.examples(part) for sentence in statements(text)]
        return iter(self._read[part])

    def fingerprint(self, part: PartName) -> str:
        """A sha256 of the version of Python, of the modules and of the form of the tags."""
        return hashlib.sha256(f"{FORMAT} {self.source.fingerprint(part)}".encode()).hexdigest()


def statements(text: str) -> Iterator[TaggedSentence]:
    """The statements of a module."""
    uses = _uses(ast.parse(text))
    words: list[str] = []
    tags: list[str] = []
    inside = 0  # how many f-strings are open, one in another: from Python 3.12 on they come in pieces
    for kind, word, (line, column), _, source in tokenize.generate_tokens(io.StringIO(text).readline):
        name = token.tok_name[kind]
        inside -= name.endswith("STRING_END")
        if kind == token.NEWLINE:
            if words and (words, tags) != ([STRING], ["string"]):
                yield TaggedSentence(tuple(words), tuple(tags))
            words, tags = [], []
        elif kind not in LAYOUT and not inside and not name.endswith("STRING_END"):
            place = line, len(source[:column].encode())
            tag = _use(word, words[-1] if words else "", uses.get(place)) if kind == token.NAME else _kind(name)
            words.append(STRING if tag == "string" else word)
            tags.append(tag)
        inside += name.endswith("STRING_START")


def _kind(name: str) -> str:
    """The tag of what is no name."""
    return "operator" if name == "OP" else "number" if name == "NUMBER" else "string"


def _use(word: str, before: str, known: str | None) -> str:
    """The tag of a name, `known` if the tree has it as a thing of its own."""
    if keyword.iskeyword(word):
        return "keyword"
    if known is not None:
        return known
    if word in keyword.softkwlist:
        return "keyword"
    # In the tree the name after a dot is part of an attribute, unless a module is imported.
    return "module" if before.endswith(".") else AFTER.get(before, "name")


def _uses(tree: ast.AST) -> dict[Place, str]:
    """What the names of a module are for, by their places."""
    uses: dict[Place, str] = {}
    for node in ast.walk(tree):  # a call comes before what is called, which then is known already
        match node:
            case ast.Call(func=ast.Name() as name):
                uses[name.lineno, name.col_offset] = "called"
            case ast.Call(func=ast.Attribute() as name):
                uses[_after_the_dot(name)] = "method"
            case ast.Attribute():
                uses.setdefault(_after_the_dot(node), "attribute")
            case ast.Name(ctx=ast.Load()):
                uses.setdefault((node.lineno, node.col_offset), "name")
            case ast.Name() | ast.MatchAs(pattern=None, name=str()):
                uses[node.lineno, node.col_offset] = "assigned"
            case ast.arg():
                uses[node.lineno, node.col_offset] = "parameter"
            case ast.keyword(arg=str()):
                uses[node.lineno, node.col_offset] = "argument"
            case ast.Import(names=aliases):
                uses |= {(alias.lineno, alias.col_offset): "module" for alias in aliases}
            case ast.ImportFrom(names=aliases):
                uses |= {(alias.lineno, alias.col_offset): "imported" for alias in aliases}
    return uses


def _after_the_dot(node: ast.Attribute) -> Place:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset - len(node.attr.encode())
