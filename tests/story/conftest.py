"""What stories about the command line share."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from seqwright.__main__ import main


@pytest.fixture
def say(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Type a command in the `home` of a story; get its exit code, output and complaints."""
    monkeypatch.chdir(home)

    def typed(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["seqwright", *words])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return typed
