"""Captions judged: their scores, and whether attention points at what a word names. `benchmarks.images` prints them.

Pointing game (after Zhang et al. 2018): the caption that is right is forced upon the model; of each object the maps of
the three words that name it (size, colour, form) are averaged, and it is a hit where the highest cell lies in the exact
mask of the object, grown by one cell on every side. Only images with two objects or more count. Chance is the share of
cells that would be a hit, the mean over the same objects.

Y rows of cells · X columns
"""

import random
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqwright.analysis.captions import looks_at
from seqwright.data.shapes import caption_of, masks_of, named_order
from seqwright.inputs.spelling import written_words
from seqwright.kinds import task_of
from seqwright.metrics.captions import NAMES, caption_scores
from seqwright.outputs.text_search import TextCandidate
from seqwright.runs import Run, data_of, open_run, parameters
from seqwright.training.checkpoint import read_checkpoint, read_mark

SIZES = ("large", "small", "groß", "klein")  # how the first of the words begins that name an object
NAMED_BY = 3  # words
BEAM = 3  # of photographs
SHAPES = ("recipe", "parameters", "exact", "of each seed", "pointing", "of each seed", "chance", "CIDEr", "seconds")
PHOTOGRAPHS = ("captions", "CIDEr", "BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "seconds")

Bools = NDArray[np.bool_]


# ---------------------------------------------------------------------------------------------------- the game


def grown(mask_YX: Bools, rows: int, columns: int) -> Bools:
    """The cells of a grid in which a pixel of a mask lies, and those around them."""
    high, wide = mask_YX.shape
    down, right = np.nonzero(mask_YX)
    cells_YX = np.zeros((rows + 2, columns + 2), dtype=bool)
    for y, x in zip(down * rows // high, right * columns // wide, strict=True):
        cells_YX[y : y + 3, x : x + 3] = True
    return cells_YX[1:-1, 1:-1]


def pointed(run: Run, part: Any) -> Iterator[tuple[bool, float]]:
    """Of every object of every image with two or more: whether attention points at it, and by chance."""
    data, tokenizer = data_of(run.recipe), run.output.tokenizer
    body: Any = run.model.body
    size = data.settings.size
    rows, columns = body.grid(size, size)
    for number, example in enumerate(data.examples(part)):
        scene = data.scene(part, number)
        if len(scene.shapes) < 2:
            continue
        caption = caption_of(scene, data.settings.language)
        tokens = tokenizer.encode([caption])[0].tolist()
        forced = TextCandidate(caption, 0.0, 0.0, tokens, [], True)
        weight_TP = looks_at(run, example, forced).mean(axis=(0, 1))
        words = written_words(tokenizer, tokens)
        begins = [place for place, (word, _) in enumerate(words) if word.strip().startswith(SIZES)]
        assert len(begins) == len(scene.shapes), caption
        for begin, mask_YX in zip(begins, masks_of(scene, size)[named_order(scene)], strict=True):
            places = [place for _, at in words[begin : begin + NAMED_BY] for place in at]
            map_YX = weight_TP[places].mean(axis=0).reshape(rows, columns)
            cells_YX = grown(mask_YX, rows, columns)
            yield bool(cells_YX.ravel()[int(map_YX.argmax())]), float(cells_YX.mean())


# ---------------------------------------------------------------------------------------------------- made-up shapes


def judged_shapes(folder: Path) -> dict[str, Any]:
    """The scores of a run on the test part, and the pointing game."""
    run, last = open_run(folder), read_mark(folder, "last")
    assert last is not None
    scores = evaluated(run, "test", 1)
    game = list(pointed(run, "test"))
    return {
        "seed": run.recipe.training.seed,
        **{f"test_{name}": scores[name] for name in ("exact", "cider", "bleu_4")},
        "constant_cider": scores["baseline_constant_cider"],
        "pointing": 100 * statistics.mean(hit for hit, _ in game),
        "chance": 100 * statistics.mean(chance for _, chance in game),
        "objects": len(game),
        "parameters": parameters(run.model),
        "steps": last,
        "best_step": run.step,
        "training_seconds": round(read_checkpoint(folder, last, ("model",)).state["seconds"], 1),
    }


def row_of_shapes(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """A recipe in the table: means over the seeds, and each."""
    exact, pointing, chance, cider, seconds = (
        statistics.mean(run[key] for run in runs)
        for key in ("test_exact", "pointing", "chance", "test_cider", "training_seconds")
    )
    each = [" ".join(f"{run[key]:.1f}" for run in runs) for key in ("test_exact", "pointing")]
    return [
        name,
        f"{runs[0]['parameters']:,}",
        f"{exact:.1f}",
        each[0],
        f"{pointing:.1f}",
        each[1],
        f"{chance:.1f}",
        f"{cider:.1f}",
        f"{seconds:.0f}",
    ]


# ---------------------------------------------------------------------------------------------------- photographs


def judged_photographs(folder: Path) -> dict[str, Any]:
    """The scores of a run on the part that nothing was chosen on, by beam search; on the other one too."""
    run, last = open_run(folder), read_mark(folder, "last")
    assert last is not None
    parts = {part: evaluated(run, part, BEAM) for part in ("valid", "test")}
    return {
        "seed": run.recipe.training.seed,
        **{f"{part}_{name}": scores[name] for part, scores in parts.items() for name in ("loss", *NAMES)},
        **{f"constant_{name}": parts["test"][f"baseline_constant_{name}"] for name in NAMES},
        **{f"human_{name}": value for name, value in one_human(run).items()},
        "constant": run.output.constant,
        "parameters": parameters(run.model),
        "steps": last,
        "best_step": run.step,
        "training_seconds": round(read_checkpoint(folder, last, ("model",)).state["seconds"], 1),
    }


def one_human(run: Run) -> dict[str, float]:
    """What one of the people who wrote captions scores against the other four, drawn for each image."""
    rng = random.Random(1)
    said, right = [], []
    for example in data_of(run.recipe).examples("test"):
        one = rng.randrange(len(example.captions))
        said.append(example.captions[one])
        right.append([text for place, text in enumerate(example.captions) if place != one])
    return {name: score.value for name, score in caption_scores(said, right, lowercase=True).items()}


def rows_of_photographs(found: dict[str, list[dict[str, Any]]]) -> list[list[str]]:
    """A recipe in each row; above them a constant caption, below them one human against the other four."""
    first = next(iter(found.values()))[0]
    shown = [name for name in NAMES if name != "exact"]

    def row(name: str, values: dict[str, Any], start: str, seconds: str = "") -> list[str]:
        return [name, *(f"{values[f'{start}_{each}']:.1f}" for each in shown), seconds]

    runs = [
        row(name, one, "test", f"{one['training_seconds']:.0f}") for name, several in found.items() for one in several
    ]
    return [row("constant", first, "constant"), *runs, row("one human", first, "human")]


def evaluated(run: Run, part: Any, beam: int) -> dict[str, float]:
    """The scores of a run on a part."""
    decoding = run.recipe.decoding.model_copy(update={"beam": beam})
    found = task_of(run.recipe.task).evaluated(run.recipe, data_of(run.recipe), run.inputs, run.model, part, decoding)
    scores: dict[str, float] = found.scores
    return scores


def of_shapes(found: dict[str, list[dict[str, Any]]]) -> Sequence[Sequence[str]]:
    """The table of made-up shapes."""
    return [row_of_shapes(name, runs) for name, runs in found.items()]
