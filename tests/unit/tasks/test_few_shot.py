"""Few-shot prompting: how examples become a prompt, and how right answers are counted."""

from collections.abc import Sequence

import pytest

from seqwright.data.examples import Pair
from seqwright.errors import DataError, SettingError
from seqwright.outputs.answer import doubling
from seqwright.tasks.few_shot import Template, accuracy_by_shots, drawn_questions

SHOTS = (Pair("good", "bad", "words"), Pair("tall", "small", "words"))


def test_examples_and_question_are_written_by_the_template() -> None:
    question = Pair("fast", "", shots=SHOTS)
    assert Template().text(question) == "good => bad\ntall => small\nfast =>"
    lecture = Template("Q: {input}\nA: {output}", "\n\n")
    assert lecture.text(question.after(1)) == "Q: good\nA: bad\n\nQ: fast\nA:"
    assert lecture.text(question.after(0)) == "Q: fast\nA:"


def test_an_answer_stops_at_what_follows_it_in_the_template() -> None:
    assert Template().stop == "\n"
    assert Template("{input} is {output}.", " ").stop == ". "


def test_text_with_braces_stays_as_it_is() -> None:
    question = Pair("{x}", "", shots=(Pair("{output}", "{input}"),))
    assert Template().text(question) == "{output} => {input}\n{x} =>"


@pytest.mark.parametrize("form", ["{input}", "{output}", "{output} {input}", "{input} {output} {output}", ""])
def test_a_template_without_its_places_is_refused(form: str) -> None:
    with pytest.raises(SettingError, match=r"the template is .* expected \{input\} and after it \{output\}, once"):
        Template(form).checked()


def test_answers_must_have_an_end() -> None:
    with pytest.raises(SettingError, match="nothing stands between the examples"):
        Template(between="").checked()


def test_right_answers_are_counted_after_each_number_of_examples() -> None:
    def knows_what_it_saw(questions: Sequence[Pair]) -> list[str]:
        return [dict(pair[:2] for pair in question.shots).get(question.source, "?") for question in questions]

    asked = [
        Pair(text, answer, kind, shots=(Pair("a", "1"), Pair("b", "2"), Pair("c", "3")))
        for text, answer, kind in [("a", "1", "x"), ("b", " 2", "x"), ("c", "4", "y")]
    ]
    found = list(accuracy_by_shots(knows_what_it_saw, asked, [0, 1, 2, 3]))
    assert [each.matched for each in found] == [{"x": 0, "y": 0}, {"x": 1, "y": 0}, {"x": 2, "y": 0}, {"x": 2, "y": 0}]
    assert found[-1].shares() == {"x": 1.0, "y": 0.0}
    assert found[-1].share == pytest.approx(2 / 3)


def test_numbers_of_examples_double() -> None:
    assert doubling(0) == [0]
    assert doubling(1) == [0, 1]
    assert doubling(2) == [0, 1, 2]
    assert doubling(8) == [0, 1, 2, 4, 8]
    assert doubling(11) == [0, 1, 2, 4, 8, 11]


def test_no_question_is_its_own_example() -> None:
    examples = [Pair(str(number), str(number + 1)) for number in range(6)]
    for seed in range(3):
        asked = drawn_questions(examples, examples, 5, seed)
        assert all(question.after(0) not in question.shots for question in asked)
        assert all(len(set(question.shots)) == 5 for question in asked)
    assert drawn_questions(examples, examples, 3, 1) == drawn_questions(examples, examples, 3, 1)
    assert drawn_questions(examples, examples, 3, 1) != drawn_questions(examples, examples, 3, 2)
    with pytest.raises(DataError, match="there are 5 examples beside the question '0', but 6 should stand"):
        drawn_questions(examples, examples, 6, 1)
