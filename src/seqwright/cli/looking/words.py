"""`look --word`: how alike the vectors of one word are in several texts, layer by layer.

L layers · N places where the word stands
"""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from seqwright.analysis.vectors import Occurrence, WordVectors, cosines_of
from seqwright.cli.opening import refuse_overlong
from seqwright.cli.terminal import add_row, json_text, say, say_drawn
from seqwright.errors import DataError
from seqwright.pictures import Array, save
from seqwright.pictures.similarities import WordInContext, similarity_picture
from seqwright.runs import Run

MOST = 12  # places of a word in one picture
EMBEDDING = "embedding"


def draw_word(run: Run, word: str, texts: Sequence[str], where: Path, *, as_json: bool) -> None:
    """Draw the cosines between all places of a word for its embedding and each layer, and print them."""
    texts = [text for text in texts if text.strip()]
    refuse_overlong(run, texts)
    found = WordVectors(run.model, run.inputs).occurrences(word, texts)
    if len(found) < 2:
        times = "once" if found else "nowhere"
        raise DataError(f"'{word}' stands {times} in the texts; give texts that have it in two places or more")
    if len(found) > MOST:
        say(f"'{word}' stands at {len(found)} places; the first {MOST} are compared")
        found = found[:MOST]
    cosine_LNN = cosines_of(found)
    layers = [EMBEDDING, *(f"layer {number}" for number in range(1, len(cosine_LNN)))]
    sentences = [_sentence(texts[each.text], each) for each in found]
    title = f"{word}: how alike its vectors are at {len(found)} places (cosine)\n{run.folder.name}"
    paths = save(similarity_picture(cosine_LNN, layers, sentences, title=title), where / "word")
    if as_json:
        for one, other in combinations(range(len(found)), 2):
            numbers = [round(float(cosine), 4) for cosine in cosine_LNN[:, one, other]]
            named = dict(zip(layers, numbers, strict=True))
            print(json_text({"word": word, "texts": [found[one].text + 1, found[other].text + 1], "cosine": named}))
    else:
        _print(cosine_LNN, layers, sentences)
    say_drawn(paths)


def _sentence(text: str, found: Occurrence) -> WordInContext:
    return WordInContext(text[: found.begin], text[found.begin : found.end], text[found.end :])


def _print(cosine_LNN: Array, layers: Sequence[str], sentences: Sequence[WordInContext]) -> None:
    """The places, and a line for each two of them; where there are many layers, some."""
    for number, sentence in enumerate(sentences, start=1):
        print(f"{number}  {sentence.before}[{sentence.word}]{sentence.after}")
    console = Console()
    room = max(3, 1 + (console.width - 19) // 9)
    some = np.unique(np.linspace(0, len(layers) - 1, min(room, len(layers))).round().astype(int)).tolist()
    table = Table(box=None, pad_edge=False)
    for heading in ("", *(layers[place] for place in some)):
        table.add_column(heading, no_wrap=True)
    for one, other in combinations(range(len(sentences)), 2):
        numbers = [f"{cosine_LNN[place, one, other]:.3f}" for place in some]
        add_row(table, f"{one + 1} and {other + 1}", *numbers)
    console.print(table)
