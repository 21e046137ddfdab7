"""What several models say of an example as one prediction: against the mean of their distributions."""

import numpy as np
import pytest

from seqwright.outputs.label import NOTHING, LabelOutput
from seqwright.outputs.number import NumberOutput, Value
from seqwright.outputs.tags import TagsOutput
from seqwright.outputs.values import ValuesOutput

LABELS = {"bad": 3, "good": 5}


def test_labels_are_the_mean_of_the_probabilities_and_a_blank_text_stays_blank() -> None:
    output = LabelOutput(LABELS)
    sure, unsure = (output._classification(np.log([p, 1 - p]).tolist()) for p in (0.9, 0.2))
    found = output.combined([sure, unsure])
    assert found.label == "bad"
    assert found.probability == pytest.approx(0.55)
    assert found.losses == pytest.approx({"bad": -np.log(0.55), "good": -np.log(0.45)})
    assert output.combined([sure, NOTHING]) == NOTHING


def test_tags_are_the_mean_of_the_probabilities_at_each_word() -> None:
    output = TagsOutput(LABELS)
    one, other = (
        output._tagging(("a", "b"), np.log(p_WC)) for p_WC in (np.array([[0.9, 0.1], [0.6, 0.4]]), np.full((2, 2), 0.5))
    )
    found = output.combined([one, other])
    assert (found.words, found.tags) == (("a", "b"), ["bad", "bad"])
    assert found.probabilities == pytest.approx([0.7, 0.55])
    assert found.losses[1] == pytest.approx({"bad": -np.log(0.55), "good": -np.log(0.45)})
    nothing = output._tagging((), np.zeros((0, 2)))
    assert output.combined([nothing, nothing]) == nothing


def test_numbers_and_forecasts_are_means() -> None:
    assert NumberOutput.combined(None, [Value(1.0), Value(4.0)]) == Value(2.5)  # type: ignore[arg-type]
    assert NumberOutput.combined(None, [Value(1.0), Value(None)]) == Value(None)  # type: ignore[arg-type]
    several = [np.array([[1.0, 2]]), np.array([[3.0, 6]])]
    assert ValuesOutput.combined(None, several).tolist() == [[2, 4]]  # type: ignore[arg-type]
