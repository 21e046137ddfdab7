"""The hinge: recipe → wired parts → run folder, and run folder → recipe, inputs, model.

Using a model needs the run folder and nothing else; training and evaluating also need the data.
"""

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from filelock import FileLock, Timeout
from torch import nn

from seqwright import __version__
from seqwright.batches import PairBatches
from seqwright.cache import Redrawn, TokenisedPairs, tokenised_pairs
from seqwright.data.examples import Pair, PairData, PartName
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs.pair_text import PairText
from seqwright.lineage import chosen
from seqwright.metrics.text import bleu, chrf, exact_match, exact_match_by_kind, perplexity
from seqwright.objectives.next_token import NextToken
from seqwright.recipe import Recipe, flattened, parsed, recipe_from, written
from seqwright.training.checkpoint import newest_whole, read_checkpoint, read_mark, steps_on_disk
from seqwright.training.loop import fit
from seqwright.training.reporter import Quiet, Reporter
from seqwright.training.schedule import learning_rate
from seqwright.training.weights import load_tensors
from seqwright.translation import Translator

VALIDATION_PAIRS = 1000  # pairs decoded for the scores at each validation
MAY_CHANGE = {"description", "name", "training.steps", "training.epochs", "training.threads", "training.device"}
MAY_CHANGE |= {"training.keep", "training.patience", "training.log_every"}


class Run(NamedTuple):
    """A trained run, opened for use."""

    folder: Path
    recipe: Recipe
    inputs: PairText
    model: nn.Module
    step: int

    def translator(self, settings: Any = None) -> Translator:
        """The run as a translator, with the recipe's decoding settings or others."""
        return Translator(self.model, self.inputs, settings or self.recipe.decoding)


def data_of(recipe: Recipe) -> PairData:
    """The corpus a recipe names."""
    kind = chosen("data", recipe.data.kind)
    data: PairData = kind.load(kind.thing)(recipe.data)
    return data


def model_of(recipe: Recipe, sizes: Mapping[str, Any]) -> nn.Module:
    """A new model, its weights drawn from the recipe's seed."""
    kind = chosen("model", recipe.model.kind)
    torch.manual_seed(recipe.training.seed)
    model: nn.Module = kind.load(kind.thing)(recipe.model, **sizes)
    return model


def device_of(recipe: Recipe) -> torch.device:
    """Where the recipe wants to compute."""
    wanted = recipe.training.device
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if wanted == "auto":
        return torch.device(next(name for name in ("cuda", "mps", "cpu") if there[name]))
    if not there[wanted]:
        raise SettingError(f"training.device is '{wanted}', which this machine does not have; set it to auto or cpu")
    return torch.device(wanted)


def inputs_of(recipe: Recipe, data: PairData, folder: Path | None = None) -> PairText:
    """The run's tokenizers: those in its folder, or newly learnt from the training part."""
    if folder is not None and (folder / "inputs").is_dir():
        return PairText.load(folder / "inputs")
    return PairText.learnt(_Again(data), recipe.inputs)


class _Again:
    """The training pairs, as often as one asks."""

    def __init__(self, data: PairData) -> None:
        self.data = data

    def __iter__(self) -> Iterator[Pair]:
        return self.data.pairs("train")


def tokenised(recipe: Recipe, data: PairData, inputs: PairText, part: PartName) -> TokenisedPairs:
    """A part of the corpus as token rows, from the cache where it is there."""
    return tokenised_pairs(
        data.pairs(part),
        key=f"{data.fingerprint(part)} {inputs.fingerprint()}",
        source=inputs.source.encode,
        target=inputs.target.encode,
        longest=recipe.inputs.longest,
        overlong=recipe.inputs.overlong,
        where=f"the {part} part",
    )


def batches_of(recipe: Recipe, inputs: PairText, part: TokenisedPairs, *, redrawn: bool) -> PairBatches:
    """The batches of a part; `redrawn` segments anew each epoch where the recipe asks for BPE-dropout."""
    source: Any = part.source
    target: Any = part.target
    settings, seed = recipe.inputs, recipe.training.seed
    if redrawn and settings.bpe_dropout:
        draw_source, draw_target = inputs.dropping(settings.bpe_dropout)
        longest = settings.longest
        source = Redrawn(part.source_text, source, draw_source.encode, seed=seed, side="source", longest=longest)
        target = Redrawn(part.target_text, target, draw_target.encode, seed=seed, side="target", longest=longest)
    return PairBatches(source, target, tokens=recipe.training.tokens, seed=seed, begin=inputs.begin, end=inputs.end)


# ---------------------------------------------------------------------------------------------------- training


def train(
    recipe: Recipe, folder: Path, *, text: str = "", reporter: Reporter | None = None, fresh: bool = False
) -> Run:
    """Train a recipe into a run folder, going on where an earlier training stopped."""
    reporter = reporter or Quiet()
    with locked(folder):
        if fresh:
            clear(folder)
        refuse_changes(recipe, folder)
        _set_threads(recipe)
        data = data_of(recipe)
        inputs = inputs_of(recipe, data, folder)
        parts = {name: tokenised(recipe, data, inputs, name) for name in ("train", "valid")}
        for name, part in parts.items():
            reporter.say(f"{name}: {part.kept.sentence()}")
        model = model_of(recipe, inputs.sizes()).to(device_of(recipe))
        reporter.say(f"{recipe.model.kind}: {parameters(model):,} parameters, vocabulary {inputs.target.size:,}")
        write_beginning(recipe, folder, text, inputs, data)
        used = fit(
            model,
            NextToken(recipe.objective).to(device_of(recipe)),
            batches_of(recipe, inputs, parts["train"], redrawn=True),
            settings=recipe.training,
            rate=learning_rate(recipe.training, width=recipe.model.width),
            run=folder,
            evaluate=validation(recipe, data, inputs, parts["valid"]),
            reporter=reporter,
            metadata={name: json.dumps(size) for name, size in inputs.sizes().items()},
        )
        step = read_mark(folder, "last") or 0
        return Run(folder, recipe, inputs, used.eval(), step)


def validation(
    recipe: Recipe, data: PairData, inputs: PairText, part: TokenisedPairs
) -> Callable[[nn.Module], dict[str, float]]:
    """What `fit` calls to judge a model: loss on the whole validation part, scores on its first pairs."""
    batches = batches_of(recipe, inputs, part, redrawn=False)
    some = [pair for pair, _ in zip(_usable(data.pairs("valid")), range(VALIDATION_PAIRS), strict=False)]
    greedy = recipe.decoding.model_copy(update={"beam": 1, "n_best": 1, "temperature": 0.0})

    def evaluate(model: nn.Module) -> dict[str, float]:
        found = Translator(model, inputs, greedy).best([pair.source for pair in some])
        wanted, lowercase = [pair.target for pair in some], recipe.inputs.lowercase
        return {
            **losses(model, batches),
            "bleu": bleu(found, wanted, lowercase=lowercase).value,
            "exact": exact_match(found, wanted, lowercase=lowercase).value,
        }

    return evaluate


@torch.inference_mode()
def losses(model: nn.Module, batches: PairBatches) -> dict[str, float]:
    """Mean negative log-likelihood a token, and its perplexity, over every pair."""
    objective, device = NextToken(), next(model.parameters()).device
    total, count = 0.0, 0
    for batch in batches.once():
        loss, _ = objective(model, batch.to(device), None)
        total, count = total + float(loss.parts["nll"].sum), count + loss.parts["nll"].count
    return {"loss": total / count, "perplexity": perplexity(total, count)}


def _usable(pairs: Iterator[Pair]) -> Iterator[Pair]:
    return (pair for pair in pairs if pair.source.strip() and pair.target.strip())


def parameters(model: nn.Module) -> int:
    """How many numbers the model learns; tied ones count once."""
    return sum(parameter.numel() for parameter in model.parameters())


def _set_threads(recipe: Recipe) -> None:
    if recipe.training.threads is not None:
        torch.set_num_threads(recipe.training.threads)


# ---------------------------------------------------------------------------------------------------- the folder


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock: one writer at a time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "lock", timeout=0)
        with lock:
            yield
    except Timeout as error:
        raise RunError(f"another training is writing to {folder}; wait for it or choose another folder with --run") from error
    except PermissionError as error:
        raise RunError(f"{folder} cannot be written to: {error.strerror}; choose another folder with --run") from error
    except (FileExistsError, NotADirectoryError) as error:
        raise RunError(f"{folder} cannot be a run folder: {error.strerror}; choose another with --run") from error


def clear(folder: Path) -> None:
    """Remove what an earlier training left, but not the lock that is held."""
    for path in folder.iterdir():
        if path.name == "lock":
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def write_beginning(recipe: Recipe, folder: Path, text: str, inputs: PairText, data: PairData) -> None:
    """Write what using the run will need, and what resuming it will be held against."""
    if not (folder / "inputs").is_dir():
        aside = folder / ".inputs.writing"
        shutil.rmtree(aside, ignore_errors=True)
        inputs.save(aside)
        aside.rename(folder / "inputs")
    resolved = recipe.resolved()
    resolved["sha256"] = {part: data.fingerprint(part) for part in data.parts()}
    _replace(folder / "resolved.toml", written(resolved))
    if text and not (folder / "recipe.toml").exists():
        _replace(folder / "recipe.toml", text)


def refuse_changes(recipe: Recipe, folder: Path) -> None:
    """A run that is resumed must be the run that was begun."""
    if not steps_on_disk(folder):
        return
    before, now = flattened(resolved_of(folder)), flattened(recipe.resolved())
    changed = [
        f"{name} was {before.get(name)!r} and is {now.get(name)!r}"
        for name in sorted(before.keys() | now.keys())
        if not name.startswith("sha256") and name not in MAY_CHANGE and before.get(name) != now.get(name)
    ]
    if changed:
        raise RunError(
            f"{folder} was begun with other settings: {'; '.join(changed)}. Put them back, choose another folder "
            "with --run, or start over with --fresh"
        )
    if now["training.steps"] < max(steps_on_disk(folder)) and now["training.steps"] != before["training.steps"]:
        raise RunError(
            f"{folder} has already trained {max(steps_on_disk(folder)):,} steps; training.steps = "
            f"{now['training.steps']:,} cannot be fewer"
        )


def resolved_of(folder: Path) -> dict[str, Any]:
    """The settings a run was trained with."""
    try:
        return parsed((folder / "resolved.toml").read_text(encoding="utf-8"), str(folder / "resolved.toml"))
    except OSError as error:
        raise RunError(f"{folder} is not a run folder: it has no resolved.toml; train one first") from error


def open_run(folder: Path, *, which: str = "best") -> Run:
    """Open a run for use: its best checkpoint, else the last; a damaged one is passed over for the newest whole."""
    if not folder.is_dir():
        raise RunError(f"there is no run {folder}; `seqwright train` makes one")
    plain = resolved_of(folder)
    plain.pop("sha256", None)
    recipe = recipe_from(plain, name=folder.name)
    inputs = PairText.load(folder / "inputs")
    step, files = _weights(folder, which)
    model = model_of(recipe, inputs.sizes())
    load_tensors(model, files.get("averages") or files["model"])
    _set_threads(recipe)
    return Run(folder, recipe, inputs, model.to(device_of(recipe)).eval(), step)


def _weights(folder: Path, which: str) -> tuple[int, dict[str, Any]]:
    step = read_mark(folder, which) or read_mark(folder, "last")
    if step is not None:
        try:
            return step, read_checkpoint(folder, step, ("model", "averages")).files
        except RunError as error:
            complaint = error
    else:
        complaint = RunError(f"{folder} has no checkpoint yet")
    found = newest_whole(folder)
    if found is None:
        raise complaint
    import warnings

    warnings.warn(f"{complaint}; using step {found[0]} instead", stacklevel=3)
    return found[0], found[1].files


def _replace(path: Path, text: str) -> None:
    aside = path.with_name(f".{path.name}.writing")
    aside.write_text(text, encoding="utf-8")
    os.replace(aside, path)
