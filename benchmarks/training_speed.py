"""How long does an epoch over Multi30k take, next to a plain loop around `nn.Transformer`?

Both learn the same pairs in the same tokens with models of the same size, three layers on either side. The plain loop
is that of PyTorch's translation tutorial, untuned: a fixed number of sentences in random order, padded, float32. Ours
trains as the shipped recipe does, in float32 and in bfloat16. They take turns, some steps each, and the mean time of a
batch times the batches of an epoch is the time of an epoch; the making of the batches is included.
"""

import math
import os
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from benchmarks.record import options, record, show
from seqwright.batches import Place
from seqwright.batches.pairs import Pairs
from seqwright.data.examples import PartName
from seqwright.inputs.source_text import SourceTextInput
from seqwright.inputs.tokenizers import BEGIN, END, PAD
from seqwright.objectives.next_token import NextToken
from seqwright.outputs.text import TextOutput
from seqwright.recipe import Recipe, read_recipe
from seqwright.runs import data_of, model_of, objective_of, parameters, rate_of
from seqwright.tasks.wired import Part, Wires
from seqwright.training.loop import fit

RECIPE = "multi30k-de-en"
WIDTH, HEADS, LAYERS, FEED_FORWARD = 256, 8, 3, 512
SIZES = {
    "width": WIDTH,
    "heads": HEADS,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "feed_forward": FEED_FORWARD,
}


class Loop(NamedTuple):
    """A way to train: how it takes some steps, how many batches they read, and how many an epoch has."""

    take: Callable[[int], int]
    epoch: int
    parameters: int
    seconds: list[float]  # of an epoch, by each round


def main() -> None:
    parser = options("training_speed", __doc__)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="CPU threads (default: every core)")
    parser.add_argument("--steps", type=int, default=10, help="steps of each in a round")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, after one that is not counted")
    parser.add_argument("--sentences", type=int, default=128, help="sentences in a batch of the plain loop")
    given = parser.parse_args()
    if given.quick:
        given.steps, given.rounds, given.sentences = 1, 1, 8
    torch.set_num_threads(given.threads)
    overrides = [f"model.{name}={size}" for name, size in SIZES.items()]
    recipe = read_recipe(RECIPE, [*overrides, *(["training.tokens=256"] if given.quick else [])])
    data = data_of(recipe)
    part: PartName = "valid" if given.quick else "train"
    examples = Part(data, part)
    inputs = Wires.learn(SourceTextInput, TextOutput, examples, recipe.input)
    training = recipe.training
    batches: Any = inputs.training_batches(examples, tokens=training.tokens, seed=training.seed)
    loops = {
        "plain nn.Transformer, float32": plain_loop(batches, inputs, given.sentences, recipe),
        "Seqwright, float32": our_loop(batches, inputs, recipe, "float32"),
        "Seqwright, bfloat16": our_loop(batches, inputs, recipe, "bfloat16"),
    }
    for number in range(1 + given.rounds):
        for loop in loops.values():
            began = time.perf_counter()
            read = loop.take(given.steps)
            if number:  # the first round warms up
                loop.seconds.append((time.perf_counter() - began) / read * loop.epoch)
    report(loops, given, recipe, batches)


# ------------------------------------------------------------------------------------------------ ours


class Sample:
    """Some batches of the first epoch, drawn by chance, in the form in which `fit` asks for them."""

    def __init__(self, batches: Any, chosen: Sequence[int]) -> None:
        self.batches, self.chosen = batches, chosen

    def at(self, place: Place) -> Pairs:
        """The batch at a place."""
        batch: Pairs = self.batches.at(Place(0, self.chosen[place.batch]))
        return batch

    def after(self, place: Place) -> Place:
        """The place that follows."""
        return Place(0, place.batch + 1)

    def in_epoch(self, epoch: int) -> int:
        """How many there are."""
        return len(self.chosen)

    def once(self) -> Iterator[Pairs]:
        """Each of them once."""
        return (self.at(Place(0, number)) for number in range(len(self.chosen)))

    def padding(self, epoch: int = 0) -> float:
        """That of the whole epoch."""
        return float(self.batches.padding(epoch))


def our_loop(batches: Any, inputs: Wires, recipe: Recipe, precision: str) -> Loop:
    """Training as the recipe does it: its batches, objective, optimizer and averages."""
    model, objective = model_of(recipe, inputs.sizes()), objective_of(recipe)
    epoch, draw = len(batches.plan(0)), np.random.default_rng(1)
    unlimited = {"epochs": None, "patience": None, "precision": precision}

    def take(steps: int) -> int:
        settings = recipe.training.model_copy(update={**unlimited, "steps": steps})
        count: int = steps * settings.accumulate
        sample = Sample(batches, draw.choice(epoch, count, replace=count > epoch).tolist())
        fit(model, objective, sample, settings=settings, rate=rate_of(recipe, batches))
        return count

    return Loop(take, epoch, parameters(model), [])


# ------------------------------------------------------------------------------------------------ the plain loop


class PlainTransformer(nn.Module):
    """`nn.Transformer` between an embedding with positions and the output, which share one matrix as ours do."""

    def __init__(self, vocabulary: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, WIDTH, padding_idx=PAD)
        self.dropout = nn.Dropout(dropout)
        self.transformer = nn.Transformer(WIDTH, HEADS, LAYERS, LAYERS, FEED_FORWARD, dropout=dropout, batch_first=True)
        self.output = nn.Linear(WIDTH, vocabulary)
        self.output.weight = self.embedding.weight
        rate = torch.exp(torch.arange(0, WIDTH, 2) * (-math.log(10000) / WIDTH))
        angle = torch.arange(512).unsqueeze(1) * rate
        positions = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
        self.register_buffer("positions", positions, persistent=False)

    def forward(self, source_BS: Tensor, input_BT: Tensor) -> Tensor:
        """The logits of every next target token."""
        source_padding_BS = source_BS == PAD
        future_TT = torch.ones(input_BT.shape[1], input_BT.shape[1], dtype=torch.bool).triu(1)
        read_BTD = self.transformer(
            self.embedded(source_BS),
            self.embedded(input_BT),
            tgt_mask=future_TT,
            src_key_padding_mask=source_padding_BS,
            tgt_key_padding_mask=input_BT == PAD,
            memory_key_padding_mask=source_padding_BS,
        )
        logits_BTV: Tensor = self.output(read_BTD)
        return logits_BTV

    def embedded(self, token_BT: Tensor) -> Tensor:
        """Tokens as vectors, their positions added."""
        positions: Any = self.positions
        x_BTD: Tensor = self.dropout(self.embedding(token_BT) * math.sqrt(WIDTH) + positions[: token_BT.shape[1]])
        return x_BTD


def plain_loop(batches: Any, inputs: Wires, sentences: int, recipe: Recipe) -> Loop:
    """The tutorial's loop over the same token rows."""
    torch.manual_seed(1)
    model = PlainTransformer(inputs.tokenizer.size, recipe.model.dropout).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    wanted_loss = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=NextToken().label_smoothing)
    draw, pairs = np.random.default_rng(1), len(batches.only)

    def take(steps: int) -> int:
        for _ in range(steps):
            rows = draw.choice(pairs, sentences, replace=False)
            source, target = zip(*batches.rows.take(rows, None), strict=True)
            source_BS = padded([[*row.tolist(), END] for row in source])
            target_BT = padded([[BEGIN, *row.tolist(), END] for row in target])
            logits_BTV = model(source_BS, target_BT[:, :-1])
            optimizer.zero_grad()
            loss = wanted_loss(logits_BTV.flatten(0, 1), target_BT[:, 1:].flatten())
            loss.backward()
            optimizer.step()
        return steps

    return Loop(take, math.ceil(pairs / sentences), parameters(model), [])


def padded(rows: list[list[int]]) -> Tensor:
    """Rows of different length as one tensor."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)


# ------------------------------------------------------------------------------------------------ telling


def report(loops: dict[str, Loop], given: Namespace, recipe: Recipe, batches: Any) -> None:
    means = {name: sum(loop.seconds) / len(loop.seconds) for name, loop in loops.items()}
    plain = next(iter(means.values()))
    show(
        ["seconds per epoch", "mean", "least", "most", "batches", "parameters", "plain / this"],
        [
            [
                name,
                f"{means[name]:,.1f}",
                f"{min(loop.seconds):,.1f}",
                f"{max(loop.seconds):,.1f}",
                f"{loop.epoch:,}",
                f"{loop.parameters:,}",
                f"{plain / means[name]:.2f}",
            ]
            for name, loop in loops.items()
        ],
    )
    record(
        "training_speed",
        __doc__,
        given,
        threads=given.threads,
        libraries=["torch", "tokenizers"],
        settings={
            "recipe": RECIPE,
            "model": SIZES,
            "pairs": len(batches.only),
            "training": recipe.training.model_dump(mode="json", exclude={"precision"}),
            "plain_sentences": given.sentences,
            "steps": given.steps,
            "rounds": given.rounds,
        },
        numbers={
            name: {
                "seconds_per_epoch": round(means[name], 2),
                "each": [round(value, 2) for value in loop.seconds],
                "plain_over_this": round(plain / means[name], 3),
                "batches_per_epoch": loop.epoch,
                "parameters": loop.parameters,
            }
            for name, loop in loops.items()
        },
    )


if __name__ == "__main__":
    main()
