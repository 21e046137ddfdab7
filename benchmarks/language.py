"""How well does each language model learn the same text, from counting to the LSTM, with one budget for all?

    python -m benchmarks.language wikitext2             perplexity per word; two hours on a core
    python -m benchmarks.language names                 nats per character; some minutes
    python -m benchmarks.language wikitext2 gru lstm    some of its recipes; what is written of the others stays

Each recipe is trained as a user would train it, into a run folder of its own; stopped at any moment, the same command
goes on from there. In `wikitext2` the learnt models have some 2.1 million parameters and 20 minutes on one core each,
the counted ones have words instead of sub-words, and what KenLM says of their ARPA files stands beside them.
"""

import importlib
import importlib.util
import json
import math
import subprocess
import sys
import tempfile
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from torch import nn

from benchmarks.record import REPOSITORY, options, record, show
from seqwright import __version__
from seqwright.interchange.arpa import write_arpa
from seqwright.kinds import task_of
from seqwright.models.ngram import Ngram
from seqwright.runs import Run, data_of, open_run, parameters
from seqwright.training.checkpoint import read_checkpoint, read_mark

QUICK = ["training.steps=4", "training.validate_every=4", "training.save_every=4"]
CORPORA = {
    "wikitext2": ("3gram", "5gram", "mlp", "rnn", "ugrnn", "gru", "lstm"),
    "names": ("bigram", "mlp", "rnn", "ugrnn", "gru", "lstm"),
}
# What Karpathy's makemore prints for its own split of the same names, and AWD-LSTM's validation perplexity.
PUBLISHED = {
    "wikitext2": {"AWD-LSTM (Merity et al. 2018), 33 M parameters, days on a GPU": {"word_perplexity": 68.7}},
    "names": {"makemore, bigram counts": {"loss": 2.45}, "makemore, MLP": {"loss": 2.17}},
}
SCORES = ("loss", "perplexity", "word_perplexity", "bits_per_character", "bits_per_byte")
COLUMNS = ("recipe", "parameters", "part", "loss", "per word", "bits a character", "KenLM", "epochs", "minutes")


def main() -> None:
    parser = options("language", __doc__)
    parser.add_argument("corpus", choices=CORPORA, help="what is learnt")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="some of its recipes (default: all)")
    parser.add_argument("--runs", type=Path, default=REPOSITORY / "runs", help="where the run folders are")
    given = parser.parse_args()
    found, settings = {}, {}
    for kind in given.kinds or CORPORA[given.corpus]:
        name = f"{given.corpus}-{kind}"
        folder = given.runs / f"{name}{'-quick' if given.quick else ''}"
        words = ["train", name, "--run", str(folder), "training.threads=1"]
        subprocess.run([sys.executable, "-m", "seqwright", *words, *(QUICK if given.quick else [])], check=True)
        found[name] = {**judged(folder), "made": made()}
        settings[name] = tomllib.loads((folder / "resolved.toml").read_text(encoding="utf-8"))
    others = {} if given.quick else written_before(given)
    found = {name: found.get(name) or others["numbers"][name] for name in order(given.corpus, found, others)}
    settings = {name: settings.get(name) or others["settings"][name] for name in found}
    show(COLUMNS, [row for name, numbers in found.items() for row in rows(name, numbers)])
    record(
        given.corpus,
        __doc__,
        given,
        threads=1,
        libraries=["torch", "tokenizers", "numpy"],
        settings=settings,
        numbers={"recipes": found, "published": PUBLISHED[given.corpus]},
    )


def made() -> dict[str, str]:
    """When a recipe was trained, and by which version."""
    return {"date": datetime.now(UTC).date().isoformat(), "seqwright": __version__}


def written_before(given: Any) -> dict[str, Any]:
    """Numbers and settings of the recipes that stand in the file, each with the day of its own."""
    path = (given.results or REPOSITORY / "results") / f"{given.corpus}.json"
    if not path.exists():
        return {}
    before = json.loads(path.read_text(encoding="utf-8"))
    day = {"made": {"date": before["date"], "seqwright": before["versions"]["seqwright"]}}
    numbers = {name: day | numbers for name, numbers in before["numbers"]["recipes"].items()}
    return {"numbers": numbers, "settings": before["settings"]}


def order(corpus: str, found: dict[str, Any], others: dict[str, Any]) -> list[str]:
    """The recipes that are known, in the order of the table."""
    known = {*found, *others.get("numbers", {})}
    return [name for kind in CORPORA[corpus] if (name := f"{corpus}-{kind}") in known]


def judged(folder: Path) -> dict[str, Any]:
    """The scores of a run on every part it was not trained on, its size, what it read and how long it took."""
    run, last = open_run(folder), read_mark(folder, "last")
    assert last is not None
    task, data = task_of(run.recipe.task), data_of(run.recipe)
    scores = {
        part: task.evaluated(run.recipe, data, run.inputs, run.model, part, None).scores
        for part in data.parts()
        if part != "train"
    }
    state = read_checkpoint(folder, last, ("model",)).state
    batches = task.prepared(run.recipe, data, run.inputs).train
    return {
        "scores": {part: {score: every[score] for score in SCORES} for part, every in scores.items()},
        "parameters": size(run.model),
        "kenlm": kenlm_perplexity(run, list(data.examples("valid"))),
        "steps": last,
        "best_step": run.step,
        "epochs": 1.0 if isinstance(run.model, Ngram) else last / batches.in_epoch(0),
        "training_seconds": round(state["seconds"], 1),
    }


def size(model: nn.Module) -> int:
    """The numbers a model has learnt: its parameters, or the n-grams it has counted."""
    return sum(order.ngrams for order in model.storage()) if isinstance(model, Ngram) else parameters(model)


def kenlm_perplexity(run: Run, texts: list[str]) -> float | None:
    """The perplexity per token, ends included, that KenLM finds with the model's ARPA file.

    None for other models, where there is no KenLM, and where a token may be a space, for which ARPA has no room.
    """
    if not isinstance(run.model, Ngram) or run.recipe.input.tokenizer != "whitespace":
        return None
    if importlib.util.find_spec("kenlm") is None:
        return None
    tokenizer = run.inputs.tokenizer
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.arpa"
        write_arpa(run.model, path, tokenizer.pieces(range(tokenizer.size)))
        model = importlib.import_module("kenlm").Model(str(path))
    total = tokens = 0.0
    for ids in tokenizer.encode(texts):
        total += model.score(" ".join(tokenizer.pieces(ids)), bos=True, eos=True)
        tokens += len(ids) + 1
    return math.exp(-total * math.log(10) / tokens)


def rows(name: str, numbers: dict[str, Any]) -> list[list[str]]:
    """A recipe in the table, a line for each part."""
    return [
        [
            name,
            f"{numbers['parameters']:,}",
            part,
            f"{scores['loss']:.4f}",
            f"{scores['word_perplexity']:,.2f}",
            f"{scores['bits_per_character']:.3f}",
            f"{numbers['kenlm']:.2f}" if numbers["kenlm"] and part == "valid" else "",
            f"{numbers['epochs']:.1f}",
            f"{numbers['training_seconds'] / 60:.1f}",
        ]
        for part, scores in numbers["scores"].items()
    ]


if __name__ == "__main__":
    main()
