"""Input and output of pairs in memory, and what a model writes to some texts."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from seqwright.data.examples import Pair
from seqwright.decoding.settings import DecodingSettings
from seqwright.inputs import Given
from seqwright.inputs.source_text import SourceTextInput, SourceTextSettings
from seqwright.outputs.text import TextOutput, TextOutputSettings
from seqwright.outputs.text_search import TextCandidate
from seqwright.tasks.wired import Wires


def wires_of(
    pairs: Iterable[Sequence[str]], *, output: Mapping[str, Any] = MappingProxyType({}), **settings: Any
) -> Wires:
    """Learnt from (source, target) pairs."""
    examples, said = [Pair(pair[0], pair[1]) for pair in pairs], TextOutputSettings(**output)
    return Wires.learn(SourceTextInput, TextOutput, examples, SourceTextSettings(**settings), said)


def written(model: Any, wires: Any, texts: list[str], **decoding: Any) -> list[tuple[TextCandidate, ...]]:
    """The candidates for each text; none for a blank one."""
    examples = Given(map(wires.input.parse, texts))
    return [found.candidates for found in wires.predictions(model, examples, DecodingSettings(**decoding))]
