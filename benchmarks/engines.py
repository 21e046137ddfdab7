"""Do runs write the same in int8, and by CTranslate2, as by the plain path in float32, and how much sooner?

The validation part of each run is written greedily and with a beam of 5: by the plain path and, where it has such a
model, by CTranslate2, in float32 and in int8, in turns within one process on one thread. Told are BLEU, how many texts
are those of the plain path in float32, CPU-seconds of the whole process, tokenising included, and the loss of the plain
path. A few sentences go before, unmeasured.
"""

import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks.record import options, record, show
from seqwright.calls import chosen_data
from seqwright.devices import Precision, in_precision, keep_freed_memory
from seqwright.engines import with_engine
from seqwright.errors import RunError
from seqwright.inputs import Given
from seqwright.outputs.text_search import Search
from seqwright.runs import Run, open_run, parameters
from seqwright.tasks.parts import Part

BEAMS = {"greedy": 1, "beam 5": 5}
COMPUTED: dict[str, tuple[str, Precision]] = {
    "plain float32": ("plain", "float32"),
    "plain int8": ("plain", "int8"),
    "ctranslate2 float32": ("ctranslate2", "float32"),
    "ctranslate2 int8": ("ctranslate2", "int8"),
}


PRECISIONS: tuple[Precision, ...] = ("float32", "int8")


class Translated(NamedTuple):
    """What was said of each sentence, and how long each repetition took."""

    texts: list[str]
    bleu: float
    seconds: list[float]


def main() -> None:
    parser = options("engines", __doc__)
    parser.add_argument(
        "--run", type=Path, action="append", required=True, help="a run that writes texts; several times"
    )
    parser.add_argument("--sentences", type=int, default=1014, help="of the validation part, from the first on")
    parser.add_argument("--repetitions", type=int, default=3, help="measurements of each, in turns")
    given = parser.parse_args()
    if given.quick:
        given.sentences, given.repetitions = 8, 1
    torch.set_num_threads(1)
    keep_freed_memory()
    numbers: dict[str, Any] = {}
    for folder in given.run:
        run = open_run(folder)
        part = Part(chosen_data(run, [], "valid").data, "valid")
        examples = [example for _, example in zip(range(given.sentences), part, strict=False)]
        found = {search: measured(run, examples, beam, given.repetitions) for search, beam in BEAMS.items()}
        numbers[folder.name] = told(run, examples, found)
    record(
        "engines",
        __doc__,
        given,
        threads=1,
        libraries=["torch", "ctranslate2"],
        settings={"sentences": given.sentences, "repetitions": given.repetitions, "part": "valid"},
        numbers=numbers,
    )


def measured(run: Run, examples: Sequence[Any], beam: int, repetitions: int) -> dict[str, Translated]:
    """Each way to compute the texts that the model can be computed in, in turns."""
    engined = {}
    for name, (engine, _) in COMPUTED.items():
        with suppress(RunError):  # CTranslate2 has no such model
            engined[name] = with_engine(run, engine)
    found = {name: Translated([], 0.0, []) for name in engined}
    for name, each in engined.items():
        predicted(each, examples[:4], beam, COMPUTED[name][1])
    for _ in range(repetitions):
        for name, each in engined.items():
            began = time.process_time()
            predictions = predicted(each, examples, beam, COMPUTED[name][1])
            found[name].seconds.append(time.process_time() - began)
            bleu = run.output.scores(predictions, Given(examples))["bleu"]
            found[name] = found[name]._replace(texts=[each.text for each in predictions], bleu=bleu)
    return found


def predicted(run: Run, examples: Sequence[Any], beam: int, precision: Precision) -> list[Any]:
    settings = run.recipe.decoding.model_copy(update={"beam": beam, "precision": precision})
    search, tokens = Search(settings, engine=run.engine), run.recipe.training.tokens
    return run.inputs.predictions(run.model, Given(examples), search, tokens)  # type: ignore[no-any-return]


def told(run: Run, examples: Sequence[Any], found: dict[str, dict[str, Translated]]) -> dict[str, Any]:
    """The numbers of a run, which are also printed."""
    loss = {
        precision: round(run.inputs.losses(run.recipe, in_precision(run.model, precision), Given(examples))["loss"], 4)
        for precision in PRECISIONS
    }
    numbers: dict[str, Any] = {
        "model": run.recipe.model.model_dump(mode="json"),
        "parameters": parameters(run.model),
        "steps": run.step,
        "loss": loss,
    }
    rows = []
    for search, by_name in found.items():
        plain, numbers[search] = by_name["plain float32"], {}
        for name, each in by_name.items():
            same = sum(mine == its for mine, its in zip(plain.texts, each.texts, strict=True))
            seconds = statistics.median(each.seconds)
            faster = round(statistics.median(plain.seconds) / seconds, 2)
            numbers[search][name] = {
                "bleu": round(each.bleu, 2),
                "same_texts": same,
                "cpu_seconds": {"median": round(seconds, 2), "each": [round(value, 2) for value in each.seconds]},
                "times_as_fast": faster,
            }
            rows.append([f"{search}, {name}", f"{each.bleu:.2f}", f"{same:,}", f"{seconds:.1f}", f"{faster:.2f}"])
    print(f"{run.folder.name}, step {run.step:,}: {len(examples):,} sentences, {parameters(run.model):,} parameters")
    print(f"loss {loss['float32']:.4f}, in int8 {loss['int8']:.4f}\n")
    show(["", "BLEU", "the same", "CPU s", "times as fast"], rows)
    return numbers


if __name__ == "__main__":
    main()
