"""What the card of a folder of ONNX graphs may name: files of that folder, each with its sha256."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fuzz_files import CARD_OF_GRAPHS, GRAPHS, write_files
from seqwright.errors import DataError
from seqwright.interchange.onnx import CARD, read_onnx

SUM = "0" * 64


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"graphs": {"encoder": 5}}, "names 5 and has no sha256 of it"),
        ({"graphs": {"encoder": {}}}, "names None and has no sha256 of it"),
        ({"graphs": {"encoder": {"file": 7}}}, "names 7 and has no sha256 of it"),
        ({"graphs": {"encoder": {"file": ["x"]}}}, r"names \['x'\] and has no sha256 of it"),
        ({"graphs": {"encoder": {"file": "/etc/passwd"}}}, "names '/etc/passwd' and has no sha256 of it"),
        ({"files": {}}, "names 'encoder.onnx' and has no sha256 of it"),
        ({"tokenizer": "other.json"}, "names 'other.json' and has no sha256 of it"),
        ({"files": {"../outside": SUM}}, r"names '\.\./outside', which is no file of that folder"),
        ({"files": {"/etc/hostname": SUM}}, "names '/etc/hostname', which is no file of that folder"),
        ({"files": {"a\0b": SUM}}, "which is no file of that folder"),
        ({"files": {"a" * 5000: SUM}}, "which is no file of that folder"),
        ({"files": {"none.onnx": SUM}}, "none.onnx is missing, which"),
    ],
)
def test_a_card_that_names_anything_else_is_refused(changes: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    card = json.loads(CARD_OF_GRAPHS)
    files = {**card["files"], **changes["files"]} if changes.get("files") else changes.get("files", card["files"])
    write_files({**GRAPHS, CARD: json.dumps(card | changes | {"files": files}).encode()}, tmp_path)
    with pytest.raises(DataError, match=sentence):
        read_onnx(tmp_path)
