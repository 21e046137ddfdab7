"""Texts that a user types: remarks and rows share their tokens."""

from typing import Any

import numpy as np
import pytest

from seqwright.inputs import Given
from tests.small_texts import wires_of
from tests.wires import text_input


@pytest.mark.parametrize("input", [text_input(["a b c"]), wires_of([("a b", "c")]).input], ids=["text", "source"])
def test_a_typed_text_is_tokenised_once_for_remarks_and_rows(input: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenised: list[str] = []
    kind: Any = type(input.tokenizer)
    encode = kind.encode

    def counted(self: Any, texts: Any) -> Any:
        tokenised.extend(texts)
        return encode(self, texts)

    monkeypatch.setattr(kind, "encode", counted)
    examples = Given([input.parse("a b"), input.parse("c")])
    assert input.remarks(examples) == []
    assert len(input.encode(examples).take(np.arange(2), None)) == 2
    assert tokenised == ["a b", "c"]
