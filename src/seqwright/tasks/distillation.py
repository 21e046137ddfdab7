"""Learning from a teacher: what it predicts on the training part is computed once, kept in the cache, and looked up.

B batch · T time · C classes · N texts, or masked tokens · K likeliest tokens
"""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from torch import Tensor

from seqwright.batches import Chained, Column, Fixed, Ids, Numbers, Rows
from seqwright.batches.annotated import UNLABELLED, Annotated, TaughtLabels, TaughtTokens
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.labelled import Labelled
from seqwright.batches.masked import Masked
from seqwright.cache import Ragged, RaggedWriter, kept_folder
from seqwright.data.files import content_hash, lines
from seqwright.data.labelled import LabelledData
from seqwright.data.labelled_tables import Example
from seqwright.data.text import TextData
from seqwright.devices import device_of
from seqwright.errors import RunError, SettingError
from seqwright.inputs import Examples
from seqwright.inputs.text import reads_pairs
from seqwright.objectives.distilled_labels import DistilledLabelsSettings
from seqwright.objectives.distilled_tokens import bucketed
from seqwright.outputs import Targets, each_row
from seqwright.recipe import Recipe
from seqwright.tasks import Prepared
from seqwright.tasks.parts import Part
from seqwright.tasks.wired import Wires

FORMAT = 1
LIKELIEST = 64  # tokens whose probabilities are kept one by one: all 30,000 of a vocabulary would be many gigabytes


class Teacher(NamedTuple):
    """The run that is learnt from; None where it is gone, which only matters if it has to be asked."""

    name: str
    sha256: str
    run: Any | None

    def asked(self) -> Any:
        """The run, to be asked."""
        if self.run is None:
            raise RunError(
                f"there is no run {self.name} any more, and its predictions are not in the cache; put it back"
            )
        return self.run


class Lesson(NamedTuple):
    """What training needs of the data, and what the objective is built with beside its settings."""

    prepared: Prepared
    sizes: dict[str, Any]


def taught(prepared: Prepared, recipe: Recipe, data: Any, inputs: Any, teachers: Sequence[Teacher]) -> Lesson:
    """What was prepared, its batches with what the teachers say of them, if there are any."""
    if not teachers:
        return Lesson(prepared, {})
    for teacher in teachers:
        if teacher.run is not None:
            refuse_misfit(recipe, inputs, teacher)
    if isinstance(recipe.objective, DistilledLabelsSettings):
        return _taught_labels(prepared, recipe, data, inputs, teachers)
    (teacher,) = teachers
    return _taught_tokens(prepared, recipe, data, inputs, teacher)


def refuse_misfit(recipe: Recipe, inputs: Any, teacher: Teacher) -> None:
    """Refuse a teacher that says something else than the student learns to say."""
    run = teacher.asked()
    if run.recipe.task != recipe.task:
        raise RunError(
            f"the teacher {teacher.name} is for {run.recipe.task}, but the recipe is for {recipe.task}; choose a run "
            "of that task, or another recipe"
        )
    if run.inputs.tokenizer.fingerprint() != inputs.tokenizer.fingerprint():
        raise RunError(
            f"the teacher {teacher.name} cuts text into other tokens than the student; set input.like to "
            f"{teacher.name}, or model.weights to a run with the same tokenizer"
        )
    if isinstance(recipe.objective, DistilledLabelsSettings):
        if run.inputs.output.labels != inputs.output.labels:
            theirs, ours = (", ".join(some.output.labels) for some in (run.inputs, inputs))
            raise RunError(
                f"the teacher {teacher.name} knows the labels {theirs}, but the data has {ours}; "
                "data.label_names renames labels, data.labels leaves some out"
            )
        if run.inputs.input.pairs != inputs.input.pairs:
            several = ("pairs of texts" if some.input.pairs else "single texts" for some in (run.inputs, inputs))
            theirs, ours = several
            raise RunError(
                f"the teacher {teacher.name} reads {theirs}, but the data has {ours}; choose another of them"
            )
    else:
        if not run.recipe.model.head:
            raise RunError(
                f"the teacher {teacher.name} cannot predict masked tokens: it was imported without its output; "
                "choose one that can"
            )
        if run.recipe.model.context < recipe.input.longest:
            raise RunError(
                f"the teacher {teacher.name} reads {run.recipe.model.context} tokens at once, but input.longest is "
                f"{recipe.input.longest}; lower it"
            )


# ---------------------------------------------------------------------------------------------------- labels


def _taught_labels(
    prepared: Prepared, recipe: Recipe, data: LabelledData, wires: Wires, teachers: Sequence[Teacher]
) -> Lesson:
    """Batches of labelled and unlabelled texts, with what the teachers say of each class."""
    own: Any = prepared.train
    texts, labels = own.rows.sides
    rows = _with_unlabelled(texts, recipe, wires)
    more = len(rows.example_N) - len(texts.example_N)
    label_N = np.concatenate((labels.value_N, np.full(more, UNLABELLED)))
    every = Targets(Column(label_N), np.concatenate((own.only, np.arange(len(label_N) - more, len(label_N)))))
    training = recipe.training
    batches = wires.output.batches(rows, every, wires.input, tokens=training.tokens, seed=training.seed)
    logits = [teacher_logits(recipe, data, wires, teacher, rows.example_N) for teacher in teachers]

    def with_logits(batch: Labelled) -> TaughtLabels:
        number_B = batch.example_B.numpy()
        teacher_BC = mean_logits([torch.from_numpy(logits_NC[number_B]) for logits_NC in logits])
        return TaughtLabels(**batch.tensors(), teacher_BC=teacher_BC)

    notes = [*(f"teacher: {teacher.name}" for teacher in teachers), *([f"unlabelled: {more:,} texts"] if more else [])]
    return Lesson(prepared._replace(train=Annotated(batches, with_logits), notes=prepared.notes + notes), {})


def mean_logits(logits: Sequence[Tensor]) -> Tensor:
    """`logits_BC` of the mean of several probabilities; those of one are left as they are."""
    if len(logits) == 1:
        return logits[0]
    return torch.stack([logits_BC.log_softmax(-1) for logits_BC in logits]).logsumexp(0) - math.log(len(logits))


def teacher_logits(
    recipe: Recipe, data: LabelledData, wires: Wires, teacher: Teacher, example_N: Numbers
) -> NDArray[np.float32]:
    """`logits_MC` of the texts of the training part and of those without labels, by example, mapped from the cache."""
    texts = int(example_N.max()) + 1

    def write(aside: Path) -> None:
        run = teacher.asked()
        own: Wires = run.inputs
        rows = _with_unlabelled(own.input.encode(Part(data, "train")), recipe, own)
        batches = own.output.batches(rows, None, own.input, tokens=own.input.at_once)
        shape = (texts, own.output.sizes()["classes"])
        logits_MC = open_memmap(aside / "logits.npy", mode="w+", dtype=np.float32, shape=shape)
        answers = each_row(run.model, batches)
        for batch, logits_BC in _watched(answers, f"asking {teacher.name}", total=batches.in_epoch(0)):
            logits_MC[batch.example_B.numpy()] = logits_BC.numpy()
        logits_MC.flush()

    known = [data.fingerprint("train"), unlabelled_sum(recipe), wires.tokenizer.fingerprint()]
    folder = kept_folder(f"teacher's labels {FORMAT} {teacher.sha256} {json.dumps(known)}", write)
    found: NDArray[np.float32] = np.load(folder / "logits.npy", mmap_mode="r")
    return found


def _with_unlabelled(rows: Rows[Ids], recipe: Recipe, wires: Wires) -> Rows[Ids]:
    """Token rows, and after them those of the texts without labels, if there are any."""
    files = unlabelled_files(recipe)
    if not files:
        return rows
    if reads_pairs(wires.input):
        raise SettingError("objective.unlabelled has single texts, but the labels are of pairs of texts; leave it out")

    def unlabelled() -> Iterator[Example]:
        return (Example(line, "") for path in files for line in lines(path))

    found = wires.input.encode(Examples(unlabelled, unlabelled_sum(recipe), "objective.unlabelled"))
    return Chained(rows, found)


def unlabelled_files(recipe: Recipe) -> list[Path]:
    """The files of texts without labels."""
    own = recipe.objective
    files = (isinstance(own, DistilledLabelsSettings) and own.unlabelled) or ()
    return [Path(name).expanduser() for name in ([files] if isinstance(files, str) else files)]


def unlabelled_sum(recipe: Recipe) -> str:
    """A sha256 of the texts without labels; nothing where there are none."""
    sums = [content_hash(path) for path in unlabelled_files(recipe)]
    return hashlib.sha256(json.dumps(sums).encode()).hexdigest() if sums else ""


# ---------------------------------------------------------------------------------------------------- masked tokens


class Likeliest(NamedTuple):
    """What a teacher predicts at the masked tokens of each example; `row_N` says in which row an example stands."""

    token: Ragged  # the likeliest tokens of each masked token, one word after another
    probability: Ragged  # theirs, and that of all others together
    row_N: NDArray[np.int64]
    tokens: int  # that are kept of each word

    def beside(self, batch: Masked) -> TaughtTokens:
        """A batch with the likeliest tokens and their probabilities at its masked words."""
        assert batch.row_B is not None
        rows = self.row_N[batch.row_B.numpy()]
        token_N, probability_N = (np.concatenate(kept.take(rows, None)) for kept in (self.token, self.probability))
        likeliest_BTK = torch.zeros(*batch.chosen_BT.shape, self.tokens, dtype=torch.int64)
        likeliest_BTK[batch.chosen_BT] = torch.from_numpy(token_N.astype(np.int64).reshape(-1, self.tokens))
        probability_BTK = torch.zeros(*batch.chosen_BT.shape, self.tokens + 1)
        known_NK = probability_N.astype(np.float32).reshape(-1, self.tokens + 1)
        probability_BTK[batch.chosen_BT] = torch.from_numpy(known_NK)
        return TaughtTokens(**batch.tensors(), likeliest_BTK=likeliest_BTK, probability_BTK=probability_BTK)


def _taught_tokens(prepared: Prepared, recipe: Recipe, data: TextData, wires: Wires, teacher: Teacher) -> Lesson:
    """Batches in which the same words are always hidden, with what the teacher finds likely there."""
    own: Any = prepared.train
    rows, training = Fixed(own.rows.sides[0]), recipe.training
    batches: Any = wires.learning(Part(data, "train"), rows, tokens=training.tokens, seed=training.seed)
    likeliest = teacher_likeliest(recipe, data, wires, teacher, batches)
    notes = [*prepared.notes, f"teacher: {teacher.name}"]
    taught = prepared._replace(train=Annotated(batches, likeliest.beside), notes=notes)
    if not recipe.objective.cosine:
        return Lesson(taught, {})
    run = teacher.asked()
    widths = {"width": recipe.model.width, "teacher_width": run.recipe.model.width}
    return Lesson(taught, {**widths, "teacher_vectors": partial(read_vectors, run.model)})


@torch.no_grad()
def read_vectors(model: Any, batch: Masked) -> Tensor:
    """`teacher_BTD`: the last vectors of a model at every token of a batch, where the batch is."""
    h_BTD: Tensor = model.read(batch.to(device_of(model)))
    return h_BTD.to(batch.input.device)


def teacher_likeliest(
    recipe: Recipe, data: TextData, wires: Wires, teacher: Teacher, batches: Bucketed[Any, Masked]
) -> Likeliest:
    """What the teacher finds likely at every masked token of the training part, mapped from the cache."""
    temperature = recipe.objective.temperature

    @torch.inference_mode()
    def write(aside: Path) -> None:
        model, row_N = teacher.asked().model, np.zeros(len(batches.example_N), dtype=np.int64)
        with RaggedWriter(aside / "token") as tokens, RaggedWriter(aside / "probability") as probabilities:
            for number_B in _watched(batches.plan(0), f"asking {teacher.name}"):
                batch = batches.batch(number_B, 0)
                word_NV, _ = model.both(batch.to(device_of(model)))
                token_NK, probability_NK = bucketed((word_NV.float() / temperature).softmax(-1).cpu(), LIKELIEST)
                row_N[number_B] = np.arange(len(tokens.ends), len(tokens.ends) + len(number_B))
                each = batch.chosen_BT.sum(1).tolist()
                for token_K in torch.split(token_NK, each):
                    tokens.add(token_K.numpy().astype(wires.tokenizer.dtype).ravel())
                for probability_K in torch.split(probability_NK, each):
                    probabilities.add(probability_K.numpy().astype(np.float16).ravel())
        np.save(aside / "rows.npy", row_N)

    reading = recipe.input.model_dump(mode="json", include={"longest", "rows", "masked", "share"})
    known = [data.fingerprint("train"), wires.tokenizer.fingerprint(), reading, temperature, LIKELIEST]
    folder = kept_folder(f"teacher's tokens {FORMAT} {teacher.sha256} {json.dumps(known)}", write)
    token, probability = (Ragged.mapped(folder / name) for name in ("token", "probability"))
    row_N: NDArray[np.int64] = np.load(folder / "rows.npy", mmap_mode="r")
    return Likeliest(token, probability, row_N, min(LIKELIEST, wires.tokenizer.size - 1))


def _watched(some: Any, doing: str, total: int | None = None) -> Any:
    """What is gone through, with a bar on standard error."""
    return track(some, escape(doing), total=total, console=Console(stderr=True), transient=True)
