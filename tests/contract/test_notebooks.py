"""What every task promises to Python: predictions and evaluations are frozen, short to read, and show themselves."""

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import seqwright as sw
from seqwright.analysis.look import DRAWN
from seqwright.errors import UserError
from seqwright.runs import Run
from tests.contract.tiny_tasks import TINY, Tiny
from tests.contract.workshop import Workshop

EVERY = pytest.mark.parametrize("tiny", [pytest.param(tiny, id=tiny.name) for tiny in TINY])
LOOKED = pytest.mark.parametrize("tiny", [pytest.param(tiny, id=tiny.name) for tiny in TINY if tiny.look])
PNG = b"\x89PNG"


@pytest.fixture
def run(tiny: Tiny, workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Run:
    workshop.enter(tiny, monkeypatch)
    return sw.load("run")


def frozen(prediction: Any) -> bool:
    """Whether nothing can be put in place of what it says."""
    if isinstance(prediction, np.ndarray):
        return not prediction.flags.writeable
    if isinstance(prediction, list):  # of a document that is several rows, or of several masks
        return all(map(frozen, prediction))
    return isinstance(prediction, tuple)


@EVERY
def test_an_evaluation_has_a_frozen_prediction_for_every_example(tiny: Tiny, run: Run) -> None:
    found = run.evaluate("valid")
    assert len(found.predictions) == len(found.answers) > 0
    assert all(map(frozen, found.predictions))
    assert all(len(repr(each)) < 400 for each in found.predictions)
    with pytest.raises(AttributeError):
        found.scores = {}  # type: ignore[misc]


@EVERY
def test_an_evaluation_is_short_to_read_and_a_table_in_a_notebook(tiny: Tiny, run: Run) -> None:
    found = run.evaluate("valid")
    first = next(iter(found.scores))
    assert repr(found).startswith(f"Evaluation({len(found.predictions):,} predictions: {first} ")
    assert len(repr(found)) < 200
    assert "baseline" not in repr(found)
    page = found._repr_html_()
    assert all(f"<td>{name}</td><td>{value:.4g}</td>" in page for name, value in found.scores.items())
    assert ("data:image/png;base64," in page) == (found.picture is not None)
    assert {f"baseline_{name}": value for name, value in found.baseline.items()}.items() <= found.scores.items()
    assert not any(
        name.startswith("baseline") for name in found.scores.keys() - {f"baseline_{n}" for n in found.baseline}
    )


@EVERY
def test_an_evaluation_is_drawn_or_says_that_it_has_no_picture(tiny: Tiny, run: Run) -> None:
    found = run.evaluate("valid")
    if found.picture is not None:
        assert isinstance(found.figure(), Figure)
        return
    with pytest.raises(UserError, match=r"has no picture; see its \.scores"):
        found.figure()


def given(tiny: Tiny, run: Any) -> Any:
    """What `look` is given on the command line, as Python gives it."""
    texts = tiny.look[2:]
    return texts[0] if len(texts) == 1 else dict(zip(run.input.fields, texts, strict=True))


@LOOKED
def test_what_is_seen_first_is_drawn(tiny: Tiny, run: Run) -> None:
    look = run.look(given(tiny, run))
    assert repr(look).startswith(f"Look({look.what} of run: ")
    drawn, size = look._repr_png_()
    assert drawn.startswith(PNG)
    assert 0 < size["width"] < 3000
    assert [type(each) for each in look.figures().values()] == [type(look.figure())] * len(look.figures())
    assert all(isinstance(each, Figure) for each in look.figures().values())
    name = list(look.figures())[-1]
    assert look.figure(name).get_size_inches() == pytest.approx(look.figures()[name].get_size_inches())
    with pytest.raises(UserError, match=r"there is no figure 'none' of this"):
        look.figure("none")
    with pytest.raises(UserError, match=r"the (text|question) is blank|there is no file  : it was looked for in"):
        run.look(" ")


@pytest.mark.parametrize(
    ("tiny", "what"),
    [
        ("translation", "beam-tree"),
        ("masked-language-modeling", "lens"),
        ("language-modeling", "units"),
        ("language-modeling", "surprisal"),
        ("language-modeling", "gradients"),
        ("language-modeling", "initialisations"),
        ("forecasting", "gradients"),
        ("text-classification", "initialisations"),
        ("translation", "attention"),
        ("series-classification", "saliency"),
        ("image-captioning", "caption"),
    ],
)
def test_everything_that_can_be_seen_is_drawn(
    tiny: str, what: str, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    (chosen,) = (each for each in TINY if each.name == tiny)
    workshop.enter(chosen, monkeypatch)
    run = sw.load("run")
    look = run.look(given(chosen, run) if chosen.look else None, what)
    assert look.what == what
    assert look._repr_png_()[0].startswith(PNG)


def test_every_sight_is_tested_above() -> None:
    (marks,) = test_everything_that_can_be_seen_is_drawn.pytestmark  # type: ignore[attr-defined]
    assert {what for _, what in marks.args[1]} == set(DRAWN)


@pytest.mark.parametrize("tiny", [each for each in TINY if each.name == "forecasting"], ids=["forecasting"])
def test_a_forecast_reaches_as_far_as_is_asked(tiny: Tiny, run: Run) -> None:
    series = np.random.default_rng(2).normal(size=(19, 2))
    once, further = run(series), run(series, steps=8)
    assert (once.shape, further.shape) == ((3, 2), (8, 2))
    assert further[:3] == pytest.approx(once, abs=1e-6)
    again = run(np.concatenate([series, once]))
    assert further[3:6] == pytest.approx(again, abs=1e-5)
    assert [each.shape for each in run([series, series[2:]], steps=2)] == [(2, 2), (2, 2)]
    with pytest.raises(UserError, match=r"steps is 0; ask for one or more"):
        run(series, steps=0)
    with pytest.raises(UserError, match=r"ranks no candidates; leave top out"):
        run(series, top=2)
    with pytest.raises(UserError, match=r"steps is how far .* top ranks candidates; give one of them"):
        run(series, steps=2, top=2)


def opened(name: str, workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Run:
    workshop.enter(next(each for each in TINY if each.name == name), monkeypatch)
    return sw.load("run")


def test_as_many_candidates_are_ranked_as_are_asked_for(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    run = opened("masked-language-modeling", workshop, monkeypatch)
    (candidates,) = run("red <mask> dog", top=3)
    assert len(candidates) == 3
    assert candidates == run("red <mask> dog")[0][:3]
    run = opened("text-classification", workshop, monkeypatch)
    assert list(run("red cat", top=1).probabilities) == [run("red cat").label]
    run = opened("question-answering", workshop, monkeypatch)
    question = {"question": "who is red", "context": "cat is red and dog is blue and cow is green and cat is old"}
    assert [[len(each.answers) for each in run([question] * 2, top=top)] for top in (1, 2)] == [[1, 1], [2, 2]]
    with pytest.raises(UserError, match=r"forecasts nothing; leave steps out"):
        run(question, steps=2)
