"""How fast do the recurrent models train, next to a minimal loop around torch's own `nn.LSTM`?

All read the same batches of the embedded reference, character by character, 32 rows of 64, with one recurrent layer of
width 256 under an output that shares the embedding's matrix. The minimal loop is an embedding, `nn.LSTM`,
cross-entropy, clipping and Adam, the state carried and detached. Ours trains as the shipped recipe `reference-lstm`
does, with every cell in turn. They take turns, some steps each; of the rounds after the first the median counts.
"""

import statistics
import time
from argparse import Namespace
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.record import options, record, show
from seqwright.batches import Place
from seqwright.batches.text import StreamBatches
from seqwright.devices import keep_freed_memory
from seqwright.kinds import task_of
from seqwright.recipe import Recipe, read_recipe
from seqwright.runs import data_of, model_of, objective_of, parameters
from seqwright.tasks.wired import Wires
from seqwright.training.loop import fit

RECIPE = "reference-lstm"
CELLS = ("lstm", "gru", "ugrnn", "rnn")
PLAIN = "minimal loop, nn.LSTM"


class Loop(NamedTuple):
    """A way to train: how it takes some steps, how large its model is, and how fast it was in each round."""

    take: Callable[[int], None]
    parameters: int
    speeds: list[float]  # tokens a second


def main() -> None:
    parser = options("recurrent_speed", __doc__)
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default: 1)")
    parser.add_argument("--steps", type=int, default=60, help="steps of each in a round")
    parser.add_argument("--rounds", type=int, default=7, help="rounds, after one that is not counted")
    given = parser.parse_args()
    if given.quick:
        given.steps, given.rounds = 2, 1
    torch.set_num_threads(given.threads)
    keep_freed_memory()
    recipe = read_recipe(RECIPE, [f"training.threads={given.threads}"])
    data = data_of(recipe)
    task = task_of(recipe.task)
    inputs = task.learnt_inputs(recipe, data)
    batches = task.prepared(recipe, data, inputs).train
    assert isinstance(batches, StreamBatches)
    loops = {PLAIN: plain_loop(batches, inputs, recipe)}
    for kind in CELLS:
        loops[f"Seqwright, {kind}"] = our_loop(batches, inputs, read_recipe(RECIPE, [f"model.kind={kind}"]))
    tokens = batches.at(Place()).tokens * given.steps
    for number in range(1 + given.rounds):
        for loop in loops.values():
            began = time.perf_counter()
            loop.take(given.steps)
            if number:  # the first round warms up
                loop.speeds.append(tokens / (time.perf_counter() - began))
    report(loops, given, recipe)


def our_loop(batches: StreamBatches, inputs: Wires, recipe: Recipe) -> Loop:
    """Training as the recipe does it."""
    model, objective = model_of(recipe, inputs.sizes()), objective_of(recipe)

    def take(steps: int) -> None:
        settings = recipe.training.model_copy(update={"steps": steps})
        fit(model, objective, batches, settings=settings, rate=lambda step: 0.001)

    return Loop(take, parameters(model), [])


class PlainLSTM(nn.Module):
    """`nn.LSTM` between an embedding and the output, which share one matrix as ours do."""

    def __init__(self, vocabulary: int, width: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.output = nn.Linear(width, vocabulary)
        self.output.weight = self.embedding.weight
        self.dropout = nn.Dropout(dropout)

    def forward(self, token_BT: Tensor, state: Any) -> tuple[Tensor, Any]:
        """The logits of every next token, and the state after the last."""
        hidden_BTD, state = self.lstm(self.dropout(self.embedding(token_BT)), state)
        return self.output(self.dropout(hidden_BTD)), state


def plain_loop(batches: StreamBatches, inputs: Wires, recipe: Recipe) -> Loop:
    """What one writes who needs nothing else."""
    torch.manual_seed(1)
    model = PlainLSTM(inputs.tokenizer.size, recipe.model.width, recipe.model.dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)

    def take(steps: int) -> None:
        place, state = Place(), None
        for _ in range(steps):
            batch = batches.at(place)
            place = batches.after(place)
            logits_BTV, (hidden, memory) = model(batch.input_BT, state)
            state = hidden.detach(), memory.detach()
            loss = F.cross_entropy(logits_BTV.flatten(0, 1), batch.target_BT.flatten())
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

    return Loop(take, parameters(model), [])


def report(loops: dict[str, Loop], given: Namespace, recipe: Recipe) -> None:
    """The table, and the two ratios that count."""
    median = {name: statistics.median(loop.speeds) for name, loop in loops.items()}
    ratios = {
        "our LSTM / nn.LSTM in a minimal loop": ratio(loops, "Seqwright, lstm", PLAIN),
        "UGRNN / GRU": ratio(loops, "Seqwright, ugrnn", "Seqwright, gru"),
    }
    show(
        ["tokens a second", "median", "best", "parameters", "this / minimal loop"],
        [
            [
                name,
                f"{median[name]:,.0f}",
                f"{max(loop.speeds):,.0f}",
                f"{loop.parameters:,}",
                f"{ratio(loops, name, PLAIN):.2f}",
            ]
            for name, loop in loops.items()
        ],
    )
    for name, value in ratios.items():
        print(f"{name}: {value:.2f}")
    record(
        "recurrent_speed",
        __doc__,
        given,
        threads=given.threads,
        libraries=["torch"],
        settings={
            "recipe": RECIPE,
            "model": recipe.model.model_dump(mode="json"),
            "steps": given.steps,
            "rounds": given.rounds,
        },
        numbers={
            "ratios": {name: round(value, 3) for name, value in ratios.items()},
            "tokens_per_second": {
                name: {"median": round(median[name]), "each": [round(speed) for speed in loop.speeds]}
                for name, loop in loops.items()
            },
        },
    )


def ratio(loops: dict[str, Loop], one: str, other: str) -> float:
    """How much faster one is than the other: the median over the rounds, in each of which both took their turn."""
    return statistics.median(a / b for a, b in zip(loops[one].speeds, loops[other].speeds, strict=True))


if __name__ == "__main__":
    main()
