"""`look` at a model of images: where it looks, what its label hangs on, which places are alike, what it looks for."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from seqwright.analysis.image_look import SeenOfImages, seen_of_images
from seqwright.analysis.images import image_sight, names_before
from seqwright.cli.alike import images_given
from seqwright.cli.options import Things
from seqwright.cli.terminal import json_text, say, say_drawn, shown
from seqwright.cli.using_pictures import LookOptions
from seqwright.errors import SettingError
from seqwright.pictures import Array, save
from seqwright.pictures.image_maps import ImageAttention, ImageSaliency, PlaceSimilarity, heads_picture
from seqwright.pictures.image_page import image_page
from seqwright.runs import Run
from seqwright.whole_file import write_whole

MOST = 8  # images that are looked at
OPTIONS = {  # of `look`, and the sight of images that each asks for
    "--layer": "attention",
    "--rollout": "rollout",
    "--patch": "similarity",
    "--gradients": "saliency",
    "--positions": "positions",
    "--filters": "filters",
}
Found = ImageAttention | ImageSaliency | PlaceSimilarity


def draw_images(run: Run, options: LookOptions) -> None:
    """Draw what is asked for of some images, or of the first of each label that the run was validated on."""
    asked = next(iter(options.asked), None)
    if asked is not None and asked not in OPTIONS:
        raise SettingError(
            f"{asked} is for models that read texts, and {run.folder} reads images; ask for {', '.join(OPTIONS)}, or "
            "leave it out"
        )
    sight = image_sight(run, None if asked is None else OPTIONS[asked])
    images: Any = None
    if options.texts or options.file is not None:
        if sight in {"positions", "filters"}:
            raise SettingError(f"{asked} shows what the model has learnt, whatever it reads; leave the images out")
        given = images_given(run, Things(run.folder, options.texts, options.file))
        if len(given.examples) > MOST:
            say(f"the first {MOST} of {len(given.examples):,} images are looked at, no more")
        images = given.examples[:MOST]
    more = {"patch": _place(options.patch)} if options.patch is not None else {}
    _, seen = seen_of_images(run, images, sight, more)
    where = options.output or run.folder / "pictures"
    _draw(run, seen, options, where)
    for found in seen.found if sight not in {"positions", "filters"} else ():
        print(json_text(_fields(found)) if options.json else _sentence(found))


def _draw(run: Run, seen: SeenOfImages, options: LookOptions, where: Path) -> None:
    if seen.sight == "attention":
        for found in seen.found:
            _draw_attention(run, found, options, where / f"attention-{_stem(found)}")
        return
    for number, (name, figure) in enumerate(seen.figures(run.folder.name).items()):
        of_one = seen.sight == "similarity"
        say_drawn(save(figure, where / (f"{seen.sight}-{_stem(seen.found[number])}" if of_one else name)))


def _draw_attention(run: Run, found: ImageAttention, options: LookOptions, stem: Path) -> None:
    title = f"{run.folder.name}: where each head looks"
    save(heads_picture(found, title=title, layer=options.layer, head=options.head), stem)
    page = image_page(found, title=f"{run.folder.name}: where it looks", before=names_before(run))
    write_whole(stem.with_name(f"{stem.name}.html"), page)
    say(f"drawn: {shown(stem)}.png, .svg and .html (open it in a browser)")


def _stem(found: Found) -> str:
    """What the picture of an image is called: like it."""
    return re.sub(r"\W+", "-", Path(found.seen.name).stem).strip("-")[:40] or "image"


def _place(given: str) -> tuple[int, int]:
    numbers = re.fullmatch(r"\s*(\d+)\s*,\s*(\d+)\s*", given)
    if numbers is None:
        raise SettingError(f"--patch is '{given}'; give the row and the column of a patch, as in --patch 3,5")
    return int(numbers[1]), int(numbers[2])


def _map(found: Found) -> Array:
    """The one map that stands for what was found."""
    map_PQ: Array
    match found:
        case ImageAttention():
            map_PQ = found.rollout_PQ / found.rollout_PQ.sum()
        case ImageSaliency():
            map_PQ = found.saliency_YX
        case PlaceSimilarity():
            map_PQ = found.cosine_LPQ[-1]
    return map_PQ


def _sentence(found: Found) -> str:
    """What the picture shows, in a line."""
    map_PQ = _map(found)
    row, column = (int(place) + 1 for place in np.unravel_index(map_PQ.argmax(), map_PQ.shape))
    if isinstance(found, PlaceSimilarity):
        rest = np.sort(map_PQ, axis=None)[:-1]
        told = f"the other places have cosines from {rest[0]:.2f} to {rest[-1]:.2f}"
        return f"{found.seen.sentence}; in the last layer {told}"
    falling = np.sort(map_PQ, axis=None)[::-1]
    half = int(np.searchsorted(falling.cumsum(), 0.5) + 1)
    what, noun = ("the rollout", "patches") if isinstance(found, ImageAttention) else ("the saliency", "pixels")
    where = f"{half} of {map_PQ.size} {noun}, most on row {row}, column {column}"
    return f"{found.seen.sentence}; half of {what} lies on {where}"


def _fields(found: Found) -> dict[str, Any]:
    seen, map_PQ = found.seen, _map(found)
    right = {"target": seen.target} if seen.target else {}
    name = {ImageAttention: "rollout", ImageSaliency: "saliency"}.get(type(found), "cosine")
    told = {"image": seen.name, "label": seen.label, "probability": round(seen.probability, 6), **right}
    return {**told, name: [[float(f"{value:.4g}") for value in row] for row in map_PQ.tolist()]}
