"""What `new --from RUN` writes in place of a model from scratch: the run's body, and a training for a few hundred rows.

Whether a body fits a task is not looked up but tried: the model is built, and the weights are put into it.
"""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from seqwright.errors import RunError, SettingError
from seqwright.inputs.tokenizers import TokenizerSettings
from seqwright.kinds import family_of, kinds_of, task_of
from seqwright.layers.embeddings import body_of
from seqwright.recipe import TOKENIZER_KEYS, recipe_from, with_weights
from seqwright.runs import Run, data_of, model_of, parameters
from seqwright.training.fine_tuning import LAYER_DECAY, fine_tuning, needs_pooling
from seqwright.training.optimizer import HasDepths
from seqwright.training.weights import transferred

FEW = 2000  # texts: below, small batches, and validations close to each other
READ = 4000  # texts that training reads, in as many epochs as that takes
SHARE = "20%"  # of a few hundred rows, so that validation says something

MODEL = """
[model]
kind = {kind}
weights = {weights}{pooling}
# its sizes{and_tokenizer} are those of this run: {sizes}

[training]
epochs = {epochs}
tokens = {tokens:<18}# a batch; small ones learn more from few rows
optimizer = {optimizer}
decay = {decay}
betas = {betas}
schedule = {schedule:<16}# after a warm-up over a tenth of the steps
rate = {rate:<20}# low, so that what was learnt before is not lost{layer_decay}
clip = {clip}
validate_every = {validate_every}
patience = {patience:<16}# validations without a better one, and it stops
keep = {keep}
"""
POOLING = '\npooling = "mean"           # of the vectors of all tokens; or first'
LOWER_LAYERS = f"\nlayer_decay = {LAYER_DECAY:<13}# lower layers learn more slowly"


class PretrainedBody(NamedTuple):
    """A run whose weights a task can begin from, and the model of the task that has them."""

    run: Run
    kind: str
    settings: Any
    has_depths: bool
    has_tokenizer: bool
    reading: dict[str, Any]  # settings of [input], where the run read the same


def fitting_body(task: str, data: dict[str, Any], run: Run, where: Path) -> PretrainedBody:
    """The run as the body of a model for the task; where there is none that it fits, a sentence."""
    own, known = run.recipe.model.kind, list(kinds_of("model", task))
    reason = "" if run.recipe.descends else f"a {own} learns by no gradient, so there is nothing to fine-tune"
    reading = _reading(task, run)
    for kind in sorted(known, key=lambda each: each != own):
        try:
            plain = {"task": task, "data": data, "input": reading, "model": {"kind": kind, "weights": str(where)}}
            recipe = recipe_from(with_weights(plain, where / "resolved.toml"))
            inputs = task_of(task).learnt_inputs(recipe, data_of(recipe), run.inputs)
            model = model_of(recipe, inputs.sizes())
            mine, theirs = body_of(model), body_of(run.model)
            if type(mine) is not type(theirs):  # tensors of the same names may mean something else
                raise RunError(f"the body of a {kind} is another one")
            try:
                transferred(run.model, model, str(where))
            except RunError:
                _refuse_other_sizes(run.inputs.sizes(), inputs.sizes())
                raise
        except (SettingError, RunError) as error:
            reason = reason or str(error)
        else:
            has_depths = isinstance(model, HasDepths)
            has_tokenizer = any(isinstance(each, TokenizerSettings) for each in (recipe.input, recipe.output))
            return PretrainedBody(run, kind, recipe.model, has_depths, has_tokenizer, reading)
    raise SettingError(
        f"{where} is a {own} for {run.recipe.task}, and no model for {task} ({', '.join(known)}) can begin from it "
        f"({reason}): choose another run, or leave --from out"
    )


def _reading(task: str, run: Run) -> dict[str, Any]:
    """How a run of the same task reads, but for its tokenizer and for what is usual."""
    if run.recipe.family != family_of(task):
        return {}
    settings = run.recipe.input.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    return {name: value for name, value in settings.items() if name not in {*TOKENIZER_KEYS, "like"}}


def _refuse_other_sizes(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Of a body whose tensors do not fit: which of the sizes that data decides are others."""
    for name in ("channels", "inputs", "history", "horizon"):
        if name in theirs and name in ours and theirs[name] != ours[name]:
            raise RunError(f"it has {name} {theirs[name]}, the data {ours[name]}")


def tuned_values(body: PretrainedBody, examples: Any, where: Path) -> dict[str, Any]:
    """What stands in braces in `MODEL`, but for lines that stand there or do not."""
    count = sum(1 for _ in islice(examples, READ))
    epochs = min(20, max(3, READ // max(1, count)))
    training = fine_tuning(body.settings.model_dump(), few=count < FEW)
    if not body.has_tokenizer:
        del training["tokens"]  # those of a series are its steps
    return {"kind": body.kind, "weights": where.as_posix(), "epochs": epochs, **training}


def tuned_lines(body: PretrainedBody) -> dict[str, str]:
    """The lines of `MODEL` that depend on the body."""
    settings = body.settings.model_dump()
    sizes = [f"{name} {settings[name]:,}" for name in ("width", "layers") if name in settings]
    pooled = needs_pooling(settings, body.run.recipe.model.model_dump())
    return {
        "pooling": POOLING if pooled else "",
        "and_tokenizer": " and its tokenizer" if body.has_tokenizer else "",
        "layer_decay": LOWER_LAYERS if body.has_depths else "",
        "sizes": ", ".join([*sizes, f"{parameters(body.run.model):,} parameters"]),
    }
