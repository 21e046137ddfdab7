"""The course of a training run, drawn from its journal: losses, validation scores, learning rate and gradient norm."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqwright.errors import UserError
from seqwright.pictures import INK, Array, blank, pen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What a journal line says besides scores.
BOOKKEEPING = {"step", "event", "loss", "perplexity", "rate", "norm", "tokens", "examples", "epoch", "seconds", "time"}
TRAIN, VALID, THIRD = INK[3], "#c8590a", "#5c7a29"  # blue, orange, green: told apart by colour-blind readers too
FORMS = ((VALID, "o", 3), (TRAIN, "s", 5), (THIRD, "D", 7), ("#7a4fa3", "^", 9), ("#555555", "v", 11))  # of scores
DIGITS = 10  # from where on a score is told in points, of which an axis shows one at least
ALIKE = 20  # times as large a score may be as one that it shares a panel with
LEGEND = 78  # letters of a line above a panel
POINTS: dict[str, Any] = {"linewidth": 1.2, "markersize": 3}


class JournalSeries(NamedTuple):
    """The finite values of one quantity at their steps, and the steps at which it was NaN or infinite."""

    steps: Array
    values: Array
    broken: Array


def loss_curve(journal: Sequence[Mapping[str, Any]]) -> "Figure":
    """The curves of a run: losses above, then validation scores if there are any, then learning rate and gradient norm.

    A line of the journal is `{"step": 100, "event": "train", "loss": 4.2, "rate": 1e-3, "norm": 0.8}` or
    `{"step": 200, "event": "valid", "loss": 4.0, "bleu": 17.3}`; any key may be missing, any value NaN.
    """
    train, valid = _lines(journal, "train"), _lines(journal, "valid")
    if not train and not valid:
        raise UserError(
            "the journal holds no line with a step and the event 'train' or 'valid', so there is nothing to draw; "
            "train until the first line is logged"
        )
    groups = _score_groups(valid)
    pace = [name for name in ("rate", "norm") if series(train, name).steps.size]
    heights = [2.4, *[1.1] * len(groups), *[1.0] * bool(pace)]
    with pen():
        figure = blank(5.5, 0.5 + sum(heights) + 0.25 * len(groups), layout="constrained")
        panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        _draw_losses(panels[0], _training_loss(train), series(valid, "loss"))
        for panel, names in zip(panels[1:], groups, strict=False):
            _draw_scores(panel, valid, names)
        if pace:
            _draw_pace(panels[-1], train, pace)
        panels[-1].set_xlabel("step")
        panels[-1].xaxis.get_major_locator().set_params(integer=True)
        last = max(line["step"] for line in (*train, *valid))
        panels[-1].set_xlim(0, 1.02 * last or 1)
        if all(line["step"] == last for line in (*train, *valid)):
            panels[-1].set_xticks([0, last])
        panels[-1].xaxis.set_major_formatter("{x:,.0f}")
        figure.align_ylabels(panels.tolist())
    return figure


def series(lines: Sequence[Mapping[str, Any]], name: str) -> JournalSeries:
    """The course of one key over the lines that have it as a number."""
    points = [(line["step"], float(line[name])) for line in lines if _is_number(line.get(name))]
    points_N2 = np.array(points, dtype=float).reshape(-1, 2)
    finite = np.isfinite(points_N2[:, 1])
    return JournalSeries(points_N2[finite, 0], points_N2[finite, 1], points_N2[~finite, 0])


def _training_loss(train: Sequence[Mapping[str, Any]]) -> JournalSeries:
    """The plain loss. Where a line of an older journal has it as `nll`, its `loss` is a smoothed one."""
    return series([{**line, "loss": line.get("nll", line.get("loss"))} for line in train], "loss")


def smoothed(values: Array) -> Array:
    """The mean over a centred window of a fiftieth of the points, cut off at both ends, so that nothing lags."""
    place = np.arange(len(values))
    reach = len(values) // 100
    first, after = np.maximum(place - reach, 0), np.minimum(place + reach + 1, len(values))
    total = np.concatenate([[0.0], np.cumsum(values)])
    mean: Array = (total[after] - total[first]) / (after - first)
    return mean


def _lines(journal: Sequence[Mapping[str, Any]], event: str) -> list[Mapping[str, Any]]:
    chosen = [line for line in journal if line.get("event") == event and _is_number(line.get("step"))]
    return sorted(chosen, key=lambda line: float(line["step"]))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _score_groups(valid: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The scores that share a panel: those of about one size, and those that stay within 0 and 1."""
    names = list(dict.fromkeys(name for line in valid for name in line if name not in BOOKKEEPING))
    drawn = {name: found.values for name in names if (found := series(valid, name)).steps.size}
    fractions = [name for name, values in drawn.items() if np.abs(values).max() <= 1]
    groups: list[list[str]] = []
    for name in (name for name in drawn if name not in fractions):
        size = np.abs(drawn[name]).max()
        alike = (group for group in groups if size / ALIKE <= np.abs(drawn[group[0]]).max() <= size * ALIKE)
        group = next(alike, None)
        if group is None:
            groups.append([name])
        else:
            group.append(name)
    return [*groups, fractions] if fractions else groups


def _draw_losses(axes: "Axes", train: JournalSeries, valid: JournalSeries) -> None:
    if len(train.steps):
        _draw_course(axes, train, TRAIN, label="training")
    if len(valid.steps):
        best = int(valid.values.argmin())
        label = f"validation (best {valid.values[best]:.3g} at {valid.steps[best]:,.0f})"
        axes.plot(valid.steps, valid.values, color=VALID, marker="o", **POINTS, label=label)
    broken = np.union1d(train.broken, valid.broken)
    if len(broken):
        label = f"not finite (first at {broken[0]:,.0f})"
        # Along the upper edge, whatever the losses are.
        edge: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "clip_on": False}
        axes.plot(broken, np.full(len(broken), 1.02), "x", color="#b00020", markersize=4, label=label, **edge)
    axes.set_ylabel("loss")
    if axes.lines:
        _write_legend(axes)
    if not len(train.steps) and not len(valid.steps):
        axes.set_yticks([])


def _draw_scores(axes: "Axes", valid: Sequence[Mapping[str, Any]], names: list[str]) -> None:
    """Each score with hollow marks of its own form and size, so that none hides another where they meet."""
    for number, name in enumerate(names):
        found = series(valid, name)
        style = ("-", "--", ":")[number // len(FORMS) % 3]
        colour, mark, size = FORMS[number % len(FORMS)]
        marks: dict[str, Any] = {"markersize": size, "markerfacecolor": "none", "clip_on": False}
        marks["marker"] = mark if len(found.steps) <= 30 else ""
        label = f"{_spoken(name)} (last {found.values[-1]:.3g})"
        axes.plot(found.steps, found.values, style, color=colour, linewidth=1.2, **marks, label=label)
    axes.set_ylabel("score" if len(names) > 1 else _spoken(names[0]))
    axes.set_ylim(*_within(np.concatenate([series(valid, name).values for name in names]), *axes.get_ylim()))
    _write_legend(axes)


def _within(values: Array, low: float, high: float) -> tuple[float, float]:
    """The ends of an axis: beyond 0, 100 or -100 only where a value is, and no small difference fills it."""
    if np.abs(values).max() > 100:
        return low, high
    low, high = max(low, 0.0 if values.min() >= 0 else -100.0), min(high, 100.0)
    if values.max() < DIGITS and np.ptp(values):
        return low, high
    return min(low, 99.0), min(100.0, max(high, low + 1))


def _write_legend(axes: "Axes") -> None:
    """Above the panel: nothing to cover there."""
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.03), "borderpad": 0}
    longest = max(len(str(line.get_label())) for line in axes.lines if not str(line.get_label()).startswith("_"))
    columns = max(1, min(3, LEGEND // (longest + 6)))  # the mark before a label is as wide as six letters
    axes.legend(**place, ncols=columns, handlelength=1.4, columnspacing=1.2)


def _draw_pace(axes: "Axes", train: Sequence[Mapping[str, Any]], names: list[str]) -> None:
    """Learning rate at the left, gradient norm at the right, each in the colour of its axis."""
    for number, name in enumerate(names):
        side = axes if number == 0 else axes.twinx()
        found = series(train, name)
        if name == "rate":
            colour, label = "#333333", "learning rate"
            side.plot(found.steps, found.values, color=colour, marker=_dot(found), **POINTS)
            side.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))
            side.yaxis.get_offset_text().set_fontsize(7)
        else:
            colour, label = THIRD, "gradient norm"
            _draw_course(side, found, colour, label=label)
        if found.values.max() > 50 * np.median(found.values) > 0:  # one explosion must not flatten the rest
            side.set_yscale("log")
        else:
            side.set_ylim(0, 1.1 * found.values.max() or 1)
        side.set_ylabel(label, color=colour, fontsize=8)
        side.tick_params(axis="y", which="both", colors=colour)
        side.spines["right"].set_visible(number > 0)


def _draw_course(axes: "Axes", found: JournalSeries, colour: str, *, label: str) -> None:
    """Few points as a line, one as a dot, many as a light line with the smoothed course over it."""
    many = len(found.steps) >= 100
    if many:
        axes.plot(found.steps, found.values, color=colour, alpha=0.3, linewidth=0.5)
    axes.plot(found.steps, smoothed(found.values), color=colour, marker=_dot(found), **POINTS, label=label)


def _dot(found: JournalSeries) -> str:
    return "o" if len(found.steps) == 1 else ""


def _spoken(name: str) -> str:
    return {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}.get(name, name.replace("_", " ").replace("f1", "F1"))
