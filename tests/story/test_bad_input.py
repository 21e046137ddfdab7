"""What users get wrong: one clear sentence, exit code 2, nothing lost."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seqwright.recipe import read_recipe

TINY = [
    "model.width=16",
    "model.heads=2",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "model.feed_forward=16",
    "input.tokenizer=words",
    "training.tokens=256",
    "training.threads=1",
    "training.validate_every=10",
    "training.save_every=5",
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty folder."""
    return tmp_path


@pytest.fixture
def say(say):
    """Type a command in an empty folder; get its exit code and complaints."""
    return lambda *words: say(*words)[::2]


def refused(answer: tuple[int, str], *found: str) -> None:
    """The answer is exit code 2 and one sentence with these words."""
    code, err = answer
    assert code == 2, err
    sentence = err.strip().splitlines()[-1]
    assert sentence.startswith("seqwright")
    for words in found:
        assert words in sentence


def write(name: str, data: bytes | str) -> None:
    Path(name).write_bytes(data.encode() if isinstance(data, str) else data)


def train_on(*files: str) -> list[str]:
    value = files[0] if len(files) == 1 else "[" + ", ".join(f'"{file}"' for file in files) + "]"
    train = value if value[0] == "[" else repr(value)
    Path("r.toml").write_text(f"task = 'translation'\n[data]\ntrain = {train}\n", encoding="utf-8")
    return ["train", "r.toml", *TINY, "training.steps=5"]


def test_files_of_different_length(say):
    write("a.de", "eins\nzwei\ndrei\n" * 9)
    write("a.en", "one\ntwo\n" * 9)
    refused(say(*train_on("a.de", "a.en")), "27", "18", "a.de", "a.en")


def test_an_empty_file(say):
    write("a.tsv", "")
    refused(say(*train_on("a.tsv")), "a.tsv", "empty")


def test_a_missing_file(say):
    refused(say(*train_on("nowhere.tsv")), "nowhere.tsv")


def test_invalid_utf8_is_found_by_file_and_line(say):
    write("a.tsv", b"one\teins\n" * 6 + b"t\xffo\tzwei\n")
    refused(say(*train_on("a.tsv")), "a.tsv:7", "UTF-8")


def test_nul_bytes(say):
    write("a.tsv", b"one\teins\n" * 3 + b"t\x00o\tzwei\n")
    refused(say(*train_on("a.tsv")), "a.tsv:4", "NUL")


def test_a_line_with_one_column(say):
    write("a.tsv", "one\teins\ntwo zwei\n")
    refused(say(*train_on("a.tsv")), "a.tsv:2")


def numbers(count: int = 60) -> str:
    return "".join(f"{i} {i + 1}\t{i + 1} {i}\n" for i in range(count))


def test_blank_sides_are_counted_and_reported(say):
    write("a.tsv", numbers() + "\tleer\nblank\t\n")
    code, err = say(*train_on("a.tsv"))
    assert code == 0, err
    assert "(not in the loss: 1 with a blank target); left out: 1 with nothing to read" in err


def test_overlong_sentences_are_dropped_and_counted_or_refused_as_the_setting_says(say):
    write("a.tsv", numbers() + f"{'1 ' * 40}\t1\n")
    code, err = say(*train_on("a.tsv"), "input.longest=20")
    assert code == 0, err
    assert "1 too long" in err
    answer = say(*train_on("a.tsv"), "input.longest=20", "input.overlong=refuse", "--run", "runs/other")
    refused(answer, "input.longest", "20")


@pytest.mark.parametrize(
    ("override", "found"),
    [
        ("training.stpes=5", "Did you mean 'training.steps'?"),
        ("traning.steps=5", "traning.steps"),
        ("training.steps=many", "training.steps"),
        ("training.steps=0", "training.steps"),
        ("model.kind=transfromer", "Did you mean 'transformer'?"),
        ("model.heads=5", "heads"),
        ("steps", "section.key=value"),
        ("training.metric=blue", "blue"),
    ],
)
def test_settings_that_are_unknown_misspelt_or_mistyped(say, override: str, found: str):
    write("a.tsv", numbers())
    refused(say(*train_on("a.tsv"), override), found)


def test_a_recipe_that_is_missing_or_no_toml(say):
    refused(say("train", "nowhere.toml"), "nowhere.toml")
    refused(say("train", "dates-dmeo"), "Did you mean 'dates-demo'?")
    write("bad.toml", "[data\n")
    refused(say("train", "bad.toml"), "bad.toml", "TOML")


def test_a_resumed_run_whose_recipe_changed_says_which_settings(say):
    write("a.tsv", numbers())
    assert say(*train_on("a.tsv"))[0] == 0
    refused(say(*train_on("a.tsv"), "model.dropout=0.3"), "model.dropout", "0.3", "--fresh")
    assert say(*train_on("a.tsv"), "training.steps=8")[0] == 0
    refused(say(*train_on("a.tsv"), "training.steps=6"), "training.steps")


def test_data_that_changed_under_a_resumed_run(say):
    write("a.tsv", numbers())
    assert say(*train_on("a.tsv"))[0] == 0
    assert "changed" not in say("eval", "runs/r", "--part", "valid")[1]
    write("a.tsv", numbers(70))
    refused(say(*train_on("a.tsv"), "training.steps=8"), "train", "changed")
    code, err = say("eval", "runs/r", "--part", "valid")  # still of use, but not the same thing
    assert code == 0, err
    assert "the data changed since runs/r was trained (train, valid)" in err


def test_a_damaged_checkpoint_is_passed_over(say):
    write("a.tsv", numbers())
    assert say(*train_on("a.tsv"), "training.keep=3", "training.steps=10")[0] == 0
    damaged = Path("runs/r/step-000010/model.safetensors")
    data = bytearray(damaged.read_bytes())
    data[-3] ^= 1
    damaged.write_bytes(data)
    code, err = say("translate", "runs/r", "1 2")
    assert code == 0, err
    assert "damaged" in err
    assert "step 5" in err
    code, err = say(*train_on("a.tsv"), "training.keep=3", "training.steps=10")
    assert code == 0, err
    assert "damaged" in err
    assert "resuming from step 5" in err


def test_a_run_without_a_whole_checkpoint(say):
    write("a.tsv", numbers())
    assert say(*train_on("a.tsv"))[0] == 0
    Path("runs/r/step-000005/model.safetensors").unlink()
    refused(say("translate", "runs/r", "1 2"), "runs/r")
    Path("runs/r/input/tokenizer.json").write_text("{}")
    refused(say("translate", "runs/r", "1 2"), "tokenizer.json")


def test_missing_runs_and_data(say):
    refused(say("translate", "runs/nothing", "x"), "runs/nothing")
    refused(say("eval", "runs/nothing"), "runs/nothing")
    Path("empty").mkdir()
    refused(say("look", "empty", "x"), "empty")
    refused(say("data", "get", "multi3k"), "Did you mean 'multi30k'?")
    refused(say("new", "translatoin", "--data", "a.tsv"), "no task 'translatoin'. Did you mean 'translation'?")


def test_names_that_are_nearly_right_or_of_another_kind(say):
    write("mine.toml", 'task = "translation"\n[data]\ncard = "copy"\n')
    refused(say("translate", "mine.toml", "x"), "a recipe", "train it first: seqwright train mine.toml")
    Path("runs/mine").mkdir(parents=True)
    write("runs/mine/resolved.toml", "")
    refused(say("translate", "mine", "x"), "there is no run mine. Did you mean 'runs/mine'?")
    refused(say("eval", "runs/mien"), "Did you mean 'runs/mine'?")
    refused(say("look", "mine.toml", "x"), "mine.toml is a recipe, not a run. Did you mean 'runs/mine'?")
    refused(say("train", "mien.toml"), "Did you mean 'mine.toml'?")
    refused(say("check", "mine"), "Did you mean 'mine.toml'?")
    refused(say("train", "runs/mine"), "a run folder", "--run runs/mine")


def test_new_writes_what_can_be_read_whatever_the_file_is_called(say):
    write('we"ird \n name.tsv', numbers())
    code, err = say("new", "translation", "--data", 'we"ird \n name.tsv', "-o", "it's mine.toml")
    assert code == 0, err
    assert read_recipe("it's mine.toml").data.train == 'we"ird \n name.tsv'
    (advice,) = [line for line in err.splitlines() if line.startswith("next: ")]
    assert shlex.split(advice) == ["next:", "seqwright", "check", "it's mine.toml"]


def test_new_takes_columns_of_other_names(say):
    write("a.jsonl", '{"de": "eins", "en": "one", "id": 7}\n' * 30)
    refused(say("new", "translation", "--data", "a.jsonl"), "'de'", "--source", "--target")
    code, err = say("new", "translation", "--data", "a.jsonl", "--source", "en", "--target", "de")
    assert code == 0, err
    assert "\n  one\n  eins\n" in err
    assert len(Path("a.toml").read_text(encoding="utf-8").splitlines()) <= 26
    recipe = read_recipe("a.toml")
    assert (recipe.data.source, recipe.data.target) == ("en", "de")
    write("b.tsv", "7\teins\tone\n" * 30)
    assert "\n  one\n  eins\n" in say("new", "translation", "--data", "b.tsv", "--source", "3", "--target", "2")[1]
    refused(say("new", "translation", "--data", "a.de", "--data", "a.en", "--source", "en"), "--source", "line-aligned")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_folder(say):
    write("a.tsv", numbers())
    Path("locked").mkdir(mode=0o500)
    refused(say(*train_on("a.tsv"), "--run", "locked/run"), "locked")


def test_a_run_folder_that_is_a_file(say):
    write("a.tsv", numbers())
    write("taken", "x")
    refused(say(*train_on("a.tsv"), "--run", "taken"), "taken")


def test_two_trainings_never_share_a_folder(say):
    from seqwright.run_folders import locked

    write("a.tsv", numbers())
    with locked(Path("runs/r")):
        refused(say(*train_on("a.tsv")), "another training", "runs/r")


def test_a_line_far_longer_than_any_in_training_is_translated_with_a_warning(say):
    write("a.tsv", numbers())
    assert say(*train_on("a.tsv"))[0] == 0
    code, err = say("translate", "runs/r", "7 " * 300, "--longest", "5")
    assert code == 0
    assert "longer than" in err
    refused(say("translate", "runs/r", "7 " * 5000), "tokens", "split")


def test_standard_input_that_is_not_utf8(say):
    write("a.tsv", numbers())
    assert say(*train_on("a.tsv"))[0] == 0
    command = [sys.executable, "-m", "seqwright", "translate", "runs/r"]
    answer = subprocess.run(command, input=b"1 2\n\xff\n", capture_output=True, check=False)
    refused((answer.returncode, answer.stderr.decode()), "line 2", "UTF-8")


def test_a_full_disk_during_a_save_loses_nothing(say, monkeypatch: pytest.MonkeyPatch):
    write("a.tsv", numbers())
    assert say(*train_on("a.tsv"))[0] == 0
    kept = {path: path.read_bytes() for path in Path("runs/r/step-000005").iterdir()}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("seqwright.training.checkpoint.appear", full)
        refused(say(*train_on("a.tsv"), "training.steps=8"), "No space left", "untouched")
    assert {path: path.read_bytes() for path in kept} == kept


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_saves_and_says_how_to_go_on_and_twice_stops_at_once(tmp_path: Path, times: int):
    (tmp_path / "a.tsv").write_text(numbers(), encoding="utf-8")
    (tmp_path / "r.toml").write_text('task = "translation"\n[data]\ntrain = "a.tsv"\n', encoding="utf-8")
    command = [sys.executable, "-m", "seqwright", "train", "r.toml", *TINY, "training.steps=100000"]
    running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "runs/r/last").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    for _ in range(times):
        running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "Traceback" not in err
    if times == 1:
        assert "the same command resumes" in err
    assert (tmp_path / "runs/r/last").exists()
    assert shutil.which("seqwright") is None or not list((tmp_path / "runs/r").glob("*.tmp"))
