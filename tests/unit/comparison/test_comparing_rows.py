"""A comparison from file to table, all in this process; that it works in processes of its own is a story."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from seqwright.cli.comparing import _print, compare_rows
from seqwright.comparison import stages, work
from seqwright.comparison.page import written_page
from seqwright.comparison.plan import Plan, planned
from seqwright.comparison.records import Records
from seqwright.comparison.results import _over, read_answers, results
from seqwright.comparison.settings import read_comparison
from seqwright.comparison.stages import Outcome, Stages
from seqwright.comparison.table import ComparisonTable, TableCell, _evaluating, markdown, mean_and_deviation, tabled
from seqwright.errors import SettingError, UserError
from seqwright.metrics.significance import FEWEST
from seqwright.metrics.text import bleu

TRANSLATION = """
description = "a | b <c>"
baseline = "narrow"
seeds = [1, 2]
threads = 1
resamples = 50
data = { examples = 60, valid = 5, test = 24, symbols = 7, longest = 4 }
training = { steps = 5, tokens = 120, warmup = 1, log_every = 2 }
[[rows]]
recipe = "reverse"
name = "narrow"
model = { width = 8, heads = 2, feed_forward = 16, encoder_layers = 1, decoder_layers = 1 }
[[rows]]
recipe = "reverse"
name = "wide"
model = { width = 16, heads = 2, feed_forward = 16, encoder_layers = 1, decoder_layers = 1 }
[[rows]]
name = "both"
ensemble = ["narrow", "wide"]
"""
ONE = TRANSLATION.partition('[[rows]]\nrecipe = "reverse"\nname = "wide"')[0].replace("[1, 2]", "[1]")


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The stages that were really done, here and not in a process of their own."""
    seen: list[str] = []

    def done(job: dict[str, Any]) -> dict[str, Any]:
        seen.append(job["stage"])
        found: dict[str, Any] = json.loads(json.dumps(work._done(json.loads(json.dumps(job)))))
        return found

    monkeypatch.setattr(stages, "done", done)
    return seen


def plan_of(folder: Path, text: str) -> Plan:
    folder.mkdir(exist_ok=True)
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return planned(*read_comparison(str(path)), folder / "runs")


def compared(plan: Plan) -> tuple[Outcome, dict[str, Any]]:
    process = Stages(plan, lambda sentence: None)
    outcome = process.go()
    return outcome, results(plan, outcome, process.records)


def test_translations_are_compared_and_nothing_is_done_twice(jobs: list[str], tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TRANSLATION)
    _, found = compared(plan)
    assert sorted(jobs) == ["evaluated"] * 6 + ["measured"] * 2 + ["trained"] * 4
    assert [row["name"] for row in found["rows"]] == ["narrow", "wide", "both"]
    narrow, wide, both = found["rows"]
    lines = (plan.folder / "records" / "wide-seed-1.jsonl").read_text(encoding="utf-8").splitlines()
    answers = [json.loads(line) for line in lines]
    score = bleu([answer["hypothesis"] for answer in answers], [answer["reference"] for answer in answers])
    assert wide["scores"]["bleu"]["each"][0] == pytest.approx(score.value)
    assert narrow["scores"]["bleu"]["p"] is None
    assert 0 < wide["scores"]["bleu"]["p"] <= 1
    assert both["parameters"] == narrow["parameters"] + wide["parameters"]
    assert both["training"]["flops"]["mean"] == pytest.approx(
        narrow["training"]["flops"]["mean"] + wide["training"]["flops"]["mean"]
    )
    assert wide["training"]["steps"]["each"] == [5, 5]
    assert wide["cost"]["energy_wh"]["mean"] > 0
    jobs.clear()
    assert compared(plan)[1] == found
    assert jobs == []
    assert compared(plan_of(tmp_path, TRANSLATION + "[decoding]\nbeam = 2\n"))[1]["decoding"]["beam"] == 2
    assert jobs == ["evaluated"] * 6


def test_other_threads_train_nothing_anew(jobs: list[str], tmp_path: Path) -> None:
    compared(plan_of(tmp_path, ONE))
    jobs.clear()
    compared(plan_of(tmp_path, ONE.replace("threads = 1", "threads = 2")))
    assert jobs == ["measured", "evaluated"]


def test_another_description_measures_and_trains_nothing_anew(jobs: list[str], tmp_path: Path) -> None:
    row = '[[rows]]\nrecipe = "mine-too.toml"\nname = "narrow"\n'
    (tmp_path / "mine-too.toml").write_text('base = "reverse"\ndescription = "one"\nmodel = { width = 16 }\n')
    text = ONE.partition("[[rows]]")[0] + row
    _, before = compared(plan_of(tmp_path, text))
    jobs.clear()
    (tmp_path / "mine-too.toml").write_text('base = "reverse"\ndescription = "two"\nmodel = { width = 16 }\n')
    _, after = compared(plan_of(tmp_path, text))
    assert jobs == []
    assert (before["rows"][0]["recipe"], after["rows"][0]["recipe"]) == ("one", "two")
    assert before["rows"][0]["cost"] == after["rows"][0]["cost"]


def test_what_only_training_knew_is_kept_where_nothing_is_left_to_train(jobs: list[str], tmp_path: Path) -> None:
    plan = plan_of(tmp_path, ONE)
    _, before = compared(plan)
    path = plan.folder / "records" / "narrow-seed-1.json"
    entries = json.loads(path.read_text(encoding="utf-8"))
    entries["trained"]["made_by"]["data"]["examples"] = "as if the data had lain elsewhere"
    path.write_text(json.dumps(entries), encoding="utf-8")
    jobs.clear()
    _, after = compared(plan)
    assert jobs == ["trained"]
    for name in ("memory_bytes", "cores", "energy_wh"):
        assert before["rows"][0]["cost"][name]["mean"] == pytest.approx(after["rows"][0]["cost"][name]["mean"])


def test_few_examples_give_no_interval_and_that_is_said(jobs: list[str], tmp_path: Path) -> None:
    _, found = compared(plan_of(tmp_path, ONE.replace("test = 24", "test = 7")))
    assert "interval" not in found["rows"][0]["scores"]["bleu"]
    assert "No intervals and no p: 7 examples are too few to be drawn again." in tabled(found).notes


def test_answers_may_have_every_end_of_line_in_them(tmp_path: Path) -> None:
    records = Records(tmp_path)
    given = [{"hypothesis": "a\u0085b\u2028c\nd\re"}, {"hypothesis": ""}]
    records.answers("x").write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in given))
    assert read_answers(records, "x") == given


@pytest.mark.parametrize(
    "content",
    [b"\xff", b"{", b"[" * 5000, b"[1]", b'{"measured": 3}', b'{"measured": {"found": {}}}', b'{"measured": null}'],
)
def test_a_damaged_record_is_none(content: bytes, tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.keep("x", "measured", {"seed": 1}, {"parameters": 7})
    assert records.found("x", "measured", {"seed": 1}) == {"parameters": 7}
    records.path("x").write_bytes(content)
    assert records.found("x", "measured", {"seed": 1}) is None
    assert records.measured_before("x") == {}
    records.keep("x", "measured", {"seed": 1}, {"parameters": 7})
    assert records.found("x", "measured", {"seed": 1}) == {"parameters": 7}


def test_perplexities_beyond_all_bounds_have_no_deviation_and_few_digits() -> None:
    assert _over([float("inf"), 3.0])["deviation"] is None
    assert mean_and_deviation({"mean": 1.5e120, "deviation": None}, "word_perplexity") == "1.5e+120"
    assert mean_and_deviation({"mean": 275.9, "deviation": 1.25}, "word_perplexity") == "275.90 ± 1.25"


@pytest.mark.parametrize(
    ("decoding", "said"),
    [
        ({"beam": 1}, "greedy;"),
        ({"beam": 1, "temperature": 0.5}, "sampled at temperature 0.5;"),
        (
            {"beam": 3, "length_penalty": 0.6, "coverage_penalty": 0.2},
            "beam 3, length penalty 0.6, coverage penalty 0.2;",
        ),
        ({"beam": 1, "unknown": "copy"}, "greedy, unknown words copied;"),
    ],
)
def test_how_rows_were_decoded_is_said(decoding: dict[str, Any], said: str) -> None:
    found = {"part": "test", "examples": 5, "threads": 1, "decoding": decoding}
    assert _evaluating(found) == f"Evaluated on the test part, 5 examples, {said} 1 thread."


def test_how_many_examples_there_are_is_said_where_nothing_is_decoded() -> None:
    found = {"part": "test", "examples": 5, "threads": 2, "decoding": None}
    assert _evaluating(found) == "Evaluated on the test part, 5 examples; 2 threads."


def test_where_every_row_fails_a_table_says_why(
    jobs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = 'task = "language-modeling"\ndata = { train = "nowhere.txt" }\nmodel = { kind = "ngram", order = 2 }\n'
    Path("lost.toml").write_text(data)
    Path("mine.toml").write_text('threads = 1\n[[rows]]\nrecipe = "lost.toml"\n')
    with pytest.raises(SystemExit) as end:
        compare_rows("mine.toml", Path("runs"), dry_run=False, as_json=False)
    assert end.value.code == 1
    assert "row 'lost' is missing: there is no file nowhere.txt" in capsys.readouterr().err
    assert "lost is missing" in Path("runs/mine/table.md").read_text()


def test_a_run_is_evaluated_on_data_of_another_kind(jobs: list[str], tmp_path: Path) -> None:
    compared(plan_of(tmp_path, ONE))
    (tmp_path / "pairs.tsv").write_text("".join(f"a b {i % 5}\t{i % 5} b a\n" for i in range(40)))
    run = f'[[rows]]\nrun = "{tmp_path}/runs/mine/narrow-seed-1"\n'
    data = f'data = {{ train = "{tmp_path}/pairs.tsv", valid = "50%" }}\npart = "valid"\nthreads = 1\n'
    outcome, found = compared(plan_of(tmp_path / "other", data + run))
    assert outcome.failures == {}
    assert found["rows"][0]["scores"]["bleu"]["mean"] >= 0


def test_a_row_with_a_teacher_is_refused_in_a_sentence(tmp_path: Path) -> None:
    row = '[[rows]]\nrecipe = "sst2-bert"\nobjective = { kind = "label-distillation", teacher = "runs/x" }\n'
    with pytest.raises(SettingError, match="row 'sst2-bert': it has a teacher, whom no comparison asks; distil it"):
        plan_of(tmp_path, row)


def test_the_table_and_the_page_say_what_was_found(jobs: list[str], tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TRANSLATION)
    _, found = compared(plan)
    table = tabled(found)
    assert table.titles[:6] == ["", "BLEU ↑", "95 %", "p", "chrF ↑", "perplexity per word ↓"]
    assert {"parameters", "training FLOPs", "tokens/s training", "tokens/s decoding", "peak memory", "energy"} <= set(
        table.titles
    )
    text = markdown(found, table)
    assert len([line for line in text.splitlines() if line.startswith("|")]) == 2 + 3
    assert re.search(r"busy cores \(\d.*\) × 10 W", text)
    assert "evaluated as they are" not in text
    found["rows"][0]["trained"] = False
    assert any("evaluated as they are, whatever they were given: narrow" in note for note in tabled(found).notes)
    page = written_page(plan, found, table)
    assert "a | b &lt;c&gt;" in page
    assert page.count("data:image/png;base64,") == 1 + 2  # curves, and the alignments of the two rows that attend
    assert re.search(r'(src|href)="(?!data:)', page) is None
    scores, costs = (page.split("<table>")[number].count('scope="col"') for number in (1, 2))
    assert (scores, costs) == (table.score_columns, 1 + len(table.titles) - table.score_columns)


def test_a_narrow_terminal_breaks_the_table_but_no_number(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    titles = ["", "BLEU ↑", "95 %", "training FLOPs", "tokens/s training", "peak memory"]
    cells = ["a row [bold]whose name[/bold] is rather long", "28.31", "±1.53", "1.23e15", "123,456", "12.34 GiB"]
    monkeypatch.setenv("COLUMNS", "40")
    _print(ComparisonTable(titles, [[TableCell(text) for text in cells]], 3, []))
    said = capsys.readouterr().out
    assert all(text in said for text in cells[1:])
    assert "[bold]" in said
    assert max(map(len, said.splitlines())) <= 40


def test_a_comparison_does_not_move_into_a_run(tmp_path: Path) -> None:
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "runs" / "mine" / "resolved.toml").touch()
    with pytest.raises(SettingError, match=r"runs/mine is a run; give the comparison in .*mine\.toml another name"):
        plan_of(tmp_path, TRANSLATION)


def test_a_row_that_fails_is_told_and_the_others_go_on(jobs: list[str], tmp_path: Path) -> None:
    bad = TRANSLATION.replace("model = { width = 16", 'training.metric = "blue"\nmodel = { width = 16')
    outcome, found = compared(plan_of(tmp_path, bad))
    assert list(outcome.failures) == ["wide", "both"]
    assert "Did you mean 'bleu'" in outcome.failures["wide"]
    assert outcome.failures["both"] == "its member 'wide' has failed"
    assert [row["name"] for row in found["rows"]] == ["narrow"]
    assert any("wide is missing" in note for note in tabled(found).notes)


def test_what_was_begun_for_another_budget_is_not_resumed(jobs: list[str], tmp_path: Path) -> None:
    compared(plan_of(tmp_path, ONE))
    outcome, _ = compared(plan_of(tmp_path, ONE.replace("steps = 5", "steps = 9")))
    assert "training.steps was 5 and is 9" in outcome.failures["narrow"]
    assert "delete it to train it from scratch" in outcome.failures["narrow"]


def test_a_budget_of_tokens_is_what_is_learnt_from(jobs: list[str], tmp_path: Path) -> None:
    _, found = compared(plan_of(tmp_path, "budget = { tokens = 1500 }\n" + ONE))
    assert found["rows"][0]["training"]["tokens"]["mean"] == pytest.approx(1500, rel=0.15)


def test_language_models_and_a_run_that_is_there(jobs: list[str], tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("".join(f"{'ab' * (i % 7)} {i}\n" for i in range(200)), encoding="utf-8")
    recipe = f"""
task = "language-modeling"
input = {{ tokenizer = "characters", rows = "documents" }}
data = {{ train = "{tmp_path}/text.txt", valid = "10%", test = "20%" }}
"""
    (tmp_path / "pairs.toml").write_text(recipe + 'model = { kind = "ngram", order = 2, smoothing = "add-k" }')
    training = 'training = { steps = 4, schedule = "constant" }'
    (tmp_path / "lstm.toml").write_text(recipe + f'model = {{ kind = "lstm", width = 4 }}\n{training}')
    rows = '[[rows]]\nrecipe = "pairs.toml"\n[[rows]]\nrecipe = "lstm.toml"\n'
    shared = "threads = 1\nresamples = 40\nbudget = { minutes = 0.001 }\n"
    _, found = compared(plan_of(tmp_path, shared + rows))
    assert found["shown"][0] == "bits_per_byte"
    pairs, lstm = found["rows"]
    assert "flops" not in pairs["training"]
    assert "flops" in lstm["training"]
    assert lstm["scores"]["bits_per_byte"]["interval"] > 0
    run = f'[[rows]]\nrun = "{tmp_path}/runs/mine/lstm-seed-1"\nname = "again"\n'
    again = compared(plan_of(tmp_path, shared + rows + run))[1]["rows"][2]
    assert again["scores"]["bits_per_byte"]["each"] == lstm["scores"]["bits_per_byte"]["each"]
    assert again["training"]["flops"] == lstm["training"]["flops"]
    assert "memory_bytes" not in again["cost"]


def test_forecasters(jobs: list[str], tmp_path: Path) -> None:
    text = """
threads = 1
resamples = 40
data = { examples = 60, valid = 11, test = 23 }
training = { epochs = 1 }
[[rows]]
recipe = "waves-dense"
[[rows]]
recipe = "waves-lstm"
[[rows]]
name = "both"
ensemble = ["waves-dense", "waves-lstm"]
"""
    _, found = compared(plan_of(tmp_path, text))
    dense, lstm, both = (row["scores"]["mse"]["mean"] for row in found["rows"])
    assert 0 < both < max(dense, lstm)  # the square is convex
    assert found["shown"] == ["mse", "mae", "mase"]
    assert found["lower_is_better"] == found["shown"]
    assert all(row["scores"]["mse"]["interval"] > 0 for row in found["rows"])


def test_classifiers_with_two_seeds(jobs: list[str], tmp_path: Path) -> None:
    lines = [f"{'good' if i % 3 else 'bad'} film {i}\t{'yes' if i % 3 else 'no'}\n" for i in range(150)]
    (tmp_path / "films.tsv").write_text("".join(lines), encoding="utf-8")
    text = """
threads = 1
resamples = 40
seeds = [1, 2]
budget = { tokens = 3000 }
[[rows]]
recipe = "films.toml"
[[rows]]
name = "GRU"
recipe = "films.toml"
model.kind = "gru"
[[rows]]
name = "both"
ensemble = ["films", "GRU"]
"""
    recipe = f"""
task = "text-classification"
data = {{ train = "{tmp_path}/films.tsv", valid = "10%", test = "20%" }}
input = {{ tokenizer = "words" }}
model = {{ kind = "lstm", width = 8 }}
"""
    (tmp_path / "films.toml").write_text(recipe, encoding="utf-8")
    _, found = compared(plan_of(tmp_path, text))
    assert found["shown"] == ["accuracy", "macro_f1", "loss"]
    for row in found["rows"]:
        accuracy = row["scores"]["accuracy"]
        assert len(accuracy["each"]) == 2
        assert accuracy["deviation"] is not None
        assert row["training"]["flops"]["mean"] > 0
        assert row["cost"]["energy_wh"]["mean"] > 0
    assert found["made"]["torch"] == torch.__version__
    assert found["made"]["cores"] == os.cpu_count()


def test_the_interval_of_many_windows_is_that_of_a_sample(
    jobs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seqwright.outputs.values.VALUES_KEPT", 30 * 60)
    text = "threads = 1\nresamples = 40\ndata = { examples = 60, valid = 11, test = 90 }\ntraining = { epochs = 1 }\n"
    plan = plan_of(tmp_path, text + '[[rows]]\nrecipe = "waves-dense"\n')
    _, found = compared(plan)
    answers = (plan.folder / "records" / "waves-dense-seed-1.jsonl").read_text().splitlines()
    assert FEWEST <= len(answers) < 90
    assert found["rows"][0]["scores"]["mse"]["interval"] > 0


def test_a_process_that_dies_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "false")
    with pytest.raises(UserError, match="its process ended with code 1"):
        stages.done({"stage": "measured"})
