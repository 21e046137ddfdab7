"""How the verbs speak: whole tables and bars in narrow terminals, articles, warnings, and text that is none."""

import signal
import subprocess
import sys
import warnings
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from seqwright.cli import training as training_verbs
from seqwright.cli.app import app
from seqwright.cli.options import TrainingOptions
from seqwright.cli.scoring import surprisal_line
from seqwright.cli.terminal import print_table
from seqwright.commands import article
from seqwright.outputs.next_token import Surprise
from seqwright.training.interruption import Interrupted
from seqwright.training.reporter import Bar

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.4.2"
VERBS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("columns", [60, 80])
def test_a_narrow_table_keeps_every_letter(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table(("score", "value", "signature"), [("baseline_linear_accuracy", "71.123", SIGNATURE)])
    lines = capsys.readouterr().out.splitlines()
    assert "".join(line.split()[-1] for line in lines[1:]) == SIGNATURE
    assert max(map(len, lines)) <= columns


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_bar_keeps_its_times(columns: int) -> None:
    shown = StringIO()
    bar = Bar(Console(file=shown, width=columns, force_terminal=True, color_system=None))
    bar.progress.add_task("train", total=100_000, completed=99_999, loss="3.214", speed="12,345", unit="tokens")
    bar.progress.console.print(bar.progress.get_renderable())
    line = shown.getvalue().strip().splitlines()[-1]
    assert line.endswith("0:00:00 -:--:--")
    assert "99999/100000 loss 3.214 12,345 tokens/s" in line


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("verb", VERBS)
def test_help_fits_into_the_terminal(verb: str, columns: int) -> None:
    shown = CliRunner().invoke(app, [verb, "--help"], terminal_width=columns).output
    assert shown.startswith("Usage: ")
    assert max(map(len, shown.splitlines())) <= columns


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        *[(kind, "an") for kind in ("lstm", "rnn", "mlp", "ngram", "lstm-lm")],
        *[(kind, "a") for kind in ("gru", "gpt", "bert", "gnmt", "transformer", "ugrnn", "moe-lstm", "roberta")],
    ],
)
def test_the_article_fits_the_name(kind: str, expected: str) -> None:
    assert article(kind) == expected


def test_a_text_that_is_no_utf8_is_refused_in_a_sentence() -> None:
    command: list[str | bytes] = [sys.executable, "-m", "seqwright", "translate", "runs/mine", b"Gr\xfc\xdfe"]
    said = subprocess.run(command, capture_output=True, check=False)
    assert said.returncode == 2
    assert said.stdout == b""
    sentence = said.stderr.decode()
    assert sentence.startswith("seqwright translate: argument 2, 'Gr")
    assert "is not UTF-8" in sentence
    assert sentence.count("\n") == 1


def test_a_warning_is_a_sentence_without_a_source_path(capfd: pytest.CaptureFixture[str]) -> None:
    CliRunner().invoke(app, ["recipes", "--task", "forecasting"])
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("no font has 😀", stacklevel=1)
    assert capfd.readouterr().err == "no font has 😀\n"


def test_without_colour_each_token_has_its_surprisal() -> None:
    surprise = Surprise("to be", ["to", " be", ""], [3.25, 1.0, 0.5], 0)
    plain = surprisal_line(surprise, Console(file=StringIO()))
    assert plain == "to[3.2] be[1.0] end[0.5]  1.58 bits per token"
    coloured = Console(file=StringIO(), force_terminal=True, color_system="truecolor", no_color=False)
    assert str(surprisal_line(surprise, coloured)) == "to be  1.58 bits per token"
    colourless = Console(file=StringIO(), force_terminal=True, color_system="truecolor", no_color=True)
    assert surprisal_line(surprise, colourless) == plain


def test_a_ctrl_c_after_all_is_saved_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise Interrupted(7)

    monkeypatch.setattr(training_verbs, "train", stopped)
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as stop:
            training_verbs.train_recipe("copy", [], tmp_path / "run", TrainingOptions())
        assert stop.value.code == 130
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
