"""What is allowed in the settings of a training, but hardly meant."""

from seqwright.devices import cores
from seqwright.training.schedule import unfinished_warmup
from seqwright.training.settings import TrainingSettings


def training_remarks(settings: TrainingSettings, steps: int) -> list[str]:
    """A sentence for each, for a training of so many steps."""
    return [remark for remark in (unfinished_warmup(settings, steps), _too_many_threads(settings)) if remark]


def _too_many_threads(settings: TrainingSettings) -> str | None:
    """Threads without a core wait for those that have one."""
    if settings.threads is None or settings.threads <= cores():
        return None
    return (
        f"training.threads is {settings.threads}, but there are {cores()} cores: more threads than cores wait for each "
        "other; leave it out, which makes it one for each"
    )
