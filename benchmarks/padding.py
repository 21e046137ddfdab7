"""What share of the positions in the batches of the Multi30k recipe is padding?

The batches are those that `seqwright train multi30k-de-en` would read, counted position by position, source and target.
Beside them stands what the same pairs take in random order, a fixed number of sentences a batch.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.record import options, record, show
from seqwright.batches import Place
from seqwright.batches.pairs import Pairs
from seqwright.data.examples import PartName
from seqwright.inputs.source_text import SourceTextInput
from seqwright.outputs.text import TextOutput
from seqwright.recipe import read_recipe
from seqwright.runs import data_of
from seqwright.tasks.parts import Part
from seqwright.tasks.wired import Wires

RECIPE = "multi30k-de-en"
MARK = 0.10  # of all positions


class Positions(NamedTuple):
    """How many positions some batches have, and how many of them hold a token."""

    batches: int = 0
    every: int = 0
    real: int = 0

    def with_batch(self, batch: Pairs) -> "Positions":
        """These and those of one more batch."""
        flags = (batch.source_real_BS, batch.real_BT)
        every, real = sum(flag.numel() for flag in flags), sum(int(flag.sum()) for flag in flags)
        return Positions(self.batches + 1, self.every + every, self.real + real)

    @property
    def padding(self) -> float:
        """The share that is padding."""
        return 1 - self.real / self.every


def main() -> None:
    parser = options("padding", __doc__)
    parser.add_argument("--epochs", type=int, default=3, help="how many epochs are counted, each cut anew")
    parser.add_argument("--sentences", type=int, default=128, help="sentences in a batch in random order")
    given = parser.parse_args()
    epochs = 1 if given.quick else given.epochs

    recipe = read_recipe(RECIPE)
    data = data_of(recipe)
    part: PartName = "valid" if given.quick else "train"
    examples = Part(data, part)
    inputs = Wires.learn(SourceTextInput, TextOutput, examples, recipe.input)
    training = recipe.training
    batches: Any = inputs.training_batches(examples, tokens=training.tokens, seed=training.seed)
    bucketed = [counted(bucketed_batches(batches, epoch)) for epoch in range(epochs)]
    random = counted(random_batches(batches, given.sentences))

    rows = [*((f"the recipe's, epoch {epoch}", found) for epoch, found in enumerate(bucketed))]
    rows.append((f"{given.sentences} sentences in random order", random))
    show(
        ["batches", "number", "positions", "padding"],
        [[name, f"{found.batches:,}", f"{found.every:,}", f"{found.padding:.1%}"] for name, found in rows],
    )
    worst = max(found.padding for found in bucketed)
    record(
        "padding",
        __doc__,
        given,
        threads=1,
        libraries=["numpy", "tokenizers"],
        settings={
            "recipe": RECIPE,
            "part": part,
            "pairs": len(batches.only),
            "vocabulary": inputs.tokenizer.size,
            "tokens": recipe.training.tokens,
        },
        numbers={
            "padding": [round(found.padding, 4) for found in bucketed],
            "batches": [found.batches for found in bucketed],
            "mark": MARK,
            "reached": worst < MARK,
            "random_order": {
                "sentences": given.sentences,
                "padding": round(random.padding, 4),
                "batches": random.batches,
            },
        },
    )


def counted(batches: Iterator[Pairs]) -> Positions:
    """The positions of some batches."""
    found = Positions()
    for batch in batches:
        found = found.with_batch(batch)
    return found


def bucketed_batches(batches: Any, epoch: int) -> Iterator[Pairs]:
    """The batches of an epoch, as training reads them."""
    return (batches.at(Place(epoch, number)) for number in range(len(batches.plan(epoch))))


def random_batches(batches: Any, sentences: int) -> Iterator[Pairs]:
    """The same pairs in random order, so many a batch."""
    order = np.random.default_rng(1).permutation(batches.only)
    for rows in np.array_split(order, math.ceil(len(order) / sentences)):
        yield batches.batch(rows, None)


if __name__ == "__main__":
    main()
