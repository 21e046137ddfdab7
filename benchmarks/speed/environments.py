"""Environments of the peers: what each needs is installed beside the project's own packages, never into them.

An environment lies in the cache folder. It sees the packages of the one that runs the bench, torch above all, so that
only what is missing, or what a peer needs in another version, is installed.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from benchmarks.record import REPOSITORY
from seqwright.data.cards import cache_folder

LONGEST = 600  # seconds that an installation may take
MADE = "made.json"


class Environment(NamedTuple):
    """What is installed: requirements as pip has them, with all that they require or, if not `whole`, alone."""

    name: str
    requirements: Sequence[str]
    whole: bool = True


class NotInstalledError(Exception):
    """A peer's environment could not be made; one sentence."""


def python_of(environment: Environment | None) -> Path:
    """The Python of an environment, which is made where it is not there yet; None is the one that runs."""
    if environment is None:
        return Path(sys.executable)
    parents = shared_paths()
    key = hashlib.sha256(json.dumps([*environment, sys.version, parents]).encode()).hexdigest()[:12]
    folder = cache_folder() / "bench" / f"{environment.name}-{key}"
    python = folder / "bin" / "python"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not (folder / MADE).exists():
            make(environment, folder, parents)
    return python


def make(environment: Environment, folder: Path, parents: Sequence[str]) -> None:
    """Make an environment from scratch; one that was left half made is removed first."""
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    packages = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    (Path(packages) / "parents.pth").write_text("".join(f"{path}\n" for path in parents), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    command += ["--constraint", str(REPOSITORY / "constraints.txt")] if environment.whole else ["--no-deps"]
    try:
        done = subprocess.run(
            [*command, *environment.requirements], capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise NotInstalledError(f"installing {environment.name} took more than {LONGEST} seconds") from error
    if done.returncode:
        raise NotInstalledError(f"{environment.name} could not be installed: {reason(done.stderr)}")
    (folder / MADE).write_text(json.dumps(list(environment.requirements)) + "\n", encoding="utf-8")


def reason(stderr: str) -> str:
    """What pip gives as the reason: the last error that it prints, else its last line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["pip did not say why"])[-1]


def shared_paths() -> list[str]:
    """Where the environment that runs has its packages, this one among them."""
    own = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    others = (path for path in sys.path if path and Path(path).is_dir() and Path(path).resolve() != REPOSITORY)
    return [path for path in dict.fromkeys(others) if path not in own and not path.endswith("lib-dynload")]
