"""`look` at attention: what is looked at while a sentence is translated, or a text is read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from seqwright.analysis.attention import AXES, INFLUENCE, alignment_of, attention_in, mean_of
from seqwright.analysis.reading import translates
from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.looking.examples import example_of
from seqwright.cli.terminal import draw_with_page, json_text, say, shown
from seqwright.errors import RunError, SettingError
from seqwright.metrics.alignments import quality
from seqwright.outputs.alignments import alignment_taps
from seqwright.pictures import legible, save
from seqwright.pictures.alignments import AlignmentPanel, side_by_side
from seqwright.pictures.alignments_page import alignments_page
from seqwright.pictures.attention import AttentionMap, HeadChoice, Looked, chosen_maps, figures
from seqwright.pictures.page import attention_page
from seqwright.pictures.terminal import heat_map
from seqwright.runs import Run
from seqwright.whole_file import write_whole


def draw_attention(
    run: Run, texts: Sequence[str], beam: int | None, choice: HeadChoice, where: Path, *, as_json: bool
) -> None:
    """Translate a sentence or read a text, draw its attention, print where it looks on the whole."""
    looked = attention_in(run, example_of(run, texts), decoding_settings(run, {"beam": beam}), say)
    drawn = figures(looked, choice)
    where.mkdir(parents=True, exist_ok=True)
    for name, figure in drawn.items():
        save(figure, where / name)
    write_whole(where / "attention.html", attention_page(looked, choice))
    found = alignment_of(looked)
    if as_json:
        if found is None:
            raise SettingError(
                f"{run.folder} translates nothing: --json gives the numbers of an alignment; leave it out"
            )
        print(json_text(_numbers(run, looked, found)))
    else:
        _print_first(looked, choice)
        print("\n" + "\n".join(text for text in (looked.source, looked.target) if text))
        if found is not None:
            print(quality(mean_of(found)))
    say(f"pictures: {shown(where)}/  (open attention.html in a browser)")


def draw_alignments(runs: Sequence[Run], texts: Sequence[str], beam: int | None, where: Path, *, as_json: bool) -> None:
    """Translate a sentence with each run, draw their alignments side by side, print how sharp and whole they are."""
    panels: list[AlignmentPanel] = []
    for run in runs:
        if not translates(run):
            raise RunError(f"{run.folder} learnt {run.recipe.task}; alignments side by side are drawn for translation")
        looked = attention_in(run, example_of(run, texts), decoding_settings(run, {"beam": beam}), say)
        found = alignment_of(looked)
        assert found is not None, "every translation has an alignment"
        weights_TS = mean_of(found)
        of_gradients = "" if alignment_taps(run.model) else f" ({INFLUENCE.name}: it has no attention)"
        caption = f"{shown(run.folder)}{of_gradients}", f"→ {legible(looked.target, 80)}", str(quality(weights_TS))
        panels.append(AlignmentPanel(weights_TS, found.columns, found.rows, caption))
        print(json_text(_numbers(run, looked, found)) if as_json else "\n".join((*caption, "")))
    title, source = "alignments, mean over layers and heads", texts[0].strip()
    labels = {"row_axis": AXES["target"], "column_axis": AXES["source"]}
    figure = side_by_side(panels, title=f"{title}\n{legible(source, 200)}", **labels)
    draw_with_page(figure, alignments_page(panels, title=title, source=source), where / "alignments")
    say(f"pictures: {shown(where)}/  (open alignments.html in a browser)")


def _numbers(run: Run, looked: Looked, found: AttentionMap) -> dict[str, Any]:
    """What --json says of an alignment."""
    numbers = {name: round(value, 4) for name, value in quality(mean_of(found))._asdict().items()}
    return dict(run=str(run.folder), source=looked.source, translation=looked.target, **numbers)


def _print_first(looked: Looked, choice: HeadChoice) -> None:
    """The first map, the mean over layers and heads or what is chosen of it, for the terminal."""
    name, first = next(iter(chosen_maps(looked.maps, choice).items()))
    console = Console()
    layers, heads = (slice(None) if number is None else slice(number - 1, number) for number in choice)
    weights_TS = first.weights[layers, heads].mean(axis=(0, 1))
    said = f", {choice}" if choice.layer is not None else ""
    print(f"{name}{said}\nrows: {first.row_axis}\ncolumns: {first.column_axis}\n")
    console.print(heat_map(weights_TS, first.columns, first.rows, width=console.width, colour=console.is_terminal))
