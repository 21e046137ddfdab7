"""The texts of labelled data as token rows, whatever their labels are: names or numbers, of one text or of two."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

from numpy.typing import NDArray

from seqwright.batches import Column, Rows, Zipped
from seqwright.batches.bucketed import Bucketed, by_column
from seqwright.batches.labelled import Labelled, Shortened, ShortenedPairs, labelled
from seqwright.data.examples import PartName
from seqwright.data.labelled import LabelledData, of_pairs, usable
from seqwright.errors import DataError, SettingError
from seqwright.inputs.labelled_text import ReadText
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.lineage import model_row
from seqwright.recipe import Recipe
from seqwright.tasks.translation import Waiting
from seqwright.tasks.word_baseline import words
from seqwright.text_cache import Rules, tokenised_texts

TokenRows = Shortened | ShortenedPairs
LabelledBatches = Bucketed[Any, Labelled]
MOST_TEXTS = 50_000  # that a regression over words learns from
NOT_HERE = "the data it would learn from is not here"
TRAINED_ELSEWHERE = "there is nothing to compare with: what the model was trained on is not known"


def reading_of(recipe: Recipe, data: LabelledData, tokenizer: Tokenizer | None) -> dict[str, Any]:
    """How the inputs of a recipe read: one text or two, with a token before them or not, and how much of them."""
    begins, pairs = "begins" in model_row(recipe.model.kind, recipe.task).promises, of_pairs(data)
    between = 1 if tokenizer is None else tokenizer.between
    return {"begins": begins, "pairs": pairs, "longest": longest_of(recipe, marks=1 + begins + pairs * between)}


def longest_of(recipe: Recipe, *, marks: int) -> int:
    """The tokens that are read at most: what the recipe says, or what the model's context has room for beside marks."""
    context: int | None = recipe.model.model_dump().get("context")
    longest: int = recipe.inputs.longest
    if context is None or longest + marks <= context:
        return longest
    if "longest" in recipe.inputs.model_fields_set or context <= marks:
        raise SettingError(
            f"inputs.longest is {longest:,}, but the model reads {context:,} tokens, {marks} marks among them: "
            f"set inputs.longest={max(1, context - marks)} or less, or take a model with a longer context"
        )
    return context - marks


def texts_of(data: LabelledData, part: PartName) -> Iterator[str]:
    """The texts of a part that can be used; of two, the first."""
    return (example.text for example in usable(data.examples(part)))


def second_texts(data: LabelledData, part: PartName) -> Iterator[str]:
    """The second texts."""
    return (example.second or "" for example in usable(data.examples(part)))


def every_text(data: LabelledData, part: PartName) -> Iterator[str]:
    """All of them, second ones included."""
    return chain.from_iterable(
        (example.text,) if example.second is None else (example.text, example.second)
        for example in usable(data.examples(part))
    )


def words_of(data: LabelledData, part: PartName) -> Iterator[set[str]]:
    """What a regression knows of each text: its words; of a pair, which words are in one of the two and in both."""
    for example in usable(data.examples(part)):
        first = words(example.text)
        if example.second is None:
            yield first
        else:
            second = words(example.second)
            yield (first ^ second) | {f"both {word}" for word in first & second}


def cut_note(rows: TokenRows) -> str:
    """What follows in a sentence about texts if some were too long to be read whole."""
    return f"; of {rows.cut:,} with over {rows.longest:,} tokens the {rows.left_out} is not read" if rows.cut else ""


def learnable(data: LabelledData, part: PartName) -> bool:
    """Whether the training part is there, for a regression; of a run that was moved it may be only what is judged."""
    return part == "train" or data.fingerprint("train") != data.fingerprint(part)


def read_texts(texts: Sequence[str], seconds: Sequence[str] | None) -> list[dict[str, str]]:
    """What was read, for those who write answers down."""
    if seconds is None:
        return [{"text": text} for text in texts]
    return [{"text": text, "second": second} for text, second in zip(texts, seconds, strict=True)]


def token_rows(data: LabelledData, inputs: ReadText, part: PartName) -> TokenRows:
    """A part as token rows, from the cache where it is there."""
    refuse_other_number_of_texts(data, inputs, part)
    first = _cached(texts_of(data, part), "labelled", data, inputs, part)
    if not inputs.pairs:
        return Shortened(first, inputs.longest, inputs.left_out)
    second = _cached(second_texts(data, part), "labelled second", data, inputs, part)
    return ShortenedPairs(first, second, inputs.longest, inputs.left_out, between=inputs.between)


def labelled_batches(recipe: Recipe, inputs: ReadText, rows: Rows[Any], target_N: NDArray[Any]) -> LabelledBatches:
    """Texts with their targets, numbers of classes or values, as batches of as many tokens as training has."""
    return Bucketed(
        Zipped(rows, Column(target_N)),
        by_column(partial(labelled, end=inputs.end, begin=inputs.begin)),
        tokens=recipe.training.tokens,
        seed=recipe.training.seed,
        marks=1,
    )


def refuse_other_number_of_texts(data: LabelledData, inputs: ReadText, part: PartName) -> None:
    """Refuse single texts where two belong together, and the other way round."""
    example = next(usable(data.examples(part)), None)
    if example is None or inputs.pairs is (example.second is not None):
        return
    if not inputs.trained_here:
        raise DataError(
            "the file has single texts, but the model was imported for pairs: import it without --pairs, or give the "
            "file a second text, in columns named sentence1 and sentence2 or text1 and text2"
            if inputs.pairs
            else "the file has pairs of texts, but the model was imported for single ones: import it with --pairs"
        )
    if inputs.pairs:
        raise DataError(
            f"the {part} part has single texts, but the training part has pairs: give it a column for the second text, "
            "and name it with data.second if it has another name than in training"
        )
    raise DataError(
        f"the {part} part has pairs of texts, but the training part has single ones: name the text with data.text"
    )


def _cached(texts: Iterator[str], what: str, data: LabelledData, inputs: ReadText, part: PartName) -> Any:
    found = tokenised_texts(
        texts,
        key=f"{what} {data.fingerprint(part)} {inputs.tokenizer.fingerprint()}",
        encode=inputs.tokenizer.encode,
        decode=lambda ids: inputs.tokenizer.decode(ids.tolist()),
        rules=Rules(),
        where=f"the {part} part",
        progress=Waiting(f"tokenising the {part} part"),
    )
    return found.rows
