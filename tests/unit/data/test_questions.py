"""Questions from files of every form: what is read, how parts are cut, and what is refused."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from seqwright.data.cards import card, other_files
from seqwright.data.question_files import RightAnswer, placed
from seqwright.data.questions import QuestionFiles, QuestionFilesSettings
from seqwright.errors import DataError, SettingError

SQUAD = '{"data": [{"paragraphs": [{"context": "b", "qas": [{"id": "7", "question": "ASKED", "answers": []}]}]}]}'
CONTEXT = "Ada lives in  New York. Bob lives in Rome."


def squad(path: Path, paragraphs: list[tuple[str, list[dict[str, Any]]]]) -> Path:
    articles = [{"title": "x", "paragraphs": [{"context": context, "qas": asked}]} for context, asked in paragraphs]
    path.write_text(json.dumps({"version": "v2.0", "data": articles}), encoding="utf-8")
    return path


def read(path: Path, **settings: Any) -> QuestionFiles:
    return QuestionFiles(QuestionFilesSettings(train=str(path), **{"valid": str(path), **settings}))


def one(path: Path, **settings: Any) -> Any:
    (question,) = read(path, **settings).examples("train")
    return question


def test_squad_2_has_questions_with_and_without_answers(tmp_path: Path) -> None:
    right = {"id": "1", "question": "Where is Bob?", "answers": [{"text": "Rome", "answer_start": 37}]}
    none = {"id": "2", "question": "Who?", "is_impossible": True, "answers": [], "plausible_answers": [{"text": "Ada"}]}
    data = read(squad(tmp_path / "a.json", [(CONTEXT, [right, none])]))
    first, second = data.examples("train")
    assert (first.name, first.question, first.context, first.texts) == ("1", "Where is Bob?", CONTEXT, ["Rome"])
    assert first.answers == (RightAnswer("Rome", 37),)
    assert second.answers == ()
    assert not first.lost
    assert not second.lost


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "csv.gz", "jsonl.gz", "squad-in-jsonl"])
def test_every_form_gives_the_same(tmp_path: Path, form: str) -> None:
    row: dict[str, Any] = {"question": "Where is Bob?", "context": CONTEXT, "answer": "Rome", "answer_start": 37}
    if form == "squad-in-jsonl":  # as the datasets library writes it
        row = {"id": "7", **row, "answers": {"text": ["Rome"], "answer_start": [37]}}
        del row["answer"], row["answer_start"]
    separator = {"csv": ",", "tsv": "\t"}.get(form.split(".")[0])
    text = f"{json.dumps(row)}\n"
    if separator:
        text = "".join(separator.join(map(str, cells)) + "\n" for cells in (row, row.values()))
    path = tmp_path / f"a.{'jsonl' if form == 'squad-in-jsonl' else form}"
    path.write_bytes(gzip.compress(text.encode()) if form.endswith("gz") else text.encode())
    question = one(path)
    assert (question.question, question.context) == ("Where is Bob?", CONTEXT)
    assert (question.answers, question.moved) == ((RightAnswer("Rome", 37),), 0)


def test_rows_that_ask_the_same_are_one_question(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"question,context,answer\nWho?,{CONTEXT},Ada\nWhere?,{CONTEXT},Rome\nWho?,{CONTEXT},Bob\n")
    who, where = read(path).examples("train")
    assert who.texts == ["Ada", "Bob"]
    assert where.texts == ["Rome"]


def test_columns_can_be_named_or_numbered(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{CONTEXT},Rome,Where?\n")
    assert one(path, question=3, context=1, answer=2).texts == ["Rome"]
    path.write_text(f"Text,Span,Asked\n{CONTEXT},Rome,Where?\n")
    assert one(path, question="asked", context="text", answer="span").answers == (RightAnswer("Rome", 37),)


def test_a_mark_for_no_answer_is_no_answer_and_no_part_of_the_context(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('question,review,human_ans_spans,human_ans_indices\nHow?,Good food. NOPE,NOPE,"(11, 15)"\n')
    question = one(path, no_answer="NOPE")
    assert (question.context, question.answers) == ("Good food.", ())


def test_an_answer_is_looked_for_where_it_does_not_stand() -> None:
    assert placed(CONTEXT, "Rome", 37) == RightAnswer("Rome", 37)
    assert placed(CONTEXT, "Rome", 3) == RightAnswer("Rome", 37)
    assert placed(CONTEXT, "Rome", None) == RightAnswer("Rome", 37)
    assert placed(CONTEXT, "lives", 20) == RightAnswer("lives", 28)  # the nearer of two
    assert placed(CONTEXT, "New York .", 14) == RightAnswer("New York.", 14)  # the context's own spaces
    assert placed(CONTEXT, "in New York", 10) == RightAnswer("in  New York", 10)
    assert placed(CONTEXT, "Paris", 3) == RightAnswer("Paris", None)


def test_answers_that_are_elsewhere_or_nowhere_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"question,context,answer,start\nA?,{CONTEXT},Rome,3\nB?,{CONTEXT},Paris,3\nC?,{CONTEXT},Ada,0\n")
    moved, lost, right = read(path).examples("train")
    assert [moved.moved, lost.moved, right.moved] == [1, 0, 0]
    assert [moved.lost, lost.lost, right.lost] == [False, True, False]
    assert lost.texts == ["Paris"]


def many(path: Path, count: int = 60) -> Path:
    rows = [f"Q{number % 3}?,Context {number // 3} is here.,here\n" for number in range(count)]
    path.write_text("question,context,answer\n" + "".join(rows))
    return path


def test_no_context_is_in_two_parts(tmp_path: Path) -> None:
    data = read(many(tmp_path / "a.csv"), valid="20%", test="20%")
    contexts = {part: {each.context for each in data.examples(part)} for part in data.parts()}
    assert list(contexts) == ["train", "valid", "test"]
    assert sum(map(len, contexts.values())) == 20
    assert len(set.union(*contexts.values())) == 20
    assert data.remarks() == []


def test_training_questions_about_contexts_of_another_file_are_left_out(tmp_path: Path) -> None:
    whole, few = many(tmp_path / "a.csv"), many(tmp_path / "b.csv", 9)
    data = read(whole, valid=str(few))
    assert len(list(data.examples("train"))) == 51
    assert len(list(data.examples("valid"))) == 9
    assert data.remarks() == ["9 training questions about contexts that another part has too are left out"]
    kept = read(whole, valid=str(few), overlap="keep")
    assert len(list(kept.examples("train"))) == 60
    assert "will be optimistic" in kept.remarks()[0]
    assert kept.fingerprint("train") != data.fingerprint("train")
    assert kept.fingerprint("valid") == data.fingerprint("valid")


def test_the_fingerprint_follows_the_content_and_not_the_path(tmp_path: Path) -> None:
    first, same, other = (many(tmp_path / f"{name}.csv", count) for name, count in (("a", 60), ("b", 60), ("c", 57)))
    prints = [read(path, valid="20%").fingerprint("train") for path in (first, same, other)]
    assert prints[0] == prints[1] != prints[2]


def test_another_file_is_read_as_the_one_trained_on(tmp_path: Path) -> None:
    known = QuestionFilesSettings(train="a.csv", question="asked", no_answer="NOPE")
    found = QuestionFilesSettings(**other_files([tmp_path / "b.csv"], known, "questions"))
    assert (found.question, found.no_answer, found.train) == ("asked", "NOPE", str(tmp_path / "b.csv"))


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.csv", "question,context\nA?,b\n", "has no column 'answer' but 'question', 'context'"),
        ("a.csv", "question,context,answer\nA?,b\n", "a.csv:2 has 2 columns, expected at least 3"),
        ("a.csv", "question,context,answer\n ,b,b\n", "a.csv:2 has no question"),
        ("a.csv", "question,context,answer,start\nA?,b,b,first\n", "a.csv:2 has the place 'first'"),
        ("a.jsonl", '{"question": "A?"}\n', "a.jsonl:1 has no key 'context' but 'question'"),
        ("a.jsonl", "A?\n", "a.jsonl:1 is not valid JSON"),
        ("a.jsonl", '{"question": "A?", "context": "b", "answer": 3}\n', "a.jsonl:1 has the answer 3"),
        ("a.json", '{"question": "A?"}\n', "a.json is not as SQuAD's JSON"),
        ("a.json", '{"question": "A?"}\n{"question": "B?"}\n', "JSON lines belong into a .jsonl file"),
        (
            "a.jsonl",
            '{"question": "A\\ud800?", "context": "b", "answer": "b"}\n',
            "half a surrogate pair under 'question'",
        ),
        ("a.json", SQUAD.replace("ASKED", " "), "a.json, question 7, has a blank question"),
        ("a.txt", "A?\n", "has the extension '.txt'"),
        ("a.csv", "question,context,answer\n", "the train part is empty"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as refused:
        list(read(tmp_path / name).examples("train"))
    assert sentence in str(refused.value)


def test_shares_that_leave_nothing_are_refused() -> None:
    with pytest.raises(SettingError, match="leave nothing to train on"):
        QuestionFilesSettings(train="a.csv", valid="60%", test="40%")


def test_subjqa_is_read_without_its_leak(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (shared_data / "subjqa").is_dir():
        pytest.skip(f"{shared_data / 'subjqa'} is not there; it holds SubjQA")
    monkeypatch.setenv("SEQWRIGHT_DATA", str(shared_data))
    data = card("subjqa").open(subset="grocery")
    train, valid = (list(data.examples(part)) for part in data.parts())
    assert (len(train), len(valid)) == (872, 218)
    assert {each.context for each in train}.isdisjoint(each.context for each in valid)
    assert data.remarks() == ["grocery: 248 training questions about contexts that another part has too are left out"]
    assert not any("ANSWERNOTFOUND" in text for each in valid for text in (each.context, *each.texts))
    for question in (*train, *valid):
        for text, begin in question.answers:
            assert begin is None or question.context[begin : begin + len(text)] == text


def test_xquad_has_three_languages(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (shared_data / "xquad").is_dir():
        pytest.skip(f"{shared_data / 'xquad'} is not there; it holds XQuAD")
    monkeypatch.setenv("SEQWRIGHT_DATA", str(shared_data))
    for language in ("en", "de", "es"):
        data = card("xquad").open(subset=language)
        assert sum(len(list(data.examples(part))) for part in data.parts()) == 1190
    with pytest.raises(SettingError, match=r"data.subset is 'dee', but xquad has only en, de, es. Did you mean 'de'"):
        card("xquad").open(subset="dee")


def test_a_card_that_is_not_there_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_DATA", str(tmp_path))
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path))
    with pytest.raises(DataError, match="run `seqwright data get xquad`"):
        card("xquad").open()
    with pytest.raises(SettingError, match=r"there is no dataset card 'sqad'.*Did you mean 'squad'"):
        card("sqad")
