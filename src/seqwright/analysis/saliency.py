"""What the label of a series hangs on: the gradient of its log-probability (Simonyan et al. 2014, section 3).

    s_t = |∂ log p(label | x) / ∂x_t|

Any body that learns by gradient has one, recurrent or not.

B batch · T time · C channels · K ends · L labels
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seqwright.devices import device_of
from seqwright.errors import DataError, RunError
from seqwright.inputs import Given
from seqwright.inputs.series import SeriesInput
from seqwright.outputs.label import LabelOutput
from seqwright.pictures.saliency import Saliency
from seqwright.runs import Run, data_of

MOST_ENDS = 100  # of a series for which it is predicted anew
MOST_SERIES = 6  # of the validation part, each of another label


def labels_series(run: Run) -> bool:
    """Whether a run reads series and predicts a label of each."""
    return isinstance(run.input, SeriesInput) and isinstance(run.output, LabelOutput)


def one_of_each(run: Run) -> list[Any]:
    """The first series of each label in the validation part of a run, of some labels if there are many."""
    found: dict[str, Any] = {}
    for example in data_of(run.recipe).examples("valid"):
        if example.label and len(example.values_TC):
            found.setdefault(example.label, example)
        if len(found) == min(MOST_SERIES, len(run.output.labels)):
            break
    return [found[label] for label in sorted(found)]


def series_given(run: Run, given: Any) -> list[Any]:
    """One series or a list of them, as a user gives them; those of the validation part where there are none."""
    if given is None:
        return one_of_each(run)
    several = given if isinstance(given, list) else [given]
    if not several or any(isinstance(each, dict) for each in several):
        raise DataError(f"{run.folder} reads series: give an array of steps, or a text of numbers")
    return [run.input.parse(each) for each in several]


def saliencies_of(run: Run, series: Iterable[Any]) -> list[Saliency]:
    """What the predicted label of each series hangs on."""
    if not labels_series(run):
        raise RunError(f"{run.folder} learnt {run.recipe.task}; this is drawn for classifiers of series")
    return [saliency_of(run, example) for example in series]


def saliency_of(run: Run, example: Any) -> Saliency:
    """The gradient at each step, and the probabilities after each, or after some of a long series."""
    if not len(example.values_TC):
        raise DataError("there is nothing to look at: the series is blank")
    (row_TC,) = run.input.encode(Given([example])).take(np.arange(1), None)
    end_K = np.unique(np.linspace(1, len(row_TC), min(MOST_ENDS, len(row_TC))).round().astype(np.int64))
    p_KL = np.concatenate([*_probabilities(run, row_TC, end_K.tolist())])
    order = np.argsort(-p_KL[-1], kind="stable")
    saliency_TC = _gradient(run, row_TC, int(order[0]))
    labels = tuple(run.output.labels[number] for number in order.tolist())
    return Saliency(
        value_TC=example.values_TC,
        saliency_TC=saliency_TC / (saliency_TC.sum() or 1.0),
        columns=example.columns or run.input.columns,
        label=labels[0],
        target=example.label,
        labels=labels,
        end_K=end_K,
        probability_KL=p_KL[:, order],
    )


@torch.inference_mode()
def _probabilities(run: Run, row_TC: Any, ends: Sequence[int]) -> Iterator[Any]:
    """Of each label, for the series up to each end, so many at once that memory stays small."""
    at_once = max(1, 100_000 // len(row_TC))
    for first in range(0, len(ends), at_once):
        batch = _batch(run, [row_TC[:end] for end in ends[first : first + at_once]])
        yield _logits(run, batch).double().softmax(-1).cpu().numpy()


def _gradient(run: Run, row_TC: Any, label: int) -> Any:
    """|∂ log p(label) / ∂x| of each value of a series as the model sees it."""
    batch = _batch(run, [row_TC])
    x_BTC = batch.input_B.clone().requires_grad_()
    with torch.enable_grad():
        logp_BL = _logits(run, replace(batch, input_B=x_BTC)).log_softmax(-1)
        (gradient_BTC,) = torch.autograd.grad(logp_BL[0, label], x_BTC)
    return gradient_BTC[0].abs().double().cpu().numpy()


def _batch(run: Run, rows: Sequence[Any]) -> Any:
    return run.output.collate(run.input.stack(rows), None).to(device_of(run.model))


def _logits(run: Run, batch: Any) -> Tensor:
    logits_BL: Tensor = run.model.eval()(batch, None)[0]
    return logits_BL
