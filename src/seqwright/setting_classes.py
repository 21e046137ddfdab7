"""The base of every settings class: frozen and strict. Settings live beside the class they set."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError, field_validator, model_validator

from seqwright.errors import ArgumentError, SettingError, brief, instead


class _InSentences(type(BaseModel)):  # type: ignore[misc]
    """Refuses what is given by keyword in a sentence; what a recipe says is refused by `recipe.validated`."""

    def __call__(cls, *positional: Any, **given: Any) -> Any:
        if positional:
            first = next((name for name in cls.model_fields if name != "kind"), "name")
            raise ArgumentError(f"{cls.__name__} takes its settings by name, as in {cls.__name__}({first}=…)")
        try:
            return super().__call__(**given)
        except ValidationError as error:
            raise SettingError(_sentence(cls.__name__, cls.model_fields, error)) from error


def _sentence(name: str, fields: Iterable[str], error: ValidationError) -> str:
    """What is wrong first with the settings of a class: a name that is misspelt, or else a value."""
    every = error.errors()
    first = next((each for each in every if each["type"] == "extra_forbidden"), every[0])
    message = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:  # settings that contradict each other
        return f"{name}: {message}"
    setting = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        return f"{name} has no setting '{setting}'{instead(setting, fields)}"
    if first["type"] == "missing":
        return f"{name} needs the setting '{setting}'; give it by keyword, {setting}=…"
    found = "" if first["type"] == "value_error" else f", not {first['input']!r}"
    return f"{name}.{setting}: {message[0].lower()}{message[1:]}{found}"


if TYPE_CHECKING:  # to a type checker it is a model like any other
    _Named = BaseModel
else:

    class _Named(BaseModel, metaclass=_InSentences):
        pass


MAY_CHANGE = "may change"
"""Marks a setting, `Annotated[int, MAY_CHANGE]`, that may be another when a run is resumed: no update that was made so
far would have been another one with it. What it decides is how long, where, or what is written down."""


class Settings(_Named):
    """Named values that choose how a thing is built; an unknown name is an error, nothing changes afterwards.

    The string under a field describes it: help texts and the reference in the documentation are made from it.
    """

    family_defaults: ClassVar[frozenset[str]] = frozenset()
    """What `kind` fills in where it is left open: a model of another kind does not take it over with the weights."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, use_attribute_docstrings=True)

    def __setattr__(self, name: str, value: Any) -> None:
        raise ArgumentError(
            f"{type(self).__name__} is never changed once it is made; make another with {name}={brief(value)}"
        )

    def may_change(self) -> set[str]:
        """The settings that may be others when a run is resumed."""
        return {name for name, field in type(self).model_fields.items() if MAY_CHANGE in field.metadata}


class ModelSettings(Settings):
    """Where the weights of a model begin. Models that count instead of learning have none of this."""

    weights: str | None = None
    """A run to begin from: its model becomes this one, or the body of this one, and its tokenizer cuts the text."""
    init_layers: tuple[NonNegativeInt, ...] | None = None
    """Which of the blocks of `weights` are taken, counted from 0, one for each layer: [0, 2, 4] is every second of six,
    as DistilBERT begins. Left out: the first ones."""
    frozen: bool = False
    """Whether the body stays as it is and only the head over it learns: its vectors as features."""

    has_head: ClassVar[bool] = False
    """Whether it is a head over a body that could do without."""

    @property
    def room(self) -> int | None:
        """Most tokens that the model reads at once; None where there is no limit."""
        return None

    @property
    def bounded(self) -> bool:
        """Whether all that the model says lies between -1 and 1."""
        return False

    @field_validator("init_layers", mode="before")
    @classmethod
    def _any_sequence(cls, given: Any) -> Any:
        return tuple(given) if isinstance(given, list) else given

    @model_validator(mode="after")
    def _layers_of_something(self) -> "ModelSettings":
        if self.init_layers is not None and self.weights is None:
            raise ValueError("init_layers chooses blocks of weights, which is not given")
        if self.frozen and not self.has_head:
            raise ValueError("frozen keeps a body as it is while its head learns, but this model has no head")
        return self
