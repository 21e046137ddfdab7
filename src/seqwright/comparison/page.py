"""One HTML file with the table, the courses of the trainings and the alignments: it needs no other file."""

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqwright.comparison.plan import ComparisonRow, Plan, rewrites
from seqwright.comparison.records import Records
from seqwright.comparison.results import read_answers
from seqwright.comparison.table import ComparisonTable, TableCell, spoken_score
from seqwright.errors import UserError
from seqwright.inputs.spelling import given_words, written_words
from seqwright.outputs.alignments import Aligner, alignment_taps, between_words
from seqwright.pictures import DPI, UNDATED
from seqwright.pictures.alignments import alignment
from seqwright.pictures.comparison import JournalPanel, training_courses
from seqwright.pictures.still_page import escaped, still_page
from seqwright.runs import open_run
from seqwright.training.journal import Journal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_COLUMNS = 8  # of scores beside the names that fit a window
STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 84rem; padding: 1.5rem; }
h1 { font-size: 1.5rem; margin: 0 0 .4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
.scroll { overflow-x: auto; margin-bottom: 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .35rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #8884; }
thead th { font-weight: 600; white-space: normal; vertical-align: bottom; border-bottom: 2px solid #8888; }
th:first-child { position: sticky; left: 0; background: Canvas; padding-left: 0; text-align: left; }
tbody th { font-weight: 400; min-width: 8rem; max-width: 16rem; white-space: normal; overflow-wrap: anywhere; }
tbody tr:hover { background: #8881; } td.best { font-weight: 700; }
.notes { font-size: .85rem; opacity: .8; padding-left: 1.2rem; max-width: 60rem; }
.pictures { display: flex; flex-wrap: wrap; gap: 1.2rem; align-items: flex-start; }
figure { margin: 0; } figcaption { font-size: .9rem; margin-bottom: .3rem; max-width: 30rem; }
img { background: #fff; border: 1px solid #8884; border-radius: 6px; padding: .5rem; max-width: 100%; height: auto;
  box-sizing: border-box; }
"""


def written_page(plan: Plan, found: dict[str, Any], table: ComparisonTable) -> str:
    """The whole page."""
    description = f"<p>{escaped(found['description'])}</p>" if found["description"] else ""
    notes = "".join(f"<li>{escaped(note)}</li>" for note in table.notes)
    scores, costs = range(1, table.score_columns), range(table.score_columns, len(table.titles))
    others = [number for number in scores if table.titles[number].endswith((" 95 %", " p"))]  # of all but the first
    if len(scores) <= MOST_COLUMNS:
        others = []
    first = [number for number in scores if number not in others]
    tables = [_html(table, "Scores", first), _html(table, "How sure the other scores are", others)]
    tables.append(_html(table, "What they cost", costs))
    parts = [description, *tables, f'<ul class="notes">{notes}</ul>', _courses(plan, found)]
    parts.append(_alignments(plan, found) if rewrites(plan.rows[0].recipe) else "")
    return still_page(found["name"], "\n".join(part for part in parts if part), STYLE)


def _html(table: ComparisonTable, heading: str, columns: Sequence[int]) -> str:
    """Some columns of the table beside the names: all in one row would be wider than a page."""
    if not columns:
        return ""
    titles = "".join(f'<th scope="col">{escaped(table.titles[number])}</th>' for number in (0, *columns))
    body = "\n".join(_line(row[0].text, [row[number] for number in columns]) for row in table.rows)
    drawn = f"<table><thead><tr>{titles}</tr></thead>\n<tbody>{body}</tbody></table>"
    return f'<h2>{heading}</h2>\n<div class="scroll">{drawn}</div>'


def _line(name: str, cells: Sequence[TableCell]) -> str:
    told = (f'<td class="best">{escaped(c.text)}</td>' if c.best else f"<td>{escaped(c.text)}</td>" for c in cells)
    return f'<tr><th scope="row" dir="auto">{escaped(name)}</th>{"".join(told)}</tr>'


def _rows(plan: Plan, found: dict[str, Any]) -> list[ComparisonRow]:
    """The rows of single models that are in the table and in a run folder."""
    there = {row["name"] for row in found["rows"]}
    return [row for row in plan.rows if row.name in there and not row.members and row.trials[0].folders]


# ---------------------------------------------------------------------------------------------------- courses


def _courses(plan: Plan, found: dict[str, Any]) -> str:
    """The journals of the first seed of each row."""
    courses = {row.name: course_of(row.trials[0].folders[0]) for row in _rows(plan, found)}
    courses = {name: course for name, course in courses.items() if course}
    panels = [JournalPanel("train", "loss", "training loss")]
    panels += [JournalPanel("valid", name, f"validation {spoken_score(name)}") for name in found["shown"][:1]]
    try:
        figure = training_courses(courses, panels)
    except UserError:  # of runs that only counted, or were learnt elsewhere
        return ""
    return f"<h2>Training</h2>\n{_image(figure, 'How training and validation went over time')}"


def course_of(folder: Path) -> list[dict[str, Any]]:
    """The journal of a run, each line with its second of training, by its pace; without that, nothing."""
    lines, pace = Journal(folder / "journal.jsonl").lines(), Journal(folder / "pace.jsonl").lines()
    steps, seconds = [0, *(saved["step"] for saved in pace)], [0.0, *(saved["seconds"] for saved in pace)]
    at = np.interp([line["step"] for line in lines], steps, seconds).tolist()
    return [{**line, "at": second} for line, second in zip(lines, at, strict=True)] if pace else []


# ---------------------------------------------------------------------------------------------------- alignments


def _alignments(plan: Plan, found: dict[str, Any]) -> str:
    """Where each row that attends looks while it translates the same sentence."""
    rows = _rows(plan, found)
    if not rows:
        return ""
    text = plan.settings.example or _middling(plan, rows[0])
    drawn = []
    for row in rows:
        figure, translation = aligned(row.trials[0].folders[0], text, plan.decoding)
        if figure is not None:
            caption = f"<figcaption><b>{escaped(row.name)}</b><br>{escaped(translation)}</figcaption>"
            drawn.append(f"<figure>{caption}{_image(figure, f'Alignment of {row.name}')}</figure>")
    if not drawn:
        return ""
    return f'<h2>Alignments</h2>\n<p dir="auto">{escaped(text)}</p>\n<div class="pictures">{"".join(drawn)}</div>'


def _middling(plan: Plan, row: ComparisonRow) -> str:
    """A sentence of the part that is neither short nor long."""
    sources = [answer["source"] for answer in read_answers(Records(plan.folder / "records"), row.trials[0].name)]
    return str(sorted(sources, key=len)[len(sources) // 2])


def aligned(folder: Path, text: str, decoding: Any) -> "tuple[Figure | None, str]":
    """The alignment of a run, the mean over layers and heads, and its translation; no picture where it has none."""
    run = open_run(folder)
    read, written = run.inputs.input.tokenizer, run.inputs.output.tokenizer
    translation = run.inputs.predict(run.model, text, decoding).best
    if not alignment_taps(run.model) or not translation.tokens:
        return None, translation.text
    source, target = given_words(read, text), written_words(written, translation.tokens)
    encoded = read.encode([text]), [np.asarray(translation.tokens)]
    (weights_TS,) = Aligner(run.model, read, written)(*encoded)
    end = written.pieces([written.end])[0]
    labels = [[*(word for word, _ in words), end] for words in (source, target)]
    return alignment(between_words(weights_TS, target, source), *labels), translation.text


def _image(figure: "Figure", described: str) -> str:
    """A figure inside of the page."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DPI, metadata=UNDATED["png"], facecolor="white")
    width = round(96 * figure.get_figwidth())
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f'<img width="{width}" alt="{escaped(described)}" src="data:image/png;base64,{data}">'
