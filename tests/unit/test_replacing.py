"""A file that is there is replaced only if somebody says so."""

import sys
from pathlib import Path

import pytest
import typer

from seqwright.cli.terminal import make_sure
from seqwright.errors import DataError


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A file that is there."""
    path = tmp_path / "kept.csv"
    path.write_text("precious")
    return path


@pytest.mark.parametrize("answer", [True, False])
def test_on_a_terminal_it_is_asked(kept: Path, answer: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def confirm(question: str, **_: object) -> bool:
        asked.append(question)
        return answer

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(typer, "confirm", confirm)
    if answer:
        make_sure(kept, yes=False)
    else:
        with pytest.raises(typer.Exit):
            make_sure(kept, yes=False)
    assert asked == [f"Replace {kept}?"]


def test_without_one_it_is_refused_and_with_yes_it_is_not(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    with pytest.raises(DataError, match="say --yes to replace it"):
        make_sure(kept, yes=False)
    make_sure(kept, yes=True)
    make_sure(kept.with_name("new.csv"), yes=False)
    make_sure(kept.parent / "folder", yes=False)
