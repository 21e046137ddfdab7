"""Somebody has a table of texts or of measurements: `new`, `check`, `train` and use; and what is wrong with tables."""

import json
import os
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from seqwright.cli.beginning import write_new_recipe
from seqwright.cli.first_recipes import TEMPLATES
from seqwright.errors import DataError
from seqwright.kinds import TASKS
from seqwright.recipe import read_recipe
from seqwright.training.schedule import warmup_steps

Answer = tuple[int, str, str]
Say = Callable[..., Answer]
QUICK = ["training.epochs=1", "training.threads=1", "training.device=cpu"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder."""
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path


def refused(answer: Answer, *found: str) -> None:
    """The answer is exit code 2 and one sentence with these words."""
    code, _, err = answer
    assert code == 2, err
    sentence = err.strip().splitlines()[-1]
    for words in found:
        assert words in sentence


def write(name: str, text: str) -> None:
    Path(name).write_text(text, encoding="utf-8")


def opinions(count: int = 60) -> str:
    return "".join(f"film {n} was {('fine', 'a bore')[n % 2]},{('good', 'bad')[n % 2]}\n" for n in range(count))


def hours(count: int = 240) -> str:
    return "".join(f"2024-01-{1 + n // 24:02d} {n % 24:02d}:00,{n % 24},{n % 5}\n" for n in range(count))


# ---------------------------------------------------------------------------------------------------- as it should be


def test_texts_with_labels_become_a_classifier(say: Say) -> None:
    write("mine.csv", "what they said,verdict\n" + opinions())
    code, _, err = say("new", "text-classification", "--data", "mine.csv", "model.width=8", "data.valid=20%")
    assert code == 0, err
    assert "(bad 2" in err and "next: seqwright check mine.toml" in err  # noqa: PT018
    recipe = read_recipe("mine.toml")
    assert (recipe.data.text, recipe.data.label, recipe.data.valid) == ("what they said", "verdict", "20%")
    assert recipe.model.width == 8
    code, out, err = say("check", "mine.toml", "training.threads=1")
    assert code == 0, err
    assert "logistic regression" in out
    assert say("train", "mine.toml", *QUICK)[0] == 0
    code, out, err = say("classify", "runs/mine", "film 3 was fine", "--json")
    assert json.loads(out)["label"] in {"good", "bad"}


def test_a_table_of_measurements_becomes_a_forecaster(say: Say) -> None:
    write("mine.csv", "when,load,wind\n" + hours())
    code, _, err = say("new", "forecasting", "--data", "mine.csv", "data.horizon=3")
    assert code == 0, err
    assert "192 rows to train on, 1:00:00 apart by 'when'; to forecast: load, wind" in err
    recipe = read_recipe("mine.toml")
    assert (recipe.data.time, recipe.data.horizon, recipe.data.history) == ("when", 3, 9)
    code, out, err = say("check", "mine.toml", "training.threads=1")
    assert code == 0, err
    assert "least squares" in out
    assert say("train", "mine.toml", *QUICK)[0] == 0
    code, out, err = say("forecast", "runs/mine")
    assert [line.split(",")[0] for line in out.splitlines()] == [
        *("when", "2024-01-11 00:00", "2024-01-11 01:00", "2024-01-11 02:00")
    ]


def test_the_recipe_of_a_small_text_leaves_its_warm_up(say: Say) -> None:
    write("mine.txt", "It is a truth universally acknowledged, that a text has lines.\n" * 400)
    assert say("new", "language-modeling", "--data", "mine.txt")[0] == 0
    training = read_recipe("mine.toml").training
    assert warmup_steps(training, training.steps) < training.steps / 5


def test_a_folder_for_each_label_needs_no_columns(say: Say) -> None:
    for number in range(20):
        folder = Path("mail", ("wanted", "unwanted")[number % 2])
        folder.mkdir(parents=True, exist_ok=True)
        write(str(folder / f"{number}.txt"), f"letter {number}")
    code, _, err = say("new", "text-classification", "--data", "mail")
    assert code == 0, err
    assert read_recipe("mail.toml").data.train == "mail"


def test_columns_that_cannot_be_found_are_asked_for(say: Say) -> None:
    write("mine.csv", "".join(f"{n},film {n}\n" for n in range(40)))
    refused(say("new", "text-classification", "--data", "mine.csv"), "different labels", "data.label")
    write("more.csv", "id,first,second\n" + "".join(f"{n},{n % 2},{n % 3}\n" for n in range(40)))
    code, _, err = say("new", "text-classification", "--data", "more.csv", "data.text=first", "data.label=second")
    assert code == 0, err
    assert read_recipe("more.toml").data.label == "second"
    refused(say("new", "text-classification", "--data", "more.csv", "-o", "b.toml", "--source", "id"), "data.text=")
    wrong = ["data.text=first", "data.label=second", "model.widht=3"]
    refused(say("new", "text-classification", "--data", "more.csv", "-o", "b.toml", *wrong), "model.width")
    assert not Path("b.toml").exists()


def test_new_says_which_columns_could_be_the_label_and_never_takes_a_wrong_one(say: Say) -> None:
    rows = "".join(
        f"{('web', 'shop')[n % 2]},film {n} was a film,{n % 5}.5,{('good', 'bad')[n % 3 > 0]}\n" for n in range(60)
    )
    write("mine.csv", "channel,said,points,verdict\n" + rows)
    answer = say("new", "text-classification", "--data", "mine.csv")
    refused(
        answer, "several columns that could be the label", "channel (web, shop)", "verdict (bad, good)", "data.label="
    )
    code, _, err = say("new", "text-classification", "--data", "mine.csv", "data.label=verdict", "data.text=said")
    assert code == 0, err
    code, _, err = say("new", "text-regression", "--data", "mine.csv", "-o", "b.toml")
    assert code == 0, err
    assert (read_recipe("b.toml").data.text, read_recipe("b.toml").data.label) == ("said", "points")


def test_new_tells_which_columns_it_does_not_forecast(say: Say) -> None:
    rows = hours().splitlines()
    write(
        "mine.csv",
        "\n".join(["when,load,wind,note", *(f"{row},{'calm' if n == 3 else ''}" for n, row in enumerate(rows))]),
    )
    code, _, err = say("new", "forecasting", "--data", "mine.csv")
    assert code == 0, err
    assert "'note' is left out: line 5 has 'calm', which is no number" in err


def test_what_a_table_is_written_in_is_told_by_check_and_by_train_once(say: Say) -> None:
    Path("mine.csv").write_bytes(
        ("text;label\n" + opinions().replace(",", ";").replace("fine", "très bien")).encode("cp1252")
    )
    write("mine.toml", 'task = "text-classification"\n[data]\ntrain = "mine.csv"\n[input]\ntokenizer = "words"\n')
    for verb, more in (("check", ["training.threads=1"]), ("train", QUICK)):
        code, out, err = say(verb, "mine.toml", *more)
        assert code == 0, err
        assert (out + err).count("mine.csv is not UTF-8 but looks like windows-1252") == 1
        assert (out + err).count("mine.csv has a semicolon between its cells, not a comma") == 1


def test_new_leaves_the_column_of_times_out_where_that_is_asked(say: Say) -> None:
    lines = hours().splitlines()
    write("mine.csv", "\n".join([*lines[:20], *lines[22:]]) + "\n")
    refused(
        say("new", "forecasting", "--data", "mine.csv"), "mine.csv:21 is ", "unset the column of times, data.time=,"
    )
    code, _, err = say("new", "forecasting", "--data", "mine.csv", "data.time=")
    assert code == 0, err
    recipe = Path("mine.toml").read_text(encoding="utf-8")
    assert "\ntime = " not in recipe
    assert "\ncolumns = [2, 3]" in recipe
    assert say("check", "mine.toml")[0] == 0


def test_missing_rows_are_filled_and_check_says_how_many(say: Say) -> None:
    rows = hours().splitlines()
    write("mine.csv", "\n".join(["when,load,wind", *rows[:50], *rows[53:]]))
    write("mine.toml", 'task = "forecasting"\n[data]\ntrain = "mine.csv"\ntime = "when"\nhistory = 5\n')
    refused(say("check", "mine.toml", "training.threads=1"), "mine.csv:52 is 4:00:00 after", "data.gaps=last")
    code, out, err = say("check", "mine.toml", "training.threads=1", "data.gaps=linear")
    assert code == 0, err
    assert "! mine.csv lacks 3 rows by 'when', the first before line 52: filled, as data.gaps=linear says" in out


@pytest.mark.parametrize(
    ("older", "task"),
    [
        ("tagging", "token-classification"),
        ("questions", "question-answering"),
        ("language", "language-modeling"),
        ("classification", "text-classification"),
        ("rating", "text-regression"),
        ("masking", "masked-language-modeling"),
        ("prompting", "instruction"),
        ("description", "vector-to-text"),
        ("pronunciations", "grapheme-to-phoneme"),
        ("NER", "token-classification"),
        ("sumarization", "summarization"),
    ],
)
def test_what_a_task_was_called_leads_to_its_name(say: Say, older: str, task: str) -> None:
    write("mine.csv", "text,label\n" + opinions())
    refused(say("new", older, "--data", "mine.csv"), f"there is no task '{older}'. Did you mean '{task}'?")


def test_every_task_has_a_template() -> None:
    assert {TASKS[task].new for task in TASKS} == TEMPLATES.keys()


def test_prompts_and_answers_are_found_by_their_usual_names(say: Say) -> None:
    write("mine.csv", "id,question,answer\n" + "".join(f"{n},how much is {n}?,it is {n}\n" for n in range(50)))
    code, _, err = say("new", "instruction", "--data", "mine.csv")
    assert code == 0, err
    assert "how much is" in err
    assert (read_recipe("mine.toml").data.source, read_recipe("mine.toml").data.target) == ("question", "answer")


def test_what_is_written_from_numbers_or_from_a_label_is_told_by_the_table(say: Say) -> None:
    write("a.csv", "height,age,words\n" + "".join(f"{n}.5,{n % 7},so big {n}\n" for n in range(50)))
    write("b.csv", "origin,name\n" + "".join(f"{('French', 'Czech')[n % 2]},name number {n}\n" for n in range(50)))
    for name in ("a", "b"):
        code, _, err = say("new", "vector-to-text", "--data", f"{name}.csv")
        assert code == 0, err
    numbers, label = read_recipe("a.toml").data, read_recipe("b.toml").data
    assert (numbers.text, numbers.columns, numbers.label) == ("words", ("height", "age"), None)
    assert (label.text, label.columns, label.label) == ("name", None, "origin")


def test_entities_are_judged_by_f1_and_parts_of_speech_by_accuracy(say: Say) -> None:
    for name, tags in {"a": ("B-per", "O"), "b": ("NOUN", "VERB")}.items():
        write(f"{name}.conll", "".join(f"Ada{n} {tags[0]}\nsang {tags[1]}\n\n" for n in range(50)))
        assert say("new", "token-classification", "--data", f"{name}.conll")[0] == 0
    assert [read_recipe(f"{name}.toml").training.metric for name in "ab"] == ["f1", "accuracy"]


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no such names")
def test_a_name_that_no_recipe_can_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"\xff.csv")
    write(name, opinions())
    with pytest.raises(DataError, match="not UTF-8, so no recipe can hold it; rename the file"):
        write_new_recipe("text-classification", [Path(name)], Path("mine.toml"))


# ---------------------------------------------------------------------------------------------------- as it often is


@pytest.mark.parametrize(
    ("table", "settings", "found"),
    [
        ("", [], "mine.csv is empty, expected at least one line"),
        ("text;label\n", [], "it has ';', so set data.separator=';'"),
        ("text,label\nfine, really,good\n", [], "mine.csv:2 has 3 cells, but line 1 has 2"),
        ("text,label\nfine,good\n", ["data.separator=;;"], "';;' is no separator, expected one character such as ';'"),
        ("text,label\nfine,good\n", ["data.encoding=utf-9"], "'utf-9' is no encoding of text"),
        ("text,label\n" + opinions(), ["data.label=mark"], "has no column 'mark' but 'text', 'label'"),
        ("text,label\n" + "fine,good\nbetter,good\n" * 9, [], "has the label 'good', expected two labels or more"),
        ("text,label\n" + ",good\n ,bad\n" * 9, [], "no example of the train part has a text: see whether data.text"),
        ("text,label\n" + opinions(), ["data.test=other.csv"], "the label 'awful' (1 example), but training knew only"),
    ],
)
def test_a_table_of_texts_that_cannot_be_used(say: Say, table: str, settings: list[str], found: str) -> None:
    write("mine.csv", table)
    write("other.csv", "text,label\nnever seen,awful\n")
    write("mine.toml", 'task = "text-classification"\n[data]\ntrain = "mine.csv"\n[input]\ntokenizer = "words"\n')
    refused(say("check", "mine.toml", "training.threads=1", *settings), found)


@pytest.mark.parametrize(
    ("table", "settings", "found"),
    [
        ("", [], "mine.csv is empty, expected at least one line"),
        ("when;load\n", ["data.time=when"], "it has ';', so set data.separator=';'"),
        ("when,load\n" + hours(), ["data.columns=wnd"], "has no column 'wnd'"),
        ("when,load,wind\n2024-01-01,1,\n" + hours(), [], "mine.csv:2 has no value in column 'wind': fill it in"),
        ("when,load,wind\n2024-01-01,1,NaN\n" + hours(), [], "mine.csv:2 has no value in column 'wind'"),
        ("when,load,wind\n" + hours() + "2024-02-01 00:00,1,1\n", [], "mine.csv:242 is 21 days"),
        ("when,load,wind\n" + hours(30), [], "too few for a window: data.history"),
    ],
)
def test_a_table_of_measurements_that_cannot_be_used(say: Say, table: str, settings: list[str], found: str) -> None:
    write("mine.csv", table)
    write("mine.toml", 'task = "forecasting"\n[data]\ntrain = "mine.csv"\n')
    refused(say("check", "mine.toml", "training.threads=1", "data.time=when", *settings), found)


def test_a_forecast_reaches_as_far_as_what_repeats_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"2024-01-{1 + hour // 24:02} {hour % 24:02}:00,{10 + (hour % 24 - 12) ** 2}" for hour in range(24 * 28)]
    Path("load.csv").write_text("\n".join(["date,load", *rows]) + "\n", encoding="utf-8")
    write_new_recipe("forecasting", [Path("load.csv")], None)
    written = tomllib.loads(Path("load.toml").read_text(encoding="utf-8"))["data"]
    assert (written["horizon"], written["history"]) == (24, 48)


# ---------------------------------------------------------------------------------------------------- where it lies

RECIPE = """task = "text-classification"
[data]
train = "texts/mine.csv"
[input]
tokenizer = "words"
[model]
width = 8
[training]
epochs = 1
threads = 1
device = "cpu"
"""


@pytest.fixture
def project(say: Say) -> Path:
    """A folder with a recipe, and its data in a folder beside it; the test stands above both."""
    Path("project/texts").mkdir(parents=True)
    write("project/texts/mine.csv", "text,label\n" + opinions())
    write("project/mine.toml", RECIPE)
    return Path("project")


@pytest.mark.usefixtures("project")
def test_data_lies_beside_its_recipe_wherever_one_stands(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_recipe("project/mine.toml").data.train == "project/texts/mine.csv"
    write("project/heir.toml", 'base = "mine.toml"\n[training]\nepochs = 2\n')
    assert read_recipe("project/heir.toml").data.train == "project/texts/mine.csv"
    assert read_recipe("project/mine.toml", ["data.train=mine.csv"]).data.train == "mine.csv"  # as it was typed
    code, _, err = say("check", "project/mine.toml")
    assert code == 0, err
    monkeypatch.chdir("project/texts")
    assert read_recipe("../mine.toml").data.train == "mine.csv"
    assert read_recipe(str(Path("../mine.toml").absolute())).data.train == "mine.csv"


@pytest.mark.usefixtures("project")
def test_data_that_is_not_beside_the_recipe_is_looked_for_where_one_stands(say: Say) -> None:
    Path("texts").mkdir()
    Path("project/texts/mine.csv").rename("texts/mine.csv")
    assert read_recipe("project/mine.toml").data.train == "texts/mine.csv"
    Path("texts/mine.csv").unlink()
    refused(say("check", "project/mine.toml"), "there is no file project/texts/mine.csv")


@pytest.mark.usefixtures("home")
def test_new_writes_paths_as_the_recipe_has_to_say_them(say: Say) -> None:
    Path("tables").mkdir()
    Path("recipes").mkdir()
    write("tables/mine.csv", "text,label\n" + opinions())
    code, _, err = say("new", "text-classification", "--data", "tables/mine.csv", "-o", "recipes/mine.toml")
    assert code == 0, err
    assert tomllib.loads(Path("recipes/mine.toml").read_text(encoding="utf-8"))["data"]["train"] == "../tables/mine.csv"
    assert say("check", "recipes/mine.toml", "training.threads=1")[0] == 0


@pytest.mark.usefixtures("project")
def test_a_run_that_was_moved_with_its_data_is_evaluated_and_alone_says_what_to_do(
    say: Say, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("project")
    code, _, err = say("train", "mine.toml")
    assert code == 0, err
    monkeypatch.chdir(home)
    Path("project").rename("moved")
    code, _, err = say("eval", "moved/runs/mine")
    assert code == 0, err
    assert "the data changed" not in err
    Path("moved/runs/mine").rename("alone")
    refused(say("eval", "alone"), "there is no file texts/mine.csv", "alone was trained on it", "--data")
    assert say("eval", "alone", "--data", "moved/texts/mine.csv")[0] == 0


def test_a_run_reads_other_tables_in_the_encoding_and_with_the_separator_of_its_own(say: Say) -> None:
    table = "text^label\n" + opinions().replace(",", "^").replace("fine", "świetny")
    Path("mine.csv").write_bytes(table.encode("iso-8859-2"))
    write("mine.toml", RECIPE.replace("texts/", ""))
    written = ["data.separator=^", "data.encoding=iso-8859-2"]
    code, _, err = say("train", "mine.toml", *written)
    assert code == 0, err
    assert "looks like" not in err
    code, out, err = say("classify", "runs/mine", "--file", "mine.csv", "--json")
    assert code == 0, err
    assert len(out.splitlines()) == 60
    code, _, err = say("eval", "runs/mine", "--data", "mine.csv")
    assert code == 0, err
