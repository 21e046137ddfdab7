"""What stories about the command line share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.story.command import typed

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def answered(capfd: pytest.CaptureFixture[str]) -> Say:
    """Type a command; get its exit code, output and complaints."""

    def answer(*words: str) -> tuple[int, str, str]:
        code = typed(*words)
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return answer


@pytest.fixture
def say(home: Path, answered: Say, monkeypatch: pytest.MonkeyPatch) -> Say:
    """The same in the `home` of a story."""
    monkeypatch.chdir(home)
    return answered
