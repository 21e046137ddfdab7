"""Question answering with a model whose mind is known: windows, long contexts, silence, scores and the cache."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from seqwright.inputs.question_text import QuestionText, QuestionTextSettings
from seqwright.tasks.answerer import Answerer
from seqwright.tasks.question_baseline import likeliest_sentence
from seqwright.tasks.question_rows import LOST, NO_ANSWER, tokenised
from seqwright.tasks.questions import QuestionsTask, baseline, batches_of
from torch import Tensor, nn

from seqwright.batches.questions import Asked
from seqwright.data.questions import QuestionFiles, QuestionFilesSettings
from seqwright.errors import DataError, SettingError
from seqwright.recipe import Recipe, recipe_from

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


def inputs_of(*texts: str, unanswerable: bool = True, **sizes: int) -> QuestionText:
    given: dict[str, Any] = {"longest": 48, "stride": 16, "question": 8, **sizes}
    settings = QuestionTextSettings(tokenizer="whitespace", vocabulary=400, **given)
    return QuestionText.learnt([LONG, *texts], settings, unanswerable=unanswerable)


def finder(inputs: QuestionText, **known: Any) -> Finder:
    (ids,) = inputs.tokenizer.encode([SPOKEN])
    return Finder(int(ids[-1]), **known)


def test_an_answer_far_behind_is_found_with_its_own_characters() -> None:
    inputs = inputs_of()
    (found,) = Answerer(finder(inputs), inputs)([("where ?", LONG)])
    (best,) = found.answers
    assert best.text == "gold treasure"
    assert LONG[best.begin : best.end] == "gold treasure"
    assert found.said() == "gold treasure"
    assert best.score == pytest.approx(18.0)
    assert best.probability > 0.9
    assert found.margin == pytest.approx(16.0)  # only the windows that have the word speak: 18 - 2


def test_the_order_and_number_of_questions_change_nothing() -> None:
    inputs = inputs_of()
    answerer = Answerer(finder(inputs), inputs)
    asked = [("where ?", LONG), ("what ?", "word1 word2"), ("who ?", f"word7 {SPOKEN}"), ("where ?", LONG)]
    together = answerer(asked)
    assert [found.said() for found in together] == ["gold treasure", "", f"word7 {SPOKEN}", "gold treasure"]
    for pair, found in zip(asked, together, strict=True):
        (alone,) = answerer([pair])
        assert alone.said() == found.said()
        assert alone.no_answer == pytest.approx(found.no_answer)
    assert answerer([]) == []


def test_silence_is_chosen_by_score_and_threshold() -> None:
    inputs = inputs_of()
    (found,) = Answerer(finder(inputs, silence=8.0), inputs)([("where ?", LONG)])
    assert found.margin == pytest.approx(2.0)
    assert [found.said(threshold) for threshold in (0.0, 1.9, 2.1)] == ["gold treasure", "gold treasure", ""]
    (none,) = Answerer(finder(inputs), inputs)([("where ?", "word1 word2 tail")])
    assert none.said() == ""
    assert none.no_answer > 0.99
    assert none.said(-100.0) != ""


def test_a_model_that_never_saw_silence_always_answers() -> None:
    inputs = inputs_of(unanswerable=False)
    (found,) = Answerer(finder(inputs), inputs)([("where ?", "word1 word2 tail")])
    assert found.no_answer == 0.0
    assert found.margin == float("inf")
    assert found.said() != ""


def test_probabilities_are_those_of_all_answers_and_silence() -> None:
    inputs = inputs_of()
    (found,) = Answerer(finder(inputs), inputs)([("where ?", "word1 word2 word3")], top=99)
    # Three tokens have six stretches; all have score 0, silence has 24.
    assert found.no_answer + 6 * found.answers[0].probability == pytest.approx(1.0)
    assert found.answers[0].probability == pytest.approx(1 / (6 + np.exp(24.0)))
    places = sorted((answer.begin, answer.end) for answer in found.answers)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(places))  # none overlap


def test_an_answer_is_never_longer_than_is_looked_for() -> None:
    inputs = inputs_of(answer=2)
    (found,) = Answerer(finder(inputs, before=2), inputs)([("where ?", LONG)])
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
        "data": {"kind": "questions", "train": "a.csv"},
        "input": {"tokenizer": "words", "longest": 48, "stride": 16, "longest_question": 8},
        "model": {"kind": "bert", "width": 8, "heads": 2, "layers": 1, "context": 48},
        "training": {"tokens": 96, "device": "cpu"},
    }
    return recipe_from({section: {**values, **sections.get(section, {})} for section, values in plain.items()})


def test_a_part_is_tokenised_with_the_answer_in_its_place(tmp_path: Path) -> None:
    data, inputs = files(tmp_path, *ROWS), inputs_of()
    tokens = tokenised(data, inputs, "train")
    assert tokens.answer_M2[:, 0].tolist() == [201, NO_ANSWER, 0, LOST]
    assert tokens.answer_M2[:, 1].tolist() == [202, NO_ANSWER, 1, LOST]
    assert tokens.kept == (4, 1, 0, 1, 0)
    assert tokens.kept.sentence() == (
        "4 questions, 1 without an answer; of 1 questions no answer stands in the context: they are judged, not learnt "
        "from"
    )
    batches = batches_of(recipe(), inputs, tokens)
    assert 3 not in batches.rows.example_N[batches.only]  # whose answer is nowhere
    learnt = sum(int((batch.start_B > 0).sum()) for batch in batches.once())
    assert learnt > 2  # the answer stands in several windows of the first, and in the third


def test_the_scores_are_those_of_the_model(tmp_path: Path) -> None:
    data, inputs = files(tmp_path, *ROWS), inputs_of(*ROWS)
    result = QuestionsTask().evaluated(recipe(), data, inputs, finder(inputs), "valid", None)
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
    prepared = QuestionsTask().prepared(recipe(), data, inputs)
    scores = prepared.evaluate(finder(inputs))
    assert tuple(scores) == prepared.scores
    assert scores["exact"] == 75.0
    assert any("to beat: the sentence with most words of the question" in note for note in prepared.notes)


def test_checking_names_what_a_model_cannot_learn(tmp_path: Path) -> None:
    data, inputs = files(tmp_path, *ROWS), inputs_of(answer=1)
    checked, _ = QuestionsTask().checked(recipe(), data, inputs)
    assert checked.rows[0][:4] == ("train", "4", "1", "4")
    told = " ".join(checked.remarks)
    assert "2 answers of the train part have more than input.answer = 1 tokens" in told
    assert "questions of the valid part about contexts of training: 100.0 %" in told
    assert "of 1 questions no answer stands in the context" in told


def test_the_sentence_with_most_words_of_the_question_is_to_be_beaten(tmp_path: Path) -> None:
    context = 'Ada was born in Rome. Bob, her brother, was "born" in Paris! Then they met.\nOn a hill'
    assert likeliest_sentence("Where was Bob born?", context) == 'Bob, her brother, was "born" in Paris!'
    assert likeliest_sentence("Which hill?", context) == "On a hill"
    assert likeliest_sentence("Why?", context) == "Ada was born in Rome."
    assert likeliest_sentence("Why?", "no mark") == "no mark"
    data = files(tmp_path, 'Where was Bob?,"Ada ran. Bob was in Paris.",Paris', "Who?,nobody,")
    assert baseline(data, "valid").scores == {
        "baseline_sentence_exact": 0.0,
        "baseline_sentence_f1": pytest.approx(100 * (2 / 5) / 2),
        "baseline_no_answer_f1": 50.0,
    }


def test_more_than_the_model_has_positions_for_is_refused(tmp_path: Path) -> None:
    data, inputs = files(tmp_path, *ROWS), inputs_of()
    with pytest.raises(SettingError, match=r"input.longest = 48 is more than the 40 positions of the model"):
        QuestionsTask().prepared(recipe(model={"context": 40}), data, inputs)


def test_a_part_that_is_not_there_is_refused(tmp_path: Path) -> None:
    data, inputs = files(tmp_path, *ROWS), inputs_of()
    with pytest.raises(DataError, match="the data has no test part; it has train, valid"):
        QuestionsTask().evaluated(recipe(), data, inputs, finder(inputs), "test", None)
