"""What a tagger has to beat: the tag that a word mostly has, whatever stands around it."""

from collections import Counter
from collections.abc import Iterable, Sequence


class TagBaseline:
    """The most frequent tag of each word; between equals the alphabet decides.

    A new word is taken for what words that training has once mostly are: those are the ones most like it.
    """

    def __init__(self, sentences: Iterable[tuple[Sequence[str], Sequence[str]]]) -> None:
        seen: dict[str, Counter[str]] = {}
        for words, tags in sentences:
            for word, tag in zip(words, tags, strict=True):
                seen.setdefault(word, Counter())[tag] += 1
        self.tags = {word: _most(counts) for word, counts in seen.items()}
        once = Counter(self.tags[word] for word, counts in seen.items() if counts.total() == 1)
        self.new = _most(once or sum(seen.values(), Counter()))

    def __call__(self, words: Sequence[str]) -> list[str]:
        """The tags of a sentence."""
        return [self.tags.get(word, self.new) for word in words]


def _most(counts: Counter[str]) -> str:
    return min(counts, key=lambda tag: (-counts[tag], tag))
