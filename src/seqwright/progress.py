"""A word on standard error from time to time, so that nobody waits in the dark."""

import sys
import time


def remark(sentence: str) -> None:
    """A line on standard error: something is otherwise than expected, and was helped."""
    print(sentence, file=sys.stderr, flush=True)


class Progress:
    """A line on standard error every few seconds of a long wait, and none in a short one."""

    def __init__(self, doing: str, seconds: float = 10.0) -> None:
        self.doing, self.seconds = doing, seconds
        self.count, self.spoken = 0, 0.0

    def __call__(self, count: int) -> None:
        """So many are done; fewer than before are the first ones of another wait."""
        now = time.monotonic()
        if count <= self.count or not self.count:
            self.spoken = now
        elif now - self.spoken >= self.seconds:
            print(f"{self.doing}: {count:,} so far", file=sys.stderr, flush=True)
            self.spoken = now
        self.count = count
