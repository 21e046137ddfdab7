"""What stands in the file of a comparison, and the sentence that each mistake in it gets."""

from pathlib import Path

import pytest

from seqwright.comparison.plan import planned, steps_within
from seqwright.comparison.settings import Budget, read_comparison, shipped_comparisons, slug
from seqwright.errors import SettingError

ROWS = '[[rows]]\nrecipe = "reverse"\n[[rows]]\nrecipe = "reverse"\nname = "wide"\nmodel.width = 64\n'


def written(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(SettingError) as caught:
        planned(*read_comparison(written(folder, text)))
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("budget = { minutes = 0 }\n" + ROWS, "budget.minutes: input should be greater than 0, not 0"),
        ("budget = { tokens = 0 }\n" + ROWS, "budget.tokens: input should be greater than 0, not 0"),
        ("budget = {}\n" + ROWS, "budget: give either minutes or tokens, as in { minutes = 25 }"),
        ("budget = { minuts = 3 }\n" + ROWS, "'budget.minuts' in .* Did you mean 'minutes'"),
        ("sedes = [1]\n" + ROWS, "there is no setting 'sedes' in .* Did you mean 'seeds'"),
        ("seeds = [1, 1]\n" + ROWS, "seeds has a number twice"),
        ('baseline = "wild"\n' + ROWS, "baseline: there is no row 'wild' .* Did you mean 'wide'"),
        (ROWS + '[[rows]]\nrecipe = "reverse"\nname = "Wide"\n', "rows 'wide' and 'Wide' would have one folder"),
        (ROWS + '[[rows]]\nrun = "runs/none"\n', "row 'none' in .*: there is no run runs/none; `seqwright train`"),
        (ROWS + '[[rows]]\nrecipe = "revers"\n', "row 'revers': there is no recipe 'revers'.* Did you mean 'reverse'"),
        (
            ROWS + '[[rows]]\nname = "x"\n',
            "row 3: a row has a recipe, a run, predictions or an ensemble, and this one none",
        ),
        (ROWS + '[[rows]]\nrecipe = "reverse"\nrun = "a"\n', "and this one recipe and run"),
        (ROWS + '[[rows]]\nrecipe = "copy"\n', "rows 'reverse' and 'copy' differ in data.card"),
        (ROWS + '[[rows]]\nrecipe = "waves-dense"\n', "'reverse' is for translation and 'waves-dense' for forecasting"),
        (ROWS + '[[rows]]\nensemble = ["reverse", "widest"]\n', "there is no row 'widest' .* Did you mean 'wide'"),
        (ROWS + '[[rows]]\nrecipe = "reverse"\nname = "y"\nmodel.wdth = 3\n', "row 'y': there is no setting 'model.wd"),
        (ROWS + '[[rows]]\nrecipe = "reverse"\nname = "y"\nmodle.width = 3\n', "'row 3.modle' .* Did you mean 'model'"),
        ("decoding.baem = 3\n" + ROWS, "there is no setting 'decoding.baem'. Did you mean 'decoding.beam'"),
        ('[decoding]\nbeam = 3\n[[rows]]\nrecipe = "waves-dense"\n', "forecasting searches for nothing"),
        ("training.seed = 3\n" + ROWS, r"training.seed is set, but all rows .* say seeds = \[3\] above the rows"),
        (ROWS + "training.threads = 3\n", "row 'wide': training.threads is set, but all rows .* say threads = 2"),
        ("seeds = [1]\n", "has no rows"),
        ("seeds = [\n", "is not valid TOML"),
    ],
)
def test_a_mistake_is_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    found = refusal(tmp_path, text)
    assert "\n" not in found
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(found)


def test_a_missing_file_offers_one_that_ships(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"there is no comparison file 'wave'\. Did you mean 'waves'"):
        read_comparison("wave")


def test_every_shipped_comparison_can_be_planned() -> None:
    assert set(shipped_comparisons()) >= {"ladder", "names", "waves"}
    for name in shipped_comparisons():
        settings, path = read_comparison(name)
        plan = planned(settings, path)
        assert plan.folder == Path("runs") / name
        assert plan.baseline in [row.name for row in plan.rows]


def test_what_all_rows_share_is_over_the_recipe_and_under_the_row(tmp_path: Path) -> None:
    text = "seeds = [3, 5]\nthreads = 1\ntraining = { rate = 0.5, warmup = 7 }\ndata.symbols = 11\n" + ROWS
    plan = planned(*read_comparison(written(tmp_path, text + "training.rate = 0.25\n")), tmp_path)
    plain, wide = plan.rows
    assert [trial.recipe.training.rate for trial in (*plain.trials, *wide.trials)] == [0.5, 0.5, 0.25, 0.25]
    assert {trial.recipe.training.warmup for trial in plain.trials} == {7}
    assert {trial.recipe.data.symbols for row in plan.rows for trial in row.trials} == {11}
    assert [trial.recipe.training.seed for trial in wide.trials] == [3, 5]
    assert wide.recipe.model.width == 64
    assert wide.trials[1].folders == (tmp_path / "mine" / "wide-seed-5",)


def test_a_recipe_file_may_lie_beside_the_comparison(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('base = "reverse"\nmodel.width = 48\n', encoding="utf-8")
    plan = planned(*read_comparison(written(tmp_path, '[[rows]]\nrecipe = "own.toml"\n')))
    assert plan.rows[0].name == "own"
    assert plan.rows[0].recipe.model.width == 48


def test_an_ensemble_has_the_members_of_its_seed(tmp_path: Path) -> None:
    text = "seeds = [3, 5]\n" + ROWS + '[[rows]]\nname = "both"\nensemble = ["wide", "reverse"]\n'
    plan = planned(*read_comparison(written(tmp_path, text)))
    both = plan.rows[2]
    assert [[folder.name for folder in trial.folders] for trial in both.trials] == [
        ["wide-seed-3", "reverse-seed-3"],
        ["wide-seed-5", "reverse-seed-5"],
    ]
    assert plan.trials[-2:] == list(both.trials)


def test_a_budget_is_turned_into_steps() -> None:
    found = {"seconds_per_step": 0.3, "tokens_per_step": 900.0}
    assert steps_within(Budget(minutes=1.5), found) == 300
    assert steps_within(Budget(tokens=90_000), found) == 100
    assert steps_within(Budget(tokens=1), found) == 1


def test_a_name_becomes_the_name_of_a_folder() -> None:
    assert slug("LSTM, thought/vector (2014)") == "lstm-thought-vector-2014"


@pytest.mark.parametrize("name", ["..", ".", "../x", "a/b"])
def test_a_comparison_is_not_written_outside_the_folder_of_runs(name: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, f'name = "{name}"\n{ROWS}').startswith("name: string should match pattern")


def test_a_row_or_a_file_of_dots_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    assert slug("..") == "row"
    (tmp_path / "...toml").write_text(ROWS, encoding="utf-8")
    assert read_comparison(str(tmp_path / "...toml"))[0].name == "comparison"
