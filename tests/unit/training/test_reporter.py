import io

from rich.console import Console

from seqwright.training.reporter import Bar


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
