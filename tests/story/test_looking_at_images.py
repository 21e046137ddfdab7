"""Somebody wants to see what a classifier of images sees: pictures by name, a page for the browser, a line each."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest

import seqwright as sw
from seqwright.data.cards import card
from tests.small_images import bytes_of
from tests.story.conftest import Say

FEW = ("training.epochs=", "training.steps=2", "training.threads=1", "training.device=cpu", "training.warmup=0")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two digits, one of them with an odd name, and two runs that hardly know them."""
    folder = tmp_path_factory.mktemp("home")
    small = ("model.width=12", "model.heads=3", "model.layers=2")
    sw.train("digits-vit", *FEW, *small, run=folder / "vit", quiet=True)
    sw.train("digits-cnn", *FEW, "model.width=4", run=folder / "cnn", quiet=True)
    examples = card("digits").open().examples("test")
    for name in ("one", "a <b>&"):
        (folder / f"{name}.png").write_bytes(bytes_of(next(examples).pixels_YXC))
    (folder / "two").mkdir()
    for name in ("x", "y"):
        (folder / "two" / f"{name}.png").write_bytes(bytes_of(next(examples).pixels_YXC))
    return folder


def drawn(folder: str) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


def test_a_vit_shows_every_head_and_a_page(say: Say) -> None:
    code, out, err = say("look", "vit", "one.png", "-o", "heads")
    assert code == 0, err
    assert re.fullmatch(
        r"one\.png: \d, [\d.]+ %; half of the rollout lies on \d+ of 16 patches, most on row \d, column \d\n", out
    )
    assert drawn("heads") == {f"attention-one.{form}" for form in ("png", "svg", "html")}
    assert Path("heads/attention-one.png").read_bytes().startswith(b"\x89PNG")
    assert "head 3" in Path("heads/attention-one.svg").read_text(encoding="utf-8")
    assert say("look", "vit", "one.png", "-o", "head", "--layer", "2", "--head", "1")[0] == 0
    svg = Path("head/attention-one.svg").read_text(encoding="utf-8")
    assert ("layer 2" in svg, "layer 1" in svg, "head 1" in svg, "head 2" in svg) == (True, False, True, False)


def test_the_page_holds_what_was_seen_and_fetches_nothing(home: Path, say: Say) -> None:
    assert say("look", "vit", "a <b>&.png", "-o", "page")[0] == 0
    page = next(Path("page").glob("*.html")).read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "a &lt;b&gt;&amp;.png" in page
    assert "<b>" not in page
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    found = sw.load(home / "vit").look(str(home / "a <b>&.png")).data.found[0]
    shape = data["layers"], data["heads"], data["vectors"], data["vectors"]
    weights = np.frombuffer(base64.b64decode(data["weights"]), dtype=np.uint8).reshape(shape) / 255
    np.testing.assert_allclose(weights, found.every_LHTT / found.every_LHTT.max(-1, keepdims=True), atol=1 / 255)
    assert (data["grid"], data["before"], data["mean"]) == ([4, 4], ["class token"], True)
    assert data["image"].startswith("data:image/png;base64,")


@pytest.mark.parametrize(
    ("run", "words", "files"),
    [
        ("vit", ("--rollout",), {"rollout"}),
        ("vit", ("one.png", "--patch", "2,3"), {"similarity-one"}),
        ("vit", ("--positions",), {"positions"}),
        ("vit", ("--filters",), {"filters"}),
        ("vit", ("one.png", "--gradients"), {"saliency"}),
        ("cnn", (), {"saliency"}),
        ("cnn", ("two",), {"saliency"}),
        ("cnn", ("two", "--patch", "7,1"), {"similarity-x", "similarity-y"}),
        ("cnn", ("--filters",), {"filters"}),
        ("cnn", ("one.png", "two/x.png", "two/y.png", "--gradients"), {"saliency"}),
    ],
)
def test_each_sight_is_drawn(run: str, words: tuple[str, ...], files: set[str], say: Say, tmp_path: Path) -> None:
    code, out, err = say("look", run, *words, "-o", str(tmp_path / "pictures"))
    assert code == 0, err
    assert drawn(str(tmp_path / "pictures")) == {f"{name}.{form}" for name in files for form in ("png", "svg")}
    assert len(out.splitlines()) == (
        0
        if files <= {"positions", "filters"}
        else len([w for w in words if w.endswith("png")]) or (2 if "two" in words else 6)
    )


def test_numbers_are_printed_as_json(say: Say) -> None:
    code, out, err = say("look", "cnn", "two", "--json", "-o", "json")
    assert code == 0, err
    found = [json.loads(line) for line in out.splitlines()]
    assert [each["image"] for each in found] == ["two/x.png", "two/y.png"]
    assert np.array(found[0]["saliency"]).shape == (8, 8)
    assert np.sum(found[0]["saliency"]) == pytest.approx(1, abs=1e-2)
    code, out, err = say("look", "vit", "one.png", "--patch", "1,4", "--json", "-o", "json")
    assert json.loads(out)["cosine"][0][3] == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("cnn", "--rollout"), "kind 'cnn', which has no attention: a ViT has"),
        (("cnn", "one.png", "--layer", "1"), "kind 'cnn', which has no attention: a ViT has"),
        (("vit", "one.png", "--layer", "7"), "there is no layer 7; the model has 2: choose 1 to 2"),
        (("vit", "one.png", "--patch", "9,1"), "there is no place of row 9 and column 1"),
        (("vit", "one.png", "--patch", "middle"), "--patch is 'middle'; give the row and the column"),
        (("vit", "one.png", "--positions"), "--positions shows what the model has learnt"),
        (("vit", "one.png", "--lens"), "--lens is for models that read texts"),
        (("vit", "--filters", "--json"), "--json gives the numbers of"),
        (("vit", "one.png", "--rollout", "--filters"), "--rollout and --filters are different pictures"),
        (("vit", "nothing.png"), "there is no file nothing.png"),
        (("vit", "one.png", "--beam", "2"), "--beam is for translation"),
        (("vit", "one.png", "--with", "cnn"), "--with is for alignments of translations and for --gradients"),
    ],
)
def test_what_cannot_be_seen_is_refused_in_one_sentence(words: tuple[str, ...], told: str, say: Say) -> None:
    code, out, err = say("look", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err


def test_from_python_a_sight_is_data_and_figures(home: Path) -> None:
    run = sw.load(home / "vit")
    seen = run.look([str(home / "one.png"), str(home / "two" / "x.png")])
    assert (seen.what, list(seen.figures())) == ("attention", ["attention", "attention-2"])
    assert seen.data.found[0].weight_LHPQ.shape == (2, 3, 4, 4)
    assert run.look(what="rollout").figure() is not None
    assert run.look(str(home / "one.png"), "similarity", patch=(1, 2)).data.found[0].place == (0, 1)
    with pytest.raises(sw.UserError, match="patch is None: say whose similarity is meant"):
        run.look(str(home / "one.png"), "similarity")
    with pytest.raises(sw.UserError, match="beam is no setting of the attention of images"):
        run.look(str(home / "one.png"), beam=3)
    with pytest.raises(sw.UserError, match="there is no 'lens' to look at"):
        run.look(str(home / "one.png"), "lens")
