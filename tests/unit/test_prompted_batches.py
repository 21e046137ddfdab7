"""Batches of prompts with their answers: where the task token stands, and that only answers are learnt."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from seqwright.batches.prompted import Marks, joined_turns, prompted
from seqwright.data.examples import Pair
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs import Given, Room
from seqwright.inputs.prompt import PromptInput, PromptSettings
from seqwright.inputs.saved import plain_fields
from seqwright.models.gpt import GPT, GPTSettings
from seqwright.models.language_model import LanguageModel
from seqwright.objectives.answer import AnswerOnly, AnswerOnlySettings
from seqwright.outputs.answer import AnswerOutput
from seqwright.outputs.text_scores import ScoresSettings
from seqwright.tasks.wired import Wires

MARKS = Marks(begin=2, task=12, end=3)


def rows(*turns: tuple[list[int], list[int]]) -> Any:
    return joined_turns([(np.array(source), np.array(answer)) for source, answer in turns], MARKS)


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


def model() -> LanguageModel:
    torch.manual_seed(1)
    settings = GPTSettings(width=8, heads=2, layers=2, context=19, feed_forward=16, dropout=0.0)
    return LanguageModel(GPT(settings, vocabulary=13))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_the_cross_entropy_of_the_answers_alone(smoothing: float) -> None:
    gpt, objective = model(), AnswerOnly(AnswerOnlySettings(label_smoothing=smoothing))
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
    gpt, objective = model(), AnswerOnly()
    batch = prompted([rows(([5, 6, 7], [8, 9])), rows(([5], [10]))], MARKS)

    def gradient(target_BT: torch.Tensor) -> torch.Tensor:
        gpt.zero_grad()
        changed = batch.replace(target_BT=target_BT)
        loss, _ = objective(gpt, changed, None)
        loss.total(objective.counts(changed)).backward()
        gradient_VD = gpt.body.tokens.weight.grad
        assert isinstance(gradient_VD, torch.Tensor)
        return gradient_VD.clone()

    elsewhere_BT = torch.where(batch.answer_BT, batch.target_BT, 11)
    inside_BT = torch.where(batch.answer_BT, 11, batch.target_BT)
    assert torch.equal(gradient(elsewhere_BT), gradient(batch.target_BT))
    assert not torch.equal(gradient(inside_BT), gradient(batch.target_BT))


def test_the_turns_of_a_row_stand_together_and_are_as_long_as_was_said() -> None:
    pairs = [Pair("one " * (1 + i % 3), "un deux", shots=(Pair("two", "deux"),) * (i % 4)) for i in range(7)]
    prompts, output = learnt(pairs)
    encode, marks = prompts.tokenizer.encode, prompts.tokens
    encoded = prompts.encode(Given([*pairs, Pair(" ", "deux")]))
    assert encoded.example_N.tolist() == list(range(7))
    taken = encoded.take(np.array([6, 0, 3]), 0)
    for number, row in zip((6, 0, 3), taken, strict=True):
        pair = pairs[number]
        turns = [tuple(encode([shot.source, shot.target])) for shot in pair.shots]
        wanted = joined_turns([*turns, (encode([pair.source])[0], np.zeros(0, dtype=np.int64))], marks)
        assert row.tolist() == wanted.tolist()
        assert row[-1] == marks.task
    assert encoded.lengths(0)[[6, 0, 3]].tolist() == [[len(row)] for row in taken]
    batch = output.collate(prompts.stack(taken), encode(["un", "deux", "un deux"]))
    learnt_from = sorted(
        prompts.tokenizer.decode(batch.target_BT[row][batch.answer_BT[row]].tolist()) for row in range(3)
    )
    assert learnt_from == ["deux", "deux deux deux un deux", "deux deux un"]


def said(*contents: str) -> list[dict[str, str]]:
    """Messages, of the user and of the assistant in turn."""
    return [{"role": ("user", "assistant")[number % 2], "content": content} for number, content in enumerate(contents)]


def test_a_chat_is_read_turn_by_turn() -> None:
    prompts, _ = learnt([Pair("one two", "un deux")])
    asked = prompts.parse({"messages": said("one", "un", "two")})
    assert asked == Pair("two", "", shots=(Pair("one", "un"),))
    (row,) = prompts.encode(Given([asked])).take(np.array([0]), None)
    one, un, two = (ids.tolist() for ids in prompts.tokenizer.encode(["one", "un", "two"]))
    marks = prompts.tokens
    assert row.tolist() == [*one, marks.task, *un, marks.end, *two, marks.task]
    assert prompts.parse({"messages": said("one")}) == prompts.parse("one") == Pair("one", "")
    with pytest.raises(DataError, match="a chat is read in turns, which cannot be looked at"):
        prompts.parts({"messages": said("one")})


@pytest.mark.parametrize(
    "given",
    [
        {"messages": []},
        {"messages": said("one", "un")},
        {"messages": said("one", "un", "two")[1:]},
        {"messages": [{"role": "system", "content": "be kind"}, *said("one")]},
        {"messages": [*said("one", "un"), {"role": "user"}]},
        {"messages": "one"},
        {"messages": None},
        {"messages": said("one"), "text": "one"},
        {"text": "one"},
    ],
)
def test_what_is_no_chat_is_refused_with_what_one_is(given: dict[str, Any]) -> None:
    prompts, _ = learnt([Pair("one two", "un deux")])
    with pytest.raises(DataError, match=r"expected a text, or .* user and assistant in turn and the user last"):
        prompts.parse(given)


def test_a_prompt_is_read_only_so_far_that_an_answer_has_room() -> None:
    for longest, context, read in ((8, 24, 8), (24, 24, 24 - 2 - 24 // 4), (24, None, 24)):
        prompts, _ = learnt([Pair("one", "un")], longest=longest, context=context)
        (row,) = prompts.encode(Given([Pair("one " * 30, "")])).take(np.array([0]), None)
        assert len(row) == read + 1
        assert prompts.remarks(Given([Pair("one " * 30, "")])) == [f"texts read only up to {read} tokens: 1"]


def test_a_row_that_does_not_fit_into_the_model_is_refused() -> None:
    pairs = Given([Pair("one " * 9, "un " * 9)])
    prompts, output = learnt(list(pairs), longest=9, context=16)
    rows_there = prompts.encode(pairs)
    with pytest.raises(SettingError, match=r"has a row of \d+ tokens, .* more than model.context"):
        output.batches(rows_there, output.encode(pairs, rows_there), prompts, tokens=64)


def learnt(pairs: list[Pair], *, longest: int = 256, context: int | None = None) -> tuple[PromptInput, AnswerOutput]:
    settings = PromptSettings(tokenizer="words", task_token="<to-fr>", longest=longest)
    prompts = PromptInput.learn(Given(pairs), settings, room=Room(context=context))
    return prompts, AnswerOutput.learn(Given(pairs), ScoresSettings(), prompts)


def test_inputs_come_back_with_their_task(tmp_path: Path) -> None:
    prompts, output = learnt([Pair("one two", "un deux <to-fr>")], context=19)
    Wires(prompts, output).save(tmp_path)
    again = PromptInput.load(tmp_path / "input")
    written = AnswerOutput.load(tmp_path / "output", again)
    assert (again.task, again.tokens, again.context) == ("<to-fr>", prompts.tokens, 19)
    assert again.fingerprint() == prompts.fingerprint()
    kept = plain_fields(output, without={"tokenizer"})
    assert (plain_fields(written, without={"tokenizer"}), written.marks) == (kept, output.marks)
    assert prompts.tokens.task not in prompts.tokenizer.encode(["un <to-fr> deux"])[0]
    settings = PromptSettings(tokenizer="words", task_token="<summarize>")
    other = PromptInput.learn(Given(list[Pair]()), settings, room=Room(), like=prompts.tokenizer)
    assert other.tokens.task == prompts.tokenizer.size
    assert other.tokenizer.special["<to-fr>"] == prompts.tokens.task
    (tmp_path / "input" / "task_token.json").write_text('{"task": "<to-de>", "longest": 3, "context": null}')
    with pytest.raises(RunError, match=r"task_token.json .*it names '<to-de>', and the tokenizer has only .*<to-fr>"):
        PromptInput.load(tmp_path / "input")
    path = tmp_path / "output" / "writing.json"
    path.write_text(path.read_text().replace("<to-fr>", "<to-de>"))
    with pytest.raises(RunError, match=r"writing.json .*it names '<to-de>', and the tokenizer has only .*<to-fr>"):
        AnswerOutput.load(tmp_path / "output", prompts)
    (tmp_path / "input" / "task_token.json").unlink()
    with pytest.raises(RunError, match=r"task_token.json is missing"):
        PromptInput.load(tmp_path / "input")
