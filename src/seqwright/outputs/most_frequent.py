"""The baseline of tags: what a word mostly is."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from seqwright.data.tagged import TaggedSentence


class MostFrequentTag:
    """The most frequent tag of each word, whatever stands around it; between equals the alphabet decides.

    A new word is taken for what words that training has once mostly are: those are the ones most like it.
    """

    def __init__(self, sentences: Iterable[TaggedSentence]) -> None:
        seen: dict[str, Counter[str]] = defaultdict(Counter)
        for sentence in sentences:
            for word, tag in zip(sentence.words, sentence.tags, strict=True):
                seen[word][tag] += 1
        self.tags = {word: _most(counts) for word, counts in seen.items()}
        once = Counter(self.tags[word] for word, counts in seen.items() if counts.total() == 1)
        self.new = _most(once or sum(seen.values(), Counter()))

    def __call__(self, words: Sequence[str]) -> list[str]:
        """The tags of a sentence."""
        return [self.tags.get(word, self.new) for word in words]


def _most(counts: Counter[str]) -> str:
    return min(counts, key=lambda tag: (-counts[tag], tag))
