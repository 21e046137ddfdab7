"""What is given becomes vectors: digits, labels, numbers; and it travels with the tokenizer."""

import json
from pathlib import Path

import numpy as np
import pytest

from seqwright.data.described import GivenText
from seqwright.errors import DataError, RunError
from seqwright.inputs import Given, Room
from seqwright.inputs.vector import VectorInput
from seqwright.inputs.vectors import Digits, KnownLabels, ScaledNumbers, Vectors, from_plain, plain_vectors

DIGITS, LABELS = Digits(7999), KnownLabels.learnt({"French", "English", "Czech"})
NUMBERS = ScaledNumbers.unscaled(("wind", "degrees")).scaled(np.array([[1.0, 5.0], [3.0, 5.0]]))


def vector(vectors: Vectors, given: str) -> list[float]:
    (found,) = vectors.vectors(np.array([vectors.code(given)]))
    assert len(found) == vectors.size
    return [float(number) for number in found]


@pytest.mark.parametrize("given", ["0", "9", "40", "807", "7999", "0012"])
def test_each_place_of_a_number_has_a_one_for_its_digit(given: str) -> None:
    wanted = [0.0] * 44
    for place, digit in enumerate(reversed(f"{int(given):>4}")):
        wanted[11 * place + (10 if digit == " " else int(digit))] = 1.0
    assert vector(DIGITS, given) == wanted


def test_a_label_has_a_one_among_zeros() -> None:
    assert vector(LABELS, "Czech") == [1, 0, 0]
    assert vector(LABELS, " French ") == [0, 0, 1]


def test_numbers_are_scaled_by_what_they_were_learnt_from() -> None:
    """Winds 1 and 3: mean 2, deviation 1; a column that never changes is only shifted."""
    assert vector(NUMBERS, "4,5") == [2, 0]
    assert vector(NUMBERS, " -1e1 , 7.5") == [-12, 2.5]


@pytest.mark.parametrize(
    ("vectors", "given", "sentence"),
    [
        (DIGITS, "8000", "'8000' was given, expected a whole number from 0 to 7,999"),
        (DIGITS, "-1", "'-1' was given, expected a whole number"),
        (DIGITS, "1.5", "'1.5' was given"),
        (DIGITS, "1,234", "in digits alone"),
        (DIGITS, "", "'' was given"),
        (DIGITS, "٣", "'٣' was given"),
        (DIGITS, "9" * 5000, "9…' was given"),
        (
            LABELS,
            "Frensh",
            "there is no label 'Frensh', expected one of Czech, English, French. Did you mean 'French'?",
        ),
        (LABELS, "", "there is no label ''"),
        (NUMBERS, "1", "'1' was given, expected 2 numbers with commas between them: wind,degrees"),
        (NUMBERS, "1,x", "'x' was given for degrees, expected a number"),
        (NUMBERS, "1,nan", "'nan' was given for degrees"),
        (NUMBERS, "1e999,1", "'1e999' was given for wind"),
        (NUMBERS, "1_0,1", "'1_0' was given for wind"),
    ],
)
def test_what_cannot_be_given_is_refused(vectors: Vectors, given: str, sentence: str) -> None:
    with pytest.raises(DataError) as error:
        vectors.code(given)
    assert sentence in str(error.value)


def test_a_column_of_texts_is_not_taken_for_labels() -> None:
    with pytest.raises(DataError, match=r"1,001 different labels, such as 'a0', 'a1'"):
        KnownLabels.learnt({f"a{number}" for number in range(1001)})
    with pytest.raises(DataError, match="both a text and a label"):
        KnownLabels.learnt(set())


@pytest.mark.parametrize("vectors", [DIGITS, LABELS, NUMBERS])
def test_inputs_are_the_same_after_saving(vectors: Vectors, tmp_path: Path) -> None:
    before = VectorInput(vectors)
    before.save(tmp_path)
    after = VectorInput.load(tmp_path)
    assert after.vectors == vectors == from_plain(json.loads(json.dumps(plain_vectors(vectors))))
    assert after.sizes() == {"inputs": vectors.size}
    assert after.fingerprint() == before.fingerprint()


@pytest.mark.parametrize("content", ["{", "{}", '{"by": "magic"}', "[]"])
def test_inputs_that_are_damaged_are_refused(content: str, tmp_path: Path) -> None:
    VectorInput(DIGITS).save(tmp_path)
    (tmp_path / "vectors.json").write_text(content)
    with pytest.raises(RunError, match="cannot be read as vectors"):
        VectorInput.load(tmp_path)
    (tmp_path / "vectors.json").unlink()
    with pytest.raises(RunError, match=r"vectors\.json is missing"):
        VectorInput.load(tmp_path)


def test_each_vector_is_that_of_its_example() -> None:
    """A blank one has none."""
    vectors = VectorInput(Digits(99))
    rows = vectors.encode(Given([GivenText("3", "abc"), GivenText(" ", "b"), GivenText("12", "ca")]))
    assert rows.example_N.tolist() == [0, 2]
    vector_BX = vectors.stack(rows.take(np.array([1, 0]), None))["vector_BX"]
    digits = ["".join(str(place.argmax().item()) for place in row.view(2, 11)) for row in vector_BX]
    assert digits == ["21", "310"]


def test_several_numbers_may_be_typed_or_given_as_a_tuple_or_an_array() -> None:
    read = VectorInput(NUMBERS)
    assert read.parse((4, 5)) == read.parse("4,5") == read.parse(np.array([4, 5])) == GivenText("4,5", "")
    assert read.parse(np.array([0.1, 1e-7], dtype=np.float32)) == GivenText("0.1,1e-07", "")
    assert VectorInput(Digits(99)).parse(np.array(7)) == GivenText("7", "")
    with pytest.raises(DataError, match="expected 2 numbers"):
        read.parse(np.array([[4, 5]]))
    with pytest.raises(DataError, match="expected 2 numbers"):
        read.parse((4,))


def test_numbers_without_a_text_do_not_change_the_scale() -> None:
    given = [GivenText("1", "one", columns=("wind",)), GivenText("3", "three"), GivenText("100", " ")]
    learnt = VectorInput.learn(Given(given), None, room=Room())
    assert learnt.vectors == ScaledNumbers(("wind",), (2.0,), (1.0,))
