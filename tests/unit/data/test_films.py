"""Films in folders, archives, tables and arrays, and those of a moving dot that are made up."""

import io
import json
import shutil
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from seqwright.data.cards import card, opened_data
from seqwright.data.dots import DARK, Dots, DotsSettings
from seqwright.data.faults import RowError
from seqwright.data.film_files import FilmFiles, FilmFilesSettings
from seqwright.data.film_sources import film_at, natural, places_of
from seqwright.data.films import FilmExample
from seqwright.data.limits import file_limits
from seqwright.errors import DataError, SettingError
from tests.small_images import bytes_of, random_pixels

Pixels = NDArray[np.uint8]
PARTS = {"valid": "1%"}


def film(seed: int, frames: int = 11, channels: int = 3) -> Pixels:
    return np.stack([random_pixels(100 * seed + frame, 5, 7, channels) for frame in range(frames)])


def gif(pixels_TYXC: Pixels) -> bytes:
    """A film of shades of grey; each frame differs from the one before, or Pillow would join them."""
    first, *others = [Image.fromarray(frame[:, :, 0]) for frame in pixels_TYXC]
    held = io.BytesIO()
    first.save(held, "GIF", save_all=True, append_images=others)
    return held.getvalue()


def write(root: Path, name: str, pixels_TYXC: Pixels) -> None:
    """The frames of a film, whose numbers are not filled up with zeros."""
    (root / name).mkdir(parents=True, exist_ok=True)
    for number, frame in enumerate(pixels_TYXC):
        (root / name / f"{number}.png").write_bytes(bytes_of(frame))


def opened(train: Path | str, **settings: Any) -> FilmFiles:
    return FilmFiles(FilmFilesSettings(train=str(train), **{**PARTS, **settings}))


def every(data: FilmFiles) -> list[FilmExample]:
    """Those of all parts: which film falls into the validation part, its checksum decides."""
    found: list[FilmExample] = []
    for part in data.parts():
        with suppress(DataError):  # an empty part
            found += data.examples(part)
    return sorted(found, key=lambda example: natural(example.name))


def test_a_folder_for_each_label_has_folders_of_frames_and_gifs(tmp_path: Path) -> None:
    write(tmp_path, "run/2", film(1))
    write(tmp_path, "run/10", film(2))
    (tmp_path / "walk").mkdir()
    (tmp_path / "walk" / "b.gif").write_bytes(gif(film(3, channels=1)))
    (tmp_path / "loose.png").write_bytes(bytes_of(random_pixels(1)))
    (tmp_path / "run" / "notes.txt").write_text("a note")
    data = opened(tmp_path)
    found = every(data)
    assert [(example.name, example.label) for example in found] == [
        ("run/2", "run"),
        ("run/10", "run"),
        ("walk/b.gif", "walk"),
    ]
    np.testing.assert_array_equal(found[0].pixels_TYXC, film(1))  # the eleventh frame, 10.png, stands behind 9.png
    np.testing.assert_array_equal(found[2].pixels_TYXC[..., :1], film(3, channels=1))
    assert data.remarks() == [
        f"images of {tmp_path} that lie in no film of a label, passed over: 1 (.)",
        f"files of {tmp_path} whose names are not those of images, passed over: 1 (run/notes.txt)",
    ]


def test_an_archive_is_read_as_its_folder_is(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / "films", f"run/{number}", film(number))
    with zipfile.ZipFile(tmp_path / "films.zip", "w") as archive:
        for path in (tmp_path / "films").rglob("*.png"):
            archive.write(path, path.relative_to(tmp_path))
    zipped, plain = every(opened(tmp_path / "films.zip" / "films")), every(opened(tmp_path / "films"))
    assert [example.name for example in zipped] == [example.name for example in plain]
    for one, other in zip(zipped, plain, strict=True):
        np.testing.assert_array_equal(one.pixels_TYXC, other.pixels_TYXC)
        assert one.content() == other.content()


def test_a_table_names_films_with_labels_and_places(tmp_path: Path) -> None:
    write(tmp_path, "clips/a", film(1, 3))
    (tmp_path / "clips" / "b.gif").write_bytes(gif(film(2, 2, 1)))
    (tmp_path / "clips" / "c.webp").write_bytes(webp(film(3, 2)))
    (tmp_path / "t.csv").write_text('film,label,track\na,run,"1,2 - 2.5,3"\nb.gif,,\nc.webp,3,"0,0 6,4"\n')
    data = opened(tmp_path / "t.csv", films="clips")
    first, second, third = every(data)
    assert (first.label, second.label, third.label) == ("run", "", "3")
    np.testing.assert_array_equal(np.array(first.places), [[1, 2], [np.nan, np.nan], [2.5, 3]])
    assert (second.places, third.places) == ((), ((0.0, 0.0), (6.0, 4.0)))
    np.testing.assert_array_equal(third.pixels_TYXC, film(3, 2))
    before = data.fingerprint("train")
    (tmp_path / "other.png").write_bytes(bytes_of(random_pixels(9)))  # beside what the table names
    assert opened(tmp_path / "t.csv", films="clips").fingerprint("train") == before
    write(tmp_path, "clips/a", film(4, 3))
    assert opened(tmp_path / "t.csv", films="clips").fingerprint("train") != before


def webp(pixels_TYXC: Pixels) -> bytes:
    first, *others = map(Image.fromarray, pixels_TYXC)
    held = io.BytesIO()
    first.save(held, "WEBP", save_all=True, append_images=others, lossless=True)
    return held.getvalue()


def test_places_stand_in_json_too(tmp_path: Path) -> None:
    write(tmp_path, "a", film(1, 2))
    write(tmp_path, "b", film(2, 2))
    rows = [{"film": "a", "places": [[1, 2.5], None]}, {"film": "b/", "places": "[[3, 4], [5, 6]]"}]
    (tmp_path / "t.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    first, second = every(opened(tmp_path / "t.jsonl"))
    np.testing.assert_array_equal(np.array(first.places), [[1, 2.5], [np.nan, np.nan]])
    assert second.places == ((3.0, 4.0), (5.0, 6.0))


def test_arrays_hold_films_of_several_lengths_with_labels_and_places(tmp_path: Path) -> None:
    films = np.stack([film(number, 4, 1)[..., 0] for number in range(3)])
    places = np.arange(24, dtype=np.float32).reshape(3, 4, 2)
    places[1, 2] = np.nan
    places[2] = np.nan
    arrays: dict[str, Any] = {"films": films, "labels": ["a", "b", "a"], "places": places, "lengths": [4, 3, 2]}
    np.savez(tmp_path / "f.npz", **arrays)
    found = every(opened(tmp_path / "f.npz"))
    assert [(len(each.pixels_TYXC), each.label) for each in found] == [(4, "a"), (3, "b"), (2, "a")]
    assert found[0].places == ((0.0, 1.0), (2.0, 3.0), (4.0, 5.0), (6.0, 7.0))
    assert [np.isnan(place).any() for place in found[1].places] == [False, False, True]
    assert found[2].places == ()
    np.savez(
        tmp_path / "two.npz", train_films=films, test_films=films[:1] // 2, train_labels=[1, 2, 3], test_labels=[7]
    )
    data = opened(tmp_path / "two.npz" / "train", test=str(tmp_path / "two.npz" / "test"))
    assert [each.label for each in data.examples("test")] == ["7"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"films": np.zeros((2, 3))}, "films of the shape (2, 3), expected films × frames × rows × columns"),
        ({"films": None}, "has 0 arrays of films among labels"),
        ({"labels": ["a"]}, "but 1 labels and places of the shape (2, 0, 2): give as many labels"),
        ({"places": np.zeros((2, 3, 2))}, "places of the shape (2, 3, 2): give as many labels, and (films, frames, 2)"),
        ({"places": np.full((2, 4, 2), np.inf)}, "places that are no numbers"),
        ({"lengths": [5, 1]}, "lengths that fit no films of up to 4 frames"),
        ({"lengths": [0, 1]}, "lengths that fit no films of up to 4 frames"),
        ({"films": np.full((2, 4, 5, 7), 300)}, "expected bytes, or fractions from 0 to 1"),
    ],
)
def test_arrays_that_fit_together_in_no_way_are_refused(change: dict[str, Any], told: str, tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"films": np.zeros((2, 4, 5, 7), dtype=np.uint8), "labels": ["a", "b"], **change}
    np.savez(tmp_path / "f.npz", **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(DataError) as error:
        list(opened(tmp_path / "f.npz").examples("train"))
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("nothing,a,", "t.csv:2 names the film 'nothing', which is not in"),
        ('a,x,"1,2,3 4,5"', "has places that cannot be read"),
        ('a,x,"1,two"', "has places that cannot be read"),
        ('a,x,"1,inf"', "has places that cannot be read (an infinite place)"),
    ],
)
def test_a_row_that_cannot_be_read_is_refused(row: str, told: str, tmp_path: Path) -> None:
    write(tmp_path, "a", film(1, 2))
    (tmp_path / "t.csv").write_text(f"film,label,places\n{row}\n" + 40 * "a,x,\n")
    with pytest.raises(DataError) as error:
        list(opened(tmp_path / "t.csv").examples("train"))
    assert told in str(error.value)


def test_a_film_that_is_not_there_may_be_left_out(tmp_path: Path) -> None:
    write(tmp_path, "a", film(1, 2))
    (tmp_path / "t.csv").write_text("film,label\nnothing,x\n,x\na,x\n")
    found = list(opened(tmp_path / "t.csv", valid=str(tmp_path / "t.csv"), bad_rows="skip").examples("train"))
    assert [each.name for each in found] == ["nothing", f"{tmp_path / 't.csv'}:3", "a"]
    with pytest.raises(DataError, match="names the film 'nothing', which is not in"):
        found[0].pixels_TYXC  # noqa: B018
    with pytest.raises(DataError, match="names no film: correct it"):
        found[1].pixels_TYXC  # noqa: B018


def test_what_is_no_film_says_why(tmp_path: Path) -> None:
    write(tmp_path, "sizes", film(1, 2))
    (tmp_path / "sizes" / "2.png").write_bytes(bytes_of(random_pixels(1, 6, 6)))
    with pytest.raises(DataError, match=r"2\.png has 6 × 6 pixels, but the frames before it 5 × 7: resize it"):
        film_at(tmp_path / "sizes", "sizes").pixels_TYXC  # noqa: B018
    (tmp_path / "cut.gif").write_bytes(gif(film(2, 3, 1))[:-60])
    with pytest.raises(DataError, match=r"cut\.gif is damaged|cut\.gif is no image"):
        film_at(tmp_path / "cut.gif", "cut.gif").pixels_TYXC  # noqa: B018
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match="none has no frames, which are images"):
        film_at(tmp_path / "none", "none")
    (tmp_path / "deep" / "a" / "b").mkdir(parents=True)
    write(tmp_path / "deep" / "a" / "b", "c", film(1, 2))
    with pytest.raises(DataError, match="has no films, expected a folder for each label"):
        list(opened(tmp_path / "deep").examples("train"))


def test_a_film_that_is_too_large_is_refused_before_it_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.gif").write_bytes(gif(film(1, 5, 1)))
    write(tmp_path, "b", film(1, 5))
    small = file_limits()._replace(pixels=4 * 5 * 7)
    monkeypatch.setattr("seqwright.data.decoded_films.file_limits", lambda: small)
    for name in ("a.gif", "b"):
        with pytest.raises(DataError, match=rf"{name} has 5 frames of 5 × 7 pixels, expected at most 140 in all"):
            film_at(tmp_path / name, name).pixels_TYXC  # noqa: B018


def test_numbers_in_names_are_counted() -> None:
    assert sorted(["10.png", "9.png", "a2", "a10", "1.png"], key=natural) == ["1.png", "9.png", "10.png", "a2", "a10"]


def test_places_are_pairs_or_unknown() -> None:
    assert places_of("  ", "here") == ()
    assert places_of([[1, 2], [3, 4.5]], "here") == ((1.0, 2.0), (3.0, 4.5))
    with pytest.raises(RowError, match="here has places that cannot be read"):
        places_of([[1, 2, 3]], "here")


def test_parts_never_have_a_film_in_common(tmp_path: Path) -> None:
    for number in range(12):
        write(tmp_path, f"{'ab'[number % 2]}/{number}", film(number, 2))
    shutil.copytree(tmp_path / "a" / "0", tmp_path / "b" / "again")
    data = opened(tmp_path, valid="30%", test="30%")
    of_part = {part: {example.content() for example in data.examples(part)} for part in data.parts()}
    assert sum(map(len, of_part.values())) == 12
    assert not of_part["train"] & of_part["valid"] | of_part["train"] & of_part["test"]


# -------------------------------------------------------------------------------------------------------- dots


def test_a_dot_is_where_it_is_said_to_be() -> None:
    data = card("dots").open(noise=0, examples=40)
    for number, example in enumerate(data.examples("train")):
        motion = data.motion("train", number)
        for frame, (shades_YX, (x, y)) in enumerate(zip(example.pixels_TYXC[..., 0], example.places, strict=True)):
            bright = shades_YX.astype(float) - DARK
            if frame in motion.hidden:
                assert not bright.any()
                continue
            rows, columns = np.indices(bright.shape)
            assert (bright * columns).sum() / bright.sum() == pytest.approx(x, abs=0.35)  # the edge cuts it off
            assert (bright * rows).sum() / bright.sum() == pytest.approx(y, abs=0.35)


def test_the_name_of_a_motion_tells_its_direction() -> None:
    for example in card("dots").open(examples=120).examples("train"):
        place_T2 = np.array(example.places)
        step_T2 = np.diff(place_T2, axis=0)
        turn_T = step_T2[:-1, 0] * step_T2[1:, 1] - step_T2[:-1, 1] * step_T2[1:, 0]  # above 0: to the right, y down
        x, y = place_T2[-1] - place_T2[0]
        match example.label:
            case "clockwise":
                assert (turn_T > 0).all()
            case "counterclockwise":
                assert (turn_T < 0).all()
            case straight:
                assert np.allclose(turn_T, 0)
                assert {"right": x > 2, "left": x < -2, "down": y > 2, "up": y < -2}[straight]
        assert (place_T2 >= 0.5 - 1e-9).all()
        assert (place_T2 <= 6.5 + 1e-9).all()


def test_a_film_is_a_function_of_seed_part_and_number() -> None:
    one, again, other = (Dots(DotsSettings(examples=5, seed=seed)) for seed in (1, 1, 2))
    first, second, third = (next(data.examples("train")) for data in (one, again, other))
    assert first.content() == second.content() != third.content()
    assert first.content() != next(one.examples("valid")).content()
    assert one.fingerprint("train") == again.fingerprint("train") != other.fingerprint("train")
    assert {len(example.pixels_TYXC) for example in Dots(DotsSettings(examples=90)).examples("train")} == {
        8,
        9,
        10,
        11,
        12,
    }


def test_most_of_a_film_must_be_seen() -> None:
    with pytest.raises(SettingError, match="hidden = 5 is more than half of the shortest films"):
        DotsSettings(hidden=5)
    assert not any(Dots(DotsSettings(hidden=0)).motion("train", 3).hidden)


def test_a_card_of_films_is_opened_by_its_name() -> None:
    data = opened_data(DotsSettings(examples=2), "films")
    assert [example.name for example in data.examples("train")] == ["dots 1", "dots 2"]


def test_the_second_column_is_the_label_unless_there_are_places(tmp_path: Path) -> None:
    write(tmp_path, "a", film(1, 2))
    (tmp_path / "plain.csv").write_text("a,run\n")
    (tmp_path / "tracked.csv").write_text('film,places\na,"1,2 3,4"\n')
    (tmp_path / "named.csv").write_text('film,where\na,"1,2 3,4"\n')
    plain = every(opened(tmp_path / "plain.csv"))
    tracked, named = every(opened(tmp_path / "tracked.csv")), every(opened(tmp_path / "named.csv", places="where"))
    assert [(each.label, each.places) for each in plain] == [("run", ())]
    assert [(each.label, each.places) for each in tracked + named] == 2 * [("", ((1.0, 2.0), (3.0, 4.0)))]
