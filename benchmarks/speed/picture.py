"""The pictures of the bench: every ratio of ours to a peer, and where the time of each family goes.

python -m benchmarks.speed.picture            from results/bench into docs/images
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.record import REPOSITORY
from benchmarks.speed.harness import OURS
from seqwright.pictures import blank, pen, save
from seqwright.pictures.complexity import COLOURS
from seqwright.whole_file import write_whole

FASTER, SLOWER, GREY = "#0072b2", "#d55e00", "#cccccc"
SHARES = (*COLOURS, "#f0e442", "#332288", "#999999", "#dddddd")  # as many as the profile has headings
SHORTEST = 0.03  # a share that is drawn smaller has no number


class Bar(NamedTuple):
    """Ours ÷ a peer."""

    question: str
    measure: str
    peer: str
    ratio: float
    mark: float | None


def bars(folder: Path) -> list[Bar]:
    """Every ratio that was measured, in the order of the questions; ours in another form is no peer."""
    from benchmarks.__main__ import QUESTIONS

    found = []
    for name in QUESTIONS:
        path = folder / f"{name}.json"
        if not path.exists():
            continue
        for measure, each in json.loads(path.read_text(encoding="utf-8"))["measures"].items():
            for peer, ratio in each["ratios"].items():
                mark = each["marks"].get(peer, {}).get("ratio")
                if not peer.startswith(OURS):
                    found.append(Bar(name, measure, peer, ratio, mark))
    return found


def draw_ratios(folder: Path, target: Path) -> None:
    """A bar for each ratio, from 1 to the right where ours is faster, with the mark that was aimed at."""
    several = bars(folder)
    labels = [f"{bar.question}: {bar.measure} — {bar.peer}" for bar in several]
    with pen(labels):
        figure = blank(8.2, 1.1 + 0.24 * len(several), layout="constrained")
        axes = figure.subplots()
        for place, bar in enumerate(several):
            colour = FASTER if bar.ratio >= 1 else SLOWER
            axes.barh(place, bar.ratio - 1, left=1, color=colour, height=0.7)
            if bar.mark is not None:
                axes.plot([bar.mark, bar.mark], [place - 0.42, place + 0.42], color="black", linewidth=1.2)
            side = 1 if bar.ratio >= 1 else -1
            end = max(bar.ratio, bar.mark or 0) if side > 0 else min(bar.ratio, bar.mark or bar.ratio)
            axes.annotate(
                f"{bar.ratio:.2f}",
                (end, place),
                textcoords="offset points",
                xytext=(4 * side, 0),
                ha="left" if side > 0 else "right",
                va="center",
                fontsize=8,
            )
        axes.axvline(1, color="black", linewidth=0.6)
        axes.set_xscale("log", base=2)
        ends = [1.0, *(bar.ratio for bar in several)]
        low, high = min(ends) / 1.6, max(ends) * 1.6
        ticks = [tick for tick in (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0) if low <= tick <= high]
        axes.set_xlim(low, high)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_yticks(range(len(several)), labels)
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("speed of ours ÷ theirs, one thread; a black line is what was aimed at")
        save(figure, target, ("png",))


def draw_profile(folder: Path, target: Path) -> None:
    """A bar for each family, cut into the shares of its time."""
    found: Mapping[str, Any] = json.loads((folder / "profile.json").read_text(encoding="utf-8"))["conclusions"]
    families = list(found)
    headings = [h for h in next(iter(found.values())) if any(found[family][h] >= SHORTEST for family in families)]
    with pen([*families, *headings]):
        figure = blank(8.2, 1.3 + 0.32 * len(families), layout="constrained")
        axes = figure.subplots()
        left = [0.0] * len(families)
        for number, heading in enumerate(headings):
            values = [found[family][heading] for family in families]
            colour = SHARES[number % len(SHARES)]
            axes.barh(range(len(families)), values, left=left, color=colour, height=0.72, label=heading)
            for place, value in enumerate(values):
                if value >= SHORTEST:
                    axes.text(left[place] + value / 2, place, f"{value:.0%}", ha="center", va="center", fontsize=7)
            left = [before + value for before, value in zip(left, values, strict=True)]
        axes.set_yticks(range(len(families)), families)
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0, 1)
        axes.set_xticks([])
        axes.spines[["bottom", "left"]].set_visible(False)
        figure.legend(loc="outside lower center", ncols=5)
        save(figure, target, ("png",))


def table_of(folder: Path) -> str:
    """Every rate beside its peers as a page of Markdown, with what was left out and why."""
    from benchmarks.__main__ import QUESTIONS

    parts = ["# The bench\n\nWritten by `python -m benchmarks.speed.picture` from the files of this folder.\n"]
    for name in QUESTIONS:
        path = folder / f"{name}.json"
        if path.exists():
            parts.append(section(json.loads(path.read_text(encoding="utf-8"))))
    return "\n".join(parts)


def section(found: Mapping[str, Any]) -> str:
    """One question."""
    machine, limits = found["machine"], found["limits"]
    lines = [f"## {found['name']}", "", found["question"], ""]
    if found["measures"]:
        lines += ["| measure | who | rate | ours ÷ this | aimed at | of the limit |", "|---|---|---|---|---|---|"]
    for measure, each in found["measures"].items():
        for who, rate in each["rates"].items():
            ratio, mark = each["ratios"].get(who), each["marks"].get(who)
            share = f"{rate['share_of_limit']:.0%}" if "share_of_limit" in rate else ""
            cells = (f"{rate['median']:,.5g}", f"{ratio:.2f}" if ratio else "", f"{mark['ratio']:g}" if mark else "")
            lines.append(f"| {measure} | {who} | {' | '.join(cells)} | {share} |")
    lines.append("")
    for what, each in found["conclusions"].items():
        if "exponent" in each:
            verdict = "" if each["no_faster_than_theory"] else ", **faster than theory**"
            sizes = f"{each['sizes'][0]:,} to {each['sizes'][-1]:,}"
            lines.append(f"- {what}, {sizes}: exponent {each['exponent']:.2f}, theory {each['theory']:.2f}{verdict}")
    lines += [f"- {who} is left out: {why}" for who, why in found["absent"].items()]
    lines += [f"- {what}: {value}" for what, value in found["agreement"].items()]
    speed, memory = (f"{limits[kind]['median']:.0f} {limits[kind]['unit']}" for kind in ("matrix", "memory"))
    units = sorted({each["unit"] for each in found["measures"].values()})
    units_told = f"{', '.join(units)}; " if units else ""
    code = (found["commit"] or "unknown")[:7]
    lines += ["", f"{units_told}{machine['cpu']}, threads: {found['threads']}, {speed}, {memory};"]
    lines += [f"rounds: {found['rounds']}, load: {found['load']:.0f}, {found['date']}, commit {code}:"]
    lines += [f"`{found['command']}`", ""]
    return "\n".join(lines)


def main() -> None:
    results, images = REPOSITORY / "results" / "bench", REPOSITORY / "docs" / "images"
    draw_ratios(results, images / "bench")
    print("drawn: docs/images/bench.png")
    write_whole(results / "table.md", table_of(results))
    if (results / "profile.json").exists():
        draw_profile(results, images / "profile")
        print("drawn: docs/images/profile.png")


if __name__ == "__main__":
    main()
