"""`look` at a text while it is read: the lens, surprisal, and one word's vectors.

L layers · N places where a word stands
"""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from rich.console import Console

from seqwright.analysis.lens import lens_of
from seqwright.analysis.reading import foretells, tell_unknown
from seqwright.analysis.vectors import Occurrence, WordVectors, cosines_of
from seqwright.cli.asking import print_line
from seqwright.cli.looking.examples import documents, example_of
from seqwright.cli.opening import refuse_overlong
from seqwright.cli.scoring import surprisal_line
from seqwright.cli.terminal import command, draw_with_page, json_text, print_table, say, say_drawn, shown
from seqwright.errors import RunError
from seqwright.pictures import Array, save
from seqwright.pictures.lens import Lens, lens_lines, lens_table
from seqwright.pictures.lens_page import lens_page
from seqwright.pictures.similarities import WordInContext, similarity_picture
from seqwright.pictures.surprisal import surprisal_page, surprisal_picture
from seqwright.runs import Run

LENS_TOKENS = 32  # in the picture and in the terminal
SURPRISAL_TOKENS = 300  # in the picture
PLACES = 12  # of a word in one picture


def draw_lens(run: Run, texts: Sequence[str], where: Path, *, as_json: bool) -> None:
    """Draw what every layer would say at every token, and print it, or all as JSON."""
    lens = lens_of(run, example_of(run, texts), say)
    text = " · ".join(texts)
    title = f"{run.folder.name}: what each layer would say if it were the last"
    few = lens.first(LENS_TOKENS)
    draw_with_page(lens_table(few, title=f"{title}\n{text}"), lens_page(lens, title=title, text=text), where / "lens")
    if len(few.input) < len(lens.input):
        say(f"the picture shows the first {LENS_TOKENS} of {len(lens.input):,} tokens, the page all")
    if as_json:
        for place in range(len(lens.input)):
            print(json_text(_lens_fields(lens, place)))
    else:
        console = Console()
        console.print(lens_lines(few, width=console.width, colour=console.is_terminal))
        if not console.is_terminal:
            right = "; * where it is right" if lens.target else ""
            print(f"the digit behind a token is its probability in tenths, cut off{right}")
    say(f"pictures: {shown(where)}/  (open lens.html in a browser)")


def _lens_fields(lens: Lens, place: int) -> dict[str, object]:
    """A token with what every layer says there."""
    layers = [
        {"layer": number, "says": [{"token": token, "probability": round(p, 4)} for token, p in row[place].likeliest]}
        for number, row in enumerate(lens.predictions, start=1)
    ]
    next_token = {"next": lens.target[place]} if lens.target and lens.target[place] else {}
    return {"token": lens.input[place], **next_token, "layers": layers}


def draw_surprisal(run: Run, found: Sequence[str], where: Path) -> None:
    """Draw a text in shades of red with a bar for each token, and print it in the same colours."""
    if not foretells(run):
        raise RunError(f"{run.folder} learnt {run.recipe.task}; surprisal needs a language model")
    texts = documents(run, found)
    if len(texts) > 1:
        say(f"{run.folder} reads each line by itself; the first of {len(texts):,} is looked at")
    tell_unknown(run, run.input.parts(texts[0]), say)
    (surprise,) = run.inputs.predict(run.model, texts[:1], method="surprises")
    names = {number: name for name, number in run.inputs.tokenizer.special.items()}
    pieces, bits = [*surprise.pieces[:-1], names[run.inputs.tokenizer.end]], surprise.bits
    title = f"{run.folder.name}: {np.mean(bits):.2f} bits per token"
    if len(pieces) > SURPRISAL_TOKENS:
        say(f"the picture shows the first {SURPRISAL_TOKENS} of {len(pieces):,} tokens, the page all")
    figure = surprisal_picture(pieces[:SURPRISAL_TOKENS], bits[:SURPRISAL_TOKENS], title=title)
    draw_with_page(figure, surprisal_page(pieces, bits, title=title), where / "surprisal")
    console = Console(highlight=False, soft_wrap=True)
    print_line(surprisal_line(surprise, console), console)
    numbers = command("score", str(run.folder), "TEXT", "--json")
    say(f"pictures: {shown(where)}/  (open surprisal.html in a browser; `{numbers}` prints the numbers)")


def draw_word(run: Run, word: str, texts: Sequence[str], where: Path, *, as_json: bool) -> None:
    """Draw the cosines between all places of a word for its embedding and each layer, and print them."""
    texts = [text for text in texts if text.strip()]
    refuse_overlong(run, texts)
    found = WordVectors(run.model, run.inputs).compared(word, texts)
    if len(found) > PLACES:
        say(f"'{word}' stands at {len(found)} places; the first {PLACES} are compared")
        found = found[:PLACES]
    cosine_LNN = cosines_of(found)
    layers = ["embedding", *(f"layer {number}" for number in range(1, len(cosine_LNN)))]
    sentences = [_sentence(texts[each.text], each) for each in found]
    title = f"{word}: how alike its vectors are at {len(found)} places (cosine)\n{run.folder.name}"
    paths = save(similarity_picture(cosine_LNN, layers, sentences, title=title), where / "word")
    if as_json:
        for one, other in combinations(range(len(found)), 2):
            numbers = [round(float(cosine), 4) for cosine in cosine_LNN[:, one, other]]
            named = dict(zip(layers, numbers, strict=True))
            print(json_text({"word": word, "texts": [found[one].text + 1, found[other].text + 1], "cosine": named}))
    else:
        _print_cosines(cosine_LNN, layers, sentences)
    say_drawn(paths)


def _sentence(text: str, found: Occurrence) -> WordInContext:
    return WordInContext(text[: found.begin], text[found.begin : found.end], text[found.end :])


def _print_cosines(cosine_LNN: Array, layers: Sequence[str], sentences: Sequence[WordInContext]) -> None:
    """The places, and a line for each two of them; where there are many layers, some."""
    for number, sentence in enumerate(sentences, start=1):
        print(f"{number}  {sentence.before}[{sentence.word}]{sentence.after}")
    room = max(3, 1 + (Console().width - 19) // 9)
    some = np.unique(np.linspace(0, len(layers) - 1, min(room, len(layers))).round().astype(int)).tolist()
    rows = [
        (f"{one + 1} and {other + 1}", *(f"{cosine_LNN[place, one, other]:.3f}" for place in some))
        for one, other in combinations(range(len(sentences)), 2)
    ]
    print_table(("", *(layers[place] for place in some)), rows, numbers=True)
