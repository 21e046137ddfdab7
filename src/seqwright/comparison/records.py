"""What a comparison has found so far, on disk: one JSON file for each trial, one entry for each thing done to it.

An entry stands with the settings that made it. What was made by others than those of today is done again; a setting
that the version before did not know had its usual value.
"""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from seqwright.recipe import flattened
from seqwright.whole_file import written_whole

Found = dict[str, Any]


class Records:
    """The folder of the records of a comparison."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def found(self, name: str, stage: str, made_by: Found, regardless: Collection[str] = ()) -> Found | None:
        """What a stage of a trial found under the same settings, if it did, `regardless` of some."""
        entry = self._read(name).get(stage)
        if entry is None:
            return None
        before, now = (flattened(each) for each in (entry["made_by"], _plain(made_by)))
        changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
        return dict(entry["found"]) if changed <= {*regardless} else None

    def measured_before(self, name: str) -> Found:
        """Cores and memory of a training that is over: they are known only to the process that trained."""
        found: Found = self._read(name).get("trained", {}).get("found", {})
        return {key: found[key] for key in ("cores", "memory") if key in found}

    def keep(self, name: str, stage: str, made_by: Found, found: Found) -> None:
        """Write down what a stage found."""
        self.folder.mkdir(parents=True, exist_ok=True)
        entries = {**self._read(name), stage: {"made_by": _plain(made_by), "found": found}}
        with written_whole(self.path(name)) as file:
            json.dump(entries, file, indent=1, ensure_ascii=False)

    def path(self, name: str) -> Path:
        """The file of a trial."""
        return self.folder / f"{name}.json"

    def answers(self, name: str) -> Path:
        """The file with what a trial predicted for each example."""
        return self.folder / f"{name}.jsonl"

    def _read(self, name: str) -> dict[str, Any]:
        """The entries of a trial that are whole: what was damaged is done again."""
        try:
            entries = json.loads(self.path(name).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError, RecursionError):
            return {}
        return (
            {stage: entry for stage, entry in entries.items() if _is_whole(entry)} if isinstance(entries, dict) else {}
        )


def _is_whole(entry: Any) -> bool:
    return isinstance(entry, dict) and all(isinstance(entry.get(key), dict) for key in ("made_by", "found"))


def _plain(value: Any) -> Any:
    """A value as it comes back from JSON."""
    return json.loads(json.dumps(value))
