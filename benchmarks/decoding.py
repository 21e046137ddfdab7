"""How many tokens a CPU-second does decoding generate, next to CTranslate2 with the very same weights?

A Transformer with random weights is converted into a CTranslate2 model (float32). Both translate the same batch on one
thread with as many steps as asked for, no more and no fewer, greedily and by beam search, in turns within one process.
CPU-seconds are those of the whole process. The weights being the same, so must be the translations: how many of them
are is told with the speeds.
"""

import statistics
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.record import options, record, show
from seqwright.batches import Ids
from seqwright.batches.pairs import sources
from seqwright.decoding import DecodingSettings, decoded
from seqwright.devices import keep_freed_memory
from seqwright.inputs.tokenizers import BEGIN, END, PAD, UNKNOWN
from seqwright.interchange.ctranslate2 import TokenNames, ctranslate2_spec
from seqwright.layers.prepared import prepared
from seqwright.models.encoder_decoder import EncoderDecoder
from seqwright.models.transformer import TransformerSettings, transformer

try:
    import ctranslate2
except ImportError as error:
    raise SystemExit("CTranslate2 is not installed; `pip install 'seqwright[bench]'` installs it.") from error

VOCABULARY = 8000
SIZES: dict[str, Any] = {"width": 256, "heads": 8, "encoder_layers": 3, "decoder_layers": 3, "feed_forward": 1024}
SHORTEST, LONGEST = 15, 25  # tokens in a source sentence, every length equally likely
BEAMS = {"greedy": 1, "beam 5": 5}
MARKS = {"greedy": 2500, "beam 5": 650}  # tokens a CPU-second
NAMES = {PAD: "<blank>", UNKNOWN: "<unk>", BEGIN: "<s>", END: "</s>"}
TOKENS = [NAMES.get(number, f"t{number}") for number in range(VOCABULARY)]
VOCABULARY_NAMES = TokenNames(TOKENS, NAMES[BEGIN], NAMES[END], NAMES[UNKNOWN])
NUMBERS = {token: number for number, token in enumerate(TOKENS)}

Decode = Callable[[list[Ids], int], list[list[int]]]  # sources, width of the beam → the best translation of each


class Speed(NamedTuple):
    """Generated tokens a CPU-second, in each repetition."""

    each: list[float]

    def numbers(self) -> dict[str, Any]:
        """For the record."""
        each = [round(value, 1) for value in self.each]
        return {"best": max(each), "median": round(statistics.median(each), 1), "each": each}


def main() -> None:
    parser = options("decoding", __doc__)
    parser.add_argument("--batch", type=int, default=32, help="sentences in a batch")
    parser.add_argument("--steps", type=int, default=40, help="tokens of each translation")
    parser.add_argument("--repetitions", type=int, default=9, help="measurements of each, in turns")
    given = parser.parse_args()
    if given.quick:
        given.batch, given.steps, given.repetitions = 4, 6, 1
    torch.set_num_threads(1)
    keep_freed_memory()  # as every verb does; CTranslate2 has the same memory
    torch.manual_seed(1)
    model = transformer(
        TransformerSettings(**SIZES, dropout=0.1), source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY
    ).eval()
    draw = np.random.default_rng(1)
    rows = [draw.integers(4, VOCABULARY, size) for size in draw.integers(SHORTEST, LONGEST + 1, given.batch)]
    with tempfile.TemporaryDirectory() as folder:
        ctranslate2_spec("translator", model, VOCABULARY_NAMES, VOCABULARY_NAMES).save(folder)
        decoders = {"seqwright": ours(model, given.steps), "ctranslate2": theirs(Path(folder), given.steps)}
        agreement = {name: agreeing(decoders, rows, beam) for name, beam in BEAMS.items()}
        speeds = measured(decoders, rows, given)
    report(model, given, speeds, agreement)


# ------------------------------------------------------------------------------------------------ the two decoders


def ours(model: EncoderDecoder, steps: int) -> Decode:
    """Seqwright's decoding as every verb does it, the encoder and the padding of the batch included."""
    model = prepared(model)

    @torch.inference_mode()
    def decode(rows: list[Ids], beam: int) -> list[list[int]]:
        settings = DecodingSettings(beam=beam, shortest=steps, longest=steps)
        state = model.start(sources(rows, end=END))
        first_B = torch.full((len(rows),), BEGIN)
        forbidden = (PAD, UNKNOWN, BEGIN)
        found = decoded(model, state, settings, first_B=first_B, end=END, steps=steps, forbidden=forbidden)
        return [hypotheses[0].tokens for hypotheses in found]

    return decode


def theirs(folder: Path, steps: int) -> Decode:
    """CTranslate2's decoding on one thread, under the same rules."""
    translator = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1, inter_threads=1)

    def decode(rows: list[Ids], beam: int) -> list[list[int]]:
        found = translator.translate_batch(
            [[TOKENS[number] for number in row] for row in rows],
            beam_size=beam,
            min_decoding_length=steps,
            max_decoding_length=steps,
            disable_unk=True,
            suppress_sequences=[[TOKENS[PAD]], [TOKENS[BEGIN]]],
        )
        return [[NUMBERS[token] for token in result.hypotheses[0]] for result in found]

    return decode


# ------------------------------------------------------------------------------------------------ measuring


def agreeing(decoders: dict[str, Decode], rows: list[Ids], beam: int) -> int:
    """How many sentences both translate into the same tokens; it also warms both up."""
    one, other = (decode(rows, beam) for decode in decoders.values())
    return sum(mine == its for mine, its in zip(one, other, strict=True))


def measured(decoders: dict[str, Decode], rows: list[Ids], given: Namespace) -> dict[str, dict[str, Speed]]:
    """The speed of each search in each program: A B A B, so that a change of the machine's pace hits both."""
    speeds = {search: {name: Speed([]) for name in decoders} for search in BEAMS}
    for _ in range(given.repetitions):
        for search, beam in BEAMS.items():
            for name, decode in decoders.items():
                began = time.process_time()
                found = decode(rows, beam)
                took = time.process_time() - began
                if any(len(tokens) != given.steps for tokens in found):
                    raise RuntimeError(f"{name} gave a translation that does not have {given.steps} tokens")
                speeds[search][name].each.append(given.batch * given.steps / took)
    return speeds


def report(
    model: EncoderDecoder, given: Namespace, speeds: dict[str, dict[str, Speed]], agreement: dict[str, int]
) -> None:
    parameters = sum(parameter.numel() for parameter in model.parameters())
    numbers: dict[str, Any] = {}
    rows = []
    for search, by_name in speeds.items():
        mine, its = by_name["seqwright"].numbers(), by_name["ctranslate2"].numbers()
        ratio = round(mine["median"] / its["median"], 3)
        numbers[search] = {
            "seqwright": mine,
            "ctranslate2": its,
            "ratio_of_medians": ratio,
            "mark": MARKS[search],
            "reached": {"best": mine["best"] >= MARKS[search], "median": mine["median"] >= MARKS[search]},
            "same_translations": f"{agreement[search]} of {given.batch}",
        }
        for name, found in (("Seqwright", mine), ("CTranslate2 float32", its)):
            rows.append([f"{search}, {name}", f"{found['median']:,.0f}", f"{found['best']:,.0f}"])
        rows.append(["  ratio, same translations", f"{ratio:.2f}", f"{agreement[search]} of {given.batch}"])
    print(f"{parameters:,} parameters, batch of {given.batch}, {given.steps} forced steps, one thread\n")
    show(["generated tokens per CPU-second", "median", "best"], rows)
    record(
        "decoding",
        __doc__,
        given,
        threads=1,
        libraries=["torch", "ctranslate2"],
        settings={
            "model": {**SIZES, "vocabulary": VOCABULARY, "block": "post-norm", "parameters": parameters},
            "weights": "random",
            "source_tokens": [SHORTEST, LONGEST],
            "batch": given.batch,
            "steps": given.steps,
            "repetitions": given.repetitions,
        },
        numbers=numbers,
    )


if __name__ == "__main__":
    main()
