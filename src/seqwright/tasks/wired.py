"""A task as input × output: how the two are learnt, how training gets its batches, and how a model is evaluated."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import nn

from seqwright.arguments import public
from seqwright.batches import Batches, Rows
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.packed import PackedBatches
from seqwright.batches.text import StreamBatches
from seqwright.batches.windows import WindowBatches
from seqwright.data.examples import PartName
from seqwright.devices import device_of
from seqwright.errors import RunError
from seqwright.inputs import Examples, Given, Input, Room
from seqwright.inputs.spelling import TokenInput
from seqwright.inputs.tokenizers import HasTokenizer, Tokenizer, tokenizer_of
from seqwright.kinds import chosen
from seqwright.lineage import model_row
from seqwright.outputs import Baselines, Output
from seqwright.recipe import Recipe, with_suggestions
from seqwright.setting_classes import ModelSettings
from seqwright.tasks import Checked, Evaluation, Prepared, refuse_missing_part, sample
from seqwright.tasks.parts import Part

FEW_EXAMPLES = 100  # fewer to score on, and the scores say little
TRAINED_ELSEWHERE = "there is no baseline: what the model was trained on is not known"
ROOM = Room()  # of a model that reads texts of any length
COLUMNS = ("part", "examples", "unread", "duplicates", "in train")


@dataclass(frozen=True)
class Wires:
    """The input and the output of a run, learnt from its training part."""

    input: Any  # an Input
    output: Any  # an Output

    @classmethod
    @public("Wires.learn")
    def learn(
        cls,
        input: type[Input[Any, Any]],
        output: type[Output[Any, Any, Any]],
        examples: Iterable[Any],
        settings: Any,
        output_settings: Any = None,
        *,
        room: Room = ROOM,
        like: Any = None,
    ) -> Self:
        """Both learnt from examples, those of a part or others, but for the tokenizer of `like`, another run's."""
        train = examples if isinstance(examples, Examples) else Given(examples)
        read = input.learn(train, settings, room=room, like=like)
        return cls(read, output.learn(train, output_settings or output.settings(), read, like=like))

    @property
    def tokenizer(self) -> Tokenizer:
        """What cuts texts into tokens: those that are read, or else those that are written."""
        return tokenizer_of(self.input if isinstance(self.input, HasTokenizer) else self.output)

    @property
    def reads_tokens(self) -> TokenInput[Any, Any]:
        """The input, where it reads texts as tokens, for those who look at them."""
        if not isinstance(self.input, TokenInput):
            raise RunError("the model reads no texts, so that there is nothing to listen to")
        return self.input

    def at_step(self, step: int) -> "Wires":
        """Both as they go with the checkpoint of a step."""
        return replace(self, output=self.output.calibrated_at(step))

    def save(self, folder: str | Path) -> None:
        """Write both into a run folder."""
        self.input.save(Path(folder, "input"))
        self.output.save(Path(folder, "output"))

    def sizes(self) -> dict[str, Any]:
        """What a model between the two is built with."""
        return {**self.input.sizes(), **self.output.sizes()}

    def metadata(self) -> dict[str, str]:
        """What stands in a checkpoint beside the tensors: those sizes."""
        return {name: json.dumps(size) for name, size in self.sizes().items()}

    def training_batches(self, examples: Iterable[Any], *, tokens: int, seed: int = 1) -> Batches[Any]:
        """The batches that examples are learnt in; those of a part go through the token cache."""
        some = examples if isinstance(examples, Examples) else Given(examples)
        return self.learning(some, self.input.encode(some, seed=seed), tokens=tokens, seed=seed)

    def learning(self, examples: Examples[Any], rows: Rows[Any], *, tokens: int, seed: int = 0) -> Batches[Any]:
        """The batches of what can be learnt from."""
        targets = self.output.encode(examples, rows, seed=seed)
        found: Batches[Any] = self.output.batches(rows, targets, self.input, tokens=tokens, seed=seed)
        return found

    def losses(self, recipe: Recipe, model: Any, examples: Examples[Any]) -> dict[str, float]:
        """The scores that need a pass of their own over the targets: where no prediction carries its loss."""
        if not (self.output.decodes or self.output.scored_by_objective):
            return {}
        tokens = recipe.training.tokens if self.output.decodes else max(recipe.training.tokens, self.input.at_once)
        batches = self.learning(examples, self.input.encode(examples), tokens=tokens)
        if self.output.scored_by_objective:
            return objective_loss(recipe, model.eval(), batches)
        found: dict[str, float] = self.output.losses(model.eval(), batches)
        return found

    def predict(self, model: Any, given: Any, decoding: Any = None, method: str = "predict") -> Any:
        """A prediction for each thing of a list that a user gives; the one for anything else."""
        several = isinstance(given, list)
        examples = Given(map(self.input.parse, given if several else [given]))
        found = self.predictions(model, examples, decoding, method=method)
        return found if several else found[0]

    def predictions(
        self,
        model: Any,
        examples: Examples[Any],
        decoding: Any = None,
        tokens: int | None = None,
        method: str = "predict",
    ) -> list[Any]:
        """A prediction for each example: the one way, for everybody who asks. `method` is that of the output."""
        asked = getattr(self.output, method)
        return list(asked(model.eval(), self.batches(examples, tokens), examples, decoding))

    def stream(self, model: Any, given: Any, decoding: Any = None) -> Any:
        """What is written for one thing that a user gives, piece by piece."""
        examples = Given([self.input.parse(given)])
        return self.output.stream(model.eval(), self.batches(examples), examples, decoding)

    def batches(self, examples: Examples[Any], tokens: int | None = None) -> Any:
        """The batches of what is asked."""
        return self.output.batches(self.input.encode(examples), None, self.input, tokens=tokens or self.input.at_once)


class Wired:
    """A task of an input and an output, and the method of the output behind its first verb."""

    def __init__(self, input: type[Input[Any, Any]], output: type[Output[Any, Any, Any]], method: str) -> None:
        self.input, self.output, self.method = input, output, method

    def learnt_inputs(self, recipe: Recipe, data: Any, like: Any = None) -> Wires:
        """Input and output learnt from the training part, but for what is taken from another run."""
        settings = (with_suggestions(recipe, section) for section in (recipe.input, recipe.output))
        return Wires.learn(self.input, self.output, Part(data, "train"), *settings, room=room_of(recipe), like=like)

    def loaded_inputs(self, folder: Path) -> Wires:
        """Those of a run folder."""
        read = self.input.load(folder / "input")
        return Wires(read, self.output.load(folder / "output", read))

    def prepared(self, recipe: Recipe, data: Any, wires: Wires) -> Prepared:
        """Batches of the training part, and how the validation part is scored."""
        train, valid = Part(data, "train"), Part(data, "valid")
        notes, rows = [], {}
        for part in (train, valid):
            rows[part.part] = wires.input.encode(part, seed=recipe.training.seed)
            notes.append(f"{part.part}: {sentence_of(wires, part, rows[part.part])}")
        baseline, output = baselines_of(wires, data, "valid").sentence, wires.output
        notes += [*data.remarks(), *wires.input.warnings(), *output.remarks()]
        notes += [f"valid: baseline: {baseline}"] if baseline else []
        evaluate = validation(recipe, wires, valid, rows["valid"])
        batches = wires.learning(train, rows["train"], tokens=recipe.training.tokens, seed=recipe.training.seed)
        return Prepared(batches, evaluate, output.score_names, output.lower_is_better, notes)

    def checked(self, recipe: Recipe, data: Any, wires: Wires) -> tuple[Checked, Batches[Any]]:
        """Every part encoded and looked at."""
        rows: list[tuple[str, ...]] = []
        facts: dict[str, str] = {}
        remarks = [*data.remarks(), *wires.input.warnings(), *wires.output.remarks()]
        training: dict[bytes, Any] = {}
        for name in data.parts():
            part = Part(data, name)
            encoded = wires.input.encode(part)
            seen = Seen(wires, part, encoded, training)
            training = training or seen.targets
            extent = wires.input.extent(encoded) or lengths_of(wires, part, encoded)
            counts = (seen.counts[each] for each in ("examples", "unread", "duplicates"))
            shared = "" if name == "train" else f"{seen.counts['shared']:,}"
            rows.append((name, *(f"{c:,}" for c in counts), shared, *extent.values()))
            facts[f"{name} part"] = sentence_of(wires, part, encoded)
            remarks += [*seen.remarks(wires), *wires.input.part_remarks(part), *wires.output.part_remarks(part)]
        train = Part(data, "train")
        batches = wires.training_batches(train, tokens=recipe.training.tokens, seed=recipe.training.seed)
        facts |= wires.input.facts()
        facts |= {name.replace("_", " "): told_size(size) for name, size in wires.sizes().items()}
        facts |= facts_of(batches, wires.input.unit)
        facts |= {"padding": f"{100 * batches.padding():.1f} %"}
        baseline = baselines_of(wires, data, "valid").sentence
        facts |= {"baseline": baseline} if baseline else {}
        return Checked((*COLUMNS, *extent), rows, facts, remarks + alone(batches)), batches

    def evaluated(
        self, recipe: Recipe, data: Any, wires: Wires, model: nn.Module, part: PartName, decoding: Any
    ) -> Evaluation:
        """Scores beside those of the baselines, and the prediction for every example."""
        wires.output.refuse_model(recipe.model)
        refuse_missing_part(data, part)
        examples = Part(data, part)
        losses = wires.losses(recipe, model, examples)
        predictions = wires.predictions(model, examples, decoding, recipe.training.tokens)
        written = wires.output.written(len(predictions))
        told = "" if len(written) == len(predictions) else f"; {len(written):,} of them are written down"
        report, baselines = wires.output.report(predictions, examples), baselines_of(wires, data, part)
        further = wires.output.further_scores(
            lambda some: wires.predictions(model, some, decoding, recipe.training.tokens), examples
        )
        scores = {
            **losses,
            **further,
            **wires.output.scores(predictions, examples),
            **report.scores,
            **baselines.scores,
        }
        signatures = {**wires.output.signatures, **report.signatures}
        told = f"{part}: {sentence_of(wires, examples, wires.input.encode(examples))}{told}"
        every = {
            "scores": scores,
            "signatures": {name: signatures[name] for name in scores if name in signatures},
            "answers": list(wires.output.answers(predictions, examples, wires.input)),
            "notes": [told, *report.notes, *baselines.notes],
            "predictions": predictions,
        }
        return Evaluation(**{**vars(report), **every})

    def calibrate(self, recipe: Recipe, data: Any, wires: Wires, model: nn.Module, *, step: int, folder: Path) -> None:
        """Let the output learn from what a trained model predicts of the validation part, if it does that."""
        if not wires.output.calibrates or "valid" not in data.parts():
            return
        valid = Part(data, "valid")
        predictions = wires.predictions(model, valid, tokens=recipe.training.tokens)
        wires.output.calibrate(predictions, valid, step=step, folder=folder / "output")


def room_of(recipe: Recipe) -> Room:
    """What the model of a recipe can read."""
    promises = model_row(recipe.model.kind, recipe.family).promises
    begins, windows, packs = (name in promises for name in ("begins", "windows", "packs"))
    room = Room(begins, model=recipe.model, windows=windows, packs=packs)
    if not isinstance(recipe.model, ModelSettings):
        return room
    return room._replace(context=recipe.model.room, bounded=recipe.model.bounded)


def validation(recipe: Recipe, wires: Wires, part: Part, rows: Rows[Any]) -> Callable[[nn.Module], dict[str, float]]:
    """Every score over the whole part, as an evaluation has them; what is searched for, greedily and of a sample."""
    output, tokens = wires.output, recipe.training.tokens
    if not output.decodes:
        asked = wires.batches(part, tokens)

        def evaluate(model: nn.Module) -> dict[str, float]:
            predictions = list(output.predict(model.eval(), asked, part, None))
            return {**wires.losses(recipe, model, part), **output.scores(predictions, part)}

        return evaluate
    batches, read = wires.learning(part, rows, tokens=tokens), set(rows.example_N.tolist())
    usable = (example for n, example in enumerate(part) if n in read and output.target(example) is not None)
    some, greedy = Given(sample(usable)), recipe.decoding.greedily()

    def decode(model: nn.Module) -> dict[str, float]:
        found = wires.predictions(model, some, greedy, tokens)
        return {**output.losses(model.eval(), batches), **output.scores(found, some)}

    return decode


def lengths_of(wires: Wires, part: Part, encoded: Rows[Any]) -> dict[str, str]:
    """How long the rows of a part are, in the mean and at most, on all sides together."""
    length_NS = encoded.lengths(None)
    if not length_NS.shape[1]:  # what is read has none: that of what is written
        targets = wires.output.encode(part, encoded)
        length_NS = targets.rows.lengths(None)[targets.learnable]
    length_N = length_NS.sum(1)
    return {"mean length": f"{length_N.mean():,.1f}", "longest": f"{length_N.max():,}"}


def told_size(size: Any) -> str:
    """`8,000`, or whether something is so."""
    return ("yes" if size else "no") if isinstance(size, bool) else f"{size:,}"


def facts_of(batches: Any, unit: str) -> dict[str, str]:
    """How the batches of the first epoch are made, and how full they are on each side, marks included."""
    match batches:
        case Bucketed():
            mean_S = batches.lengths(0)[batches.taken(0)].sum(0) / batches.in_epoch(0)
            told = " and ".join(f"{mean:,.0f}" for mean in mean_S.tolist())
            return {f"{unit} per batch": f"{told}, of at most {batches.tokens:,} on a side"} if told else {}
        case StreamBatches():
            return {"streams": f"{batches.streams:,} of {batches.positions // batches.streams:,} tokens"}
        case WindowBatches():
            return {
                "windows": f"{sum(map(len, batches.plan(0))):,} of {batches.segment:,} tokens, cut again each epoch"
            }
        case PackedBatches():
            return {"documents per row": f"{len(batches.length_N) / sum(map(len, batches.plan(0))):.1f}"}
        case _:
            return {}


def alone(batches: Any) -> list[str]:
    """That some rows are each a batch of their own, if they are."""
    longest_N = batches.lengths(0)[batches.only].max(1, initial=0) if isinstance(batches, Bucketed) else np.zeros(0)
    count = int((longest_N > batches.tokens).sum()) if len(longest_N) else 0
    if not count:
        return []
    told = (
        f"examples with over training.tokens = {batches.tokens:,} tokens on a side, each a batch of its own: {count:,}"
    )
    return [f"{told}; the longest has {longest_N.max():,}"]


@torch.inference_mode()
def objective_loss(recipe: Recipe, model: nn.Module, batches: Batches[Any]) -> dict[str, float]:
    """The mean loss over all batches by the run's own objective."""
    kind = chosen("objective", recipe.objective.kind, recipe.task)
    objective, device = kind.load(kind.thing)(recipe.objective), device_of(model)
    total, count = 0.0, 0
    for batch in batches.once():
        found, _ = objective(model, batch.to(device), None)
        total, count = total + float(found.parts["loss"].sum), count + found.parts["loss"].over
    return {"loss": total / count}


def sentence_of(wires: Wires, part: Part, rows: Rows[Any]) -> str:
    """`3,837 texts (ham 3,338, spam 499); 2 without text were left out`."""
    read: str
    left_out: str
    read, left_out = wires.input.part_sentence(part, rows)
    return f"{read} {wires.output.part_sentence(part, rows)}".strip() + left_out


def baselines_of(wires: Wires, data: Any, part: PartName) -> Baselines:
    """How good simple rules are on a part."""
    if not wires.output.trained_here:
        return Baselines({}, "", [TRAINED_ELSEWHERE])
    found: Baselines = wires.output.baselines(Part(data, "train"), Part(data, part), wires.input)
    return found


class Seen:
    """Counts over the examples of a part, in one pass; of what is read only hashes are kept."""

    def __init__(self, wires: Wires, part: Part, rows: Rows[Any], training: dict[bytes, Any]) -> None:
        self.part = part.part
        self.targets: dict[bytes, Any] = {}
        self.counts: Counter[str] = Counter()
        read = wires.input.read_examples(rows)
        for number, example in enumerate(part):
            self.counts["examples"] += 1
            target = wires.output.target(example)
            if number not in read or target is None:
                self.counts["unread"] += 1
                continue
            digest = wires.input.digest(example)
            self.counts["duplicates"] += digest in self.targets
            self.counts["contradictions"] += self.targets.get(digest, target) != target
            self.counts["shared"] += digest in training
            self.targets[digest] = target

    def remarks(self, wires: Wires) -> list[str]:
        """What a user should know of the part."""
        remarks, counts, used = [], self.counts, self.counts["examples"] - self.counts["unread"]
        if counts["shared"]:
            share = 100 * counts["shared"] / used
            remarks.append(
                f"examples of the {self.part} part that are in training too: {share:.1f} %; its scores will be "
                "optimistic: train and test overlap"
            )
        if counts["contradictions"]:
            told = f"examples of the {self.part} part that occur again with another target"
            remarks.append(f"{told}: {counts['contradictions']:,}")
        if counts["unread"]:
            remarks.append(f"examples of the {self.part} part without input or target, left out: {counts['unread']:,}")
        uncertain = wires.output.uncertainty(used) if used else ""
        if self.part != "train" and used < FEW_EXAMPLES and uncertain is not None:
            remarks.append(f"the {self.part} part has only {used:,} examples: its scores are uncertain{uncertain}")
        return remarks
