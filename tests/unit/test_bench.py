"""The bench: who takes part, how turns become ratios, what is told of those who are left out."""

import importlib
import importlib.util
import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.__main__ import QUESTIONS, listed, main, question_of
from benchmarks.record import commit, machine
from benchmarks.speed import decoding, embedding, gpt_training, growth, images, ngrams, picture
from benchmarks.speed.environments import Environment, NotInstalledError, python_of
from benchmarks.speed.harness import OURS, Contestant, Limit, Options, Question, TurnError, answer, report, write
from seqwright.comparison.flops import flops_of
from tests import bench_contestants

NOT_THERE = Environment("not-there", ("./no-such-folder/no_such_package-1.0-py3-none-any.whl",), whole=False)


def asked(diary: Path, *contestants: Contestant, **more: Any) -> Question:
    settings = {"diary": str(diary)}
    return Question("fake", "How fast?\n\nMore.", "units", contestants, full=settings, quick={}, rounds=2, **more)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    diary = tmp_path_factory.mktemp("bench") / "diary"
    question = asked(
        diary,
        Contestant(OURS, bench_contestants.slow),
        Contestant("fast", bench_contestants.fast),
        Contestant("broken", bench_contestants.broken),
        Contestant("tired", bench_contestants.tired),
        Contestant("elsewhere", bench_contestants.fast, absent=lambda settings: "there is none here"),
        Contestant("unwanted", bench_contestants.fast),
        Contestant("uninstalled", bench_contestants.fast, NOT_THERE),
        limit=lambda settings, measure: Limit("memory", 1e9) if measure == "work" else None,
        marks={"work": {"fast": 0.1, "tired": 1.0}},
        compare=lambda answers: {"said": answers["work"]},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQWRIGHT_CACHE", str(diary.parent / "cache"))
        result = answer(question, Options(quick=True, rounds=2, without=("unwanted",), results=diary.parent))
    return {**result, "diary": diary.read_text(encoding="utf-8").split(), "question_itself": question}


def test_a_ratio_is_ours_by_theirs(found: dict[str, Any]) -> None:
    work = found["measures"]["work"]
    assert 0.2 < work["ratios"]["fast"] < 0.5  # 2 units by 6 in the same time
    assert work["marks"] == {"fast": {"ratio": 0.1, "reached": True}}
    assert 15 < work["rates"][OURS]["median"] <= 2 / bench_contestants.BUSY
    assert len(work["rates"]["fast"]["each"]) == 2
    assert work["unit"] == "units per CPU-second"


def test_turns_come_in_alternating_order_after_one_that_warms_up(found: dict[str, Any]) -> None:
    assert found["diary"] == ["fast", "slow", "slow", "fast", "fast", "slow"]
    assert found["agreement"]["said"] == {OURS: ["slow"], "fast": ["fast"]}


def test_who_is_left_out_is_named_with_the_reason(found: dict[str, Any]) -> None:
    absent = dict(found["absent"])
    assert absent.pop("uninstalled").startswith("not-there could not be installed: ")
    assert absent == {
        "broken": "ValueError: no such model",
        "tired": "its process ended with code 3",
        "elsewhere": "there is none here",
        "unwanted": "left out by --without",
    }


def test_a_limit_is_what_the_machine_does_by_what_a_unit_needs(found: dict[str, Any]) -> None:
    work, alone = found["measures"]["work"], found["measures"]["alone"]
    assert work["limit"]["rate"] == pytest.approx(found["limits"]["memory"]["median"], rel=0.01)
    assert work["rates"][OURS]["share_of_limit"] > 0
    assert alone["limit"] is None
    assert found["limits"]["matrix"]["median"] > 1  # GFLOP/s: any processor does more


def test_the_record_says_what_made_it(found: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert found["command"] == "python -m benchmarks fake --quick --rounds 2 --without unwanted"
    assert found["versions"]["torch"] == torch.__version__
    assert {"cpu", "instructions", "cores", "memory_gb", "system"} == set(machine())
    assert (found["commit"] or "")[:40] == (commit() or "")[:40]
    assert found["seconds"] > 0
    question = found.pop("question_itself")
    report(question, found)
    shown = capsys.readouterr().out
    assert "tired is left out: its process ended with code 3" in shown
    assert "work, fast" in shown
    written = write(found, Options(quick=True, results=Path(found["settings"]["diary"]).parent))
    assert json.loads(written.read_text(encoding="utf-8"))["question"] == "How fast?"


def test_without_ours_there_is_no_answer(tmp_path: Path) -> None:
    question = asked(tmp_path / "diary", Contestant(OURS, bench_contestants.broken))
    with pytest.raises(TurnError, match="Seqwright failed: ValueError: no such model"):
        answer(question, Options(quick=True))


# ------------------------------------------------------------------------------------------------ environments


def test_an_environment_has_its_own_packages_and_sees_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))
    wheel = tmp_path / "bench_probe-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("bench_probe.py", "NAME = 'probe'\n")
        file.writestr("bench_probe-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: bench-probe\nVersion: 1.0\n")
        kind = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        file.writestr("bench_probe-1.0.dist-info/WHEEL", kind)
        file.writestr("bench_probe-1.0.dist-info/RECORD", "")
    environment = Environment("probe", (str(wheel),), whole=False)
    python = python_of(environment)
    code = "import bench_probe, numpy, seqwright; print(bench_probe.NAME)"
    told = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert told.stdout.strip() == "probe"
    assert importlib.util.find_spec("bench_probe") is None
    wheel.unlink()
    assert python_of(environment) == python  # it is there already


def test_an_environment_that_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path))
    for _ in range(2):
        with pytest.raises(NotInstalledError, match=r"^not-there could not be installed: .*no-such-folder"):
            python_of(NOT_THERE)


# ------------------------------------------------------------------------------------------------ the command


def test_without_a_question_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in QUESTIONS)
    assert "?" in listed().splitlines()[2]
    assert question_of("ngrams").line in shown
    assert "padding" in shown.partition("Other measurements")[2]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["decodin"], "there is no question 'decodin'. Did you mean 'decoding'?"),
        (["decoding", "--nanogpt", "."], "--nanogpt . is no checkout of nanoGPT: it has no model.py and train.py"),
        (["ngrams", "--without", "KenML"], "--without KenML: nobody of that name takes part. Did you mean 'KenLM'?"),
        (["decoding", "--threads", "0"], "--threads and --rounds must be at least 1"),
    ],
)
def test_what_cannot_be_asked_is_refused(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert len(told.splitlines()) == 1


# ------------------------------------------------------------------------------------------------ the questions


@pytest.mark.parametrize(
    "name",
    [name if name not in {"cold-start", "corpus", "profile"} else pytest.param(name, marks=pytest.mark.long)
     for name in QUESTIONS],
)  # fmt: skip
def test_every_question_is_answered_in_small(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path))
    question = question_of(name)
    settings = {**question.full, **question.quick, "threads": 1, "nanogpt": None}
    turns = question.contestants[0].ready(settings)
    answered = {measure: [turn().answer] for measure, turn in turns.items()}
    assert set(question.marks) & set(turns) or not question.marks
    limits = [question.limit(settings, measure) for measure in turns]
    assert all(limit is None or limit.each > 1 for limit in limits)
    concluded = question.conclude(settings, answered)
    if question.table is not None:
        assert question.table({"conclusions": concluded}).rows


def test_ours_and_transformers_give_the_same_vectors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path))
    settings = {**embedding.QUESTION.full, **embedding.QUESTION.quick, "sentences": 23, "threads": 1}
    both = {OURS: embedding.seqwright, "sorted": embedding.transformers_sorted}
    answers = {name: ready(settings)[embedding.MEASURE]().answer for name, ready in both.items()}
    assert embedding.same({embedding.MEASURE: answers}) == {"least cosine with sorted": pytest.approx(1.0, abs=1e-5)}
    assert answers[OURS][0] != answers[OURS][1]


def test_ours_and_transformers_see_the_same_in_images(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path))
    settings = {**images.QUESTION.full, **images.QUESTION.quick, "threads": 1}
    measure = f"ViT-Ti {images.INFERENCE}"
    both = {OURS: images.seqwright, "transformers": images.transformers}
    answers = {name: ready(settings)[measure]().answer for name, ready in both.items()}
    assert images.same({measure: answers}) == {f"largest difference, {measure}": pytest.approx(0, abs=1e-6)}
    assert answers[OURS][0] != answers[OURS][1]


def test_kenlm_scores_our_model_as_we_do() -> None:
    pytest.importorskip("kenlm")
    settings = {**ngrams.QUESTION.full, **ngrams.QUESTION.quick, "counted": 2003, "scored": 503, "threads": 1}
    answers = {
        OURS: ngrams.seqwright(settings)[ngrams.SCORED]().answer,
        "KenLM": ngrams.kenlm(settings)[ngrams.SCORED]().answer,
    }
    [difference] = ngrams.same({ngrams.SCORED: answers}).values()
    assert 0 <= difference < 1e-5


def test_another_translation_is_noticed() -> None:
    answers = {"greedy": {OURS: [[5, 7], [11]], "CTranslate2": [[5, 7], [13]]}}
    assert decoding.same(answers) == {"greedy, same translations as CTranslate2": "1 of 2"}


# ------------------------------------------------------------------------------------------------ theory


def test_the_operations_of_training_are_those_that_torch_counts() -> None:
    """But for attention itself, which is a few percent of so short a text."""
    pytest.importorskip("transformers")
    size = {"width": 128, "heads": 4, "layers": 3, "context": 16, "batch": 2}
    settings = {**gpt_training.QUESTION.full, "sizes": {"small": size}, "steps": {"small": 1}, "threads": 1}
    turn = gpt_training.transformers(settings)["small"]
    with FlopCounterMode(display=False) as counter:
        work = turn()
    limit = gpt_training.limit(settings, "small")
    assert limit.each * work.amount == pytest.approx(counter.get_total_flops(), rel=0.05)


def test_the_operations_of_reading_are_those_that_torch_counts() -> None:
    size = growth.Size(length=31, rows=3, width=64, vocabulary=101)
    model = growth.model_of(size)
    with torch.no_grad():
        counted = flops_of(lambda: model.body(torch.ones(3, 31, dtype=torch.int64)))
    assert size.operations(1) == pytest.approx(counted, rel=0.1)


def test_time_that_grows_faster_than_theory_is_found() -> None:
    sizes = [100, 200, 400, 800]
    linear, quadratic = [3.0 * n for n in sizes], [0.1 * n**2 for n in sizes]
    assert growth.compared(sizes, quadratic, linear) == {
        "sizes": sizes,
        "seconds": quadratic,
        "exponent": 2.0,
        "theory": 1.0,
        "no_faster_than_theory": False,
    }
    assert growth.compared(sizes, linear, quadratic)["no_faster_than_theory"]


# ------------------------------------------------------------------------------------------------ the picture


def test_the_picture_has_a_bar_for_every_ratio(found: dict[str, Any], tmp_path: Path) -> None:
    plain = {name: value for name, value in found.items() if name != "question_itself"}
    (tmp_path / "decoding.json").write_text(json.dumps({**plain, "name": "decoding"}), encoding="utf-8")
    [bar] = picture.bars(tmp_path)
    assert (bar.question, bar.measure, bar.peer) == ("decoding", "work", "fast")
    assert bar.ratio == found["measures"]["work"]["ratios"]["fast"]
    picture.draw_ratios(tmp_path, tmp_path / "bench")
    assert (tmp_path / "bench.png").stat().st_size > 1000
    table = picture.table_of(tmp_path)
    assert f"| work | fast | {found['measures']['work']['rates']['fast']['median']:,.5g} |" in table
    assert "- tired is left out: its process ended with code 3" in table
