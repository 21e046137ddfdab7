"""What labels may be: classes, of which there are some and not too many, or numbers."""

import pytest

from seqwright.data.labels import class_counts, numbers_of
from seqwright.errors import DataError


def test_classes_are_counted_numbers_by_size_and_words_by_the_alphabet() -> None:
    assert list(class_counts(["10", "b", "9", "a", "9"]).items()) == [("9", 2), ("10", 1), ("a", 1), ("b", 1)]


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([], "no example of the training part can be read and has a label: see whether data.label"),
        (["ham", "ham"], "every example of the training part has the label 'ham', expected two labels or more"),
        (
            [f"message {n}" for n in range(30)],
            r"30 different labels, such as 'message 0'.*choose the right one with data.label$",
        ),
        ([f"label {n % 1001}" for n in range(9009)], "1,001 different labels"),
    ],
)
def test_labels_that_are_no_classes_are_refused(labels: list[str], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        class_counts(labels)


def test_a_small_table_may_have_almost_as_many_classes_as_examples() -> None:
    assert class_counts(["a", "b", "c"]) == {"a": 1, "b": 1, "c": 1}


def test_a_value_is_a_number() -> None:
    assert numbers_of(("", label) for label in ("3.5", "-1", "+.5", "2e1")) == [3.5, -1.0, 0.5, 20.0]
    for label in ("good", "nan", "1,5", "inf", "3 stars"):
        with pytest.raises(DataError, match=f"the file has the label '{label}' where there must be a number"):
            numbers_of([("the file", label)])


def test_labels_that_are_no_numbers_are_told_together() -> None:
    assert numbers_of([("a", "3.5"), ("b", "-2")]) == [3.5, -2]
    with pytest.raises(DataError, match=r"^b has the label 'x' .*; in all, 2 rows have no number for a label$"):
        numbers_of([("a", "3.5"), ("b", "x"), ("c", "y")])
    with pytest.raises(DataError, match=r"'1\.049,50' .*: say its decimal mark with data\.decimal, ',' or '\.'$"):
        numbers_of([("a", "1.049,50")])
