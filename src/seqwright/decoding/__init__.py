"""From a model to sequences: greedy, sampling and beam search, one code for every left-to-right model."""

from seqwright.decoding.beam import Hypotheses, beam_search
from seqwright.decoding.sampling import (
    drawn,
    greedy,
    only_top_k,
    only_top_p,
    row_generators,
    sample,
    with_temperature,
)
from seqwright.decoding.scoring import Hypothesis, penalty, target_log_probability
from seqwright.decoding.settings import DecodingSettings, decoded
from seqwright.decoding.stepper import Prefix, State, Stepper, reordered, repeated

__all__ = [
    "DecodingSettings",
    "Hypotheses",
    "Hypothesis",
    "Prefix",
    "State",
    "Stepper",
    "beam_search",
    "decoded",
    "drawn",
    "greedy",
    "only_top_k",
    "only_top_p",
    "penalty",
    "reordered",
    "repeated",
    "row_generators",
    "sample",
    "target_log_probability",
    "with_temperature",
]
