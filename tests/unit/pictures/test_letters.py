"""Letters on a coloured ground can be read, legends fit, and files are whole."""

from pathlib import Path
from typing import BinaryIO

import pytest

from seqwright.errors import DataError
from seqwright.pictures import INK, blank, blended, letters_on, save
from seqwright.pictures.comparison import JournalPanel, training_courses
from seqwright.pictures.units import colour_of, letters_on_value


def contrast(colour: tuple[int, int, int], letters: str) -> float:
    """As the Web Content Accessibility Guidelines 2.2 define it."""
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 1.05 / (luminance + 0.05) if letters == "white" else (luminance + 0.05) / 0.05


@pytest.mark.parametrize("share", [number / 20 for number in range(21)])
def test_letters_stand_out_from_every_shade(share: float) -> None:
    ink, value = blended(INK, share), 2 * share - 1
    assert contrast(ink, letters_on(ink)) >= 4.5
    assert contrast(colour_of(value), letters_on_value(value)) >= 4.5


def test_short_names_of_several_trainings_stand_in_one_line() -> None:
    course = [{"event": "train", "step": step, "at": step, "loss": 1.0} for step in range(1, 5)]
    panels = [JournalPanel("train", "loss", "training loss")]
    figure = training_courses(dict.fromkeys(("MLP", "RNN", "GRU", "LSTM"), course), panels)
    figure.canvas.draw()
    assert len({round(text.get_window_extent().y0) for text in figure.legends[0].get_texts()}) == 1
    long = training_courses({f"a rather long name of row {number}": course for number in range(4)}, panels)
    long.canvas.draw()
    box = long.legends[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= long.bbox.width


def test_a_picture_that_cannot_be_written_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = blank(1, 1)
    (path,) = save(figure, tmp_path / "one", ("png",))
    before = path.read_bytes()

    def full(target: BinaryIO, **_: object) -> None:
        target.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figure, "savefig", full)
    with pytest.raises(DataError, match="No space left"):
        save(figure, tmp_path / "one", ("png",))
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["one.png"]
