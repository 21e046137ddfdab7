"""Scores of tags that mark entities: one is right where its type, its first and its last word are.

A tag is O outside of entities, or a mark and a type, as in B-person. B begins an entity and I continues it; E ends
one, S is one on its own (IOBES). Counted as the script of CoNLL 2000 counts, conlleval (Tjong Kim Sang & Buchholz 2000,
section 3): an I or E that nothing of its type goes before begins an entity, so that IOB1 is read as well as IOB2.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from seqwright.errors import DataError

OUTSIDE = "O"


class Entity(NamedTuple):
    """Some words of a sentence, from `begin` up to but without `end`."""

    kind: str
    begin: int
    end: int


class Parted(NamedTuple):
    """A tag as its mark and its type: `B-creative-work` is B and `creative-work`."""

    mark: str
    kind: str


def parted(tag: str) -> Parted:
    """A tag taken apart; some have no type."""
    mark, _, kind = tag.partition("-")
    return Parted(mark, kind)


def mark_entities(tags: Iterable[str]) -> bool:
    """Whether these tags mark entities: O, and what begins with B-, I-, E- or S-."""
    others = set(tags) - {OUTSIDE}
    return bool(others) and all(parted(tag).mark in {"B", "I", "E", "S"} for tag in others)


def entities(tags: Sequence[str]) -> list[Entity]:
    """The entities that the tags of a sentence mark."""
    found, begin, before = [], 0, parted(OUTSIDE)
    for place, tag in enumerate([*tags, OUTSIDE]):
        now = parted(tag)
        begins = now.mark != OUTSIDE and (
            now.mark in {"B", "S"} or before.mark in {OUTSIDE, "E", "S"} or now.kind != before.kind
        )
        if before.mark != OUTSIDE and (begins or now.mark == OUTSIDE):
            found.append(Entity(before.kind, begin, place))
        begin = place if begins else begin
        before = now
    return found


class EntityCounts(NamedTuple):
    """How many entities were predicted, how many there are, and how many of both agree; the scores from 0 to 100."""

    right: int
    predicted: int
    true: int

    @property
    def precision(self) -> float:
        """Of what was predicted, how much is right."""
        return _percent(self.right, self.predicted)

    @property
    def recall(self) -> float:
        """Of what there is, how much was found."""
        return _percent(self.right, self.true)

    @property
    def f1(self) -> float:
        """2 · precision · recall / (precision + recall)."""
        return _percent(2 * self.right, self.predicted + self.true)


def entity_counts(predicted: Sequence[Sequence[str]], true: Sequence[Sequence[str]]) -> dict[str, EntityCounts]:
    """What was found of each type of entity, by the alphabet; `predicted` and `true` have the tags of each sentence."""
    if [len(tags) for tags in predicted] != [len(tags) for tags in true]:
        raise DataError("the sentences have other numbers of tags than were predicted; give one for each word")
    counts = Counter[tuple[str, str]]()
    for answer, truth in zip(map(entities, predicted), map(entities, true), strict=True):
        counts.update(("predicted", entity.kind) for entity in answer)
        counts.update(("true", entity.kind) for entity in truth)
        counts.update(("right", entity.kind) for entity in set(answer) & set(truth))
    kinds = sorted({kind for _, kind in counts})
    return {kind: EntityCounts(*(counts[name, kind] for name in EntityCounts._fields)) for kind in kinds}


def together(counts: Iterable[EntityCounts]) -> EntityCounts:
    """Entities of all types as one, what conlleval calls overall."""
    return EntityCounts(*map(sum, zip(*counts, strict=True))) if (counts := list(counts)) else EntityCounts(0, 0, 0)


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
