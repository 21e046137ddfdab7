"""Spans found by a model whose mind is known: windows, long contexts, silence, scores and the cache."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqwright.batches.questions import Asked
from seqwright.data.question_files import Question, RightAnswer
from seqwright.data.questions import QuestionFiles, QuestionFilesSettings
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs import Given, Room
from seqwright.inputs.question import QuestionInput, QuestionSettings
from seqwright.kinds import task_of
from seqwright.objectives.span import span_losses
from seqwright.outputs.span import LOST, NO_ANSWER, Answered, SpanOutput, SpanOutputSettings, every_answer
from seqwright.outputs.span_search import likeliest_sentence
from seqwright.recipe import Recipe, recipe_from
from seqwright.tasks.parts import Part
from seqwright.tasks.wired import Wires, baselines_of

TASK = task_of("question-answering")
SPOKEN = "treasure"
LONG = " ".join([f"word{number}" for number in range(200)] + ["the", "gold", SPOKEN, "here"] + ["tail"] * 90)


class Finder(nn.Module):
    """Knows one word: the answer begins before it and ends with it, and without it there is none."""

    def __init__(self, token: int, *, before: int = 1, silence: float = 1.0) -> None:
        super().__init__()
        self.token, self.before, self.silence = token, before, silence
        self.anywhere = nn.Parameter(torch.zeros(()))

    def forward(self, batch: Asked, carry: None) -> tuple[Tensor, None]:
        here_BT = (batch.input_BT == self.token) & (batch.segment_BT == 1)
        logits_BT2 = torch.stack((torch.roll(here_BT, -self.before, 1), here_BT), -1) * 9.0
        logits_BT2[:, 0] = torch.where(here_BT.any(1), self.silence, 12.0).unsqueeze(-1)
        return logits_BT2, carry


def inputs_of(*texts: str, unanswerable: bool = True, longest_answer: int = 30, **sizes: int) -> Wires:
    given: dict[str, Any] = {"longest": 48, "stride": 16, "longest_question": 8, **sizes}
    settings = QuestionSettings(tokenizer="whitespace", vocabulary=400, **given)
    train = Given([Question(text, LONG, ()) for text in ("", *texts)])
    return Wires(QuestionInput.learn(train, settings, room=Room()), SpanOutput(longest_answer, unanswerable))


def finder(inputs: Wires, **known: Any) -> Finder:
    (ids,) = inputs.tokenizer.encode([SPOKEN])
    return Finder(int(ids[-1]), **known)


def ask(inputs: Wires, *questions: tuple[str, str], most: int = 1, **known: Any) -> list[Answered]:
    given = [{"question": question, "context": context} for question, context in questions]
    wires = replace(inputs, output=replace(inputs.output, most=most))
    found: list[Answered] = wires.predict(finder(inputs, **known), given)
    return found


def test_an_answer_far_behind_is_found_with_its_own_characters() -> None:
    inputs = inputs_of()
    (found,) = ask(inputs, ("where ?", LONG))
    (best,) = found.answers
    assert best.text == "gold treasure"
    assert LONG[best.begin : best.end] == "gold treasure"
    assert found.answer() == "gold treasure"
    assert best.score == pytest.approx(18.0)
    assert best.probability > 0.9
    assert found.margin == pytest.approx(16.0)  # only the windows that have the word speak: 18 - 2


def test_the_order_and_number_of_questions_change_nothing() -> None:
    inputs = inputs_of()
    asked = [("where ?", LONG), ("what ?", "word1 word2"), ("who ?", f"word7 {SPOKEN}"), ("where ?", LONG)]
    together = ask(inputs, *asked)
    assert [found.answer() for found in together] == ["gold treasure", "", f"word7 {SPOKEN}", "gold treasure"]
    for pair, found in zip(asked, together, strict=True):
        (alone,) = ask(inputs, pair)
        assert alone.answer() == found.answer()
        assert alone.no_answer == pytest.approx(found.no_answer)
    assert ask(inputs) == []


def test_silence_is_chosen_by_score_and_threshold() -> None:
    inputs = inputs_of()
    (found,) = ask(inputs, ("where ?", LONG), silence=8.0)
    assert found.margin == pytest.approx(2.0)
    assert [found.answer(threshold) for threshold in (0.0, 1.9, 2.1)] == ["gold treasure", "gold treasure", ""]
    (none,) = ask(inputs, ("where ?", "word1 word2 tail"))
    assert none.answer() == ""
    assert none.no_answer > 0.99
    assert none.answer(-100.0) != ""


def test_a_model_that_never_saw_silence_always_answers() -> None:
    inputs = inputs_of(unanswerable=False)
    (found,) = ask(inputs, ("where ?", "word1 word2 tail"))
    assert found.no_answer == 0.0
    assert found.margin == float("inf")
    assert found.answer() != ""


def test_probabilities_are_those_of_all_answers_and_silence() -> None:
    inputs = inputs_of()
    (found,) = ask(inputs, ("where ?", "word1 word2 word3"), most=99)
    # Three tokens have six stretches; all have score 0, silence has 24.
    assert found.no_answer + 6 * found.answers[0].probability == pytest.approx(1.0)
    assert found.answers[0].probability == pytest.approx(1 / (6 + np.exp(24.0)))
    places = sorted((answer.begin, answer.end) for answer in found.answers)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(places))  # none overlap


def test_an_answer_is_never_longer_than_is_looked_for() -> None:
    inputs = inputs_of(longest_answer=2)
    (found,) = ask(inputs, ("where ?", LONG), before=2)
    assert len(found.answers[0].text.split()) <= 2


def files(folder: Path, *rows: str, name: str = "a.csv") -> QuestionFiles:
    (folder / name).write_text("question,context,answer\n" + "".join(f"{row}\n" for row in rows))
    return QuestionFiles(QuestionFilesSettings(train=str(folder / name), valid=str(folder / name)))


ROWS = (
    f"where is it ?,{LONG},gold treasure",
    "what is it ?,word1 word2 tail,",
    f"who ?,word9 {SPOKEN} word8,word9 {SPOKEN}",
    "how ?,word1 word3,not there",
)


def recipe(**sections: Any) -> Recipe:
    plain: dict[str, dict[str, Any]] = {
        "data": {"train": "a.csv"},
        "input": {"tokenizer": "words", "longest": 48, "stride": 16, "longest_question": 8},
        "model": {"kind": "bert", "width": 8, "heads": 2, "layers": 1, "context": 48},
        "training": {"tokens": 96, "device": "cpu"},
    }
    changed = {section: {**values, **sections.get(section, {})} for section, values in plain.items()}
    return recipe_from({"task": "question-answering", **changed})


def test_a_part_is_tokenised_with_the_answer_in_its_place(tmp_path: Path) -> None:
    data, inputs = files(tmp_path, *ROWS), inputs_of()
    part = Part(data, "train")
    rows = inputs.input.encode(part)
    targets = inputs.output.encode(part, rows)
    answer_M2 = every_answer(part, rows)
    assert answer_M2.tolist() == [[201, 202], [NO_ANSWER, NO_ANSWER], [0, 1], [LOST, LOST]]
    prepared = TASK.prepared(recipe(), data, inputs)
    assert prepared.notes[0] == (
        "train: 4 questions (1 without an answer; of 1 questions no answer stands in the context: they are scored, not "
        f"learnt from); read in {len(rows.example_N)} windows"
    )
    assert 3 not in rows.example_N[targets.learnable]  # whose answer is nowhere
    learnt = sum(int((batch.start_B > 0).sum()) for batch in prepared.train.once())
    assert learnt > 2  # the answer stands in several windows of the first, and in the third


def test_the_cache_gives_back_what_was_tokenised(tmp_path: Path) -> None:
    inputs = inputs_of()
    part = Part(files(tmp_path, *ROWS), "train")
    kept, again, typed = (inputs.input.encode(examples) for examples in (part, part, Given(list(part))))
    every = np.arange(len(kept.example_N))
    for other in (again, typed):
        assert np.array_equal(other.example_N, kept.example_N)
        for one, two in zip(other.take(every, None), kept.take(every, None), strict=True):
            assert np.array_equal(one.tokens, two.tokens)
            assert all(np.array_equal(*values) for values in zip(one.places, two.places, strict=True))
            assert (one.first, one.begin) == (two.first, two.begin)


def test_the_loss_is_that_of_the_objective(tmp_path: Path) -> None:
    data, inputs = files(tmp_path, *ROWS), inputs_of(*ROWS)
    model = finder(inputs, before=2)
    prepared = TASK.prepared(recipe(), data, inputs)
    losses = [(span_losses(model(batch, None)[0], batch).sum(), len(batch)) for batch in prepared.train.once()]
    wanted = float(sum(loss for loss, _ in losses)) / sum(count for _, count in losses)
    assert prepared.evaluate(model)["loss"] == pytest.approx(wanted, rel=1e-5)


def test_the_scores_are_those_of_the_model(tmp_path: Path) -> None:
    data, inputs = files(tmp_path, *ROWS), inputs_of(*ROWS)
    result = TASK.evaluated(recipe(), data, inputs, finder(inputs), "valid", None)
    assert result.scores["exact"] == 75.0
    assert result.scores["no_answer_exact"] == 100.0
    assert result.scores["baseline_no_answer_f1"] == 25.0
    assert [line["predicted"] for line in result.answers] == ["gold treasure", "", f"word9 {SPOKEN}", ""]
    assert [line["exact"] for line in result.answers] == [True, True, True, False]
    assert result.groups == {"where": (1, 1), "what": (1, 1), "who": (1, 1), "how": (0, 1)}
    assert set(result.signatures) == set(result.scores)
    assert 0 < result.scores["loss"] < 5


def test_validation_gives_what_it_promises(tmp_path: Path) -> None:
    data, inputs = files(tmp_path, *ROWS), inputs_of(*ROWS)
    prepared = TASK.prepared(recipe(), data, inputs)
    scores = prepared.evaluate(finder(inputs))
    assert tuple(scores) == prepared.scores
    assert scores["exact"] == 75.0
    assert any("baseline: the sentence with most words of the question" in note for note in prepared.notes)


def test_checking_names_what_a_model_cannot_learn(tmp_path: Path) -> None:
    data, inputs = files(tmp_path, *ROWS), inputs_of(longest_answer=1)
    checked, _ = TASK.checked(recipe(), data, inputs)
    assert checked.rows[0][:3] == ("train", "4", "0")
    told = checked.facts["train part"]
    assert "2 answers have more than 1 tokens: so long a one is never given" in told
    assert "of 1 questions no answer stands in the context" in told
    assert any("examples of the valid part that are in training too: 100.0 %" in remark for remark in checked.remarks)


def test_the_sentence_with_most_words_of_the_question_is_the_baseline(tmp_path: Path) -> None:
    context = 'Ada was born in Rome. Bob, her brother, was "born" in Paris! Then they met.\nOn a hill'
    assert likeliest_sentence("Where was Bob born?", context) == 'Bob, her brother, was "born" in Paris!'
    assert likeliest_sentence("Which hill?", context) == "On a hill"
    assert likeliest_sentence("Why?", context) == "Ada was born in Rome."
    assert likeliest_sentence("Why?", "no mark") == "no mark"
    data = files(tmp_path, 'Where was Bob?,"Ada ran. Bob was in Paris.",Paris', "Who?,nobody,")
    assert baselines_of(inputs_of(), data, "valid").scores == {
        "baseline_sentence_exact": 0.0,
        "baseline_sentence_f1": pytest.approx(100 * (2 / 5) / 2),
        "baseline_no_answer_f1": 50.0,
    }


def test_a_part_that_is_not_there_is_refused(tmp_path: Path) -> None:
    data, inputs = files(tmp_path, *ROWS), inputs_of()
    with pytest.raises(DataError, match="the data has no test part; it has train, valid"):
        TASK.evaluated(recipe(), data, inputs, finder(inputs), "test", None)


def test_questions_of_which_none_can_be_answered_are_refused() -> None:
    lost = Question("Who?", "Ada", (RightAnswer("Bob", None),))
    with pytest.raises(DataError, match=r"none of the 2 questions .* has an answer that stands in its context"):
        SpanOutput.learn(Given([lost, Question("Who?", "Ada", ())]), SpanOutputSettings(), inputs_of().input)
    right = Question("Who?", "Ada", (RightAnswer("Ada", 0),))
    for others, unanswerable in (([], False), ([Question("Who?", "Ada", ())], True)):
        found = SpanOutput.learn(Given([lost, right, *others]), SpanOutputSettings(), inputs_of().input)
        assert found == SpanOutput(30, unanswerable)


def test_a_threshold_is_for_models_that_can_be_silent() -> None:
    with pytest.raises(SettingError, match="questions that all have an answer"):
        SpanOutput(30, unanswerable=False, threshold=0.0)


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    SpanOutput(7, unanswerable=True).save(tmp_path)
    assert SpanOutput.load(tmp_path, None) == SpanOutput(7, unanswerable=True)
    (tmp_path / "span.json").write_text("{}")
    with pytest.raises(RunError, match=r"span.json cannot be read as span"):
        SpanOutput.load(tmp_path, None)
