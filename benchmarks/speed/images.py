"""How many images per CPU-second does a ViT learn from, and read, beside transformers' ViT?

ViT-Ti and ViT-S with patches of 16 (Touvron et al. 2021, table 1) on made-up images of 224 × 224, 1,000 classes, the
same random weights in both, float32, no dropout. Training: forward and backward pass, clipping and AdamW; ours by
`fit`, all that it reports and checks included, transformers in the usual loop. Inference: the logits of a batch, which
must be the same.

L layers · D width · P patches · F feed-forward
"""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.speed.harness import OURS, Answers, Contestant, Limit, Question, Settings
from benchmarks.speed.peers import TRANSFORMERS, package
from benchmarks.speed.worker import Turns, Work

TRAINING, INFERENCE = "training", "inference"
COMPARED = 2  # images


def seqwright(settings: dict[str, Any]) -> Turns:
    """Ours, opened from what transformers has written."""
    from seqwright.devices import keep_freed_memory
    from seqwright.runs import load

    keep_freed_memory()
    turns: dict[str, Any] = {}
    for name, size in settings["sizes"].items():
        with tempfile.TemporaryDirectory() as folder:
            written(size, settings, Path(folder) / "vit")
            os.environ["SEQWRIGHT_CACHE"] = folder
            turns |= _ours(name, load(Path(folder) / "vit").model, settings)
    return turns


def _ours(name: str, model: Any, settings: Settings) -> Mapping[str, Any]:
    import torch

    from seqwright.batches.labelled import Labelled
    from seqwright.objectives.labels import Labels
    from seqwright.training.loop import fit
    from seqwright.training.settings import TrainingSettings

    pixels, labels = images(settings)
    batch = Labelled(pixels, torch.ones(len(pixels), 1, dtype=torch.bool), labels)
    training = TrainingSettings(steps=settings["steps"], optimizer="adamw", decay=0.1, clip=1.0, threads=None)

    def learn() -> Work:
        fit(model.train(), Labels(), Always(batch), settings=training, rate=lambda step: 1e-5)
        return Work(settings["steps"] * len(batch))

    @torch.inference_mode()
    def read() -> Work:
        return Work(len(batch), model.eval()(batch)[0][:COMPARED].tolist())

    return {f"{name} {INFERENCE}": read, f"{name} {TRAINING}": learn}


class Always:
    """The same batch in every step."""

    def __init__(self, batch: Any) -> None:
        self.batch = batch

    def at(self, place: Any) -> Any:
        """The batch."""
        return self.batch

    def after(self, place: Any) -> Any:
        """The same place in the next epoch."""
        return place._replace(epoch=place.epoch + 1)

    def in_epoch(self, epoch: int) -> int:
        """One."""
        return 1

    def once(self) -> Iterator[Any]:
        """The batch."""
        yield self.batch

    def padding(self, epoch: int = 0) -> float:
        """None."""
        return 0.0


def transformers(settings: dict[str, Any]) -> Turns:
    """ViT of transformers in the usual loop."""
    turns: dict[str, Any] = {}
    for name, size in settings["sizes"].items():
        with tempfile.TemporaryDirectory() as folder:
            written(size, settings, Path(folder))
            model = package("transformers").ViTForImageClassification.from_pretrained(folder)
        turns |= _theirs(name, model, settings)
    return turns


def _theirs(name: str, model: Any, settings: Settings) -> Mapping[str, Any]:
    import torch

    pixels, labels = images(settings)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.1, fused=True)

    def learn() -> Work:
        model.train()
        for _ in range(settings["steps"]):
            loss = torch.nn.functional.cross_entropy(model(pixels).logits, labels)
            torch.autograd.backward(loss)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            loss.item()
        return Work(settings["steps"] * len(pixels))

    @torch.inference_mode()
    def read() -> Work:
        return Work(len(pixels), model.eval()(pixels).logits[:COMPARED].tolist())

    return {f"{name} {INFERENCE}": read, f"{name} {TRAINING}": learn}


def written(size: Mapping[str, int], settings: Settings, folder: Path) -> None:
    """The same random ViT in every process."""
    import torch

    hf = package("transformers")
    torch.manual_seed(1)
    config = hf.ViTConfig(
        hidden_size=size["width"],
        num_hidden_layers=size["layers"],
        num_attention_heads=size["heads"],
        intermediate_size=4 * size["width"],
        image_size=settings["side"],
        patch_size=settings["patch"],
        layer_norm_eps=1e-6,
        num_labels=settings["classes"],
    )
    hf.ViTForImageClassification(config).save_pretrained(folder)
    side = settings["side"]
    read = {
        "size": {"shortest_edge": side},
        "do_center_crop": True,
        "crop_size": side,
        "image_mean": 0.5,
        "image_std": 0.5,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(read), encoding="utf-8")


def images(settings: Settings) -> tuple[Any, Any]:
    """A batch of made-up images and their labels, the same in every process."""
    import torch

    draw, batch, side = torch.Generator().manual_seed(1), settings["batch"], settings["side"]
    pixels = torch.randn(batch, 3, side, side, generator=draw)
    return pixels, torch.randint(settings["classes"], (batch,), generator=draw)


def limit(settings: Settings, measure: str) -> Limit:
    """Two operations for each weight in a matrix product and patch, and attention; three times that in training."""
    name, _, what = measure.rpartition(" ")
    size, places = settings["sizes"][name], (settings["side"] // settings["patch"]) ** 2 + 1
    width, layers = size["width"], size["layers"]
    products = places * (12 * layers * width**2 + 3 * settings["patch"] ** 2 * width) + width * settings["classes"]
    reading = 2 * products + 4 * layers * places**2 * width
    return Limit("matrix", reading * (3 if what == TRAINING else 1))


def same(answers: Answers) -> dict[str, Any]:
    """The largest difference of two logits of the first turn, which comes before anything is learnt."""
    import numpy as np

    found = {}
    for measure, several in answers.items():
        if measure.endswith(INFERENCE) and len(several) > 1:
            ours, theirs = (np.array(each) for each in several.values())
            found[f"largest difference, {measure}"] = float(f"{np.abs(ours - theirs).max():.2g}")
    return found


MEASURES = [f"{name} {what}" for name in ("ViT-Ti", "ViT-S") for what in (INFERENCE, TRAINING)]
QUESTION = Question(
    name="images",
    about=__doc__ or "",
    unit="images",
    contestants=(
        Contestant(OURS, seqwright),
        Contestant("transformers", transformers, TRANSFORMERS, ("torch", "transformers")),
    ),
    full={
        "sizes": {
            "ViT-Ti": {"width": 192, "heads": 3, "layers": 12},
            "ViT-S": {"width": 384, "heads": 6, "layers": 12},
        },
        "side": 224,
        "patch": 16,
        "classes": 1000,
        "batch": 8,
        "steps": 2,
    },
    quick={
        "sizes": {"ViT-Ti": {"width": 24, "heads": 3, "layers": 2}},
        "side": 32,
        "classes": 7,
        "batch": 5,
    },
    rounds=5,
    limit=limit,
    marks={measure: {"transformers": 1.0} for measure in MEASURES},
    compare=same,
)
