"""How a recipe says what to choose from the model's probabilities, and the one function that obeys it.

B batch · T time · S source
"""

from collections.abc import Callable, Generator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from torch import Tensor

from seqwright.decoding.beam import Hypotheses, beam_steps
from seqwright.decoding.beam_tree import Watch
from seqwright.decoding.coverage import Coverage
from seqwright.decoding.rules import DecodingRules, Stopped, limits
from seqwright.decoding.sampling import (
    COLDEST,
    HOTTEST,
    Sampling,
    Tell,
    greedy_steps,
    row_generators,
    sample_steps,
    told_to,
)
from seqwright.decoding.searching import ChosenTokens, Growth, run_search
from seqwright.decoding.stepper import Prefix, StateT, Stepper, repeated
from seqwright.decoding.stopping import stops_in
from seqwright.errors import SettingError
from seqwright.setting_classes import Settings


class DecodingSettings(Settings):
    """Greedy unless `beam` is above 1 (beam search) or `temperature` is above 0 (sampling)."""

    beam: int = Field(default=1, ge=1)
    """How many hypotheses the search keeps; 1 takes the most probable token each time."""
    length_penalty: float = Field(default=0.6, ge=0)
    """How much beam search favours long hypotheses (GNMT's alpha); 0 compares log-probabilities as they are."""
    coverage_penalty: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """How much beam search lowers hypotheses that left out some of the source (GNMT's beta); 0: not at all."""
    shortest: int = Field(default=0, ge=0)
    """How many tokens are chosen before the end may be."""
    longest: int | None = Field(default=None, ge=1)
    """How many tokens are chosen at most, the end counted; unset: twice the source and ten more."""
    no_repeat: int = Field(default=0, ge=0)
    """No n-gram of this size comes twice in a text; 0 allows all."""
    repetition_penalty: float = Field(default=1.0, ge=1e-6, le=1e6)
    """What the logits of tokens that the text already holds are divided by; 1: none, 1.2 is usual."""
    unknown: Literal["never", "keep", "copy", "dictionary"] = "never"
    """What becomes of unknown words in a translation: never written, written as such, or replaced through the
    alignment by the source word (copy) or by its translation, where `seqwright align` has learnt one (dictionary)."""
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Writing ends where one of these strings has been written, and the text before it."""
    n_best: int = Field(default=1, ge=1)
    """How many hypotheses, or samples, each row is given."""
    temperature: float = Field(default=0.0, ge=0, le=HOTTEST)
    """Above 0: sample; above 1 flattens the model's distribution, below 1 sharpens it. 0: no sampling."""
    top_k: int = Field(default=0, ge=0)
    """Draw only from the k most probable tokens; 0 draws from all."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Draw only from the most probable tokens that together reach this probability."""
    min_p: float = Field(default=0.0, ge=0, le=1)
    """Draw only from tokens at least this many times as probable as the most probable one; 0 draws from all."""
    precision: Literal["float32", "int8", "bfloat16"] = "float32"
    """bfloat16 chooses faster where the processor has instructions for it, by probabilities of two to three digits;
    int8 rounds weights, and what they are multiplied by, to 8 bits, on x86 processors."""
    seed: int = Field(default=0, ge=0)
    """The seed of sampling: the same seed draws the same text for the same row."""

    @model_validator(mode="after")
    def _agrees(self) -> "DecodingSettings":
        if self.temperature and self.beam > 1:
            raise ValueError(f"beam is {self.beam} and temperature {self.temperature}; set beam = 1 or temperature = 0")
        if 0 < self.temperature < COLDEST:
            raise ValueError(f"temperature is {self.temperature}; set it to 0, or to {COLDEST:g} or more")
        if not self.temperature and self.n_best > self.beam:
            raise ValueError(f"n_best is {self.n_best} but beam only {self.beam}; widen the beam or set a temperature")
        if self.longest is not None and self.shortest > self.longest:
            raise ValueError(f"shortest is {self.shortest} and longest only {self.longest}; raise longest")
        return self

    def greedily(self) -> "DecodingSettings":
        """The same without search or sampling, as a validation has it; a dictionary is only learnt after training."""
        unknown = {"unknown": "copy"} if self.unknown == "dictionary" else {}
        return self.model_copy(update={"beam": 1, "n_best": 1, "temperature": 0.0, **unknown})

    def in_words(self) -> str:
        """How texts are searched for: `beam 5, length penalty 0.6`."""
        if self.temperature:
            return f"sampled at temperature {self.temperature:g}"
        replaced = {"copy": ", unknown words copied", "dictionary": ", unknown words translated by the dictionary"}
        unknown = replaced.get(self.unknown, "")
        if self.beam == 1:
            return f"greedy{unknown}"
        coverage = f", coverage penalty {self.coverage_penalty:g}" if self.coverage_penalty else ""
        return f"beam {self.beam}, length penalty {self.length_penalty:g}{coverage}{unknown}"

    def steps(self, source_B: Tensor) -> Tensor:
        """How many tokens each row may choose at most, from the length of its source."""
        return 2 * source_B + 10 if self.longest is None else source_B.new_full(source_B.shape, self.longest)


TextOf = Callable[[int, list[int]], str]
"""What tokens say that a row, by its number, has chosen."""


def decoded(*given: Any, tell: Tell | None = None, watch: Watch | None = None, **named: Any) -> Hypotheses:
    """What `search` finds.

    `tell` hears every token as it is chosen, but not in beam search, which may take them back and which `watch` is
    shown instead.
    """
    hear = told_to(tell)

    def step(taken: Growth | ChosenTokens) -> None:
        if isinstance(taken, Growth):
            if watch is not None:
                watch(taken)
        elif hear is not None:
            hear(taken)

    return run_search(search(*given, **named), step)


def search(
    model: Stepper[StateT],
    state: StateT,
    settings: DecodingSettings,
    *,
    first_B: Tensor,
    end: int,
    steps: int | Tensor,
    forbidden: Sequence[int] = (),
    prefix: Prefix | None = None,
    source_real_BS: Tensor | None = None,
    rows: Sequence[int] | None = None,
    text_of: TextOf | None = None,
) -> Generator[Growth | ChosenTokens, None, Hypotheses]:
    """The `n_best` continuations of each row as the settings want them; samples in the order they were drawn.

    `rows` are the numbers of the examples in the whole data, which samples are seeded from; unset: 0, 1, 2, ….
    `text_of` is what stop strings are looked for in; those of a hypothesis that met one are among its tokens.
    `source_real_BS`, True where the source is no padding, is what a coverage penalty needs.
    """
    coverage = _coverage(settings, source_real_BS)
    draws = settings.n_best if settings.temperature else 1
    rows = range(len(first_B)) if rows is None else rows
    # Every sample is a row of its own with a generator of its own.
    first_B, limit_B, prefix, state = repeated((first_B, limits(steps, first_B), prefix, state), draws)
    stopped = _stopped(settings.stop, text_of, draws)
    rules = DecodingRules(end, forbidden, settings.shortest, settings.no_repeat, settings.repetition_penalty, stopped)
    where: dict[str, Any] = {"first_B": first_B, "steps": limit_B, "prefix": prefix}
    if settings.temperature:
        sampling = Sampling(settings.temperature, settings.top_k, settings.top_p, settings.min_p)
        generators = row_generators(settings.seed, rows, draws)
        samples = yield from sample_steps(model, state, rules, sampling, **where, generators=generators)
        return [samples[i : i + draws] for i in range(0, len(samples), draws)]
    if settings.beam == 1:
        found = yield from greedy_steps(model, state, rules, **where)
        return [[hypothesis] for hypothesis in found]
    return (
        yield from beam_steps(
            model,
            state,
            rules,
            **where,
            width=settings.beam,
            length_penalty=settings.length_penalty,
            coverage=coverage,
            n_best=settings.n_best,
        )
    )


def _coverage(settings: DecodingSettings, source_real_BS: Tensor | None) -> Coverage | None:
    """What beam search shall hold against a hypothesis; settings for translations are refused where there is none."""
    if source_real_BS is None and (settings.coverage_penalty or settings.unknown != "never"):
        name = "coverage_penalty" if settings.coverage_penalty else "unknown"
        raise SettingError(f"decoding.{name} is set, but nothing is translated here; leave it out")
    weight = settings.coverage_penalty
    return Coverage(weight, source_real_BS) if weight and source_real_BS is not None else None


def _stopped(stops: Sequence[str], text_of: TextOf | None, draws: int) -> Stopped | None:
    """Whether what a row has chosen says a stop string; the draws of a row follow each other."""
    if not stops:
        return None
    if text_of is None:
        raise SettingError("decoding.stop is set, but what is decoded here is no text; leave it out")
    return lambda row, tokens: stops_in(text_of(row // draws, tokens), stops)
