"""Fingerprints: a sha256 of each thing that decides what a run learns and what it says."""

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seqwright.data.files import content_hash
from seqwright.recipe import Recipe
from seqwright.run_folders import PARTS
from seqwright.tasks.distillation import Teacher, unlabelled_sum
from seqwright.training.checkpoint import step_folder

if TYPE_CHECKING:
    from seqwright.runs import Run


def teacher_key(number: int) -> str:
    """Under which name the sha256 of a teacher stands in `resolved.toml`."""
    return "teacher" if number == 1 else f"teacher {number}"


def fingerprint_of(run: "Run") -> str:
    """A sha256 of everything that decides what a run says: its model's settings, its weights, its inputs."""
    step = step_folder(run.folder, run.step)
    weights = [path for name in ("averages", "model") if (path := step / f"{name}.safetensors").exists()][:1]
    learnt = (path for part in PARTS for path in (run.folder / part).rglob("*") if path.suffix != ".txt")  # alignments
    files = [*weights, *sorted(path for path in learnt if path.is_file())]
    said = json.dumps([run.recipe.model.model_dump(mode="json"), *map(content_hash, files)])
    return hashlib.sha256(said.encode()).hexdigest()


def fingerprints_of(recipe: Recipe, data: Any, teachers: Sequence[Teacher]) -> dict[str, str]:
    """A sha256 of each thing that is learnt from."""
    sums = {part: data.fingerprint(part) for part in data.parts()}
    more = {teacher_key(number): teacher.sha256 for number, teacher in enumerate(teachers, start=1)}
    more |= {"unlabelled": unlabelled_sum(recipe)} if teachers else {}
    return sums | {name: known for name, known in more.items() if known}
