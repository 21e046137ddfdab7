"""How long from a cold start to the first translated sentence, beside CTranslate2 and transformers?

A new process for each: it imports, opens a Transformer of 7.6 million random weights from disk, translates one
sentence greedily, at most 20 tokens, and ends. Ours is the command `seqwright translate` and the same from Python;
CTranslate2 is given tokens, without a tokenizer; transformers opens a Marian of the same sizes. The files are in the
system's cache.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.speed.harness import OURS, Contestant, Question
from benchmarks.speed.peers import CTRANSLATE2, TRANSFORMERS, package
from benchmarks.speed.worker import Turns, Work

MEASURE = "first translation"
LONGEST = 20
SENTENCE = "w7 w11 w13 w17 w19 w23 w29"

IN_PYTHON = """
import sys
import seqwright as sw
assert sw.load(sys.argv[1])(sys.argv[2], longest=20, shortest=20).text
"""
IN_CTRANSLATE2 = """
import sys
import ctranslate2
translator = ctranslate2.Translator(sys.argv[1], intra_threads=int(sys.argv[3]))
words = [f"t{number}" for number in range(7, 14)]
found = translator.translate_batch([words], beam_size=1, min_decoding_length=20, max_decoding_length=20)
assert found[0].hypotheses[0]
"""
IN_TRANSFORMERS = """
import sys
import torch
from transformers import MarianMTModel
model = MarianMTModel.from_pretrained(sys.argv[1]).eval()
tokens_BS = torch.tensor([[*range(7, 14), 3]])
assert len(model.generate(tokens_BS, max_new_tokens=20, min_new_tokens=20, num_beams=1)[0]) > 1
"""


def seqwright(settings: dict[str, Any]) -> Turns:
    """The command."""
    run = our_run(settings)
    options = ["--longest", str(LONGEST), "--shortest", str(LONGEST)]
    words = ["-m", "seqwright", "translate", run, SENTENCE, *options]
    return {MEASURE: lambda: process([sys.executable, *words])}


def in_python(settings: dict[str, Any]) -> Turns:
    """`load` and a call."""
    run = our_run(settings)
    return {MEASURE: lambda: process([sys.executable, "-c", IN_PYTHON, run, SENTENCE])}


def our_run(settings: dict[str, Any]) -> str:
    """A run folder with random weights."""
    from benchmarks.speed.made_up import corpus
    from seqwright.recipe import read_recipe
    from seqwright.runs import model_of, write_run

    overrides = [f"model.{name}={value}" for name, value in settings["model"].items()]
    found = corpus(settings, 1000)
    recipe = read_recipe("multi30k-de-en", [*overrides, "input.tokenizer=whitespace"])
    folder = Path(tempfile.mkdtemp()) / "run"
    write_run(recipe, folder, found.wires, model_of(recipe, found.wires.sizes()))
    return str(folder)


def ctranslate2(settings: dict[str, Any]) -> Turns:
    """CTranslate2 with a model of the same sizes."""
    from benchmarks.speed.decoding import write_ctranslate2

    folder = tempfile.mkdtemp()
    write_ctranslate2(settings, folder)
    threads = str(settings["threads"])
    return {MEASURE: lambda: process([sys.executable, "-c", IN_CTRANSLATE2, folder, SENTENCE, threads])}


def transformers(settings: dict[str, Any]) -> Turns:
    """Marian, tokens in and out."""
    size, folder = settings["model"], tempfile.mkdtemp()
    hf = package("transformers")
    config = hf.MarianConfig(
        vocab_size=settings["vocabulary"],
        d_model=size["width"],
        encoder_layers=size["encoder_layers"],
        decoder_layers=size["decoder_layers"],
        encoder_attention_heads=size["heads"],
        decoder_attention_heads=size["heads"],
        encoder_ffn_dim=size["feed_forward"],
        decoder_ffn_dim=size["feed_forward"],
        max_position_embeddings=64,
        pad_token_id=0,
        eos_token_id=3,
        forced_eos_token_id=None,
        decoder_start_token_id=2,
    )
    hf.MarianMTModel(config).save_pretrained(folder)
    return {MEASURE: lambda: process([sys.executable, "-c", IN_TRANSFORMERS, folder])}


def process(command: list[str]) -> Work:
    """A new process, from its start to its end."""
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise RuntimeError(lines[-1] if lines else f"exit code {done.returncode}")
    return Work(1)


QUESTION = Question(
    name="cold-start",
    about=__doc__ or "",
    unit="starts",
    contestants=(
        Contestant(OURS, seqwright),
        Contestant(f"{OURS} in Python", in_python),
        Contestant("CTranslate2", ctranslate2, CTRANSLATE2, ("ctranslate2",)),
        Contestant("transformers", transformers, TRANSFORMERS, ("torch", "transformers")),
    ),
    full={
        "model": {"width": 256, "heads": 8, "encoder_layers": 3, "decoder_layers": 3, "feed_forward": 1024},
        "vocabulary": 8000,
        "pairs": 499,
    },
    quick={"vocabulary": 997, "pairs": 101},
    clock="wall",
    warm=False,
)
