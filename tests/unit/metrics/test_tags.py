"""Entities and their scores: sentences worked by hand."""

import pytest

from seqwright.errors import DataError
from seqwright.metrics.tags import Entity, EntityCounts, entities, entity_counts, mark_entities, together


def cut(tags: str) -> list[str]:
    return tags.split()


@pytest.mark.parametrize(
    ("tags", "wanted"),
    [
        ("B-per I-per O B-loc", [("per", 0, 2), ("loc", 3, 4)]),
        ("B-per B-per I-per", [("per", 0, 1), ("per", 1, 3)]),  # side by side
        ("O I-per I-per O", [("per", 1, 3)]),  # I without B begins one, as in IOB1
        ("I-per B-per", [("per", 0, 1), ("per", 1, 2)]),  # in IOB1, B parts it from the one before
        ("B-per I-loc I-loc", [("per", 0, 1), ("loc", 1, 3)]),  # the type changes inside
        ("B-per O I-per", [("per", 0, 1), ("per", 2, 3)]),  # a gap parts them
        ("S-per B-loc E-loc S-loc", [("per", 0, 1), ("loc", 1, 3), ("loc", 3, 4)]),  # IOBES
        ("B-loc E-loc I-loc E-loc", [("loc", 0, 2), ("loc", 2, 4)]),
        ("B-creative-work I-creative-work", [("creative-work", 0, 2)]),  # the type has a dash
        ("B I O B", [("", 0, 2), ("", 3, 4)]),  # without types
        ("O O", []),
        ("", []),
    ],
)
def test_entities_are_found(tags: str, wanted: list[tuple[str, int, int]]) -> None:
    assert entities(cut(tags)) == [Entity(*entity) for entity in wanted]


def test_the_worked_example() -> None:
    """Of Mr. Smith and New York, one is found whole, one in part; and something is said that is not there.

    conlleval: 3 entities, 3 said, 1 right; precision, recall and F1 33.33. Person: 1 of 1. Location: 0 of 1, 1 said.
    """
    true = [cut("B-per I-per O B-loc I-loc O"), cut("O B-org")]
    said = [cut("B-per I-per O B-loc O O"), cut("B-org O")]
    found = entity_counts(said, true)
    assert found == {"loc": EntityCounts(0, 1, 1), "org": EntityCounts(0, 1, 1), "per": EntityCounts(1, 1, 1)}
    overall = together(found.values())
    assert (overall.precision, overall.recall, overall.f1) == pytest.approx((100 / 3, 100 / 3, 100 / 3))


def test_precision_and_recall_are_of_what_was_said_and_of_what_there_is() -> None:
    """The example of seqeval's page: one of two; and with one said more, 2 · 1 / (3 + 2)."""
    true = [cut("O O O B-MISC I-MISC I-MISC O"), cut("B-PER I-PER O")]
    said = [cut("O O B-MISC I-MISC I-MISC I-MISC O"), cut("B-PER I-PER O")]
    assert together(entity_counts(said, true).values()).f1 == pytest.approx(50)
    more = [said[0], cut("B-PER I-PER B-PER")]
    overall = together(entity_counts(more, true).values())
    assert (overall.precision, overall.recall, overall.f1) == pytest.approx((100 / 3, 50, 40))


def test_an_entity_of_another_type_at_the_right_place_is_wrong_twice() -> None:
    assert entity_counts([cut("B-loc")], [cut("B-per")]) == {"loc": EntityCounts(0, 1, 0), "per": EntityCounts(0, 0, 1)}


def test_an_entity_does_not_reach_into_the_next_sentence() -> None:
    assert entity_counts([["B-per"], ["I-per"]], [["B-per"], ["I-per"]]) == {"per": EntityCounts(2, 2, 2)}


def test_nothing_of_nothing_is_zero() -> None:
    assert together(entity_counts([["O"]], [["O"]]).values()) == EntityCounts(0, 0, 0)
    assert (EntityCounts(0, 0, 0).precision, EntityCounts(0, 0, 3).recall, EntityCounts(0, 0, 0).f1) == (0, 0, 0)


def test_other_numbers_of_tags_are_refused() -> None:
    with pytest.raises(DataError, match="one for each word"):
        entity_counts([["O", "O"]], [["O"]])


@pytest.mark.parametrize(
    ("tags", "marked"),
    [
        ({"O", "B-per", "I-per"}, True),
        ({"B-per", "I-per"}, True),
        ({"O", "B", "I"}, True),
        ({"S-x", "B-x", "E-x", "I-x", "O"}, True),
        ({"O", "NOUN"}, False),
        ({"B-per", "Noun"}, False),
        ({"Ber-lin", "O"}, False),
        ({"O"}, False),
    ],
)
def test_tags_that_mark_entities_are_known_by_their_form(tags: set[str], marked: bool) -> None:
    assert mark_entities(tags) is marked
