"""Answers of which one was chosen and one rejected (DPO, Rafailov et al. 2023): prompt × preference.

B batch · T time
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn
from torch.nn import functional as F

from seqwright.batches import Derived, Ids, Rows
from seqwright.inputs import Examples, Stacked
from seqwright.objectives.objective import Loss, LossPart, Objective
from seqwright.outputs import Targets
from tests.contract.fake_tasks.parts import Example, Words, Written, WrittenText, ids


class Prompts(Words):
    key: ClassVar[str] = "prompt"


@dataclass(frozen=True)
class Preferred(Written):
    """The chosen answer, and beside it the rejected one: what is compared stands in one row."""

    rejected_input_BT: Tensor
    rejected_target_BT: Tensor
    rejected_real_BT: Tensor

    def rejected(self) -> Written:
        answer = self.rejected_input_BT, self.rejected_target_BT, self.rejected_real_BT
        return Written(self.source, self.source_real_BS, *answer)


class Preference(WrittenText):
    """Used as any other text: with a reply to the prompt."""

    @classmethod
    def references(cls, example: Example) -> list[str]:
        return [example["chosen"], example["rejected"]]

    def encode(self, examples: Examples[Example], rows: Rows[Any], *, seed: int = 0) -> Targets:
        every = [[ids(text.split(), self.vocabulary) for text in self.references(example)] for example in examples]
        return Targets(Derived(rows, lambda row, number: every[number]), np.arange(len(rows.example_N)))

    def collate(self, stacked: Stacked, targets: Sequence[Sequence[Ids]] | None) -> Preferred:
        sides = (None, None) if targets is None else zip(*targets, strict=True)
        one, other = (super(Preference, self).collate(stacked, side) for side in sides)
        rejected = other.input_BT, other.target_BT, other.real_BT
        return Preferred(one.source, one.source_real_BS, one.input_BT, one.target_BT, one.real_BT, *rejected)


class DPO(Objective):
    """-log σ(β (Δ - Δ_ref)). The reference is frozen and outside the module tree: it is neither trained nor saved."""

    def __init__(self, model: nn.Module, beta: float = 0.5) -> None:
        super().__init__()
        self.beta, self.outside = beta, (copy.deepcopy(model).requires_grad_(False).eval(),)

    def counts(self, batch: Preferred) -> dict[str, int]:
        return {"loss": len(batch)}

    def forward(self, model: nn.Module, batch: Preferred, carry: Any) -> tuple[Loss, Any]:
        now_B, before_B = (logp(each, batch) - logp(each, batch.rejected()) for each in (model, *self.outside))
        return Loss({"loss": LossPart(-F.logsigmoid(self.beta * (now_B - before_B)).sum(), len(batch))}), carry


def logp(model: nn.Module, batch: Written) -> Tensor:
    """`logp_B` of the texts of a batch."""
    logp_BTV = model(batch, None)[0].log_softmax(-1)
    logp_BT: Tensor = logp_BTV.gather(-1, batch.target_BT.unsqueeze(-1)).squeeze(-1)
    return (logp_BT * batch.real_BT).sum(1)
