"""What a beam search did, hypothesis by hypothesis: kept, dropped or finished.

B batch · C candidates of a row, best first
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from seqwright.decoding.searching import Growth

Fate = Literal["kept", "finished", "dropped"]


Watch = Callable[[Growth], None]
"""Is shown each step of a beam search."""


class Node(NamedTuple):
    """A hypothesis, by its last token; the others are those of its parents."""

    parent: int | None  # its number in the tree; None where it is the first token
    step: int  # from 1
    token: int
    log_probability: float
    score: float
    fate: Fate


class BeamTree:
    """The record of a beam search of one row: give it to the search as `watch`, then read `nodes`.

    Kept are the `width` best hypotheses that are continued; finished those among the best `width` that have ended;
    dropped the rest of the 2·`width` that each step looks at.
    """

    def __init__(self, width: int, row: int = 0) -> None:
        self.width, self.row = width, row
        self.nodes: list[Node] = []
        self._living: list[int | None] = [None]

    def __call__(self, growth: Growth) -> None:
        """Add the hypotheses of one step."""
        rows: list[int] = growth.row_B.tolist()
        if self.row not in rows:
            return
        place = rows.index(self.row)
        step = 1 + (0 if self._living == [None] else self.nodes[self._living[0] or 0].step)
        living: list[int | None] = []
        candidates = zip(*(part[place].tolist() for part in growth[1:]), strict=True)
        for rank, (parent, token, logp, score, ended) in enumerate(candidates):
            if score == -float("inf"):
                continue
            fate: Fate = "dropped"
            if ended:
                fate = "finished" if rank < self.width else "dropped"
            elif len(living) < self.width:
                fate = "kept"
                living.append(len(self.nodes))
            self.nodes.append(Node(self._living[parent], step, token, logp, score, fate))
        self._living = living or self._living

    def winner(self) -> int | None:
        """The finished hypothesis with the best score; where none has finished, the best unfinished one."""
        finished = [number for number, node in enumerate(self.nodes) if node.fate == "finished"]
        last = max((node.step for node in self.nodes), default=0)
        live = [number for number, node in enumerate(self.nodes) if node.fate == "kept" and node.step == last]
        return max(finished or live, key=lambda number: self.nodes[number].score, default=None)

    def path(self, number: int | None) -> list[int]:
        """A hypothesis and all it grew from, the first token first."""
        found: list[int] = []
        while number is not None:
            found.append(number)
            number = self.nodes[number].parent
        return found[::-1]
