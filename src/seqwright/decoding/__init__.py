"""From a model to sequences: greedy, sampling and beam search, one code for every left-to-right model."""

from seqwright.decoding.beam import Hypotheses, beam_search
from seqwright.decoding.constraints import with_repetition_penalty
from seqwright.decoding.sampling import (
    drawn,
    greedy,
    only_min_p,
    only_top_k,
    only_top_p,
    row_generators,
    sample,
    with_temperature,
)
from seqwright.decoding.scoring import Hypothesis, penalty, target_log_probability
from seqwright.decoding.settings import DecodingSettings, decoded
from seqwright.decoding.stepper import Prefix, State, Stepper, reordered, repeated
from seqwright.decoding.stopping import before_stop, stops_in, sure

__all__ = [
    "DecodingSettings",
    "Hypotheses",
    "Hypothesis",
    "Prefix",
    "State",
    "Stepper",
    "beam_search",
    "before_stop",
    "decoded",
    "drawn",
    "greedy",
    "only_min_p",
    "only_top_k",
    "only_top_p",
    "penalty",
    "reordered",
    "repeated",
    "row_generators",
    "sample",
    "stops_in",
    "sure",
    "target_log_probability",
    "with_repetition_penalty",
    "with_temperature",
]
