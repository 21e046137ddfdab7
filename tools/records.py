"""Records of `characterise`: how they are written, and what differs between two of them."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

EXACT = frozenset({"losses", "rates", "tokens", "epochs"})  # equal to the last digit
# The verbs print some numbers with four digits, where a last bit may turn the fourth.
CLOSE = {"predictions": 1.01e-4}
USUAL = 1e-6

Record = dict[str, Any]


def write_record(path: Path, record: Record) -> None:
    """A record as JSON that reads well in a diff: keys sorted, written whole."""
    aside = path.with_name(f"{path.name}.part")
    aside.write_text(json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    aside.replace(path)


def read_record(path: Path) -> Record:
    """A record that was written."""
    record: Record = json.loads(path.read_text(encoding="utf-8"))
    return record


def differences(before: Record, after: Record) -> Iterator[str]:
    """A line for everything of `after` that is not as in `before`; cases that only one of them has are told."""
    for case in sorted(before.keys() | after.keys()):
        if case not in after or case not in before:
            yield f"{case}: only {'before' if case in before else 'after'}"
            continue
        for field in sorted(before[case].keys() | after[case].keys()):
            tolerance = 0.0 if field in EXACT else CLOSE.get(field, USUAL)
            yield from _unlike(f"{case}: {field}", before[case].get(field), after[case].get(field), tolerance)


def _unlike(where: str, before: Any, after: Any, tolerance: float) -> Iterator[str]:
    """What differs between two values, however deep they are."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(before.keys() | after.keys()):
            yield from _unlike(f"{where}.{key}", before.get(key), after.get(key), tolerance)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, pair in enumerate(zip(before, after, strict=True)):
            yield from _unlike(f"{where}[{place}]", *pair, tolerance)
    elif not _same(before, after, tolerance):
        yield f"{where}: {_short(before)} → {_short(after)}"


def _same(before: Any, after: Any, tolerance: float) -> bool:
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    if isinstance(before, int | float) and isinstance(after, int | float):
        both_nan = math.isnan(before) and math.isnan(after)
        return both_nan or math.isclose(before, after, rel_tol=tolerance, abs_tol=tolerance)
    return bool(before == after)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"
