"""`look` at a classifier of series: the steps that each label hangs on, and when it is decided."""

import re
from collections.abc import Iterable
from pathlib import Path

from seqwright.analysis.saliency import saliencies_of
from seqwright.cli.terminal import json_text, say_drawn
from seqwright.data.labelled_series import SeriesExample
from seqwright.inputs.series import plain_values
from seqwright.pictures import save
from seqwright.pictures.saliency import Saliency, saliency_picture
from seqwright.runs import Run


def draw_saliency(run: Run, series: Iterable[SeriesExample], where: Path, *, as_json: bool) -> None:
    """Draw each series, and print a line of it, or its numbers as JSON."""
    for number, found in enumerate(saliencies_of(run, series), start=1):
        name = re.sub(r"\W+", "-", found.label).strip("-") or "label"
        title = f"{run.folder.name}: {found.label}, {100 * found.probability_KL[-1, 0]:.1f} %"
        paths = save(saliency_picture(found, title=title), where / f"saliency-{number}-{name}")
        print(json_text(_fields(found)) if as_json else found.sentence)
        say_drawn(paths)


def _fields(found: Saliency) -> dict[str, object]:
    right = {"target": found.target} if found.target else {}
    course = [
        {"steps": end, "probabilities": dict(zip(found.labels, [round(p, 4) for p in p_L], strict=True))}
        for end, p_L in zip(found.end_K.tolist(), found.probability_KL.tolist(), strict=True)
    ]
    return {
        "series": plain_values(found.value_TC),
        "label": found.label,
        **right,
        "saliency": plain_values(found.saliency_TC),
        "course": course,
    }
