"""How many tokens a CPU-second does a GPT write with its keys and values cached, next to reading all anew each time?

A GPT with random weights goes on with prompts of different length, greedily, on one thread: with `decoded`, as verbs
do, and by a plain loop that reads the whole text again for each token. They take turns within one process, and must
write the same. CPU-seconds are those of the whole process.
"""

import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from benchmarks.record import options, record, show
from seqwright.batches import padded
from seqwright.batches.text import texts
from seqwright.decoding import DecodingSettings, Prefix, decoded
from seqwright.devices import keep_freed_memory
from seqwright.layers.prepared import prepared
from seqwright.models.gpt import GPT, GPTSettings
from seqwright.models.language_model import LanguageModel

VOCABULARY, BEGIN, END = 8000, 2, 3
SIZES = {"width": 256, "heads": 4, "layers": 4, "context": 512, "dropout": 0.0}
BATCHES = (1, 16)  # prompts that are gone on with together
Write = Callable[[LanguageModel, list[Tensor], int], list[list[int]]]


def main() -> None:
    parser = options("generating", __doc__)
    parser.add_argument("--steps", type=int, default=200, help="tokens written after each prompt")
    parser.add_argument("--repetitions", type=int, default=3, help="measurements of each, in turns")
    given = parser.parse_args()
    if given.quick:
        given.steps, given.repetitions = 8, 1
    torch.set_num_threads(1)
    keep_freed_memory()  # as every verb does
    torch.manual_seed(1)
    model = LanguageModel(GPT(GPTSettings.model_validate(SIZES), vocabulary=VOCABULARY)).eval()
    speeds = {batch: measured(model, batch, given) for batch in BATCHES}
    rows, numbers = [], {}
    for batch, by_way in speeds.items():
        middle = {way: statistics.median(each) for way, each in by_way.items()}
        ratio = middle["cached"] / middle["anew"]
        rows += [[f"{batch} at once, {way}", f"{value:,.0f}", ""] for way, value in middle.items()]
        rows[-2][2] = f"{ratio:.1f}"
        each = {way: [round(value, 1) for value in values] for way, values in by_way.items()}
        numbers[f"batch {batch}"] = {"each": each, "ratio_of_medians": round(ratio, 2)}
    show(["tokens a CPU-second", "median", "times as many"], rows)
    settings = {"model": SIZES, "vocabulary": VOCABULARY, "steps": given.steps, "repetitions": given.repetitions}
    record("generating", __doc__, given, threads=1, libraries=["torch"], settings=settings, numbers=numbers)


def measured(model: LanguageModel, batch: int, given: Namespace) -> dict[str, list[float]]:
    """Tokens a CPU-second of both ways."""
    draw = torch.Generator().manual_seed(2)
    texts = [torch.randint(4, VOCABULARY, (16 + 3 * row,), generator=draw) for row in range(batch)]
    ways: dict[str, Write] = {"cached": cached, "anew": anew}
    speeds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(given.repetitions):
        found = []
        for way, write in ways.items():
            began = time.process_time()
            found.append(write(model, texts, given.steps))
            speeds[way].append(batch * given.steps / (time.process_time() - began))
        if found[0] != found[1]:
            raise RuntimeError("the two did not write the same")
    return speeds


@torch.inference_mode()
def cached(model: LanguageModel, given: Sequence[Tensor], steps: int) -> list[list[int]]:
    """What every verb does."""
    model = prepared(model)
    rows = [text.numpy() for text in given]
    settings = DecodingSettings(shortest=steps)
    first_B = torch.full((len(rows),), BEGIN)
    start = model.start(texts(rows, begin=BEGIN, end=END))
    found = decoded(model, start, settings, first_B=first_B, end=END, steps=steps, prefix=Prefix(*padded(rows)))
    return [hypotheses[0].tokens for hypotheses in found]


@torch.inference_mode()
def anew(model: LanguageModel, texts: Sequence[Tensor], steps: int) -> list[list[int]]:
    """The plain loop: everything is read again for each token."""
    rows = [[BEGIN, *text.tolist()] for text in texts]
    for _ in range(steps):
        last_B = torch.tensor([len(row) - 1 for row in rows])
        tokens_BT = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
        real_BT = torch.arange(tokens_BT.shape[1]) <= last_B[:, None]
        h_BTD = model.body.hidden(tokens_BT, real_BT)
        logits_BV = model.body.logits(h_BTD[torch.arange(len(rows)), last_B])
        logits_BV[:, END] = -torch.inf
        for row, token in zip(rows, logits_BV.argmax(-1).tolist(), strict=True):
            row.append(token)
    return [row[len(text) + 1 :] for row, text in zip(rows, texts, strict=True)]


if __name__ == "__main__":
    main()
