"""`look` at a captioner: where it looks in the image while it writes each word."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seqwright.analysis.captions import caption_maps_of
from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.terminal import draw_with_page, json_text, print_table, say, shown
from seqwright.errors import SettingError
from seqwright.pictures.attention import HeadChoice
from seqwright.pictures.caption_maps import CaptionMaps, caption_figure, caption_page
from seqwright.runs import Run


def draw_caption(
    run: Run, images: Sequence[str], beam: int | None, choice: HeadChoice, where: Path, *, as_json: bool
) -> None:
    """Write the caption of an image, draw a map for each word, and print the place that it looks at most."""
    if len(images) > 1:
        raise SettingError(f"there are {len(images)} images, and one is looked at; give its path")
    seen = caption_maps_of(run, images[0], decoding_settings(run, {"beam": beam}), say)
    chosen = f", {choice}" if choice.layer is not None else ""
    title = f"{run.folder.name}: where it looks for each word{chosen}"
    page = caption_page(seen, choice, title=title)
    draw_with_page(caption_figure(seen, choice, title=title), page, where / "caption")
    map_TYX = seen.of(choice)
    if as_json:
        print(json_text(_fields(seen, map_TYX)))
    else:
        print(f"{seen.text}\n")
        places = [np.unravel_index(int(map_YX.argmax()), map_YX.shape) for map_YX in map_TYX]
        rows = [
            (word, f"{y + 1}", f"{x + 1}", f"{map_YX.max():.2f}")
            for word, (y, x), map_YX in zip(seen.words, places, map_TYX, strict=True)
        ]
        print_table(("word", "row", "column", "weight"), rows, numbers=True)
    say(f"pictures: {shown(where)}/  (open caption.html in a browser)")


def _fields(seen: CaptionMaps, map_TYX: Any) -> dict[str, Any]:
    words = [
        {"word": word, "map": np.round(map_YX, 4).tolist()} for word, map_YX in zip(seen.words, map_TYX, strict=True)
    ]
    return {"image": seen.name, "caption": seen.text, "words": words}
