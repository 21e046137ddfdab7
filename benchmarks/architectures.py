"""How many tokens a CPU-second does each architecture write, next to JoeyNMT's recurrent decoder?

    python -m benchmarks.architectures

Every model of the ladder from the thought vector to the Transformer, in the sizes of its recipe but with random weights
and one vocabulary (ByteNet, which writes letters, with its own), translates the same batch on one thread with as many
steps as asked for, no more and no fewer, greedily and by beam search, in float32 and, where the processor has
instructions for it, in bfloat16 (`translate --precision`); all take turns within one process. CPU-seconds are those of
the whole process, the reading of the source included. Where JoeyNMT is installed (2.3 says that it needs an old
protobuf; `pip install --no-deps joeynmt` and what it then misses will do), its RNN with Bahdanau's attention stands
beside ours: GRUs of the same widths, a bidirectional encoder, input feeding; float32, for on a CPU it offers no other.
"""

import statistics
import time
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks.record import options, record, show
from benchmarks.speed.recurrent import joey_model
from seqwright.batches import Ids
from seqwright.batches.pairs import sources
from seqwright.decoding import DecodingSettings, decoded
from seqwright.devices import Precision, computes_bfloat16, in_precision, keep_freed_memory
from seqwright.inputs.tokenizers import BEGIN, END, PAD, UNKNOWN
from seqwright.recipe import read_recipe
from seqwright.runs import model_of, parameters

RECIPES = {
    "LSTM, thought vector": "multi30k-de-en-lstm",
    "context GRU": "multi30k-de-en-context-gru",
    "Bahdanau": "multi30k-de-en-bahdanau",
    "Luong": "multi30k-de-en-luong",
    "GNMT": "multi30k-de-en-gnmt",
    "Deep-Att": "multi30k-de-en-deep-att",
    "ByteNet": "multi30k-de-en-bytenet",
    "ConvS2S": "multi30k-de-en-convs2s",
    "mixture of experts": "multi30k-de-en-moe",
    "Transformer": "multi30k-de-en",
}
JOEY = "JoeyNMT, Bahdanau"
VOCABULARY, LETTERS = 5000, 120
SHORTEST, LONGEST = 15, 25  # tokens in a source sentence, every length equally likely
WAYS: dict[str, tuple[int, Precision]] = {"greedy": (1, "float32"), "beam 5": (5, "float32")}
if computes_bfloat16(torch.device("cpu")):
    WAYS |= {"greedy, bfloat16": (1, "bfloat16"), "beam 5, bfloat16": (5, "bfloat16")}
MARK = 3.0  # times JoeyNMT's speed, in beam search

Decode = Callable[[list[Ids], int], int]  # sources, width of the beam → how many tokens were written
Decoders = dict[Precision, Decode]


def main() -> None:
    parser = options("architectures", __doc__)
    parser.add_argument("--batch", type=int, default=32, help="sentences in a batch")
    parser.add_argument("--steps", type=int, default=40, help="tokens of each translation")
    parser.add_argument("--repetitions", type=int, default=5, help="measurements of each, in turns")
    given = parser.parse_args()
    if given.quick:
        given.batch, given.steps, given.repetitions = 4, 6, 1
    torch.set_num_threads(1)
    keep_freed_memory()
    decoders: dict[str, Decoders] = {}
    sizes: dict[str, int] = {}
    for name, recipe in RECIPES.items():
        decoders[name], sizes[name] = ours(recipe, given.steps)
    peer = joey(given.steps)
    if peer is None:
        print("JoeyNMT is not installed: it is left out")
    else:
        decoders[JOEY], sizes[JOEY] = {"float32": peer[0]}, peer[1]
    report(given, sizes, measured(decoders, given))


def ours(recipe: str, steps: int) -> tuple[Decoders, int]:
    """The decoding of a recipe's model in each precision, and how many parameters it has."""
    settings = read_recipe(recipe)
    size = LETTERS if settings.input.tokenizer == "characters" else VOCABULARY
    model: Any = model_of(settings, {"source_vocabulary": size, "target_vocabulary": size, "shared": True})
    model.eval()
    precisions = {precision for _, precision in WAYS.values()}
    decoders = {precision: our_decoder(in_precision(model, precision), size, steps) for precision in precisions}
    return decoders, parameters(model)


def our_decoder(model: Any, size: int, steps: int) -> Decode:
    """The decoding of a model that writes `size` tokens."""

    @torch.inference_mode()
    def decode(rows: list[Ids], beam: int) -> int:
        state = model.start(sources([row % (size - 4) + 4 for row in rows], end=END))
        found = decoded(
            model,
            state,
            DecodingSettings(beam=beam, shortest=steps, longest=steps),
            first_B=torch.full((len(rows),), BEGIN),
            end=END,
            steps=steps,
            forbidden=(PAD, UNKNOWN, BEGIN),
        )
        return sum(len(hypotheses[0].log_probabilities) for hypotheses in found)

    return decode


def joey(steps: int) -> tuple[Decode, int] | None:
    """JoeyNMT's decoding of a model like our Bahdanau, and its parameters; nothing where it is not installed."""
    try:
        from joeynmt.batch import Batch
        from joeynmt.search import search
    except ImportError:
        return None
    model, special = joey_model(VOCABULARY)
    model.eval()

    def decode(rows: list[Ids], beam: int) -> int:
        batch = sources([row % (VOCABULARY - 4) + 4 for row in rows], end=special["eos_id"])
        source_BS = batch.source_BS.masked_fill(~batch.source_real_BS, special["pad_id"])
        given = Batch(
            src=source_BS,
            src_length=batch.source_real_BS.sum(1),
            src_prompt_mask=None,
            trg=None,
            trg_prompt_mask=None,
            indices=torch.arange(len(rows)),
            device=torch.device("cpu"),
            pad_index=special["pad_id"],
            eos_index=special["eos_id"],
            is_train=False,
        )
        found, _, _ = search(
            model, given, max_output_length=steps, beam_size=beam, beam_alpha=0.6, min_output_length=steps
        )
        return int(found.size)

    return decode, parameters(model)


def measured(decoders: dict[str, Decoders], given: Namespace) -> dict[str, dict[str, list[float]]]:
    """Tokens a CPU-second of each decoder, in each search, in each repetition; all take turns."""
    draw = np.random.default_rng(1)
    lengths = sorted(draw.integers(SHORTEST, LONGEST + 1, given.batch).tolist(), reverse=True)  # as JoeyNMT wants them
    rows = [draw.integers(4, VOCABULARY, size) for size in lengths]
    speeds: dict[str, dict[str, list[float]]] = {name: {} for name in decoders}
    for name, several in decoders.items():  # to warm up, and to see that all write as much as asked for
        for decode in several.values():
            found = decode(rows, 1)
            assert found == given.batch * given.steps, f"{name} wrote {found} tokens"
    for _ in range(given.repetitions):
        for way, (beam, precision) in WAYS.items():
            for name, several in decoders.items():
                if precision in several:
                    began = time.process_time()
                    tokens = several[precision](rows, beam)
                    speeds[name].setdefault(way, []).append(tokens / (time.process_time() - began))
    return speeds


def report(given: Namespace, sizes: dict[str, int], speeds: dict[str, dict[str, list[float]]]) -> None:
    """The table, and the record."""
    numbers: dict[str, Any] = {
        name: {
            "parameters": sizes[name],
            **{
                way: {"best": round(max(each), 1), "median": round(statistics.median(each), 1)}
                for way, each in of_way.items()
            },
        }
        for name, of_way in speeds.items()
    }
    if JOEY in numbers:
        numbers["Bahdanau beside JoeyNMT"] = {
            way: round(numbers["Bahdanau"][way]["median"] / numbers[JOEY][way.split(",")[0]]["median"], 2)
            for way in WAYS
        }
    told = []
    for name in speeds:
        there = (numbers[name].get(way) for way in WAYS)
        cells = [f"{found['median']:,.0f} ({found['best']:,.0f})" if found else "" for found in there]
        told.append([name, f"{sizes[name]:,}", *cells])
    show(["architecture", "parameters", *WAYS], told)
    print("tokens a CPU-second, median (best)")
    if JOEY in numbers:
        print(f"Bahdanau beside JoeyNMT: {numbers['Bahdanau beside JoeyNMT']}; mark in beam search: {MARK}")
    settings = {name: read_recipe(recipe).model.model_dump(mode="json") for name, recipe in RECIPES.items()}
    settings |= {"batch": given.batch, "steps": given.steps, "repetitions": given.repetitions}
    libraries = ["torch", *(["joeynmt"] if JOEY in numbers else [])]
    record("architectures", __doc__, given, threads=1, libraries=libraries, settings=settings, numbers=numbers)


if __name__ == "__main__":
    main()
