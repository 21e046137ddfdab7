"""What plain values of a recipe must not say, whatever the settings of its sections allow."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from seqwright.errors import SettingError
from seqwright.kinds import family_of, usual_kind
from seqwright.lineage import MODELS
from seqwright.older_names import meant

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and newline: a terminal would obey them


def refuse_control_characters(word: str, text: str) -> None:
    """What is shown in a terminal must not command it."""
    if CONTROL.search(text):
        raise SettingError(f"'{word}' is {text!r}, which holds a control character; leave it out")


def refuse_path_as_name(name: str) -> None:
    """What names a folder under `runs/` must not lead elsewhere: training writes there, and `--fresh` deletes."""
    if name in {".", ".."} or "/" in name or "\\" in name or "\n" in name:
        raise SettingError(
            f"'name' is {name!r}, but it names the folder under runs/: write a plain name such as 'mine', and say with "
            "--run where else the run shall be"
        )


def refuse_search_without_loss(plain: Mapping[str, Any], task: str) -> None:
    """A learning rate cannot be found for a model that has none."""
    kind = plain.get("model", {}).get("kind", usual_kind("model", task))
    rows = [row for row in MODELS if (row.kind, row.task) == (kind, family_of(task))]
    if plain.get("training", {}).get("rate") == "find" and any("gradient" not in row.promises for row in rows):
        raise SettingError(f"training.rate is 'find', but a model of kind {kind} counts and has no rate: leave it out")


def refuse_unknown_metric(metric: str, known: Sequence[str]) -> None:
    """A metric that validation will not give is better refused now than after hours."""
    if metric not in known:
        raise SettingError(
            f"training.metric is '{metric}', but validation gives {', '.join(known)}.{meant(metric, known)}"
        )
