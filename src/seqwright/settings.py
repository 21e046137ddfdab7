"""The base of every settings class: frozen and strict. Settings live beside the class they set."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Named values that choose how a thing is built; an unknown name is an error, nothing changes afterwards.

    The string under a field describes it: help texts and the reference in the documentation are made from it.
    """

    family_defaults: ClassVar[frozenset[str]] = frozenset()
    """What `kind` fills in where it is left open: a model of another kind does not take it over with the weights."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, use_attribute_docstrings=True)
