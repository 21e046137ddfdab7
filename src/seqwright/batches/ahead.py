"""Batches made by a thread of their own, while the model computes with those before."""

import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Generic

from seqwright.batches import Batches, BatchT_co, Place

WORTHWHILE = 0.005  # seconds: two threads of Python hand over to each other only so often


class Ahead(Generic[BatchT_co]):
    """Other batches, of which the expected ones are made ahead: a batch is a function of its place, so that nothing but
    the time it is made at changes. Where the last one was made too fast for a thread to gain anything, none is.

    What goes wrong in the thread is raised where its batch is asked for. Only one thread at a time asks the batches,
    so that an epoch is planned and drawn once.
    """

    def __init__(self, batches: Batches[BatchT_co]) -> None:
        self.batches = batches
        self._lock = Lock()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches")
        self._expected: dict[Place, Future[BatchT_co]] = {}
        self._seconds = 0.0  # that the last batch took

    def at(self, place: Place) -> BatchT_co:
        """The batch at a place, made already if it was expected."""
        expected = self._expected.pop(place, None)
        return self._made(place) if expected is None else expected.result()

    def after(self, place: Place) -> Place:
        """The place that follows."""
        with self._lock:
            return self.batches.after(place)

    def expect(self, places: Iterable[Place]) -> None:
        """Begin to make the batches of these places, and forget those that were expected and not asked for."""
        for place in self._expected.keys() - set(places):
            self._expected.pop(place).cancel()
        for place in places if self._seconds >= WORTHWHILE else ():
            if place not in self._expected:
                self._expected[place] = self._thread.submit(self._made, place)

    def close(self) -> None:
        """Make no more; a batch that is being made is waited for."""
        self._expected.clear()
        self._thread.shutdown(cancel_futures=True)

    def _made(self, place: Place) -> BatchT_co:
        with self._lock:
            began = time.perf_counter()
            batch = self.batches.at(place)
            self._seconds = time.perf_counter() - began
            return batch
