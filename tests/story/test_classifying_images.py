"""Somebody has a folder of photographs by label: a recipe, a look at them, a model, its scores, and labels for more."""

import csv
import io
import json
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqwright as sw
from seqwright.errors import DataError
from tests.contract import wing
from tests.small_images import bytes_of, random_pixels
from tests.story.command import typed
from tests.story.conftest import Say

SHADES = {"dark": 20, "light": 200, "red": 90}


def photograph(label: str, seed: int) -> bytes:
    """A few pixels that are dark, light or red, with noise; no two are of one size."""
    pixels = (random_pixels(seed, 9 + seed % 3, 11 + seed % 2) // 6 + SHADES[label]).astype(np.uint8)
    if label == "red":
        pixels[..., 1:] = 20
    return bytes_of(pixels)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with photographs, of which some cannot be read, the recipe that `new` wrote, and a run of it."""
    folder = tmp_path_factory.mktemp("home")
    for place, label in enumerate(SHADES):
        for number in range(24):
            path = folder / "photos" / label / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(photograph(label, 100 * place + number))
    (folder / "photos" / "red" / "broken.jpg").write_bytes(b"no photograph")
    shutil.copy(folder / "photos" / "red" / "3.png", folder / "photos" / "red" / "again.png")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert typed("new", "image-classification", "--data", "photos") == 0
        few = ["training.epochs=8", "training.warmup=2", "model.width=8", "training.tokens=16"]
        assert typed("train", "photos.toml", *few, "training.threads=1", "training.device=cpu") == 0
    return folder


def test_the_first_look_counts_labels_and_sizes(say: Say) -> None:
    code, _, err = say("new", "image-classification", "--data", "photos", "-o", "other.toml")
    assert code == 0, err
    assert "images to train on (dark " in err
    assert "of 9 × 11 to 11 × 12 pixels" in err
    assert "size = 8 " in Path("other.toml").read_text(encoding="utf-8")


def test_the_photographs_are_checked_and_drawn(say: Say) -> None:
    code, out, err = say("check", "photos.toml", "training.steps=3", "training.epochs=", "--picture", "sheet.png")
    assert code == 0, err
    assert "1 image cannot be read: red/broken.jpg (no image)" in out
    header, *parts = [line for line in out.splitlines() if line.startswith(("part ", "train ", "valid ", "test "))][:4]
    assert header.split() == ["part", "examples", "unread", "duplicates", "in", "train", "smallest", "largest"]
    assert sorted(line.split()[3] for line in parts) == ["0", "0", "1"]
    assert "9 × 11" in parts[0]
    assert "11 × 12" in parts[0]
    assert "images/s" in out
    assert "tokens" not in out
    assert Path("sheet.png").read_bytes().startswith(b"\x89PNG")
    assert say("check", "digits-vit", "--picture", "sheet.gif")[0] == 2
    code, _, err = say("check", "sort", "data.examples=20", "--picture", "sheet.png")
    assert (code, "--picture draws images, and the recipe reads" in err) == (2, True)


def test_the_scores_come_with_a_confusion_picture(say: Say) -> None:
    code, out, err = say("eval", "runs/photos")
    assert code == 0, err
    assert "baseline_linear_accuracy" in out
    assert list(Path("runs/photos/eval").glob("test-*.png"))


def test_a_folder_and_an_archive_of_it_get_the_same_labels(say: Say) -> None:
    with zipfile.ZipFile("photos.zip", "w") as archive:
        for path in sorted(Path("photos").rglob("*.*")):
            archive.write(path)
    both = []
    for name in ("photos", "photos.zip/photos"):
        code, _, err = say("classify", "runs/photos", name, "--output", "labels.csv", "--yes")
        assert code == 0, err
        assert f"1 image cannot be read: {name}/red/broken.jpg (no image)" in err
        both.append(
            {
                row.pop("image").removeprefix(name): row
                for row in csv.DictReader(Path("labels.csv").read_text().splitlines())
            }
        )
    assert both[0] == both[1]
    assert len(both[0]) == 74
    assert both[0]["/red/broken.jpg"] == {"label": "", "probability": ""}
    right = [row["label"] == name.split("/")[1] for name, row in both[0].items()]
    assert sum(right) > 60


def test_paths_are_given_on_the_line_in_a_list_and_in_a_table(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["photos/dark/1.png", "photos/red/2.png"]
    code, printed, err = say("classify", "runs/photos", *names)
    assert code == 0, err
    assert [line.split("\t")[0] for line in printed.splitlines()] == names
    Path("list.txt").write_text("\n".join(names), encoding="utf-8")
    assert say("classify", "runs/photos", "--file", "list.txt")[1] == printed
    Path("photos/table.csv").write_text("n,image\n7,dark/1.png\n8,\n9,red/2.png\n", encoding="utf-8")
    code, out, err = say("classify", "runs/photos", "--file", "photos/table.csv", "--json")
    assert code == 0, err
    found = [json.loads(line) for line in out.splitlines()]
    assert [each["label"] for each in found] == ["dark", None, "red"]
    assert [each["probability"] is None for each in found] == [False, True, False]
    assert "1 image cannot be read: a blank row (not there)" in err
    code, _, err = say("classify", "runs/photos", "--file", "photos/table.csv", "--output", "out.csv", "--yes")
    assert code == 0, err
    written = list(csv.reader(io.StringIO(Path("out.csv").read_text(encoding="utf-8"))))
    assert [row[:3] for row in written] == [
        ["n", "image", "label"],
        ["7", "dark/1.png", "dark"],
        ["8", "", ""],
        ["9", "red/2.png", "red"],
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("photos/red/broken.jpg", "photos/red/broken.jpg is no image of a kind that is read"),
        ("photos/red/nothing.png", "there is no file photos/red/nothing.png"),
        ("empty", "empty has no file that is named like an image"),
        ("", "is blank, expected the path of an image"),
    ],
)
def test_what_is_named_and_is_no_image_is_refused(given: str, told: str, say: Say) -> None:
    Path("empty").mkdir(exist_ok=True)
    code, out, err = say("classify", "runs/photos", given)
    assert (code, out) == (2, "")
    assert told in err


def test_python_takes_paths_bytes_and_arrays(home: Path) -> None:
    run, path = sw.load(home / "runs" / "photos"), home / "photos" / "red" / "2.png"
    one, several = run(str(path)), run([path, path.read_bytes(), random_pixels(3, 20, 30) // 9])
    assert one.label == several[0].label == several[1].label == "red"
    assert several[2].label == "dark"
    with pytest.raises(DataError, match=r"broken\.jpg is no image"):
        run(home / "photos" / "red" / "broken.jpg")
    assert run.evaluate("test").figure() is not None


def test_a_training_with_augmentations_resumes_to_the_same_bytes(home: Path, tmp_path: Path, say: Say) -> None:
    recipe = (home / "photos.toml").read_text(encoding="utf-8").replace("cosine", "constant")
    recipe = recipe.replace("epochs = 100", "device = 'cpu'")
    every = '["crop", "shift", "flip", "colour", "grey", "blur", "solarise", "cut-out"]'
    Path("all.toml").write_text(recipe.replace('["crop", "flip"]', every).replace("warmup = 50", ""), encoding="utf-8")
    for name, steps in (("straight", (4,)), ("resumed", (2, 4))):
        for last in steps:
            wing.train_again(Path("all.toml"), tmp_path / name, last)
    straight, resumed = (wing.saved(tmp_path / name) for name in ("straight", "resumed"))
    assert resumed == straight
    plain: dict[str, Any] = wing.saved(tmp_path / "straight")
    wing.train_again(Path("photos.toml"), tmp_path / "others", 4)
    assert wing.saved(tmp_path / "others")["step-000004/model.safetensors"] != plain["step-000004/model.safetensors"]


def test_one_label_alone_is_refused(say: Say) -> None:
    shutil.copytree("photos/dark", "one/dark", dirs_exist_ok=True)
    code, _, err = say("new", "image-classification", "--data", "one", "-o", "one.toml")
    assert (code, err.count("\n")) == (2, 1)
    assert "every example of the training part has the label 'dark', expected two labels or more" in err


def test_labels_and_file_names_command_no_terminal(
    answered: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda stream: True, raising=False)
    title = "\x1b]0;"  # begins a title of the window, which no verb writes
    for place, (label, shade) in enumerate({f"da{title}rk": "dark", "light": "light"}.items()):
        for number in range(12):
            path = Path("photos", label, f"{number}{title}.png")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(photograph(shade, 100 * place + number))
    Path("photos", "light", f"bro{title}ken.png").write_bytes(b"no photograph")
    shutil.copy(f"photos/light/3{title}.png", f"photos/light/again{title}.png")
    few = ["training.epochs=1", "training.warmup=0", "model.width=8", "training.threads=1", "training.device=cpu"]
    told = ""
    for words in (
        ("new", "image-classification", "--data", "photos"),
        ("check", "photos.toml", *few),
        ("train", "photos.toml", *few),
        ("eval", "runs/photos"),
        ("classify", "runs/photos", "photos"),
        ("classify", "runs/photos", "photos", "--output", "labels.csv"),
    ):
        code, out, err = answered(*words)
        assert code == 0, err
        assert title not in out + err, words
        told += out + err
    for name in ("da", "bro", "again"):
        assert f"{name}\\x1b]0;" in told
