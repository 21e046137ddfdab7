"""Films as rows of frames: their size, their scale, what is left out, and what is told of them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from seqwright.batches import InMemory
from seqwright.data.films import NOWHERE, FilmExample
from seqwright.errors import DataError, RunError
from seqwright.inputs import Examples, Given, Room
from seqwright.inputs.film import FilmInput, FilmRows, FilmSettings
from seqwright.objectives.places import Places
from seqwright.outputs.places import PlacesOutput, Track
from seqwright.tasks.wired import Wires
from tests.small_images import bytes_of, random_pixels

Pixels = NDArray[np.uint8]


def film(seed: int, frames: int, rows: int = 5, columns: int = 7, channels: int = 1) -> Pixels:
    return np.stack([random_pixels(50 * seed + frame, rows, columns, channels) for frame in range(frames)])


def learnt(*films: Pixels, **settings: int) -> FilmInput:
    examples = Given([FilmExample(each, name=f"film {number}") for number, each in enumerate(films)])
    return FilmInput.learn(examples, FilmSettings(**settings), room=Room())


def test_frames_are_scaled_by_the_training_part_and_padded_with_zeros() -> None:
    films = film(1, 4), film(2, 2)
    input = learnt(*films)
    every = np.concatenate(films).astype(float) / 255
    assert (input.mean_C[0], input.deviation_C[0]) == pytest.approx((every.mean(), every.std()))
    read = input.stack(input.encode(Given([FilmExample(each) for each in films])).take(np.arange(2), None))
    assert read["input_B"].shape == (2, 4, 1, 5, 7)
    assert read["real_BT"].tolist() == [[True] * 4, [True, True, False, False]]
    wanted = (films[0][3, :, :, 0] / 255 - every.mean()) / every.std()
    np.testing.assert_allclose(read["input_B"][0, 3, 0], wanted, atol=1e-5)
    assert not read["input_B"][1, 2:].any()


def test_a_film_is_resized_whole_and_grey_becomes_coloured() -> None:
    input = learnt(film(1, 3, 6, 6, 3), size=4)
    wide = film(2, 2, 6, 12)
    rows = input.encode(Given([FilmExample(wide)]))
    (found,) = rows.take(np.arange(1), None)
    assert found.shape == (2, 4, 4, 3)
    theirs = Image.fromarray(wide[1, :, :, 0]).resize((4, 4), Image.Resampling.BICUBIC)
    np.testing.assert_allclose(found[1, :, :, 0].astype(int), np.asarray(theirs).astype(int), atol=1)
    assert rows.sizes.take(np.arange(1), None)[0].tolist() == [6, 12]


def test_films_of_several_sizes_need_one_to_be_said() -> None:
    with pytest.raises(DataError, match=r"films of the input have different sizes, such as 5 × 7 \(film 0\) and 6 × 7"):
        learnt(film(1, 2), film(2, 2, 6))


def test_the_end_of_a_long_film_is_left_out_and_told() -> None:
    input, examples = (
        learnt(film(1, 9), film(2, 3), longest=4),
        Given([FilmExample(film(1, 9)), FilmExample(film(2, 3))]),
    )
    rows = input.encode(examples)
    assert rows.lengths(None)[:, 0].tolist() == [4, 3]
    np.testing.assert_array_equal(rows.take(np.array([0]), None)[0], film(1, 9)[:4])
    told = "of 1 with over 4 frames the rest is not read"
    assert input.remarks(examples) == [told]
    assert input.part_sentence(examples, rows) == ("2 films with 3 to 9 frames of 5 × 7 pixels", f"; {told}")


def test_the_films_of_a_part_are_kept_as_they_were_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path))
    films, reads = [FilmExample(film(number, 2 + number), name=str(number)) for number in range(3)], list[int]()

    def read() -> list[FilmExample]:
        reads.append(1)
        return films

    part = Examples(read, "some fingerprint", "the train part")
    input = FilmInput.learn(part, FilmSettings(), room=Room())
    before = len(reads)
    for _ in range(2):
        rows = input.encode(part)
        for number, example in enumerate(films):
            np.testing.assert_array_equal(rows.take(np.array([number]), 3)[0], example.pixels_TYXC)
    assert len(reads) == before


def test_what_a_user_gives_is_a_folder_a_file_or_an_array(tmp_path: Path) -> None:
    input, frames = learnt(film(1, 3)), film(4, 3)
    for number, frame in enumerate(frames):
        (tmp_path / f"{number}.png").write_bytes(bytes_of(frame))
    np.testing.assert_array_equal(input.parse(str(tmp_path)).pixels_TYXC, frames)
    np.testing.assert_array_equal(input.parse(frames[..., 0] / 255.0).pixels_TYXC, frames)
    example = FilmExample(frames)
    assert input.parse(example) is example
    assert input.blank_remarks(Given([input.parse("")])) == ["1 film cannot be read: a blank row (not there)"]
    for odd in (np.zeros((5, 7)), np.zeros((0, 5, 7))):
        with pytest.raises(DataError, match="is no film: give"):
            input.parse(odd)


def test_a_thumbnail_is_the_frame_in_the_middle() -> None:
    np.testing.assert_array_equal(learnt(film(1, 3)).thumbnail(FilmExample(film(2, 5))), film(2, 5)[2])


def test_what_was_learnt_is_saved(tmp_path: Path) -> None:
    input = learnt(film(1, 3), longest=17)
    input.save(tmp_path)
    assert FilmInput.load(tmp_path) == input
    path = tmp_path / "film.json"
    path.write_text(path.read_text().replace("17", "0"))
    with pytest.raises(RunError):
        FilmInput.load(tmp_path)


# ------------------------------------------------------------------------------------------------------- places


def tracked() -> tuple[Given[FilmExample], FilmInput, PlacesOutput]:
    """Films of two sizes; of one place nobody knows, of one film none."""
    examples = Given(
        [
            FilmExample(film(1, 3, 4, 8), places=((0.5, 1.0), NOWHERE, (6.5, 3.0))),
            FilmExample(film(2, 2, 8, 4), places=((1.0, 2.0), (2.0, 5.0))),
            FilmExample(film(3, 2, 4, 8)),
        ]
    )
    input = FilmInput.learn(examples, FilmSettings(size=6), room=Room())
    return examples, input, PlacesOutput.learn(examples, None, input)


def shares() -> NDArray[np.float64]:
    """X and y of the known places, as shares of a frame."""
    return np.array([[1 / 8, 1.5 / 4], [7 / 8, 3.5 / 4], [1.5 / 4, 2.5 / 8], [2.5 / 4, 5.5 / 8]])


def test_places_are_shares_of_a_frame_less_their_mean_over_their_deviation() -> None:
    examples, input, output = tracked()
    assert output.mean == pytest.approx(shares().mean(0))
    assert output.deviation == pytest.approx(shares().std(0))
    targets = output.encode(examples, input.encode(examples))
    assert targets.learnable.tolist() == [0, 1]
    (standard_T2, size_2), _ = targets.rows.take(np.array([0, 1]), None)
    np.testing.assert_allclose(standard_T2[2], (shares()[1] - output.mean) / output.deviation, atol=1e-6)
    assert np.isnan(standard_T2[1]).all()
    assert size_2.tolist() == [4, 8]


def test_a_batch_knows_which_places_count() -> None:
    examples, input, output = tracked()
    batches = Wires(input, output).training_batches(examples, tokens=99)
    (batch,) = batches.once()
    known = dict(zip(batch.example_B.tolist(), batch.known_BT.tolist(), strict=True))
    assert known == {0: [True, False, True], 1: [True, True, False]}
    assert batch.loss_mask is batch.known_BT
    assert int(batch.tokens) == 5


def test_the_loss_counts_squared_distances_where_places_are_known() -> None:
    examples, input, output = tracked()
    (batch,) = Wires(input, output).training_batches(examples, tokens=99).once()
    draw = torch.randn(*batch.known_BT.shape, 2, generator=torch.Generator().manual_seed(1))
    loss, _ = Places()(lambda batch, carry: (draw, carry), batch, None)
    part = loss.parts["loss"]
    off = [(draw - batch.target_BT2)[row, frame] for row, frame in zip(*torch.where(batch.known_BT), strict=True)]
    assert part.over == Places().counts(batch)["loss"] == 4
    assert float(part.sum) == pytest.approx(sum(float(each @ each) for each in off), rel=1e-5)


class Says(torch.nn.Module):
    """A model that says the same of every frame."""

    def __init__(self, x: float, y: float) -> None:
        super().__init__()
        self.said_2 = torch.nn.Parameter(torch.tensor([x, y]))

    def forward(self, batch: object, carry: None = None) -> tuple[torch.Tensor, None]:
        shape = batch.input_B.shape[:2]  # type: ignore[attr-defined]
        return self.said_2.expand(*shape, 2), carry


def test_a_prediction_is_in_the_pixels_of_its_own_film() -> None:
    examples, input, output = tracked()
    found = Wires(input, output).predictions(Says(1.0, -2.0), examples)
    x, y = np.array(output.mean) + np.array([1.0, -2.0]) * output.deviation
    assert [len(each.places) for each in found] == [3, 2, 2]
    assert found[0].places[2] == pytest.approx((8 * x - 0.5, 4 * y - 0.5), abs=1e-5)
    assert found[1].places[0] == pytest.approx((4 * x - 0.5, 8 * y - 0.5), abs=1e-5)
    assert (found[0].size, repr(found[0])) == ((4, 8), "Track(3 places)")


def test_scores_are_distances_in_pixels_and_the_loss_that_of_training() -> None:
    examples, input, output = tracked()
    model, wires = Says(0.5, 0.25), Wires(input, output)
    predictions = wires.predictions(model, examples)
    distances = [
        np.hypot(*np.subtract(said, true))
        for prediction, example in zip(predictions, examples, strict=True)
        for said, true in zip(prediction.places, example.places, strict=False)
        if not np.isnan(true).any()
    ]
    found = output.scores(predictions, examples)
    assert found["place_error"] == pytest.approx(np.mean(distances))
    assert found["within_half"] == pytest.approx(100 * np.mean([each < 0.5 for each in distances]))
    (batch,) = wires.training_batches(examples, tokens=99).once()
    loss, _ = Places()(model, batch, None)
    assert found["loss"] == pytest.approx(float(loss.parts["loss"].sum.detach()) / 4, rel=1e-4)
    with pytest.raises(DataError, match="there is nothing to score"):
        output.scores([Track((), (1, 1))], Given([FilmExample(film(1, 2))]))


def test_an_ensemble_says_the_mean_of_the_places() -> None:
    *_, output = tracked()
    one, other = Track(((1.0, 2.0), (3.0, 4.0)), (4, 8)), Track(((2.0, 2.0), (3.0, 6.0)), (4, 8))
    assert output.combined([one, other]).places == ((1.5, 2.0), (3.0, 5.0))
    assert output.combined([one, Track((), (1, 1))]).places == ()


def test_what_is_said_has_a_line_and_fields() -> None:
    *_, output = tracked()
    track = Track(((1.23456, 2.0), (3.0, 4.5)), (4, 8))
    assert output.line(track) == "1.23,2.00 3.00,4.50"
    assert output.fields(track) == {"places": [[1.235, 2.0], [3.0, 4.5]]}
    assert output.fields(Track((), (1, 1))) == {"places": None}
    example = FilmExample(film(1, 2), places=(NOWHERE, (3.0, 4.0)))
    assert output.answer(track, example) == {"places": [None, [3.0, 4.0]], "predicted": [[1.23456, 2.0], [3.0, 4.5]]}


def test_fewer_places_than_frames_are_refused() -> None:
    examples = Given([FilmExample(film(1, 3), places=((1.0, 2.0), (2.0, 3.0)), name="a.gif")])
    input = FilmInput.learn(examples, FilmSettings(), room=Room())
    with pytest.raises(DataError, match=r"a\.gif of the input has 3 frames or more, but 2 places"):
        PlacesOutput.learn(examples, None, input)


def test_where_no_place_is_known_there_is_nothing_to_learn() -> None:
    examples = Given([FilmExample(film(1, 3))])
    input = FilmInput.learn(examples, FilmSettings(), room=Room())
    with pytest.raises(DataError, match=r"see whether data\.places means the right column"):
        PlacesOutput.learn(examples, None, input)


def test_rows_are_planned_by_their_frames() -> None:
    input = learnt(film(1, 4), film(2, 2))
    rows = input.encode(Given([FilmExample(film(1, 4)), FilmExample(film(2, 2))]))
    assert isinstance(rows, FilmRows)
    assert isinstance(
        PlacesOutput.beside(rows, InMemory([np.zeros((4, 2)), np.zeros((2, 2))])).lengths(None), np.ndarray
    )
    assert PlacesOutput.beside(rows, InMemory([np.zeros((4, 2)), np.zeros((2, 2))])).lengths(None).tolist() == [
        [4],
        [2],
    ]
