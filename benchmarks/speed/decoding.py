"""How many tokens per CPU-second does a Transformer decode, beside CTranslate2 with the same weights?

A Transformer of 7.6 million random weights is converted into a CTranslate2 model. Both translate the same batch with
as many steps as asked for, no more and no fewer, greedily and by beam search with 5. The weights being the same, so
must be the translations: how many of them are stands beside the speeds.

V vocabulary · D width · F feed-forward
"""

import tempfile
from functools import partial
from typing import Any

from benchmarks.speed.harness import OURS, Answers, Contestant, Limit, Question, Settings
from benchmarks.speed.peers import CTRANSLATE2, package
from benchmarks.speed.worker import Turns, Work

BEAMS = {"greedy": 1, "beam 5": 5}
SHORTEST, LONGEST = 15, 25  # tokens in a source sentence, every length equally likely


def seqwright(settings: dict[str, Any]) -> Turns:
    """Ours, the encoder and the padding of the batch included."""
    return _ours(settings, "float32")


def bfloat16(settings: dict[str, Any]) -> Turns:
    """Ours with weights rounded to bfloat16."""
    return _ours(settings, "bfloat16")


def _ours(settings: dict[str, Any], precision: Any) -> Turns:
    from benchmarks.speed.ours import translating, writer_of

    decode = translating(writer_of(model_of(settings), precision), rows_of(settings), settings["steps"])
    return {name: partial(decode, beam) for name, beam in BEAMS.items()}


def ctranslate2(settings: dict[str, Any]) -> Turns:
    """CTranslate2 under the same rules, in float32."""
    from benchmarks.speed.ours import written
    from seqwright.inputs.tokenizers import BEGIN, PAD

    rows, steps = rows_of(settings), settings["steps"]
    tokens = tokens_of(settings)
    numbers = {token: number for number, token in enumerate(tokens)}
    with tempfile.TemporaryDirectory() as folder:
        write_ctranslate2(settings, folder)
        threads = settings["threads"]
        translator = package("ctranslate2").Translator(
            folder, compute_type="float32", intra_threads=threads, inter_threads=1
        )

    def decode(beam: int) -> Work:
        found = translator.translate_batch(
            [[tokens[number] for number in row] for row in rows],
            beam_size=beam,
            min_decoding_length=steps,
            max_decoding_length=steps,
            disable_unk=True,
            suppress_sequences=[[tokens[PAD]], [tokens[BEGIN]]],
        )
        return written([[numbers[token] for token in result.hypotheses[0]] for result in found], steps)

    return {name: partial(decode, beam) for name, beam in BEAMS.items()}


def tokens_of(settings: Settings) -> list[str]:
    """The names of a vocabulary."""
    from seqwright.inputs.tokenizers import BEGIN, END, PAD, UNKNOWN

    special = {PAD: "<blank>", UNKNOWN: "<unk>", BEGIN: "<s>", END: "</s>"}
    return [special.get(number, f"t{number}") for number in range(settings["vocabulary"])]


def write_ctranslate2(settings: Settings, folder: str) -> None:
    """The model as one of CTranslate2, with its tokens by name."""
    from seqwright.inputs.tokenizers import BEGIN, END, UNKNOWN
    from seqwright.interchange.ctranslate2 import TokenNames, ctranslate2_spec

    tokens = tokens_of(settings)
    names = TokenNames(tokens, tokens[BEGIN], tokens[END], tokens[UNKNOWN])
    ctranslate2_spec("translator", model_of(settings), names, names).save(folder)


def model_of(settings: Settings) -> Any:
    """The same weights in every process."""
    import torch

    from seqwright.models.transformer import TransformerSettings, transformer

    torch.manual_seed(1)
    size = settings["vocabulary"]
    sizes = TransformerSettings(**settings["model"], dropout=0.1)
    return transformer(sizes, source_vocabulary=size, target_vocabulary=size).eval()


def rows_of(settings: Settings) -> list[Any]:
    """The same sources in every process."""
    import numpy as np

    rng: Any = np.random.default_rng(1)
    lengths = rng.integers(SHORTEST, LONGEST + 1, settings["batch"])
    return [rng.integers(4, settings["vocabulary"], length) for length in lengths]


def limit(settings: Settings, measure: str) -> Limit:
    """Two operations for each weight that a token meets; the source is read once, the target by each hypothesis."""
    model, beam = settings["model"], BEAMS[measure]
    square, inner = model["width"] ** 2, 2 * model["width"] * model["feed_forward"]
    decoder = model["decoder_layers"] * (6 * square + inner) + settings["vocabulary"] * model["width"]
    encoder = model["encoder_layers"] * (4 * square + inner) + model["decoder_layers"] * 2 * square
    sources = ((SHORTEST + LONGEST) / 2 + 1) / settings["steps"]  # tokens read for each that is written
    return Limit("matrix", 2 * (beam * decoder + sources * encoder))


def same(answers: Answers) -> dict[str, Any]:
    """How many translations are the same as ours."""
    found = {}
    for measure, by_name in answers.items():
        for name, texts in by_name.items():
            if name != OURS:
                equal = sum(mine == its for mine, its in zip(by_name[OURS], texts, strict=True))
                found[f"{measure}, same translations as {name}"] = f"{equal} of {len(texts)}"
    return found


def without_bfloat16(settings: Settings) -> str | None:
    """Why bfloat16 is not measured, if it is not."""
    import torch

    from seqwright.devices import computes_bfloat16

    return None if computes_bfloat16(torch.device("cpu")) else "this CPU has no instructions for bfloat16"


QUESTION = Question(
    name="decoding",
    about=__doc__ or "",
    unit="tokens",
    contestants=(
        Contestant(OURS, seqwright),
        Contestant("CTranslate2", ctranslate2, CTRANSLATE2, ("ctranslate2",)),
        Contestant(f"{OURS}, bfloat16", bfloat16, absent=without_bfloat16),
    ),
    full={
        "model": {"width": 256, "heads": 8, "encoder_layers": 3, "decoder_layers": 3, "feed_forward": 1024},
        "vocabulary": 8000,
        "batch": 32,
        "steps": 40,
    },
    quick={"batch": 8, "steps": 10},
    rounds=7,
    limit=limit,
    marks={"greedy": {"CTranslate2": 0.85}, "beam 5": {"CTranslate2": 1.0}},
    compare=same,
)
