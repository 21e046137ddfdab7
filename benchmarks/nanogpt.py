"""How fast and how well does our GPT learn Tiny Shakespeare by nanoGPT's recipe for a CPU, next to nanoGPT's own code?

    git clone https://github.com/karpathy/nanoGPT
    python -m benchmarks.nanogpt --nanogpt nanoGPT

The recipe: 4 layers, 4 heads, width 128, context 64, 12 windows a batch, 2,000 steps, no dropout. nanoGPT's `train.py`
is run as its README says, on the same text with the same split; its two estimates of the loss, before and after, are
taken off its time. Ours is trained by `seqwright train shakespeare-nanogpt`, with twice its learning rate and in
bfloat16, which nanoGPT has on a GPU but not on a CPU; what float32 takes, and where nanoGPT's own rate leads, is told
beside it. All take turns, each in a process of its own on one thread. Losses are nats a character over the whole
validation part, read in windows of 64 that follow each other. `shakespeare-gpt` is what we would rather train in the
time that nanoGPT takes.
"""

import importlib.util
import os
import pickle
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.language import judged
from benchmarks.record import REPOSITORY, options, record, show
from seqwright.data.cards import card
from seqwright.data.files import content_hash

THEIR_FILES = ("model.py", "train.py", "configurator.py", "config/train_shakespeare_char.py")
CONTEXT, STEPS, MARK = 64, 2000, 1.88
SIZES = {"block_size": CONTEXT, "batch_size": 12, "n_layer": 4, "n_head": 4, "n_embd": 128, "dropout": 0.0}
SAME, BEST = "shakespeare-nanogpt", "shakespeare-gpt"
OURS = {
    SAME: [SAME],
    f"{SAME} in float32": [SAME, "training.precision=float32"],
    f"{SAME} at nanoGPT's rate": [SAME, "training.rate=0.001"],
    BEST: [BEST],
}


class Training(NamedTuple):
    """What a training took and what it came to."""

    seconds: float  # in training steps
    cpu_seconds: float  # of the whole process
    loss: float


def main() -> None:
    parser = options("nanogpt", __doc__)
    parser.add_argument(
        "--nanogpt",
        type=Path,
        default=os.environ.get("NANOGPT"),
        help="the folder of nanoGPT's code (default: $NANOGPT)",
    )
    parser.add_argument("--turns", type=int, default=3, help="trainings of each, one after the other")
    parser.add_argument("--runs", type=Path, default=REPOSITORY / "runs", help="where the run folders are")
    given = parser.parse_args()
    if given.nanogpt is None or not all((Path(given.nanogpt) / name).is_file() for name in THEIR_FILES):
        raise SystemExit("nanoGPT's code is not there: clone it and name its folder with --nanogpt or $NANOGPT.")
    steps, turns = (20, 1) if given.quick else (STEPS, given.turns)
    found: dict[str, list[Training]] = {name: [] for name in ("nanoGPT", *OURS)}
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(given.nanogpt), Path(folder))
        for turn in range(turns):
            found["nanoGPT"].append(theirs(Path(folder), steps))
            for name, recipe in OURS.items():
                found[name].append(ours(recipe, turn, given))
    report(found, given)


def ours(recipe: list[str], turn: int, given: Namespace) -> Training:
    """A training by `seqwright train` with a seed of its own."""
    folder = given.runs / f"{recipe[0]}-turn-{turn}{'-quick' if given.quick else ''}"
    words = ["train", *recipe, "--run", str(folder), "--fresh", "--yes"]
    words += ["training.threads=1", f"training.seed={turn + 1}"]
    quick = [f"training.{name}=20" for name in ("steps", "validate_every", "save_every")] if given.quick else []
    cpu = run([sys.executable, "-m", "seqwright", *words, *quick], folder=None)[1]
    numbers = judged(folder)
    return Training(numbers["training_seconds"], cpu, numbers["scores"]["valid"]["loss"])


# ------------------------------------------------------------------------------------------------ nanoGPT


def prepare(code: Path, folder: Path) -> None:
    """NanoGPT's code and data in a folder of their own, the data as its `prepare.py` has it."""
    for name in THEIR_FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(code / name, folder / name)
    data = folder / "data" / "shakespeare_char"
    data.mkdir(parents=True)
    corpus = card("tinyshakespeare").open()
    parts = {"train": "".join(corpus.examples("train")), "val": "".join(corpus.examples("valid"))}
    letters = sorted(set("".join(parts.values())))
    numbers = {letter: number for number, letter in enumerate(letters)}
    for part, text in parts.items():
        np.array([numbers[letter] for letter in text], dtype=np.uint16).tofile(data / f"{part}.bin")
    (data / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": len(letters)}))


def theirs(folder: Path, steps: int) -> Training:
    """A training by nanoGPT's `train.py`."""
    sizes = [f"--{name}={value}" for name, value in SIZES.items()]
    length = [f"--{name}={steps}" for name in ("max_iters", "lr_decay_iters", "eval_interval")]
    usual = ["--device=cpu", "--compile=False", "--eval_iters=20", "--log_interval=1", "--always_save_checkpoint=True"]
    words = ["train.py", "config/train_shakespeare_char.py", *sizes, *length, *usual]
    said, cpu = run([sys.executable, "-u", *words], folder=folder)
    took = {int(step): float(time) for step, time in re.findall(r"^iter (\d+): loss .* time ([\d.]+)ms", said, re.M)}
    plain = [time for step, time in took.items() if 0 < step < steps]  # the first and the last hold an estimate
    return Training(sum(plain) / 1000 * steps / len(plain), cpu, validation_loss(folder))


@torch.no_grad()
def validation_loss(folder: Path) -> float:
    """Over the whole validation part, window after window, by nanoGPT's own model."""
    spec = importlib.util.spec_from_file_location("nanogpt_model", folder / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    saved = torch.load(folder / "out-shakespeare-char" / "ckpt.pt", weights_only=True)
    model: Any = module.GPT(module.GPTConfig(**saved["model_args"]))
    model.load_state_dict(saved["model"])
    model.eval()
    part = np.fromfile(folder / "data" / "shakespeare_char" / "val.bin", dtype=np.uint16)
    ids, total = torch.from_numpy(part.astype(np.int64)), 0.0
    for low in range(0, len(ids) - 1, CONTEXT):
        wanted = ids[low + 1 : low + 1 + CONTEXT]
        total += float(model(ids[low : low + len(wanted)][None], wanted[None])[1]) * len(wanted)
    return total / (len(ids) - 1)


def run(words: list[str], *, folder: Path | None) -> tuple[str, float]:
    """What a command printed, and its CPU-seconds; on one thread."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    single = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(words, cwd=folder, env=single, check=True, stdout=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# ------------------------------------------------------------------------------------------------ what was found


def report(found: dict[str, list[Training]], given: Namespace) -> None:
    middle = {
        name: Training(*(statistics.median(values) for values in zip(*trainings, strict=True)))
        for name, trainings in found.items()
    }
    show(
        ["Tiny Shakespeare, one thread", "validation loss", "seconds", "CPU-seconds in all", "of nanoGPT's seconds"],
        [
            [
                name,
                f"{one.loss:.4f}",
                f"{one.seconds:.1f}",
                f"{one.cpu_seconds:.1f}",
                f"{one.seconds / middle['nanoGPT'].seconds:.2f}",
            ]
            for name, one in middle.items()
        ],
    )
    same, best = middle[SAME], middle[BEST]
    record(
        "nanogpt",
        __doc__,
        given,
        threads=1,
        libraries=["torch"],
        settings={
            "nanogpt": {
                **SIZES,
                "steps": STEPS,
                "sha256": {name: content_hash(Path(given.nanogpt) / name) for name in THEIR_FILES},
            },
            "turns": len(found["nanoGPT"]),
            "ours": OURS,
        },
        numbers={
            "median": {name: {k: round(v, 4) for k, v in one._asdict().items()} for name, one in middle.items()},
            "each": {name: [one._asdict() for one in trainings] for name, trainings in found.items()},
            "mark": MARK,
            "reached": {
                "loss": same.loss <= MARK,
                "faster": same.seconds < middle["nanoGPT"].seconds,
                "better_in_the_same_time": best.seconds <= middle["nanoGPT"].seconds and best.loss < same.loss,
            },
        },
    )


if __name__ == "__main__":
    main()
