"""Predictions that a comparison wrote, scored by another: the same scores and p, and a sentence for each wrong file."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fuzz_files import compared_files
from seqwright.cli.comparing import compare_rows
from seqwright.comparison import stages, work
from seqwright.comparison.plan import planned
from seqwright.comparison.prediction_files import read_predictions
from seqwright.comparison.predictions import KINDS
from seqwright.comparison.results import results
from seqwright.comparison.settings import read_comparison
from seqwright.data.labelled_tables import Example
from seqwright.data.tagged import TaggedSentence
from seqwright.errors import UserError

COMMON = """
threads = 1
resamples = 200
data = { examples = 60, valid = 25, test = 31, symbols = 5, longest = 4 }
"""
TRAINING = "training = { steps = 40, tokens = 120, warmup = 1, rate = 0.01 }\n"
ROW = """
[[rows]]
recipe = "reverse"
name = "{}"
model = {{ width = {}, heads = 2, feed_forward = 16, encoder_layers = 1, decoder_layers = 1 }}
"""
BOTH = COMMON + TRAINING + ROW.format("narrow", 8) + ROW.format("wide", 16)
ENSEMBLE = '\n[[rows]]\nname = "both"\nensemble = ["narrow", "wide"]\n'
FILES = "runs/first/predictions/{}-seed-1.jsonl.gz"
ONE_SCORE = {"mean", "interval", "p", "test", "best"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which jobs are done in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stages, "done", lambda job: json.loads(json.dumps(work._done(json.loads(json.dumps(job))))))
    return tmp_path


def compare(name: str, text: str) -> dict[str, Any]:
    """What a comparison finds; it has written its files."""
    Path(f"{name}.toml").write_text(text, encoding="utf-8")
    compare_rows(f"{name}.toml", Path("runs"), dry_run=False, as_json=True)
    found: dict[str, Any] = json.loads(Path(f"runs/{name}/table.json").read_text(encoding="utf-8"))
    return found


def again(*names: str) -> str:
    rows = (f'[[rows]]\nname = "{name}"\npredictions = "{FILES.format(name)}"\n' for name in names)
    return COMMON + "".join(rows)


def scores(found: dict[str, Any], name: str) -> dict[str, Any]:
    """The scores of a row without their seeds."""
    row = next(row for row in found["rows"] if row["name"] == name)
    return {score: {key: value[key] for key in ONE_SCORE & value.keys()} for score, value in row["scores"].items()}


def failure(text: str) -> str:
    """Why the only row is missing."""
    Path("wrong.toml").write_text(text, encoding="utf-8")
    plan = planned(*read_comparison("wrong.toml"), Path("runs"))
    process = stages.Stages(plan, lambda sentence: None)
    outcome = process.go()
    results(plan, outcome, process.records)
    (sentence,) = outcome.failures.values()
    return sentence


def changed(change: Callable[[list[str]], list[str]]) -> str:
    """A comparison of a file whose lines were changed."""
    lines = gzip.decompress(Path(FILES.format("wide")).read_bytes()).decode().splitlines()
    Path("changed.jsonl.gz").write_bytes(gzip.compress("\n".join([*change(lines), ""]).encode()))
    return COMMON + '[[rows]]\npredictions = "changed.jsonl.gz"\n'


def test_rows_of_other_days_have_the_scores_and_p_of_one_day(home: Path) -> None:
    one_day = compare("first", BOTH + ENSEMBLE)
    later = compare("later", again("narrow", "wide", "both"))
    assert [row["name"] for row in later["rows"]] == ["narrow", "wide", "both"]
    assert later["examples"] == 31
    for name in ("narrow", "wide", "both"):
        here, there = scores(later, name), scores(one_day, name)
        assert {"bleu", "chrf", "exact"} <= here.keys() <= there.keys()
        assert here == {score: pytest.approx(there[score]) for score in here}
    assert 0 < scores(later, "wide")["bleu"]["p"] < 1
    steps = {row["name"]: row["training"].get("steps", {}).get("each") for row in later["rows"]}
    assert steps == {"narrow": [40], "wide": [40], "both": None}
    assert not Path("runs/later/predictions").exists()  # they are there already
    mixed = compare("mixed", again("narrow") + '[[rows]]\nname = "wide"\nrun = "runs/first/wide-seed-1"\n')
    here, there = scores(mixed, "wide")["bleu"], scores(one_day, "wide")["bleu"]
    assert (here["mean"], here["interval"]) == pytest.approx((there["mean"], there["interval"]))
    assert here["p"] == pytest.approx(there["p"] / 2), "one test instead of two"
    assert sorted(path.name for path in Path("runs/mixed/predictions").iterdir()) == ["wide.jsonl.gz"]


def test_the_same_predictions_are_the_same_bytes(home: Path) -> None:
    compare("first", BOTH)
    before = Path(FILES.format("wide")).read_bytes()
    assert before[4:8] == bytes(4), "no time stands in the file"
    for path in (*Path("runs/first/records").iterdir(), *Path("runs/first/predictions").iterdir()):
        path.unlink()
    compare("first", BOTH)
    assert Path(FILES.format("wide")).read_bytes() == before


def answers_cut_short(record: Path) -> None:
    path = record.with_suffix(".jsonl")
    path.write_bytes(path.read_bytes()[:-9])


def answers_gone(record: Path) -> None:
    record.with_suffix(".jsonl").unlink()


def nothing_found(record: Path) -> None:
    entries = json.loads(record.read_text())
    record.write_text(json.dumps(entries | {"evaluated": entries["evaluated"] | {"found": {}}}))


def another_score(record: Path) -> None:
    record.write_text(record.read_text().replace('"accuracy": ', '"accuracy": 1'))


def no_json(record: Path) -> None:
    record.write_text(record.read_text()[:-9])


@pytest.mark.parametrize("damage", [answers_cut_short, answers_gone, nothing_found, another_score, no_json])
def test_a_row_whose_records_are_damaged_is_evaluated_again(
    damage: Callable[[Path], None], home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, content in compared_files().items():
        Path(name).write_bytes(content)
    whole, record = compare("again", Path("again.toml").read_text()), Path("runs/again/records/r.json")
    before = record.read_bytes(), record.with_suffix(".jsonl").read_bytes()
    capfd.readouterr()
    damage(record)
    assert compare("again", Path("again.toml").read_text()) == whole
    assert "records/r.json is damaged, or what it speaks of: r is evaluated again" in capfd.readouterr().err
    assert json.loads(record.read_text())["evaluated"] == json.loads(before[0])["evaluated"]
    assert record.with_suffix(".jsonl").read_bytes() == before[1]


def test_what_does_not_fit_is_told(home: Path) -> None:
    compare("first", BOTH)
    wide = again("wide")
    assert "another test part than [data] names" in failure(wide.replace("symbols = 5", "symbols = 6"))
    assert "of the test part, but the valid part is compared" in failure('part = "valid"\n' + wide)
    with pytest.raises(UserError, match=r"made with decoding.beam = 1, the other rows have 2"):
        failure(wide + "[decoding]\nbeam = 2\n")
    with pytest.raises(UserError, match=r"row 'none': there is no file none.jsonl.gz"):
        failure('[[rows]]\npredictions = "none.jsonl.gz"\n')
    with pytest.raises(UserError, match=r"row 'narrow' is a file of predictions, which can join no other"):
        failure(again("narrow", "wide") + '[[rows]]\nname = "x"\nensemble = ["narrow", "wide"]\n')


Plain = dict[str, Any]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda header: {"kind": ["a"]},
        lambda header: {"decoding": 5},
        lambda header: {"parameters": 10**400},
        lambda header: {"training": 5},
        lambda header: {"training": {"steps": 2, "tokens": 9}},
        lambda header: {"training": {**header["training"], "tokens": "9"}},
        lambda header: {"recipe": {**header["recipe"], "model": 1.5}},
        lambda header: {"recipe": {**header["recipe"], "data": [1]}},
    ],
)
def test_a_first_line_that_says_something_else_is_refused(
    wrong: Callable[[Plain], Plain], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    packed = compared_files()["p.jsonl.gz"]
    header, *lines = gzip.decompress(packed).decode().splitlines()
    plain = json.loads(header)
    Path("p.jsonl").write_text("\n".join([json.dumps(plain | wrong(plain)), *lines]))
    with pytest.raises(UserError, match="is no file of predictions that this version"):
        read_predictions(Path("p.jsonl"))


def test_predictions_of_no_kind_are_not_scored_again(home: Path) -> None:
    for name, content in compared_files().items():
        Path(name).write_bytes(content)
    header, *lines = gzip.decompress(Path("p.jsonl.gz").read_bytes()).decode().splitlines()
    plain = {name: value for name, value in json.loads(header).items() if name != "kind"}
    Path("p.jsonl.gz").write_bytes(gzip.compress("\n".join([json.dumps(plain), *lines]).encode()))
    assert "no example alone can score again" in failure(Path("again.toml").read_text())


@pytest.mark.parametrize("value", [10**400, float("nan"), float("inf"), True, "1"], ids=["huge", *"nits"])
def test_what_is_no_finite_number_is_no_prediction_of_one(value: object) -> None:
    assert KINDS["value"].answer({"predicted": value}, Example("a", "1")) is None


def test_every_word_has_a_predicted_tag_whether_its_own_is_known_or_not() -> None:
    answer = KINDS["tags"].answer
    assert answer({"predicted": []}, TaggedSentence(("red", "cat"), ("O", "O"))) is None
    unknown = answer({"predicted": ["O", "O"]}, TaggedSentence(("red", "cat"), ()))
    assert unknown == {"tags": [], "predicted": ["O", "O"]}


def test_a_damaged_file_is_told(home: Path) -> None:
    compare("first", BOTH)
    assert "has 30 predictions, expected 31" in failure(changed(lambda lines: lines[:-1]))
    assert "gz:3 is no prediction for example 1" in failure(
        changed(lambda lines: [*lines[:2], '{"example": 1, "hypothesis": 5}', *lines[3:]])
    )
    assert "gz:3 has no example number" in failure(
        changed(lambda lines: [*lines[:2], '{"hypothesis": "a"}', *lines[3:]])
    )
    assert "gz:32 is for example 99, which the test part does not have" in failure(
        changed(lambda lines: [*lines[:-1], '{"example": 99, "hypothesis": "a"}'])
    )
    assert "gz:2 is no JSON object" in failure(changed(lambda lines: [lines[0], "[" * 5000, *lines[2:]]))
    with pytest.raises(UserError, match="is no file of predictions that this version"):
        failure(changed(lambda lines: ['{"predictions": 9}', *lines[1:]]))
    with pytest.raises(UserError, match="settings that are not those of a recipe"):
        failure(changed(lambda lines: [lines[0].replace('"model":', '"modle":'), *lines[1:]]))
    Path("changed.jsonl.gz").write_bytes(Path(FILES.format("wide")).read_bytes()[:-9])
    assert "damaged gzip" in failure(COMMON + '[[rows]]\npredictions = "changed.jsonl.gz"\n')
