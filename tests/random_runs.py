"""Runs that never saw a text, for tests of what other programs compute with their weights."""

from pathlib import Path
from typing import Any

import torch

from seqwright.inputs.source_text import SourceTextInput
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings
from seqwright.outputs.text import TextOutput
from seqwright.recipe import recipe_from
from seqwright.runs import Run, model_of, open_run, write_run
from seqwright.tasks.wired import Wires
from tests.wires import running_wires

LETTERS = " ".join("abcdefghijklmnopqrs")
MORE_LETTERS = " ".join("ABCDEFGHIJK")


def vocabulary(letters: str) -> Tokenizer:
    return Tokenizer.train([letters] * 3, TokenizerSettings(tokenizer="words"), special=("<mask>",))


def random_run(folder: Path, plain: dict[str, Any], inputs: Wires, scale: float, seed: int = 6) -> Run:
    """A run that never saw a text, its weights large enough that no two tokens are about as likely."""
    torch.manual_seed(seed)
    recipe = recipe_from({"data": {"train": "none.tsv"}, **plain}, name="random")
    model = model_of(recipe, inputs.sizes())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(scale) if parameter.dim() > 1 else parameter.add_(0.3 * torch.randn_like(parameter))
    write_run(recipe, folder, inputs, model)
    return open_run(folder)


def translator(
    folder: Path, block: str, *, shared: bool = True, layers: tuple[int, int] = (2, 3), seed: int = 6
) -> Run:
    sizes: dict[str, Any] = {"width": 16, "heads": 2, "feed_forward": 23, "block": block}
    sizes |= dict(zip(("encoder_layers", "decoder_layers"), layers, strict=True))
    source, target = vocabulary(LETTERS), vocabulary(LETTERS if shared else MORE_LETTERS)
    source = target if shared else source
    inputs = Wires(SourceTextInput(source, shared, 50), TextOutput(target, source, "bleu", False, 50, "drop"))
    plain = {"task": "translation", "model": {"kind": "transformer", **sizes}, "input": {"shared": shared}}
    return random_run(folder, plain, inputs, scale=1.7, seed=seed)


def language_model(folder: Path, *, layers: int = 3) -> Run:
    sizes = {"kind": "gpt", "width": 16, "heads": 2, "layers": layers, "context": 29, "feed_forward": 37}
    inputs = running_wires(vocabulary(LETTERS), context=29, segment=19)
    return random_run(folder, {"task": "language-modeling", "model": sizes}, inputs, scale=9.0)
