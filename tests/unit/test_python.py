"""`import seqwright as sw`: training from Python, and what a run tells of itself."""

import io
import signal
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqwright as sw
from seqwright.errors import SettingError, UserError, in_python
from seqwright.history import History
from seqwright.recipe import Recipe, recipe_from
from seqwright.training.rate_finder import RateSearch
from seqwright.training.reporter import LineReporter, NotebookBar, usual_reporter

TEXTS = [("a fine film", "good"), ("a dull film", "bad"), ("so fine", "good"), ("so dull", "bad")] * 5
RECIPE = """
task = "text-classification"
[data]
train = "a.tsv"
valid = "a.tsv"
[input]
tokenizer = "words"
[model]
kind = "gru"
width = 7
embedding = 5
[training]
steps = 3
validate_every = 3
log_every = 1
tokens = 64
threads = 1
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a recipe and its data, where the test runs."""
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in TEXTS), encoding="utf-8")
    Path("films.toml").write_text(RECIPE, encoding="utf-8")
    return tmp_path


# ------------------------------------------------------------------------------------------------ training


def test_a_recipe_is_trained_into_the_folder_of_its_name_and_resumed() -> None:
    run = sw.train("films.toml", quiet=True)
    assert (run.folder, run.step, run("so fine").label in {"good", "bad"}) == (Path("runs/films"), 3, True)
    assert Path("runs/films/recipe.toml").read_text(encoding="utf-8") == RECIPE
    before = Path("runs/films/journal.jsonl").read_bytes()
    longer = sw.train(Path("films.toml"), "training.steps=5", run="runs/films", quiet=True)
    assert longer.history["step"].max() == 5
    assert Path("runs/films/journal.jsonl").read_bytes().startswith(before)
    assert repr(sw.load("runs/films")) == repr(longer)  # both are the best checkpoint


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("training.steps=2", "model.kind=lstm"), {}),
        (({"training.steps": np.int64(2), "model.kind": "lstm"},), {}),
        ((), {"training": {"steps": 2}, "model": {"kind": "lstm"}}),
        (("training.steps=2",), {"model": {"kind": "lstm"}}),
    ],
)
def test_settings_are_strings_or_mappings_or_sections(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    run = sw.train("films.toml", *given, run=Path("elsewhere"), quiet=True, **named)
    assert (run.folder, run.recipe.training.steps, run.recipe.model.kind) == (Path("elsewhere"), 2, "lstm")
    assert (run.recipe.model.width, run.recipe.training.tokens) == (7, 64)


def test_a_recipe_object_is_trained_with_other_settings() -> None:
    recipe = sw.read_recipe("films.toml")
    assert isinstance(recipe, Recipe)
    run = sw.train(recipe, "training.steps=2", "model.kind=rnn", training={"seed": 9}, quiet=True)
    assert (run.recipe.training.steps, run.recipe.training.seed, run.recipe.model.kind) == (2, 9, "rnn")
    settings = sw.TrainingSettings(steps=1, validate_every=1)
    assert sw.train(recipe, run="third", training=settings, quiet=True).recipe.training.tokens == 64


@pytest.mark.parametrize(
    ("given", "named", "sentence"),
    [
        (("runs/other",), {}, r"'runs/other' is no setting .*; a folder for the run is given as run=…"),
        ((), {"traning": {"steps": 2}}, r"there is no section 'traning' of a recipe\. Did you mean 'training'\?"),
        ((), {"training": 2}, r"training is 2; give its settings by name, as in training={'name': value}"),
        ((), {"training": {"stpes": 2}}, r"there is no setting 'training.stpes'\. Did you mean 'training.steps'\?"),
        ((), {"training": {"steps": "two"}}, r"training.steps: .* not 'two'"),
        ((), {"training": {"steps": None}}, r"training.steps is None; leave it out"),
        ((), {"training": {"steps": object()}}, r"training.steps is <object.*; give a number, text"),
        (({"steps": 2},), {}, r"'steps=2' is not of the form section.key=value"),
    ],
)
def test_what_is_no_setting_is_refused_in_a_sentence(given: Any, named: Any, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        sw.train("films.toml", *given, quiet=True, **named)
    assert not Path("runs").exists()


def test_what_is_no_recipe_is_refused_in_a_sentence() -> None:
    with pytest.raises(SettingError, match=r"^sw\.train: recipe is 3, expected str or Path or Recipe$"):
        sw.train(3)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"Did you mean 'films.toml'"):
        sw.train("film.toml")


def test_progress_is_shown_unless_it_is_to_be_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    sw.train("films.toml", quiet=True)
    assert capsys.readouterr() == ("", "")
    sw.train("films.toml", fresh=True)
    assert "step 3/3" in capsys.readouterr().err
    told = io.StringIO()
    sw.train("films.toml", fresh=True, reporter=LineReporter(told))
    assert ("step 3/3" in told.getvalue(), capsys.readouterr().err) == (True, "")


def test_a_notebook_gets_a_bar_that_is_drawn_again_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    handle = types.SimpleNamespace(update=lambda bar: drawn.append(bar._repr_html_()))
    shell = types.SimpleNamespace(kernel=object())

    def display(bar: Any, *, display_id: bool) -> Any:
        drawn.append(bar._repr_html_())
        return handle

    display_module = types.SimpleNamespace(display=display)
    ipython = types.SimpleNamespace(get_ipython=lambda: shell, display=display_module)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display_module)
    sw.train("films.toml")
    assert "<progress" not in drawn[0]
    assert '<progress value="3" max="3"></progress> step 3/3  loss ' in drawn[-1]
    assert "gru: " in drawn[-1]
    bar = usual_reporter()
    assert isinstance(bar, NotebookBar)
    bar.say("a < b")
    assert (bar._repr_html_(), repr(bar)) == ("<div>a &lt; b</div>", "a < b")
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert isinstance(usual_reporter(), LineReporter)


def test_the_folder_has_the_card_and_the_curve_as_from_the_command_line() -> None:
    sw.train("films.toml", quiet=True)
    assert "Use it: `seqwright classify runs/films" in Path("runs/films/card.md").read_text(encoding="utf-8")
    assert Path("runs/films/pictures/curve.png").stat().st_size > 0


def test_the_card_says_how_the_weights_came_about() -> None:
    run = sw.train("films.toml", "training.steps=1", quiet=True)
    assert "parameters, trained for 1 step by Seqwright." in (run.folder / "card.md").read_text(encoding="utf-8")
    Path("waves.csv").write_text("high\n" + "".join(f"{step % 7}.5\n" for step in range(90)), encoding="utf-8")
    data = {"train": "waves.csv", "valid": 11, "test": 11, "history": 5, "horizon": 3}
    plain = {"task": "forecasting", "data": data, "model": {"kind": "least-squares"}}
    fitted = sw.train(recipe_from(plain, name="waves"), quiet=True).folder / "card.md"
    assert "A least-squares with 20 parameters, fitted by Seqwright without gradients." in fitted.read_text(
        encoding="utf-8"
    )


def test_an_interrupted_training_has_saved_and_resumes() -> None:
    class Impatient(LineReporter):
        def step(self, step: int, loss: float, speed: float) -> None:
            if step == 2:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match=r"stopped and saved at step 2 in runs/films; the same call resumes"):
        sw.train("films.toml", reporter=Impatient(io.StringIO()))
    told = io.StringIO()
    assert sw.train("films.toml", reporter=LineReporter(told)).step == 3
    assert sw.load("runs/films").history["step"].tolist() == [1, 2, 3, 3]


def test_an_interrupted_search_for_a_rate_leaves_no_run_behind() -> None:
    class Impatient(LineReporter):
        def step(self, step: int, loss: float, speed: float) -> None:
            if step == 2:
                signal.raise_signal(signal.SIGINT)

    told = io.StringIO()
    with pytest.raises(
        KeyboardInterrupt, match=r"^stopped before the first step, and nothing is left behind; the same"
    ):
        sw.train("films.toml", training={"rate": "find", "schedule": "constant"}, reporter=Impatient(told))
    assert "finding a learning rate …" in told.getvalue()
    assert not Path("runs/films").exists()


def test_a_doubtful_rate_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for doubtful in (True, False):
        monkeypatch.setattr(RateSearch, "doubtful", doubtful)
        told = io.StringIO()
        training = {"rate": "find", "schedule": "constant"}
        sw.train("films.toml", training=training, run=f"runs/{doubtful}", reporter=LineReporter(told))
        assert ("! the loss fell hardly more than it varies" in told.getvalue()) == doubtful


# ------------------------------------------------------------------------------------------------ history


def test_the_history_is_columns_and_rows() -> None:
    history = sw.train("films.toml", quiet=True).history
    assert history["step"].tolist() == [1, 2, 3, 3]
    assert history["event"].tolist() == ["train", "train", "train", "valid"]
    assert np.isnan(history["accuracy"]).tolist() == [True, True, True, False]
    assert (history.train["loss"] > 0).all()
    assert (len(history), len(history.valid), [row["step"] for row in history]) == (4, 1, [1, 2, 3, 3])
    assert dict(history).keys() == set(history.keys()) >= {"loss", "rate"}
    assert ("loss" in history, "lose" in history) == (True, False)
    assert repr(history).startswith("History(4 rows: step, event")
    with pytest.raises(SettingError, match=r"there is no column 'lose' in the history\. Did you mean 'loss'\?"):
        history["lose"]
    assert len(history.plot().axes) >= 2


def test_a_history_of_nothing_says_so() -> None:
    assert repr(History([])) == "History(0 rows: nothing was written down yet)"
    with pytest.raises(SettingError, match="nothing was written down yet"):
        History([])["loss"]
    with pytest.raises(UserError, match="nothing to draw"):
        History([]).plot()


def test_pandas_gets_every_row_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    history = History([{"step": 1, "loss": 2.0}, {"step": 2, "accuracy": 0.5}])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match=r"pandas is not installed; `pip install pandas`"):
        history.to_pandas()
    monkeypatch.undo()
    table = history.to_pandas()
    assert list(table.columns) == ["step", "loss", "accuracy"]
    assert table["loss"].isna().tolist() == [False, True]
    assert table["step"].tolist() == [1, 2]


def test_a_run_says_in_a_line_what_it_is_and_how_good() -> None:
    run = sw.train("films.toml", "training.metric=accuracy", quiet=True)
    size, accuracy = sum(each.numel() for each in run.model.parameters()), run.history.valid["accuracy"][0]
    reached = f"step 3, accuracy {accuracy:.4g} in validation"
    assert repr(run) == f"Run('runs/films': text-classification, gru, {size:,} parameters, {reached})"
    assert "validation" not in repr(run._replace(folder=Path("gone")))


def test_recipe_from_still_makes_a_recipe_to_train() -> None:
    plain = {"task": "text-classification", "data": {"train": "a.tsv", "valid": "a.tsv"}, "model": {"width": 3}}
    run = sw.train(recipe_from({**plain, "training": {"steps": 1, "validate_every": 1}}, name="tiny"), quiet=True)
    assert run.folder == Path("runs/tiny")


# ------------------------------------------------------------------------------------------------ what there is


def test_what_there_is_can_be_listed() -> None:
    assert {"translation", "forecasting"} <= set(sw.list_tasks())
    assert "sst2" in sw.list_recipes("text-classification")
    assert set(sw.list_recipes("text-classification")) < set(sw.list_recipes())
    assert {"gpt", "ngram", "transformer"} <= set(sw.list_models())
    assert ("gpt" in sw.list_models("forecasting"), "mlp" in sw.list_models("forecasting")) == (False, True)
    assert sw.list_models("summarization") == sw.list_models("translation")
    assert "sst2" in sw.list_cards()
    assert "sst2" not in sw.list_cards("translation")


def test_settings_are_told_with_their_defaults_and_what_they_do() -> None:
    training = sw.settings("training")
    assert training["steps"].default == sw.TrainingSettings().steps
    assert training["rate"].description
    assert "steps  " in repr(training)
    assert sw.settings("model", "gpt").keys() >= {"size", "heads"}
    assert sw.settings("model", "lstm", task="forecasting") != sw.settings("model", "lstm", task="language-modeling")
    assert sw.settings("input", "standard").keys() == sw.settings("input", task="forecasting").keys()
    assert sw.settings("data", task="text-classification")["train"].default is ...
    assert "card" in sw.settings("data", "sst2")
    assert "scores" in sw.settings("output", task="translation")


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (lambda: sw.settings("traning"), r"no section 'traning' of a recipe\. Did you mean 'training'\?"),
        (lambda: sw.settings("model", "gtp"), r"there is no model 'gtp'; .* Did you mean 'gpt'\?"),
        (lambda: sw.settings("model"), r"model has other settings for each kind and task: name a kind"),
        (lambda: sw.settings("data"), r"data has other settings for each task: say task=…, or name a card"),
        (lambda: sw.settings("output"), r"output has other settings for each task: say task=…"),
        (lambda: sw.list_models("translaton"), r"there is no task 'translaton'\. Did you mean 'translation'\?"),
        (lambda: sw.TrainingSettings(stpes=3), r"TrainingSettings has no setting 'stpes'\. Did you mean 'steps'\?"),  # type: ignore[call-arg]
        (lambda: sw.TrainingSettings(steps="two"), r"^TrainingSettings\.steps: input should be .*, not 'two'$"),  # type: ignore[arg-type]
        (lambda: sw.TransformerSettings(width=7, heads=3), r"^TransformerSettings: width 7 does not divide into 3 h"),  # type: ignore[call-arg]
        (sw.PairFilesSettings, r"^PairFilesSettings needs the setting 'train'; give it by keyword, train=…$"),
    ],
)
def test_what_there_is_not_is_refused_with_the_nearest_name(asked: Any, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        asked()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("choose another folder with --run", "choose another folder with run=…"),
        ("give --run runs/a and --fresh", "give run='runs/a' and fresh=True"),
        ("--pooling thought is a vector; choose --side source", "pooling='thought' is a vector; choose side='source'"),
        ("make it again with `seqwright import a --run b/c`", "make it again with `seqwright import a --run b/c`"),
    ],
)
def test_options_become_arguments_but_in_commands(typed: str, told: str) -> None:
    with pytest.raises(UserError) as raised, in_python():
        raise UserError(typed)
    assert str(raised.value) == told


def test_errors_name_arguments_of_python() -> None:
    run = sw.train("films.toml", quiet=True)
    with pytest.raises(UserError, match=r"choose another folder with run=…, or start over with fresh=True"):
        sw.train("films.toml", "training.seed=7", quiet=True)
    with pytest.raises(UserError, match=r"the data has no test part; .*: choose one with part=…"):
        run.evaluate("test")
    with pytest.raises(UserError, match=r"give the recipe it came from .* and run='runs/films'$"):
        sw.train("runs/films", quiet=True)
