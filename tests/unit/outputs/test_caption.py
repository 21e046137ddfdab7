"""Captions as targets: one of each image in an epoch, all of them in none; scores; the constant caption.

N images · M captions
"""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqwright.batches import Place
from seqwright.data.images import ImageExample
from seqwright.errors import DataError
from seqwright.inputs import Given
from seqwright.inputs.captioned_image import CaptionedImageInput
from seqwright.outputs.caption import CaptionOutput, CaptionSettings, constant_caption
from seqwright.outputs.text import WrittenText
from seqwright.outputs.text_search import TextCandidate
from seqwright.tasks.wired import Wires
from tests.small_images import random_pixels

TEXTS = [("a b", "a c d", "a e"), ("b",), (), ("c d e a b", "d")]


def example(number: int, captions: tuple[str, ...]) -> ImageExample:
    return ImageExample(random_pixels(number), name=f"{number}.png", captions=captions)


def some(texts: Any = TEXTS) -> Given[ImageExample]:
    return Given([example(number, captions) for number, captions in enumerate(texts)])


def wires(texts: Any = TEXTS, **settings: Any) -> Wires:
    return Wires.learn(
        CaptionedImageInput, CaptionOutput, some(texts), CaptionedImageInput.settings(), CaptionSettings(**settings)
    )


def learnt(found: Wires, batches: Any, epoch: int) -> list[tuple[int, str]]:
    """The number of the image and the caption of each row of an epoch."""
    rows = []
    for number in range(batches.in_epoch(epoch)):
        batch = batches.at(Place(epoch, number))
        for example_, target_T, real_T in zip(batch.example_B, batch.target_BT, batch.real_BT, strict=True):
            rows.append((int(example_), found.tokenizer.decode(target_T[real_T][:-1].tolist())))
    return rows


def test_an_epoch_takes_one_caption_of_each_image_and_every_caption_comes() -> None:
    found = wires()
    batches = found.training_batches(some(), tokens=9, seed=5)
    seen = Counter[tuple[int, str]]()
    for epoch in range(40):
        rows = learnt(found, batches, epoch)
        assert sorted(number for number, _ in rows) == [0, 1, 3]
        seen.update(rows)
    assert set(seen) == {(number, text) for number, texts in enumerate(TEXTS) for text in texts}
    assert all(5 < seen[0, text] < 25 for text in TEXTS[0])


def test_the_draw_depends_on_seed_epoch_and_image_alone() -> None:
    found = wires()
    one, again, other = (found.training_batches(some(), tokens=9, seed=seed) for seed in (5, 5, 6))
    drawn = [[sorted(learnt(found, each, epoch)) for epoch in range(12)] for each in (one, again, other)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
    assert len({tuple(rows) for rows in drawn[0]}) > 3
    more = [*TEXTS, ("a", "b")]
    longer = found.training_batches(some(more), tokens=9, seed=5)
    assert [[row for row in sorted(learnt(found, longer, epoch)) if row[0] < 4] for epoch in range(12)] == drawn[0]


def test_in_no_epoch_every_caption_is_there_beside_its_image() -> None:
    found = wires()
    rows = [
        (int(number), found.tokenizer.decode(target_T[real_T][:-1].tolist()), pixels)
        for batch in found.training_batches(some(), tokens=9).once()
        for number, target_T, real_T, pixels in zip(
            batch.example_B, batch.target_BT, batch.real_BT, batch.image_B, strict=True
        )
    ]
    assert sorted((number, text) for number, text, _ in rows) == sorted(
        (number, text) for number, texts in enumerate(TEXTS) for text in texts
    )
    images = found.input.encode(some())
    for number, _, pixels in rows:
        wanted = found.input.stack(images.take(np.array([number]), None))["input_B"][0]
        assert np.array_equal(pixels, wanted)


def test_long_captions_are_left_out_cut_or_refused() -> None:
    dropped, cut = wires(longest=2), wires(longest=2, overlong="truncate")
    known = {text for batch in dropped.training_batches(some(), tokens=99).once() for text in [len(batch)]}
    assert known == {4}  # of six captions two have more than two words
    assert "(not in the loss: 1 image without one, 2 captions too long)" in dropped.output.part_sentence(
        some(), dropped.input.encode(some())
    )
    assert max(batch.real_BT.sum(1).max() for batch in cut.training_batches(some(), tokens=99).once()) == 3
    assert "cut: 2 too long" in cut.output.part_sentence(some(), cut.input.encode(some()))
    with pytest.raises(DataError, match=r"image 1 has a caption of 3 tokens, more than output\.longest = 2"):
        wires(longest=2, overlong="refuse").training_batches(some(), tokens=99)


def test_images_that_cannot_be_read_have_no_captions_to_learn_from() -> None:
    from seqwright.data.image_sources import no_image

    first, *others = some().examples
    broken = Given([first, no_image("t.csv:2", "names no image")._replace(captions=("z",)), *others])
    found = wires()
    rows = learnt(found, found.training_batches(broken, tokens=99), 0)
    assert sorted(number for number, _ in rows) == [0, 2, 4]
    assert "z" not in {text for _, text in rows}


@pytest.mark.parametrize("texts", [[(), ()], [("",)]])
def test_images_without_any_caption_are_refused(texts: Any) -> None:
    given = [tuple(text for text in captions if text) for captions in texts]
    with pytest.raises(DataError, match="no image of the input has a caption"):
        wires(given)
    with pytest.raises(DataError, match="no image that can be read and has a caption"):
        wires().training_batches(some(given), tokens=9)


def written(*texts: str) -> list[WrittenText]:
    return [WrittenText((TextCandidate(text, -1.0, -1.0, [], [], True),)) if text else WrittenText() for text in texts]


def test_scores_ask_every_caption_of_an_image() -> None:
    output = wires().output
    scores = output.scores(written("A E", "c", "x", "d"), some())
    assert scores["exact"] == pytest.approx(200 / 3)  # the third has no caption, the second another one
    assert set(scores) == set(output.score_names) - {"loss", "perplexity"}
    made = output.report(written("a", "b", "c", "d"), some()).signatures
    assert made["cider"] == "COCO captions|nrefs:1-3|case:lc|tok:words"
    assert output.answer(written("d")[0], some().examples[3]) == {
        "references": ["c d e a b", "d"],
        "hypothesis": "d",
        "score": -1.0,
    }


def test_the_constant_caption_is_the_one_that_fits_the_most_images() -> None:
    several = [("a dog runs home", "two men"), ("the dog runs home", "a dog runs"), ("a dog sits today",), ("a cat",)]
    assert constant_caption(several) == "a dog runs"
    assert constant_caption([*several, ("a dog sits today", "four men play cards", "a b c d")]) == "a dog sits today"
    found = wires([(text,) for text in ("a dog runs", "a dog runs", "a cat sits")])
    assert found.output.constant == "a dog runs"
    baselines = found.output.baselines(some(), some([("a dog runs",), ("x y",)]), found.input)
    assert baselines.scores["baseline_constant_exact"] == 50
    assert baselines.sentence.startswith("always 'a dog runs' has CIDEr ")


def test_it_is_saved_with_its_constant_caption(tmp_path: Path) -> None:
    found = wires()
    found.save(tmp_path)
    input_ = CaptionedImageInput.load(tmp_path / "input")
    output = CaptionOutput.load(tmp_path / "output", input_)
    assert output.constant == found.output.constant != ""
    assert output.tokenizer.fingerprint() == found.output.tokenizer.fingerprint()
    assert input_ == found.input
