"""What evaluations and checks draw, by the name of the drawing."""

from collections.abc import Callable

from matplotlib.figure import Figure

from seqwright.pictures.confusion import confusion_table
from seqwright.pictures.contact_sheet import caption_sheet, contact_sheet
from seqwright.pictures.forecasts import forecast_picture, panels_of
from seqwright.pictures.tracks import track_pictures
from seqwright.pictures.values import value_scatter

DRAWINGS: dict[str, Callable[..., Figure]] = {
    "captions": caption_sheet,
    "confusion": confusion_table,
    "forecasts": lambda answers, season: forecast_picture(panels_of(answers, season)),
    "images": contact_sheet,
    "tracks": track_pictures,
    "values": value_scatter,
}
