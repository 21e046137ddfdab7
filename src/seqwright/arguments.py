"""The door of `import seqwright as sw`: what a function is given is compared with what it says it takes.

One place instead of a check in every function: the annotations are the rule, and what does not fit is one sentence.
"""

import functools
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from seqwright.errors import ArgumentError, brief, in_python

P = ParamSpec("P")
T = TypeVar("T")
NUMBERS = {int: Integral, float: Real}  # those of numpy too
SEVERAL = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


def public(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A function as Python calls it by `name`: it refuses wrong arguments, and its errors name those of Python.

    What it takes as `*several` or `**named` it checks itself.
    """

    def checked(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*given: P.args, **named: P.kwargs) -> T:
            with in_python():
                refuse_wrong(name, signature, _bound(name, signature, given, named))
                return function(*given, **named)

        return call

    return checked


def refuse_wrong(name: str, signature: inspect.Signature, given: Mapping[str, Any]) -> None:
    """Refuse what is given of another type than a signature announces."""
    for argument, value in given.items():
        parameter = signature.parameters[argument]
        kind = parameter.annotation
        if parameter.kind not in SEVERAL and kind is not parameter.empty and not _fits(value, kind):
            raise ArgumentError(f"{name}: {argument} is {brief(value)}, expected {_told(kind)}")


def _bound(name: str, signature: inspect.Signature, given: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return signature.bind(*given, **named).arguments
    except TypeError as error:
        raise ArgumentError(f"{name}: {error}; it is called as {name}({_call(signature)})") from None


def _call(signature: inspect.Signature) -> str:
    """The arguments as they are written in a call, without their types."""
    every = (each.replace(annotation=each.empty) for each in signature.parameters.values())
    plain = [each for each in every if each.name not in {"self", "cls"}]
    return str(inspect.Signature(plain))[1:-1]


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a type; of one that is only a name, such as that of a slow import, nothing is known."""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin in {Any, inspect.Parameter.empty} or isinstance(origin, str | TypeVar):
        return True
    if origin in {Union, types.UnionType}:
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if origin in {None, types.NoneType}:
        return value is None
    if origin is Sequence:
        every = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        return every and all(_fits(each, part) for each in value for part in parts)
    if origin in NUMBERS:
        return isinstance(value, NUMBERS[origin]) and not isinstance(value, bool)
    return isinstance(value, origin)


def _told(kind: Any) -> str:
    """A type in words."""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin in {Union, types.UnionType}:
        return " or ".join(map(_told, parts))
    if origin is Literal:
        return " or ".join(map(repr, parts))
    if origin is Sequence:
        return f"a list of {_told(parts[0])}"
    if origin in {None, types.NoneType}:
        return "None"
    named: str = origin.__name__
    return {"Mapping": "a mapping", "Callable": "a function"}.get(named, named)
