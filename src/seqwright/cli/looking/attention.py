"""`look` at attention: what is looked at while a sentence is translated, or a text is read.

L layers · H heads · T rows · S columns
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from torch import Tensor, nn

from seqwright.batches.pairs import pairs
from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.looking.rows import Heard, refuse_number, row_of, verdict_on
from seqwright.cli.terminal import json_text, say, shown
from seqwright.devices import device_of
from seqwright.errors import RunError, SettingError
from seqwright.inputs.spelling import Words, given_words, written_words
from seqwright.layers.taps import View, listen, views
from seqwright.metrics.alignments import merged, quality
from seqwright.outputs.alignments import alignment_taps
from seqwright.outputs.text_search import TextCandidate
from seqwright.pictures import Array, legible, save
from seqwright.pictures.alignments import AlignmentPanel, side_by_side
from seqwright.pictures.alignments_page import alignments_page
from seqwright.pictures.attention import AttentionMap, HeadChoice, Looked, chosen_maps, figures
from seqwright.pictures.page import attention_page
from seqwright.pictures.terminal import heat_map
from seqwright.runs import Run
from seqwright.tasks.influence import influence

MOST_TOKENS = 120  # of a text that is read
# What the tokens of a batch are to a reader; the axes of a model's views are named after them.
AXES = {
    "source": "source word",
    "given": "target word already written",
    "wanted": "target word being written",
    "tokens": "word",
}
ALIGNMENT = ("wanted", "source")  # the view that comes first, where a model has it
INFLUENCE = View("gradients to the source", *ALIGNMENT)  # where a model has none


def draw_attention(
    run: Run, texts: Sequence[str], beam: int | None, choice: HeadChoice, where: Path, *, as_json: bool
) -> None:
    """Translate a sentence or read a text, draw its attention, print where it looks on the whole."""
    if run.recipe.family == "translation":
        looked = translated_and_looked_at(run, texts, beam)
    else:
        row = row_of(run, texts, MOST_TOKENS)
        maps = maps_of(run.model, row.heard, {"tokens": row.words})
        looked = Looked(" · ".join(texts), verdict_on(run, texts), maps, title=run.folder.name)
    drawn = figures(looked, choice)
    where.mkdir(parents=True, exist_ok=True)
    for name, figure in drawn.items():
        save(figure, where / name)
    (where / "attention.html").write_text(attention_page(looked, choice), encoding="utf-8")
    found = alignment_of(looked)
    if as_json:
        if found is None:
            raise SettingError(
                f"{run.folder} translates nothing: --json gives the numbers of an alignment; leave it out"
            )
        print(json_text(_numbers(run, looked, found)))
    else:
        _print_first(looked, choice)
        print("\n" + "\n".join(text for text in (looked.source, looked.target) if text))
        if found is not None:
            print(quality(mean_of(found)))
    say(f"pictures: {shown(where)}/  (open attention.html in a browser)")


def draw_alignments(runs: Sequence[Run], texts: Sequence[str], beam: int | None, where: Path, *, as_json: bool) -> None:
    """Translate a sentence with each run, draw their alignments side by side, print how sharp and whole they are."""
    panels: list[AlignmentPanel] = []
    for run in runs:
        if run.recipe.family != "translation":
            raise RunError(f"{run.folder} learnt {run.recipe.task}; alignments side by side are drawn for translation")
        looked = translated_and_looked_at(run, texts, beam)
        found = alignment_of(looked)
        assert found is not None, "every translation has an alignment"
        weights_TS = mean_of(found)
        of_gradients = "" if alignment_taps(run.model) else f" ({INFLUENCE.name}: it has no attention)"
        caption = f"{shown(run.folder)}{of_gradients}", f"→ {legible(looked.target, 80)}", str(quality(weights_TS))
        panels.append(AlignmentPanel(weights_TS, found.columns, found.rows, caption))
        print(json_text(_numbers(run, looked, found)) if as_json else "\n".join((*caption, "")))
    title, source = "alignments, mean over layers and heads", texts[0].strip()
    labels = {"row_axis": AXES["wanted"], "column_axis": AXES["source"]}
    save(side_by_side(panels, title=f"{title}\n{legible(source, 200)}", **labels), where / "alignments")
    (where / "alignments.html").write_text(alignments_page(panels, title=title, source=source), encoding="utf-8")
    say(f"pictures: {shown(where)}/  (open alignments.html in a browser)")


def translated_and_looked_at(run: Run, texts: Sequence[str], beam: int | None) -> Looked:
    """What was looked at for the best translation of a sentence."""
    refuse_number(run, texts)
    text = texts[0].strip()
    found = run.inputs.predict(run.model, text, decoding_settings(run, {"beam": beam}))
    return looked_at(run, text, found.best)


def alignment_of(looked: Looked) -> AttentionMap | None:
    """The map from what is written to the source, where there is one."""
    axes = AXES["wanted"], AXES["source"]
    return next((each for each in looked.maps.values() if (each.row_axis, each.column_axis) == axes), None)


def mean_of(found: AttentionMap) -> Array:
    """The mean of a map over layers and heads."""
    mean_TS: Array = found.weights.mean(axis=(0, 1))
    return mean_TS


def _numbers(run: Run, looked: Looked, found: AttentionMap) -> dict[str, Any]:
    """What --json says of an alignment."""
    numbers = {name: round(value, 4) for name, value in quality(mean_of(found))._asdict().items()}
    return {"run": str(run.folder), "source": looked.source, "translation": looked.target, **numbers}


def _print_first(looked: Looked, choice: HeadChoice) -> None:
    """The first map, the mean over layers and heads or what is chosen of it, for the terminal."""
    name, first = next(iter(chosen_maps(looked.maps, choice).items()))
    console = Console()
    layers, heads = (slice(None) if number is None else slice(number - 1, number) for number in choice)
    weights_TS = first.weights[layers, heads].mean(axis=(0, 1))
    said = f", {choice}" if choice.layer is not None else ""
    print(f"{name}{said}\nrows: {first.row_axis}\ncolumns: {first.column_axis}\n")
    console.print(heat_map(weights_TS, first.columns, first.rows, width=console.width, colour=console.is_terminal))


def looked_at(run: Run, text: str, translation: TextCandidate) -> Looked:
    """What was heard in one forced pass over the tokens that were really decoded, sub-words merged into words.

    Of a model without attention it is what each word of the source moves.
    """
    source, target = run.inputs.input.tokenizer, run.inputs.output.tokenizer
    end = target.end
    source_ids, written = source.encode([text])[0], written_words(target, translation.tokens)
    batch = pairs([source_ids], [np.asarray(translation.tokens)], begin=target.begin, end=end)
    begin = target.pieces([target.begin])[0]
    words = {
        "source": [*given_words(source, text), (source.pieces([end])[0], [len(source_ids)])],
        "given": [(begin, [0]), *((word, [place + 1 for place in places]) for word, places in written)],
        "wanted": [*written, (target.pieces([end])[0], [len(translation.tokens)])],
    }
    batch = batch.to(device_of(run.model))
    if alignment_taps(run.model):
        with torch.inference_mode(), listen(run.model) as heard:
            run.model(batch)
        maps = maps_of(run.model, heard, words)
    else:
        weights_LHTS = influence(run.model, batch).unsqueeze(0).cpu().numpy()
        maps = {INFLUENCE.name: map_of(INFLUENCE, weights_LHTS, words)}
    return Looked(text, translation.text, maps, title=run.folder.name, score=translation.score)


def maps_of(model: nn.Module, heard: Heard, words: Mapping[str, Words]) -> dict[str, AttentionMap]:
    """Every view of a model that read one row, but of its units; an axis that has no words is numbered."""
    maps = {}
    found = {view: taps for view, taps in views(model).items() if view.columns != "units"}
    for view, taps in sorted(found.items(), key=lambda item: (item[0].rows, item[0].columns) != ALIGNMENT):
        maps[view.name] = map_of(view, np.stack([_weights(heard[tap]) for tap in taps]), words)
    return maps


def map_of(view: View, weights_LHTS: Array, words: Mapping[str, Words]) -> AttentionMap:
    """Weights between words from those between tokens."""
    rows, columns = (
        words.get(axis) or [(str(place + 1), [place]) for place in range(size)]
        for axis, size in zip((view.rows, view.columns), weights_LHTS.shape[-2:], strict=True)
    )
    merged_LHTS = merged(weights_LHTS, [places for _, places in rows], [places for _, places in columns])
    labels = [word for word, _ in rows], [word for word, _ in columns]
    return AttentionMap(merged_LHTS, *labels, *_axes(view))


def _weights(calls: list[Tensor]) -> Array:
    """The first row of the batch as heads × rows × columns; a model that goes step by step adds rows with each call."""
    weights = torch.cat([call[0] for call in calls], dim=-2)
    weights_HTS: Array = weights.reshape(-1, *weights.shape[-2:]).float().cpu().numpy()
    return weights_HTS


def _axes(view: View) -> tuple[str, str]:
    """What stands along the rows and the columns, told apart where it is the same."""
    rows, columns = AXES.get(view.rows, view.rows), AXES.get(view.columns, view.columns)
    return (rows, columns) if rows != columns else (f"{rows} that reads", f"{columns} that is read")
