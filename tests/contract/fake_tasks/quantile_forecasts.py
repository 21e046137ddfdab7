"""Quantiles of what follows a series, with covariates whose future is known: series × values.

B batch · T time · N horizon · C channels · X covariates · Q quantiles
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from seqwright.batches import Column, Rows
from seqwright.inputs import Examples, Stacked
from seqwright.objectives.objective import Loss, Objective, Part
from seqwright.outputs import Targets
from tests.contract.fake_tasks.models import Head, Headed, frame_body
from tests.contract.fake_tasks.parts import Example, Frames, Nested, RowBatch, RowOutput

HORIZON, COVARIATES, QUANTILES = 2, 3, (0.1, 0.5, 0.9)  # settings of the data: both sides know them


class Past(Frames):
    """Columns of values and covariates; those of the horizon stand in the same row, with no values yet."""

    key: ClassVar[str] = "history"

    def stack(self, rows: Sequence[Any]) -> Stacked:
        whole_BTX = super().stack(rows)["frame_BSX"]
        return {"input_BTX": whole_BTX[:, :-HORIZON], "known_BNX": whole_BTX[:, -HORIZON:, -COVARIATES:]}


@dataclass(frozen=True)
class Windows(RowBatch):
    input_BTX: Tensor
    known_BNX: Tensor
    target_BN: Tensor


@dataclass(frozen=True)
class Values(RowOutput[Windows]):
    """`value_NQ`: the quantiles of each step."""

    score_names: ClassVar[tuple[str, ...]] = ("mae",)

    def encode(self, examples: Examples[Example], rows: Rows[Any], *, seed: int = 0) -> Targets:
        future = [example["future"] for example in examples]
        known = [future[number] for number in rows.example_N.tolist()]
        value_BN = np.array([each or [np.nan] * HORIZON for each in known], dtype=np.float32)
        return Targets(Column(value_BN), np.flatnonzero(~np.isnan(value_BN[:, 0])))

    def collate(self, stacked: Stacked, targets: Sequence[Any] | None) -> Windows:
        known = np.zeros((len(stacked["input_BTX"]), HORIZON)) if targets is None else np.stack(targets)
        return Windows(**stacked, target_BN=torch.from_numpy(known).float())

    def scores(self, predictions: Sequence[Nested], examples: Examples[Example]) -> dict[str, float]:
        both = [(value_NQ, example["future"]) for value_NQ, example in zip(predictions, examples, strict=True)]
        errors = [np.abs(np.array(found)[:, 1] - future).mean() for found, future in both if found and future]
        return {"mae": float(np.mean(errors))}


class QuantileHead(Head):
    """Of the mean of the past and of what is known of each step to come."""

    def forward(self, vectors_BTD: Tensor, batch: Any) -> Tensor:
        past_BND = vectors_BTD.mean(1, keepdim=True).expand(-1, HORIZON, -1)
        return self.output(torch.cat((past_BND[..., :-COVARIATES], batch.known_BNX), dim=-1))  # type: ignore[no-any-return]


def quantile_model(width: int) -> Headed:
    return Headed(frame_body(width), QuantileHead(len(QUANTILES)))


class Pinball(Objective):
    """max(q e, (q - 1) e) for each quantile q, e = target - forecast (Koenker & Bassett 1978)."""

    def counts(self, batch: Windows) -> dict[str, int]:
        return {"loss": batch.target_BN.numel()}

    def forward(self, model: nn.Module, batch: Windows, carry: Any) -> tuple[Loss, Any]:
        value_BNQ, carry = model(batch, carry)
        error_BNQ, quantile_Q = batch.target_BN.unsqueeze(-1) - value_BNQ, torch.tensor(QUANTILES)
        loss_BNQ = torch.maximum(quantile_Q * error_BNQ, (quantile_Q - 1) * error_BNQ)
        return Loss({"loss": Part(loss_BNQ.sum(), batch.target_BN.numel())}), carry
