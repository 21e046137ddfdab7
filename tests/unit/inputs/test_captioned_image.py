"""Images for captions: pixels, or features of a file; what is drawn of them by a check."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from seqwright.data.image_features import FeatureFile
from seqwright.data.images import ImageExample
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs import Given, Room
from seqwright.inputs.captioned_image import CaptionedImageInput, FeatureInput
from seqwright.inputs.image import ImageSettings
from tests.small_images import random_pixels


@pytest.fixture
def featured(tmp_path: Path) -> Given[ImageExample]:
    """Images with features of 2 × 3 places."""
    rng = np.random.default_rng(1)
    names = ["a.png", "b.png"]
    save_file({name: rng.standard_normal((2, 3, 5)).astype(np.float32) for name in names}, tmp_path / "f.safetensors")
    file = FeatureFile(str(tmp_path / "f.safetensors"))
    return Given([ImageExample(random_pixels(n), name=name, features=file.find(name)) for n, name in enumerate(names)])


def learnt(examples: Given[ImageExample], **settings: Any) -> Any:
    return CaptionedImageInput.learn(examples, ImageSettings(**settings), room=Room())


def test_features_are_stacked_place_by_place_row_by_row(featured: Given[ImageExample]) -> None:
    found = learnt(featured)
    assert isinstance(found, FeatureInput)
    assert found.sizes() == {"rows": 2, "columns": 3, "features": 5}
    stacked = found.stack(found.encode(featured).take(np.array([1, 0]), 7))
    features = featured.examples[1].features
    assert features is not None
    assert stacked["input_B"].shape == (2, 6, 5)
    assert stacked["input_B"][0, 4].tolist() == features.value_YXC[1, 1].tolist()
    assert found.part_sentence(featured, found.encode(featured)) == ("2 images of 2 × 3 places with 5 features", "")


def test_features_are_saved_by_their_size_alone(featured: Given[ImageExample], tmp_path: Path) -> None:
    found = learnt(featured)
    found.save(tmp_path / "input")
    assert CaptionedImageInput.load(tmp_path / "input") == found
    (tmp_path / "input" / "features.json").write_text('{"rows": 0, "columns": 3, "features": 5}')
    with pytest.raises(RunError, match="cannot be read as features"):
        CaptionedImageInput.load(tmp_path / "input")


def test_without_features_pixels_are_read(tmp_path: Path) -> None:
    examples = Given([ImageExample(random_pixels(n), name=f"{n}", captions=("a",)) for n in range(3)])
    found = learnt(examples)
    assert type(found) is CaptionedImageInput
    found.save(tmp_path)
    assert CaptionedImageInput.load(tmp_path) == found


def test_what_has_no_features_or_others_is_refused_in_a_sentence(featured: Given[ImageExample], tmp_path: Path) -> None:
    found, bare = learnt(featured), ImageExample(random_pixels(1), name="c.png")
    for asked in (lambda: found.parse(bare), lambda: found.parse("c.png"), lambda: found.encode(Given([bare]))):
        with pytest.raises(DataError, match=r"'c\.png' has no features, and the run reads those of a file"):
            asked()
    assert found.parse(featured.examples[0]) is featured.examples[0]
    save_file({"c": np.ones((3, 2, 5), dtype=np.float32)}, tmp_path / "other.safetensors")
    other = bare._replace(features=FeatureFile(str(tmp_path / "other.safetensors")).find("c"))
    with pytest.raises(DataError, match=r"has features of the shape \(3, 2, 5\), but the run learnt from \(2, 3, 5\)"):
        found.encode(Given([other]))


def test_of_features_the_images_are_drawn_that_are_there(featured: Given[ImageExample]) -> None:
    from seqwright.data.image_sources import no_image

    first, second = featured.examples
    gone = no_image("t.csv:2", "names no image")._replace(features=second.features, captions=("gone",))
    drawn = learnt(featured).picture(Given([first._replace(captions=("here", "too")), gone]))
    assert drawn is not None
    assert [(text, pixels.shape) for text, pixels in drawn.data["images"]] == [("here", (128, 128, 3))]
    assert learnt(featured).picture(Given([gone])) is None


@pytest.mark.parametrize("settings", [{"size": 32}, {"augment": ["blur"]}])
def test_what_pixels_need_cannot_be_set_for_features(featured: Given[ImageExample], settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=f"input.{next(iter(settings))} is set, but images are read as the features"):
        learnt(featured, **settings)


def test_the_contact_sheet_has_captions_and_augmentations() -> None:
    examples = Given(
        [ImageExample(random_pixels(n), name=f"{n}", captions=(f"caption {n}", "other")) for n in range(50)]
    )
    drawn = learnt(examples, augment=["blur"]).picture(examples)
    assert drawn is not None
    assert drawn.name == "captions"
    texts = [text for text, _ in drawn.data["images"]]
    assert len(texts) == 24
    assert texts[0] == "caption 0"
    assert texts[-1] == "caption 49"
    assert [name for name, _ in drawn.data["augmented"]] == ["blur"]
