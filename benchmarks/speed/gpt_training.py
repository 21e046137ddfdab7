"""How many tokens per CPU-second does a GPT learn from, beside nanoGPT and GPT-2 of transformers, eager and compiled?

Two sizes, those of nanoGPT's Shakespeare for a CPU (0.8 million parameters) and for a GPU (10.7 million), on random
letters: forward and backward pass, clipping and AdamW, float32, no dropout. Ours trains by `fit`, all that it reports
and checks included; nanoGPT's model and loop are those of its train.py; transformers has the usual loop around its
GPT-2. Batches are made from the text in every turn.

L layers · D width · T context · V vocabulary
"""

import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.speed.harness import OURS, Contestant, Limit, Question, Settings
from benchmarks.speed.peers import TRANSFORMERS, package, without_nanogpt
from benchmarks.speed.worker import Turns, Work

LETTERS = "".join(chr(33 + number) for number in range(62))  # with the three special tokens of ours, 65


def seqwright(settings: dict[str, Any]) -> Turns:
    """Ours, with the recipe of nanoGPT's CPU size."""
    return _ours(settings)


def seqwright_compiled(settings: dict[str, Any]) -> Turns:
    """The same with `training.compile`."""
    return _ours(settings, "training.compile=true")


def _ours(settings: dict[str, Any], *overrides: str) -> Turns:
    from seqwright.devices import keep_freed_memory
    from seqwright.inputs import Room
    from seqwright.inputs.running_text import RunningTextInput, RunningTextSettings
    from seqwright.outputs.next_token import NextTokenOutput
    from seqwright.recipe import read_recipe
    from seqwright.runs import model_of, objective_of
    from seqwright.tasks.wired import Wires
    from seqwright.training.loop import fit

    keep_freed_memory()

    def loop(name: str) -> Any:
        size = settings["sizes"][name]
        chosen = [f"model.{key}={size[key]}" for key in ("width", "heads", "layers", "context")]
        tokens, steps = size["batch"] * size["context"], settings["steps"][name]
        chosen += [f"training.tokens={tokens}", f"training.steps={steps}", "training.precision=float32"]
        recipe = read_recipe("shakespeare-nanogpt", [*chosen, f"input.segment={size['context']}", *overrides])
        text, room = [text_of(settings)], Room(context=size["context"], windows=True, packs=True)
        letters = RunningTextSettings(tokenizer="characters", segment=size["context"])
        wires = Wires.learn(RunningTextInput, NextTokenOutput, text, letters, room=room)
        batches: Any = wires.training_batches(text, tokens=tokens)
        model, objective = model_of(recipe, wires.sizes()), objective_of(recipe)

        def turn() -> Work:
            fit(model, objective, batches, settings=recipe.training, rate=lambda step: 0.001)
            return Work(steps * tokens)

        return turn

    return {name: loop(name) for name in settings["sizes"]}


def nanogpt(settings: dict[str, Any]) -> Turns:
    """The model of a checkout, in the loop of its train.py."""
    import numpy as np
    import torch

    spec = importlib.util.spec_from_file_location("nanogpt_model", Path(settings["nanogpt"]) / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    path = Path(tempfile.mkdtemp()) / "train.bin"
    np.array(ids_of(settings), dtype=np.uint16).tofile(path)

    def loop(name: str) -> Any:
        size, steps = settings["sizes"][name], settings["steps"][name]
        context, batch = size["context"], size["batch"]
        sizes = {"n_layer": size["layers"], "n_head": size["heads"], "n_embd": size["width"]}
        config = module.GPTConfig(
            block_size=context, vocab_size=len(LETTERS) + 3, dropout=0.0, bias=settings["bias"], **sizes
        )
        model = module.GPT(config).train()
        optimizer = model.configure_optimizers(0.1, 0.001, (0.9, 0.99), "cpu")

        def get_batch() -> Any:
            data = np.memmap(path, dtype=np.uint16, mode="r")
            ix = torch.randint(len(data) - context, (batch,))
            x = torch.stack([torch.from_numpy((data[i : i + context]).astype(np.int64)) for i in ix])
            y = torch.stack([torch.from_numpy((data[i + 1 : i + 1 + context]).astype(np.int64)) for i in ix])
            return x, y

        def turn() -> Work:
            x, y = get_batch()
            for _ in range(steps):
                for group in optimizer.param_groups:
                    group["lr"] = 0.001
                _, loss = model(x, y)
                x, y = get_batch()
                torch.autograd.backward(loss)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                loss.item()
            return Work(steps * batch * context)

        return turn

    return {name: loop(name) for name in settings["sizes"]}


def transformers(settings: dict[str, Any]) -> Turns:
    """GPT-2 of transformers in the usual loop."""
    return _transformers(settings, compiled=False)


def transformers_compiled(settings: dict[str, Any]) -> Turns:
    """The same behind `torch.compile`; what compiling takes is not counted."""
    return _transformers(settings, compiled=True)


def _transformers(settings: dict[str, Any], *, compiled: bool) -> Turns:
    import torch

    hf = package("transformers")
    ids = torch.tensor(ids_of(settings))

    def loop(name: str) -> Any:
        size, steps = settings["sizes"][name], settings["steps"][name]
        context, batch = size["context"], size["batch"]
        config = hf.GPT2Config(
            vocab_size=len(LETTERS) + 3,
            n_positions=context,
            n_embd=size["width"],
            n_layer=size["layers"],
            n_head=size["heads"],
            **dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0),
            use_cache=False,
            bos_token_id=0,
            eos_token_id=0,
        )
        model: Any = hf.GPT2LMHeadModel(config).train()
        called = torch.compile(model) if compiled else model
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.001, weight_decay=0.1, fused=True)

        def turn() -> Work:
            for _ in range(steps):
                starts = torch.randint(len(ids) - context - 1, (batch,)).tolist()
                x = torch.stack([ids[i : i + context] for i in starts])
                y = torch.stack([ids[i + 1 : i + 1 + context] for i in starts])
                logits = called(input_ids=x).logits
                loss = torch.nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), y.view(-1))
                torch.autograd.backward(loss)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                loss.item()
            return Work(steps * batch * context)

        return turn

    return {name: loop(name) for name in settings["sizes"]}


def ids_of(settings: Settings) -> list[int]:
    """Random letters as numbers."""
    import numpy as np

    numbers: Any = np.random.default_rng(1).integers(0, len(LETTERS), settings["letters"])
    return list(map(int, numbers))


def text_of(settings: Settings) -> str:
    """The same as text."""
    return "".join(LETTERS[number] for number in ids_of(settings))


def limit(settings: Settings, measure: str) -> Limit:
    """Six operations for each weight in a matrix product, forward and backward, and attention to what is before."""
    size = settings["sizes"][measure]
    width, layers = size["width"], size["layers"]
    weights = 12 * layers * width**2 + (len(LETTERS) + 3) * width
    return Limit("matrix", 6 * weights + 6 * layers * width * size["context"])


def only_full(settings: Settings) -> str | None:
    """Compiling takes half a minute."""
    return None if settings["compiled"] else "compiling is left out in --quick"


QUESTION = Question(
    name="gpt-training",
    about=__doc__ or "",
    unit="tokens",
    contestants=(
        Contestant(OURS, seqwright),
        Contestant("nanoGPT", nanogpt, absent=without_nanogpt),
        Contestant("transformers", transformers, TRANSFORMERS, ("torch", "transformers")),
        Contestant("transformers, compiled", transformers_compiled, TRANSFORMERS, ("torch", "transformers"), only_full),
        Contestant(f"{OURS}, compiled", seqwright_compiled, absent=only_full),
    ),
    full={
        "sizes": {
            "0.8 M": {"width": 128, "heads": 4, "layers": 4, "context": 64, "batch": 12},
            "10.7 M": {"width": 384, "heads": 6, "layers": 6, "context": 256, "batch": 8},
        },
        "steps": {"0.8 M": 20, "10.7 M": 1},
        "letters": 200_000,
        "bias": False,
        "compiled": True,
    },
    quick={
        "sizes": {"0.8 M": {"width": 128, "heads": 4, "layers": 4, "context": 64, "batch": 12}},
        "steps": {"0.8 M": 5},
        "letters": 20_000,
        "compiled": False,
    },
    rounds=5,
    limit=limit,
    marks={
        "0.8 M": {"nanoGPT": 1.05, "transformers": 1.4, "transformers, compiled": 1.1},
        "10.7 M": {"nanoGPT": 1.0, "transformers": 1.3, "transformers, compiled": 1.2},
    },
)
