"""What every task promises, whatever it reads and says. A task is tested here by adding a row to `tiny_tasks.TINY`.

Training, `eval`, the verb and `look` read the same rows and say the same of them; what a user types is never answered
with silence or a traceback; and the commands all work on a tiny file of one's own.
"""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqwright as sw
from seqwright.comparison import stages, work
from seqwright.errors import UserError
from seqwright.inputs.saved import saved_sum
from seqwright.kinds import TASKS
from tests.contract import wing
from tests.contract.tiny_tasks import TINY, Tiny
from tests.contract.workshop import Typed, Workshop, one_sentence, typed

# What is known to be broken, by the promise and the tiny task: the test must fail until it is mended.
KNOWN: dict[tuple[str, str], str] = {}


def every(promise: str) -> pytest.MarkDecorator:
    """Every tiny task; those that are known to break the promise must break it."""
    broken = {name: reason for (kept, name), reason in KNOWN.items() if kept == promise}
    marks = {
        name: [pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)] for name, reason in broken.items()
    }
    return pytest.mark.parametrize("tiny", [pytest.param(t, id=t.name, marks=marks.get(t.name, [])) for t in TINY])


@pytest.fixture
def run(tiny: Tiny, workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The run of a tiny task, in whose folder the test works."""
    workshop.enter(tiny, monkeypatch)
    return wing.opened(Path("run"))


def texts_in(prediction: wing.Prediction) -> list[str]:
    """The words, labels and texts of a prediction."""
    return [value for value in prediction if isinstance(value, str)]


def numbers_in(prediction: wing.Prediction) -> list[float]:
    """Its probabilities, scores and values."""
    return [value for value in prediction if not isinstance(value, str)]


def test_every_task_is_here() -> None:
    assert {tiny.task for tiny in TINY} == set(TASKS)


# ---------------------------------------------------------------------------------------------------- one judgement


@every("agree")
def test_validation_evaluation_and_the_verb_agree(tiny: Tiny, run: Any) -> None:
    validated, evaluated = wing.validation(run), wing.evaluation(run, "valid")
    assert {name: evaluated.scores[name] for name in validated} == pytest.approx(validated, rel=1e-6, abs=1e-6)
    predicted = wing.predictions(run, evaluated.examples)
    assert len(set(predicted)) > 2, "predictions that are all the same agree by luck"
    assert [texts_in(one) for one in predicted] == [texts_in(one) for one in evaluated.predictions]
    # `eval` writes four digits down
    assert np.concatenate([*map(numbers_in, predicted)]) == pytest.approx(
        np.concatenate([*map(numbers_in, evaluated.predictions)]), abs=1e-4
    )


def compared(name: str, rows: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a comparison of the validation part says, made in this process."""
    monkeypatch.setattr(stages, "done", work._done)
    Path(f"{name}.toml").write_text(f'threads = 1\nresamples = 40\npart = "valid"\n{rows}', encoding="utf-8")
    found = typed("compare", f"{name}.toml", "--json")
    assert found.code == 0, found.err
    return {row["name"]: row for row in json.loads(found.out)["rows"]}


def means(row: dict[str, Any]) -> dict[str, float]:
    return {name: score["mean"] for name, score in row["scores"].items()}


@every("numbers alike")
def test_validation_eval_python_and_compare_give_the_same_numbers(
    tiny: Tiny, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verb predicts the same for the same examples, by the test before."""
    wanted = sw.load("run").evaluate("valid").scores
    printed = json.loads(typed("eval", "RUN", "--part", "valid", "--json").out)
    table = means(compared("alike", '[[rows]]\nrun = "run"\n', monkeypatch)["run"])
    for found, tolerance in ((wing.validation(run), 1e-6), (printed, 1e-4), (table, 1e-6)):
        shared = {name: wanted[name] for name in found if name in wanted}
        assert {*TASKS[tiny.task].shown[:1], *wing.validation(run)} & {*shared}
        assert {name: found[name] for name in shared} == pytest.approx(shared, rel=tolerance, abs=tolerance)


@every("predictions")
def test_compare_scores_the_predictions_of_another_day_as_it_did_then(
    tiny: Tiny, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    then = compared("then", '[[rows]]\nrun = "run"\n', monkeypatch)["run"]
    (path,) = Path("runs/then/predictions").iterdir()
    header, *lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert len(lines) == header["examples"]
    right = {"reference", "source", "label", "tags", "answers", "value", "truth", "text", "hidden", "exact", "f1"}
    assert not any(right & line.keys() for line in lines), "no reference is in the file"
    rows = f'[[rows]]\nname = "again"\npredictions = "{path}"\n'
    if header["kind"] is None:
        Path("no.toml").write_text(f'threads = 1\npart = "valid"\n{rows}', encoding="utf-8")
        assert "no example alone can score again" in typed("compare", "no.toml").err
        return
    both = compared("again", f'{rows}[[rows]]\nrun = "run"\n', monkeypatch)
    scores = means(both["again"])
    assert {*TASKS[tiny.task].shown[:1]} <= scores.keys()
    assert scores == pytest.approx({name: means(then)[name] for name in scores}, rel=1e-4, abs=1e-9)


@every("alone")
def test_an_example_is_predicted_alone_as_among_others(tiny: Tiny, run: Any) -> None:
    examples = wing.examples_of(run, "valid")
    together = wing.predictions(run, examples)
    for example, among in zip(examples[:5], together[:5], strict=True):
        [alone] = wing.predictions(run, [example])
        assert texts_in(alone) == texts_in(among)
        assert numbers_in(alone) == pytest.approx(numbers_in(among), abs=1e-4)


@every("ensemble")
def test_an_ensemble_of_a_run_with_itself_predicts_the_same(tiny: Tiny, run: Any) -> None:
    if not tiny.together:
        with pytest.raises(UserError, match="name one run"):
            wing.evaluation(wing.ensemble(run, run), "valid")
        return
    both, alone = wing.ensemble(run, run), wing.evaluation(run, "valid")
    scores = wing.evaluation(both, "valid").scores
    assert scores == pytest.approx({name: alone.scores[name] for name in scores}, abs=1e-4)
    for one, other in zip(*(wing.predictions(each, alone.examples) for each in (run, both)), strict=True):
        assert texts_in(one) == texts_in(other)
        assert numbers_in(one) == pytest.approx(numbers_in(other), abs=1e-4)


@every("streamed")
def test_what_is_streamed_is_what_a_call_writes(tiny: Tiny, run: Any) -> None:
    if not run.output.decodes:  # language models have a test of their own
        return
    for example in wing.examples_of(run, "valid")[:5]:
        for decoding in ({}, {"beam": 3}):
            assert "".join(run.stream(example, **decoding)) == run(example, **decoding).text


# ---------------------------------------------------------------------------------------------------- one row


@every("rows")
def test_training_evaluation_and_the_verb_read_the_same_rows(tiny: Tiny, run: Any) -> None:
    trained = wing.training_rows(run)
    with wing.listening(run) as evaluated:
        wing.evaluation(run, "train")
    predicted = {row for example in wing.examples_of(run, "train") for row in wing.predicted_rows(run, example)}
    assert len(trained) > 20
    assert evaluated == trained
    assert predicted == trained


@every("numbers")
def test_every_batch_knows_the_numbers_of_its_examples(tiny: Tiny, run: Any) -> None:
    numbered, examples = wing.numbered_rows(run), wing.examples_of(run, "train")
    assert {number for number, _ in numbered} == set(range(len(examples)))
    rows = [wing.predicted_rows(run, example) for example in examples]
    assert all(row in rows[number] for number, row in numbered)


@every("look")
def test_look_draws_the_row_that_was_predicted_from(tiny: Tiny, run: Any) -> None:
    if not tiny.look:
        refused = typed("look", "RUN", "red")
        assert refused.code == 2
        assert one_sentence(refused.err)
        return
    with wing.listening(run) as predicted:
        assert typed(*tiny.verb).code == 0
    with wing.listening(run) as looked:
        seen = typed(*tiny.look)
    assert seen.code == 0, seen.err
    assert predicted
    assert looked == predicted


@every("long look")
def test_look_cuts_a_long_text_as_a_prediction_does(tiny: Tiny, run: Any) -> None:
    with wing.listening(run) as predicted:
        refused = typed(*tiny.overlong).code
    if refused or not tiny.look:
        return
    with wing.listening(run) as looked:
        seen = typed(*tiny.look[:2], tiny.overlong[2], *tiny.look[3:])
    assert seen.code == 0, seen.err
    assert looked
    assert looked <= predicted  # a row of several, where an example has them


@every("gradients")
def test_gradients_are_of_the_row_that_was_predicted_from(tiny: Tiny, run: Any) -> None:
    if not tiny.gradients:
        refused = typed("look", "RUN", *tiny.look[2:], "--gradients")
        assert refused.code == 2
        assert one_sentence(refused.err)
        return
    with wing.listening(run) as predicted:
        if tiny.look:
            typed(*tiny.verb)
        else:  # its own data serves
            typed("eval", "RUN", "--part", "valid")
    with wing.listening(run) as followed:
        seen = typed(*tiny.gradients)
    assert seen.code == 0, seen.err
    assert followed
    assert followed <= predicted


@every("word")
def test_a_word_is_compared_in_several_texts_or_refused_in_a_sentence(tiny: Tiny, run: Any) -> None:
    found = typed("neighbours", "RUN", "red", "--in", "red cat", "--in", "old red")
    refusal = found.err.splitlines(keepends=True)[-1:]  # after what is remarked of the word
    assert "contextual" in found.out or (found.code == 2 and one_sentence("".join(refusal)))


@every("saved")
def test_saved_and_reopened_inputs_encode_the_same(tiny: Tiny, run: Any) -> None:
    learnt = wing.relearnt(Path("tiny.toml"), run)
    assert learnt.inputs is not run.inputs
    for example in wing.examples_of(run, "test"):
        assert wing.predicted_rows(learnt, example) == wing.predicted_rows(run, example)


@every("saved")
def test_input_and_output_are_saved_under_paths_that_are_strings(tiny: Tiny, run: Any, tmp_path: Path) -> None:
    run.inputs.save(str(tmp_path))
    input = type(run.input).load(str(tmp_path / "input"))
    assert input.fingerprint() == run.input.fingerprint()
    output = type(run.output).load(str(tmp_path / "output"), input)
    assert saved_sum(output) == saved_sum(run.output)


# ---------------------------------------------------------------------------------------------------- odd inputs


def told(words: tuple[str, ...]) -> str:
    """What is said of an odd input: a refusal in a sentence, or remarks beside the answer."""
    found = typed(*words)
    assert found.code in {0, 2}
    assert found.code == 0 or one_sentence(found.err), found.err
    return found.err


@every("blank")
def test_a_blank_input_is_told(tiny: Tiny, run: Any) -> None:
    assert told(tiny.blank)


@every("overlong")
def test_an_input_of_the_wrong_length_is_told_with_the_right_one(tiny: Tiny, run: Any) -> None:
    assert re.search(rf"\b{tiny.limit}\b", told(tiny.overlong))


@every("unknown")
def test_an_unknown_input_is_told(tiny: Tiny, run: Any) -> None:
    said = told(tiny.unknown)
    assert any(name in said for name in tiny.strange)


# ---------------------------------------------------------------------------------------------------- the commands


@pytest.mark.parametrize("tiny", [pytest.param(tiny, id=tiny.name) for tiny in TINY if tiny.new])
def test_new_writes_a_recipe_that_check_accepts(tiny: Tiny, run: Any, tmp_path: Path) -> None:
    recipe = str(tmp_path / "new.toml")
    assert typed("new", tiny.task, "--data", tiny.new, "--output", recipe).code == 0
    checked = typed("check", recipe, "training.tokens=150")
    assert checked.code == 0, checked.err
    assert "ready: seqwright train" in checked.out


@pytest.mark.parametrize("tiny", [pytest.param(tiny, id=tiny.name) for tiny in TINY if tiny.new])
def test_new_writes_a_recipe_that_begins_from_a_run_of_the_same_task(tiny: Tiny, run: Any, tmp_path: Path) -> None:
    recipe = str(tmp_path / "tuned.toml")
    begun = typed("new", tiny.task, "--data", tiny.new, "--from", "RUN", "--output", recipe)
    assert begun.code == 0, begun.err
    trained = typed("train", recipe, "--run", str(tmp_path / "tuned"), "training.epochs=", "training.steps=1")
    assert trained.code == 0, trained.err
    assert "weights from run" in trained.err


@pytest.mark.parametrize("tiny", [pytest.param(tiny, id=tiny.name) for tiny in TINY if tiny.name == "forecasting"])
def test_new_says_why_a_series_of_other_channels_cannot_begin_from_a_run(tiny: Tiny, run: Any, tmp_path: Path) -> None:
    one = tmp_path / "one.csv"
    one.write_text("".join(f"{line.split(',')[0]}\n" for line in Path(tiny.new).read_text().splitlines()))
    refused = typed("new", tiny.task, "--data", str(one), "--from", "RUN", "--output", str(tmp_path / "none.toml"))
    assert refused.code == 2
    assert "(it has channels 2, the data 1): choose another run" in refused.err


@every("check")
def test_check_says_what_is_in_the_data(tiny: Tiny, run: Any) -> None:
    checked = typed("check", "tiny.toml")
    assert checked.code == 0, checked.err
    assert {"train", "valid"} <= set(checked.out.split())
    assert "ready: seqwright train tiny.toml" in checked.out


@every("eval")
def test_eval_prints_and_writes_the_scores(tiny: Tiny, run: Any) -> None:
    shown, printed = typed("eval", "RUN", "--part", "valid"), typed("eval", "RUN", "--part", "valid", "--json")
    assert (shown.code, printed.code) == (0, 0), shown.err + printed.err
    scores, wanted = json.loads(printed.out), wing.evaluation(run, "valid").scores
    assert {name: scores[name] for name in wanted} == pytest.approx(wanted, abs=1e-4)
    (report,) = Path("run/eval").glob("valid-*.json")
    assert json.loads(report.read_text(encoding="utf-8"))["scores"] == {name: scores[name] for name in wanted}
    assert shown.out


@every("eval")
def test_eval_of_other_data_says_what_of_it_was_trained_on(tiny: Tiny, run: Any) -> None:
    trained = [name for name in tiny.files if name.startswith("train")]
    said = typed("eval", "RUN", *(word for name in trained for word in ("--data", name)))
    assert said.code == 0, said.err
    told = re.search(r"([\d,]+) of the ([\d,]+) examples that are read stand in the training data too", said.err)
    assert told is not None, said.err
    cut = not any(name.startswith("valid") for name in tiny.files)  # then only some of the file was trained on
    assert told[1] != "0"
    assert cut or told[1] == told[2]
    (report,) = (path for path in Path("run/eval").glob("train*.json") if "files" in path.read_text(encoding="utf-8"))
    assert json.loads(report.read_text(encoding="utf-8"))["evaluated"]["in_training"] == int(told[1].replace(",", ""))
    with pytest.warns(UserWarning, match=re.escape(told[0])) as warned:
        found = sw.load("run").evaluate(data=trained)
    assert [one.filename for one in warned] == [__file__]
    assert found.notes[-1] == f"{told[0]}, with the same input: the scores are optimistic"


@every("verb")
def test_the_verb_prints_lines_and_json(tiny: Tiny, run: Any) -> None:
    said, printed = typed(*tiny.verb), typed(*tiny.verb, "--json")
    assert (said.code, printed.code) == (0, 0), said.err + printed.err
    assert said.out
    assert printed.out
    assert all(isinstance(json.loads(line), dict) for line in printed.out.splitlines())


@every("compare")
def test_compare_makes_a_table(tiny: Tiny, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "done", work._done)  # in this process
    rows = '[[rows]]\nrun = "run"\n[[rows]]\nname = "two steps"\nrecipe = "tiny.toml"\ntraining = { steps = 2 }\n'
    Path("both.toml").write_text(f"threads = 1\nresamples = 40\n{rows}", encoding="utf-8")
    compared = typed("compare", "both.toml", "--json")
    assert compared.code == 0, compared.err
    assert [row["name"] for row in json.loads(compared.out)["rows"]] == ["run", "two steps"]
    assert Path("runs/both/table.md").is_file()


# ---------------------------------------------------------------------------------------------------- resuming


@every("resume")
def test_a_resumed_training_ends_in_the_same_bytes(tiny: Tiny, run: Any, tmp_path: Path) -> None:
    for name, steps in (("straight", (4,)), ("resumed", (2, 4))):
        for last in steps:
            wing.train_again(Path("tiny.toml"), tmp_path / name, last)
    straight, resumed = (wing.saved(tmp_path / name) for name in ("straight", "resumed"))
    assert {"step-000004/model.safetensors", "step-000004/optimizer.safetensors"} <= straight.keys()
    assert resumed == straight


@every("find")
def test_a_found_rate_trains_as_if_it_had_been_written_down(
    tiny: Tiny, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ("training.save_every=2", "training.validate_every=2", "training.log_every=1")

    def trained(name: str, rate: str, steps: int) -> Typed:
        return typed(
            "train",
            "tiny.toml",
            "--run",
            str(tmp_path / name),
            f"training.rate={rate}",
            f"training.steps={steps}",
            *few,
        )

    first = trained("found", "find", 2)
    assert first.code == 0, first.err
    (rate,) = re.findall(r"^learning rate ([\d.e-]+): a tenth .* the curve is .*rate\.png$", first.err, re.MULTILINE)
    assert (tmp_path / "found" / "pictures" / "rate.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr("seqwright.found_rates.find_rate", None)  # who resumes does not search again
    for name, value in (("found", "find"), ("written", rate)):
        assert trained(name, value, 4).code == 0
    found, written = (wing.saved(tmp_path / name) for name in ("found", "written"))
    event, _, rest = found.pop("journal.jsonl").partition(b"\n")
    assert json.loads(event) == {"step": 0, "event": "rate", "epoch": 0, "rate": float(rate)}
    assert rest == written.pop("journal.jsonl")
    assert found == written
    one, other = ((tmp_path / name / "resolved.toml").read_text() for name in ("found", "written"))
    assert one == other
