"""Does a translator say the same by CTranslate2, in float32 and in int8, and how much sooner?

The validation part of a run is translated greedily and with a beam of 5: by the plain path and by CTranslate2, in
float32 and in int8, in turns within one process on one thread. Told are BLEU, how many translations are those of the
plain path in float32, and CPU-seconds of the whole process, tokenising included; a few sentences go before, unmeasured.
"""

import statistics
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks.record import options, record, show
from seqwright.calls import chosen_data
from seqwright.devices import Precision, keep_freed_memory
from seqwright.engines import with_engine
from seqwright.inputs import Given
from seqwright.outputs.text_search import Search
from seqwright.runs import Run, open_run, parameters
from seqwright.tasks.wired import Part

BEAMS = {"greedy": 1, "beam 5": 5}
COMPUTED: dict[str, tuple[str, Precision]] = {
    "plain float32": ("plain", "float32"),
    "plain int8": ("plain", "int8"),
    "ctranslate2 float32": ("ctranslate2", "float32"),
    "ctranslate2 int8": ("ctranslate2", "int8"),
}


class Translated(NamedTuple):
    """What was said of each sentence, and how long each repetition took."""

    texts: list[str]
    bleu: float
    seconds: list[float]


def main() -> None:
    parser = options("engines", __doc__)
    parser.add_argument("--run", type=Path, required=True, help="a translator that is a Transformer")
    parser.add_argument("--sentences", type=int, default=1014, help="of the validation part, from the first on")
    parser.add_argument("--repetitions", type=int, default=3, help="measurements of each, in turns")
    given = parser.parse_args()
    if given.quick:
        given.sentences, given.repetitions = 8, 1
    torch.set_num_threads(1)
    keep_freed_memory()
    run = open_run(given.run)
    part = Part(chosen_data(run, [], "valid").data, "valid")
    examples = [example for _, example in zip(range(given.sentences), part, strict=False)]
    report(run, given, {search: measured(run, examples, beam, given.repetitions) for search, beam in BEAMS.items()})


def measured(run: Run, examples: Sequence[Any], beam: int, repetitions: int) -> dict[str, Translated]:
    """Each way to compute the translations, in turns."""
    engined = {name: with_engine(run, engine) for name, (engine, _) in COMPUTED.items()}
    found = {name: Translated([], 0.0, []) for name in COMPUTED}
    for name in COMPUTED:
        predicted(engined[name], examples[:4], beam, COMPUTED[name][1])
    for _ in range(repetitions):
        for name, (_, precision) in COMPUTED.items():
            began = time.process_time()
            predictions = predicted(engined[name], examples, beam, precision)
            found[name].seconds.append(time.process_time() - began)
            bleu = run.output.scores(predictions, Given(examples))["bleu"]
            found[name] = found[name]._replace(texts=[each.text for each in predictions], bleu=bleu)
    return found


def predicted(run: Run, examples: Sequence[Any], beam: int, precision: Precision) -> list[Any]:
    settings = run.recipe.decoding.model_copy(update={"beam": beam, "precision": precision})
    search, tokens = Search(settings, engine=run.engine), run.recipe.training.tokens
    return run.inputs.predictions(run.model, Given(examples), search, tokens)  # type: ignore[no-any-return]


def report(run: Run, given: Namespace, found: dict[str, dict[str, Translated]]) -> None:
    numbers: dict[str, Any] = {}
    rows = []
    for search, by_name in found.items():
        plain = by_name["plain float32"]
        numbers[search] = {}
        for name, each in by_name.items():
            same = sum(mine == its for mine, its in zip(plain.texts, each.texts, strict=True))
            seconds = statistics.median(each.seconds)
            numbers[search][name] = {
                "bleu": round(each.bleu, 2),
                "same_translations": same,
                "cpu_seconds": {"median": round(seconds, 2), "each": [round(value, 2) for value in each.seconds]},
                "times_as_fast": round(statistics.median(plain.seconds) / seconds, 2),
            }
            told = numbers[search][name]
            rows.append(
                [f"{search}, {name}", f"{told['bleu']:.2f}", f"{same:,}", f"{seconds:.1f}", f"{told['times_as_fast']}"]
            )
    print(f"{given.sentences:,} sentences, {parameters(run.model):,} parameters, one thread\n")
    show(["", "BLEU", "the same", "CPU s", "times as fast"], rows)
    record(
        "engines",
        __doc__,
        given,
        threads=1,
        libraries=["torch", "ctranslate2"],
        settings={
            "model": run.recipe.model.model_dump(mode="json"),
            "steps": run.step,
            "sentences": given.sentences,
            "repetitions": given.repetitions,
            "part": "valid",
        },
        numbers=numbers,
    )


if __name__ == "__main__":
    main()
