"""`look`: what attention looks at while a sentence is translated.

L layers · H heads · T target · S source
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console

from seqwright.batches import pairs
from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.terminal import say, shown
from seqwright.devices import home_of
from seqwright.errors import DataError
from seqwright.layers.taps import listen
from seqwright.pictures import save
from seqwright.pictures.attention import AttentionMap, Looked, figures, merged
from seqwright.pictures.page import attention_page
from seqwright.pictures.terminal import heat_map
from seqwright.runs import Run, open_run
from seqwright.tasks.translator import Translation, Translator

# Where a model's taps say what they hear: source, target, or the one while writing the other.
TAPS = {
    "cross": re.compile(r"decoder\.(\d+)\.source_attention\.weights"),
    "encoder": re.compile(r"encoder\.(\d+)\.attention\.weights"),
    "decoder": re.compile(r"decoder\.(\d+)\.attention\.weights"),
}


def look_at(folder: Path, text: str, beam: int | None, output: Path | None, which: str) -> None:
    """Translate a sentence, draw every head, print the alignment."""
    if not text.strip():
        raise DataError("there is nothing to look at: the sentence is blank")
    run = open_run(folder, which=which, notice=say)
    translation = Translator(run.model, run.inputs, decoding_settings(run, {"beam": beam}))([text])[0][0]
    looked = looked_at(run, text, translation)
    where = output or folder / "pictures" / _name(text)
    where.mkdir(parents=True, exist_ok=True)
    for name, figure in figures(looked).items():
        save(figure, where / name)
    (where / "attention.html").write_text(attention_page(looked), encoding="utf-8")
    cross = looked.maps["cross"]
    console = Console()
    weights_TS = np.asarray(cross.weights).mean(axis=(0, 1))
    console.print(heat_map(weights_TS, cross.columns, cross.rows, width=console.width, colour=console.is_terminal))
    print(f"\n{text}\n{translation.text}")
    say(f"pictures: {shown(where)}/  (open attention.html in a browser)")


@torch.inference_mode()
def looked_at(run: Run, text: str, translation: Translation) -> Looked:
    """What was heard in one forced pass over the tokens that were really decoded, sub-words merged into words."""
    source, target = run.inputs.source, run.inputs.target
    source_ids = source.encode([text])[0]
    batch = pairs([source_ids], [np.asarray(translation.tokens)], begin=run.inputs.begin, end=run.inputs.end)
    with listen(run.model) as heard:
        run.model(batch.to(home_of(run.model)))
    read = source.words([*source_ids.tolist(), run.inputs.end])
    said = target.words([*translation.tokens, run.inputs.end])
    given = [("<s>", [0]), *((word, [i + 1 for i in places]) for word, places in target.words(translation.tokens))]
    sides: dict[str, tuple[Any, Any]] = {"cross": (said, read), "encoder": (read, read), "decoder": (given, given)}
    maps = {}
    for name, (rows, columns) in sides.items():
        found = {int(m[1]): tensors[0][0] for tap, tensors in heard.items() if (m := TAPS[name].fullmatch(tap))}
        weights_LHTS = torch.stack([found[layer] for layer in sorted(found)]).float().cpu().numpy()
        merged_LHTS = merged(weights_LHTS, [places for _, places in rows], [places for _, places in columns])
        maps[name] = AttentionMap(merged_LHTS, [word for word, _ in rows], [word for word, _ in columns])
    return Looked(
        source_words=[word for word, _ in read],
        target_words=[word for word, _ in said],
        maps=maps,
        title=run.recipe.name,
        score=translation.score,
    )


def _name(text: str) -> str:
    """A folder name that still says which sentence it is."""
    return re.sub(r"\W+", "-", text.lower()).strip("-")[:40] or "sentence"
