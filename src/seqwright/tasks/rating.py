"""Rating: texts that somebody gave a number, one tokenizer, squared error and correlations, and what has to be beaten.

B batch · N texts
"""

from array import array
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from seqwright.data.examples import PartName
from seqwright.data.labelled import LabelledData, is_blank, rating_of
from seqwright.devices import device_of
from seqwright.errors import DataError
from seqwright.inputs.rated_text import RatedText, Ratings
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.metrics.ratings import pearson, spearman, squared_error
from seqwright.recipe import Recipe
from seqwright.tasks import Checked, Evaluation, Prepared, refuse_missing_part
from seqwright.tasks.labelled_check import checked_texts
from seqwright.tasks.labelled_rows import (
    MOST_TEXTS,
    NOT_HERE,
    TRAINED_ELSEWHERE,
    LabelledBatches,
    TokenRows,
    cut_note,
    every_text,
    labelled_batches,
    learnable,
    read_texts,
    reading_of,
    second_texts,
    texts_of,
    token_rows,
    words_of,
)
from seqwright.tasks.rater import Rater
from seqwright.tasks.word_baseline import ToBeat, WordRating

LOWER = frozenset({"loss", "mse"})
REGRESSION = "to beat: ridge regression over words"
SIGNATURES = {
    "loss": "squared error, ratings with deviation 1",
    "mse": "squared error of the ratings",
    "pearson": "Pearson's correlation, from -100 to 100",
    "spearman": "that of the ranks",
    "mean_mse": "to beat: always the mean",
    **dict.fromkeys(("words_mse", "words_pearson", "words_spearman"), REGRESSION),
}


class RatingTask:
    """See `seqwright.tasks.Task`."""

    def learnt_inputs(self, recipe: Recipe, data: LabelledData, tokenizer: Tokenizer | None = None) -> RatedText:
        """The tokenizer, if none is given, and what is known of the ratings of the training part."""
        ratings, reading = training_ratings(data), reading_of(recipe, data, tokenizer)
        return RatedText.learnt(every_text(data, "train"), ratings, recipe.inputs, tokenizer, **reading)

    def loaded_inputs(self, folder: Path) -> RatedText:
        """The tokenizer and the ratings of a run."""
        return RatedText.load(folder)

    def prepared(self, recipe: Recipe, data: LabelledData, inputs: RatedText) -> Prepared:
        """Both parts tokenised; batches of the one, judgement on the other."""
        train, valid = (tokenised(data, inputs, part) for part in ("train", "valid"))
        notes = [f"train: {train.sentence(inputs)}", f"valid: {valid.sentence(inputs)}"]
        notes += [f"valid: to beat: {baselines(data, inputs, 'valid', train, valid).sentence}"]
        names = ("loss", "mse", "pearson", "spearman")
        return Prepared(batches_of(recipe, inputs, train), validation(recipe, inputs, valid), names, LOWER, notes)

    def checked(self, recipe: Recipe, data: LabelledData, inputs: RatedText) -> tuple[Checked, LabelledBatches]:
        """Every part tokenised and looked at."""
        parts = {part: tokenised(data, inputs, part) for part in data.parts()}
        batches = batches_of(recipe, inputs, parts["train"])
        to_beat = baselines(data, inputs, "valid", parts["train"], parts["valid"])
        rows = {part: tokens.rows for part, tokens in parts.items()}
        checked = checked_texts(data, inputs, rows, batches, uncertain=lambda texts: "")
        notes = {f"{part} part": tokens.sentence(inputs) for part, tokens in parts.items()}
        facts = {**notes, **checked.facts, "to beat": to_beat.sentence}
        return checked._replace(facts=facts, remarks=[*data.remarks(), *checked.remarks]), batches

    def evaluated(
        self, recipe: Recipe, data: LabelledData, inputs: RatedText, model: nn.Module, part: PartName, decoding: Any
    ) -> Evaluation:
        """Squared error, correlations, what has to be beaten, and what the model said of each text."""
        refuse_missing_part(data, part)
        tokens = tokenised(data, inputs, part)
        texts, true = list(texts_of(data, part)), tokens.rating_N.tolist()
        seconds = list(second_texts(data, part)) if inputs.pairs else None
        said = Rater(model, inputs).ratings(texts, seconds)
        to_beat = baselines(data, inputs, part, tokenised(data, inputs, "train"), tokens)
        answers = zip(read_texts(texts, seconds), true, said, strict=True)
        return Evaluation(
            scores={**scores_of(said, true, inputs), **to_beat.scores},
            signatures=SIGNATURES,
            groups={},
            answers=[
                {**read, "rating": rating, "predicted": round(predicted, 4)} for read, rating, predicted in answers
            ],
            notes=[f"{part}: {tokens.sentence(inputs)}", *to_beat.notes],
        )


class TokenisedRatings(NamedTuple):
    """A part as token rows, each with its rating."""

    rows: TokenRows
    rating_N: NDArray[np.float64]
    blank: int  # texts without a word or without a rating, which were left out

    def sentence(self, inputs: RatedText) -> str:
        """`5,103 pairs of texts rated from 0 to 5, 2.70 in the mean; 2 without text or rating were left out`."""
        low, high, mean = self.rating_N.min(), self.rating_N.max(), self.rating_N.mean()
        told = f"{len(self.rating_N):,} {'pairs of texts' if inputs.pairs else 'texts'} rated from "
        told += f"{low:g} to {high:g}, {mean:.2f} in the mean"
        told += f"; {self.blank:,} without text or rating were left out" if self.blank else ""
        return told + cut_note(self.rows)


def training_ratings(data: LabelledData) -> Ratings:
    """What is known of the ratings of the training part."""
    found = ratings_of(data, "train")[0]
    if not len(found):
        raise DataError(
            "no row of the training part has both a text and a rating: see whether data.text and data.label mean the "
            "right columns"
        )
    if found.min() == found.max():
        raise DataError(
            f"every text of the training part has the rating {found[0]:g}, expected different ones: see whether "
            "data.label means the right column"
        )
    return Ratings(*(float(value) for value in (found.mean(), found.std(), found.min(), found.max())))


def ratings_of(data: LabelledData, part: PartName) -> tuple[NDArray[np.float64], int]:
    """The ratings of the texts of a part that can be used, and how many cannot."""
    found, blank = array("d"), 0
    for example in data.examples(part):
        if is_blank(example):
            blank += 1
        else:
            found.append(rating_of(example, part))
    return np.asarray(found, dtype=np.float64), blank


def tokenised(data: LabelledData, inputs: RatedText, part: PartName) -> TokenisedRatings:
    """A part as token rows, from the cache where it is there, and its ratings."""
    rating_N, blank = ratings_of(data, part)
    return TokenisedRatings(token_rows(data, inputs, part), rating_N, blank)


def batches_of(recipe: Recipe, inputs: RatedText, part: TokenisedRatings) -> LabelledBatches:
    """The batches of a part, ratings around 0."""
    standard_N = ((part.rating_N - inputs.ratings.mean) / inputs.ratings.deviation).astype(np.float32)
    return labelled_batches(recipe, inputs, part.rows, standard_N)


# ---------------------------------------------------------------------------------------------------- scores


def validation(recipe: Recipe, inputs: RatedText, part: TokenisedRatings) -> Callable[[nn.Module], dict[str, float]]:
    """Squared error and correlations over the whole part."""
    batches = batches_of(recipe, inputs, part)

    @torch.inference_mode()
    def evaluate(model: nn.Module) -> dict[str, float]:
        device = device_of(model)
        said, true = list[float](), list[float]()
        for batch in batches.once():
            said_B1, _ = model(batch.to(device), None)
            said += [inputs.rating(value) for value in said_B1.squeeze(1).double().tolist()]
            true += [inputs.rating(value) for value in batch.target_B.double().tolist()]
        return scores_of(said, true, inputs)

    return evaluate


def scores_of(said: list[float], true: list[float], inputs: RatedText) -> dict[str, float]:
    """What validation gives; the loss is that of training, in which ratings have deviation 1."""
    error = squared_error(said, true)
    correlations = {"pearson": pearson(said, true), "spearman": spearman(said, true)}
    return {"loss": error / inputs.ratings.deviation**2, "mse": error, **correlations}


# ---------------------------------------------------------------------------------------------------- to beat


def baselines(
    data: LabelledData, inputs: RatedText, part: PartName, train: TokenisedRatings, asked: TokenisedRatings
) -> ToBeat:
    """The mean rating of training, and a ridge regression that learnt from the training part."""
    if not inputs.trained_here:
        return ToBeat({}, "", [TRAINED_ELSEWHERE])
    true = asked.rating_N.tolist()
    always = squared_error([inputs.ratings.mean] * len(true), true)
    told, scores = f"always saying the mean has a squared error of {always:.3f}", {"mean_mse": always}
    if not learnable(data, part):
        return ToBeat(scores, told, [f"there is no regression to compare with: {NOT_HERE}"])
    step = -(-len(train.rating_N) // MOST_TEXTS)
    regression = WordRating(islice(words_of(data, "train"), 0, None, step), train.rating_N[::step].tolist())
    words = scores_of(regression(words_of(data, part)), true, inputs)
    scores |= {f"words_{name}": score for name, score in words.items() if name != "loss"}
    told += f", ridge regression over words {words['mse']:.3f} (Pearson {words['pearson']:.1f})"
    return ToBeat(scores, told, [])
