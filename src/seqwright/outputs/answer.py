"""An answer: text that follows its prompt in the same row, written by a language model.

B batch · T time · N tokens · D width · V vocabulary
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from seqwright.batches import Cut, Ids, Numbers, Zipped, padded
from seqwright.batches.prompted import Marks, Prompted, prompted
from seqwright.data.examples import Pair
from seqwright.decoding.settings import DecodingSettings
from seqwright.decoding.stepper import Prefix
from seqwright.errors import DataError, SettingError
from seqwright.inputs import Examples, Given, Stacked
from seqwright.inputs.saved import load_fields
from seqwright.outputs import Targets
from seqwright.outputs.text import TextOutput, WrittenText
from seqwright.outputs.text_scores import ScoresSettings
from seqwright.outputs.text_search import Opening
from seqwright.setting_classes import Settings


class OneRow(Zipped):
    """Prompts and their answers, which share a row: its length is that of both."""

    def lengths(self, epoch: int | None) -> Numbers:
        """`length_N1` of both together."""
        length_N1: Numbers = super().lengths(epoch).sum(1, keepdims=True)
        return length_N1


@dataclass(frozen=True)
class AnswerOutput(TextOutput):
    """As `TextOutput`, but decoder-only: what is decoded follows the prompt in its row."""

    task: str = "<answer>"
    context: int | None = None  # most tokens that the model reads
    settings: ClassVar[type[Settings]] = ScoresSettings
    beside: ClassVar[type[Zipped]] = OneRow
    shared: ClassVar[bool] = True  # an answer is written with the tokenizer of its prompt

    def __post_init__(self) -> None:
        if self.task not in self.tokenizer.special:
            raise ValueError(f"it names {self.task!r}, and the tokenizer has only {' '.join(self.tokenizer.special)}")

    @classmethod
    def learn(cls, train: Examples[Any], settings: ScoresSettings, input: Any, *, like: Any = None) -> Self:
        """The tokenizer and the task of the input."""
        rest = settings.scores or "bleu", input.learnt_with.lowercase, input.longest, input.learnt_with.overlong
        return cls(input.tokenizer, None, *rest, task=input.task, context=input.context)

    @property
    def marks(self) -> Marks:
        """The tokens around the parts of a row."""
        return Marks(self.tokenizer.begin, self.tokenizer.special[self.task], self.tokenizer.end)

    def collate(self, stacked: Stacked, targets: Sequence[Ids] | None) -> Prompted:
        """`begin prompt answer`, of which only the answers are learnt; without targets, prompts alone."""
        prompts = _rows(stacked["prompt_BT"], stacked["real_BT"])
        answers = [prompt[:0] for prompt in prompts] if targets is None else targets
        return prompted([np.concatenate(both) for both in zip(prompts, answers, strict=True)], self.marks)

    def learnable(self, rows: Any, targets: Targets) -> tuple[Any, Targets]:
        """As far as training allows; prompts are always cut. A row must fit into the model."""
        kept = super().learnable(rows, targets)[1]
        kept = kept if self.longest is None else kept._replace(rows=Cut(targets.rows, self.longest))
        most = int(OneRow(rows, kept.rows).lengths(None)[kept.learnable].max(initial=0)) + 1
        if self.context is not None and most > self.context:
            raise SettingError(
                f"the data has a row of {most} tokens, text and answer together, more than model.context = "
                f"{self.context}: lower input.longest = {self.longest}, or raise model.context"
            )
        return rows, kept

    def read_lengths(self, rows: Any) -> Numbers:
        """The length of the longest text of each prompt before it is cut."""
        length_N1: Numbers = rows.whole_N[:, None]
        return length_N1

    def opening(self, model: Any, batch: Any, forced: Ids, settings: DecodingSettings) -> Opening:
        """`begin`, then the prompt and what is forced; as many tokens may follow as the context has room for."""
        device = batch.input_BT.device
        asked = [np.append(row[1:], forced) for row in _rows(batch.input_BT.cpu(), batch.real_BT.cpu())]
        tokens_BT, real_BT = (tensor.to(device) for tensor in padded(asked))
        length_B1, longest = real_BT.sum(1, keepdim=True), settings.longest or (self.longest or len(forced)) + 1
        # The answer may repeat words of the prompt; only what it is made to begin with counts as written already.
        written_BT = real_BT & (torch.arange(real_BT.shape[1], device=device) >= length_B1 - len(forced))
        steps: int | Tensor = longest
        if self.context is not None:
            room_B = self.context - real_BT.sum(1)  # the last token that is written need not be read
            if int(room_B.min()) < 1:
                raise DataError(
                    f"the examples, the text and what is around them have {self.context + 1 - int(room_B.min()):,} "
                    f"tokens, but the model reads at most {self.context:,}; give fewer examples"
                )
            steps = room_B.clamp(min=1, max=longest)
        first_B = torch.full((len(batch),), self.marks.begin, device=device)
        return Opening(first_B, Prefix(tokens_BT, real_BT, written_BT), steps)

    def target_logits(self, model: Any, batch: Any) -> Tensor:
        """`logits_NV` at each token of an answer; vectors become logits only there."""
        h_BTD = model.body.hidden(batch.input_BT, batch.real_BT, batch.document_BT)
        logits_NV: Tensor = model.body.logits(h_BTD[batch.loss_mask])
        return logits_NV

    def further_scores(
        self, predict: Callable[[Examples[Any]], list[WrittenText]], examples: Examples[Any]
    ) -> dict[str, float]:
        """Exact matches after fewer of the examples that stand before each prompt."""
        pairs: list[Pair] = [pair for pair in examples if pair.source.strip() and pair.target.strip()]
        found = {}
        for shots in doubling(max((len(pair.shots) for pair in pairs), default=0))[:-1]:
            texts = predict(Given(pair.after(shots) for pair in pairs))
            right = sum(each.text.strip() == pair.target.strip() for each, pair in zip(texts, pairs, strict=True))
            found[f"exact after {shots}"] = 100 * right / len(pairs)
        return found

    def remarks(self) -> list[str]:
        """What a row is."""
        return [f"each row is: text {self.task} answer; the answers are learnt"]

    def sizes(self) -> dict[str, Any]:
        """Nothing beside the input's vocabulary."""
        return {}

    @classmethod
    def load(cls, folder: str | Path, input: Any) -> Self:
        """Read what `save` wrote."""
        return load_fields(cls, Path(folder, cls.file), tokenizer=input.tokenizer, source=None, dictionary=None)


def doubling(most: int) -> list[int]:
    """0, 1, 2, 4, … up to a number, that one included."""
    powers = [1 << i for i in range(most.bit_length()) if 1 << i < most]
    return [0, *powers, most] if most else [0]


def _rows(tokens_BT: Tensor, real_BT: Tensor) -> list[Ids]:
    """Rows without their padding."""
    return [row_T[real_T].numpy() for row_T, real_T in zip(tokens_BT, real_BT, strict=True)]
