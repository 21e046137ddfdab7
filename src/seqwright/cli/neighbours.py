"""`neighbours`: the tokens whose vectors are nearest to a word's, one word's vectors in several texts; or images."""

from itertools import combinations
from pathlib import Path
from typing import Any

from seqwright.analysis.reading import reads_text
from seqwright.analysis.vectors import Neighbour, Word, WordVectors, similarity
from seqwright.cli.alike import show_alike
from seqwright.cli.opening import opened_run, refuse_overlong
from seqwright.cli.terminal import json_text, print_table, say
from seqwright.cli.using_any import NeighbourOptions
from seqwright.errors import SettingError


def show_neighbours(folder: Path, words: list[str], options: NeighbourOptions) -> None:
    """Print what is nearest to each word, or to what an analogy asks for; or compare a word's places in texts."""
    top, texts, as_json = options.top, options.texts or [], options.json
    if top < 1:
        raise SettingError(f"--top is {top}; ask for one neighbour or more")
    if options.analogy and (len(words) != 3 or texts):
        raise SettingError("--analogy takes three words and no --in, as in --analogy king man woman")
    run = opened_run(folder, options.which)
    if not reads_text(run):
        show_alike(run, words, options)
        return
    if options.data is not None or options.picture is not None:
        raise SettingError("--data and --picture are for runs that read images; leave them out")
    vectors = WordVectors(run.model, run.inputs, side=options.side)
    found = [vectors.word(word) for word in words]
    for word in found:
        if len(word.tokens) > 1:
            pieces = " ".join(vectors.spellings[token] for token in word.tokens)
            say(f"{word.text}: the mean of the vectors of {pieces}")
    if texts:
        refuse_overlong(run, texts)
        for word in found:
            _compare(vectors, word.text, texts, as_json=as_json)
    elif options.analogy:
        one, minus, plus = found
        vector_D = one.vector_D - minus.vector_D + plus.vector_D
        known = [token for word in found for token in word.tokens]
        asked = f"{one.text} − {minus.text} + {plus.text}"
        _print(vectors, Word(asked, known, vector_D), top, as_json=as_json)
    else:
        for word in found:
            _print(vectors, word, top, as_json=as_json)


def _print(vectors: WordVectors, word: Word, top: int, *, as_json: bool) -> None:
    """The nearest tokens that are no part of the word itself."""
    nearest = vectors.neighbours(word.vector_D, top=top, without=word.tokens)
    if as_json:
        tokens = [vectors.spellings[token] for token in word.tokens]
        print(json_text({"word": word.text, "tokens": tokens, "neighbours": _plain(nearest)}))
        return
    print_table((word.text, "cosine"), [(each.token, f"{each.cosine:.4f}") for each in nearest])


def _compare(vectors: WordVectors, word: str, texts: list[str], *, as_json: bool) -> None:
    """The cosine between a word's vectors at every two of its places: of the last layer, and of embeddings."""
    found = vectors.compared(word, texts)
    rows = []
    for one, other in combinations(found, 2):
        contextual = similarity(one.contextual_D, other.contextual_D)
        embedding = similarity(one.embedding_D, other.embedding_D)
        if as_json:
            cosines = {"contextual": round(contextual, 6), "embedding": round(embedding, 6)}
            print(json_text({"word": word, "texts": [one.text + 1, other.text + 1], **cosines}))
        else:
            rows.append((f"{one.text + 1} and {other.text + 1}", f"{contextual:.4f}", f"{embedding:.4f}"))
    if not as_json:
        for number, text in enumerate(texts, start=1):
            print(f"{number}  {text}")
        print_table((word, "contextual", "embedding"), rows)


def _plain(nearest: list[Neighbour]) -> list[dict[str, Any]]:
    return [{"token": neighbour.token, "cosine": round(neighbour.cosine, 6)} for neighbour in nearest]
