"""Several runs that decide together: each encodes for itself.

Where text is written, one search asks all of them at each token; otherwise their predictions are combined.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from torch import nn

from seqwright.batches.joint import JointBatches
from seqwright.decoding.ensemble import Average, Ensemble
from seqwright.devices import device_of
from seqwright.errors import RunError
from seqwright.inputs import Examples, Given
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.outputs import Output
from seqwright.recipe import Recipe
from seqwright.tasks.wired import TOKENS_AT_ONCE, Wires


class Trained(Protocol):
    """A run, as `open_run` gives it."""

    @property
    def folder(self) -> Path:
        """Its folder, by which it is named."""

    @property
    def model(self) -> nn.Module:
        """What it learnt."""

    @property
    def inputs(self) -> Any:
        """Its `Wires`."""


@dataclass(frozen=True)
class EnsembleWires:
    """The inputs of several runs and the output that all of them have; used as `Wires`, with an `Ensemble` as model.

    Examples, alignments and scores are those of the first.
    """

    members: tuple[Wires, ...]

    @property
    def input(self) -> Any:
        """What the first run reads."""
        return self.members[0].input

    @property
    def tokenizer(self) -> Tokenizer:
        """What cuts the texts that the first run reads."""
        return self.members[0].tokenizer

    @property
    def output(self) -> Any:
        """What all of them say, but for what each learnt after training of its own errors."""
        return self.members[0].output.calibrated_at(None)

    def losses(self, recipe: Recipe, model: Any, examples: Examples[Any]) -> dict[str, float]:
        """Of what is searched for, loss and perplexity of the mean of what they expect, over texts of any length."""
        if not self.output.decodes:
            return {}
        found: dict[str, float] = self.output.losses(
            model, whole_batches(self.members, examples, recipe.training.tokens)
        )
        return found

    def predict(
        self, model: Any, given: Any, decoding: Any = None, tokens: int = TOKENS_AT_ONCE, method: str = "predict"
    ) -> Any:
        """As `Wires.predict`; what else an output does, one run does alone."""
        assert method == "predict", method
        if not isinstance(given, list):
            return self.predict(model, [given], decoding, tokens)[0]
        return self.predictions(model, Given(map(self.input.parse, given)), decoding, tokens)

    def stream(self, model: Any, given: Any, decoding: Any = None) -> Any:
        """Refused: what several runs write together is told when it is whole."""
        raise RunError("an ensemble is not streamed; call it, or load one run")

    def predictions(
        self, model: Ensemble, examples: Examples[Any], decoding: Any = None, tokens: int = TOKENS_AT_ONCE
    ) -> list[Any]:
        """A prediction for each example: what is searched for together, or what the members say of it combined."""
        if not self.output.decodes:
            both: Any = zip(self.members, model.members, strict=True)
            each = [wires.predictions(member, examples, decoding, tokens) for wires, member in both]
            return [self.output.combined(several) for several in zip(*each, strict=True)]
        read = [(wires, wires.input.encode(examples)) for wires in self.members]
        batches: Any = JointBatches(
            [wires.output.batches(rows, None, wires.input, tokens=tokens) for wires, rows in read]
        )
        return list(self.output.predict(model, batches, examples, decoding))


def whole_batches(members: Sequence[Wires], examples: Examples[Any], tokens: int) -> Any:
    """What members learn from examples of any length, together; of a single one, its own batches."""
    found: list[Any] = []
    for wires in members:
        output: Any = wires.output
        rows, output = wires.input.encode(examples), output.unlimited()
        found.append(output.batches(rows, output.encode(examples, rows), wires.input, tokens=tokens))
    return JointBatches(found) if len(found) > 1 else found[0]


def ensemble_of(runs: Sequence[Trained], average: Average = "probabilities") -> tuple[Any, Any]:
    """The wires and the model of several runs as one; of a single run, its own."""
    first, *others = runs
    if not others:
        return first.inputs, first.model
    for run in runs:
        if not can_join(type(run.inputs.output)):
            raise RunError(f"{run.folder} cannot decide together with other runs; name one run")
        _refuse_other_output(first, run)
    device = device_of(first.model)
    models: list[Any] = [run.model.to(device).eval() for run in runs]
    return EnsembleWires(tuple(run.inputs for run in runs)), Ensemble(models, average)


def can_join(output: type[Output[Any, Any, Any]]) -> bool:
    """Whether several runs that say this can decide together: in one search, or by combining what they predict."""
    return output.decodes or output.combined is not Output.combined


def _refuse_other_output(one: Trained, other: Trained) -> None:
    """Runs that say other things, or write other tokens under the same number, cannot decide together."""
    mine, theirs = one.inputs.output, other.inputs.output
    if type(mine) is not type(theirs) or not (mine.decodes or _saved(mine) == _saved(theirs)):
        raise RunError(
            f"{one.folder} and {other.folder} were not trained to predict the same, such as the same labels; runs "
            "that are joined need that: train them on the same data"
        )
    difference = _difference(mine.tokenizer, theirs.tokenizer) if mine.decodes else ""
    if difference:
        raise RunError(
            f"{one.folder} and {other.folder} write different vocabularies: {difference}; runs that are joined need "
            "the same one for the target: train them on the same data with the same [input] and [output]"
        )


def _saved(output: Any) -> dict[str, bytes]:
    """Everything that an output knows, as a run folder has it."""
    with TemporaryDirectory() as folder:
        output.save(Path(folder))
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def _difference(mine: Tokenizer, theirs: Tokenizer) -> str:
    """What differs between two vocabularies, in a few words; nothing where they are the same."""
    if mine.kind != theirs.kind:
        return f"the tokens are of kind '{mine.kind}' and '{theirs.kind}'"
    if mine.size != theirs.size:
        return f"they have {mine.size:,} and {theirs.size:,} tokens"
    pieces = zip(mine.pieces(range(mine.size)), theirs.pieces(range(theirs.size)), strict=True)
    for number, (one, other) in enumerate(pieces):
        if one != other:
            return f"token {number} is '{one}' and '{other}'"
    return "" if mine.special == theirs.special else "their special tokens are not the same"
