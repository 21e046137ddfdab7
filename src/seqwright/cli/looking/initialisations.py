"""`look --initialisations`: what each way to begin the weights does to a recurrent model, before it has learnt."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from seqwright.cli.looking.texts import Passage, passage_of, written
from seqwright.cli.terminal import say, shown
from seqwright.devices import device_of
from seqwright.layers.gradients import gradient_norms_within
from seqwright.layers.initialisation import WAYS, initialise, quantiles, saturated, too_wide
from seqwright.layers.recurrence import Weights
from seqwright.layers.taps import listen, views
from seqwright.pictures import save
from seqwright.pictures.initialisations import Beginning, initialisation_picture
from seqwright.runs import Run, model_of

TOO_WIDE = "too wide"
Draw = Callable[[Weights], None]


def draw_initialisations(run: Run, found: Sequence[str], where: Path) -> None:
    """Draw how saturated, how spread and how far-reaching the states are, the weights begun anew in each way."""
    if not found and run.recipe.task == "language-modeling":
        found = [written(run)]
    passage = passage_of(run, found)
    say(f"{run.folder}: beginning anew, reading {passage.told}")
    beginnings = [beginning(run, passage, name, way) for name, way in ways(run.model)]
    title = f"{run.recipe.model.kind} of width {run.recipe.model.width} before training, reading {passage.told}"
    paths = save(initialisation_picture(beginnings, title=title), where / "initialisations")
    for each in beginnings:
        share, back = 100 * float(each.saturated_T.mean()), len(each.norm_K) - 1
        print(f"{each.name + each.note:24} {share:5.1f} % saturated, gradient {each.norm_K[-1]:.2g} {back} steps back")
    say(f"drawn: {', '.join(map(shown, paths))}")


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
