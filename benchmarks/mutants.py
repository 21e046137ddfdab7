"""Does a test notice when a line of the core is wrong?

    python -m benchmarks.mutants                                    about 200 changes, an hour on one core
    python -m benchmarks.mutants --only decoding/beam.py:61:compare shows what the tests say of one
    python -m benchmarks.mutants --list

Small changes (`benchmarks/mutations.py`) are made in a copy of the repository, one at a time, and the tests that run
through the changed line are run until one fails. Which tests those are, and how long each takes, is measured first. A
change that no test notices is a survivor: it gets a test, or it changes nothing that can be seen, and then the reason
stands in `benchmarks/mutants.toml`. What was found is kept in `runs/mutants`, so that an interrupted benchmark resumes;
survivors without a reason are tried again.
"""

import fnmatch
import hashlib
import importlib
import json
import os
import sys
import tomllib
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.mutant_tests import IMPORTED, Outcome, Test, concerned, copied_repository, measured, tried
from benchmarks.mutations import Mutation, mutations
from benchmarks.record import REPOSITORY, options, record, show

MUTANTS, SEED = 200, 17
CORE = {  # what is changed, and the patterns of its files in the package
    "decoding": ("decoding/[bcers]*.py", "decoding/stopping.py", "decoding/stepper.py"),
    "attention": ("layers/attention.py", "layers/scores.py", "layers/alignment.py", "layers/positions.py"),
    "losses": ("objectives/*.py",),
    "schedules and averages": ("training/schedule.py", "training/averages.py"),
    "metrics": ("metrics/*.py",),
    "n-gram estimates": ("models/ngram*.py",),
    "splits": ("data/pieces.py", "data/numbers.py", "data/dates_values.py", "batches/shuffled.py"),
    "checkpoints": ("training/checkpoint.py", "training/weights.py", "training/journal.py", "whole_file.py"),
    "tokenizers": ("inputs/*tokenizers.py", "inputs/vocabularies.py", "inputs/spelling.py", "inputs/bpe_dropout.py"),
    "interchange tables": ("interchange/names.py", "interchange/families.py", "interchange/heads.py"),
}
PATIENCE = 60.0  # seconds of tests for one mutant at most, by the times measured before


def main() -> None:
    parser = options("mutants", __doc__)
    parser.add_argument("--only", metavar="ID", help="one mutant, with the output of its tests")
    parser.add_argument("--list", action="store_true", help="the mutants, without running them")
    parser.add_argument("--count", type=int, default=MUTANTS, help="how many mutants")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds of tests for one mutant at most")
    parser.add_argument("--kept", type=Path, default=REPOSITORY / "runs/mutants", help="where it resumes from")
    given = parser.parse_args()
    core = core_files()
    every = {each.id: each for name in core for each in mutations(REPOSITORY / "src/seqwright" / name, name)}
    chosen = [*directed(), *sample(list(every.values()), given.count)][: 3 if given.quick else None]
    if given.only:
        chosen = [each for each in [*directed(), *every.values()] if each.id == given.only]
        if not chosen:
            sys.exit(f"there is no mutant {given.only}; --list shows those that are chosen")
    if given.list:
        print("\n".join(f"{each.id:44} {each.change}" for each in chosen))
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in IMPORTED:
        importlib.import_module(name)
    with copied_repository() as copy:
        tests = measured(copy, given, core)
        if given.only:
            print(tried(copy, chosen[0], concerned(chosen[0], tests, given.patience), sys.stdout.fileno()))
            return
        report(chosen, list(outcomes(copy, chosen, tests, given)), given)


def core_files() -> list[str]:
    package = REPOSITORY / "src/seqwright"
    names = sorted(path.relative_to(package).as_posix() for path in package.rglob("*.py"))
    return [name for name in names if room(name) and not name.endswith("__init__.py")]


def room(name: str) -> str:
    """What of the core a file belongs to, or nothing."""
    rooms = (room for room, patterns in CORE.items() if any(fnmatch.fnmatch(name, one) for one in patterns))
    return next(rooms, "")


TABLE: dict[str, Any] = tomllib.loads((REPOSITORY / "benchmarks/mutants.toml").read_text(encoding="utf-8"))


def directed() -> list[Mutation]:
    """The changes of the table that are always tried."""
    found = []
    for row in TABLE["directed"]:
        source = (REPOSITORY / "src/seqwright" / row["file"]).read_bytes()
        start = source.find(row["was"].encode())
        if start < 0:
            sys.exit(f"benchmarks/mutants.toml: {row['file']} has no {row['was']} any more; correct or remove the row")
        line, end = source.count(b"\n", 0, start) + 1, start + len(row["was"].encode())
        found.append(Mutation(row["file"], line, "directed", 1, "", row["was"], row["becomes"], start, end))
    return found


def sample(every: list[Mutation], count: int) -> list[Mutation]:
    """Some of each file, more of larger files, and of each file as many of each operator as there are.

    A mutant's place in the order depends on its own line alone: an edit elsewhere in the file leaves the others.
    """
    turns: dict[str, list[tuple[float, str, Mutation]]] = defaultdict(list)
    files = Counter(each.file for each in every)
    by_kind = defaultdict(list)
    for each in sorted(every, key=lambda each: each.rank(SEED)):
        by_kind[each.file, each.operator].append(each)
    for (file, _), several in by_kind.items():
        turns[file] += [(turn, each.rank(SEED), each) for turn, each in enumerate(several)]
    order = [
        (place / files[file] ** 0.5, rank, each)  # a file of four times the changes has twice the mutants
        for file, several in turns.items()
        for place, (_, rank, each) in enumerate(sorted(several, key=lambda one: one[:2]), start=1)
    ]
    return [each for *_, each in sorted(order, key=lambda one: one[:2])[:count]]


def outcomes(copy: Path, chosen: list[Mutation], tests: list[Test], given: Namespace) -> Iterator[Outcome]:
    """One for each mutant; those that are known already are not made again."""
    journal: Path = given.kept / "outcomes.jsonl"
    known = {}
    for line in journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []:
        one = json.loads(line)
        known[one["change"], one["operator"]] = one
    for number, mutation in enumerate(chosen, start=1):
        those = concerned(mutation, tests, given.patience)
        names = hashlib.sha256("\n".join(test.name for test in those).encode()).hexdigest()[:16]
        one = known.get((mutation.change, mutation.operator))
        if one and (one["noticed"] or (one["tested"] == names and mutation.change in explanations())):
            yield Outcome(mutation, one["noticed"], one["tests"], one["seconds"])
            continue
        outcome = tried(copy, mutation, those)
        said = {"change": mutation.change, "operator": mutation.operator, **outcome._asdict(), "tested": names}
        with journal.open("a", encoding="utf-8") as out:
            out.write(json.dumps(said | {"mutation": mutation.id}, ensure_ascii=False) + "\n")
        print(f"{number:4} {outcome.noticed or 'SURVIVED':9} {outcome.seconds:5.1f} s  {mutation.id}", flush=True)
        yield outcome


def explanations() -> dict[str, str]:
    """Why a change that no test notices is none, by the change."""
    return {row["change"]: row["reason"] for row in TABLE.get("explained", [])}


def report(chosen: list[Mutation], found: list[Outcome], given: Namespace) -> None:
    why = explanations()
    survivors = [outcome for outcome in found if not outcome.noticed]
    unexplained = [outcome.mutation for outcome in survivors if outcome.mutation.change not in why]
    rooms = {name: [outcome for outcome in found if room(outcome.mutation.file) == name] for name in CORE}
    counted = {
        name: {
            "mutants": len(those),
            "noticed": sum(bool(outcome.noticed) for outcome in those),
            "explained": sum(not outcome.noticed and outcome.mutation.change in why for outcome in those),
        }
        for name, those in rooms.items()
        if those
    }
    show(["", *next(iter(counted.values()))], [[name, *map(str, row.values())] for name, row in counted.items()])
    record(
        "mutants",
        __doc__,
        given,
        threads=1,
        libraries=["torch", "pytest"],
        settings={"seed": SEED, "count": len(chosen)},
        numbers={
            "mutants": len(found),
            "noticed": len(found) - len(survivors),
            "minutes": round(sum(outcome.seconds for outcome in found) / 60, 1),
            "operators": dict(Counter(each.operator for each in chosen)),
            "parts": counted,
            "explained": [
                {"id": one.mutation.id, "change": one.mutation.change, "reason": why[one.mutation.change]}
                for one in survivors
                if one.mutation.change in why
            ],
            "unexplained": [{"id": each.id, "change": each.change} for each in unexplained],
        },
    )
    if unexplained:
        sys.exit("no test notices " + ", ".join(each.id for each in unexplained))


if __name__ == "__main__":
    main()
