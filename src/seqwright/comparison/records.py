"""What a comparison has found so far, on disk: one JSON file for each trial, one entry for each thing done to it.

An entry stands with the settings that made it. What was made by others than those of today is done again, and so is
what is damaged, as its sha256 tells.
"""

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from seqwright.progress import remark
from seqwright.recipe import flattened
from seqwright.whole_file import written_whole

Found = dict[str, Any]
STAGES = ("measured", "trained", "evaluated")


class Records:
    """The folder of the records of a comparison."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def found(self, name: str, stage: str, made_by: Found, regardless: Collection[str] = ()) -> Found | None:
        """What a stage of a trial found under the same settings, if it did, `regardless` of some."""
        entries = self._read(name)
        if stage not in entries:
            return None
        entry = entries[stage]
        if not _is_whole(entry) or entry["found"].get("answers") not in {None, self.sum_of_answers(name)}:
            remark(f"{self.path(name)} is damaged, or what it speaks of: {name} is {stage} again")
            return None
        before, now = (flattened(each) for each in (entry["made_by"], _plain(made_by)))
        changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
        return dict(entry["found"]) if changed <= {*regardless} else None

    def measured_before(self, name: str) -> Found:
        """Cores and memory of a training that is over: they are known only to the process that trained."""
        entry: Any = self._read(name).get("trained")
        found: Found = entry["found"] if _is_whole(entry) else {}
        return {key: found[key] for key in ("cores", "memory") if key in found}

    def keep(self, name: str, stage: str, made_by: Found, found: Found) -> None:
        """Write down what a stage found."""
        self.folder.mkdir(parents=True, exist_ok=True)
        entries = {**self._read(name), stage: {"made_by": _plain(made_by), "found": found, "sha256": _sum_of(found)}}
        with written_whole(self.path(name)) as file:
            json.dump(entries, file, indent=1, ensure_ascii=False)

    def path(self, name: str) -> Path:
        """The file of a trial."""
        return self.folder / f"{name}.json"

    def answers(self, name: str) -> Path:
        """The file with what a trial predicted for each example."""
        return self.folder / f"{name}.jsonl"

    def sum_of_answers(self, name: str) -> str:
        """The sha256 of the answers of a trial; nothing where there are none."""
        path = self.answers(name)
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""

    def _read(self, name: str) -> dict[str, Any]:
        """The entries of a trial, each as it stands there."""
        try:
            entries = json.loads(self.path(name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError):
            entries = None
        return entries if isinstance(entries, dict) else dict.fromkeys(STAGES)


def _is_whole(entry: Any) -> bool:
    forms = isinstance(entry, dict) and all(isinstance(entry.get(key), dict) for key in ("made_by", "found"))
    return forms and entry.get("sha256") == _sum_of(entry["found"])


def _sum_of(found: Found) -> str:
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """A value as it comes back from JSON."""
    return json.loads(json.dumps(value))
