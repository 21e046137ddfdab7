"""Numbers that a change of the package's structure must not change: losses, scores, predictions, what is drawn.

    python -m tools.characterise --quick --out before.json --tensors tensors      ten minutes on one thread
    python -m tools.characterise --quick --against before.json --tensors tensors  what differs now
    python -m tools.characterise --all --out all.json --tensors tensors           every recipe that ships, far longer
    python -m tools.characterise --quick --recipes copy sst2                      some of them; others stay in the file

Each recipe is trained a few steps on one thread from the tensors in `--tensors`, which are written there the first time
and loaded afterwards, whatever the package would draw today; what was renamed stands in `renamed.toml`. Losses are
compared to the last digit, scores and what is drawn to 1e-6, predictions must be equal. A recipe that fails is recorded
as a sentence. The data is looked for in `$SEQWRIGHT_DATA`, else in `../shared/data`.
"""

import argparse
import json
import os
import platform
import re
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from tools import probe
from tools.cases import EVERY, QUICK, SMALL, TRAINING, Case
from tools.records import Record, differences, read_record, write_record

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = str(REPOSITORY.parent / "shared" / "data")
RECIPES = Path(__file__).parent / "recipes"
RENAMED: dict[str, dict[str, str]] = tomllib.loads((Path(__file__).parent / "renamed.toml").read_text(encoding="utf-8"))
PROBES: tuple[Callable[[probe.Probe], Record], ...] = (probe.evaluated, probe.predicted, probe.looked)


def main(arguments: Sequence[str] | None = None) -> int:
    """Record, and compare where that is asked for; 1 where something differs."""
    asked = _asked(arguments)
    os.environ.setdefault("SEQWRIGHT_DATA", SHARED)
    torch.set_num_threads(1)
    cases = every_case() if asked.all else QUICK
    names = asked.recipes or list(cases)
    if unknown := set(names) - set(cases):
        print(f"there is no case {', '.join(sorted(unknown))}; there are {', '.join(cases)}", file=sys.stderr)
        return 2
    with _folder(asked.cache) as cache, _folder(asked.tensors) as tensors, tempfile.TemporaryDirectory() as runs:
        os.environ["SEQWRIGHT_CACHE"] = str(cache)
        found: Record = {"about": _about(), "cases": {}}
        if asked.recipes and asked.out is not None and asked.out.exists():
            found = read_record(asked.out)
        recorded(found, cases, names, tensors=tensors, runs=Path(runs), small=not asked.all, out=asked.out)
    if asked.against is None:
        return 0
    return _compared(read_record(asked.against), found, names if asked.recipes else None)


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--quick", action="store_true", help="a small case for every path through the package")
    which.add_argument("--all", action="store_true", help="every recipe that ships, as large as it is")
    parser.add_argument("--recipes", nargs="+", metavar="NAME", help="only these cases")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write the record")
    parser.add_argument("--against", type=Path, metavar="FILE", help="an earlier record to compare with")
    parser.add_argument("--tensors", type=Path, metavar="FOLDER", help="where the initial tensors are, or come to be")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="the package's cache; left out: a new one")
    return parser.parse_args(arguments)


@contextmanager
def _folder(asked: Path | None) -> Iterator[Path]:
    """A folder that is asked for, or one that lives as long as this."""
    if asked is not None:
        asked.mkdir(parents=True, exist_ok=True)
        yield asked.resolve()
        return
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def every_case() -> dict[str, Case]:
    """Every recipe that ships."""
    return {name: EVERY.get(name, Case(name, train=1000))._replace(held_out=40) for name in probe.recipe_names()}


# ---------------------------------------------------------------------------------------------------- recording


def recorded(
    found: Record,
    cases: Mapping[str, Case],
    names: Sequence[str],
    *,
    tensors: Path,
    runs: Path,
    small: bool,
    out: Path | None = None,
) -> None:
    """Add some cases to a record; it is written after each, so that a long one can be watched and stopped."""
    began = time.monotonic()
    for number, name in enumerate(names, start=1):
        started = time.monotonic()
        record = record_of(name, cases, tensors=tensors, runs=runs, small=small)
        found["cases"][name] = record
        now = time.monotonic()
        told = f"{number}/{len(names)} {name}  {now - started:.1f} s, {now - began:.0f} s in all"
        print(told + (f"  {record['error']}" if "error" in record else ""), file=sys.stderr, flush=True)
        if out is not None:
            write_record(out, found)


def record_of(name: str, cases: Mapping[str, Case], *, tensors: Path, runs: Path, small: bool) -> Record:
    """Everything that is recorded of a case, or the sentence with which it failed and what came before."""
    record: Record = {}
    try:
        under = _trained(name, cases, tensors=tensors, runs=runs, small=small, record=record)
        for ask in PROBES:
            for field, value in ask(under).items():
                record[field] = {**record.get(field, {}), **value}
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        record["error"] = f"{type(error).__name__}: {error} ({Path(where.filename).name}, {where.name})"
    return record


def _trained(
    name: str, cases: Mapping[str, Case], *, tensors: Path, runs: Path, small: bool, record: Record
) -> probe.Probe:
    """A case that was trained; first those whose runs it needs."""
    case, folder = cases[name], runs / name
    shared: dict[str, Any] = {"tensors": tensors, "runs": runs, "small": small}
    for other in filter(None, (case.weights, case.teacher, case.tokenizer)):
        if not (runs / other).exists():
            _trained(other, cases, **shared, record={})
    begun = [f"model.weights={runs / case.weights}"] if case.weights else []
    begun += [f"input.like={runs / case.tokenizer}"] if case.tokenizer else []
    overrides = [*(SMALL if small else TRAINING), *map(_with_data, case.overrides), *begun]
    sizes, teacher = probe.Sizes(case.train, case.held_out), runs / case.teacher if case.teacher else None
    under = probe.probed(_located(case.recipe, runs), overrides, folder, sizes, teacher)
    record |= probe.trained(under, tensors / f"{name}.safetensors", renamed_tensor)
    return under


def _located(recipe: str, runs: Path) -> str:
    """A recipe that ships by its name; one of these tools as a file, which says where the data lies."""
    own = RECIPES / f"{recipe}.toml"
    if not own.exists():
        return recipe
    written = runs / own.name
    written.write_text(_with_data(own.read_text(encoding="utf-8")), encoding="utf-8")
    return str(written)


def _with_data(text: str) -> str:
    return text.replace("{data}", os.environ.get("SEQWRIGHT_DATA", SHARED))


def renamed_tensor(name: str, known: Collection[str]) -> str:
    """What a tensor is called today; `known` are the model's."""
    for old, new in RENAMED["tensors"].items():
        if name in known:
            break
        name = re.sub(old, new, name)
    return name


def _about() -> dict[str, str]:
    """What the last digits depend on beside the package."""
    capability = torch.backends.cpu.get_cpu_capability()
    return {"torch": torch.__version__, "python": platform.python_version(), "cpu": capability}


# ---------------------------------------------------------------------------------------------------- comparing


def _compared(before: Record, after: Record, names: Sequence[str] | None) -> int:
    """Print what differs, of all cases or of some; 1 where something does."""
    if before["about"] != after["about"]:
        print(f"another machine or torch: {before['about']} → {after['about']}; last digits may differ for that alone")
    cases = {RENAMED["cases"].get(name, name): renamed_scores(record) for name, record in before["cases"].items()}
    if names is not None:
        cases, after = ({name: each[name] for name in names if name in each} for each in (cases, after["cases"]))
    else:
        after = after["cases"]
    found = list(differences(cases, json.loads(json.dumps(after))))
    print("\n".join(found) if found else f"no difference in {len(cases)} cases")
    return 1 if found else 0


def renamed_scores(record: Record) -> Record:
    """A record whose scores are called as they are today."""

    def renamed(scores: Mapping[str, Any]) -> dict[str, Any]:
        return {RENAMED["scores"].get(name, name): value for name, value in scores.items()}

    changed = dict(record)
    if "validation" in record:
        changed["validation"] = renamed(record["validation"])
    if "losses" in record:
        changed["losses"] = renamed(record["losses"])
    if "evaluation" in record:
        changed["evaluation"] = {**record["evaluation"], "scores": renamed(record["evaluation"]["scores"])}
    return changed


if __name__ == "__main__":
    sys.exit(main())
