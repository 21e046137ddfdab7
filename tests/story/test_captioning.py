"""Somebody has photographs with captions: a recipe, a look at them, a model that writes, and where it looks."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import seqwright as sw
from seqwright.errors import DataError, RunError, SettingError
from tests.small_images import bytes_of
from tests.story.command import typed
from tests.story.conftest import Say

COLOURS = {"red": (220, 30, 30), "green": (30, 200, 60), "blue": (40, 70, 230)}
SMALL = ["model.width=32", "model.encoder_width=6", "model.dropout=0", "training.tokens=128", "training.threads=1"]
FEW = ["training.epochs=30", "training.rate=0.01", "objective.label_smoothing=0", *SMALL]


def photograph(colour: str, left: bool, seed: int) -> bytes:
    """A coloured square on the left or on the right of a dark image."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 40, (12, 16, 3)).astype(np.uint8)
    column = int(rng.integers(0, 3)) + (0 if left else 9)
    row = int(rng.integers(0, 7))
    pixels[row : row + 5, column : column + 4] = COLOURS[colour]
    return bytes_of(pixels)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with photographs and two captions each, the recipe that `new` wrote, and a run of it."""
    folder = tmp_path_factory.mktemp("home")
    rows = ["file,caption"]
    (folder / "photos").mkdir()
    for number in range(150):
        colour, left = list(COLOURS)[number % 3], number % 2 == 0
        name = f"photos/{number}.png"
        (folder / name).write_bytes(photograph(colour, left, number))
        side = "left" if left else "right"
        rows += [f"{name},A {colour} square on the {side}.", f'{name},"On the {side}, a {colour} square"']
    (folder / "photos" / "broken.jpg").write_bytes(b"no photograph")
    rows += ["photos/broken.jpg,Nobody knows.", "photos/0.png,"]
    (folder / "mine.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    rng = np.random.default_rng(1)
    features = {f"{number}": rng.standard_normal((2, 3, 5)).astype(np.float16) for number in range(150)}
    save_file({**features, "broken": features["0"]}, folder / "features.safetensors")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert typed("new", "image-captioning", "--data", "mine.csv") == 0
        assert typed("train", "mine.toml", *FEW, "training.validate_every=1000", "--run", "runs/mine") == 0
    return folder


def test_the_first_look_counts_images_and_captions(say: Say) -> None:
    code, _, err = say("new", "image-captioning", "--data", "mine.csv", "-o", "other.toml")
    assert code == 0, err
    assert "images to train on, of 12 × 16 pixels, with" in err
    assert " square on the " in err
    assert "size = 16 " in Path("other.toml").read_text(encoding="utf-8")


def test_the_photographs_are_checked_and_drawn_with_their_captions(say: Say) -> None:
    few = ("training.steps=3", "training.epochs=")
    code, out, err = say("check", "mine.toml", *SMALL, *few, "--picture", "sheet.png")
    assert code == 0, err
    assert "with 2" in out
    assert "1 image cannot be read: photos/broken.jpg (no image)" in out
    assert "baseline" in out
    assert Path("sheet.png").read_bytes().startswith(b"\x89PNG")


def test_captions_are_written_for_paths_folders_and_tables(say: Say) -> None:
    code, out, err = say("caption", "runs/mine", "photos/3.png", "photos/4.png", "--beam", "3")
    assert code == 0, err
    first, second = out.splitlines()
    assert first.startswith("photos/3.png\t")
    assert "square" in second
    code, out, err = say("caption", "runs/mine", "photos", "--output", "out.csv", "--yes")
    assert code == 0, err
    assert "broken.jpg (no image)" in err
    with Path("out.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["image"]: row["caption"] for row in csv.DictReader(file)}
    assert len(rows) == 151
    assert rows["photos/broken.jpg"] == ""
    code, out, err = say("caption", "runs/mine", "--file", "mine.csv", "--json")
    assert code == 0, err
    assert {"image", "text", "score", "rank"} <= json.loads(out.splitlines()[0]).keys()


def test_it_is_judged_beside_a_constant_caption(say: Say) -> None:
    code, out, err = say("eval", "runs/mine", "--part", "test")
    assert code == 0, err
    for name in ("cider", "bleu_4", "rouge_l", "exact", "baseline_constant_cider"):
        assert re.search(rf"^{name} ", out, re.MULTILINE), name
    found = sw.load("runs/mine").evaluate("test")
    assert found.scores["exact"] > 60
    assert found.scores["cider"] > found.scores["baseline_constant_cider"]


def test_look_draws_a_map_for_each_word(say: Say) -> None:
    code, out, err = say("look", "runs/mine", "photos/3.png", "-o", "seen")
    assert code == 0, err
    assert Path("seen/caption.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in Path("seen/caption.svg").read_text(encoding="utf-8")
    page = Path("seen/caption.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in page
    assert "<script" not in page
    assert re.search(r"^word +row +column +weight", out, re.MULTILINE)
    code, out, err = say("look", "runs/mine", "photos/3.png", "--json", "--beam", "2")
    assert code == 0, err
    told = json.loads(out)
    assert told["caption"]
    for each in told["words"]:
        assert np.sum(each["map"]) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("look", "runs/mine"), "give the path of an image"),
        (("look", "runs/mine", "photos/3.png", "photos/4.png"), "there are 2 images, and one is looked at"),
        (("look", "runs/mine", "photos/3.png", "--lens"), "--lens is for other models"),
        (("look", "runs/mine", "photos/3.png", "--layer", "2"), "there is no layer 2 that looks at the image"),
        (("look", "runs/mine", "photos/broken.jpg"), "is no image of a kind that is read"),
        (("caption", "runs/mine", "nowhere.png"), "there is no file nowhere.png"),
        (("classify", "runs/mine", "photos/3.png"), "classify is for a classifier"),
        (("train", "mine.toml", "objective.kind=reinforce", "--run", "runs/x"), "choose model.kind=hard-captioner"),
        (("train", "mine.toml", "data.caption=title", "--run", "runs/x"), "has no column 'title'"),
        (("train", "mine.toml", "data.features=none.safetensors", "--run", "runs/x"), "there is no file none.safe"),
        (("train", "mine.toml", "data.features=features.safetensors", "--run", "runs/x"), "input.size is set, but"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(words: tuple[str, ...], told: str, say: Say) -> None:
    code, _, err = say(*words)
    assert code == 2
    assert told in err.splitlines()[-1]


def test_python_writes_streams_and_looks(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    run = sw.load("runs/mine")
    text = run("photos/7.png").text
    assert "".join(run.stream("photos/7.png")) == text
    assert len(list(run.stream("photos/7.png"))) > 3
    assert "".join(run.stream("photos/7.png", beam=3)) == run("photos/7.png", beam=3).text
    assert [each.text for each in run(["photos/7.png"])] == [text]
    seen = run.look("photos/7.png")
    assert repr(seen) == "Look(caption of mine: 'photos/7.png')"
    assert seen.data.map_LHTYX.shape[:3] == (1, 1, len(seen.data.words))
    assert seen.figure() is not None
    with pytest.raises(DataError, match="one image is looked at"):
        run.look()
    with pytest.raises(SettingError, match="of which 'caption' is seen"):
        run.look("photos/7.png", "lens")
    both = sw.load(["runs/mine", "runs/mine"])
    assert both("photos/7.png").text == text
    with pytest.raises(RunError, match="an ensemble is not streamed"):
        both.stream("photos/7.png")


def test_features_replace_the_pixels_and_the_image_is_drawn_all_the_same(say: Say) -> None:
    more = ["data.features=features.safetensors", "input.size=", "training.epochs=1", "--run", "runs/features"]
    code, _, err = say("train", "mine.toml", *SMALL, *more)
    assert code == 0, err
    assert "of 2 × 3 places with 5 features" in err
    code, _, err = say("look", "runs/features", "photos/7.png", "-o", "features")
    assert code == 0, err
    assert Path("features/caption.png").is_file()
    code, _, err = say("caption", "runs/features", "elsewhere.png")
    assert code == 2
    assert "has no features, and the run reads those of a file" in err
    scores: Any = sw.load("runs/features").evaluate("valid").scores
    assert np.isfinite(scores["loss"])
