"""Whatever Python gives a public function that it does not take is refused in one sentence of ours."""

import inspect
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import seqwright as sw
from seqwright.arguments import public
from seqwright.errors import ArgumentError, DataError, SettingError
from tests.contract.tiny_tasks import TINY

STRANGE: list[Any] = [3, None, 2.5, True, b"x", object(), {}, {3}, [3], [[]], np.float64(1.5), len, np.zeros(2)]
GIVEN = [odd for odd in STRANGE if odd is not None]  # to what may be left out
NO_MAPPING = [None, *(odd for odd in GIVEN if not isinstance(odd, dict))]
NO_NUMBER = [None, "many", 0, 2.5, b"x", object(), {}, {3}, [3], np.zeros(2)]
TASKS = ("text-classification", "translation", "token-classification", "series-classification", "forecasting")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """A run of each of some tasks, trained for a step when it is first asked for."""

    @cache
    def run(name: str) -> Any:
        tiny = next(each for each in TINY if each.name == name)
        home = tmp_path_factory.mktemp(name)
        for file, text in tiny.files.items():
            (home / file).write_text(text, encoding="utf-8")
        (home / "recipe.toml").write_text(tiny.text.replace(f"steps = {tiny.steps}", "steps = 1"), encoding="utf-8")
        return sw.train(home / "recipe.toml", run=home / "run", quiet=True)

    return run


def one_sentence(asked: Callable[[], Any]) -> str:
    """What is said of it, which names no class, no source and no line of ours."""
    with pytest.raises(sw.UserError) as raised:
        asked()
    told = str(raised.value)
    assert told
    assert "\n" not in told
    assert "Error" not in told
    return told


CALLS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "load": (sw.load, STRANGE),
    "open_run": (sw.open_run, STRANGE),
    "open_run which": (lambda odd: sw.open_run("run", which=odd), STRANGE),
    "train": (sw.train, STRANGE),
    "train setting": (lambda odd: sw.train("copy", odd), NO_MAPPING),
    "train section": (lambda odd: sw.train("copy", training=odd), NO_MAPPING),
    "train run": (lambda odd: sw.train("copy", run=odd), GIVEN),
    "train reporter": (lambda odd: sw.train("copy", reporter=odd), GIVEN),
    "read_recipe": (sw.read_recipe, STRANGE),
    "read_recipe setting": (lambda odd: sw.read_recipe("copy", odd), STRANGE),
    "list_recipes": (sw.list_recipes, GIVEN),
    "list_models": (sw.list_models, GIVEN),
    "list_cards": (sw.list_cards, GIVEN),
    "settings": (sw.settings, STRANGE),
    "settings kind": (lambda odd: sw.settings("model", odd), GIVEN),
    "settings task": (lambda odd: sw.settings("model", task=odd), GIVEN),
    "GPT": (lambda odd: sw.GPT(*[odd]), STRANGE),
    "GPT size": (lambda odd: sw.GPT(size=odd, vocabulary=7), STRANGE),
    "GPT vocabulary": (lambda odd: sw.GPT(size="tiny", vocabulary=odd), NO_NUMBER),
    "TrainingSettings": (lambda odd: sw.TrainingSettings(*[odd]), STRANGE),
    "DecodingSettings": (lambda odd: sw.DecodingSettings(beam=odd), NO_NUMBER),
    "sliding_windows": (lambda odd: sw.sliding_windows(odd, history=3), STRANGE),
    "sliding_windows history": (lambda odd: sw.sliding_windows(np.zeros(9), history=odd), NO_NUMBER),
    "fit": (lambda odd: sw.fit(odd, sw.NextToken(), odd, settings=sw.TrainingSettings()), STRANGE),
    "Wires": (lambda odd: sw.Wires.learn(odd, odd, [], odd), STRANGE),
    "transformer": (lambda odd: sw.transformer(odd, source_vocabulary=7, target_vocabulary=7, shared=True), STRANGE),
    "classifier": (lambda odd: sw.TextClassifier(run=odd).fit(["a", "b"], [0, 1]), GIVEN),
    "fit X": (lambda odd: sw.TextClassifier(steps=1).fit(odd, [0, 1]), STRANGE),
    "fit y": (lambda odd: sw.TextRegressor(steps=1).fit(["a", "b"], odd), STRANGE),
    "fit windows": (lambda odd: sw.Forecaster(steps=1).fit(odd, [0, 1]), STRANGE),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_a_function_does_not_take_is_refused_in_a_sentence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, strange = CALLS[name]
    for odd in strange:
        one_sentence(partial(call, odd))
    assert not list(tmp_path.iterdir())


def test_the_sentence_names_the_argument_what_it_is_and_what_it_may_be() -> None:
    told = one_sentence(lambda: sw.load(3))  # type: ignore[arg-type]
    assert told == "sw.load: where is 3, expected str or Path or a list of str or Path"
    told = one_sentence(sw.load)  # type: ignore[arg-type]
    assert told == (
        "sw.load: missing a required argument: 'where'; it is called as sw.load(where, *, average='probabilities', "
        "engine='plain')"
    )
    told = one_sentence(lambda: sw.load("runs/x", averages="x"))  # type: ignore[call-arg]
    assert told.startswith("sw.load: got an unexpected keyword argument 'averages'; it is called as sw.load(")
    told = one_sentence(lambda: sw.load(["a", "b"], average="x"))  # type: ignore[arg-type]
    assert told.startswith("sw.load: average is 'x', expected 'probabilities' or ")
    assert one_sentence(lambda: sw.GPT("tiny", 100)) == (
        "GPT takes its settings by name, as in GPT(size=…, vocabulary=…)"
    )
    told = one_sentence(lambda: sw.TrainingSettings(3))  # type: ignore[call-arg]
    assert told == "TrainingSettings takes its settings by name, as in TrainingSettings(steps=…)"
    told = one_sentence(lambda: sw.train("copy", run=""))
    assert told == "run is '', which is no folder; name one, or leave it out for runs/NAME"
    assert len(one_sentence(lambda: sw.load("x" for _ in range(9)))) < 140  # type: ignore[arg-type]
    assert len(one_sentence(lambda: sw.load(list(range(900))))) < 140  # type: ignore[arg-type]


def test_what_is_wrong_is_also_a_type_error_of_python() -> None:
    with pytest.raises(TypeError):
        sw.load(3)  # type: ignore[arg-type]
    assert issubclass(ArgumentError, SettingError)


def test_settings_are_not_changed_but_made_anew() -> None:
    settings = sw.TrainingSettings(steps=7)
    told = one_sentence(lambda: setattr(settings, "steps", 3))
    assert told == "TrainingSettings is never changed once it is made; make another with steps=3"
    assert settings.steps == 7


def test_numbers_of_numpy_are_numbers() -> None:
    X, y = sw.sliding_windows(np.arange(7), history=np.int64(2), horizon=np.int32(3))  # type: ignore[arg-type]
    assert (X.shape, y.shape) == ((3, 2), (3, 3))


def test_a_public_function_keeps_its_name_its_text_and_its_signature() -> None:
    from seqwright.runs import load

    assert sw.load is sw.load
    assert (sw.load.__doc__, inspect.signature(sw.load)) == (load.__doc__, inspect.signature(load))
    with sw.listen(torch.nn.Linear(2, 3)) as heard:
        assert not heard


def test_what_only_a_type_checker_knows_is_not_checked() -> None:
    @public("f")
    def f(one: "Unheard", *several: Any, **named: Any) -> Any:  # type: ignore[name-defined]  # noqa: F821
        return one, several, named

    assert f(3, "x", y="z") == (3, ("x",), {"y": "z"})


# ------------------------------------------------------------------------------------------------ a run


@pytest.mark.parametrize("name", TASKS)
def test_whatever_a_run_cannot_read_is_told_in_a_sentence(runs: Callable[[str], Any], name: str) -> None:
    run = runs(name)
    for odd in [
        3,
        None,
        2.5,
        True,
        b"x",
        object(),
        {3},
        {"foo": 1},
        np.zeros((2, 3, 4)),
        [3],
        [None],
        np.array([None]),
    ]:
        one_sentence(partial(run, odd))
    for odd in [3, None, [], {}, object(), {"foo": 1}, [3]]:
        one_sentence(partial(run.embed, odd))
        if odd is not None or name != "series-classification":  # where None is a series of each label
            one_sentence(partial(run.look, odd))
        one_sentence(partial(run.stream, odd))
        one_sentence(partial(run.history.__getitem__, odd))
    for odd in [3.5, [], {}, object(), {"foo": 1}, [3], ""]:
        one_sentence(partial(run.look, "red", odd))
        one_sentence(partial(run.evaluate, odd))
        one_sentence(partial(run.evaluate, data=odd))
        one_sentence(partial(run, "red", top=odd))
        one_sentence(partial(run, "red", steps=odd))
    one_sentence(lambda: run.evaluate(""))
    one_sentence(lambda: run.embed("red", pooling="last"))
    one_sentence(lambda: run.embed("red", normalise="yes"))
    assert one_sentence(lambda: run("red", "blue")).endswith(
        "it is called as run(given, *, steps=None, top=None, **decoding)"
    )


@pytest.mark.parametrize("name", TASKS)
def test_a_blank_alone_is_refused_and_among_others_gets_an_empty_prediction(
    runs: Callable[[str], Any], name: str
) -> None:
    run = runs(name)
    for blank in ("", " \n"):
        with pytest.raises(DataError, match=r"^'.*' is blank: there is nothing to read$"):
            run(blank)
    assert len(run(["", ""])) == 2
    assert run([]) == []
    if run.input.noun == "series":
        with pytest.raises(DataError, match=r"is blank: there is nothing to read$"):
            run(np.array([]))
        with pytest.raises(DataError, match=r"is blank: there is nothing to read$"):
            run(())


def test_a_figure_is_asked_for_by_its_name(runs: Callable[[str], Any]) -> None:
    seen = runs("text-classification").look("red cat")
    assert one_sentence(lambda: seen.figure(3)) == "look.figure: name is 3, expected str or None"


def test_a_column_of_texts_is_embedded_like_a_list(runs: Callable[[str], Any]) -> None:
    run = runs("text-classification")
    vector_ND = run.embed(np.array(["red cat", "sea"]))
    assert np.array_equal(vector_ND, run.embed(["red cat", "sea"]))
    assert np.allclose(vector_ND[1], run.embed("sea"))
