"""Several runs that decide together: each encodes for itself.

Where text is written, one search asks all of them at each token; otherwise their predictions are combined.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seqwright.batches.joint import JointBatches
from seqwright.decoding.ensemble import Average, Ensemble
from seqwright.devices import device_of
from seqwright.errors import RunError
from seqwright.inputs import Examples
from seqwright.inputs.saved import saved_sum
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.outputs import Output
from seqwright.recipe import Recipe
from seqwright.tasks.wired import Wires


@dataclass(frozen=True)
class EnsembleWires(Wires):
    """The inputs of several runs, that of the first before all, and the output that all have; for an `Ensemble`.

    Examples, alignments and scores are those of the first.
    """

    members: tuple[Wires, ...]

    def losses(self, recipe: Recipe, model: Any, examples: Examples[Any]) -> dict[str, float]:
        """Of what is searched for, loss and perplexity of the mean of what they expect, over texts of any length."""
        if not self.output.decodes:
            return {}
        batches = whole_batches(self.members, examples, recipe.training.tokens)
        found: dict[str, float] = self.output.losses(model, batches)
        return found

    def stream(self, model: Any, given: Any, decoding: Any = None) -> Any:
        """Refused: what several runs write together is told when it is whole."""
        raise RunError("an ensemble is not streamed; call it, or load one run")

    def batches(self, examples: Examples[Any], tokens: int | None = None) -> JointBatches:
        """The batches of what is asked, as each member reads it."""
        return JointBatches([wires.batches(examples, tokens) for wires in self.members])

    def predictions(
        self,
        model: Any,
        examples: Examples[Any],
        decoding: Any = None,
        tokens: int | None = None,
        method: str = "predict",
    ) -> list[Any]:
        """What is searched for together, or what the members say of it combined; nothing else do they do together."""
        assert method == "predict", method
        if not self.output.decodes:
            both: Any = zip(self.members, model.members, strict=True)
            each = [wires.predictions(member, examples, decoding, tokens) for wires, member in both]
            return [self.output.combined(several) for several in zip(*each, strict=True)]
        return list(self.output.predict(model, self.batches(examples, tokens), examples, decoding))


def whole_batches(members: Sequence[Wires], examples: Examples[Any], tokens: int) -> Any:
    """What members learn from examples of any length, together; of a single one, its own batches."""
    whole = [Wires(wires.input, wires.output.unlimited()) for wires in members]
    found: list[Any] = [wires.learning(examples, wires.input.encode(examples), tokens=tokens) for wires in whole]
    return JointBatches(found) if len(found) > 1 else found[0]


def ensemble_of(runs: Sequence[Any], average: Average = "probabilities") -> tuple[Any, Any]:
    """The wires and the model of several runs, as `open_run` gives them, as one; of a single run, its own."""
    first, *others = runs
    if not others:
        return first.inputs, first.model
    for run in runs:
        if not can_join(type(run.inputs.output)):
            raise RunError(f"{run.folder} cannot decide together with other runs; name one run")
        _refuse_other_output(first, run)
    device = device_of(first.model)
    models: list[Any] = [run.model.to(device).eval() for run in runs]
    members = tuple(run.inputs for run in runs)
    return EnsembleWires(members[0].input, members[0].output.calibrated_at(None), members), Ensemble(models, average)


def can_join(output: type[Output[Any, Any, Any]]) -> bool:
    """Whether several runs that say this can decide together: in one search, or by combining what they predict."""
    return output.decodes or output.combined is not Output.combined


def _refuse_other_output(one: Any, other: Any) -> None:
    """Runs that say other things, or write other tokens under the same number, cannot decide together."""
    mine, theirs = one.inputs.output, other.inputs.output
    if type(mine) is not type(theirs) or not (mine.decodes or saved_sum(mine) == saved_sum(theirs)):
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
