"""Every sentence of an error follows `seqwright VERB: `, so that it begins small and has no full stop at its end."""

import ast
from collections.abc import Iterator
from pathlib import Path

import seqwright
from seqwright import errors

PACKAGE = Path(seqwright.__file__).parent
KINDS = {name for name, thing in vars(errors).items() if isinstance(thing, type) and issubclass(thing, Exception)}
NAMES = ("BLEU", "BPE-dropout", "CTranslate2", "TensorBoard", "ARPA", "ONNX")  # what is written with a capital anywhere


def sentences() -> Iterator[tuple[str, str, str]]:
    """Where an error is made, and the beginning and the end of what it says, as far as they are written there."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS and node.args:
                said = node.args[0]
                pieces = said.values if isinstance(said, ast.JoinedStr) else [said]
                first, last = (
                    str(piece.value) if isinstance(piece, ast.Constant) else "" for piece in (pieces[0], pieces[-1])
                )
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", first, last


def test_sentences_begin_small_and_end_without_a_full_stop() -> None:
    found = list(sentences())
    assert len(found) > 200
    assert [where for where, first, _ in found if first[:1].isupper() and not first.startswith(NAMES)] == []
    assert [where for where, _, last in found if last.endswith(".")] == []
