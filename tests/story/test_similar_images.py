"""Somebody has a classifier of digits: its vectors of their images, which are alike, and what the vectors tell."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import seqwright as sw
from seqwright.data.cards import card
from seqwright.errors import DataError, RunError, SettingError
from tests.small_images import bytes_of
from tests.story.conftest import Say


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some digits as files, one of which was in training, a run that knows digits a little, and a ViT."""
    folder = tmp_path_factory.mktemp("home")
    few = ("training.threads=1", "training.device=cpu", "training.validate_every=60")
    sw.train("digits-cnn", "training.epochs=", "training.steps=60", *few, run=folder / "cnn", quiet=True)
    small = ("model.width=16", "model.heads=2", "model.layers=1", "model.class_tokens=1")
    sw.train("digits-vit", "training.epochs=", "training.steps=3", *few, *small, run=folder / "vit", quiet=True)
    digits = card("digits").open()
    (folder / "photos").mkdir()
    for number, example in enumerate([*digits.examples("test")][:5]):
        (folder / "photos" / f"{number}.png").write_bytes(bytes_of(example.pixels_YXC))
    first = next(digits.examples("train"))
    (folder / "known.png").write_bytes(bytes_of(first.pixels_YXC))
    (folder / "photos" / "broken.png").write_bytes(b"no image")
    return folder


def vectors(home: Path, name: str = "cnn", **options: str) -> NDArray[np.float32]:
    return sw.load(home / name).embed([str(home / "photos" / f"{n}.png") for n in range(5)], **options)  # type: ignore[arg-type]


def test_images_become_vectors_on_the_line_in_tables_and_in_arrays(home: Path, say: Say) -> None:
    code, out, err = say("embed", "cnn", "photos/0.png", "photos/3.png", "--json")
    assert code == 0, err
    printed = [json.loads(line) for line in out.splitlines()]
    assert [each["image"] for each in printed] == ["photos/0.png", "photos/3.png"]
    np.testing.assert_allclose([each["vector"] for each in printed], vectors(home)[[0, 3]], atol=1e-5)
    code, _, err = say("embed", "cnn", "photos", "--output", "v.npy", "--yes")
    assert code == 0, err
    assert "1 image cannot be read: photos/broken.png (no image)" in err
    assert "rows without numbers (NaN), for nothing could be read: 1" in err
    found = np.load("v.npy")
    np.testing.assert_allclose(found[:5], vectors(home), atol=1e-5)
    assert np.isnan(found[5]).all()
    assert say("embed", "cnn", "photos", "--output", "v.csv", "--yes")[0] == 0
    rows = Path("v.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0].startswith("image,vector_1,vector_2")
    assert rows[6].startswith("photos/broken.png,,")


def test_the_head_classifies_by_the_vectors_that_embed_gives(home: Path) -> None:
    run = sw.load(home / "cnn")
    weight_CD, bias_C = (run.model.state_dict()[f"head.output.{name}"].numpy() for name in ("weight", "bias"))
    logits_NC = vectors(home) @ weight_CD.T + bias_C
    said = [each.label for each in run([str(home / "photos" / f"{n}.png") for n in range(5)])]
    assert [run.output.labels[place] for place in logits_NC.argmax(1)] == said


def test_other_vectors_can_be_asked_for(home: Path) -> None:
    image = str(home / "photos" / "2.png")
    run = sw.load(home / "vit")
    assert not np.allclose(run.embed(image, pooling="first"), run.embed(image, pooling="mean"))
    np.testing.assert_allclose(run.embed(image), run.embed(image, pooling="mean"))  # the recipe pools patches
    assert np.linalg.norm(vectors(home, normalise=True), axis=1) == pytest.approx(np.ones(5))  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"pooling='first' is that of a class token, and this model has none"):
        sw.load(home / "cnn").embed(image, pooling="first")
    with pytest.raises(DataError, match="there are no images in an empty list"):
        run.embed([])


def test_the_images_most_like_one_are_listed_and_drawn(home: Path, say: Say) -> None:
    code, out, err = say("neighbours", "cnn", "photos/0.png", "known.png", "--top", "3", "--picture", "alike.png")
    assert code == 0, err
    assert "looked for among the train part" in err
    assert [len(line.split()) for line in out.splitlines()] == [3, 4, 4, 4] * 2
    cosines = [float(line.split()[-1]) for line in out.splitlines() if "digit" in line]
    assert cosines[:3] == sorted(cosines[:3], reverse=True)
    assert max(cosines) < 1  # the known one is not its own neighbour
    assert Path("alike.png").read_bytes().startswith(b"\x89PNG")
    code, out, err = say("neighbours", "cnn", "photos/0.png", "--data", "photos", "--json")
    assert code == 0, err
    assert "1 image cannot be read: photos/broken.png" in err
    found = json.loads(out)["neighbours"]
    unit = vectors(home) / np.linalg.norm(vectors(home), axis=1, keepdims=True)
    order = np.argsort(-(unit[1:] @ unit[0])) + 1
    assert [each["image"] for each in found] == [f"photos/{number}.png" for number in order]
    assert [each["cosine"] for each in found] == pytest.approx((unit[order] @ unit[0]).tolist(), abs=1e-5)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("neighbours", "cnn", "photos/0.png", "--analogy"), "--analogy takes three words"),
        (("neighbours", "cnn", "photos/0.png", "--side", "source"), "--side is for words; leave it out"),
        (("neighbours", "cnn", "photos/broken.png"), "broken.png is no image of a kind that is read"),
        (("neighbours", "cnn", "photos"), "broken.png (no image), and so has no vector: leave it out"),
        (("neighbours", "cnn", "photos/0.png", "--picture", "a.gif"), "--picture is 'a.gif'; end it in"),
        (
            ("embed", "cnn", "photos/0.png", "--pooling", "thought"),
            "and this model has none: leave it out, or use mean",
        ),
        (("probe", "cnn", "-k", "5000"), "k is 5000, but the train part has 1,254 examples: ask for fewer neighbours"),
        (("probe", "cnn", "--temperature", "0"), "give a k of 1 or more and a temperature above 0"),
        (("probe", "cnn", "--data", "sst2"), "the card sst2 has no labelled images"),
        (("probe", "cnn", "--data", "nowhere"), "there is no file nowhere"),
        (("probe", "cnn", "--test", "photos"), "test names what is scored, but data nothing to learn from"),
        (("probe", "cnn", "--data", "digits", "--test", "photos"), "the card digits has a test part of its own"),
        (("probe", "cnn", "--pooling", "last"), "--pooling is 'last'; choose mean or first"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(words: tuple[str, ...], told: str, say: Say) -> None:
    code, out, err = say(*words)
    assert (code, out) == (2, "")
    assert told in err.splitlines()[-1]


def test_frozen_vectors_are_probed(home: Path, say: Say) -> None:
    code, out, err = say("probe", "cnn", "-k", "7")
    assert code == 0, err
    assert "bank: 1,254 images of the train part, vectors of 64 numbers" in out
    assert "scored on: 354 images of the test part" in out
    assert "k 7, temperature 0.07" in out
    assert "logistic regression for 95.8 %" in out
    code, out, err = say("probe", "cnn", "-k", "7", "--json")
    found = sw.probe(sw.load(home / "cnn"), k=7)
    assert json.loads(out)["scores"] == found.scores
    assert min(scores["accuracy"] for scores in found.scores.values()) > 85


def test_other_labels_than_the_run_learnt_are_probed(home: Path, say: Say) -> None:
    for number, example in enumerate(card("digits").open().examples("valid")):
        path = Path("odd", "odd" if int(example.label) % 2 else "even", f"{number}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes_of(example.pixels_YXC))
    code, out, err = say("probe", "cnn", "--data", "odd", "-k", "3", "--json")
    assert code == 0, err
    assert json.loads(out)["scores"]["linear"]["accuracy"] > 75
    assert say("probe", "cnn", "--data", "odd", "--test", "odd", "-k", "1", "--json")[0] == 0


def test_a_captioner_has_vectors_of_images_too(home: Path) -> None:
    few = ("data.examples=60", "data.valid=20", "data.test=20", "training.epochs=", "training.steps=2")
    small = ("model.encoder_width=4", "training.warmup=0", "training.threads=1", "training.device=cpu")
    run = sw.train("shapes-captions", *few, *small, run=home / "captioner", quiet=True)
    assert run.embed(str(home / "photos" / "1.png")).shape == (run.model.body.width,)  # type: ignore[union-attr]
    assert "60 images of the train part" in sw.probe(run, k=5).bank  # a card of images with captions and labels


def test_an_ensemble_has_no_vectors_of_its_own(home: Path) -> None:
    with pytest.raises(RunError, match="each has vectors of its own"):
        sw.probe(sw.load([home / "cnn", home / "cnn"]))


def test_texts_are_probed_too(home: Path, say: Say) -> None:
    rows = [f"{'good' if n % 2 else 'bad'} film {n}\t{'yes' if n % 2 else 'no'}\n" for n in range(60)]
    Path("reviews.tsv").write_text("text\tlabel\n" + "".join(rows), encoding="utf-8")
    recipe = 'task = "text-classification"\n[data]\ntrain = "reviews.tsv"\n[input]\ntokenizer = "characters"\n'
    Path("reviews.toml").write_text(f'{recipe}[model]\nkind = "lstm"\nwidth = 7\nembedding = 5\n', encoding="utf-8")
    sw.train("reviews.toml", "training.steps=3", "training.warmup=0", run="reviews", quiet=True)
    code, out, err = say("probe", "reviews", "-k", "3", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["width"], found["baselines"]["baseline_linear_accuracy"]) == (14, 100.0)
    assert found["scores"]["linear"]["accuracy"] > 60
