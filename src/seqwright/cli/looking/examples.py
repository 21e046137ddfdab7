"""What `look` is given, as examples: texts of the command line, the lines of a file."""

from collections.abc import Sequence
from typing import Any

from seqwright.analysis.reading import foretells
from seqwright.errors import SettingError
from seqwright.runs import Run


def example_of(run: Run, texts: Sequence[str]) -> Any:
    """One example of so many texts as the run reads together; two may stand in one with a tab between them."""
    reads = run.inputs.reads_tokens
    apart = texts[0].split("\t") if len(texts) == 1 and 1 not in reads.texts else texts
    if len(apart) not in reads.texts:
        number = "one text at a time" if 1 in reads.texts else "two texts at a time"
        told = "give one, in quotes" if 1 in reads.texts else "give two"
        raise SettingError(f"{run.folder} reads {number}, and there are {len(apart)}; {told}")
    return apart[0] if len(apart) == 1 else dict(zip(reads.fields, apart, strict=True))


def examples_of(run: Run, found: Sequence[str]) -> list[Any]:
    """Every example: two texts that were given where the run reads pairs, in a line of a file a tab apart."""
    if 1 not in run.inputs.reads_tokens.texts and len(found) == 2 and "\t" not in "".join(found):
        return [example_of(run, found)]
    return [example_of(run, [text]) for text in documents(run, found)]


def documents(run: Run, found: Sequence[str]) -> list[str]:
    """The lines as the model reads them: as one text where it learnt from running text, otherwise each by itself."""
    if foretells(run) and run.input.joins:
        return ["\n".join(found)] if found else []
    return [text for text in found if text.strip()]
