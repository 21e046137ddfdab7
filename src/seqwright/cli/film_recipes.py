"""What a first recipe over films depends on: how large their frames are, and how many a film has."""

from itertools import islice
from typing import Any

from seqwright.data.decoded_images import UnreadableImageError
from seqwright.data.first_look import LOOKED_AT
from seqwright.errors import DataError

LARGEST_SIZE = 64  # of frames that a first model reads
FRAMES_AT_ONCE = 512  # in a batch
SMALL_FRAME = 16  # rows and columns, up to which two stages see enough


def seen_of_films(films: Any, count: int, told: str) -> tuple[dict[str, Any], str, list[str]]:
    """What stands in braces in the recipe, a sentence on so many films, and warnings; some of them are looked at."""
    shapes, unread = [], list[str]()
    for example in islice(films.examples("train"), 0, None, -(-count // LOOKED_AT)):
        try:
            shapes.append(example.pixels_TYXC.shape[:3])
        except UnreadableImageError as error:
            unread.append(str(error))
    if not shapes:
        raise DataError(f"none of {len(unread):,} films can be read; the first: {unread[0]}")
    most, side = max(frames for frames, *_ in shapes), min(min(rows, columns) for _, rows, columns in shapes)
    size = min(LARGEST_SIZE, side)
    stages = 2 if size <= SMALL_FRAME else 3 if size <= 2 * SMALL_FRAME else 4
    epochs = min(100, max(5, 40_000 // count))
    values = {"size": size, "longest": most, "stages": stages, "epochs": epochs, "tokens": FRAMES_AT_ONCE}
    frames = f"up to {most:,} frames of {shapes[0][1]} × {shapes[0][2]} pixels and the like"
    return values, f"{count:,} films to train on {told}, {frames}", [*films.remarks(), *unread[:1]]
