"""Somebody has a file of labelled series: a recipe, a look at the data, a model, its scores, and labels for more."""

import csv
import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import seqwright as sw
from seqwright.data.labelled_series import label_place
from seqwright.data.rows import PLAIN
from seqwright.errors import UserError
from tests.story.command import typed
from tests.story.conftest import Say

SHAPES: dict[str, Callable[[float], float]] = {
    "falling": lambda t: -0.3 * t,
    "rising": lambda t: 0.3 * t,
    "wave": math.sin,
}


def rows(count: int, seed: int) -> str:
    """Labelled series of 8 to 12 steps, in the form of the UCR archive."""
    rng = random.Random(seed)
    lines = []
    for number in range(count):
        label = sorted(SHAPES)[number % 3]
        values = (SHAPES[label](t) + rng.gauss(0, 0.1) for t in range(rng.randint(8, 12)))
        lines.append("\t".join([label, *(f"{value:.3f}" for value in values)]))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the file, the recipe that `new` wrote, and a run of it."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "shapes.tsv").write_text(rows(120, seed=1), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert typed("new", "series-classification", "--data", "shapes.tsv") == 0
        few = ["training.epochs=10", "training.validate_every=20", "training.threads=1", "training.device=cpu"]
        assert typed("train", "shapes.toml", *few) == 0
    return folder


def test_the_first_look_counts_labels_steps_and_channels(say: Say) -> None:
    code, _, err = say("new", "series-classification", "--data", "shapes.tsv", "-o", "other.toml")
    assert code == 0, err
    assert "series to train on (falling " in err
    assert "1 channel, up to 12 steps long" in err
    assert "next: seqwright check other.toml" in err


def test_the_data_is_checked(say: Say) -> None:
    code, out, err = say("check", "shapes.toml")
    assert code == 0, err
    counts = {line.split()[0]: line.split()[1:3] for line in out.splitlines()[1:4]}
    assert sum(int(examples) for examples, _ in counts.values()) == 120
    assert {unread for _, unread in counts.values()} == {"0"}
    told = " ".join(out.split())
    assert "channels 1 classes 3" in told
    assert "baseline always saying '" in told
    assert "ready: seqwright train shapes.toml" in told


def test_nothing_is_searched_for_when_it_is_evaluated(home: Path, say: Say) -> None:
    code, out, err = say("eval", "runs/shapes")
    assert code == 0, err
    assert "greedy" not in err
    (written,) = (home / "runs" / "shapes" / "eval").glob("test-*.json")
    assert "beam" not in written.name
    scores = json.loads(written.read_text(encoding="utf-8"))["scores"]
    assert scores["accuracy"] > scores["baseline_majority_accuracy"] + 20
    table = [line.split() for line in out.splitlines()]
    assert ["label", "right", "share", "f1"] in table
    found = {line[0]: line[1].split("/") for line in table[table.index(["label", "right", "share", "f1"]) + 1 :]}
    assert list(found) == [*sorted(SHAPES), "all"]
    right, count = (sum(int(found[label][i]) for label in SHAPES) for i in (0, 1))
    assert [str(right), str(count)] == found["all"]
    assert round(100 * right / count, 4) == scores["accuracy"]
    code, _, err = say("eval", "runs/shapes", "--beam", "3")
    assert code == 2
    assert "nothing is searched for; leave --beam out" in err


def test_another_file_is_evaluated_beside_a_baseline_that_learnt_from_the_training_part(home: Path, say: Say) -> None:
    (home / "other.tsv").write_text(rows(30, seed=3), encoding="utf-8")
    code, out, err = say("eval", "runs/shapes", "--data", "other.tsv")
    assert code == 0, err
    assert "baseline_linear_accuracy" in out
    assert "there is no logistic regression" not in err
    assert "other.tsv: none of the 30 examples that are read stands in the training data" in err
    both = (home / "shapes.tsv").read_text(encoding="utf-8").splitlines()[:7] + rows(30, seed=3).splitlines()
    (home / "both.tsv").write_text("\n".join(both) + "\n", encoding="utf-8")
    _, _, err = say("eval", "runs/shapes", "--data", "both.tsv")
    told = re.search(r"both\.tsv: (\d) of the 37 examples .* too, with the same input: the scores are optimistic", err)
    assert told is not None, err
    assert 0 < int(told[1]) <= 7  # the others were held out
    assert "the test part" not in err


def test_another_file_is_evaluated_without_the_data_of_training(home: Path, say: Say) -> None:
    (home / "shapes.tsv").rename(home / "away.tsv")
    (home / "more.tsv").write_text(rows(30, seed=2), encoding="utf-8")
    code, out, err = say("eval", "runs/shapes", "--data", "more.tsv")
    assert code == 0, err
    assert "more.tsv: 30 series (falling 10, rising 10, wave 10)" in err
    (home / "away.tsv").rename(home / "shapes.tsv")
    assert "there is no logistic regression: the data it would learn from is not here" in err
    assert "in the training data" not in err
    assert "baseline_linear" not in out


def test_series_are_classified_as_they_are_typed_or_from_a_file(home: Path, say: Say) -> None:
    typed_series = [0.1, 0.2, 0.7, 0.8, 1.2, 1.4, 1.9, 2.1]
    code, out, err = say("classify", "runs/shapes", ",".join(map(str, typed_series)), "--json", "--top", "3")
    assert code == 0, err
    found = json.loads(out)
    assert (found["series"], found["label"]) == (typed_series, "rising")
    assert found["probabilities"].keys() == SHAPES.keys()
    assert found["probability"] == max(found["probabilities"].values())
    assert sum(found["probabilities"].values()) == pytest.approx(1, abs=1e-3)
    falling = " ".join(str(-value) for value in typed_series)
    (home / "asked.txt").write_text(f"{','.join(map(str, typed_series))}\n{falling}\n", encoding="utf-8")
    code, out, err = say("classify", "runs/shapes", "--file", "asked.txt")
    assert code == 0, err
    assert [line.split("\t")[0] for line in out.splitlines()] == ["rising", "falling"]


def test_the_labels_of_a_file_are_no_values_and_come_back_beside_the_answers(home: Path, say: Say) -> None:
    labelled = rows(9, seed=5)
    (home / "test.tsv").write_text(labelled, encoding="utf-8")
    (home / "test.txt").write_text(labelled.replace("\t", "  "), encoding="utf-8")
    channels = [",".join(line.split("\t")[1:]) + ":" + line.split("\t")[0] for line in labelled.splitlines()]
    (home / "test.ts").write_text("@classLabel true\n@data\n" + "\n".join(channels) + "\n", encoding="utf-8")
    (home / "bare.csv").write_text("\n".join(each.rpartition(":")[0] for each in channels) + "\n", encoding="utf-8")
    code, bare, err = say("classify", "runs/shapes", "--file", "bare.csv", "--json")
    assert code == 0, err
    assert "taken for its label" not in err
    for name in ("test.tsv", "test.txt", "test.ts"):
        code, out, err = say("classify", "runs/shapes", "--file", name, "--json")
        assert code == 0, err
        assert out == bare
        assert ("the first cell of each row of test" in err) == (name != "test.ts")
    code, _, err = say("classify", "runs/shapes", "--file", "test.tsv", "--output", "out.csv", "--yes")
    assert code == 0, err
    with (home / "out.csv").open(newline="", encoding="utf-8") as file:
        top, *found = csv.reader(file)
    assert top == ["label", "series", "predicted_label", "probability"]
    assert [row[0] for row in found] == [line.split("\t")[0] for line in labelled.splitlines()]
    assert [row[2] for row in found] == [json.loads(line)["label"] for line in bare.splitlines()]


def test_labels_that_are_numbers_are_known_by_the_run(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("1\t0.5\t1\n2\t0.5\t2\n7\t1\t1\n", encoding="utf-8")
    assert label_place(path, "first", ("1", "2"), PLAIN) == "first"
    assert label_place(path, "last", ("1", "2"), PLAIN) == "last"
    assert label_place(path, "first", ("11", "12"), PLAIN) == "none"


def test_what_is_no_series_is_refused(home: Path, say: Say) -> None:
    code, out, err = say("classify", "runs/shapes", "0.1,a")
    assert (code, out) == (2, "")
    assert "'0.1,a' is no series: give numbers, with commas or blanks between them" in err
    (home / "named.tsv").write_text("label\tfirst\n\tsecond\n" + rows(9, seed=3), encoding="utf-8")
    code, _, err = say("new", "series-classification", "--data", "named.tsv")
    assert code == 2
    assert "named.tsv:2 has a value that is no number" in err
    assert "a row is a label and the values of a series" in err


def test_a_label_that_stands_elsewhere_is_found_as_it_is_advised(home: Path, say: Say) -> None:
    rng = random.Random(5)
    lines = (",".join(f"{rng.random():.4f}" for _ in range(9)) + f",{number % 2}" for number in range(60))
    (home / "last.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    code, _, err = say("new", "series-classification", "--data", "last.csv")
    assert code == 2
    assert "different labels" in err
    assert "data.text" not in err
    assert "choose the right one with data.label" in err
    assert say("new", "series-classification", "--data", "last.csv", "data.label=last")[0] == 0


def test_what_is_for_texts_says_that_series_are_none(home: Path, say: Say) -> None:
    code, _, err = say("classify", "runs/shapes", "0.1,0.2", "--text-pair", "0.3")
    assert (code, "reads no pairs of texts; leave --text-pair out" in err) == (2, True)
    code, _, err = say("look", "runs/shapes", "--gradients")
    assert (code, "models that only read texts, and forecasters" in err) == (2, True)


def test_look_draws_what_the_label_of_each_series_hangs_on(home: Path, say: Say) -> None:
    """Given as text, in a file with labels, or one of each label that it was validated on."""
    (home / "three.tsv").write_text(rows(3, seed=5), encoding="utf-8")
    code, out, err = say("look", "runs/shapes", "--file", "three.tsv", "-o", "drawn")
    assert code == 0, err
    told = re.findall(
        r"(\w+) 0\.\d{4}( \(it is \w+\))?: half of the saliency lies on \d+ of \d+ steps, most on step \d+; decided",
        out,
    )
    assert len(told) == 3
    drawn = sorted(path.name for path in (home / "drawn").iterdir())
    assert drawn == sorted(
        f"saliency-{number}-{label}.{form}" for number, (label, _) in enumerate(told, 1) for form in ("png", "svg")
    )
    code, out, err = say("look", "runs/shapes")
    assert code == 0, err
    assert len(out.splitlines()) == len(SHAPES)
    code, out, err = say("look", "runs/shapes", "0, -0.3, -0.6, -0.9, -1.2, -1.5, -1.8, -2.1", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["label"] == "falling"
    assert len(found["saliency"]) == 8
    assert [each["steps"] for each in found["course"]] == list(range(1, 9))
    assert "target" not in found
    code, out, err = say("look", "runs/shapes", "0.1,0.2", "--lens")
    assert (code, out) == (2, "")
    assert "--lens is for models that read texts" in err


def test_python_shows_the_same_of_a_series(home: Path) -> None:
    run = sw.load(home / "runs/shapes")
    seen = run.look(np.array([0.0, 0.3, 0.6, 0.9, 1.2, 1.5, 1.8]))
    (found,) = seen.data
    assert found.label == "rising"
    assert list(seen.figures()) == ["saliency-1-rising"]
    assert seen.figure() is not None
    prediction = run(np.array([0.0, 0.3, 0.6, 0.9, 1.2, 1.5, 1.8]))
    assert found.probability_KL[-1] == pytest.approx(list(prediction.probabilities.values()), abs=1e-6)
    with pytest.raises(UserError, match="of which 'saliency' is seen, not 'lens'"):
        run.look("0.1 0.2", "lens")
