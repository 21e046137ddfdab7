"""`look` at attention: what is looked at while a sentence is translated, or a text is read.

L layers · H heads · T rows · S columns
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from torch import Tensor, nn

from seqwright.batches.pairs import pairs
from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.looking.rows import Heard, Words, given_words, refuse_number, row_of, verdict_on, written_words
from seqwright.cli.terminal import say, shown
from seqwright.devices import home_of
from seqwright.layers.taps import View, listen, views
from seqwright.pictures import Array, save
from seqwright.pictures.attention import AttentionMap, Choice, Looked, chosen_maps, figures, merged
from seqwright.pictures.page import attention_page
from seqwright.pictures.terminal import heat_map
from seqwright.runs import Run
from seqwright.tasks.translator import Translation, Translator

MOST_TOKENS = 120  # of a text that is read
# What the tokens of a batch are to a reader; the axes of a model's views are named after them.
AXES = {
    "source": "source word",
    "given": "target word already written",
    "wanted": "target word being written",
    "tokens": "word",
}
ALIGNMENT = ("wanted", "source")  # the view that comes first, where a model has it


def draw_attention(run: Run, texts: Sequence[str], beam: int | None, choice: Choice, where: Path) -> None:
    """Translate a sentence or read a text, draw its attention, print where it looks on the whole."""
    if run.recipe.task == "translation":
        refuse_number(run, texts)
        text = texts[0].strip()
        translation = Translator(run.model, run.inputs, decoding_settings(run, {"beam": beam}))([text])[0][0]
        looked = looked_at(run, text, translation)
    else:
        row = row_of(run, texts, MOST_TOKENS)
        maps = maps_of(run.model, row.heard, {"tokens": row.words})
        looked = Looked(" · ".join(texts), verdict_on(run, texts), maps, title=run.recipe.name)
    drawn = figures(looked, choice)
    where.mkdir(parents=True, exist_ok=True)
    for name, figure in drawn.items():
        save(figure, where / name)
    (where / "attention.html").write_text(attention_page(looked, choice), encoding="utf-8")
    _print_first(looked, choice)
    print("\n" + "\n".join(text for text in (looked.source, looked.target) if text))
    say(f"pictures: {shown(where)}/  (open attention.html in a browser)")


def _print_first(looked: Looked, choice: Choice) -> None:
    """The first map, the mean over layers and heads or what is chosen of it, for the terminal."""
    name, first = next(iter(chosen_maps(looked.maps, choice).items()))
    console = Console()
    layers, heads = (slice(None) if number is None else slice(number - 1, number) for number in choice)
    weights_TS = first.weights[layers, heads].mean(axis=(0, 1))
    said = f", {choice}" if choice.layer is not None else ""
    print(f"{name}{said}\nrows: {first.row_axis}\ncolumns: {first.column_axis}\n")
    console.print(heat_map(weights_TS, first.columns, first.rows, width=console.width, colour=console.is_terminal))


@torch.inference_mode()
def looked_at(run: Run, text: str, translation: Translation) -> Looked:
    """What was heard in one forced pass over the tokens that were really decoded, sub-words merged into words."""
    source, target, end = run.inputs.source, run.inputs.target, run.inputs.end
    source_ids, written = source.encode([text])[0], written_words(target, translation.tokens)
    batch = pairs([source_ids], [np.asarray(translation.tokens)], begin=run.inputs.begin, end=end)
    begin = target.pieces([run.inputs.begin])[0]
    words = {
        "source": [*given_words(source, text), (source.pieces([end])[0], [len(source_ids)])],
        "given": [(begin, [0]), *((word, [place + 1 for place in places]) for word, places in written)],
        "wanted": [*written, (target.pieces([end])[0], [len(translation.tokens)])],
    }
    with listen(run.model) as heard:
        run.model(batch.to(home_of(run.model)))
    maps = maps_of(run.model, heard, words)
    return Looked(text, translation.text, maps, title=run.recipe.name, score=translation.score)


def maps_of(model: nn.Module, heard: Heard, words: Mapping[str, Words]) -> dict[str, AttentionMap]:
    """Every view of a model that read one row, but of its units; an axis that has no words is numbered."""
    maps = {}
    found = {view: taps for view, taps in views(model).items() if view.columns != "units"}
    for view, taps in sorted(found.items(), key=lambda item: (item[0].rows, item[0].columns) != ALIGNMENT):
        weights_LHTS = np.stack([_weights(heard[tap]) for tap in taps])
        rows, columns = (
            words.get(axis) or [(str(place + 1), [place]) for place in range(size)]
            for axis, size in zip((view.rows, view.columns), weights_LHTS.shape[-2:], strict=True)
        )
        merged_LHTS = merged(weights_LHTS, [places for _, places in rows], [places for _, places in columns])
        labels = [word for word, _ in rows], [word for word, _ in columns]
        maps[view.name] = AttentionMap(merged_LHTS, *labels, *_axes(view))
    return maps


def _weights(calls: list[Tensor]) -> Array:
    """The first row of the batch as heads × rows × columns; a model that goes step by step adds rows with each call."""
    weights = torch.cat([call[0] for call in calls], dim=-2)
    weights_HTS: Array = weights.reshape(-1, *weights.shape[-2:]).float().cpu().numpy()
    return weights_HTS


def _axes(view: View) -> tuple[str, str]:
    """What stands along the rows and the columns, told apart where it is the same."""
    rows, columns = AXES.get(view.rows, view.rows), AXES.get(view.columns, view.columns)
    return (rows, columns) if rows != columns else (f"{rows} that reads", f"{columns} that is read")
