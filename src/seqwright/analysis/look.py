"""What was seen of a run: plain data, and the figures of it. matplotlib is imported when the first one is drawn."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqwright.analysis.image_look import SeenOfImages
from seqwright.analysis.units import HIDDEN, MEMORY, Layer, liveliest
from seqwright.arguments import public
from seqwright.errors import SettingError, instead
from seqwright.pictures import legible
from seqwright.pictures.attention import figures
from seqwright.pictures.beam_tree import beam_tree
from seqwright.pictures.caption_maps import caption_figure
from seqwright.pictures.gradients import gradient_picture
from seqwright.pictures.initialisations import initialisation_picture
from seqwright.pictures.lens import lens_table
from seqwright.pictures.saliency import saliency_picture
from seqwright.pictures.surprisal import surprisal_picture
from seqwright.pictures.units import UnitsPanel, state_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Figures = dict[str, Figure]

MOST_UNITS = 12  # of a layer in the map
MOST_TOKENS = {"units": 120, "lens": 32, "surprisal": 300}  # in a figure


@dataclass(frozen=True, repr=False)
class Look:
    """One thing that was seen of a run while it read `text`; `data` is what `what` names, as plain values."""

    what: str
    run: str  # the name of its folder
    text: str
    data: Any

    def figures(self) -> "Figures":
        """Every picture of it, by name: attention has one for each map, units one for each layer."""
        return self.data.figures(self.run) if isinstance(self.data, SeenOfImages) else DRAWN[self.what](self)

    @public("look.figure")
    def figure(self, name: str | None = None) -> "Figure":
        """One of them, the first if none is named."""
        drawn = self.figures()
        if name is None:
            return next(iter(drawn.values()))
        if name not in drawn:
            raise SettingError(f"there is no figure '{name}' of this {self.what}{instead(name, drawn)}")
        return drawn[name]

    def __repr__(self) -> str:
        return f"Look({self.what} of {self.run}: {legible(self.text, 60)!r})"

    def _repr_png_(self) -> Any:
        """What a notebook shows: the first figure."""
        return self.figure()._repr_png_()  # type: ignore[attr-defined]


def _attention(look: Look) -> "Figures":
    return figures(look.data)


def _lens(look: Look) -> "Figures":
    title = f"{look.run}: what each layer would say if it were the last\n{look.text}"
    return {look.what: lens_table(look.data.first(MOST_TOKENS[look.what]), title=title)}


def _units(look: Look) -> "Figures":
    most, active = MOST_TOKENS[look.what], look.data
    return {
        f"units-layer-{layer.name}": state_map(
            _panels(layer, most), active.pieces[:most], active.bits[:most], title=f"{look.run}, {layer.spoken}"
        )
        for layer in active.layers
    }


def _panels(layer: Layer, most: int) -> list[UnitsPanel]:
    """What was heard of the units of a layer that vary most over the text."""
    units = liveliest(layer, MOST_UNITS)
    chosen = np.array(units) - 1
    return [
        UnitsPanel(f"{layer.spoken}: {view}", units, value_TD[:most, chosen].T, view in (HIDDEN, MEMORY))
        for view, value_TD in layer.values.items()
    ]


def _surprisal(look: Look) -> "Figures":
    most, seen = MOST_TOKENS[look.what], look.data
    pieces = [*seen.pieces[:-1], seen.pieces[-1] or "end"]
    title = f"{look.run}: {np.mean(seen.bits):.2f} bits per token"
    return {look.what: surprisal_picture(pieces[:most], seen.bits[:most], title=title)}


def _gradients(look: Look) -> "Figures":
    return {look.what: gradient_picture(look.data)}


def _initialisations(look: Look) -> "Figures":
    return {look.what: initialisation_picture(look.data, title=f"{look.run}: before training")}


def _saliency(look: Look) -> "Figures":
    return {
        f"{look.what}-{number}-{found.label}": saliency_picture(
            found, title=f"{look.run}: {found.label}, {100 * found.probability_KL[-1, 0]:.1f} %"
        )
        for number, found in enumerate(look.data, start=1)
    }


def _caption(look: Look) -> "Figures":
    return {look.what: caption_figure(look.data, title=f"{look.run}: where it looks for each word")}


def _beam_tree(look: Look) -> "Figures":
    title = f"{look.run}, beam search: {legible(look.text, 200)}\n→ {legible(look.data.text, 200)}"
    return {look.what: beam_tree(look.data.twigs, look.data.best, title=title)}


DRAWN: "dict[str, Callable[[Look], Figures]]" = {
    "attention": _attention,
    "lens": _lens,
    "units": _units,
    "surprisal": _surprisal,
    "gradients": _gradients,
    "initialisations": _initialisations,
    "saliency": _saliency,
    "beam-tree": _beam_tree,
    "caption": _caption,
}
