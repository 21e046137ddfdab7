"""What validation decodes of a large part."""

from seqwright.tasks import sample


def test_a_small_part_is_taken_whole() -> None:
    assert sample(iter("abc"), 3) == ["a", "b", "c"]


def test_a_large_part_is_taken_from_everywhere_alike() -> None:
    assert sample(range(10), 4) == [0, 2, 5, 7]
    found = sample(range(1014))
    assert (len(set(found)), found[0], found[-1]) == (1000, 0, 1012)
