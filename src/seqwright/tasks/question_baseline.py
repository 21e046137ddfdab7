"""What a model that answers questions has to beat: the sentence that shares most words with the question."""

import re

from seqwright.metrics.answers import normalised

# A sentence ends with its mark and the space behind it, or with the line.
_SENTENCE = re.compile(r".+?(?:[.!?。！？]+[\"')\]»”]*(?=\s|$)|(?=\n)|$)", re.DOTALL)


def likeliest_sentence(question: str, context: str) -> str:
    """The sentence of the context with most words of the question; among equals the first."""
    words = set(normalised(question).split())
    sentences: list[str] = [found.strip() for found in _SENTENCE.findall(context) if found.strip()] or [context.strip()]
    return max(sentences, key=lambda sentence: len(words & set(normalised(sentence).split())))
