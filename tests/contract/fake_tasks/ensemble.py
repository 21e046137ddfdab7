"""Members that read the same texts each in a way of its own, and predict together: an ensemble over text × label."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from torch import nn

from seqwright.inputs import Examples, Input
from tests.contract.fake_tasks.labels import Label
from tests.contract.fake_tasks.parts import Example, Nested, Words


class Letters(Words):
    """Another way to read the same texts."""

    @staticmethod
    def split(text: str) -> list[str]:
        return list(text)


class Member(NamedTuple):
    """A run of an ensemble."""

    input: Input[Example, Any]
    model: nn.Module


def ensemble(members: Sequence[Member], output: Label, examples: Examples[Example]) -> Iterator[Nested]:
    """Each member encodes for itself; what they predict of an example is combined."""
    each = [
        output.predict(model, output.batches(input.encode(examples), None, input, tokens=24), examples, None)
        for input, model in members
    ]
    return (output.combined(predictions) for predictions in zip(*each, strict=True))
