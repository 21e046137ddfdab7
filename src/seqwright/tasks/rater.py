"""Rating texts with a trained model: text in, number out, many at once.

N texts
"""

from collections.abc import Sequence

from torch import nn

from seqwright.inputs.rated_text import RatedText
from seqwright.tasks.classifier import non_blank, predict_logits


class Rater:
    """A trained model with its inputs: `rater(["…", "…"])`."""

    def __init__(self, model: nn.Module, inputs: RatedText) -> None:
        self.model = model.eval()
        self.inputs = inputs

    def __call__(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> list[float | None]:
        """The rating of each text, or pair of texts; None for a blank one."""
        filled = non_blank(texts, seconds)
        others = None if seconds is None else [seconds[place] for place in filled]
        found: list[float | None] = [None] * len(texts)
        for place, rating in zip(filled, self.ratings([texts[place] for place in filled], others), strict=True):
            found[place] = rating
        return found

    def ratings(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> list[float]:
        """The rating of each text, none of which is blank."""
        said_N1 = predict_logits(self.model, self.inputs, self.inputs.encode(texts, seconds), 1)
        return [self.inputs.rating(said) for said in said_N1.squeeze(1).tolist()]
