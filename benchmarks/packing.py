"""How many real tokens a CPU-second does a GPT learn from when short documents are packed, next to padding them?

The documents of a corpus, each kept apart, come in three ways: in random order, as many a batch as the longest allows,
padded; sorted by length and padded, as `input.rows = "documents"` has them; and packed into rows of `input.segment`
positions in which none reads another (`input.rows = "packed"`). A GPT of four layers and width 128 learns from each in
turns, within one process on one thread; a turn is some updates, and only tokens count that are no padding.
"""

import statistics
import time
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks.record import options, record, show
from seqwright.batches import Ids, Place, Rows
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.packed import PackedBatches
from seqwright.batches.text import Text, texts
from seqwright.devices import keep_freed_memory
from seqwright.kinds import task_of
from seqwright.models.gpt import GPT, GPTSettings
from seqwright.models.language_model import LanguageModel
from seqwright.objectives.next_token import NextToken, NextTokenSettings
from seqwright.recipe import read_recipe
from seqwright.runs import data_of
from seqwright.tasks.parts import Part

TOKENS = 2048  # positions in a batch
SIZES = {"width": 128, "heads": 4, "layers": 4, "context": 256, "dropout": 0.0}
CORPORA = {
    "names": ("names-lstm", ["input.longest=255", "input.segment=64"]),
    "wikitext2": ("wikitext2-lstm", ["input.rows=documents", "input.longest=255", "input.segment=256"]),
}
WAYS = ("random order, padded", "sorted by length, padded", "packed")
Batches = dict[str, list[Text]]


def main() -> None:
    parser = options("packing", __doc__)
    parser.add_argument("--updates", type=int, default=5, help="updates in a turn")
    parser.add_argument("--turns", type=int, default=5, help="turns of each")
    given = parser.parse_args()
    if given.quick:
        given.updates, given.turns = 1, 1
    torch.set_num_threads(1)
    keep_freed_memory()  # as every verb does
    numbers = {corpus: measured(corpus, given) for corpus in CORPORA}
    show(
        ["corpus, batches", "padding", "real tokens a CPU-second", "beside sorted"],
        [
            [f"{corpus}, {way}", f"{one['padding']:.1%}", f"{one['median']:,.0f}", f"{one['beside_sorted']:.2f}"]
            for corpus, ways in numbers.items()
            for way, one in ways.items()
        ],
    )
    settings = {"model": SIZES, "tokens": TOKENS, "updates": given.updates, "turns": given.turns, "recipes": CORPORA}
    record("packing", __doc__, given, threads=1, libraries=["torch", "numpy"], settings=settings, numbers=numbers)


def measured(corpus: str, given: Namespace) -> dict[str, dict[str, Any]]:
    """Padding and speed of each way."""
    name, overrides = CORPORA[corpus]
    recipe = read_recipe(name, overrides)
    data = data_of(recipe)
    inputs = task_of(recipe.task).learnt_inputs(recipe, data)
    rows = inputs.input.encode(Part(data, "train"))
    ends: dict[str, Any] = {"begin": inputs.input.first, "end": inputs.tokenizer.end}
    apart = Bucketed(rows, partial(texts, **ends), tokens=TOKENS, seed=1, marks=1)
    packed = PackedBatches(rows, tokens=TOKENS, segment=recipe.input.segment, seed=1, **ends)
    paddings = dict(zip(WAYS, (random_padding(rows), apart.padding(), packed.padding()), strict=True))
    count = given.updates * given.turns
    batches: Batches = {
        WAYS[0]: [batch for batch, _ in zip(random_batches(rows, **ends), range(count), strict=False)],
        WAYS[1]: [apart.at(Place(0, number)) for number in range(count)],
        WAYS[2]: [packed.at(Place(0, number)) for number in range(count)],
    }
    speeds = timed(batches, inputs.tokenizer.size, given)
    usual = statistics.median(speeds[WAYS[1]])
    return {
        way: {
            "padding": round(paddings[way], 4),
            "median": round(statistics.median(speeds[way]), 1),
            "each": [round(speed, 1) for speed in speeds[way]],
            "beside_sorted": round(statistics.median(speeds[way]) / usual, 3),
        }
        for way in WAYS
    }


def random_order(rows: Rows[Ids]) -> list[Any]:
    """The documents in random order, as many together as leave room for the longest."""
    length_N = rows.lengths(None).sum(1)
    order = np.random.default_rng(1).permutation(len(length_N))
    at_once = max(1, TOKENS // (int(length_N.max()) + 1))
    return [order[first : first + at_once] for first in range(0, len(order), at_once)]


def random_padding(rows: Rows[Ids]) -> float:
    """The share of padding in such batches."""
    length_N = rows.lengths(None).sum(1) + 1
    every = sum(len(some) * int(length_N[some].max()) for some in random_order(rows))
    return 1 - int(length_N.sum()) / every


def random_batches(rows: Rows[Ids], *, begin: int, end: int) -> Iterator[Text]:
    """Such batches."""
    return (texts(rows.take(some, None), begin=begin, end=end) for some in random_order(rows))


def timed(batches: Batches, vocabulary: int, given: Namespace) -> dict[str, list[float]]:
    """Real tokens a CPU-second of each way, turn by turn; of the first turn's time nothing is kept."""
    torch.manual_seed(1)
    model = LanguageModel(GPT(GPTSettings.model_validate(SIZES), vocabulary=vocabulary))
    objective = NextToken(NextTokenSettings(label_smoothing=0.0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    speeds: dict[str, list[float]] = {way: [] for way in batches}
    for turn in range(-1, given.turns):
        for way, every in batches.items():
            first = max(turn, 0) * given.updates
            tokens, began = 0, time.process_time()
            for batch in every[first : first + given.updates]:
                loss, _ = objective(model, batch, None)
                optimizer.zero_grad(set_to_none=True)
                loss.total(objective.counts(batch)).backward()
                optimizer.step()
                tokens += batch.tokens
            if turn >= 0:
                speeds[way].append(tokens / (time.process_time() - began))
    return speeds


if __name__ == "__main__":
    main()
