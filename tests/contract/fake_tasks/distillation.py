"""Texts with their labels and what a teacher says of them: annotations of text × label.

B batch · C classes · N examples
"""

from torch import Tensor

from seqwright.batches import Batches
from seqwright.batches.annotated import Annotated, TaughtLabels
from seqwright.batches.labelled import Labelled


def taught(batches: Batches[Labelled], teacher_NC: Tensor) -> Annotated[Labelled, TaughtLabels]:
    """Batches with what a teacher says of their examples, by number."""

    def annotate(batch: Labelled) -> TaughtLabels:
        return TaughtLabels(**batch.tensors(), teacher_BC=teacher_NC[batch.example_B])

    return Annotated(batches, annotate)
