"""Somebody has a table of questions, trains on it, looks at the scores and asks questions about new texts."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from seqwright.cli.asking import ask_run, context_given
from seqwright.cli.options import Answers, Things
from seqwright.errors import DataError, RunError, SettingError
from seqwright.recipe import recipe_from
from seqwright.runs import train
from tests.story.command import typed

TEXT = "Ada the baker came at noon. Boris from Lima left early."
ROWS = [
    ("Who is Ada?", TEXT, "Ada the baker"),
    ("Who is Boris?", TEXT, "Boris from Lima"),
    ("Who is Carla?", TEXT, ""),
]
TINY: dict[str, dict[str, Any]] = {
    "input": {"tokenizer": "words", "longest": 24, "stride": 6, "longest_question": 6},
    "model": {"kind": "bert", "width": 16, "heads": 2, "layers": 1, "context": 24, "dropout": 0.0, "head_dropout": 0.0},
    "training": {"steps": 120, "tokens": 96, "rate": 0.01, "schedule": "constant", "warmup": 0, "device": "cpu"},
}


def table(rows: list[tuple[str, str, str]]) -> str:
    return "question\tcontext\tanswer\n" + "".join("\t".join(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table and a run that knows it by heart."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "mine.tsv").write_text(table(ROWS))
    path = str(folder / "mine.tsv")
    data = {"train": path, "valid": path}
    train(recipe_from({"task": "question-answering", "data": data, **TINY}), folder / "run")
    return folder


def answer(folder: Path, *questions: str, **options: Any) -> None:
    given: dict[str, Any] = {"context": None, "context_file": None, "file": None, "top": 1, "threshold": None}
    given |= {"as_json": False, **options}
    reading = {"context": context_given(given.pop("context"), given.pop("context_file"))}
    saying = {"most": given["top"], "threshold": given.pop("threshold")}
    things, printed = Things(folder, list(questions), given.pop("file")), Answers(given.pop("as_json"), "last")
    ask_run("answer", things, printed, reading=reading, saying=saying, **given)


def answers(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]


def test_each_question_has_its_answer_on_a_line(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer(home / "run", "Who is Ada?", "Who is Carla?", "Who is Boris?", context=TEXT)
    assert answers(capsys) == ["Ada the baker", "(no answer)", "Boris from Lima"]


def test_json_says_where_the_answer_stands(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer(home / "run", "Who is Boris?", "Who is Carla?", context=TEXT, top=2, as_json=True)
    found, none = map(json.loads, capsys.readouterr().out.splitlines())
    assert (found["question"], found["answer"]) == ("Who is Boris?", "Boris from Lima")
    assert TEXT[found["begin"] : found["end"]] == "Boris from Lima"
    assert 0.5 < found["probability"] <= 1
    assert len(found["answers"]) == 2
    assert found["answers"][0]["text"] == "Boris from Lima"
    assert none["answer"] is None
    assert none["probability"] == none["no_answer"] > 0.5


def test_several_answers_stand_on_one_line(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer(home / "run", "Who is Ada?", context=TEXT, top=3)
    first, probability, *rest = capsys.readouterr().out.strip().split("\t")
    assert first == "Ada the baker"
    assert float(probability) > max(map(float, rest[1::2]))
    answer(home / "run", "Who is Carla?", context=TEXT, top=2)
    said, _, other, _ = capsys.readouterr().out.strip().split("\t")
    assert said == "(no answer)"
    assert other in TEXT


def test_files_and_standard_input_are_read_line_by_line(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "text.txt").write_text(f"{TEXT}\n")
    (home / "questions.txt").write_text("Who is Ada?\nWho is Boris?\n")
    answer(home / "run", file=home / "questions.txt", context_file=home / "text.txt")
    assert answers(capsys) == ["Ada the baker", "Boris from Lima"]
    lines = [json.dumps({"question": question, "context": text}) for question, text, _ in ROWS]
    (home / "questions.jsonl").write_text("\n".join(lines) + "\n")
    answer(home / "run", file=home / "questions.jsonl")
    assert answers(capsys) == ["Ada the baker", "Boris from Lima", "(no answer)"]
    with (home / "questions.jsonl").open() as standard:
        monkeypatch.setattr(sys, "stdin", standard)
        answer(home / "run", "-")
    assert answers(capsys) == ["Ada the baker", "Boris from Lima", "(no answer)"]


def test_a_threshold_makes_it_silent_or_talkative(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer(home / "run", "Who is Ada?", context=TEXT, threshold=1000.0)
    assert answers(capsys) == ["(no answer)"]
    answer(home / "run", "Who is Carla?", context=TEXT, threshold=-1000.0)
    assert answers(capsys) != ["(no answer)"]


def test_a_very_long_context_is_read_to_its_end(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer(home / "run", "Who is Ada?", context=f"{TEXT} " * 200, top=500, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert max(each["end"] for each in found["answers"]) > 190 * len(TEXT)


def test_the_scores_stand_beside_the_baselines(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert typed("eval", str(home / "run"), "--which", "last") == 0
    lines = [" ".join(line.split()) for line in capfd.readouterr().out.splitlines()]
    assert "exact 100.000 answers that are right, as SQuAD counts" in lines
    assert "has_answer_f1 100.000 of the questions that have an answer" in lines
    assert any(line.startswith("baseline_no_answer_f1 33.333 baseline: saying of every question") for line in lines)
    assert any(
        line.startswith("baseline_sentence_exact 0.000 baseline: the sentence with most words") for line in lines
    )
    assert lines[-3:] == ["first word exact share", "who 3/3 100.0 %", "all 3/3 100.0 %"]


def test_the_verbs_take_such_a_run(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = str(home / "run")
    assert typed("answer", run, "Who is Ada?", "--context", TEXT, "--which", "last") == 0
    assert capfd.readouterr().out.startswith("Ada the baker\t")
    assert typed("eval", run, "--data", str(home / "mine.tsv"), "--json", "--which", "last") == 0
    assert json.loads(capfd.readouterr().out)["exact"] == 100
    (told,) = (home / "run" / "eval").glob("mine-*.jsonl")
    assert [json.loads(line)["predicted"] for line in told.read_text().splitlines()] == [row[2] for row in ROWS]
    assert typed("eval", run, "--beam", "3") == 2
    assert "where nothing is searched for" in capfd.readouterr().err


def test_a_first_recipe_fits_the_table(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    many = [("Who is Ada?", f"{number} {TEXT}", "Ada the baker" if number % 2 else "") for number in range(60)]
    Path("mine.tsv").write_text(table([*many, ("Who?", "nobody", "Eve")]).replace("question\t", "asked\t"))
    assert typed("new", "question-answering", "--data", "mine.tsv") == 2
    assert "mine.tsv:1 has no column 'question' but 'asked', 'context', 'answer'" in capfd.readouterr().err
    assert typed("new", "question-answering", "--data", "mine.tsv", "data.question=asked") == 0
    said = capfd.readouterr().err
    assert "questions to train on" in said
    assert "of 1 questions no answer stands in the context" in said
    small = (
        "input.tokenizer=words",
        "input.longest=40",
        "input.stride=20",
        "input.longest_question=10",
        "model.width=8",
    )
    assert typed("check", "mine.toml", *small, "training.threads=1") == 0
    assert "the sentence with most words of the question: exact" in capfd.readouterr().out


def test_what_cannot_be_read_ends_with_one_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = 'task = "question-answering"\n[data]\ntrain = "a.tsv"\n[input]\ntokenizer = "words"\nlongest = 64\n'
    recipe += "longest_question = 8\n"
    Path("r.toml").write_text(f'{recipe}stride = 16\n[model]\nkind = "bert"\ncontext = 48\n')
    many = [("Who is Ada?", f"{number} Ada the baker", "Ada the baker") for number in range(40)]
    for text, sentence in {
        "question\tcontext\nWho?\tAda\n": "a.tsv:1 has no column 'answer'",
        table([("Who?", "Ada", "Boris")]): "has an answer that stands in its context",
        table(many): "input.longest = 64 is more than the 48 positions of the model",
    }.items():
        Path("a.tsv").write_text(text)
        longest = "input.longest=64" if "positions" in sentence else "input.longest=48"
        assert typed("check", "r.toml", "training.threads=1", longest) == 2
        err = capfd.readouterr().err
        assert sentence in err
        assert "Traceback" not in err


def test_what_makes_no_sense_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text(" \n")
    with pytest.raises(DataError, match="text 1: there is no context to find the answer in"):
        answer(home / "run", "Who is Ada?")
    with pytest.raises(DataError, match="both --context and --context-file"):
        answer(home / "run", "Who?", context="x", context_file=tmp_path / "blank.txt")
    with pytest.raises(DataError, match=r"blank.txt is blank"):
        answer(home / "run", "Who?", context_file=tmp_path / "blank.txt")
    with pytest.raises(DataError, match="text 2: the question is blank"):
        answer(home / "run", "Who?", " ", context="x")
    with pytest.raises(DataError, match="text 1: the question is not valid JSON"):
        answer(home / "run", '{"question": ', context="x")
    with pytest.raises(SettingError, match="--top is 0"):
        answer(home / "run", "Who?", context="x", top=0)


def test_words_that_the_vocabulary_lacks_and_long_questions_are_named(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(home / "run", "Who is Ada or Boris or Ada or Boris?", context=f"{TEXT} ☃")
    err = capsys.readouterr().err
    assert "question 1 has 10 tokens; the model reads the first 6" in err
    assert "the vocabulary lacks '☃'×1" in err


def test_only_such_runs_answer(tmp_path: Path) -> None:
    plain: dict[str, Any] = {
        "task": "translation",
        "data": {"card": "copy", "examples": 50, "valid": 5, "test": 0},
        "input": {"tokenizer": "words"},
        "model": {"size": "tiny", "width": 8, "heads": 2, "feed_forward": 8},
        "training": {"steps": 1, "device": "cpu"},
    }
    train(recipe_from(plain), tmp_path / "run")
    with pytest.raises(RunError, match="learnt translation; answer is for a model that answers questions"):
        answer(tmp_path / "run", "Who?", context="x")
