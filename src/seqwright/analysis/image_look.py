"""What was seen of a model of images, and its pictures by name."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from seqwright.analysis.images import (
    OF_WEIGHTS,
    first_filters,
    image_attention,
    image_sight,
    images_of,
    pixel_saliency,
    place_similarity,
    position_similarity,
)
from seqwright.errors import SettingError
from seqwright.pictures.image_maps import (
    filters_picture,
    heads_picture,
    positions_picture,
    rollout_picture,
    saliency_lines,
    similarity_maps,
)
from seqwright.runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class SeenOfImages(NamedTuple):
    """One sight: what was found of each image, or of the weights alone."""

    sight: str
    found: Any

    def figures(self, run: str) -> "dict[str, Figure]":
        """Every picture of it, by name."""
        match self.sight:
            case "attention":
                title = f"{run}: where each head looks"
                return _numbered(self.sight, [heads_picture(each, title=title) for each in self.found])
            case "rollout":
                return {self.sight: rollout_picture(self.found, title=f"{run}: where the model looks")}
            case "saliency":
                return {self.sight: saliency_lines(self.found, title=f"{run}: the pixels that each label hangs on")}
            case "similarity":
                title = f"{run}: which places become alike"
                return _numbered(self.sight, [similarity_maps(each, title=title) for each in self.found])
            case "positions":
                return {self.sight: positions_picture(self.found, title=f"{run}: which positions are alike")}
            case _:
                filters, told = self.found
                return {self.sight: filters_picture(filters, title=f"{run}: what the first layer looks for", told=told)}


def _numbered(name: str, drawn: "Sequence[Figure]") -> "dict[str, Figure]":
    return {name if number == 1 else f"{name}-{number}": figure for number, figure in enumerate(drawn, start=1)}


def seen_of_images(run: Run, given: Any, what: str | None, more: Mapping[str, Any]) -> tuple[str, SeenOfImages]:
    """What is seen, and the names of the images. `patch`, (row, column) from 1, is for the similarity alone."""
    sight = image_sight(run, what)
    if unknown := [name for name in more if name != "patch" or sight != "similarity"]:
        raise SettingError(f"{unknown[0]} is no setting of the {sight} of images; leave it out")
    if sight in OF_WEIGHTS:
        return "", SeenOfImages(sight, position_similarity(run) if sight == "positions" else first_filters(run))
    images = images_of(run, given)
    names = ", ".join(each.name for each in images)
    match sight:
        case "similarity":
            row, column = _place(more)
            return names, SeenOfImages(sight, [place_similarity(run, each, (row - 1, column - 1)) for each in images])
        case "saliency":
            return names, SeenOfImages(sight, [pixel_saliency(run, each) for each in images])
        case _:
            return names, SeenOfImages(sight, [image_attention(run, each) for each in images])


def _place(more: Mapping[str, Any]) -> tuple[int, int]:
    given = more.get("patch")
    if not isinstance(given, tuple | list) or len(given) != 2 or not all(isinstance(each, int) for each in given):
        raise SettingError(f"patch is {given!r}: say whose similarity is meant, as in patch=(2, 3) for row 2, column 3")
    row, column = given
    return row, column
