"""How far back in time each recurrent layer of a run is still felt, trained and at first.

R rows · K steps back
"""

from collections.abc import Sequence

from seqwright.analysis.passages import passage_of
from seqwright.analysis.reading import Notice, notice_by_warning
from seqwright.devices import device_of
from seqwright.layers.gradients import gradient_norms_within
from seqwright.pictures.gradients import Reach
from seqwright.runs import Run, model_of


def reaches_of(run: Run, texts: Sequence[str] = (), name: str = "", notice: Notice = notice_by_warning) -> list[Reach]:
    """Every layer of a run, as it is and as it began."""
    passage = passage_of(run, texts, notice)
    notice(f"{run.folder}: following the gradients through {passage.told}")
    begun = model_of(run.recipe, run.inputs.sizes()).to(device_of(run.model)).eval()
    return [
        Reach(name or run.folder.name, layer, trained, norm_RK.numpy())
        for model, trained in ((run.model, True), (begun, False))
        for layer, norm_RK in enumerate(gradient_norms_within(model, passage.batch, last=passage.last), start=1)
    ]
