"""`look --lens`: what each layer of a model would say if it were the last (nostalgebraist 2020)."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from seqwright.analysis.lens import lens_of
from seqwright.cli.terminal import draw_with_page, json_text, say, shown
from seqwright.pictures.lens import Lens, lens_lines, lens_table
from seqwright.pictures.lens_page import lens_page
from seqwright.runs import Run

DRAWN = 32  # tokens in the picture and in the terminal


def draw_lens(run: Run, texts: Sequence[str], where: Path, *, as_json: bool) -> None:
    """Draw what every layer would say at every token, and print it, or all as JSON."""
    lens = lens_of(run, texts, say)
    text = " · ".join(texts)
    title = f"{run.folder.name}: what each layer would say if it were the last"
    few = lens.first(DRAWN)
    draw_with_page(lens_table(few, title=f"{title}\n{text}"), lens_page(lens, title=title, text=text), where / "lens")
    if len(few.input) < len(lens.input):
        say(f"the picture shows the first {DRAWN} of {len(lens.input):,} tokens, the page all")
    if as_json:
        for place in range(len(lens.input)):
            print(json_text(_fields(lens, place)))
    else:
        console = Console()
        console.print(lens_lines(few, width=console.width, colour=console.is_terminal))
        if not console.is_terminal:
            right = "; * where it is right" if lens.target else ""
            print(f"the digit behind a token is its probability in tenths, cut off{right}")
    say(f"pictures: {shown(where)}/  (open lens.html in a browser)")


def _fields(lens: Lens, place: int) -> dict[str, object]:
    """A token with what every layer says there."""
    layers = [
        {"layer": number, "says": [{"token": token, "probability": round(p, 4)} for token, p in row[place].likeliest]}
        for number, row in enumerate(lens.predictions, start=1)
    ]
    next_token = {"next": lens.target[place]} if lens.target and lens.target[place] else {}
    return {"token": lens.input[place], **next_token, "layers": layers}
