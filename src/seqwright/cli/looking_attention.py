"""`look` at a translation: what attention looks at while a sentence is translated.

L layers · H heads · T rows · S columns
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
from rich.console import Console
from torch import Tensor, nn

from seqwright.batches.pairs import pairs
from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.terminal import say, shown
from seqwright.devices import home_of
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.inputs.vocabularies import BEGIN, RESERVED, SPACE
from seqwright.layers.taps import View, listen, views
from seqwright.pictures import Array, save
from seqwright.pictures.attention import AttentionMap, Looked, figures, merged
from seqwright.pictures.page import attention_page
from seqwright.pictures.terminal import heat_map
from seqwright.runs import Run
from seqwright.tasks.translator import Translation, Translator

# What the tokens of a batch are to a reader; the axes of a model's views are named after them.
AXES = {"source": "source word", "given": "target word already written", "wanted": "target word being written"}
ALIGNMENT = ("wanted", "source")  # the view that comes first, where a model has it

Words = list[tuple[str, list[int]]]  # each with the places of its tokens


def draw_attention(run: Run, text: str, beam: int | None, where: Path) -> None:
    """Translate a sentence, draw every head, print the alignment."""
    text = text.strip()
    translation = Translator(run.model, run.inputs, decoding_settings(run, {"beam": beam}))([text])[0][0]
    looked = looked_at(run, text, translation)
    where.mkdir(parents=True, exist_ok=True)
    for name, figure in figures(looked).items():
        save(figure, where / name)
    (where / "attention.html").write_text(attention_page(looked), encoding="utf-8")
    _print_first(looked)
    print(f"\n{text}\n{translation.text}")
    say(f"pictures: {shown(where)}/  (open attention.html in a browser)")


def _print_first(looked: Looked) -> None:
    """The first map, the mean over layers and heads, for the terminal."""
    name, first = next(iter(looked.maps.items()))
    console = Console()
    weights_TS = first.weights.mean(axis=(0, 1))
    print(f"{name}\nrows: {first.row_axis}\ncolumns: {first.column_axis}\n")
    console.print(heat_map(weights_TS, first.columns, first.rows, width=console.width, colour=console.is_terminal))


@torch.inference_mode()
def looked_at(run: Run, text: str, translation: Translation) -> Looked:
    """What was heard in one forced pass over the tokens that were really decoded, sub-words merged into words."""
    source, target, end = run.inputs.source, run.inputs.target, run.inputs.end
    source_ids, written = source.encode([text])[0], written_words(target, translation.tokens)
    batch = pairs([source_ids], [np.asarray(translation.tokens)], begin=run.inputs.begin, end=end)
    words = {
        "source": [*given_words(source, text), (RESERVED[end], [len(source_ids)])],
        "given": [(RESERVED[BEGIN], [0]), *((word, [place + 1 for place in places]) for word, places in written)],
        "wanted": [*written, (RESERVED[end], [len(translation.tokens)])],
    }
    maps = maps_of(run.model, batch.to(home_of(run.model)), words)
    return Looked(text, translation.text, maps, title=run.recipe.name, score=translation.score)


def given_words(tokenizer: Tokenizer, text: str) -> Words:
    """The words of a text in the user's own characters, also those that the vocabulary lacks or spells otherwise."""
    found = tokenizers.Tokenizer.from_str(tokenizer.json()).encode(text, add_special_tokens=False)
    starts, ends = zip(*found.offsets, strict=True)
    words: Words = []
    spaces: list[int] = []  # that the vocabulary could not keep with the word they stand before
    for spelled, places in tokenizer.words(found.ids):
        after = places[-1] + 1
        if after < len(starts) and tokenizer.kind != "characters" and not spelled.strip(SPACE):
            spaces += places
            continue
        # Up to the next token: an accent that was joined with its letter belongs to no token.
        end = max(ends[after - 1], starts[after]) if after < len(starts) else len(text)
        word = text[starts[places[0]] : end]
        words.append((word.strip() or word, [*spaces, *places]))
        spaces = []
    return words


def written_words(tokenizer: Tokenizer, tokens: list[int]) -> Words:
    """The words of decoded tokens, a lone space as a space."""
    return [(word.replace(SPACE, " "), places) for word, places in tokenizer.words(tokens)]


def maps_of(model: nn.Module, batch: Any, words: Mapping[str, Words]) -> dict[str, AttentionMap]:
    """Every view of the model on a batch of one row, but of its units; an axis that has no words is numbered."""
    with listen(model) as heard:
        model(batch)
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
