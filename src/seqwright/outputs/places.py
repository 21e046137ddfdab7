"""Where something is in each frame of a film: x and y in pixels.

B batch · T frames · N films
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from seqwright.batches import Batches, InMemory, Numbers, Rows, Zipped
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.tracked import Tracked
from seqwright.data.films import FilmExample, Place
from seqwright.errors import DataError
from seqwright.inputs import Examples, Input, Picture, Stacked
from seqwright.outputs import Baselines, Output, Report, Targets, each_row
from seqwright.outputs.linear import NOT_HERE, elsewhere, ridge_regression, thinned

Values = NDArray[np.floating[Any]]

HALF = 0.5  # of a pixel
DRAWN = 8  # films in the picture of an evaluation
MOST_FRAMES = 20_000  # that a linear baseline learns from
SIGNATURES = {
    "loss": "squared distance, places as the model says them",
    "place_error": "mean distance in pixels",
    "within_half": "share of frames less than half a pixel off",
    "baseline_mean_place_error": "baseline: always the mean place",
    "baseline_linear_place_error": "baseline: ridge regression on each frame alone",
}


class Track(NamedTuple):
    """The place that is predicted in each frame; none of a film that cannot be read. `size` are rows and columns."""

    places: tuple[Place, ...]
    size: tuple[int, int]

    def __repr__(self) -> str:
        return f"Track({len(self.places)} places)"


NO_TRACK = Track((), (1, 1))


class Sized(Zipped):
    """Films, and the rows and columns that their frames had: planned by the films alone."""

    def lengths(self, epoch: int | None) -> Numbers:
        """`length_NS` of the films."""
        return self.sides[0].lengths(epoch)


@dataclass(frozen=True)
class PlacesOutput(Output[FilmExample, Tracked, Track]):
    """The mean and the deviation of x and of y over the training frames, as shares of a frame's columns and rows.

    So a place stays where it is when a film is resized.
    """

    mean: tuple[float, float]
    deviation: tuple[float, float]

    file: ClassVar[str] = "places.json"
    beside: ClassVar[type[Zipped]] = Sized
    score_names: ClassVar[tuple[str, ...]] = ("loss", "place_error", "within_half")
    lower_is_better: ClassVar[frozenset[str]] = frozenset({"loss", "place_error"})
    signatures: ClassVar[Mapping[str, str]] = SIGNATURES

    @classmethod
    def learn(cls, train: Examples[FilmExample], settings: Any, input: Input[Any, Any], *, like: Any = None) -> Self:
        """What is known of the places of the training part."""
        rows: Any = input.encode(train)
        found = [share_T2[~np.isnan(share_T2).any(1)] for share_T2 in _shares(train, rows) if len(share_T2)]
        every_L2 = np.concatenate([*found, np.zeros((0, 2))])
        if not len(every_L2):
            raise DataError(
                "no film of the training part can be read and has a place: see whether data.places means the right "
                "column"
            )
        deviation_2 = np.where(every_L2.std(0) > 0, every_L2.std(0), 1.0)
        (mean_x, mean_y), (wide, high) = every_L2.mean(0).tolist(), deviation_2.tolist()
        return cls((mean_x, mean_y), (wide, high))

    def encode(self, examples: Examples[FilmExample], rows: Any, *, seed: int = 0) -> Targets:
        """The places of each film as a model says them, not a number where they are not known, and its size."""
        shares = _shares(examples, rows)
        standard = [((share_T2 - self.mean) / self.deviation).astype(np.float32) for share_T2 in shares]
        learnable = [number for number, each in enumerate(standard) if not np.isnan(each).all()]
        return Targets(Sized(InMemory(standard, rows.example_N), rows.sizes), np.array(learnable, dtype=np.int64))

    def batches(
        self,
        rows: Any,
        targets: Targets | None,
        input: Input[FilmExample, Any],
        *,
        tokens: int,
        seed: int = 0,
    ) -> Batches[Tracked]:
        """Films of like length together; without places they come with their sizes alone."""
        if targets is not None:
            return super().batches(rows, targets, input, tokens=tokens, seed=seed)

        def collate(some: Sequence[tuple[Any, Any]]) -> Tracked:
            read, sizes = zip(*some, strict=True)
            unknown = [np.full((len(film), 2), np.nan, dtype=np.float32) for film in read]
            return self.collate(input.stack(read), list(zip(unknown, sizes, strict=True)))

        return Bucketed(Sized(rows, rows.sizes), collate, tokens=tokens, seed=seed, marks=input.marks)

    def collate(self, stacked: Stacked, targets: Sequence[Any] | None) -> Tracked:
        """What is read, with places and sizes; without, none is known and a frame is as large as it is read."""
        real_BT = stacked["real_BT"]
        if targets is None:
            rows, columns = stacked["input_B"].shape[-2:]
            size_B2 = torch.tensor([rows, columns]).expand(len(real_BT), -1)
            return Tracked(**stacked, target_BT2=torch.zeros(*real_BT.shape, 2), known_BT=real_BT, size_B2=size_B2)
        target_BT2 = np.full((*real_BT.shape, 2), np.nan, dtype=np.float32)
        for number, (standard_T2, _) in enumerate(targets):
            target_BT2[number, : len(standard_T2)] = standard_T2
        known_BT = ~np.isnan(target_BT2).any(-1)
        return Tracked(
            **stacked,
            target_BT2=torch.from_numpy(np.nan_to_num(target_BT2)),
            known_BT=torch.from_numpy(known_BT),
            size_B2=torch.from_numpy(np.stack([size_2 for _, size_2 in targets])),
        )

    def predict(
        self, model: nn.Module, batches: Batches[Tracked], examples: Examples[FilmExample], decoding: Any = None
    ) -> Iterator[Track]:
        """The place in each frame that is read."""
        found: dict[int, Track] = {}
        for batch, predicted_BT2 in each_row(model, batches):
            parts = (predicted_BT2.detach().double().numpy(), batch.real_BT.sum(1).tolist(), batch.size_B2.numpy())
            for number, standard_T2, length, size_2 in zip(batch.example_B.tolist(), *parts, strict=True):
                found[number] = self._track(standard_T2[:length], size_2)
        for number, _ in enumerate(examples):
            yield found.get(number, NO_TRACK)

    def _track(self, standard_T2: Values, size_2: Numbers) -> Track:
        place_T2 = (standard_T2 * self.deviation + self.mean) * size_2[::-1] - HALF
        rows, columns = size_2.tolist()
        return Track(_plain(place_T2), (rows, columns))

    def combined(self, predictions: Sequence[Track]) -> Track:
        """The mean of the places."""
        if any(not each.places for each in predictions):
            return NO_TRACK
        return Track(_plain(np.mean([each.places for each in predictions], axis=0)), predictions[0].size)

    # ------------------------------------------------------------------------------------------------ scores

    def scores(self, predictions: Sequence[Track], examples: Examples[FilmExample]) -> dict[str, float]:
        """The mean distance in pixels, and the share of frames that are less than half of one off."""
        every = [_off(prediction, example) for prediction, example in zip(predictions, examples, strict=True)]
        off_L2 = np.concatenate([*every, np.zeros((0, 2))])
        if not len(off_L2):
            raise DataError(f"no film of {examples.name} can be read and has a place: there is nothing to score")
        unit = [np.array(each.size[::-1]) * self.deviation for each in predictions]
        losses = np.concatenate([((off / one) ** 2).sum(1) for off, one in zip(every, unit, strict=True)])
        distance_L = np.linalg.norm(off_L2, axis=1)
        within = 100 * float((distance_L < HALF).mean())
        return {"loss": float(losses.mean()), "place_error": float(distance_L.mean()), "within_half": within}

    def target(self, example: FilmExample) -> bytes | None:
        """The places, as bytes: they are compared, and not shown."""
        return np.array(example.places).tobytes() if example.places else None

    def uncertainty(self, examples: int) -> None:
        """Their number says nothing of it: it is frames that count."""

    def report(self, predictions: Sequence[Track], examples: Examples[FilmExample]) -> Report:
        """Some films with the true path and the predicted one."""
        drawn = list[tuple[str, Any, Any, Any]]()
        for prediction, example in zip(predictions, examples, strict=True):
            if prediction.places and example.places and len(drawn) < DRAWN:
                name = f"{example.label or example.name}"
                drawn.append((name, example.pixels_TYXC, example.places, prediction.places))
        return Report(picture=Picture("tracks", {"films": drawn}))

    def baselines(self, train: Examples[FilmExample], part: Examples[FilmExample], input: Any) -> Baselines:
        """Always the mean place, and a ridge regression over the pixels of each frame by itself."""
        asked = _frames(part, input)
        off_L2 = np.concatenate([np.array(self.mean) - share_T2 for _, share_T2, _ in asked]) * _sizes(asked)
        always = _mean_distance(off_L2)
        told = f"always saying the mean place is {always:.2f} pixels off"
        if elsewhere(train, part):
            note = f"there is no regression to compare with: {NOT_HERE}"
            return Baselines({"baseline_mean_place_error": always}, told, [note])
        learnt = _frames(train, input)
        shown, true_L2 = (np.concatenate([each[place] for each in learnt]) for place in (0, 1))
        some = thinned(np.flatnonzero(~np.isnan(true_L2).any(1)).tolist(), MOST_FRAMES)
        asked_L = np.concatenate([each[0] for each in asked])
        predicted_L2 = np.stack(
            [
                ridge_regression(input.vectorizer(), shown[some], true_L2[some, axis].tolist()).predict(asked_L)
                for axis in (0, 1)
            ],
            axis=1,
        )
        linear = _mean_distance((predicted_L2 - np.concatenate([each[1] for each in asked])) * _sizes(asked))
        told += f", ridge regression on each frame {linear:.2f}"
        return Baselines({"baseline_mean_place_error": always, "baseline_linear_place_error": linear}, told, [])

    # ------------------------------------------------------------------------------------------------ told

    def part_sentence(self, examples: Examples[FilmExample], rows: Rows[Any]) -> str:
        """`with places in 4,005 of their frames`."""
        known = sum(int((~np.isnan(share_T2).any(1)).sum()) for share_T2 in _shares(examples, rows))
        return f"and places in {known:,} of {int(rows.lengths(None).sum()):,} frames"

    def line(self, prediction: Track, top: int = 1) -> str:
        """X and y of each frame."""
        return " ".join(f"{x:.2f},{y:.2f}" for x, y in prediction.places)

    def fields(self, prediction: Track, top: int = 1) -> dict[str, Any]:
        """X and y of each frame; nothing of a film that cannot be read."""
        places = [[round(x, 3), round(y, 3)] for x, y in prediction.places]
        return {"places": places or None}

    def answer(self, prediction: Track, example: FilmExample) -> dict[str, Any]:
        """The places, and the predicted ones."""
        known = [None if np.isnan(place).any() else list(place) for place in example.places]
        return {"places": known or None, "predicted": [list(place) for place in prediction.places] or None}

    def sizes(self) -> dict[str, int]:
        """Two numbers for each frame."""
        return {"classes": 2}


def _plain(place_T2: Values) -> tuple[Place, ...]:
    return tuple((float(x), float(y)) for x, y in place_T2.tolist())


def _true(example: FilmExample, frames: int) -> Values:
    """The places of the first so many frames; what is not told is not known."""
    place_T2 = np.full((frames, 2), np.nan)
    some = example.places[:frames]
    if some:
        place_T2[: len(some)] = some
    return place_T2


def _off(prediction: Track, example: FilmExample) -> Values:
    """How far each predicted place is off where the right one is known, in pixels of x and y."""
    off_T2 = np.array(prediction.places).reshape(-1, 2) - _true(example, len(prediction.places))
    found: Values = off_T2[~np.isnan(off_T2).any(1)]
    return found


def _shares(examples: Examples[FilmExample], rows: Any) -> list[Values]:
    """Of each row the places as shares of the columns and rows of its film."""
    length_N, size_N2 = rows.lengths(None)[:, 0].tolist(), rows.sizes.take(np.arange(len(rows.example_N)), None)
    every, found = dict(enumerate(examples)), list[Values]()
    for number, length, size_2 in zip(rows.example_N.tolist(), length_N, size_N2, strict=True):
        _refuse_others(every[number], length, examples.name)
        found.append((_true(every[number], length) + HALF) / size_2[::-1])
    return found


def _refuse_others(example: FilmExample, frames: int, name: str) -> None:
    """Refuse places of more or fewer frames than a film has, but for those that are not read."""
    if example.places and len(example.places) < frames:
        raise DataError(
            f"{example.name} of {name} has {frames:,} frames or more, but {len(example.places):,} places: give one for "
            "each frame, a dash where it is not known"
        )


def _frames(examples: Examples[FilmExample], input: Any) -> list[tuple[Values, Values, Values]]:
    """Of each film what a linear baseline sees of its frames, their places as shares, and its columns and rows."""
    rows = input.encode(examples)
    films = rows.take(np.arange(len(rows.example_N)), None)
    sizes = rows.sizes.take(np.arange(len(rows.example_N)), None)
    both = zip(films, _shares(examples, rows), sizes, strict=True)
    return [
        (input.thumbnails(film), share_T2, np.tile(size_2[::-1], (len(film), 1))) for film, share_T2, size_2 in both
    ]


def _sizes(frames: Sequence[tuple[Values, Values, Values]]) -> Values:
    size_L2: Values = np.concatenate([each[2] for each in frames])
    return size_L2


def _mean_distance(off_L2: Values) -> float:
    return float(np.nanmean(np.linalg.norm(off_L2, axis=1)))
