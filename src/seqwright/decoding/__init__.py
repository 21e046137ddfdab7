"""From a model to sequences: greedy, sampling and beam search, one code for every left-to-right model."""

from seqwright.decoding.beam import Hypotheses, beam_search, beam_steps
from seqwright.decoding.beam_tree import BeamTree, Node
from seqwright.decoding.coverage import Aligns, Coverage
from seqwright.decoding.ensemble import Ensemble
from seqwright.decoding.rules import DecodingRules, with_repetition_penalty
from seqwright.decoding.sampling import (
    Sampling,
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
from seqwright.decoding.searching import ChosenTokens, Growth, run_search
from seqwright.decoding.settings import DecodingSettings, decoded, search
from seqwright.decoding.stepper import Prefix, State, Stepper, reordered, repeated
from seqwright.decoding.stopping import before_stop, stops_in, sure

__all__ = [
    "Aligns",
    "BeamTree",
    "ChosenTokens",
    "Coverage",
    "DecodingRules",
    "DecodingSettings",
    "Ensemble",
    "Growth",
    "Hypotheses",
    "Hypothesis",
    "Node",
    "Prefix",
    "Sampling",
    "State",
    "Stepper",
    "beam_search",
    "beam_steps",
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
    "run_search",
    "sample",
    "search",
    "stops_in",
    "sure",
    "target_log_probability",
    "with_repetition_penalty",
    "with_temperature",
]
