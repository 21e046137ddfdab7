"""Where the contract over tasks works: a folder for each tiny task, and commands that are typed in it."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from seqwright.__main__ import main
from tests.contract.tiny_tasks import Tiny


class Typed(NamedTuple):
    """What became of a command: its exit code, output and complaints."""

    code: int
    out: str
    err: str


class Workshop:
    """A folder for each tiny task, with its files, its recipe and, as soon as somebody asks for it, its run."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def enter(self, tiny: Tiny, patch: pytest.MonkeyPatch) -> Path:
        """Work in the folder of a tiny task; its run is in `run`."""
        folder = self.home / tiny.name
        if not folder.exists():
            folder.mkdir()
            for name, text in {**tiny.files, "tiny.toml": tiny.text}.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text, encoding="utf-8")
        patch.chdir(folder)
        if not Path("run").exists():
            trained = typed("train", "tiny.toml", "--run", "run")
            assert trained.code == 0, trained.err
        return folder


def typed(*words: str) -> Typed:
    """Type a command; RUN is the run of the folder."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["seqwright", *("run" if word == "RUN" else word for word in words)])
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Typed(code, out.getvalue(), err.getvalue())


def one_sentence(err: str) -> bool:
    return err.startswith("seqwright ") and err.count("\n") == 1
