"""Batches of prompts with their answers: where the task token stands, and that only answers are learnt."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from seqwright.inputs.prompt_text import PromptText

from seqwright.batches import InMemory
from seqwright.batches.prompted import Marks, PromptRows, joined, prompted
from seqwright.errors import RunError
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings
from seqwright.models.gpt import GPT, GPTSettings
from seqwright.objectives.answer import Answer, AnswerSettings

MARKS = Marks(begin=2, task=12, end=3)


def rows(*turns: tuple[list[int], list[int]]) -> Any:
    return joined([(np.array(source), np.array(answer)) for source, answer in turns], MARKS)


def test_the_task_token_stands_between_a_text_and_its_answer() -> None:
    batch = prompted([rows(([5, 6, 7], [8, 9])), rows(([5], [10]))], MARKS)
    assert batch.input_BT.tolist() == [[2, 5, 6, 7, 12, 8, 9], [2, 5, 12, 10, 0, 0, 0]]
    assert batch.target_BT.tolist() == [[5, 6, 7, 12, 8, 9, 3], [5, 12, 10, 3, 0, 0, 0]]
    assert batch.answer_BT.int().tolist() == [[0, 0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 0, 0, 0]]
    assert batch.real_BT.int().tolist() == [[1] * 7, [1, 1, 1, 1, 0, 0, 0]]
    assert batch.tokens == 11
    assert torch.equal(batch.loss_mask, batch.answer_BT)


def test_every_answer_of_several_turns_is_learnt() -> None:
    batch = prompted([rows(([5, 6], [8]), ([7], [9, 10]))], MARKS)
    assert batch.input_BT.tolist() == [[2, 5, 6, 12, 8, 3, 7, 12, 9, 10]]
    assert batch.target_BT[batch.answer_BT].tolist() == [8, 3, 9, 10, 3]


def test_a_vocabulary_whose_texts_begin_and_end_with_the_same_token_does() -> None:
    same = Marks(begin=3, task=12, end=3)
    batch = prompted([rows(([5, 6], [8]), ([7], [9, 10]))], same)
    assert batch.target_BT[batch.answer_BT].tolist() == [8, 3, 9, 10, 3]


def model() -> GPT:
    torch.manual_seed(1)
    settings = GPTSettings(width=8, heads=2, layers=2, context=19, feed_forward=16, dropout=0.0)
    return GPT(settings, vocabulary=13)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_the_cross_entropy_of_the_answers_alone(smoothing: float) -> None:
    gpt, objective = model(), Answer(AnswerSettings(label_smoothing=smoothing))
    batch = prompted([rows(([5, 6, 7], [8, 9])), rows(([5], [10]))], MARKS)
    loss, carry = objective(gpt, batch, None)
    logits_BTV, _ = gpt(batch)
    said_NV = torch.cat((logits_BTV[0, 4:7], logits_BTV[1, 2:4]))
    target_N = torch.tensor([8, 9, 3, 10, 3])
    assert carry is None
    assert objective.counts(batch) == dict.fromkeys(loss.parts, 5)
    torch.testing.assert_close(loss.parts["loss"].sum, F.cross_entropy(said_NV, target_N, reduction="sum"))
    total = F.cross_entropy(said_NV, target_N, label_smoothing=smoothing)
    torch.testing.assert_close(loss.total(objective.counts(batch)), total)


def test_what_should_follow_inside_a_text_changes_nothing() -> None:
    gpt, objective = model(), Answer()
    batch = prompted([rows(([5, 6, 7], [8, 9])), rows(([5], [10]))], MARKS)

    def gradient(target_BT: torch.Tensor) -> torch.Tensor:
        gpt.zero_grad()
        changed = batch.replace(target_BT=target_BT)
        loss, _ = objective(gpt, changed, None)
        loss.total(objective.counts(changed)).backward()
        assert gpt.tokens.weight.grad is not None
        return gpt.tokens.weight.grad.clone()

    elsewhere_BT = torch.where(batch.answer_BT, batch.target_BT, 11)
    inside_BT = torch.where(batch.answer_BT, 11, batch.target_BT)
    assert torch.equal(gradient(elsewhere_BT), gradient(batch.target_BT))
    assert not torch.equal(gradient(inside_BT), gradient(batch.target_BT))


def test_the_turns_of_a_row_stand_together_and_are_as_long_as_was_said() -> None:
    source = InMemory([np.array([20 + i] * (1 + i % 3)) for i in range(14)])
    answer = InMemory([np.array([50 + i]) for i in range(14)])
    found = PromptRows(source, answer, MARKS, turns=2)
    assert found.example_N.tolist() == list(range(7))
    taken = found.take(np.array([6, 0, 3]), 0)
    for number, row in zip((6, 0, 3), taken, strict=True):
        first, second = 2 * number, 2 * number + 1
        wanted = rows(([20 + first] * (1 + first % 3), [50 + first]), ([20 + second] * (1 + second % 3), [50 + second]))
        assert row.tolist() == wanted.tolist()
    assert found.lengths(0)[[6, 0, 3]].tolist() == [[len(row)] for row in taken]


def test_inputs_come_back_with_their_task(tmp_path: Path) -> None:
    settings = TokenizerSettings(tokenizer="words")
    tokenizer = Tokenizer.train(["one two", "un deux <to-fr>"], settings, special=("<to-fr>",))
    inputs = PromptText(tokenizer, "<to-fr>")
    inputs.save(tmp_path)
    again = PromptText.load(tmp_path)
    assert again.task == "<to-fr>"
    assert again.marks == inputs.marks
    assert again.fingerprint() == inputs.fingerprint()
    assert inputs.marks.task not in tokenizer.encode(["un <to-fr> deux"])[0]
    other = PromptText.given(tokenizer, "<summarize>")
    assert other.marks.task == tokenizer.size
    assert other.tokenizer.special["<to-fr>"] == inputs.marks.task
    (tmp_path / "task.json").write_text('{"task": "<to-de>"}')
    with pytest.raises(RunError, match=r"task.json .*it names '<to-de>', and the tokenizer has only .*<to-fr>"):
        PromptText.load(tmp_path)
    (tmp_path / "task.json").unlink()
    with pytest.raises(RunError, match=r"task.json is missing"):
        PromptText.load(tmp_path)
