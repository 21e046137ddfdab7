import io

import pytest
from rich.console import Console

from seqwright.training.reporter import Bar, LineReporter, NotebookBar


def test_before_the_first_step_the_bar_claims_neither_loss_nor_speed() -> None:
    screen = io.StringIO()
    bar = Bar(Console(file=screen, force_terminal=True, width=120))
    bar.begin(3, 7)
    bar.progress.refresh()
    opened = screen.getvalue()
    bar.step(4, 1.25, 12345.6)
    bar.progress.refresh()
    bar.end()
    assert "loss –" in opened
    assert "– tokens/s" in opened
    assert "nan" not in opened
    assert "loss 1.250" in screen.getvalue()
    assert "12,346 tokens/s" in screen.getvalue()


def test_other_work_has_a_bar_of_its_own_before_that_of_training() -> None:
    screen = io.StringIO()
    bar = Bar(Console(file=screen, force_terminal=True, width=120))
    bar.begin(0, 100, "find rate")
    bar.step(60, 1.25, 12345.6)
    bar.end()
    assert "find rate" in screen.getvalue()
    assert "60/100" in screen.getvalue()
    searched = len(screen.getvalue())
    bar.begin(0, 7)
    bar.progress.refresh()
    bar.end()
    assert "train" in screen.getvalue()[searched:]
    assert "60/100" not in screen.getvalue()[searched:]


def test_lines_and_the_bar_of_a_notebook_say_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    told = io.StringIO()
    lines = LineReporter(told, seconds=0)
    lines.begin(0, 100, "find rate")
    lines.step(1, 2.5, 10)
    lines.begin(0, 7)
    lines.step(1, 2.5, 10)
    found, trained = told.getvalue().splitlines()
    assert found.startswith("find rate: step 1/100  loss 2.500")
    assert trained.startswith("step 1/7  loss 2.500")
    monkeypatch.setattr(NotebookBar, "_draw", lambda self: None)
    notebook = NotebookBar()
    notebook.begin(0, 100, "find rate")
    notebook.step(3, 2.5, 10)
    assert repr(notebook) == "find rate: step 3/100  loss 2.500  10 tokens/s"
    notebook.begin(0, 7)
    assert repr(notebook) == "step 0/7"
