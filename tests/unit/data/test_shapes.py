"""Made-up shapes: what is said of a scene is true of its pixels."""

import numpy as np
import pytest

from seqwright.data.cards import card
from seqwright.data.shapes import (
    COLOURS,
    FORMS,
    Scene,
    Shape,
    caption_of,
    drawn_scene,
    masks_of,
    named_order,
    picture_of,
)

SCENES = [drawn_scene(1, 0, number) for number in range(300)]


def test_a_scene_follows_from_its_number_alone() -> None:
    few, many = card("shapes").open(examples=3), card("shapes").open(examples=7)
    pairs = zip(few.examples("train"), many.examples("train"), strict=False)
    assert all((one.pixels_YXC == other.pixels_YXC).all() and one.label == other.label for one, other in pairs)
    assert len({example.pixels_YXC.tobytes() for part in few.parts() for example in few.examples(part)}) == 1503


@pytest.mark.parametrize("size", [24, 48])
def test_no_two_shapes_overlap_and_none_covers_the_middle(size: int) -> None:
    for scene in SCENES:
        mask_NYX = masks_of(scene, size)
        assert mask_NYX.sum(0).max() == 1
        assert mask_NYX.any((1, 2)).all()
        assert not mask_NYX[:, size // 3 : size - size // 3, size // 3 : size - size // 3].any()


def test_a_mask_is_where_the_colour_is() -> None:
    for scene in SCENES[:50]:
        pixels_YXC, mask_NYX = picture_of(scene, 48, 0.0), masks_of(scene, 48)
        for shape, mask_YX in zip(scene.shapes, mask_NYX, strict=True):
            assert (pixels_YXC[mask_YX] == COLOURS[shape.colour]).all()
        assert (pixels_YXC[~mask_NYX.any(0)] == scene.background).all()


def test_the_first_shape_is_the_large_one_and_the_label() -> None:
    data = card("shapes").open(examples=40)
    for number, example in enumerate(data.examples("train")):
        scene = data.scene("train", number)
        sizes = masks_of(scene, 96).sum((1, 2))
        assert example.label == scene.shapes[0].form
        assert [shape.size for shape in scene.shapes] == ["large", *["small"] * (len(sizes) - 1)]
    assert {scene.shapes[0].form for scene in SCENES} == set(FORMS)


def test_captions_say_in_both_languages_what_is_seen() -> None:
    left, above = Shape("circle", "red", "large", 0.5, 0.1), Shape("diamond", "pink", "small", 0.9, 0.2)
    right = Shape("square", "blue", "small", 0.5, 0.8)
    scene = Scene((left, right, above), 0, 0)
    assert caption_of(scene, "en") == "a large red circle left of a small blue square and above a small pink diamond"
    assert caption_of(scene, "de") == (
        "ein großer roter Kreis links von einem kleinen blauen Quadrat und über einer kleinen rosa Raute"
    )
    assert caption_of(Scene((right, left), 0, 0), "de").startswith("ein kleines blaues Quadrat rechts von einem großen")
    assert caption_of(Scene((above, left), 0, 0), "en") == "a small pink diamond below a large red circle"
    assert caption_of(Scene((left,), 0, 0), "de") == "ein großer roter Kreis"


def test_the_order_in_which_shapes_were_drawn_does_not_change_the_caption() -> None:
    for scene in SCENES:
        first, *others = scene.shapes
        assert caption_of(scene._replace(shapes=(first, *reversed(others))), "en") == caption_of(scene, "en")
        named = [scene.shapes[number] for number in named_order(scene)]
        assert named[0] == first
        assert [(int(3 * each.y), int(3 * each.x)) for each in named[1:]] == sorted(
            (int(3 * each.y), int(3 * each.x)) for each in others
        )


def test_every_relation_holds_between_the_masks() -> None:
    for scene in SCENES:
        where = {
            shape: np.argwhere(mask_YX).mean(0)
            for shape, mask_YX in zip(scene.shapes, masks_of(scene, 96), strict=True)
        }
        first, *others = (scene.shapes[number] for number in named_order(scene))
        told = caption_of(scene, "en").removeprefix(f"a large {first.colour} {first.form}").split(" and ")
        for other, sentence in zip(others, told, strict=False):
            down, right = where[other] - where[first]
            holds = {"left of": right > 0, "right of": right < 0, "above": down > 0, "below": down < 0}
            relation = sentence.strip().partition(" a small ")[0]
            assert holds[relation], caption_of(scene, "en")
