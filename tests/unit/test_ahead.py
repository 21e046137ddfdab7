"""Batches that are made ahead: the same ones, and what goes wrong with one is raised where it is asked for."""

import threading
from collections.abc import Iterator

import pytest

from seqwright.batches import Place, ahead, following
from seqwright.batches.ahead import Ahead
from seqwright.errors import DataError

IN_EPOCH = 5


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """However fast a batch is made."""
    monkeypatch.setattr(ahead, "WORTHWHILE", 0.0)


class Recorded:
    """Numbered batches that note which thread made which, and one of which cannot be made."""

    def __init__(self, broken: Place | None = None) -> None:
        self.broken, self.made = broken, list[tuple[Place, str]]()

    def at(self, place: Place) -> int:
        self.made.append((place, threading.current_thread().name))
        if place == self.broken:
            raise DataError("the file is gone")
        return IN_EPOCH * place.epoch + place.batch

    def after(self, place: Place) -> Place:
        return following(place, IN_EPOCH)

    def in_epoch(self, epoch: int) -> int:
        return IN_EPOCH

    def padding(self, epoch: int = 0) -> float:
        return 0.0

    def once(self) -> Iterator[int]:
        return iter(range(IN_EPOCH))


def read(batches: Recorded, count: int) -> list[int]:
    made, place, found = Ahead(batches), Place(), list[int]()
    for _ in range(count):
        found.append(made.at(place))
        place = made.after(place)
        made.expect([place])
    made.close()
    return found


def test_batches_are_the_same_and_each_is_made_once_by_the_other_thread() -> None:
    batches = Recorded()
    assert read(batches, 12) == list(range(12))
    places = [place for place, _ in batches.made]
    assert len(set(places)) == len(places)
    assert batches.made[0][1] == threading.current_thread().name  # nobody could expect the first
    assert {name for _, name in batches.made[1:]} == {"batches_0"}


def test_what_goes_wrong_is_raised_where_the_batch_is_asked_for() -> None:
    made = Ahead(Recorded(broken=Place(0, 2)))
    made.expect([Place(0, 1), Place(0, 2)])
    assert made.at(Place(0, 1)) == 1
    with pytest.raises(DataError, match="the file is gone"):
        made.at(Place(0, 2))
    made.close()


def test_what_is_no_longer_expected_is_forgotten() -> None:
    batches = Recorded()
    made = Ahead(batches)
    made.expect([Place(0, 3)])
    made.expect([Place(0, 4)])
    assert made.at(Place(0, 4)) == 4
    assert made.at(Place(0, 3)) == 3  # made again, or for the first time, now
    assert batches.made[-1] == (Place(0, 3), threading.current_thread().name)
    made.close()


def test_after_closing_nothing_more_is_made() -> None:
    batches = Recorded()
    made = Ahead(batches)
    made.expect([Place(0, n) for n in range(IN_EPOCH)])
    made.close()
    count = len(batches.made)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("batches")]
    assert len(batches.made) == count


def test_batches_that_are_made_at_once_are_made_by_the_thread_that_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "WORTHWHILE", 60.0)
    batches = Recorded()
    assert read(batches, 12) == list(range(12))
    assert {name for _, name in batches.made} == {threading.current_thread().name}
