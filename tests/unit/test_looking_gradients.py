"""`look --gradients` and `--initialisations`, from a run to the numbers that are drawn."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from seqwright.analysis.gradients import beginning, last_steps, own_text, passage_of, reaches_of, ways
from seqwright.batches.text import texts
from seqwright.cli import given
from seqwright.cli.given import given_texts
from seqwright.cli.looking.examples import documents
from seqwright.cli.looking.gradients import draw_gradients, longest_example, names_of
from seqwright.devices import drawn_from
from seqwright.errors import DataError
from seqwright.layers.gradients import gradient_norms
from seqwright.layers.initialisation import initialise
from seqwright.recipe import recipe_from
from seqwright.runs import Run, model_of
from tests.wires import running_wires

TEXT = "a bad dad had a cab"


def a_run(name: str = "letters", joined: bool = True, **model: Any) -> Run:
    """A model of characters whose weights were moved after it began."""
    plain: dict[str, Any] = {
        "task": "language-modeling",
        "data": {"train": "none.txt"},
        "input": {"tokenizer": "characters", "rows": "stream" if joined else "documents"},
        "model": {"kind": "rnn", "width": 5, "layers": 2, **model},
    }
    recipe = recipe_from(plain, name=name)
    inputs = running_wires([TEXT], **plain["input"])
    model_ = model_of(recipe, inputs.sizes()).eval()
    with torch.no_grad():
        for parameter in model_.parameters():
            parameter.mul_(0.8)
    return Run(Path("runs") / name, recipe, inputs, model_, 0)


def norms_from(run: Run, model: Any, steps: int) -> torch.Tensor:
    """Of both layers, from one step of the text, without anything that `look` does."""
    ids = run.inputs.tokenizer.encode([TEXT])[0]
    input_BT = texts([ids], begin=run.inputs.tokenizer.end, end=run.inputs.tokenizer.end).input_BT
    with torch.no_grad():
        return gradient_norms(model.body.recurrent, model.body.embedding(input_BT[:, :steps]))


def test_each_layer_is_followed_from_several_places_trained_and_as_it_began() -> None:
    run = a_run()
    reaches = reaches_of(run, passage_of(run, TEXT), "mine")
    assert [(reach.run, reach.layer, reach.trained) for reach in reaches] == [
        ("mine", 1, True),
        ("mine", 2, True),
        ("mine", 1, False),
        ("mine", 2, False),
    ]
    begun = model_of(run.recipe, run.inputs.sizes()).eval()
    last = last_steps(len(TEXT) + 1)
    for model, two in ((run.model, reaches[:2]), (begun, reaches[2:])):
        for row in (0, -1):
            norm_L1K = norms_from(run, model, last[row])
            for layer, reach in enumerate(two):
                assert_allclose(reach.norm_RK[row], norm_L1K[layer, 0, : min(last) + 1], rtol=1e-4)
    assert not np.allclose(reaches[0].norm_RK, reaches[2].norm_RK, rtol=0.01)


def test_a_gradient_is_followed_back_from_places_that_have_much_behind_them() -> None:
    assert last_steps(1) == [1]
    assert last_steps(3) == [2, 3]
    assert last_steps(20) == [15, 16, 17, 18, 19, 20]
    assert (min(last_steps(400)), max(last_steps(400)), len(last_steps(400))) == (100, 400, 8)


def test_runs_stand_in_one_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [a_run("a"), a_run("b", kind="lstm", layers=1)]
    draw_gradients(runs, [TEXT], tmp_path, as_json=False)
    out = capsys.readouterr().out
    assert "k = 10" in out
    assert len([line for line in out.splitlines() if line.startswith(("a, layer", "b, layer"))]) == 6
    assert (tmp_path / "gradients.png").stat().st_size > 10_000
    drawn = (tmp_path / "gradients.svg").read_text(encoding="utf-8")
    assert "layer 2" in drawn
    assert "the weights it began with" in drawn


def test_runs_of_the_same_name_are_told_apart_by_their_paths() -> None:
    other = a_run("a")._replace(folder=Path("others/a"))
    assert names_of([a_run("a"), a_run("b"), other]) == ["runs/a", "b", "others/a"]


def test_a_language_model_writes_its_own_text_and_may_not_end_it() -> None:
    run = a_run()
    text = own_text(run)
    assert len(text) == 150
    assert text == own_text(run)


def test_lines_are_one_text_where_texts_are_joined_and_many_where_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("a cab\n\na bad dad\n")
    found = given_texts((), file)
    assert documents(a_run(), found) == ["a cab\n\na bad dad"]
    apart = a_run(joined=False)
    assert documents(apart, found) == ["a cab", "a bad dad"]
    assert passage_of(apart, longest_example(apart, found)).batch.input_BT.shape == (1, len("a bad dad") + 1)
    assert "the longest of 2 is looked at" in capsys.readouterr().err
    monkeypatch.setattr(given, "MOST_LETTERS", 3)
    assert given_texts((), file) == ["a cab"]
    for text, other in ((" ", None), ("a", file)):
        with pytest.raises(DataError, match=r"blank|both a text and --file"):
            given_texts((text,), other)


# ------------------------------------------------------------------------------------------------ initialisations


def test_each_way_to_begin_is_drawn_that_the_cells_allow() -> None:
    assert [name for name, _ in ways(a_run().model)] == ["uniform", "xavier", "orthogonal", "identity", "too wide"]
    assert [name for name, _ in ways(a_run(kind="gru").model)] == ["uniform", "xavier", "orthogonal", "too wide"]


@pytest.mark.parametrize("kind", ["rnn", "lstm"])
def test_a_beginning_is_what_a_new_model_does(kind: str) -> None:
    run = a_run(kind=kind, layers=1, width=97, forget_bias=0.5)
    passage = passage_of(run, TEXT)
    found = {name: beginning(run, passage, name, way) for name, way in ways(run.model)}
    model: Any = model_of(run.recipe, run.inputs.sizes()).eval()
    with drawn_from(run.recipe.training.seed):
        initialise(model, "orthogonal", forget_bias=0.5)
    with torch.no_grad():
        hidden_TD = model.body.recurrent(model.body.embedding(passage.batch.input_BT))[0][0].numpy()
    orthogonal = found["orthogonal"]
    assert orthogonal.note == " (this run's)"
    assert_allclose(orthogonal.spread_TQ, np.quantile(hidden_TD, (0.05, 0.25, 0.75, 0.95), axis=1).T, atol=1e-5)
    if kind == "rnn":  # of gated cells the gates are asked as well
        assert_allclose(orthogonal.saturated_T, (np.abs(hidden_TD) > 0.95).mean(axis=1), atol=1e-6)
    assert found["too wide"].saturated_T.mean() > 0.5 > 3 * orthogonal.saturated_T.mean()
    norm_RK = gradient_norms(
        model.body.recurrent, model.body.embedding(passage.batch.input_BT).detach(), last=last_steps(len(TEXT) + 1)
    )[0]
    assert_allclose(orthogonal.norm_K, norm_RK.median(0).values, rtol=1e-3)
