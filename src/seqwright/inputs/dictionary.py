"""A dictionary of single words, learnt from alignments, in the folder of a run's output: `dictionary.tsv`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from seqwright.errors import RunError
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.inputs.vocabularies import SPACE
from seqwright.whole_file import write_whole

NAME = "dictionary.tsv"
Dictionary = Mapping[str, str]


def spelled(tokenizer: Tokenizer, word: str) -> str:
    """A word as the vocabulary would spell it: in small letters where that has no others."""
    return "".join(tokenizer.units(word)).replace(SPACE, " ").strip()


def learnt_dictionary(together: Mapping[str, Counter[str]]) -> Iterator[tuple[str, str, int]]:
    """Each source word, the target word that it was aligned with most often, and how often that was.

    Source words come in alphabetical order; among equals the first of the alphabet is taken.
    """
    for source in sorted(together):
        target, count = min(together[source].items(), key=lambda item: (-item[1], item[0]))
        yield source, target, count


def save_dictionary(entries: Iterable[tuple[str, str, int]], folder: Path) -> Path:
    """Write it into a folder, whole or not at all."""
    path = folder / NAME
    write_whole(path, "".join(f"{source}\t{target}\t{count}\n" for source, target, count in entries))
    return path


def load_dictionary(folder: Path) -> Dictionary | None:
    """The translation of each word, where the run has learnt a dictionary."""
    path = folder / NAME
    if not path.is_file():
        return None
    try:
        lines = path.read_bytes().decode().split("\n")
    except UnicodeDecodeError as error:
        raise RunError(
            f"{path} is not UTF-8 (0x{error.object[error.start]:02x} at byte {error.start + 1}): convert it, or learn "
            "the dictionary again with `seqwright align RUN`"
        ) from error
    entries: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        words = line.split("\t")
        if len(words) not in {2, 3} or not all(words):
            raise RunError(
                f"{path}:{number}: expected a source word, a tab and a target word, then perhaps a tab and how often; "
                "correct the line or learn the dictionary again with `seqwright align RUN`"
            )
        entries.setdefault(words[0], words[1])
    return entries
