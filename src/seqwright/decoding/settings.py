"""How a recipe says what to choose from the model's probabilities, and the one function that obeys it.

B batch · T time
"""

from collections.abc import Sequence

from pydantic import Field, model_validator
from torch import Tensor

from seqwright.decoding.beam import Hypotheses, beam_search
from seqwright.decoding.constraints import limits
from seqwright.decoding.sampling import Tell, greedy, row_generators, sample
from seqwright.decoding.stepper import Prefix, StateT, Stepper, repeated
from seqwright.settings import Settings


class DecodingSettings(Settings):
    """Greedy unless `beam` is above 1 (beam search) or `temperature` is above 0 (sampling)."""

    beam: int = Field(default=1, ge=1)
    """How many hypotheses the search keeps; 1 takes the most probable token each time."""
    length_penalty: float = Field(default=0.6, ge=0)
    """How much beam search favours long hypotheses (GNMT's alpha); 0 compares log-probabilities as they are."""
    shortest: int = Field(default=0, ge=0)
    """How many tokens are chosen before the end may be."""
    longest: int | None = Field(default=None, ge=1)
    """How many tokens are chosen at most, the end counted; unset: twice the source and ten more."""
    no_repeat: int = Field(default=0, ge=0)
    """No n-gram of this size comes twice in a text; 0 allows all."""
    n_best: int = Field(default=1, ge=1)
    """How many hypotheses, or samples, each row is given."""
    temperature: float = Field(default=0.0, ge=0)
    """Above 0: draw by chance, from a flatter distribution the higher it is; 1 is the model's own."""
    top_k: int = Field(default=0, ge=0)
    """Draw only from the k most probable tokens; 0 draws from all."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Draw only from the most probable tokens that together reach this probability."""
    seed: int = Field(default=0, ge=0)
    """What chance begins with: the same seed draws the same text for the same row."""

    @model_validator(mode="after")
    def _agrees(self) -> "DecodingSettings":
        if self.temperature and self.beam > 1:
            raise ValueError(f"beam is {self.beam} and temperature {self.temperature}; set beam = 1 or temperature = 0")
        if not self.temperature and self.n_best > self.beam:
            raise ValueError(f"n_best is {self.n_best} but beam only {self.beam}; widen the beam or set a temperature")
        if self.longest is not None and self.shortest > self.longest:
            raise ValueError(f"shortest is {self.shortest} and longest only {self.longest}; raise longest")
        return self

    def steps(self, source_B: Tensor) -> Tensor:
        """How many tokens each row may choose at most, from the length of its source."""
        return 2 * source_B + 10 if self.longest is None else source_B.new_full(source_B.shape, self.longest)


def decoded(
    model: Stepper[StateT],
    state: StateT,
    settings: DecodingSettings,
    *,
    first_B: Tensor,
    end: int,
    steps: int | Tensor,
    forbidden: Sequence[int] = (),
    prefix: Prefix | None = None,
    rows: Sequence[int] | None = None,
    tell: Tell | None = None,
) -> Hypotheses:
    """The `n_best` continuations of each row as the settings want them; samples in the order they were drawn.

    `rows` are the numbers of the examples in the whole data, which samples are seeded from; unset: 0, 1, 2, ….
    `tell` hears every token as it is chosen, but not in beam search, which may take them back.
    """
    if settings.temperature:
        return _sampled(
            model,
            state,
            settings,
            first_B=first_B,
            end=end,
            limit_B=limits(steps, first_B),
            forbidden=forbidden,
            prefix=prefix,
            rows=rows,
            tell=tell,
        )
    if settings.beam == 1:
        alone = greedy(
            model,
            state,
            first_B=first_B,
            end=end,
            steps=steps,
            shortest=settings.shortest,
            no_repeat=settings.no_repeat,
            forbidden=forbidden,
            prefix=prefix,
            tell=tell,
        )
        return [[hypothesis] for hypothesis in alone]
    return beam_search(
        model,
        state,
        first_B=first_B,
        end=end,
        width=settings.beam,
        steps=steps,
        length_penalty=settings.length_penalty,
        shortest=settings.shortest,
        no_repeat=settings.no_repeat,
        forbidden=forbidden,
        prefix=prefix,
        n_best=settings.n_best,
    )


def _sampled(
    model: Stepper[StateT],
    state: StateT,
    settings: DecodingSettings,
    *,
    first_B: Tensor,
    end: int,
    limit_B: Tensor,
    forbidden: Sequence[int],
    prefix: Prefix | None,
    rows: Sequence[int] | None,
    tell: Tell | None,
) -> Hypotheses:
    """`n_best` samples of each row: every sample is a row of its own with a generator of its own."""
    draws = settings.n_best
    generators = row_generators(settings.seed, range(len(first_B)) if rows is None else rows, draws)
    first_B, limit_B, prefix, state = repeated((first_B, limit_B, prefix, state), draws)
    samples = sample(
        model,
        state,
        first_B=first_B,
        end=end,
        steps=limit_B,
        generators=generators,
        temperature=settings.temperature,
        top_k=settings.top_k,
        top_p=settings.top_p,
        shortest=settings.shortest,
        no_repeat=settings.no_repeat,
        forbidden=forbidden,
        prefix=prefix,
        tell=tell,
    )
    return [samples[i : i + draws] for i in range(0, len(samples), draws)]
