"""What the package depends on: the table of `docs/dependencies.md`, the lock files, and what is known against it.

    python -m tools.dependencies page               writes the table again, where every extra is installed
    python -m tools.dependencies lock --index URL   writes `locked/*.txt`, with the hashes that this index publishes
    python -m tools.dependencies audit PIP_AUDIT    asks pip-audit (the path of its program) about what is installed

Versions are those of `constraints.txt`; licences and who needs whom are read from what is installed.
"""

import argparse
import importlib.metadata
import json
import re
import subprocess
import sys
import sysconfig
import tomllib
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs/dependencies.md"
BEGIN, END = "<!-- the table: python -m tools.dependencies page -->", "<!-- its end -->"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# A lock file for each target: the extras that it installs, beside the package's own needs and what builds it.
LOCKS = {"demo": (), "test": ("dev",)}
BUILDERS = ("hatchling", "editables")
# torch has several builds of one version, with other bytes and other needs: it is installed by version alone.
UNLOCKED = {"torch"}
LOCK_HEAD = """\
# Every file that the index has of these versions; `python -m tools.dependencies lock` writes it. Without torch, whose
# builds differ (docs/dependencies.md), but with what it needs; `make {name}` installs it with --require-hashes.
"""


def main() -> None:
    """One of the three parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    parts.add_parser("page")
    parts.add_parser("lock").add_argument("--index", required=True, help="address under which NAME/ lists the files")
    parts.add_parser("audit").add_argument("program", help="the path of pip-audit")
    given = parser.parse_args()
    if given.part == "page":
        write_page()
    elif given.part == "lock":
        write_locks(given.index)
    else:
        sys.exit(audit(given.program))


def canonical(name: str) -> str:
    """A name as an index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(path: Path = REPOSITORY / "constraints.txt") -> dict[str, str]:
    """The version of each package, in the order of the file."""
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return {canonical(name): version for name, _, version in (line.partition("==") for line in lines if line)}


def wanted(extras: Iterable[str]) -> list[str]:
    """What `pyproject.toml` asks for by itself and for these extras."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = [line for extra in extras for line in project["optional-dependencies"][extra]]
    return [canonical(_named(line)) for line in [*project["dependencies"], *optional]]


def closure(names: Iterable[str], versions: Iterable[str]) -> set[str]:
    """These packages and all that they need, as far as `constraints.txt` has them: others belong to other systems."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name in versions and name not in found:
            found.add(name)
            left += needs(name)
    return found


def needs(name: str) -> Iterator[str]:
    """What a package needs, without its extras."""
    lines = (importlib.metadata.requires(name) or []) if is_installed(name) else []
    return (canonical(_named(line)) for line in lines if "extra ==" not in line)


def _named(requirement: str) -> str:
    found = NAME.match(requirement)
    assert found, requirement
    return found.group()


def is_installed(name: str) -> bool:
    """Whether its own account of itself can be read here."""
    return any(importlib.metadata.distributions(name=name))


def licence(name: str) -> str:
    """What a package says of its licence, in a word or two."""
    if not is_installed(name):
        return "not installed here"
    told = importlib.metadata.metadata(name)
    classifiers = told.get_all("Classifier", [])
    classified = [line.split(" :: ")[-1] for line in classifiers if line.startswith("License :: OSI")]
    (expression, *_), (free, *_) = (told.get_all(field, [""]) for field in ("License-Expression", "License"))
    first = free.strip().split("\n")[0]
    return expression or " and ".join(classified) or first[:60] or _in_files(told)


def _in_files(told: importlib.metadata.PackageMetadata) -> str:
    return "see its " + " and ".join(told.get_all("License-File", ["files"])[:2])


def uses() -> dict[str, str]:
    """For each package what of us needs it: the package itself, or the extras."""
    versions = pinned()
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = closure(wanted([]), versions)
    found = dict.fromkeys(own, "the package")
    for extra in project["optional-dependencies"]:
        for name in sorted(closure(wanted([extra]), versions) - own):
            found[name] = f"{found[name]}, {extra}" if name in found else extra
    return found


def table() -> str:
    """Every package of `constraints.txt`: version, licence, who needs it."""
    who = uses()
    rows = [
        f"| {name} | {version} | {licence(name)} | {who.get(name, 'the tests, where it can be had')} |"
        for name, version in sorted(pinned().items())
    ]
    return "\n".join(["| package | version | licence | needed by |", "|---|---|---|---|", *rows])


def write_page() -> None:
    """The table again, between its two marks."""
    missing = [name for name in pinned() if not is_installed(name)]
    if missing:
        sys.exit(f"not installed here: {', '.join(missing)}; install every extra, and IgLM, so that they can be read")
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


def write_locks(index: str) -> None:
    """A file for each target."""
    versions = pinned()
    (REPOSITORY / "locked").mkdir(exist_ok=True)
    hashes: dict[str, list[str]] = {}
    for target, extras in LOCKS.items():
        names = closure([*wanted(extras), *BUILDERS], versions) - UNLOCKED
        for name in sorted(names - set(hashes)):
            hashes[name] = published(index, name, versions[name])
        blocks = [
            " \\\n".join([f"{name}=={versions[name]}", *(f"    --hash=sha256:{one}" for one in hashes[name])])
            for name in sorted(names)
        ]
        text = LOCK_HEAD.format(name=target) + "\n" + "\n".join(blocks) + "\n"
        (REPOSITORY / f"locked/{target}.txt").write_text(text, encoding="utf-8")


def published(index: str, name: str, version: str) -> list[str]:
    """The hashes of the files of a version on an index, in order."""
    with urllib.request.urlopen(f"{index.rstrip('/')}/{name}/", timeout=60) as answer:
        found = hashes_on(answer.read().decode(), name, version)
    if not found:
        sys.exit(f"the index has no file of {name} {version} with a sha256")
    return found


def hashes_on(page: str, name: str, version: str) -> list[str]:
    """Those of the wheels of a version, and of its source where there is one, on the page of a package."""
    spelled = canonical(name).replace("-", "[-_.]+")
    files = rf"/{spelled}-{re.escape(version)}(?:-[^\"#/]*\.whl|\.tar\.gz|\.zip)#sha256=([0-9a-f]{{64}})"
    return sorted(set(re.findall(files, page, flags=re.IGNORECASE)))


def audit(program: str) -> int:
    """What is known against what is installed; where nothing can be asked, at least what is installed."""
    command = [program, "--format=json", "--progress-spinner=off", "--path", sysconfig.get_path("purelib")]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    try:  # without a network it says why, and gives no JSON
        told: list[dict[str, Any]] = json.loads(asked.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        told = []
    known = [one for one in told if "vulns" in one]
    for one in known:
        for fault in one["vulns"]:
            fixed = ", ".join(fault["fix_versions"]) or "no version"
            print(f"{one['name']} {one['version']}: {fault['id']}, fixed in {fixed}")
    if not known:
        print(f"pip-audit's database could not be had: nothing is known of the {len(told)} packages, which are:\n")
        print(table())
        return 0
    faulty = sum(bool(one["vulns"]) for one in known)
    print(f"{len(known)} packages asked about, {faulty} with known faults, {len(told) - len(known)} unknown to it")
    return 1 if faulty else 0


if __name__ == "__main__":
    main()
