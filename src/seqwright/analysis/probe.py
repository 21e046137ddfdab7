"""How much of some labels a model's frozen vectors tell, by two probes that change nothing of it.

- kNN: the `k` vectors of the bank that are nearest by cosine vote, each with the weight exp(cosine / temperature), for
  their labels (Wu et al. 2018, section 3.4, with k = 20 and 0.07 as in Caron et al. 2021, section 4.1).
- linear: a logistic regression over the vectors, each unit with mean 0 and deviation 1 (scikit-learn).

N vectors of the bank · M asked · K neighbours · C classes
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqwright.analysis.alike import nearest_vectors
from seqwright.analysis.embedder import Embedder, embedder_of
from seqwright.analysis.pooled import PooledEmbedder
from seqwright.batches import Numbers
from seqwright.data.cards import READERS, cards, opened_data
from seqwright.data.examples import PartName
from seqwright.data.files import expanded
from seqwright.data.labels import class_counts
from seqwright.errors import DataError, SettingError, instead
from seqwright.inputs import Examples
from seqwright.inputs.text import TextInput
from seqwright.kinds import TASKS, labelled_kinds
from seqwright.metrics.labels import accuracy, confusion, macro_f1
from seqwright.outputs import Baselines
from seqwright.outputs.label import LabelOutput
from seqwright.outputs.linear import C, logistic_regression
from seqwright.runs import Pooling, Run
from seqwright.tasks.parts import Part

NEIGHBOURS, TEMPERATURE = 20, 0.07
SHARE = "20%"  # of one file that is not learnt from


@dataclass(frozen=True)
class Probe:
    """What the probes found: for each its scores in percent, and those of the baselines, which see no vector."""

    run: str
    bank: str  # what was learnt from, in words
    asked: str
    width: int
    k: int
    temperature: float
    penalty: float  # inverse of the linear probe's: what scikit-learn calls C
    scores: dict[str, dict[str, float]]  # by the name of the probe
    baselines: dict[str, float]
    baseline: str  # in words


def probe_of(
    run: Run,
    data: str | Path | None = None,
    *,
    test: str | Path | None = None,
    k: int = NEIGHBOURS,
    temperature: float = TEMPERATURE,
    pooling: Pooling | None = None,
) -> Probe:
    """Probe the vectors of a run, known as `sw.probe`: it learns from a training part and is scored on a test part.

    `data` is a file or folder of labelled examples, of which a fifth is kept for scoring unless `test` is another one;
    or the name of a card. Left out, it is the run's own.
    """
    from sklearn.preprocessing import StandardScaler

    if k < 1 or not temperature > 0:
        raise SettingError(f"k is {k} and temperature {temperature:g}: give a k of 1 or more and a temperature above 0")
    train, part = _parts(run, data, test)
    embedder = embedder_of(run, pooling)
    output = LabelOutput(class_counts(example.label for example in train if example.label))
    bank, asked = (_labelled(embedder, output, some) for some in (train, part))
    if k > len(bank.label_N):
        raise SettingError(f"k is {k}, but {train.name} has {len(bank.label_N):,} examples: ask for fewer neighbours")
    cosine_MK, place_MK = nearest_vectors(bank.vector_ND, asked.vector_ND, k)
    vote_MC = votes(cosine_MK, bank.label_N[place_MK], temperature=temperature, classes=len(output.labels))
    linear = logistic_regression(StandardScaler(), bank.vector_ND.numpy(), bank.label_N.tolist())
    found = {"kNN": vote_MC.argmax(1), "linear": linear.predict(asked.vector_ND.numpy())}
    shown = not isinstance(embedder, Embedder) or isinstance(run.input, TextInput)  # what a linear baseline sees
    baselines = output.baselines(train, part, run.input) if shown else Baselines({}, "", [])
    return Probe(
        run.folder.name,
        f"{len(bank.label_N):,} {run.input.noun} of {train.name}",
        f"{len(asked.label_N):,} {run.input.noun} of {part.name}",
        embedder.width,
        k,
        temperature,
        C,
        {name: _scores(predicted_M, asked.label_N, len(output.labels)) for name, predicted_M in found.items()},
        baselines.scores,
        baselines.sentence,
    )


class _Labelled(NamedTuple):
    """Vectors with the numbers of their labels."""

    vector_ND: Tensor
    label_N: Numbers


def _labelled(embedder: Embedder | PooledEmbedder, output: LabelOutput, examples: Examples[Any]) -> _Labelled:
    """Those that can be read and have a label; one that was never learnt is refused."""
    vector_ND, example_N = embedder.of(examples)
    labels = [example.label for example in examples]
    known = [output.number(labels[number]) if labels[number] else -1 for number in example_N.tolist()]
    label_N = np.array(known, dtype=np.int64)
    if not (label_N >= 0).any():
        raise DataError(f"no example of {examples.name} can be read and has a label: there is nothing to probe with")
    return _Labelled(vector_ND[torch.from_numpy(label_N >= 0)], label_N[label_N >= 0])


def votes(
    cosine_MK: NDArray[np.float64], label_MK: Numbers, *, temperature: float, classes: int
) -> NDArray[np.float64]:
    """`vote_MC`: the weights of the neighbours with each label, summed; of each row they are relative to the nearest's.

    exp((cosine - the largest) / temperature), as exp(1 / temperature) may be beyond what a number can hold.
    """
    weight_MK = np.exp((cosine_MK - cosine_MK.max(1, keepdims=True)) / temperature)
    vote_MC = np.zeros((len(cosine_MK), classes))
    np.add.at(vote_MC, (np.arange(len(cosine_MK))[:, None], label_MK), weight_MK)
    return vote_MC


def _scores(predicted_M: Numbers, true_M: Numbers, classes: int) -> dict[str, float]:
    counts_CC = confusion(predicted_M.tolist(), true_M.tolist(), classes=classes)
    return {"accuracy": accuracy(counts_CC), "macro_f1": macro_f1(counts_CC)}


def _parts(run: Run, data: str | Path | None, test: str | Path | None) -> tuple[Part, Part]:
    """What is learnt from, and what is scored."""
    kinds = labelled_kinds(run.recipe.task)
    if data is None and test is not None:
        raise SettingError("test names what is scored, but data nothing to learn from: give both, or only data")
    if data is None and _kind_of(run.recipe) not in kinds:
        raise SettingError(
            f"{run.folder} learnt {run.recipe.task}, and its examples have no labels: name "
            f"{READERS[kinds[0]].examples} with --data"
        )
    found = opened_data(*_settings(run, data, test, kinds))
    parts: list[PartName] = found.parts()
    return Part(found, "train"), Part(found, "test" if "test" in parts else "valid")


def _kind_of(recipe: Any) -> str:
    """The kind of a run's own examples."""
    named = recipe.data.model_dump().get("card")
    return TASKS[recipe.task].examples[0] if named is None else cards()[named].kind


def _settings(run: Run, data: str | Path | None, test: str | Path | None, kinds: tuple[str, ...]) -> tuple[Any, str]:
    kind = kinds[0]
    if data is None:
        return run.recipe.data, kind
    if str(data) in cards() and not expanded(str(data)).exists():
        if test is not None:
            raise SettingError(f"the card {data} has a test part of its own: leave test out")
        if cards()[str(data)].kind not in kinds:
            fitting = [name for name, each in cards().items() if each.kind in kinds]
            raise SettingError(f"the card {data} has no {READERS[kind].examples}{instead(str(data), fitting)}")
        return cards()[str(data)].settings(card=str(data)), kind
    given = {"train": str(data), "valid": SHARE if test is None else str(test)}
    return READERS[kind].settings(**given), kind
