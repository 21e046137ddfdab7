"""What the units of a recurrent model do while it reads a text, and which of them follow a rule.

T time, the tokens of a text · D width
"""

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from seqwright.analysis.reading import (
    Notice,
    foretells,
    joined_row,
    notice_by_warning,
    read_rows,
    tell_unknown,
)
from seqwright.batches import Ids, InMemory
from seqwright.batches.text import StreamBatches
from seqwright.devices import device_of
from seqwright.errors import SettingError
from seqwright.inputs.spelling import Spelled
from seqwright.layers.scanning import RecurrentLayer
from seqwright.layers.taps import Tap, listen
from seqwright.pictures import Array
from seqwright.runs import Run

AT_ONCE = 1024  # tokens of a text
MOST_TOKENS = 20_000  # that are read in all
HIDDEN, MEMORY = "hidden state", "memory"  # what a unit says, and what it keeps; all else are gates
# Where a rule has groups, only they are on: the mark that closes a quotation is read outside of it.
RULES = {
    "quotes": r'("[^"]*)"|(“[^”]*)”',
    "brackets": r"(\([^()]*)\)|(\[[^\[\]]*)\]|(\{[^{}]*)\}",
    "digits": r"\d+",
}


class Layer(NamedTuple):
    """A layer, or one direction of it: what was heard of its units, by name, tokens × units each."""

    name: str  # "1"; "1b" on the way back
    values: dict[str, Array]

    @property
    def spoken(self) -> str:
        """`layer 1`, `layer 1 backwards`."""
        return f"layer {self.name.removesuffix('b')}{' backwards' if self.name.endswith('b') else ''}"


class Activations(NamedTuple):
    """Texts as a model read them, token by token, a line each."""

    pieces: list[str]  # the tokens as the text has them
    on_T: Array  # the share of each token that the rule marks
    layers: list[Layer]
    bits: list[float]  # how surprising each token was; of a language model only


class Unit(NamedTuple):
    """One unit: `1:17` is number 17 of layer 1, `memory:1:17` the same in its memory."""

    view: str
    layer: Layer
    number: int  # from 1

    def __str__(self) -> str:
        before = "" if self.view == HIDDEN else f"{self.view.replace(' ', '-')}:"
        return f"{before}{self.layer.name}:{self.number}"

    @property
    def value_T(self) -> Array:
        """What it was after each token."""
        value_T: Array = self.layer.values[self.view][:, self.number - 1]
        return value_T


# ---------------------------------------------------------------------------------------------------- reading


def activations_of(
    run: Run, examples: Sequence[Any], rule: re.Pattern[str] | None = None, notice: Notice = notice_by_warning
) -> Activations:
    """What the units do over examples, as a run is called with them; they are read one by one, as much as fits."""
    spelled = [run.inputs.reads_tokens.parts(given) for given in examples]
    tell_unknown(run, [*chain(*spelled)], notice)
    found: list[Activations] = []
    left, cut, reads = MOST_TOKENS, 0, run.inputs.reads_tokens
    for every in spelled:
        if left <= 0:
            break
        kept = reads.kept(every)
        cut += sum(map(len, kept)) < sum(len(text.tokens) for text in every)
        parts = [text.at(places[:left]) for text, places in zip(every, kept, strict=True)]
        found.append(_of_one(run, parts, rule))
        left -= len(found[-1].pieces)
    if cut:
        notice(f"texts of which the model does not read every token at once, nor are all looked at: {cut:,}")
    if left <= 0:
        notice(f"the first {MOST_TOKENS:,} tokens are read, no more")
    return found[0] if len(found) == 1 else _joined(found)


def _of_one(run: Run, parts: Sequence[Spelled], rule: re.Pattern[str] | None) -> Activations:
    """Of the tokens of the texts, and of none that stands between or around them."""
    reads, bits = run.inputs.reads_tokens, list[float]()
    with listen(run.model) as heard:
        if foretells(run):
            bits = _surprises(run, parts[0].tokens)
        else:  # says of no token how surprising it is
            read_rows(run.model, run.inputs, [joined_row(reads, parts)])
    at, places = int(reads.begins), list[int]()
    for part in parts:
        places += range(at, at + len(part.tokens))
        at += len(part.tokens) + len(reads.between)
    on_T = np.concatenate([_on(rule, part) for part in parts])
    ends = [[*part.pieces[:-1], f"{part.pieces[-1]}\n"] for part in parts[:-1]]
    return Activations([*chain(*ends), *parts[-1].pieces], on_T, _layers(run, heard, places), bits)


def _on(rule: re.Pattern[str] | None, part: Spelled) -> Array:
    """The share of each token that a rule marks."""
    on_C = np.zeros(len(part.text)) if rule is None else marked(rule, part.text)
    return np.array([on_C[first:after].mean() if after > first else 0.0 for first, after in part.spans])


@torch.inference_mode()
def _surprises(run: Run, ids: Ids) -> list[float]:
    """-log₂ p of each token, the text read on from stretch to stretch."""
    model, carry, bits = run.model, None, list[float]()
    ends = {"begin": run.inputs.input.first, "end": run.inputs.tokenizer.end}
    stream = StreamBatches(InMemory([ids]), streams=1, segment=AT_ONCE, **ends)
    for batch in stream.once():
        logp_BT, carry = model.log_probability(batch.to(device_of(model)), carry)  # type: ignore[operator]
        bits += (-logp_BT[0].double() / np.log(2)).tolist()
    return bits[:-1]  # without the end of the text


def _layers(run: Run, heard: dict[str, list[Tensor]], kept: list[int]) -> list[Layer]:
    """What was heard at some places, sorted by layer and direction."""
    found = []
    stack = [(name, layer) for name, layer in run.model.named_modules() if isinstance(layer, RecurrentLayer)]
    for number, (name, layer) in enumerate(stack, start=1):
        hidden = np.split(_values(heard[f"{name}.hidden"])[kept], len(layer.directions()), axis=1)
        for way, (cell, hidden_TD) in enumerate(zip(layer.directions(), hidden, strict=True)):
            taps = {inner: tap for inner, tap in cell.named_modules() if isinstance(tap, Tap) and tap.view is not None}
            values = {
                _spoken(inner, tap): _values(heard[f"{name}.cells.{way}.{inner}"])[kept] for inner, tap in taps.items()
            }
            found.append(Layer(f"{number}{'b' if way else ''}", {HIDDEN: hidden_TD, **values}))
    return found


def _spoken(inner: str, tap: Tap) -> str:
    """The name of what a tap hears; of the further cells of a deep transition with their number."""
    assert tap.view is not None
    further = re.match(r"further\.(\d+)\.", inner)
    return f"{tap.view.name} {int(further[1]) + 2}" if further else tap.view.name


def _values(calls: list[Tensor]) -> Array:
    """What the first row of each call was, one after another."""
    value_TD: Array = torch.cat([call[0] for call in calls]).float().cpu().numpy()
    return value_TD


def _joined(several: Sequence[Activations]) -> Activations:
    pieces = [piece for one in several for piece in [*one.pieces[:-1], f"{one.pieces[-1]}\n"]]
    layers = [
        Layer(same[0].name, {view: np.concatenate([layer.values[view] for layer in same]) for view in same[0].values})
        for same in zip(*(one.layers for one in several), strict=True)
    ]
    bits = [bit for one in several for bit in one.bits]
    return Activations(pieces, np.concatenate([one.on_T for one in several]), layers, bits)


# ---------------------------------------------------------------------------------------------------- rules


def rule_of(name: str) -> re.Pattern[str]:
    """A rule by its name, or any regular expression."""
    try:
        return re.compile(RULES.get(name, name))
    except re.error as error:
        known = ", ".join(RULES)
        raise SettingError(
            f"--rule is '{name}', which is no regular expression ({error}), nor one of the rules {known}"
        ) from error


def marked(rule: re.Pattern[str], text: str) -> Array:
    """1 at the characters of a text that a rule marks: its matches, or only their groups where it has any."""
    on_C = np.zeros(len(text))
    for match in rule.finditer(text):
        for group in range(1, rule.groups + 1) if rule.groups else (0,):
            on_C[slice(*match.span(group))] = 1  # (-1, -1) where a group has no part in the match: an empty slice
    return on_C


def correlations(value_TD: Array, on_T: Array) -> Array:
    """`r_D`: how each unit goes with a rule (Pearson; with a rule that is on or off, the point-biserial correlation).

    A unit that never changes goes with nothing: 0.
    """
    value_TD = value_TD - value_TD.mean(axis=0)
    on_T = on_T - on_T.mean()
    size_D = np.sqrt((value_TD**2).sum(axis=0) * (on_T**2).sum())
    r_D: Array = np.divide(on_T @ value_TD, size_D, out=np.zeros(len(size_D)), where=size_D > 0)
    return r_D


class Follower(NamedTuple):
    """A unit and how it goes with the rule."""

    unit: Unit
    correlation: float


def followers(active: Activations) -> list[Follower]:
    """Every unit of what the layers say and keep, those that go with the rule most, or most against it, first."""
    found = [
        Follower(Unit(view, layer, number), float(r))
        for layer in active.layers
        for view in (HIDDEN, MEMORY)
        if view in layer.values
        for number, r in enumerate(correlations(layer.values[view].astype(np.float64), active.on_T), start=1)
    ]
    return sorted(found, key=lambda one: -abs(one.correlation))


def unit_named(active: Activations, asked: str) -> Unit:
    """`17`, `1:17` or `memory:1:17`."""
    *before, number = asked.split(":")
    view = before[0].replace("-", " ") if len(before) > 1 else HIDDEN
    name = before[-1] if before else active.layers[0].name
    if not before and len(active.layers) > 1:
        names = ", ".join(layer.name for layer in active.layers)
        raise SettingError(f"--unit is '{asked}', but there are the layers {names}; say which, as in 1:{number}")
    layer = next((layer for layer in active.layers if layer.name == name), None)
    if layer is None or view not in layer.values or len(before) > 2:
        known = [str(Unit(view, layer, 1)) for layer in active.layers for view in layer.values]
        raise SettingError(f"there is no unit '{asked}'; units are numbered from {', '.join(known)}")
    width = layer.values[view].shape[1]
    if not number.isdecimal() or not 1 <= int(number) <= width:
        raise SettingError(f"there is no unit '{asked}'; {layer.spoken} has the units 1 to {width}")
    return Unit(view, layer, int(number))


def liveliest(layer: Layer, most: int) -> list[int]:
    """The numbers of the units whose hidden state varies most over the text, in their order."""
    deviation_D = layer.values[HIDDEN].std(axis=0)
    return sorted((np.argsort(-deviation_D, kind="stable")[:most] + 1).tolist())
