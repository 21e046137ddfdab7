"""Ten fake tasks through the real seams: learn, encode, batches, two steps of `fit`, predict, scores, save and load.

A fake task is what it adds: the files of its input and its output, with batch and objective where they are its own. Of
these every line of code counts; what several share does not: rows that are drawn, saving and reading, words, frames and
written texts in `fake_tasks/parts.py`, bodies, heads and a decoder in `fake_tasks/models.py`.

What they need and no task of today does: a text carried from batch to batch, rows drawn in each epoch, examples of
several rows or with several references, two losses over one body, parts of a row that are compared, covariates, a
teacher that follows its student, members that read differently, and annotations by the number of the example.
"""

import ast
import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqwright.batches import Batch, Batches, Place
from seqwright.batches.packed import PackedBatches
from seqwright.inputs import Given, Input, Room
from seqwright.models.encoder_decoder import EncoderDecoder
from seqwright.models.heads import Headed
from seqwright.models.language_model import LanguageModel
from seqwright.models.rnn_lm import RecurrentLM, RecurrentLMSettings
from seqwright.objectives.distilled_labels import DistilledLabels, DistilledLabelsSettings
from seqwright.objectives.labels import Labels
from seqwright.objectives.next_token import NextToken
from seqwright.objectives.objective import Objective
from seqwright.objectives.span import Span as SpanObjective
from seqwright.outputs import Output
from seqwright.training.checkpoint import read_checkpoint
from seqwright.training.loop import fit
from seqwright.training.settings import TrainingSettings
from tests.contract.fake_tasks.bpe_dropout_translation import Pieces, Translation
from tests.contract.fake_tasks.captions import Caption, Patches
from tests.contract.fake_tasks.distillation import taught
from tests.contract.fake_tasks.ensemble import Letters, Member, ensemble
from tests.contract.fake_tasks.joint_ctc import JointCTC, Transcript, joint_model
from tests.contract.fake_tasks.labels import Label
from tests.contract.fake_tasks.models import Decoder, PooledHead, TokenHead, frame_body, token_body
from tests.contract.fake_tasks.multi_crop import Crops, FeatureVector, FollowedByTeacher
from tests.contract.fake_tasks.parts import BEGIN, END, Example, Frames, Words
from tests.contract.fake_tasks.preferences import DPO, Preference, Prompts
from tests.contract.fake_tasks.quantile_forecasts import Past, Pinball, Values, quantile_model
from tests.contract.fake_tasks.question_windows import Questions, Span
from tests.contract.fake_tasks.stream_language_model import StreamedText

SEED, UNREAD = 3, 2  # the third example of each task cannot be read
MOST_LINES = 40  # of code in what a fake task adds: where one needs more, its seams are wrong


class FakeTask(NamedTuple):
    """A row of the task table, and examples for it."""

    name: str
    input: type[Input[Example, Any]]
    output: type[Output[Example, Any, Any]]
    model: Callable[..., nn.Module]  # from the sizes of both
    objective: Callable[[nn.Module], Objective]
    examples: list[Example]
    annotated: Callable[[Batches[Any]], Batches[Any]] = lambda batches: batches


def language_model(tokens: int) -> nn.Module:
    return LanguageModel(RecurrentLM(RecurrentLMSettings(kind="gru", width=5, dropout=0.0), vocabulary=tokens))


def translator(tokens: int, vocabulary: int) -> nn.Module:
    return EncoderDecoder(token_body(tokens), Decoder(vocabulary))


def captioner(width: int, vocabulary: int) -> nn.Module:
    return EncoderDecoder(frame_body(width), Decoder(vocabulary))


def classifier(tokens: int, classes: int) -> nn.Module:
    return Headed(token_body(tokens), PooledHead(classes))


def span_model(tokens: int) -> nn.Module:
    return Headed(token_body(tokens), TokenHead(2))


def embedder(width: int) -> nn.Module:
    return Headed(frame_body(width), PooledHead(5))


def with_teacher(batches: Batches[Any]) -> Batches[Any]:
    return taught(batches, TEACHER_NC)


def values(rows: int, columns: int, seed: int) -> list[list[float]]:
    drawn: list[list[float]] = np.random.default_rng(seed).normal(size=(rows, columns)).tolist()
    return drawn


TEACHER_NC = torch.tensor([[5.0, -5.0], [-5.0, 5.0], [0.0, 0.0], [1.0, -1.0], [-2.0, 2.0]])
DISTILLED = DistilledLabelsSettings(teacher="runs/teacher")
TEXTS = ["the cat sat on the mat", "a dog", "", "the dog ran and ran", "a cat ran"]
SHOUTS = ["le chat", "un chien", "le rien", "chien chien", "un chat"]
LABELS = ["cat", "dog", "cat", "", "cat"]
ANSWERS: list[tuple[int, ...]] = [(5, 5), (1, 1), (), (1, 2), ()]
NUMBER = range(len(TEXTS))
FRAMES = [values(length, 3, seed) for seed, length in enumerate((7, 5, 0, 6, 8))]
IMAGES = [values(5 if number != UNREAD else 0, 4, number) for number in NUMBER]
SERIES = [values(9 if number != UNREAD else 0, 4, number) for number in NUMBER]
CAPTIONS = [[f"{text} {number}" for number in range(5)] for text in SHOUTS]


TASKS = [
    FakeTask(
        *("stream-language-model", Words, StreamedText, language_model, lambda model: NextToken()),
        [{"text": text} for text in TEXTS],
    ),
    FakeTask(
        *("bpe-dropout-translation", Pieces, Translation, translator, lambda model: NextToken()),
        [{"source": TEXTS[n], "target": SHOUTS[n] if n != 4 else ""} for n in NUMBER],
    ),
    FakeTask(
        *("question-windows", Questions, Span, span_model, lambda model: SpanObjective()),
        [{"question": "the cat", "context": TEXTS[n], "answer": ANSWERS[n]} for n in NUMBER],
    ),
    FakeTask(
        *("images-with-five-captions", Patches, Caption, captioner, lambda model: NextToken()),
        [{"image": IMAGES[n], "captions": CAPTIONS[n]} for n in NUMBER],
    ),
    FakeTask(
        *("joint-ctc-and-attention", Frames, Transcript, joint_model, lambda model: JointCTC()),
        [{"frames": FRAMES[n], "target": SHOUTS[n]} for n in NUMBER],
    ),
    FakeTask(
        *("preference-pairs", Prompts, Preference, translator, DPO),
        [{"prompt": TEXTS[n], "chosen": SHOUTS[n], "rejected": SHOUTS[n - 1]} for n in NUMBER],
    ),
    FakeTask(
        *("quantile-forecasts", Past, Values, quantile_model, lambda model: Pinball()),
        [{"history": SERIES[n], "future": [0.5, float(n)] if n != 3 else []} for n in NUMBER],
    ),
    FakeTask(
        *("multi-crop-views", Crops, FeatureVector, embedder, FollowedByTeacher),
        [{"image": IMAGES[n]} for n in NUMBER],
    ),
    FakeTask(
        *("member-of-an-ensemble", Letters, Label, classifier, lambda model: Labels()),
        [{"text": TEXTS[n], "label": LABELS[n]} for n in NUMBER],
    ),
    FakeTask(
        *("distillation", Words, Label, classifier, lambda model: DistilledLabels(DISTILLED)),
        [{"text": TEXTS[n], "label": LABELS[n]} for n in NUMBER],
        with_teacher,
    ),
]
BY_NAME = {task.name: task for task in TASKS}
every_task = pytest.mark.parametrize("task", TASKS, ids=BY_NAME)


class Parts(NamedTuple):
    examples: Given[Example]
    input: Input[Example, Any]
    output: Output[Example, Any, Any]
    model: nn.Module


def parts(task: FakeTask) -> Parts:
    examples = Given(task.examples)
    input = task.input.learn(examples, None, room=Room(), like=None)
    output = task.output.learn(examples, None, input)
    torch.manual_seed(1)
    return Parts(examples, input, output, task.model(**input.sizes(), **output.sizes()))


def batches(found: Parts, *, targets: bool = True, tokens: int = 24) -> Batches[Batch]:
    rows = found.input.encode(found.examples, seed=SEED)
    wanted = found.output.encode(found.examples, rows, seed=SEED) if targets else None
    return found.output.batches(rows, wanted, found.input, tokens=tokens, seed=SEED)


def trained(task: FakeTask, run: Path | None = None) -> tuple[Parts, Objective]:
    found = parts(task)
    objective = task.objective(found.model)
    settings = TrainingSettings(steps=2, schedule="constant", rate=0.05)
    fit(found.model, objective, task.annotated(batches(found)), settings=settings, run=run)
    found.model.eval()
    return found, objective


def predictions(found: Parts, **given: Any) -> list[Any]:
    return list(found.output.predict(found.model, batches(found, **given), found.examples, None))


def close(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(close, one, other))
    return math.isclose(one, other, abs_tol=1e-5) if isinstance(one, float) else bool(one == other)


def same_batches(one: Batches[Batch], other: Batches[Batch]) -> bool:
    places = [Place(epoch, 0) for epoch in range(3)]
    pairs = [(one.at(place).tensors(), other.at(place).tensors()) for place in places]
    return all(a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a) for a, b in pairs)


# ------------------------------------------------------------------------------------------------ every task


@every_task
def test_two_steps_change_the_model_and_leave_a_checkpoint(task: FakeTask, tmp_path: Path) -> None:
    before = [tensor.clone() for tensor in parts(task).model.state_dict().values()]
    found, _ = trained(task, tmp_path / "run")
    after = found.model.state_dict().values()
    assert not all(torch.equal(one, other) for one, other in zip(before, after, strict=True))
    assert read_checkpoint(tmp_path / "run", 2).files["model"]


@every_task
def test_every_example_has_one_prediction_in_order_and_an_unread_one_an_empty_one(task: FakeTask) -> None:
    found, _ = trained(task)
    every = predictions(found, targets=False)
    empty = task.output.empty  # type: ignore[attr-defined]
    assert [number for number, prediction in enumerate(every) if prediction == empty] == [UNREAD]
    alone = [predictions(found._replace(examples=Given([example])), targets=False) for example in task.examples]
    if task.name != "stream-language-model":  # there what is read before an example changes what is said of it
        assert all(close(one, other[0]) for one, other in zip(every, alone, strict=True))
    assert all(
        close(one, other) for one, other in zip(every, predictions(found, targets=False, tokens=99), strict=True)
    )


@every_task
def test_predictions_with_targets_are_those_without_where_an_example_can_be_learnt_from(task: FakeTask) -> None:
    found, _ = trained(task)
    rows = found.input.encode(found.examples)
    learnable = set(rows.example_N[found.output.encode(found.examples, rows).learnable].tolist())
    both = zip(predictions(found), predictions(found, targets=False), strict=True)
    for number, (one, other) in enumerate(both):
        assert close(one, other if number in learnable else task.output.empty)  # type: ignore[attr-defined]


@every_task
def test_scores_have_the_names_that_were_announced(task: FakeTask) -> None:
    found, _ = trained(task)
    scores = found.output.scores(predictions(found, targets=False), found.examples)
    assert tuple(scores) == found.output.score_names
    assert all(math.isfinite(score) for score in scores.values())


@every_task
def test_saved_and_opened_again_it_encodes_and_predicts_the_same(task: FakeTask, tmp_path: Path) -> None:
    found, _ = trained(task)
    found.input.save(tmp_path / "input")
    found.output.save(tmp_path / "output")
    read = task.input.load(tmp_path / "input")
    opened = found._replace(input=read, output=task.output.load(tmp_path / "output", read))
    assert opened.input.fingerprint() == found.input.fingerprint()
    assert opened.output.sizes() == found.output.sizes()
    assert same_batches(batches(opened), batches(found))
    assert predictions(opened) == predictions(found)


@every_task
def test_what_a_task_adds_is_at_most_forty_lines_of_code(task: FakeTask) -> None:
    files = {Path(inspect.getfile(factor)) for factor in (task.input, task.output)}
    assert sum(code_lines(path) for path in files if path.name != "parts.py") <= MOST_LINES, files


def code_lines(path: Path) -> int:
    """The lines of a file that are neither blank nor imports, docstrings or comments."""
    text = path.read_text(encoding="utf-8")
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        told = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if told or isinstance(node, ast.Import | ast.ImportFrom):
            left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))  # type: ignore[attr-defined]
    lines = enumerate(text.splitlines(), start=1)
    return sum(1 for number, line in lines if number not in left_out and line.strip().partition("#")[0])


# ------------------------------------------------------------------------------------------------ what each is for


def test_a_stream_carries_its_state_and_knows_the_example_of_every_token(tmp_path: Path) -> None:
    trained(BY_NAME["stream-language-model"], tmp_path)
    assert read_checkpoint(tmp_path, 2).files["carry"]
    order = batches(parts(BY_NAME["stream-language-model"]))
    seen = torch.cat([batch.examples()[batch.real_BT] for batch in order.once()])  # type: ignore[attr-defined]
    words = [len(text.split()) + 1 if text else 0 for text in TEXTS]
    assert torch.bincount(seen, minlength=len(TEXTS)).tolist() == words


def test_packed_documents_know_the_example_of_every_token() -> None:
    found = parts(BY_NAME["stream-language-model"])
    rows = found.input.encode(found.examples)
    order = PackedBatches(rows, tokens=24, segment=12, seed=SEED, begin=BEGIN, end=END)
    seen = torch.cat([batch.examples()[batch.real_BT] for batch in order.once()])
    assert torch.bincount(seen, minlength=len(TEXTS)).tolist() == [7, 3, 0, 6, 4]


def test_documents_are_predicted_as_in_a_stream_of_their_own() -> None:
    found, _ = trained(BY_NAME["stream-language-model"])
    documents = predictions(found._replace(output=StreamedText(rows="documents")), targets=False)
    for example, scored in zip(found.examples, documents, strict=True):
        if example["text"]:
            (alone,) = predictions(found._replace(examples=Given([example])), targets=False)
            assert close(alone, scored)


@pytest.mark.parametrize("name", ["bpe-dropout-translation", "images-with-five-captions", "multi-crop-views"])
def test_each_epoch_draws_its_rows_and_none_draws_nothing(name: str) -> None:
    order = batches(parts(BY_NAME[name]), tokens=1000)
    first, second, again = (order.at(Place(epoch, 0)).tensors() for epoch in (0, 1, 0))
    assert any(first[key].shape != second[key].shape or not torch.equal(first[key], second[key]) for key in first)
    assert all(torch.equal(first[key], again[key]) for key in first)
    plain = [[batch.tensors() for batch in order.once()] for _ in range(2)]
    assert all(torch.equal(one[key], other[key]) for one, other in zip(*plain, strict=True) for key in one)


def test_what_is_drawn_does_not_depend_on_the_batch_it_stands_in() -> None:
    found = parts(BY_NAME["bpe-dropout-translation"])
    rows = found.input.encode(found.examples, seed=SEED)
    together = rows.take(np.arange(4), 1)
    assert all(np.array_equal(rows.take(np.array([n]), 1)[0], together[n]) for n in range(4))
    other = found.input.encode(found.examples, seed=SEED + 1).take(np.arange(4), 1)
    assert not all(np.array_equal(one, another) for one, another in zip(together, other, strict=True))


def test_a_question_is_answered_from_the_best_of_its_windows() -> None:
    found, _ = trained(BY_NAME["question-windows"])
    rows = found.input.encode(found.examples)
    assert np.bincount(rows.example_N, minlength=5).tolist() == [2, 1, 0, 1, 1]
    starts = [(row.first, row.begin) for row in rows.take(np.arange(2), None)]
    assert starts == [(4, 0), (4, 3)]
    targets = found.output.encode(found.examples, rows)
    assert targets.rows.take(np.arange(2), None) == [(0, 0), (4 + 5 - 3, 4 + 5 - 3)]


def test_all_references_of_an_image_count() -> None:
    found, _ = trained(BY_NAME["images-with-five-captions"])
    empty = Caption.empty
    right = [empty._replace(text=CAPTIONS[number][number]) for number in NUMBER]
    assert found.output.scores(right, found.examples) == {"exact": 1.0}
    assert found.output.scores([*right[:4], empty], found.examples) == {"exact": 0.8}


def test_two_losses_teach_one_body() -> None:
    found = parts(BY_NAME["joint-ctc-and-attention"])
    batch = batches(found).at(Place())
    loss, _ = JointCTC()(found.model, batch, None)
    assert loss.parts.keys() == JointCTC().counts(batch).keys()  # type: ignore[arg-type]
    weight = found.model.body.first.weight  # type: ignore[union-attr]
    gradients = [torch.autograd.grad(part.sum, weight, retain_graph=True)[0] for part in loss.parts.values()]  # type: ignore[arg-type]
    assert all(gradient.abs().sum() > 0 for gradient in gradients)


def test_a_reference_model_is_neither_trained_nor_saved(tmp_path: Path) -> None:
    task = BY_NAME["preference-pairs"]
    _, objective = trained(task, tmp_path)
    assert isinstance(objective, DPO)
    (reference,) = objective.outside
    before = parts(task).model.state_dict()
    assert all(torch.equal(tensor, before[name]) for name, tensor in reference.state_dict().items())
    assert "objective" not in read_checkpoint(tmp_path, 2).files


def test_covariates_of_the_future_change_the_forecast() -> None:
    task = BY_NAME["quantile-forecasts"]
    found, _ = trained(task)
    history = [row.copy() for row in SERIES[0]]
    history[-1][-1] += 1.0
    changed = found._replace(examples=Given([{"history": history, "future": []}]))
    (quantiles,), before = predictions(changed, targets=False), predictions(found, targets=False)[0]
    assert close(quantiles[0], before[0])
    assert not close(quantiles[1], before[1])


def test_a_teacher_follows_its_student_and_is_saved(tmp_path: Path) -> None:
    found, objective = trained(BY_NAME["multi-crop-views"], tmp_path)
    assert isinstance(objective, FollowedByTeacher)
    first, last = parts(BY_NAME["multi-crop-views"]).model.state_dict(), found.model.state_dict()
    for name, tensor in objective.teacher.state_dict().items():
        assert not torch.equal(tensor, first[name])
        assert not torch.equal(tensor, last[name])
    assert read_checkpoint(tmp_path, 2).files["objective"]


def test_each_member_of_an_ensemble_reads_for_itself_and_predictions_are_combined() -> None:
    letters, words = (trained(BY_NAME[name])[0] for name in ("member-of-an-ensemble", "distillation"))
    assert letters.input.sizes() != words.input.sizes()
    assert isinstance(letters.output, Label)
    members = [Member(letters.input, letters.model), Member(words.input, words.model)]
    together = list(ensemble(members, letters.output, letters.examples))
    each = zip(predictions(letters, targets=False), predictions(words, targets=False), strict=True)
    means = [tuple(np.mean(both, axis=0).tolist()) for both in each]
    assert all(map(close, together, means))
    assert together[UNREAD] == Label.empty


def test_a_teacher_s_logits_are_found_by_the_number_of_the_example() -> None:
    order = with_teacher(batches(parts(BY_NAME["distillation"])))
    seen = 0
    for batch in order.once():
        teacher_BC: Tensor = batch.teacher_BC
        assert torch.equal(teacher_BC, TEACHER_NC[batch.example_B])
        seen += len(batch)
    assert seen == 3  # of five examples one is blank and one has no label
