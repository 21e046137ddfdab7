"""What the package depends on is written down, locked and audited."""

import importlib.metadata
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tools.dependencies import LOCKS, PAGE, REPOSITORY, audit, canonical, closure, hashes_on, licence, pinned, wanted


@pytest.mark.parametrize("target", LOCKS)
def test_a_lock_file_has_what_its_target_asks_for_in_the_pinned_versions_with_hashes(target: str) -> None:
    text = (REPOSITORY / f"locked/{target}.txt").read_text(encoding="utf-8")
    blocks = re.findall(r"^(\S+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, flags=re.MULTILINE)
    assert len(blocks) == len(re.findall(r"^\w", text, flags=re.MULTILINE))
    locked = {name: version for name, version, _ in blocks}
    assert locked.items() <= pinned().items(), "run `python -m tools.dependencies lock`"
    assert set(wanted(LOCKS[target])) | {"hatchling"} <= set(locked) | {"torch"}
    assert "torch" not in locked


def test_what_the_demo_installs_is_a_part_of_what_the_tests_install() -> None:
    pytest.importorskip("torch")  # what it needs is read from what is installed
    demo, test = (closure(wanted(extras), pinned()) for extras in LOCKS.values())
    assert demo < test
    assert {"torch", "sympy", "pydantic-core"} <= demo
    assert "pytest" in test - demo


def test_the_page_has_every_pinned_package_with_its_version() -> None:
    rows = re.findall(r"^\| (\S+) \| (\S+) \| (.+) \| .+ \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {name: version for name, version, _ in rows if name not in {"package", "Python"}} == pinned(), "page"


def test_every_requirement_has_an_oldest_version_and_the_pinned_one_is_not_older() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    several = [project["dependencies"], *project["optional-dependencies"].values()]
    required = [Requirement(line) for lines in several for line in lines]
    assert [str(each) for each in required if [one.operator for one in each.specifier] != [">="]] == []
    assert [str(each) for each in required if not each.specifier.contains(pinned()[canonical(each.name)])] == []


def test_a_licence_is_read_from_what_is_installed() -> None:
    assert licence("pytest") == "MIT"
    assert licence("no-such-package") == "not installed here"


def test_hashes_are_those_of_the_version_alone() -> None:
    files = ["a_b-1.0-py3-none-any.whl", "A-B-1.0.tar.gz", "a_b-1.0.1.tar.gz", "a_b_c-1.0.tar.gz", "a_b-1.0.dev1.zip"]
    links = [f'<a href="https://host/{name}#sha256={number:064x}">x</a>' for number, name in enumerate(files)]
    assert hashes_on("\n".join(links), "a-b", "1.0") == [f"{number:064x}" for number in (0, 1)]


def asked(folder: Path, answer: Any) -> int:
    """The exit code of the audit where pip-audit gives this answer."""
    program = folder / "pip-audit"
    program.write_text(f"#!{sys.executable}\nprint({json.dumps(answer)!r})\n", encoding="utf-8")
    program.chmod(0o755)
    return audit(str(program))


def test_a_known_fault_fails_the_audit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fault = {"id": "PYSEC-1", "fix_versions": ["1.1"]}
    sound, faulty = ({"name": name, "version": "1.0", "vulns": some} for name, some in (("a", []), ("b", [fault])))
    assert asked(tmp_path, {"dependencies": [sound, faulty]}) == 1
    assert "b 1.0: PYSEC-1, fixed in 1.1" in capsys.readouterr().out
    assert asked(tmp_path, {"dependencies": [sound]}) == 0
    assert "1 packages asked about, 0 with known faults" in capsys.readouterr().out


def test_an_audit_that_knows_of_nothing_does_not_say_that_all_is_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skipped = {"name": "a", "skip_reason": "not found"}
    for answer in ({"dependencies": [skipped]}, "no network"):
        assert asked(tmp_path, answer) == 0
        told = capsys.readouterr().out
        assert "could not be had" in told
        assert "| pytest |" in told


def test_whatever_a_locked_package_needs_here_is_locked_too() -> None:
    versions = pinned()
    locked = closure(wanted(["dev"]), versions) - {"torch"}
    needed = {
        canonical(one.name): name
        for name in locked
        for one in map(Requirement, importlib.metadata.requires(name) or [])
        if one.marker is None or one.marker.evaluate({"extra": ""})
    }
    assert {name: by for name, by in needed.items() if name not in versions} == {}
