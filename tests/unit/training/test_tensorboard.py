"""The journal as TensorBoard events."""

from pathlib import Path

import pytest

pytest.importorskip("tensorboard", reason="the optional extra 'tensorboard' is not installed")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from seqwright.training.reporter import Both, Quiet
from seqwright.training.tensorboard import TensorBoard


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_number_of_the_journal_can_be_read_back(tmp_path: Path) -> None:
    reporter = Both(Quiet(), TensorBoard(tmp_path))
    reporter.begin(0, 7)
    reporter.wrote({"step": 3, "event": "train", "loss": 2.5, "rate": 0.25})
    reporter.wrote({"step": 5, "event": "valid", "bleu": 17.0})
    reporter.end()
    found = EventAccumulator(str(tmp_path))
    found.Reload()
    assert [(event.step, event.value) for event in found.Scalars("train/loss")] == [(3, 2.5)]
    assert [(event.step, event.value) for event in found.Scalars("valid/bleu")] == [(5, 17.0)]
    assert set(found.Tags()["scalars"]) == {"train/loss", "train/rate", "valid/bleu"}


def test_nothing_is_opened_before_there_is_something_to_write(tmp_path: Path) -> None:
    reporter = TensorBoard(tmp_path / "events")
    reporter.begin(0, 100, "find rate")
    reporter.step(1, 2.5, 10)
    reporter.end()
    assert not (tmp_path / "events").exists()
