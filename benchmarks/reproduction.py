"""Which published figures does the package give to the digit, where nothing has to be learnt?

    python -m benchmarks.reproduction                             a minute
    python -m benchmarks.reproduction --conlleval output.txt      and the sample of conlleval, from wherever it is

Scorers and baselines on the data of others, beside what was published for them. Data that is not on this machine is
left out and named. Penn Treebank has a command of its own: `python -m benchmarks.ngram --train F --valid F --test F`.
"""

import gzip
import json
import math
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.ngram import perplexities_of
from benchmarks.record import options, record, show
from seqwright.data.cards import card
from seqwright.data.files import lines
from seqwright.data.questions import QuestionFiles, QuestionFilesSettings
from seqwright.data.waves import Waves, WavesSettings
from seqwright.errors import UserError
from seqwright.metrics.answers import answer_scores
from seqwright.metrics.forecasts import Errors, naive
from seqwright.metrics.tags import entity_counts, together
from seqwright.models.ngram import NgramSettings

Numbers = dict[str, float]
PUBLISHED: dict[str, Numbers] = {
    "waves, naive": {"mse": 0.020211367},  # Géron's notebook of chapter 15
    "names, bigram": {"loss": 2.454},  # Karpathy's lecture, all names
    "SQuAD 1.1, a BERT ensemble's answers": {"exact": 86.2, "f1": 92.2},  # Devlin et al. (2019), table 2
    # "Repeat" in table 2 of Zeng et al. (2023)
    "ETTh1, last value, 96 hours": {"mse": 1.295, "mae": 0.713},
    "ETTh1, last value, 192 hours": {"mse": 1.325, "mae": 0.733},
    "ETTh1, last value, 336 hours": {"mse": 1.323, "mae": 0.744},
    "ETTh1, last value, 720 hours": {"mse": 1.339, "mae": 0.756},
    "exchange, last value, 96 days": {"mse": 0.081, "mae": 0.196},
    "exchange, last value, 192 days": {"mse": 0.167, "mae": 0.289},
    "exchange, last value, 336 days": {"mse": 0.305, "mae": 0.396},
    "exchange, last value, 720 days": {"mse": 0.823, "mae": 0.681},
    "conlleval's sample": {"precision": 68.83, "recall": 80.83, "f1": 74.35},
}
HORIZONS = (96, 192, 336, 720)
HOURS = 12 * 30 * 24  # of ETTh1's training part
AT_ONCE = 32  # windows of a batch of Zeng et al., whose loader leaves out those of the last that is not whole


def main() -> None:
    parser = options("reproduction", __doc__)
    parser.add_argument("--conlleval", type=Path, metavar="FILE", help="words with their right and predicted chunk")
    given = parser.parse_args()
    figures: dict[str, Callable[[], Numbers]] = {
        "waves, naive": waves_naive,
        "names, bigram": names_bigram,
        "SQuAD 1.1, a BERT ensemble's answers": squad_answers,
        **{f"ETTh1, last value, {ahead} hours": partial(ett_last, ahead) for ahead in HORIZONS},
        **{f"exchange, last value, {ahead} days": partial(exchange_last, ahead) for ahead in HORIZONS},
    }
    if given.conlleval is not None:
        figures["conlleval's sample"] = lambda: chunks(given.conlleval)
    found: dict[str, Any] = {}
    for name, figure in figures.items():
        try:
            found[name] = {"published": PUBLISHED[name], "ours": figure()}
        except (UserError, FileNotFoundError) as error:
            found[name] = {"published": PUBLISHED[name], "ours": f"not run: {error}"}
    show(["figure", "published", "ours"], [[name, *map(_shown, each.values())] for name, each in found.items()])
    libraries = ["numpy", "torch"]
    record("reproduction", __doc__, given, threads=1, libraries=libraries, settings={}, numbers=found)


def _shown(numbers: Numbers | str) -> str:
    return numbers if isinstance(numbers, str) else "  ".join(f"{n} {value:.8g}" for n, value in numbers.items())


def waves_naive() -> Numbers:
    """The last value of Géron's series, his seed; rounded to the single precision in which he prints it."""
    windows = list(Waves(WavesSettings()).examples("valid"))
    past_BTC, future_BNC = np.stack([w.values_TC for w in windows]), np.stack([w.future_NC for w in windows])
    errors = Errors(np.ones(1))
    errors.add(naive(past_BTC, 1), future_BNC)
    return {"mse": float(str(np.float32(errors.scores()["mse"])))}


def names_bigram() -> Numbers:
    """Pairs of letters counted over all names, and asked about them: nats per character, ends included."""
    data = card("names").open()
    every = [name for part in data.parts() for name in data.examples(part)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "names.txt"
        path.write_text("".join(f"{' '.join(name)}\n" for name in every), encoding="utf-8")
        settings = NgramSettings(order=2, smoothing="maximum-likelihood")
        return {"loss": math.log(perplexities_of(path, {"all": path}, settings)["all"].perplexity)}


def squad_answers() -> Numbers:
    """The answers that were published, scored by ours."""
    folder = _beside("squad")
    with gzip.open(folder / "predictions-bert-ensemble.json.gz", "rt", encoding="utf-8") as file:
        said = json.load(file)
    data = QuestionFiles(QuestionFilesSettings(train=str(folder / "dev-v1.1.json.gz"), valid="1%"))
    questions = [question for part in data.parts() for question in data.examples(part)]
    return answer_scores([said[each.name] for each in questions], [each.texts for each in questions])


def ett_last(ahead: int) -> Numbers:
    """The windows of the four months after sixteen, values in deviations of the first twelve."""
    return _last_value(_table("ett/ETTh1.csv.gz"), ahead, HOURS, HOURS * 4 // 3, HOURS * 5 // 3)


def exchange_last(ahead: int) -> Numbers:
    """The windows of the last fifth, values in deviations of the first seven tenths."""
    values_TC = _table("ltsf/exchange_rate.csv.gz")
    last = len(values_TC) - int(len(values_TC) * 0.2)
    return _last_value(values_TC, ahead, int(len(values_TC) * 0.7), last, len(values_TC))


def _last_value(values_TC: NDArray[np.float64], ahead: int, train: int, begin: int, end: int) -> Numbers:
    """Of the windows that fill whole batches; the squared error of all of them stands beside."""
    scaled_TC = (values_TC - values_TC[:train].mean(0)) / values_TC[:train].std(0)
    every = range(begin, end - ahead + 1)

    def scores(windows: range) -> Numbers:
        errors = Errors(np.ones(values_TC.shape[1]))
        for now in windows:
            errors.add(naive(scaled_TC[None, now - 1 : now], ahead), scaled_TC[None, now : now + ahead])
        return {name: errors.scores()[name] for name in ("mse", "mae")}

    whole = scores(every[: len(every) // AT_ONCE * AT_ONCE])
    return {**whole, "mse of all windows": scores(every)["mse"]}


def _table(name: str) -> NDArray[np.float64]:
    """The numbers of a table, without its header and its dates."""
    rows = list(lines(_beside(name)))[1:]
    return np.array([[float(cell) for cell in row.split(",")[1:]] for row in rows])


def _beside(name: str) -> Path:
    """Something in the folder of the data."""
    path = Path(os.environ.get("SEQWRIGHT_DATA", "data")) / name
    if not path.exists():
        raise FileNotFoundError(f"{name} is not in $SEQWRIGHT_DATA")
    return path


def chunks(path: Path) -> Numbers:
    """Chunks of a file whose last columns are the right tag and the predicted one."""
    sentences: list[list[list[str]]] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            sentences[-1].append(line.split()[-2:])
        else:
            sentences.append([])
    predicted, true = ([[word[side] for word in words] for words in sentences] for side in (1, 0))
    every = together(entity_counts(predicted, true).values())
    return {name: getattr(every, name) for name in ("precision", "recall", "f1")}


if __name__ == "__main__":
    main()
