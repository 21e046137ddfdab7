"""How many tokens per CPU-second does GPT-2 small generate, beside transformers' `generate` and what memory allows?

124 million random weights in float32, one prompt and eight of different length, greedily, as many tokens as asked for.
One text can be no faster than its weights are read from memory, once for each token: that is the limit. What the kept
keys and values are worth shows beside a loop that reads the whole text again for each token.

L layers · D width · V vocabulary
"""

from functools import partial
from typing import Any

from benchmarks.speed.decoding import without_bfloat16
from benchmarks.speed.harness import OURS, Answers, Contestant, Limit, Question, Settings
from benchmarks.speed.peers import TRANSFORMERS, package
from benchmarks.speed.worker import Turns, Work

UNCACHED = "without cached keys"
BATCHES = {"one prompt": 1, "eight prompts": 8}


def seqwright(settings: dict[str, Any]) -> Turns:
    """What `generate` does."""
    return _ours(settings, "float32")


def bfloat16(settings: dict[str, Any]) -> Turns:
    """The same with weights rounded to bfloat16."""
    return _ours(settings, "bfloat16")


def int8(settings: dict[str, Any]) -> Turns:
    """The same with products rounded to int8, whose weights are a quarter of the bytes of the limit."""
    return _ours(settings, "int8")


def _ours(settings: dict[str, Any], precision: Any) -> Turns:
    import torch

    from benchmarks.speed.ours import writer_of, written
    from seqwright.batches import padded
    from seqwright.batches.text import texts
    from seqwright.decoding import DecodingSettings, Prefix, decoded

    model, steps = writer_of(model_of(settings), precision), settings["steps"]
    begin = end = settings["vocabulary"] - 1  # GPT-2 has one token for both

    @torch.inference_mode()
    def write(count: int) -> Work:
        rows = prompts(settings, count)
        found = decoded(
            model,
            model.start(texts(rows, begin=begin, end=end)),
            DecodingSettings(shortest=steps),
            first_B=torch.full((count,), begin),
            end=end,
            steps=steps,
            prefix=Prefix(*padded(rows)),
        )
        return written([hypotheses[0].tokens for hypotheses in found], steps)

    return {name: partial(write, count) for name, count in BATCHES.items()}


def without_cache(settings: dict[str, Any]) -> Turns:
    """The plain loop: all is read again for each token."""
    import torch

    model, steps, end = model_of(settings), settings["steps"], settings["vocabulary"] - 1

    @torch.inference_mode()
    def write() -> Work:
        [row] = prompts(settings, 1)
        tokens_1T = torch.tensor([[end, *row.tolist()]])
        for _ in range(steps):
            logits_1V = model.body.logits(model.body.hidden(tokens_1T)[:, -1])
            logits_1V[:, end] = -torch.inf
            tokens_1T = torch.cat([tokens_1T, logits_1V.argmax(-1, keepdim=True)], dim=1)
        return Work(steps, [tokens_1T[0, len(row) + 1 :].tolist()])

    return {"one prompt": write}


def transformers(settings: dict[str, Any]) -> Turns:
    """`generate` of transformers; prompts are padded on the left, as it asks for."""
    import torch

    hf = package("transformers")
    size, steps, end = settings["model"], settings["steps"], settings["vocabulary"] - 1
    torch.manual_seed(1)
    config = hf.GPT2Config(
        vocab_size=settings["vocabulary"],
        n_positions=size["context"],
        n_embd=size["width"],
        n_layer=size["layers"],
        n_head=size["heads"],
        bos_token_id=end,
        eos_token_id=end,
    )
    model: Any = hf.GPT2LMHeadModel(config).eval()

    @torch.inference_mode()
    def write(count: int) -> Work:
        rows = [[end, *row.tolist()] for row in prompts(settings, count)]
        longest = max(map(len, rows))
        tokens_BT = torch.tensor([[end] * (longest - len(row)) + row for row in rows])
        real_BT = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows])
        found_BT = model.generate(
            tokens_BT,
            attention_mask=real_BT,
            do_sample=False,
            min_new_tokens=steps,
            max_new_tokens=steps,
            pad_token_id=end,
        )
        if found_BT.shape[1] != longest + steps:
            raise RuntimeError(f"a text does not have {steps} tokens")
        return Work(count * steps)

    return {name: partial(write, count) for name, count in BATCHES.items()}


def prompts(settings: Settings, count: int) -> list[Any]:
    """Prompts of different length."""
    import numpy as np

    rng = np.random.default_rng(1)
    return [rng.integers(0, settings["vocabulary"] - 1, settings["prompt"] + 4 * row) for row in range(count)]


def model_of(settings: Settings) -> Any:
    """The same weights in every process."""
    import torch

    from seqwright.models.gpt import GPT, GPTSettings
    from seqwright.models.language_model import LanguageModel

    torch.manual_seed(1)
    size = GPTSettings.model_validate({**settings["model"], "dropout": 0.0})
    return LanguageModel(GPT(size, vocabulary=settings["vocabulary"])).eval()


def without_int8(settings: Settings) -> str | None:
    """Why int8 is not measured, if it is not."""
    import torch

    from seqwright.devices import computes_int8

    return None if computes_int8(torch.device("cpu")) else "there are no kernels for int8 on this processor"


def limit(settings: Settings, measure: str) -> Limit:
    """Every weight in a matrix product, of four bytes, is read for each token, or for those of all prompts together."""
    size = settings["model"]
    weights = 12 * size["layers"] * size["width"] ** 2 + settings["vocabulary"] * size["width"]
    return Limit("memory", 4 * weights / BATCHES[measure])


def same(answers: Answers) -> dict[str, Any]:
    """Whether the loop without cached keys and values writes the same."""
    by_name = answers["one prompt"]
    return {"the same without cached keys": by_name[OURS] == by_name[UNCACHED]} if UNCACHED in by_name else {}


QUESTION = Question(
    name="gpt-generating",
    about=__doc__ or "",
    unit="tokens",
    contestants=(
        Contestant(OURS, seqwright),
        Contestant("transformers", transformers, TRANSFORMERS, ("torch", "transformers")),
        Contestant(f"{OURS}, bfloat16", bfloat16, absent=without_bfloat16),
        Contestant(f"{OURS}, int8", int8, absent=without_int8),
        Contestant(UNCACHED, without_cache),
    ),
    full={
        "model": {"width": 768, "heads": 12, "layers": 12, "context": 1024},
        "vocabulary": 50257,
        "prompt": 32,
        "steps": 48,
    },
    quick={"model": {"width": 256, "heads": 4, "layers": 4, "context": 256}, "vocabulary": 8000, "steps": 8},
    limit=limit,
    marks={"eight prompts": {"transformers": 1.3}},
    compare=same,
)
