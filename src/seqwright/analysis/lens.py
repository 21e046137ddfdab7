"""What each layer of a model would say if it were the last (nostalgebraist 2020).

L layers · B batch · T time · V vocabulary · D width
"""

import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from seqwright.analysis.reading import Notice, notice_by_warning, row_of
from seqwright.errors import RunError
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.inputs.vocabularies import SPACE
from seqwright.layers.embeddings import HasLens
from seqwright.models.language_model import LanguageModel
from seqwright.outputs.masked import MaskedOutput
from seqwright.pictures.lens import Lens, LensPrediction
from seqwright.runs import Run

MOST_TOKENS = 256
TOP = 5  # tokens that each layer says, the likeliest first


@torch.inference_mode()
def lens_of(run: Run, given: Any, notice: Notice = notice_by_warning) -> Lens:
    """The lens over a text; what would have been right is known where the model foretells the next token."""
    model = run.model.body if isinstance(run.model, LanguageModel) else run.model  # which has an output of its own
    if not isinstance(model, HasLens):
        raise RunError(
            f"{run.folder} has a model of kind '{run.recipe.model.kind}' that learnt {run.recipe.task}: its layers "
            "have no output over words to look through; the lens is for gpt as a language model and for masked bert"
        )
    next_token = not isinstance(run.output, MaskedOutput)
    if not next_token and not run.recipe.model.head:
        raise RunError(f"{run.folder} was imported without the output that predicts masked tokens, so there is no lens")
    row = row_of(run, given, MOST_TOKENS, notice)
    streams = [calls[0][:1] for name, calls in row.heard.items() if name.endswith("stream")]
    names = [f"layer {number}" for number in range(1, len(streams) + 1)]
    target = row.tokens[1:].tolist() if next_token else None
    predictions = [_predictions(run.inputs.tokenizer, model.lens(stream_1TD)[0], target) for stream_1TD in streams]
    return Lens(names, row.pieces, [*row.pieces[1:], ""] if next_token else [], predictions)


def _predictions(tokenizer: Tokenizer, logits_TV: Tensor, target: Sequence[int] | None) -> list[LensPrediction]:
    """What one layer predicts at each token."""
    best = logits_TV.float().softmax(-1).topk(min(TOP, logits_TV.shape[-1]))
    spellings = tokenizer.spellings()
    predictions = []
    for place, (numbers, probabilities) in enumerate(zip(best.indices.tolist(), best.values.tolist(), strict=True)):
        spelled = [_plain(spellings[number]) for number in numbers]
        right = target is not None and place < len(target) and target[place] == numbers[0]
        predictions.append(LensPrediction(list(zip(spelled, probabilities, strict=True)), right))
    return predictions


def _plain(spelling: str) -> str:
    """A token as a text has it: spellings are for files, in which a line break is "<0x0A>"."""
    return re.sub("<0x(..)>", lambda found: chr(int(found[1], 16)), spelling).replace(SPACE, " ")
