"""`look --lens`: what each layer of a model would say if it were the last (nostalgebraist 2020).

L layers · B batch · T time · V vocabulary · D width
"""

import re
from collections.abc import Sequence
from pathlib import Path

import torch
from rich.console import Console
from torch import Tensor

from seqwright.cli.looking.rows import row_of
from seqwright.cli.terminal import json_text, say, shown
from seqwright.errors import RunError
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.inputs.vocabularies import SPACE
from seqwright.layers.embeddings import HasLens
from seqwright.pictures import save
from seqwright.pictures.lens import Lens, LensPrediction, lens_lines, lens_table
from seqwright.pictures.lens_page import lens_page
from seqwright.runs import Run

DRAWN = 32  # tokens in the picture and in the terminal
MOST_TOKENS = 256  # on the page and as JSON
TOP = 5  # tokens that each layer says, the likeliest first


def draw_lens(run: Run, texts: Sequence[str], where: Path, *, as_json: bool) -> None:
    """Draw what every layer would say at every token, and print it, or all as JSON."""
    lens = lens_of(run, texts)
    text = " · ".join(texts)
    title = f"{run.folder.name}: what each layer would say if it were the last"
    few = lens.first(DRAWN)
    save(lens_table(few, title=f"{title}\n{text}"), where / "lens")
    (where / "lens.html").write_text(lens_page(lens, title=title, text=text), encoding="utf-8")
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


@torch.inference_mode()
def lens_of(run: Run, texts: Sequence[str]) -> Lens:
    """The lens over a text; what would have been right is known where the model foretells the next token."""
    model = run.model
    if not isinstance(model, HasLens):
        raise RunError(
            f"{run.folder} has a model of kind '{run.recipe.model.kind}' that learnt {run.recipe.task}: its layers "
            "have no output over words to look through; the lens is for gpt as a language model and for masked bert"
        )
    if run.recipe.task == "masked-language-modeling" and not run.recipe.model.head:
        raise RunError(f"{run.folder} was imported without the output that says hidden words, so there is no lens")
    row = row_of(run, texts, MOST_TOKENS)
    streams = [calls[0][:1] for name, calls in row.heard.items() if name.endswith("stream")]
    names = [f"layer {number}" for number in range(1, len(streams) + 1)]
    if run.recipe.task == "masked-language-modeling":
        said = [_said(run.inputs.tokenizer, model.lens(stream_1TD)[0], None) for stream_1TD in streams]
        return Lens(names, row.pieces, [], said)
    wanted = row.tokens[1:].tolist()
    said = [_said(run.inputs.tokenizer, model.lens(stream_1TD)[0], wanted) for stream_1TD in streams]
    return Lens(names, row.pieces, [*row.pieces[1:], ""], said)


def _said(tokenizer: Tokenizer, logits_TV: Tensor, wanted: Sequence[int] | None) -> list[LensPrediction]:
    """What one layer says at each token."""
    best = logits_TV.float().softmax(-1).topk(min(TOP, logits_TV.shape[-1]))
    spellings = tokenizer.spellings()
    said = []
    for place, (numbers, probabilities) in enumerate(zip(best.indices.tolist(), best.values.tolist(), strict=True)):
        spelled = [_plain(spellings[number]) for number in numbers]
        right = wanted is not None and place < len(wanted) and wanted[place] == numbers[0]
        said.append(LensPrediction(list(zip(spelled, probabilities, strict=True)), right))
    return said


def _plain(spelling: str) -> str:
    """A token as a text has it: spellings are for files, in which a line break is "<0x0A>"."""
    return re.sub("<0x(..)>", lambda found: chr(int(found[1], 16)), spelling).replace(SPACE, " ")


def _fields(lens: Lens, place: int) -> dict[str, object]:
    """A token with what every layer says there."""
    layers = [
        {"layer": number, "says": [{"token": token, "probability": round(p, 4)} for token, p in row[place].likeliest]}
        for number, row in enumerate(lens.predictions, start=1)
    ]
    next_token = {"next": lens.target[place]} if lens.target and lens.target[place] else {}
    return {"token": lens.input[place], **next_token, "layers": layers}
