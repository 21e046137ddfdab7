"""`probe`: how much of some labels the frozen vectors of a run tell."""

from dataclasses import asdict
from pathlib import Path
from typing import cast

from seqwright.analysis.probe import Probe, probe_of
from seqwright.cli.opening import opened_run
from seqwright.cli.terminal import json_text, print_table, say, shown
from seqwright.cli.using_any import ProbeOptions
from seqwright.errors import SettingError
from seqwright.runs import Pooling


def probe_run(folder: Path, options: ProbeOptions) -> None:
    """Print what the probes reach, and what it was measured with."""
    if options.pooling not in {None, "mean", "first"}:
        raise SettingError(f"--pooling is '{options.pooling}'; choose mean or first, or leave it out")
    run = opened_run(folder, options.which)
    say(f"{shown(folder)}, step {run.step:,}: its vectors are frozen")
    found = probe_of(
        run,
        options.data,
        test=options.test,
        k=options.k,
        temperature=options.temperature,
        pooling=cast(Pooling | None, options.pooling),
    )
    if options.json:
        print(json_text(asdict(found)))
        return
    print(f"bank: {found.bank}, vectors of {found.width:,} numbers\nscored on: {found.asked}")
    if found.baseline:
        print(f"baseline: {found.baseline}")
    print()
    rows = [
        (name, f"{scores['accuracy']:.2f}", f"{scores['macro_f1']:.2f}", _learnt(name, found))
        for name, scores in found.scores.items()
    ]
    print_table(("probe", "accuracy", "macro F1", "with"), rows)


def _learnt(name: str, found: Probe) -> str:
    """How a probe was made, in a few words."""
    if name == "linear":
        return f"logistic regression, C {found.penalty:g}"
    return f"k {found.k}, temperature {found.temperature:g}"
