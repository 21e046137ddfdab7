"""How far back in time a recurrent model is felt, trained and at first, and what each way to begin its weights does.

B batch · T time · D width · R rows · K steps back
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from seqwright.analysis.reading import Notice, forecasts_series, foretells, notice_by_warning, reads_text
from seqwright.decoding.settings import DecodingSettings
from seqwright.devices import device_of, drawn_from
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs import Given
from seqwright.layers.gradients import gradient_norms_within
from seqwright.layers.initialisation import WAYS, initialise, quantiles, saturated, too_wide
from seqwright.layers.recurrence import Weights
from seqwright.layers.taps import listen, views
from seqwright.pictures.gradients import Reach
from seqwright.pictures.initialisations import Beginning
from seqwright.runs import Run, data_of, model_of
from seqwright.tasks.parts import Part

FURTHEST = 100  # steps back that a gradient is followed
ROWS = 8  # places that it is followed from
WRITTEN = 150  # tokens that a model writes where it is given none
TOO_WIDE = "too wide"
LONGEST = 600  # tokens of a text that a gradient is followed through
Draw = Callable[[Weights], None]


def own_text(run: Run) -> str:
    """A text that a language model draws itself; it may not end it, so that there is something to look back on."""
    settings = DecodingSettings(temperature=1.0, seed=1, shortest=WRITTEN, longest=WRITTEN)
    text: str = run.inputs.predict(run.model, "", settings, method="write").text
    return text


class Passage(NamedTuple):
    """What a model reads without padding, and the steps from which its gradient is followed back."""

    batch: Any
    last: Callable[[int], Sequence[int]]  # of the number of steps
    told: str  # what it is, in a few words


def last_steps(steps: int) -> list[int]:
    """The last step of a text, and some before it that have nearly as much behind them."""
    reach = min(FURTHEST, max(1, 3 * steps // 4))
    return [int(step) for step in np.unique(np.linspace(reach, steps, ROWS).round())]


def passage_of(run: Run, given: Any, notice: Notice = notice_by_warning) -> Passage:
    """What a run reads: an example that is given, or windows of the series it was validated on."""
    wires = run.inputs
    if forecasts_series(run):
        rows = wires.input.encode(Part(data_of(run.recipe), "valid"))
        chosen = np.unique(np.linspace(0, len(rows.example_N) - 1, ROWS).round().astype(np.int64))
        batch: Any = wires.output.collate(wires.input.stack(rows.take(chosen, None)), None).to(device_of(run.model))
        return Passage(batch, lambda steps: [steps], f"{len(chosen)} windows of its validation part")
    if not reads_text(run) or run.output.decodes:
        raise RunError(
            f"{run.folder} learnt {run.recipe.task}; this is drawn for language models, models that only read texts, "
            "and forecasters"
        )
    if given is None:
        raise SettingError(f"{run.folder} learnt {run.recipe.task}: give a text that it shall read")
    examples = Given([wires.input.parse(given)])
    for remark in wires.input.remarks(examples):
        notice(remark)
    rows = wires.input.encode(examples)
    if not len(rows.example_N):
        raise DataError("there is nothing to look at: the text is blank")
    (row,), length = rows.take(np.arange(1), None), int(rows.lengths(None)[0].sum())
    if foretells(run):
        row, length = row[:LONGEST], min(length, LONGEST)
    batch = wires.output.collate(wires.input.stack([row]), None)
    return Passage(batch.to(device_of(run.model)), last_steps, f"a text of {length:,} tokens")


def reaches_of(run: Run, passage: Passage, name: str = "") -> list[Reach]:
    """Every layer of a run, as it is and as it began."""
    begun = model_of(run.recipe, run.inputs.sizes()).to(device_of(run.model)).eval()
    return [
        Reach(name or run.folder.name, layer, trained, norm_RK.numpy())
        for model, trained in ((run.model, True), (begun, False))
        for layer, norm_RK in enumerate(gradient_norms_within(model, passage.batch, last=passage.last), start=1)
    ]


def beginnings_of(run: Run, passage: Passage) -> list[Beginning]:
    """What a new model of the run's kind does, its weights drawn in each way."""
    return [beginning(run, passage, name, way) for name, way in ways(run.model)]


def ways(model: nn.Module) -> Iterator[tuple[str, Draw]]:
    """Every way that a recipe can choose for these cells, and one that it cannot; the identity is for cells without
    gates.
    """
    plain = all(len(weights.blocks) == 1 for weights in model.modules() if isinstance(weights, Weights))
    for name, way in WAYS.items():
        if name != "identity" or plain:
            yield name, way
    yield TOO_WIDE, too_wide


@torch.inference_mode()
def beginning(run: Run, passage: Passage, name: str, way: Draw) -> Beginning:
    """What a new model of the run's kind does with weights that are drawn in one way."""
    model = model_of(run.recipe, run.inputs.sizes())
    with drawn_from(run.recipe.training.seed):
        initialise(model, way, forget_bias=run.recipe.model.forget_bias)
    model = model.to(device_of(run.model)).eval()
    with listen(model) as heard:
        model(passage.batch)
    taps = {view.name: names for view, names in views(model).items() if view.columns == "units"}
    hidden_BTD = _together(heard, taps.pop("hidden state"))
    gates = [each for name, names in taps.items() if name.endswith("gate") for each in names]
    squashed_BTD = torch.cat([hidden_BTD, 2 * _together(heard, gates) - 1], dim=-1) if gates else hidden_BTD
    norms = gradient_norms_within(model, passage.batch, last=passage.last)
    return Beginning(
        name,
        _note(run, name),
        saturated(squashed_BTD).cpu().numpy(),
        quantiles(hidden_BTD.float(), shares=(0.05, 0.25, 0.75, 0.95)).cpu().numpy(),
        norms[0].median(0).values.numpy(),
    )


def _note(run: Run, name: str) -> str:
    if name == TOO_WIDE:
        return ": normal, σ = 1"
    return " (this run's)" if name == run.recipe.model.initialisation else ""


def _together(heard: dict[str, list[Tensor]], taps: Sequence[str]) -> Tensor:
    """What several taps heard, side by side."""
    return torch.cat([heard[tap][0] for tap in taps], dim=-1)
