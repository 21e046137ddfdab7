"""The seam of training, exercised by made-up models and objectives through the real `fit`.

What stands here is what later members of the family will need: a carry, parts that count different things, a teacher.

B batch · T time · V vocabulary · D width
"""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from seqwright.batches import Batches, Place
from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.training.checkpoint import read_checkpoint
from seqwright.training.loop import fit
from seqwright.training.reporter import Quiet
from seqwright.training.settings import TrainingSettings

V, D = 7, 5


class Text(NamedTuple):
    """Rows of running text; the rows of one batch go on in the next, except where they are fresh."""

    tokens_BT: Tensor
    fresh_B: Tensor

    @property
    def tokens(self) -> int:
        return self.tokens_BT.numel()

    def to(self, device: torch.device) -> "Text":
        return Text(self.tokens_BT.to(device), self.fresh_B.to(device))


class InARow:
    """Batches that are given, epoch after epoch the same."""

    def __init__(self, *batches: Any) -> None:
        self.batches = batches

    def at(self, place: Place) -> Any:
        return self.batches[place.batch]

    def after(self, place: Place) -> Place:
        last = place.batch + 1 == len(self.batches)
        return Place(place.epoch + 1, 0) if last else Place(place.epoch, place.batch + 1)

    def in_epoch(self, epoch: int) -> int:
        return len(self.batches)

    def once(self) -> Iterator[Any]:
        return iter(self.batches)

    def padding(self, epoch: int = 0) -> float:
        return 0.0


def texts(*, fresh: dict[int, list[int]] | None = None) -> InARow:
    """Five batches of three rows of four tokens; `fresh` tells which rows begin anew in which batch."""
    draw = torch.Generator().manual_seed(4)
    flags = torch.zeros(5, 3, dtype=torch.bool)
    for batch, rows in (fresh or {0: [0, 1, 2]}).items():
        flags[batch, rows] = True
    return InARow(*(Text(torch.randint(V, (3, 4), generator=draw), flag_B) for flag_B in flags))


def settings(**given: Any) -> TrainingSettings:
    return TrainingSettings.model_validate({"schedule": "constant", **given})


def fitted(
    model: nn.Module, objective: Objective, batches: Batches[Any], *, rate: float = 0.1, **given: Any
) -> nn.Module:
    others = {name: given.pop(name) for name in ("run", "evaluate", "reporter") if name in given}
    return fit(model, objective, batches, settings=settings(**given), rate=lambda step: rate, **others)


def weights(module: nn.Module) -> list[Tensor]:
    return [tensor.clone() for tensor in module.state_dict().values()]


def same(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


# ------------------------------------------------------------------------------------------------ a carry


class Elman(nn.Module):
    """hidden ← tanh(embedding + W hidden), one token after the other."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.embedding, self.again, self.out = nn.Embedding(V, D), nn.Linear(D, D), nn.Linear(D, V)

    def forward(self, tokens_BT: Tensor, hidden_BD: Tensor) -> tuple[Tensor, Tensor]:
        logits = []
        for token_B in tokens_BT.T:
            hidden_BD = torch.tanh(self.embedding(token_B) + self.again(hidden_BD))
            logits.append(self.out(hidden_BD))
        return torch.stack(logits, dim=1), hidden_BD


class Carry(NamedTuple):
    hidden_BD: Tensor
    deeper: tuple[Tensor, None]  # how many tokens each row has read since it began; and nothing


class Truncated(Objective):
    """The next token under truncated back-propagation: the hidden state flows on, its gradient does not."""

    def start(self, model: nn.Module, batch: Text) -> Carry:
        rows = len(batch.tokens_BT)
        return Carry(torch.zeros(rows, D), (torch.zeros(rows, dtype=torch.int64), None))

    def counts(self, batch: Text) -> dict[str, int]:
        return {"loss": batch.tokens_BT[:, 1:].numel()}

    def forward(self, model: nn.Module, batch: Text, carry: Carry) -> tuple[Loss, Carry]:
        hidden_BD = carry.hidden_BD.masked_fill(batch.fresh_B[:, None], 0.0)
        read_B = carry.deeper[0].masked_fill(batch.fresh_B, 0) + batch.tokens_BT.shape[1]
        logits_BTV, hidden_BD = model(batch.tokens_BT, hidden_BD)
        target_BT = batch.tokens_BT[:, 1:]
        loss = nn.functional.cross_entropy(logits_BTV[:, :-1].flatten(0, 1), target_BT.flatten(), reduction="sum")
        return Loss({"loss": LossPart(loss, target_BT.numel())}), Carry(hidden_BD.detach(), (read_B, None))


def saved_carry(run: Path, step: int) -> list[Tensor]:
    return [tensor for _, tensor in sorted(read_checkpoint(run, step).files["carry"].items())]


@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_carry_flows_from_batch_to_batch_and_is_reset_where_a_row_is_fresh(tmp_path: Path, accumulate: int) -> None:
    """With a rate of 0 the model stays, and the carry must be what it is after the whole text since the fresh row."""
    model, batches = Elman(), texts(fresh={0: [0, 1, 2], 2: [1], 3: [2]})
    fitted(model, Truncated(), batches, rate=0.0, steps=4 // accumulate, accumulate=accumulate, run=tmp_path)
    hidden_BD, read_B = saved_carry(tmp_path, 4 // accumulate)
    since = {0: 0, 1: 2, 2: 3}
    for row, first in since.items():
        text_1T = torch.cat([batch.tokens_BT[row] for batch in batches.batches[first:4]]).unsqueeze(0)
        with torch.no_grad():
            _, target_1D = model(text_1T, torch.zeros(1, D))
        torch.testing.assert_close(hidden_BD[row], target_1D[0], rtol=0, atol=1e-6)
        assert int(read_B[row]) == text_1T.numel()


def test_a_carry_is_saved_and_restored_bit_for_bit(tmp_path: Path) -> None:
    straight, resumed = tmp_path / "straight", tmp_path / "resumed"
    straight.mkdir()
    resumed.mkdir()
    one = fitted(Elman(), Truncated(), texts(), steps=8, run=straight)
    fitted(Elman(), Truncated(), texts(), steps=3, run=resumed)
    other = fitted(Elman(), Truncated(), texts(), steps=8, run=resumed)
    assert same(weights(one), weights(other))
    assert same(saved_carry(straight, 8), saved_carry(resumed, 8))
    assert bool(saved_carry(straight, 8)[0].any())


# ------------------------------------------------------------------------------------------------ two parts


class TwoTasks(Objective):
    """As BERT's: some tokens of each text (the even ones) and a class for each text, with a head of its own."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.head = nn.Linear(D, 2)

    def counts(self, batch: Text) -> dict[str, int]:
        return {"masked": int((batch.tokens_BT % 2 == 0).sum()), "class": len(batch.tokens_BT)}

    def forward(self, model: nn.Module, batch: Text, carry: None) -> tuple[Loss, None]:
        counts, chosen_BT = self.counts(batch), batch.tokens_BT % 2 == 0
        logits_BTV, hidden_BD = model(batch.tokens_BT, torch.zeros(len(batch.tokens_BT), D))
        entropy = nn.functional.cross_entropy
        masked = entropy(logits_BTV[chosen_BT], batch.tokens_BT[chosen_BT], reduction="sum")
        classified = entropy(self.head(hidden_BD), batch.tokens_BT[:, 0] % 2, reduction="sum")
        return Loss(
            {"masked": LossPart(masked, counts["masked"]), "class": LossPart(classified, counts["class"], 0.3)}
        ), None


def test_accumulation_changes_nothing_where_parts_count_different_things() -> None:
    """Four micro-batches of different sizes against one batch of everything; ε = 1 lets Adam feel the scale."""
    draw = torch.Generator().manual_seed(9)
    tokens_BT = torch.randint(V, (13, 4), generator=draw)
    fresh_B = torch.ones(13, dtype=torch.bool)
    pieces = [Text(t, f) for t, f in zip(tokens_BT.split([1, 3, 4, 5]), fresh_B.split([1, 3, 4, 5]), strict=True)]
    shares = [int((piece.tokens_BT % 2 == 0).sum()) / piece.tokens for piece in pieces]
    assert len(set(shares)) == 4
    learnt = []
    for batches, accumulate in ((InARow(Text(tokens_BT, fresh_B)), 1), (InARow(*pieces), 4)):
        model, objective = Elman(), TwoTasks()
        fitted(model, objective, batches, steps=3, accumulate=accumulate, epsilon=1.0)
        learnt.append([*weights(model), *weights(objective)])
    assert not same(learnt[0], [*weights(Elman()), *weights(TwoTasks())])
    for together, apart in zip(*learnt, strict=True):
        torch.testing.assert_close(apart, together, rtol=0, atol=1e-6)


# ------------------------------------------------------------------------------------------------ a teacher


class Teacher(Objective):
    """As DINO's: the student is pulled towards a teacher that follows it slowly and counts its steps."""

    steps: Tensor

    def __init__(self, student: nn.Module) -> None:
        super().__init__()
        self.teacher = copy.deepcopy(student).requires_grad_(False)
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def counts(self, batch: Text) -> dict[str, int]:
        return {"loss": len(batch.tokens_BT)}

    def forward(self, model: nn.Module, batch: Text, carry: None) -> tuple[Loss, None]:
        hidden_BD = torch.zeros(len(batch.tokens_BT), D)
        target_BTV, _ = self.teacher(batch.tokens_BT, hidden_BD)
        input_BTV, _ = model(batch.tokens_BT.flip(1), hidden_BD)
        return Loss({"loss": LossPart((input_BTV - target_BTV).square().sum(), len(batch.tokens_BT))}), None

    @torch.no_grad()
    def after_step(self, model: nn.Module, step: int, steps: int) -> None:
        self.steps.add_(1)
        for mine, its in zip(self.teacher.parameters(), model.parameters(), strict=True):
            mine.lerp_(its, 0.25)


class Watching(Quiet):
    """Keeps the student's weights after every step."""

    def __init__(self, model: nn.Module) -> None:
        self.model, self.seen = model, [weights(model)]

    def step(self, step: int, loss: float, speed: float) -> None:
        self.seen.append(weights(self.model))


def test_a_teacher_follows_its_student_and_no_gradient(tmp_path: Path) -> None:
    model = Elman()
    objective, watching = Teacher(model), Watching(model)
    fitted(model, objective, texts(), steps=6, run=tmp_path, reporter=watching)
    teacher = [tensor.double() for tensor in watching.seen[0]]
    for student in watching.seen[1:]:
        teacher = [0.75 * mine + 0.25 * its.double() for mine, its in zip(teacher, student, strict=True)]
    for found, wanted in zip(weights(objective.teacher), teacher, strict=True):
        torch.testing.assert_close(found.double(), wanted, rtol=0, atol=1e-6)
    assert not same(watching.seen[0], watching.seen[-1])
    assert not any("teacher" in name for name in read_checkpoint(tmp_path, 6).files["optimizer"])


def test_a_teacher_is_saved_and_restored(tmp_path: Path) -> None:
    def trained(steps: int, run: Path | None) -> tuple[nn.Module, Teacher]:
        model = Elman()
        objective = Teacher(model)
        return fitted(model, objective, texts(), steps=steps, run=run), objective

    straight = trained(7, None)
    trained(4, tmp_path)
    resumed = trained(7, tmp_path)
    assert int(resumed[1].steps) == 7
    assert all(same(weights(one), weights(other)) for one, other in zip(straight, resumed, strict=True))


class Held(Teacher):
    """As DINO's first epoch: the output layer does not learn in the first `held` of the steps."""

    def __init__(self, student: nn.Module, held: int) -> None:
        super().__init__(student)
        self.held, self.told = held, list[tuple[int, int]]()

    def before_step(self, model: nn.Module) -> None:
        assert isinstance(model, Elman)
        if int(self.steps) < self.held:
            model.out.weight.grad = None

    def after_step(self, model: nn.Module, step: int, steps: int) -> None:
        super().after_step(model, step, steps)
        self.told.append((step, steps))


def test_gradients_can_be_held_back_before_each_update() -> None:
    model = Elman()
    objective, watching = Held(model, held=2), Watching(model)
    fitted(model, objective, texts(), steps=3, reporter=watching)
    name = list(model.state_dict()).index("out.weight")
    out = [seen[name] for seen in watching.seen]
    assert torch.equal(out[0], out[1])
    assert torch.equal(out[1], out[2])
    assert not torch.equal(out[2], out[3])


@pytest.mark.parametrize(("given", "steps"), [({"steps": 3}, 3), ({"steps": 50, "epochs": 1}, 5)])
def test_an_objective_is_told_which_of_how_many_steps_was_taken(given: dict[str, int], steps: int) -> None:
    model = Elman()
    objective = Held(model, held=0)
    fitted(model, objective, texts(), **given)
    assert objective.told == [(step, steps) for step in range(1, steps + 1)]
