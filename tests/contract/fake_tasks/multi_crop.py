"""Two crops of each image, and a teacher that follows its student (DINO, Caron et al. 2021): image × features.

B batch · P patches · X pixels of a patch · C features
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from seqwright.batches import Column, Rows
from seqwright.inputs import Examples, Stacked
from seqwright.objectives.objective import Loss, Objective, Part
from seqwright.outputs import Targets
from tests.contract.fake_tasks.parts import Drawn, Example, Frames, Nested, RowBatch, RowOutput, readable

SIZE, VIEWS = 3, 2


class Crops(Frames):
    """Views of an image stand in one row; in no epoch they are its middle."""

    key: ClassVar[str] = "image"

    def encode(self, examples: Examples[Example], *, seed: int = 0) -> Rows[Any]:
        images, example_N = readable(examples, self.key)
        return Drawn(images, self.views, seed=seed, example_N=example_N, lengths=lambda row: [])

    def views(self, image: Any, rng: np.random.Generator | None) -> list[Any]:
        room = len(image) - SIZE
        places = [room // 2] * VIEWS if rng is None else rng.integers(room + 1, size=VIEWS)
        return [np.array(image[at : at + SIZE], dtype=np.float32) / self.scale for at in places]

    def stack(self, rows: Sequence[Any]) -> Stacked:
        view_BPX, other_BPX = (torch.from_numpy(np.stack(side)) for side in zip(*rows, strict=True))
        return {"view_BPX": view_BPX, "other_BPX": other_BPX}


@dataclass(frozen=True)
class Views(RowBatch):
    view_BPX: Tensor
    other_BPX: Tensor


@dataclass(frozen=True)
class FeatureVector(RowOutput[Views]):
    """What the model says of the middle of an image; there is no target."""

    score_names: ClassVar[tuple[str, ...]] = ("deviation",)

    def encode(self, examples: Examples[Example], rows: Rows[Any], *, seed: int = 0) -> Targets:
        return Targets(Column(np.zeros(len(rows.example_N))), np.arange(len(rows.example_N)))

    def collate(self, stacked: Stacked, targets: Sequence[Any] | None) -> Views:
        return Views(**stacked)

    def scores(self, predictions: Sequence[Nested], examples: Examples[Example]) -> dict[str, float]:
        return {"deviation": float(np.std([value_C for value_C in predictions if value_C], axis=0).mean())}


class FollowedByTeacher(Objective):
    """The student says of one view what the teacher says of the other. The teacher's momentum rises to 1."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.teacher = copy.deepcopy(model).requires_grad_(False)

    def counts(self, batch: Views) -> dict[str, int]:
        return {"loss": len(batch)}

    def forward(self, model: nn.Module, batch: Views, carry: Any) -> tuple[Loss, Any]:
        student_BC, carry = model(batch, carry)
        teacher_BC = self.teacher(batch.replace(view_BPX=batch.other_BPX), None)[0].softmax(-1)
        return Loss({"loss": Part(-(teacher_BC * student_BC.log_softmax(-1)).sum(), len(batch))}), carry

    @torch.no_grad()
    def after_step(self, model: nn.Module, step: int, steps: int) -> None:
        for mine, its in zip(self.teacher.parameters(), model.parameters(), strict=True):
            mine.lerp_(its, 0.5 * (1 + np.cos(np.pi * (step - 1) / steps)) / 2)
