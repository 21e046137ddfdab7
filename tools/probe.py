"""What `characterise` asks the package: train a few steps from given tensors, validate, evaluate, predict, look.

This is the only part that touches the package. Whoever renames something there mends it here, and the records, whose
fields have names of their own, stay comparable.
"""

import contextlib
import hashlib
import io
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from seqwright import runs
from seqwright.cli.app import app
from seqwright.cli.evaluating import decoding_settings
from seqwright.data.examples import Pair
from seqwright.errors import UserError
from seqwright.kinds import TASKS, task_of
from seqwright.objectives.objective import Objective
from seqwright.recipe import Recipe, read_recipe, shipped
from seqwright.training.loop import fit
from seqwright.training.weights import load_tensors, unique_tensors
from tools.drawn import drawn_numbers, summary

Record = dict[str, Any]
Renamed = Callable[[str, Collection[str]], str]  # the name of a tensor among those known, from the one it was saved by
# How each kind of data gives its examples: a method that is asked for a part.
READERS = ("pairs", "texts", "examples", "series")
LETTERS = 40  # of a running text that is scored, looked at or continued
DATA_OF = runs.data_of  # of the package; while a probe trains, another stands in its place
JOURNALLED = {"step", "event", "epoch", "norm", "rate", "tokens"}  # in a line of the journal, beside the losses


class Sizes(NamedTuple):
    """How much of the data is read: examples, of running text letters, of a series steps."""

    train: int
    held_out: int

    def of(self, part: str) -> int:
        """Examples of a part."""
        return self.train if part == "train" else self.held_out


class Probe(NamedTuple):
    """A recipe under a probe, trained into a folder."""

    recipe: Recipe
    folder: Path
    sizes: Sizes


def recipe_names() -> list[str]:
    """Every recipe that ships."""
    return list(shipped())


def probed(name: str, overrides: Sequence[str], folder: Path, sizes: Sizes, teacher: Path | None = None) -> Probe:
    """A recipe that ships, with overrides, to be trained into a folder, perhaps by a teacher."""
    teachers = [] if teacher is None else [str(teacher)]
    return Probe(read_recipe(name, overrides, run=folder, teachers=teachers), folder, sizes)


# ---------------------------------------------------------------------------------------------------- training


def trained(probe: Probe, tensors: Path, renamed: Renamed) -> Record:
    """Losses, norms, tokens and the epoch of every step, and the scores of the validation at the end."""
    begun = mock.patch.object(runs, "fit", _begun_from(tensors, renamed))
    with begun, mock.patch.object(runs, "data_of", lambda recipe: _data(recipe, probe.sizes)):
        runs.train(probe.recipe, probe.folder, fresh=True)
    lines = [json.loads(line) for line in (probe.folder / "journal.jsonl").read_text(encoding="utf-8").splitlines()]
    steps = [line for line in lines if line["event"] == "train"]
    *_, valid = (line for line in lines if line["event"] == "valid")
    parts = [name for name in (steps[0] if steps else {}) if name not in JOURNALLED]
    return {
        "losses": {name: [repr(line[name]) for line in steps] for name in parts},
        "norms": [line["norm"] for line in steps],
        "rates": [repr(line["rate"]) for line in steps],
        "tokens": [line["tokens"] for line in steps],
        "epochs": [line["epoch"] for line in steps],
        "validation": {name: value for name, value in valid.items() if name not in JOURNALLED},
    }


def _begun_from(tensors: Path, renamed: Renamed) -> Any:
    """`fit` from the tensors of a file; where there is none, from the model's own, which are written there."""

    def begun(model: nn.Module, objective: Objective, *arguments: Any, **others: Any) -> Any:
        modules: dict[str, nn.Module] = {"model": model, "objective": objective}
        if tensors.exists():
            known = {f"{prefix}.{name}" for prefix, module in modules.items() for name in unique_tensors(module)}
            saved = {renamed(n, known): tensor for n, tensor in load_file(tensors).items()}
            for prefix, module in modules.items():
                load_tensors(module, _below(saved, f"{prefix}."))
        else:
            tensors.parent.mkdir(parents=True, exist_ok=True)
            found = {f"{prefix}.{name}": t for prefix, m in modules.items() for name, t in unique_tensors(m).items()}
            save_file({name: tensor.clone().contiguous() for name, tensor in found.items()}, tensors)
        return fit(model, objective, *arguments, **others)

    return begun


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _data(recipe: Recipe, sizes: Sizes) -> Any:
    """The data of a recipe, but few examples of each part, at even distances."""
    data = DATA_OF(recipe)
    fingerprint = data.fingerprint
    for reader in READERS:
        if hasattr(data, reader) and (reader == "series" or not hasattr(data, "series")):  # of which windows are cut
            setattr(data, reader, _few(data, reader, sizes))
    data.fingerprint = lambda part: hashlib.sha256(f"{fingerprint(part)} {sizes}".encode()).hexdigest()
    return data


def _few(data: Any, reader: str, sizes: Sizes) -> Any:
    read, kept = getattr(data, reader), dict[str, list[Any]]()

    def few(part: Any) -> Any:
        if part not in kept:
            with mock.patch.object(data, reader, read):  # a part that is read without what another has reads it whole
                kept[part] = _shortened(list(read(part)), sizes.of(part))
        return list(kept[part]) if reader == "series" else iter(kept[part])

    return few


def _shortened(found: list[Any], most: int) -> list[Any]:
    """So many examples; of texts, fifty letters for each, the long ones cut."""
    if found and isinstance(found[0], Pair) and found[0].shots:
        return found[:most]
    found = [found[place * len(found) // most] for place in range(most)] if len(found) > most else found
    if not found or isinstance(found[0], tuple):
        return found
    if not isinstance(found[0], str):
        return [series[: 20 * most] for series in found]
    letters = 50 * most
    each = letters if len(found) == 1 else max(letters // 8, 200)
    texts, read = [], 0
    for text in found:
        texts.append(text[: min(each, letters - read)])
        read += len(texts[-1])
        if read >= letters:
            break
    return texts


# ---------------------------------------------------------------------------------------------------- using it


def evaluated(probe: Probe) -> Record:
    """The scores of `eval` on the test part, else on the validation part, and the numbers of the picture it draws."""
    from seqwright.cli.evaluating import _drawn

    run = runs.open_run(probe.folder)
    data = _data(run.recipe, probe.sizes)
    part = data.parts()[-1]
    settings = decoding_settings(run, {})
    found = task_of(run.recipe.task).evaluated(run.recipe, data, run.inputs, run.model, part, settings)
    with drawn_numbers() as numbers:
        _drawn(found, probe.folder / "drawn")
    groups = {name: list(counts) for name, counts in found.groups.items()}
    answers = [] if run.recipe.task == "forecasting" else [_kept(answer) for answer in found.answers[:4]]
    return {
        "evaluation": {"scores": dict(found.scores), "groups": groups},
        "predictions": {"evaluation": answers},
        "picture": {"evaluation": numbers},
    }


class Use(NamedTuple):
    """A verb with what it is given, and which fields of each line that it prints are kept."""

    verb: str
    arguments: tuple[str, ...]
    fields: tuple[str, ...]


def predicted(probe: Probe) -> Record:
    """What each verb of the task says to some examples that were not trained on."""
    found = {}
    for use in _uses(probe):
        lines, _ = _spoken([use.verb, str(probe.folder), "--json", *use.arguments])
        found[use.verb] = lines if isinstance(lines, str) else [_kept(line, use.fields) for line in lines]
    return {"predictions": found}


def _kept(line: Mapping[str, Any], fields: Sequence[str] = ()) -> list[Any]:
    """Some values of a printed line, or all; of a vector its sum and its first numbers."""
    values = [line[name] for name in fields or line if name in line]
    return [
        summary(each) if isinstance(each, list) and each and isinstance(each[0], float) else each for each in values
    ]


def _is_vector(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], float)


def looked(probe: Probe) -> Record:
    """The numbers that `look` draws, by what it is asked for."""
    texts = _looked_at(probe)
    found: dict[str, Any] = {}
    for wish in ("", "--lens", "--surprisal", "--gradients"):
        given = [] if probe.recipe.task == "forecasting" else texts
        asked = [wish] if wish else []
        words = ["look", str(probe.folder), *asked, "--output", str(probe.folder / "looked"), "--", *given]
        lines, numbers = _spoken(words, parsed=False)
        found[wish.removeprefix("--") or "usual"] = lines if isinstance(lines, str) else numbers
    return {"picture": found}


def _spoken(words: Sequence[str], *, parsed: bool = True) -> tuple[Any, list[Any]]:
    """The JSON lines that a command prints and the numbers it draws; "refused" where it gives a sentence instead."""
    said = io.StringIO()
    with drawn_numbers() as numbers, contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        try:
            app(list(words), standalone_mode=False)
        except UserError:
            return "refused", []
        except Exception as error:  # a fault of the package, which is recorded as it is
            return f"failed: {type(error).__name__}", []
    return [json.loads(line) for line in said.getvalue().splitlines()] if parsed else [], numbers


def _held_out(probe: Probe, most: int = 4) -> list[Any]:
    """Some examples of the last part."""
    data = _data(probe.recipe, probe.sizes)
    reader = next(reader for reader in READERS if hasattr(data, reader))
    rows = [row for row in getattr(data, reader)(data.parts()[-1]) if not isinstance(row, str) or row.strip()]
    flat = (each for row in rows for each in ((*row.shots, row) if isinstance(row, Pair) else (row,)))
    return list(islice(flat, most))


def _looked_at(probe: Probe) -> list[str]:
    task, example = probe.recipe.family, _held_out(probe)[0]
    match task:
        case "language-modeling" | "masked-language-modeling":
            return [_beginning(example)]
        case "token-classification":
            return [" ".join(example.words[:8])]
        case "question-answering":
            return [example.question[:LETTERS], example.context[: 2 * LETTERS]]
        case "text-classification" | "text-regression":
            return [text[:LETTERS] for text in (example.text, example.text_pair) if text is not None]
        case "translation" | "instruction":
            return [example.source[:LETTERS]]
        case _:
            return []


def _uses(probe: Probe) -> Iterator[Use]:
    examples = _held_out(probe)
    short = ("--longest", "12")
    match probe.recipe.family:
        case "translation" | "instruction":
            sources = [" ".join(pair.source.split()) for pair in examples]
            searched = ("--beam", "2", "--n-best", "2", *short)
            fields = ("text", "score", "log_probability", "finished")
            yield Use(TASKS[probe.recipe.task].verbs[0], (*searched, "--", *sources), fields)
            yield Use("embed", ("--", *sources), ("vector",))
            shots = probe.folder / "shots.tsv"
            shots.write_text("".join(f"{' '.join(p.source.split())}\t{' '.join(p.target.split())}\n" for p in examples))
            given = ("--examples", str(shots), "--shots", "2", "--longest", "6", "--", sources[-1])
            yield Use("prompt", given, ("answer",))
        case "language-modeling":
            texts = [_beginning(text) for text in examples]
            yield Use("generate", ("--greedy", *short, "--", *texts), ("text", "log_probability"))
            yield Use("score", ("--", *texts), ("bits",))
            yield Use("embed", ("--", *texts), ("vector",))
        case "masked-language-modeling":
            texts = [" ".join(_beginning(text).split()) for text in examples]
            yield Use("fill", ("--", *(f"{text} ___" for text in texts)), ("masks",))
            yield Use("embed", ("--", *texts), ("vector",))
        case "text-classification" | "text-regression":
            texts = [example.text for example in examples]
            seconds = [
                word for each in examples if each.text_pair is not None for word in ("--text-pair", each.text_pair)
            ]
            yield Use(TASKS[probe.recipe.task].verbs[0], (*seconds, "--", *texts), ("label", "probability", "value"))
            yield Use("embed", ("--", *texts), ("vector",))
        case "token-classification":
            sentences = [" ".join(sentence.words) for sentence in examples]
            yield Use("tag", ("--spaces", "--", *sentences), ("words", "tags", "probabilities"))
        case "question-answering":
            asked = probe.folder / "asked.jsonl"
            lines = (json.dumps({"question": each.question, "context": each.context}) for each in examples)
            asked.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            yield Use("answer", ("--top", "2", "--file", str(asked)), ("answer", "probability", "no_answer", "answers"))
        case "forecasting":
            yield Use("forecast", ("--steps", "5"), ())
        case "vector-to-text":
            yield Use("describe", (*short, "--", *(each.source for each in examples)), ("text", "log_probability"))


def _beginning(text: str) -> str:
    return text.strip()[:LETTERS].strip()
