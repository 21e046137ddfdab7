"""Somebody has a model that is too large, distils it into a smaller one, and uses that alone."""

import random
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from seqwright.batches import Fixed, Place
from seqwright.batches.bucketed import Bucketed
from seqwright.comparison.measuring import measured_recipe
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs import Given
from seqwright.kinds import task_of
from seqwright.recipe import read_recipe, recipe_from, written
from seqwright.run_folders import resolved_of
from seqwright.runs import Run, data_of, model_of, objective_of, open_run, teachers_of, train
from seqwright.tasks import distillation
from seqwright.tasks.distillation import LIKELIEST, taught
from seqwright.tasks.parts import Part
from seqwright.training.interruption import Interrupted
from seqwright.training.reporter import Quiet
from tests.story.command import typed

GOOD, BAD, OTHER = ["fine", "lovely", "great"], ["dull", "awful", "poor"], ["the", "film", "plot", "actor", "was", "is"]
TRAINING = {"steps": 40, "tokens": 256, "rate": 0.02, "schedule": "constant", "warmup": 0, "device": "cpu"}
TINY = {"kind": "bert", "width": 16, "heads": 2, "layers": 3, "context": 32, "dropout": 0.0}


def review(chance: random.Random) -> tuple[str, str]:
    good = chance.random() < 0.5
    words = [*chance.choices(OTHER, k=chance.randint(2, 4)), chance.choice(GOOD if good else BAD)]
    return " ".join(chance.sample(words, len(words))), "good" if good else "bad"


def table(path: Path, reviews: list[tuple[str, str]]) -> str:
    path.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in reviews))
    return str(path)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, a classifier and a model of masked tokens, and recipes of students for both."""
    folder = tmp_path_factory.mktemp("home")
    chance = random.Random(1)
    right = [review(chance) for _ in range(120)]
    wrong = [(text, "bad" if label == "good" else "good") for text, label in right]
    data = {"valid": table(folder / "valid.tsv", [review(chance) for _ in range(40)])}
    (folder / "more.txt").write_text("".join(f"{review(chance)[0]}\n" for _ in range(100)))
    teacher: dict[str, Any] = {"input": {"tokenizer": "words"}, "model": TINY, "training": TRAINING}
    teacher["task"] = "text-classification"
    train(recipe_from({"data": {**data, "train": table(folder / "right.tsv", right)}, **teacher}), folder / "teacher")
    wrongly = {"data": {**data, "train": table(folder / "wrong.tsv", wrong)}, "model": {"kind": "gru", "width": 8}}
    training = {**TRAINING, "save_every": 10}
    (folder / "student.toml").write_text(written({"task": "text-classification", **wrongly, "training": training}))
    paragraphs = ["\n".join(f"{review(chance)[0].capitalize()}." for _ in range(6)) for _ in range(30)]
    (folder / "text.txt").write_text("\n\n".join(paragraphs))
    words = {
        "task": "masked-language-modeling",
        "data": {
            "train": str(folder / "text.txt"),
            "documents": "paragraphs",
            "valid": "20%",
            "split": "end",
        },
        "input": {"tokenizer": "words", "longest": 24},
        "objective": {"kind": "masked-token"},
        "model": TINY,
        "training": TRAINING,
    }
    train(recipe_from(words), folder / "words-teacher")
    (folder / "words.toml").write_text(written({**words, "model": {**TINY, "layers": 1, "width": 12}}))
    return folder


def student(home: Path, *overrides: str, recipe: str = "student.toml", teacher: str = "teacher") -> Any:
    return read_recipe(str(home / recipe), overrides, run=home / "nowhere", teachers=[str(home / teacher)])


def lesson(home: Path, recipe: Any, task: Any) -> Any:
    """The batches of a student, as training has them."""
    teachers = teachers_of(recipe, home / "nowhere")
    data = data_of(recipe)
    inputs = task.learnt_inputs(recipe, data, teachers[0].asked().inputs.tokenizer)
    return taught(task.prepared(recipe, data, inputs), recipe, data, inputs, teachers).prepared.train


# ---------------------------------------------------------------------------------------------------- labels


def log_probabilities(run: Run, texts: list[str]) -> Tensor:
    """`logp_BC`: what a run says of texts."""
    found = run.inputs.predict(run.model, texts)
    return -torch.tensor([[one.losses[label] for label in run.inputs.output.labels] for one in found]).double()


def test_a_student_learns_from_texts_alone(home: Path, tmp_path: Path) -> None:
    """Every label of its training part is wrong: whatever it knows, it has from the teacher."""
    texts = f"objective.unlabelled={home / 'more.txt'}"
    run = train(student(home, "objective.labels=0", texts, "training.steps=120"), tmp_path / "run")
    examples = list(data_of(run.recipe).examples("valid"))
    said = [found.label for found in run.inputs.predictions(run.model, Given(examples))]
    assert np.mean([one == example.label for one, example in zip(said, examples, strict=True)]) >= 0.95


def test_a_comparison_knows_the_size_of_a_student_without_asking_its_teacher(home: Path) -> None:
    found = measured_recipe(student(home).resolved(), timed=False)
    assert (found["descends"], found["parameters"] > 0) == (False, True)


def test_what_is_looked_up_is_what_the_teacher_says(home: Path) -> None:
    recipe = student(home, f"objective.unlabelled={home / 'more.txt'}")
    teacher, seen, without = open_run(home / "teacher"), 0, 0
    begin = teacher.inputs.tokenizer.begin
    for batch in lesson(home, recipe, task_of("text-classification")).once():
        texts = [
            teacher.inputs.tokenizer.decode(tokens_T[real_T].tolist()[:-1])  # the end is not text
            for tokens_T, real_T in zip(batch.input_B, batch.real_BT, strict=True)
        ]
        assert begin is not None
        assert begin not in batch.input_B  # the student has no such token, though its teacher has
        logp_BC = log_probabilities(teacher, texts)
        torch.testing.assert_close(batch.teacher_BC.double().log_softmax(-1), logp_BC, rtol=0, atol=1e-5)
        seen, without = seen + len(texts), without + int((batch.target_B < 0).sum())
    assert (seen, without) == (220, 100)


def test_of_several_teachers_the_mean_is_learnt(home: Path, tmp_path: Path) -> None:
    """Said by hand: the mean of what two classifiers think probable of the same texts."""
    first = open_run(home / "teacher")
    sooner = first.recipe.training.model_copy(update={"steps": 2})
    inputs = first.recipe.input.model_copy(update={"longest": first.inputs.input.longest})
    second = train(first.recipe._replace(training=sooner, input=inputs), tmp_path / "second")
    teachers = [str(home / "teacher"), str(tmp_path / "second")]
    recipe = read_recipe(str(home / "student.toml"), run=tmp_path / "run", teachers=teachers)
    differ = 0.0
    for batch in lesson(home, recipe, task_of("text-classification")).once():
        texts = [
            first.inputs.tokenizer.decode(tokens_T[real_T].tolist()[:-1])
            for tokens_T, real_T in zip(batch.input_B, batch.real_BT, strict=True)
        ]
        one_BC, other_BC = (log_probabilities(run, texts).exp() for run in (first, second))
        differ = max(differ, float((one_BC - other_BC).abs().max()))
        found_BC = batch.teacher_BC.double().softmax(-1)
        torch.testing.assert_close(found_BC, (one_BC + other_BC) / 2, rtol=0, atol=1e-5)
    assert differ > 0.05  # so that one of them alone would be noticed
    train(recipe, tmp_path / "run")
    sums = resolved_of(tmp_path / "run")["sha256"]
    assert sums["teacher"] != sums["teacher 2"]


def test_words_have_one_teacher(home: Path) -> None:
    with pytest.raises(SettingError, match="there are 2 teachers, but for masked-language-modeling there can be one"):
        read_recipe(str(home / "words.toml"), run=home / "nowhere", teachers=[str(home / "words-teacher")] * 2)


def test_the_teacher_is_asked_once(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))
    train(student(home, "training.steps=1"), tmp_path / "one")
    monkeypatch.setattr(distillation, "each_row", None)
    train(student(home, "training.steps=1", "training.seed=2", "objective.temperature=3.0"), tmp_path / "other")
    with pytest.raises(TypeError, match="not callable"):  # of other texts nothing is known yet
        train(student(home, f"objective.unlabelled={home / 'more.txt'}"), tmp_path / "third")


def test_a_student_that_was_stopped_goes_on_to_the_same_bytes_without_its_teacher(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / "teacher", tmp_path / "teacher")

    def recipe(run: str) -> Any:
        return read_recipe(str(home / "student.toml"), run=tmp_path / run, teachers=[str(tmp_path / "teacher")])

    class Impatient(Quiet):
        def step(self, step: int, loss: float, speed: float) -> None:
            if step == 15:
                raise Interrupted(step)

    whole = train(recipe("whole"), tmp_path / "whole")
    with pytest.raises(Interrupted):
        train(recipe("halves"), tmp_path / "halves", reporter=Impatient())
    shutil.rmtree(tmp_path / "teacher")
    halves = train(recipe("halves"), tmp_path / "halves")
    assert halves.step == whole.step == 40
    for name in ("model.safetensors", "optimizer.safetensors"):
        one, other = (tmp_path / run / "step-000040" / name for run in ("whole", "halves"))
        assert one.read_bytes() == other.read_bytes()
    journals = [(tmp_path / run / "journal.jsonl").read_bytes() for run in ("whole", "halves")]
    assert journals[0] == journals[1]
    assert resolved_of(tmp_path / "halves")["sha256"] == resolved_of(tmp_path / "whole")["sha256"]


def test_using_a_student_needs_nothing_of_the_teacher(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(home, tmp_path / "home")
    monkeypatch.chdir(tmp_path / "home")
    assert typed("distil", "teacher", "student.toml", "training.steps=2", "--run", "small") == 0
    known = resolved_of(Path("small"))
    assert known["objective"]["teacher"] == "teacher"
    assert len(known["sha256"]["teacher"]) == 64
    shutil.move("small", tmp_path / "small")
    shutil.rmtree(tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert typed("classify", "small", "the plot was fine") == 0
    assert capsys.readouterr().out.startswith(("good", "bad"))


def test_a_teacher_that_changed_is_noticed(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / "teacher", tmp_path / "teacher")

    def recipe() -> Any:
        given, teachers = ["training.steps=2"], [str(tmp_path / "teacher")]
        return read_recipe(str(home / "student.toml"), given, run=tmp_path / "run", teachers=teachers)

    train(recipe(), tmp_path / "run")
    reading = tmp_path / "teacher" / "input" / "reading.json"
    assert '"longest": 30' in reading.read_text()
    reading.write_text(reading.read_text().replace('"longest": 30', '"longest": 29'))
    with pytest.raises(RunError, match=r"changed since it was begun \(teacher\)"):
        train(recipe(), tmp_path / "run")


def test_every_second_block_of_the_teacher_can_be_the_beginning(home: Path, tmp_path: Path) -> None:
    model = ["model.kind=bert", f"model.weights={home / 'teacher'}", "model.layers=2", "model.init_layers=[0,2]"]
    bert = tmp_path / "bert.toml"
    bert.write_text((home / "student.toml").read_text().replace('kind = "gru"\nwidth = 8', ""))
    given = [*model, "training.steps=1", "training.rate=1e-12"]
    recipe = read_recipe(str(bert), given, run=tmp_path / "run", teachers=[str(home / "teacher")])
    found, wanted = train(recipe, tmp_path / "run").model, open_run(home / "teacher").model
    pairs = {"blocks.0": "blocks.0", "blocks.1": "blocks.2"}
    there = dict(wanted.named_parameters())
    for name, parameter in found.named_parameters():
        theirs = name.replace("blocks.1", pairs["blocks.1"])
        torch.testing.assert_close(parameter, there[theirs], rtol=0, atol=1e-6)


def test_blocks_that_are_not_there_cannot_be_taken(home: Path, tmp_path: Path) -> None:
    plain = resolved_of(home / "teacher")
    plain = {name: plain[name] for name in ("task", "data", "training")}
    model = {**TINY, "weights": str(home / "teacher"), "layers": 2}
    with pytest.raises(RunError, match=r"model\.init_layers is \[0, 3\], but the blocks of .* are 0 to 2"):
        train(recipe_from({**plain, "model": {**model, "init_layers": [0, 3]}}), tmp_path / "run")
    with pytest.raises(SettingError, match="init_layers names 1 blocks for 2 layers"):
        recipe_from({**plain, "model": {**model, "init_layers": [0]}})
    with pytest.raises(SettingError, match="init_layers chooses blocks of weights, which is not given"):
        recipe_from({**plain, "model": {**TINY, "init_layers": [0, 1, 2]}})


# ---------------------------------------------------------------------------------------------------- masked tokens


def test_the_likeliest_words_that_are_looked_up_are_the_teachers(home: Path) -> None:
    model: Any = open_run(home / "words-teacher").model
    places = Place(0, 0), Place(3, 1)  # the same words are hidden in every epoch
    for rows, place in product(("sentence-pairs", "full-sentences"), places):  # each kept for itself
        given = f"input.rows={rows}", f"model.pooler={str(rows == 'sentence-pairs').lower()}"
        recipe = student(home, *given, recipe="words.toml", teacher="words-teacher")
        batch = lesson(home, recipe, task_of("masked-language-modeling")).at(place)
        with torch.inference_mode():
            target_NV = (model.both(batch)[0] / 2.0).softmax(-1)
        likeliest_NK, probability_NK = (
            said_BTK[batch.chosen_BT] for said_BTK in (batch.likeliest_BTK, batch.probability_BTK)
        )
        kept_NV = torch.zeros_like(target_NV).scatter(1, likeliest_NK, probability_NK[:, :-1])
        assert likeliest_NK.shape[1] == min(LIKELIEST, target_NV.shape[1] - 1)
        left_out_NV = kept_NV == 0
        torch.testing.assert_close(kept_NV, target_NV.masked_fill(left_out_NV, 0.0), rtol=2e-3, atol=1e-6)
        rest_N = target_NV.masked_fill(~left_out_NV, 0.0).sum(-1)
        torch.testing.assert_close(probability_NK[:, -1], rest_N, rtol=2e-3, atol=1e-6)
        assert batch.teacher_BTD is None


def test_a_student_comes_to_say_hidden_words_as_its_teacher_does(home: Path, tmp_path: Path) -> None:
    recipe = student(
        home, "objective.masked_token=0", "training.steps=60", recipe="words.toml", teacher="words-teacher"
    )
    batches, objective = lesson(home, recipe, task_of("masked-language-modeling")), objective_of(recipe)

    @torch.no_grad()
    def distance(model: Any) -> float:
        parts = [objective(model, batch, None)[0].parts["soft"] for batch in batches.once()]
        return sum(float(part.sum) for part in parts) / sum(int(part.over) for part in parts)

    assert distance(train(recipe, tmp_path / "run").model) < distance(new(recipe)) / 3


def test_with_vectors_of_another_width_the_projection_is_saved_and_goes_on(home: Path, tmp_path: Path) -> None:
    given = ["objective.cosine=1.0", "training.steps=4", "training.save_every=2", "training.keep=9"]
    recipe = student(home, *given, recipe="words.toml", teacher="words-teacher")
    train(recipe, tmp_path / "whole")
    assert (tmp_path / "whole" / "step-000004" / "objective.safetensors").is_file()
    shutil.copytree(tmp_path / "whole", tmp_path / "again")
    shutil.rmtree(tmp_path / "again" / "step-000004")
    (tmp_path / "again" / "last").write_text("step-000002\n")
    train(recipe, tmp_path / "again")
    for name in ("model.safetensors", "objective.safetensors"):
        one, other = (tmp_path / run / "step-000004" / name for run in ("whole", "again"))
        assert one.read_bytes() == other.read_bytes()


def new(recipe: Any) -> Any:
    """The student before it learns."""
    tokenizer = open_run(Path(recipe.objective.teacher)).inputs.tokenizer
    return model_of(
        recipe, task_of("masked-language-modeling").learnt_inputs(recipe, data_of(recipe), tokenizer).sizes()
    ).eval()


# ---------------------------------------------------------------------------------------------------- bad input


def test_a_teacher_of_another_task_is_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is for masked-language-modeling, but the recipe is for text-classification"):
        train(student(home, teacher="words-teacher"), tmp_path / "run")


def test_a_teacher_with_other_labels_is_refused(home: Path, tmp_path: Path) -> None:
    names = "data.label_names={ good = 'fine', bad = 'dull' }"
    with pytest.raises(RunError, match="knows the labels bad, good, but the data has dull, fine"):
        train(student(home, names), tmp_path / "run")


def test_a_teacher_with_another_tokenizer_is_refused(home: Path, tmp_path: Path) -> None:
    given = [f"objective.teacher={home / 'teacher'}", "objective.kind=label-distillation", "input.tokenizer=characters"]
    with pytest.raises(RunError, match=r"cuts text into other tokens than the student; set input.like to"):
        train(read_recipe(str(home / "student.toml"), given), tmp_path / "run")


def test_a_recipe_of_another_task_cannot_be_distilled(home: Path) -> None:
    words = (home / "words.toml").read_text().replace("masked-language-modeling", "language-modeling")
    (home / "language.toml").write_text(words)
    with pytest.raises(
        SettingError,
        match="for language-modeling, which cannot be distilled; masked-language-modeling and text-classification can",
    ):
        student(home, recipe="language.toml")


def test_there_must_be_a_teacher(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("distil", str(home / "nobody"), str(home / "student.toml")) == 2
    assert "where there is no run" in capsys.readouterr().err


def test_texts_without_labels_must_be_there(home: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.txt"):
        train(student(home, "objective.unlabelled=nothing.txt"), tmp_path / "run")


# ---------------------------------------------------------------------------------------------------- batches


def test_fixed_masks_do_not_depend_on_epoch_or_seed(home: Path) -> None:
    recipe = student(home, recipe="words.toml", teacher="words-teacher")
    batches: Bucketed[Any, Any] = lesson(home, recipe, task_of("masked-language-modeling")).batches
    data = data_of(recipe)
    wires = task_of("masked-language-modeling").learnt_inputs(
        recipe, data, open_run(home / "words-teacher").inputs.tokenizer
    )
    rows = wires.input.encode(Part(data, "train"), seed=5)
    again = recipe._replace(training=recipe.training.model_copy(update={"seed": 5, "tokens": 90}))
    other, free = (
        wires.learning(Part(data, "train"), some, tokens=again.training.tokens, seed=again.training.seed)
        for some in (Fixed(rows), rows)
    )

    def hidden(some: Any, epoch: int) -> dict[int, tuple[list[int], list[bool]]]:
        found = {}
        for number in range(some.in_epoch(epoch)):
            batch = some.at(Place(epoch, number))
            for row, example in enumerate(batch.row_B.tolist()):
                real_T = batch.real_BT[row]
                found[example] = (batch.input_BT[row][real_T].tolist(), batch.chosen_BT[row][real_T].tolist())
        return found

    assert hidden(batches, 0) == hidden(batches, 4) == hidden(other, 1)
    assert hidden(free, 0) != hidden(free, 1)
