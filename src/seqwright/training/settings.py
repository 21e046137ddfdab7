"""The settings of a training."""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, field_validator, model_validator

from seqwright.setting_classes import MAY_CHANGE, Settings

Share = Annotated[float, Field(ge=0, lt=1)]


class TrainingSettings(Settings):
    """How a loss is descended. The defaults are those of Vaswani et al. 2017, section 5.3, for a small machine."""

    steps: Annotated[int, MAY_CHANGE] = Field(default=10_000, ge=1)
    """Updates of the weights. Raising it and training again resumes from the last checkpoint."""
    epochs: Annotated[int | None, MAY_CHANGE] = Field(default=None, ge=1)
    """Stop after so many passes over the training part, even if steps remain."""
    tokens: int = Field(default=4096, ge=1)
    """Most tokens in a batch on either side, padding included; a longer pair is a batch of its own."""
    accumulate: int = Field(default=1, ge=1)
    """Batches whose gradients are added up before each update; the result is that of one big batch."""
    seed: int = Field(default=1, ge=0)
    """Same recipe, same seed, same machine: same bytes."""

    optimizer: Literal["adam", "adamw"] = "adam"
    """adam is the paper's; adamw lets `decay` act on the weights directly."""
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] | Literal["find"] = 1.0
    """Highest learning rate; under the noam schedule a factor (1.0 is the paper's). "find" has it found by a
    learning-rate range test before the first step."""
    layer_decay: float | None = Field(default=None, gt=0, le=1)
    """Fine-tuning: what the learning rate is multiplied with for each layer that lies above a parameter, so that the
    lower ones, which know more of language than of the task, change less. Left out: all learn alike."""
    betas: tuple[Share, Share] = (0.9, 0.98)
    """Adam's memory of the gradient and of its square."""
    epsilon: float = Field(default=1e-9, gt=0)
    """Adam's guard against division by zero."""
    decay: float = Field(default=0.0, ge=0)
    """Weight decay of the matrices, with adamw."""
    clip: float | None = Field(default=None, gt=0)
    """Largest norm of the gradient; longer ones are shortened to it. The norm is logged either way."""
    schedule: Literal["noam", "inverse-sqrt", "cosine", "linear", "constant"] = "noam"
    """How the learning rate changes after the warm-up; linear is BERT's, down to 0 at the last step."""
    warmup: int | None = Field(default=None, ge=0)
    """Steps over which the learning rate rises linearly. Left out: `warmup_share` of the steps."""
    warmup_share: Share = 0.1
    """The share of the steps that is warm-up where `warmup` is left out. The noam schedule then still rises to what it
    reaches in the paper's 4,000 steps."""
    lowest: Share = 0.0
    """The share of the rate that cosine and linear come down to; others do not come down to a fixed one."""

    average: Literal["none", "ema", "last"] = "none"
    """Weights that are evaluated and used: the last ones, an exponential moving average, or the mean of the
    last `average_last` regular checkpoints."""
    ema_decay: float = Field(default=0.999, gt=0, lt=1)
    """Memory of the moving average."""
    average_last: int = Field(default=5, ge=1)
    """Checkpoints in the mean."""

    log_every: Annotated[int, MAY_CHANGE] = Field(default=50, ge=1)
    """Steps between lines of the journal."""
    validate_every: Annotated[int, MAY_CHANGE] = Field(default=500, ge=1)
    """Steps between validations; each also saves."""
    save_every: Annotated[int, MAY_CHANGE] = Field(default=500, ge=1)
    """Steps between checkpoints."""
    keep: Annotated[int, MAY_CHANGE] = Field(default=2, ge=1)
    """Newest checkpoints that stay; the best one always does."""
    metric: str = "loss"
    """What decides which checkpoint is best: any number that validation gives, such as loss, bleu or exact. Of
    equal ones the lower loss decides."""
    patience: Annotated[int | None, MAY_CHANGE] = Field(default=None, ge=1)
    """Stop after so many validations without a better `metric`."""

    device: Annotated[Literal["auto", "cpu", "cuda", "mps"], MAY_CHANGE] = "auto"
    """Where to compute; auto takes a GPU where there is one."""
    threads: Annotated[int | None, MAY_CHANGE] = Field(default=None, ge=1)
    """CPU threads; by default one for each core."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16: matrix products in bfloat16 where the device has it, weights and sums in float32."""
    compile: bool = False
    """Compile model and objective with torch.compile, which needs a C++ compiler on a CPU; pays off on a GPU and for
    long runs."""

    def may_change(self) -> set[str]:
        """Where checkpoints are averaged, how often one is written decides which."""
        averaged = {"validate_every", "save_every"} if self.average == "last" else set()
        return super().may_change() - averaged

    @field_validator("rate", mode="wrap")
    @classmethod
    def _a_number_or_find(cls, given: Any, check: ValidatorFunctionWrapHandler) -> Any:
        """One sentence in place of one for each of the two that it may be."""
        try:
            return check(given)
        except ValidationError as error:
            raise ValueError(f'input should be a number above 0, or "find", not {given!r}') from error

    @model_validator(mode="after")
    def _the_factor_of_noam_is_no_rate(self) -> "TrainingSettings":
        if self.rate == "find" and self.schedule == "noam":
            raise ValueError(
                "rate = 'find' finds a learning rate, and under schedule = 'noam' the rate is a factor beside the "
                "model's width and the warm-up; choose the schedule inverse-sqrt, cosine, linear or constant"
            )
        return self

    @model_validator(mode="after")
    def _the_mean_needs_its_checkpoints(self) -> "TrainingSettings":
        if self.average == "last" and self.keep < self.average_last:
            raise ValueError(f"average = 'last' over {self.average_last} checkpoints needs keep >= {self.average_last}")
        return self
