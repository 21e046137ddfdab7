"""The process that does one job of a comparison: `python -m seqwright.comparison.work`, the job as JSON on its input.

Its input stays open for as long as the process that started it lives. Where it ends, the job saves and stops: nothing
is left behind that would hold the lock of a run folder.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from seqwright.errors import UserError
from seqwright.whole_file import write_whole

INTERRUPTED = 130


def do_job() -> None:
    """Do the job, and write what was found, or the sentence that says why not, where the job says."""
    line = sys.stdin.readline()
    if not line:  # who started it was interrupted before it could say what to do
        sys.exit(INTERRUPTED)
    job = json.loads(line)
    threading.Thread(target=_stop_when_left_alone, daemon=True).start()
    try:
        found = _done(job)
    except UserError as error:
        found = {"error": str(error)}
    write_whole(Path(job["found"]), json.dumps(found))


def _done(job: dict[str, Any]) -> dict[str, Any]:
    from seqwright.comparison.measuring import Cores, evaluated_runs, measured_recipe, peak_memory, speaking, trained
    from seqwright.training.interruption import Interrupted
    from seqwright.training.reporter import Both

    try:
        match job["stage"]:
            case "measured":
                return measured_recipe(job["recipe"], timed=job["timed"])
            case "trained":
                cores = Cores()
                return trained(job["recipe"], job["folder"], Both(speaking(), cores), cores)
            case "scored":
                from seqwright.comparison.predictions import scored_again

                return scored_again(job)
            case _:
                return {**evaluated_runs(job), "memory": peak_memory()}
    except (Interrupted, KeyboardInterrupt):
        sys.exit(INTERRUPTED)


def _stop_when_left_alone() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    do_job()
