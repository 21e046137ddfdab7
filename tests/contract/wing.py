"""How the contract over tasks asks the package of today: what changes when the package spells something otherwise.

A row is what a model reads of (a part of) an example, without padding: the numbers of its tokens, with the segment of
each where it has segments; of a series or a vector its values.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tokenizers
from tokenizers import models, pre_tokenizers, processors
from torch import Tensor

from seqwright.batches.masked import Masked
from seqwright.batches.pairs import Pairs
from seqwright.batches.prompted import Prompted
from seqwright.batches.text import Text
from seqwright.inputs import Given
from seqwright.inputs.foreign_tokenizers import ForeignTokenizer
from seqwright.kinds import task_of
from seqwright.outputs.text import WrittenText
from seqwright.recipe import read_recipe, recipe_from
from seqwright.runs import Run, data_of, load, model_of, open_run, train, write_run
from tests.wires import masked_wires

Row = tuple[Any, ...]
Prediction = tuple[Any, ...]  # texts, labels and numbers
READING = ("forward", "log_probability", "both", "start", "read")  # methods of models that are given what is read


class Wing(NamedTuple):
    """How one task is asked: what an answer of `eval` was given and what it says, and the same from the verb."""

    example: Callable[[dict[str, Any]], Any]
    prediction: Callable[[dict[str, Any]], Prediction]
    predict: Callable[[Run, list[Any]], Iterator[Prediction]]


class Evaluated(NamedTuple):
    """A part of the data, as `eval` judges it."""

    scores: dict[str, float]
    examples: list[Any]
    predictions: list[Prediction]


# ---------------------------------------------------------------------------------------------------- the seams


def opened(folder: Path) -> Run:
    """A run that was trained, opened again."""
    return open_run(folder)


def relearnt(recipe: Path, run: Run) -> Run:
    """The run with inputs that never were in a file: learnt again from the data."""
    source = run.recipe.input.model_dump().get("like")
    like = None if source is None else open_run(Path(source)).inputs.input
    learnt = read_recipe(str(recipe), [])
    return run._replace(inputs=task_of(learnt.task).learnt_inputs(learnt, data_of(learnt), like))


def validation(run: Run) -> dict[str, float]:
    """The scores that training would be told, of the run as it is."""
    prepared = task_of(run.recipe.task).prepared(run.recipe, data_of(run.recipe), run.inputs)
    scores: dict[str, float] = prepared.evaluate(run.model)
    return scores


def evaluation(run: Run, part: Any) -> Evaluated:
    """What `eval` finds in a part; of the answers that the verb can be asked for, what was given and said."""
    task, data = task_of(run.recipe.task), data_of(run.recipe)
    found = task.evaluated(run.recipe, data, run.inputs, run.model, part, run.recipe.decoding)
    wing, answers = WINGS[run.recipe.family], list(found.answers)
    if (
        run.recipe.task == "masked-language-modeling"
    ):  # where a word is hidden by another than the mask, no user could ask for it
        answers = [answer for answer in answers if answer["text"].count("<mask>") == len(answer["hidden"])]
    return Evaluated(found.scores, [*map(wing.example, answers)], [*map(wing.prediction, answers)])


def ensemble(*runs: Run) -> Run:
    """Several runs that decide together."""
    return load([run.folder for run in runs])


def examples_of(run: Run, part: Any) -> list[Any]:
    """What the verb can be asked of a part, an example after the other; of a text whose words are hidden, the first."""
    if run.recipe.task != "masked-language-modeling":
        return evaluation(run, part).examples
    texts = (text.split() for text in data_of(run.recipe).examples(part))
    return [(" ".join(["<mask>", *words[1:]]), words[:1]) for words in texts]


def predictions(run: Run, examples: list[Any]) -> list[Prediction]:
    """What the verb says of examples."""
    return list(WINGS[run.recipe.family].predict(run, examples))


def one_prediction(run: Run, text: str) -> list[Prediction]:
    """What the verb says of one text that is given as it is, not in a list."""
    found = run.inputs.predict(run.model, text, run.recipe.decoding)
    return [(found.text, found.best.score) if isinstance(found, WrittenText) else (found.log_probability,)]


def predicted_rows(run: Run, example: Any) -> set[Row]:
    """What the verb reads of an example; at a mask, the word that was hidden."""
    with listening(run) as found:
        predictions(run, [example])
    if run.recipe.task != "masked-language-modeling":
        return found
    [word], [row] = run.inputs.tokenizer.encode(example[1]), found
    mask = run.inputs.tokenizer.mask
    return {tuple((int(word[0]) if token == mask else token, segment) for token, segment in row)}


def training_rows(run: Run) -> set[Row]:
    """What training reads in an epoch."""
    batches = task_of(run.recipe.task).prepared(run.recipe, data_of(run.recipe), run.inputs).train
    return {row for batch in batches.once() for row in rows_of(batch, run)}


def numbered_rows(run: Run) -> list[tuple[int, Row]]:
    """The rows of an epoch, each with the number of its example."""
    batches: Any = task_of(run.recipe.task).prepared(run.recipe, data_of(run.recipe), run.inputs).train
    pairs = (zip(batch.example_B.tolist(), rows_of(batch, run), strict=True) for batch in batches.once())
    return [pair for some in pairs for pair in some]


def train_again(recipe: Path, folder: Path, steps: int) -> None:
    """Train up to a step, from the last checkpoint where there is one."""
    every = ("training.save_every=2", "training.validate_every=2", "training.log_every=1")
    train(read_recipe(str(recipe), [f"training.steps={steps}", *every]), folder)


def saved(folder: Path) -> dict[str, Any]:
    """Every file of the checkpoints of a run and its journal; of what is told about a checkpoint, all but the clock."""
    paths = [folder / "journal.jsonl", *folder.rglob("step-*/*")]
    files: dict[str, Any] = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    for name in files:
        if name.endswith("state.json"):
            state = json.loads(files[name])
            files[name] = {key: state[key] for key in state.keys() - {"seconds", "state_sha256"}}
    return files


@contextmanager
def listening(run: Run) -> Iterator[set[Row]]:
    """Every row that models of the run's class are given to read, until the end of the block."""
    found: set[Row] = set()
    with pytest.MonkeyPatch.context() as patch:
        for name in READING:
            method = getattr(type(run.model), name, None)
            if method is not None:
                patch.setattr(type(run.model), name, _heard(method, name, found, run))
        yield found


def _heard(method: Any, name: str, found: set[Row], run: Run) -> Any:
    def heard(self: Any, given: Any, *others: Any, **named: Any) -> Any:
        if isinstance(given, Tensor):  # tokens: what an encoder and a decoder write, or what others read
            found.update(_rows(given, others[0], run) if run.recipe.task == "instruction" else [])
        elif name != "start" or not isinstance(given, Text | Prompted):  # there only the number of rows is asked
            found.update(rows_of(given, run))
        return method(self, given, *others, **named)

    return heard


def rows_of(batch: Any, run: Run) -> list[Row]:
    """What a model reads of each row of a batch; of a masked text, what stood there before words were hidden."""
    match run.recipe.family:
        case "translation":
            assert isinstance(batch, Pairs)
            return _rows(batch.source_BS, batch.source_real_BS, run)
        case "forecasting":
            return [tuple(np.round(values.flatten().tolist(), 4).tolist()) for values in batch.input_BTC]
        case "vector-to-text":
            return [tuple(np.round(values.tolist(), 4).tolist()) for values in batch.vector_BX]
        case "language-modeling" | "instruction":
            return _rows(batch.input_BT, batch.real_BT, run)
        case "masked-language-modeling" if isinstance(batch, Masked):
            return _rows(batch.target_BT, batch.real_BT, run, batch.segment_BT)
        case "series-classification" | "film-classification" | "film-tracking":
            pairs = zip(batch.input_B, batch.real_BT, strict=True)
            return [tuple(np.round(values[real].flatten().tolist(), 4).tolist()) for values, real in pairs]
        case "image-classification":
            return [tuple(np.round(pixels.flatten().tolist(), 4).tolist()) for pixels in batch.input_B]
        case "image-captioning":
            return [tuple(np.round(pixels.flatten().tolist(), 4).tolist()) for pixels in batch.image_B]
        case "masked-language-modeling" | "text-classification" | "text-regression":
            return _rows(batch.input_B, batch.real_BT, run, batch.segment_BT)
        case _:
            return _rows(batch.input_BT, batch.real_BT, run, getattr(batch, "segment_BT", None))


def _rows(tokens_BT: Tensor, real_BT: Tensor, run: Run, segment_BT: Tensor | None = None) -> list[Row]:
    rows = [tuple(tokens[real].tolist()) for tokens, real in zip(tokens_BT, real_BT, strict=True)]
    if segment_BT is not None:
        pairs = zip(rows, segment_BT, real_BT, strict=True)
        return [tuple(zip(row, segments[real].tolist(), strict=True)) for row, segments, real in pairs]
    if run.recipe.task == "instruction":  # what is answered, up to the token that asks for an answer
        task = run.inputs.input.tokens.task
        return [row[: row.index(task) + 1] for row in rows if task in row]
    return rows


def roberta(folder: Path, words: Sequence[str]) -> None:
    """A run whose tokenizer is another program's: two separators stand between two texts, as RoBERTa has it."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    vocabulary = {token: number for number, token in enumerate([*special, *words])}
    library = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    library.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer = ForeignTokenizer.checked(library)
    assert tokenizer.between == 2
    inputs = masked_wires(tokenizer, 128, "full-sentences")
    recipe = recipe_from(
        {
            "task": "masked-language-modeling",
            "data": {"train": "nowhere.txt"},
            "input": {"tokenizer": tokenizer.kind, "rows": "full-sentences"},
            "model": {"kind": "roberta", "width": 8, "heads": 2, "layers": 1, "feed_forward": 16, "context": 128},
            "objective": {"kind": "masked-token"},
            "training": {"device": "cpu"},
        }
    )
    write_run(recipe, folder, inputs, model_of(recipe, inputs.sizes()))


# ---------------------------------------------------------------------------------------------------- the tasks


def _translated(run: Run, examples: list[Any]) -> Iterator[Prediction]:
    for found in run.inputs.predict(run.model, examples, run.recipe.decoding):
        yield found.text, found.best.score


def _scored(run: Run, examples: list[Any]) -> Iterator[Prediction]:
    for found in run.inputs.predict(run.model, examples):
        yield (found.log_probability,)


def _filled(run: Run, examples: list[Any]) -> Iterator[Prediction]:
    """The likeliest tokens, and how probable those are together that were hidden."""
    given = Given([text for text, _ in examples])
    filled = run.inputs.output.ranking(run.inputs.tokenizer.size).fill(run.model, run.inputs.batches(given), given)
    for (_, hidden), holes in zip(examples, filled, strict=True):
        right = [{each.token: each.probability for each in candidates} for candidates in holes]
        words = [word.strip("▁") for word in hidden]
        logs = (math.log(known[word]) for word, known in zip(words, right, strict=True))
        yield *(candidates[0].token for candidates in holes), math.fsum(logs)


def _classified(run: Run, examples: list[Any]) -> Iterator[Prediction]:
    for found in run.inputs.predict(run.model, [_given(example) for example in examples]):
        yield found.label, *(found.probabilities[label] for label in sorted(found.probabilities))


def _classified_as_given(run: Run, examples: list[Any]) -> Iterator[Prediction]:
    for found in run.inputs.predict(run.model, examples):
        yield found.label, *(found.probabilities[label] for label in sorted(found.probabilities))


def _rated(run: Run, examples: list[Any]) -> Iterator[Prediction]:
    for found in run.inputs.predict(run.model, [_given(example) for example in examples]):
        yield (found.value,)


def _given(example: tuple[str, str | None]) -> dict[str, str]:
    text, second = example
    return {"text": text} if second is None else {"text": text, "text_pair": second}


def _tagged(run: Run, examples: list[Any]) -> Iterator[Prediction]:
    for found in run.inputs.predict(run.model, examples):
        yield tuple(found.tags)


def _found(run: Run, examples: list[Any]) -> Iterator[Prediction]:
    given = [{"question": question, "context": context} for question, context in examples]
    for found in run.inputs.predict(run.model, given):
        yield found.answer(), found.answers[0].probability


def _tracked(run: Run, examples: list[Any]) -> Iterator[Prediction]:
    for found in run.inputs.predict(run.model, examples):
        yield tuple(number for place in found.places for number in place)


def _forecast(run: Run, examples: list[Any]) -> Iterator[Prediction]:
    for values_NC in run.inputs.predict(run.model, examples):
        yield tuple(values_NC.flatten().tolist())


WINGS = {
    "translation": Wing(lambda a: a["source"], lambda a: (a["hypothesis"], a["score"]), _translated),
    "instruction": Wing(lambda a: a["source"], lambda a: (a["hypothesis"], a["score"]), _translated),
    "language-modeling": Wing(lambda a: a["text"], lambda a: (a["log_probability"],), _scored),
    "masked-language-modeling": Wing(
        lambda a: (a["text"], a["hidden"]),
        lambda a: (*(token.strip("▁") for token in a["predicted"]), a["log_probability"]),
        _filled,
    ),
    "text-classification": Wing(
        lambda a: (a["text"], a.get("text_pair")),
        lambda a: (a["predicted"], *(a["probabilities"][label] for label in sorted(a["probabilities"]))),
        _classified,
    ),
    "series-classification": Wing(
        lambda a: np.array(a["series"]),
        lambda a: (a["predicted"], *(a["probabilities"][label] for label in sorted(a["probabilities"]))),
        _classified_as_given,
    ),
    "image-classification": Wing(
        lambda a: a["image"],
        lambda a: (a["predicted"], *(a["probabilities"][label] for label in sorted(a["probabilities"]))),
        _classified_as_given,
    ),
    "film-classification": Wing(
        lambda a: a["film"],
        lambda a: (a["predicted"], *(a["probabilities"][label] for label in sorted(a["probabilities"]))),
        _classified_as_given,
    ),
    "film-tracking": Wing(
        lambda a: a["film"], lambda a: tuple(number for place in a["predicted"] for number in place), _tracked
    ),
    "text-regression": Wing(lambda a: (a["text"], a.get("text_pair")), lambda a: (a["predicted"],), _rated),
    "token-classification": Wing(lambda a: a["words"], lambda a: tuple(a["predicted"]), _tagged),
    "question-answering": Wing(
        lambda a: (a["question"], a["context"]), lambda a: (a["predicted"], a["probability"]), _found
    ),
    "forecasting": Wing(
        lambda a: np.array(a["series"]), lambda a: tuple(np.array(a["forecast"]).flatten().tolist()), _forecast
    ),
    "image-captioning": Wing(lambda a: a["image"], lambda a: (a["hypothesis"], a["score"]), _translated),
    "vector-to-text": Wing(lambda a: a["input"], lambda a: (a["hypothesis"], a["score"]), _translated),
}
