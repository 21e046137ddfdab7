"""Where does the time of each family go: matrix products, attention, recurrence, vocabulary, copies, Python?

A turn of each under torch's profiler, on made-up data in the sizes of the other questions. What an operation takes
itself is put under one heading; what the processor spent beyond all operations is Python, the profiler's own work
included: so that share is an upper bound.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from benchmarks.speed.harness import OURS, Answered, Contestant, Question, Settings, Table
from benchmarks.speed.worker import Turns, Work, processor_seconds

# What an operation's name contains; the first that fits counts.
HEADINGS: dict[str, tuple[str, ...]] = {
    "optimizer": ("_fused_adam", "_foreach", "fused_adam", "adamw", "Optimizer."),
    "attention": ("attention", "flash"),
    "recurrence": ("lstm", "gru", "rnn", "mkldnn_rnn"),
    "convolution": ("conv",),
    "matrix products": ("mm", "linear", "matmul", "dot"),
    "softmax and loss": ("softmax", "nll_loss", "cross_entropy", "logsumexp", "argmax", "topk", "sort"),
    "normalisation": ("layer_norm", "native_norm"),
    "copies": ("copy_", "cat", "index", "gather", "scatter", "clone", "contiguous", "slice", "stack", "embedding"),
}
OTHER, PYTHON = "other arithmetic", "Python"
FAMILIES = {
    "Transformer, greedy": ("decoding", "greedy"),
    "Transformer, beam 5": ("decoding", "beam 5"),
    "Bahdanau, beam 5": ("recurrent", "attention, beam 5"),
    "GPT, generating": ("gpt-generating", "one prompt"),
    "Transformer, training": ("translation-training", "training"),
    "GPT, training": ("gpt-training", "0.8 M"),
    "Bahdanau, training": ("recurrent", "attention, training"),
    "LSTM, training": ("recurrent", "LSTM, training"),
    "BERT, embedding": ("embedding", "sentences"),
    "5-gram, counting": ("ngrams", "counted"),
}


def seqwright(settings: dict[str, Any]) -> Turns:
    """Our turns of the other questions."""
    from benchmarks.__main__ import question_of

    turns: dict[str, Callable[[], Work]] = {}
    made: dict[str, Any] = {}
    for family, (name, measure) in FAMILIES.items():
        if name in settings["left_out"]:
            continue
        question = question_of(name)
        if name not in made:
            size = question.quick if settings["small"] else {}
            chosen = {**question.full, **size, **{k: settings[k] for k in ("threads", "nanogpt")}}
            made[name] = question.contestants[0].ready(chosen)
        turns[family] = partial(profiled, made[name][measure])
    return turns


def profiled(turn: Callable[[], Work]) -> Work:
    """The shares of a turn's time, after one that warms up."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]):
        turn()
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        began = processor_seconds()
        turn()
        seconds = processor_seconds() - began
    spent: dict[str, float] = {}
    for event in seen.key_averages():
        heading = heading_of(event.key)
        spent[heading] = spent.get(heading, 0.0) + event.self_cpu_time_total / 1e6
    spent[PYTHON] = max(seconds - sum(spent.values()), 0.0)
    whole = sum(spent.values())
    return Work(1, {heading: value / whole for heading, value in spent.items()})


def heading_of(operation: str) -> str:
    """What an operation is put under."""
    low = operation.lower()
    return next((name for name, parts in HEADINGS.items() if any(p.lower() in low for p in parts)), OTHER)


def shares(settings: Settings, answered: Answered) -> dict[str, Any]:
    """The median share of each heading, in the order of the headings."""
    import statistics

    return {
        family: {
            heading: round(statistics.median(each.get(heading, 0.0) for each in several), 4)
            for heading in (*HEADINGS, OTHER, PYTHON)
        }
        for family, several in answered.items()
    }


def table(found: Mapping[str, Any]) -> Table:
    """A row for each family."""
    headings = (*HEADINGS, OTHER, PYTHON)
    rows = [
        [family, *(f"{by_heading[heading]:.0%}" for heading in headings)]
        for family, by_heading in found["conclusions"].items()
    ]
    return Table(("share of the time", *headings), rows)


QUESTION = Question(
    name="profile",
    about=__doc__ or "",
    unit="turns",
    contestants=(Contestant(OURS, seqwright),),
    full={"small": False, "left_out": []},
    quick={"small": True, "left_out": ["embedding"]},
    rounds=3,
    conclude=shares,
    table=table,
    warm=False,
)
