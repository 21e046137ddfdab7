"""Input and output of pairs in memory, and what a model writes to some texts."""

from collections.abc import Iterable, Sequence
from typing import Any

from seqwright.data.examples import Pair
from seqwright.decoding.settings import DecodingSettings
from seqwright.inputs import Given
from seqwright.inputs.source_text import SourceTextInput, SourceTextSettings
from seqwright.outputs.text import TextOutput
from seqwright.outputs.text_search import TextCandidate
from seqwright.tasks.wired import Wires


def wires_of(pairs: Iterable[Sequence[str]], **settings: Any) -> Wires:
    """Learnt from (source, target) pairs."""
    examples = [Pair(pair[0], pair[1]) for pair in pairs]
    return Wires.learn(SourceTextInput, TextOutput, examples, SourceTextSettings(**settings))


def written(model: Any, wires: Any, texts: list[str], **decoding: Any) -> list[tuple[TextCandidate, ...]]:
    """The candidates for each text; none for a blank one."""
    examples = Given(map(wires.input.parse, texts))
    return [found.candidates for found in wires.predictions(model, examples, DecodingSettings(**decoding))]
