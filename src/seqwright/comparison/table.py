"""The table of a comparison as words: what the terminal, Markdown and the page show, and what they say below it."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from seqwright.decoding.settings import DecodingSettings
from seqwright.escapes import markdown_cell, markdown_paragraph, markdown_text
from seqwright.metrics.significance import FEWEST, LEVEL

TITLES = {"bleu": "BLEU", "chrf": "chrF", "word_perplexity": "perplexity per word", "bits_per_byte": "bits per byte"}
TITLES |= {"perplexity": "perplexity per token", "macro_f1": "macro F1", "mse": "MSE", "mae": "MAE", "mase": "MASE"}
NOTHING = "–"
HUGE = 1e5  # from where on a score is told in powers of ten
FRACTIONS = {"loss", "bits_per_byte", "bits_per_character", "mse", "mae", "mase"}  # small numbers


class TableCell(NamedTuple):
    """What stands in a place of the table, and whether its row is the best or not significantly worse."""

    text: str
    best: bool = False


class ComparisonTable(NamedTuple):
    """Titles, rows of cells, the number of columns before those that say what a row cost, and the sentences below."""

    titles: list[str]
    rows: list[list[TableCell]]
    score_columns: int
    notes: list[str]


def tabled(found: dict[str, Any]) -> ComparisonTable:
    """The table of what was found."""
    columns: dict[str, list[TableCell]] = {"": [TableCell(row["name"]) for row in found["rows"]]}
    for name in found["shown"]:
        arrow = "↓" if name in found["lower_is_better"] else "↑"
        columns[f"{spoken_score(name)} {arrow}"] = _score_cells(found, name)
        if name in _tested(found):
            columns |= _confidence_columns(found, name)
    score_columns = len(_filled(columns))
    columns["parameters"] = [TableCell(magnitude(row["parameters"])) for row in found["rows"]]
    columns["training FLOPs"] = _cells(found, "training", "flops", scientific)
    columns["training time"] = _cells(found, "cost", "training_seconds", duration)
    unit = found.get("unit", "tokens")  # of a table that was made before there were others, nothing is said
    columns[f"{unit}/s training"] = _cells(found, "cost", "tokens_per_second", thousands)
    columns[f"{unit}/s decoding"] = _cells(found, "cost", "decoding_tokens_per_second", thousands)
    columns["peak memory"] = _cells(found, "cost", "memory_bytes", lambda size: f"{size / 2**30:.2f} GiB")
    columns["energy"] = _cells(found, "cost", "energy_wh", _watt_hours)
    kept = _filled(columns)
    rows = [list(cells) for cells in zip(*kept.values(), strict=True)]
    return ComparisonTable(list(kept), rows, score_columns, notes(found))


def _filled(columns: dict[str, list[TableCell]]) -> dict[str, list[TableCell]]:
    """The columns in which anything stands."""
    return {title: cells for title, cells in columns.items() if any(cell.text != NOTHING for cell in cells)}


def _score_cells(found: dict[str, Any], name: str) -> list[TableCell]:
    scores = [row["scores"][name] for row in found["rows"]]
    return [TableCell(mean_and_deviation(score, name), bool(score.get("best"))) for score in scores]


def _tested(found: dict[str, Any]) -> list[str]:
    """The scores that show how sure they are: the first, which decides, and whatever has bold letters."""
    return [
        name
        for place, name in enumerate(found["shown"])
        if not place or any(row["scores"][name].get("best") for row in found["rows"])
    ]


def _confidence_columns(found: dict[str, Any], name: str) -> dict[str, list[TableCell]]:
    scores = [row["scores"][name] for row in found["rows"]]
    ps = [score.get("p") for score in scores]
    before = "" if name == found["shown"][0] else f"{spoken_score(name)} "  # titles differ
    return {
        f"{before}95 %": [
            TableCell(f"±{score['interval']:.{decimals(score['mean'], name)}f}" if "interval" in score else NOTHING)
            for score in scores
        ],
        f"{before}p": [TableCell(NOTHING if p is None else told_p(p)) for p in ps],
    }


def told_p(p: float) -> str:
    """Three decimals; no test gives exactly 0."""
    return f"{p:.3f}" if p >= 0.0005 else "<0.001"


def _cells(found: dict[str, Any], group: str, name: str, form: Callable[[float], str]) -> list[TableCell]:
    return [TableCell(form(row[group][name]["mean"]) if name in row[group] else NOTHING) for row in found["rows"]]


def mean_and_deviation(value: dict[str, Any], name: str) -> str:
    """A score: `28.31`, or of several seeds `28.31 ± 0.20`."""
    mean, deviation, digits = value["mean"], value["deviation"], decimals(value["mean"], name)
    form = ".4g" if abs(mean) >= HUGE else f".{digits}f"
    return f"{mean:{form}}" + ("" if deviation is None else f" ± {deviation:{form}}")


# ---------------------------------------------------------------------------------------------------- words


def spoken_score(name: str) -> str:
    """A score as the table calls it."""
    return TITLES.get(name, name.replace("_", " "))


def decimals(value: float, name: str) -> int:
    """How many digits of a score say something after the point."""
    if name not in FRACTIONS:
        return 2
    return 3 if abs(value) >= 1 or not value else 3 - math.floor(math.log10(abs(value)))


def magnitude(count: float) -> str:
    """`9.0 M`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.1f} {letter}"
    return f"{count:.0f}"


def scientific(count: float) -> str:
    """`1.23e15`."""
    mantissa, _, exponent = f"{count:.2e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def thousands(count: float) -> str:
    """`12,300`: three digits that say something."""
    digits = max(0, math.floor(math.log10(count)) - 2) if count >= 1 else 0
    return f"{round(count, -digits):,.0f}"


def duration(seconds: float) -> str:
    """`24.9 min`, or seconds where they are few."""
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.1f} s"


def _watt_hours(energy: float) -> str:
    return f"{energy:.1f} Wh" if energy >= 1 else f"{1000 * energy:.0f} mWh"


def notes(found: dict[str, Any]) -> list[str]:
    """How the numbers were made and what they take for granted."""
    sentences = [_evaluating(found), _budget(found)]
    evaluated_only = [row["name"] for row in found["rows"] if not row["trained"] and not row["members"]]
    if evaluated_only:
        names = ", ".join(evaluated_only)
        sentences.append(f"Runs that were there are evaluated as they are, whatever they were given: {names}.")
    names, several = found["shown"], len(found["seeds"]) > 1
    if several:
        seeds = ", ".join(map(str, found["seeds"]))
        sentences.append(
            f"Mean ± standard deviation over the seeds {seeds}; interval and p are those of the first seed."
        )
    sentences += _certainty(found)
    sentences += [f"{spoken_score(name)}: {text}." for name, text in found["signatures"].items()]
    sentences.append(
        "Training FLOPs: two for each multiplication and addition in products of matrices and convolutions, forwards "
        "and backwards, counted in the graph of real batches and scaled by the tokens learnt from."
    )
    if any("energy_wh" in row["cost"] for row in found["rows"]):
        sentences.append(
            "Training time is without validation. Energy: training time × busy cores"
            f"{_busy(found)} × {found['watts_per_core']:g} W, an estimate of what the cores alone draw. "
            "Peak memory is that of the training process, libraries included."
        )
    if any(row["members"] for row in found["rows"]):
        sentences.append("An ensemble costs in training what its members cost together.")
    return sentences + [f"{name} is missing: {sentence}." for name, sentence in found["failures"].items()]


def _certainty(found: dict[str, Any]) -> list[str]:
    """What the intervals, p and bold letters mean."""
    rows = found["rows"]
    sure = {name: [row["scores"][name] for row in rows if "interval" in row["scores"][name]] for name in _tested(found)}
    tests = {name: scores[0]["test"] for name, scores in sure.items() if any(s.get("p") is not None for s in scores)}
    if not any(sure.values()):
        few = (found["examples"] or FEWEST) < FEWEST
        return [f"No intervals and no p: {found['examples']} examples are too few to be drawn again."] if few else []
    sentences = [f"95 %: half of the bootstrap interval over {found['resamples']:,} resamples of the examples."]
    if tests:
        others = len(rows) - 1
        told = f", corrected for {others} rows (Holm 1979)" if others > 1 else ""
        sentences.append(f"p: two-sided, against '{found['baseline']}', by {_by_score(tests)}{told}.")
    if any(row["scores"][name].get("best") for row in rows for name in found["shown"]):
        sentences.append(
            f"Bold: the best row of a score that was tested, and every row not told apart from it (p > {LEVEL:g}); "
            "nothing is bold where no row can be told apart."
        )
    return sentences


def _by_score(tests: dict[str, str]) -> str:
    """The tests by name, and of several the scores each is of."""
    scores: dict[str, list[str]] = {}
    for name, test in tests.items():
        scores.setdefault(test, []).append(spoken_score(name))
    if len(scores) == 1:
        return next(iter(scores))
    return " and by ".join(f"{test} ({', '.join(names)})" for test, names in scores.items())


def _evaluating(found: dict[str, Any]) -> str:
    """On what, and how."""
    where = f"Evaluated on the {found['part']} part" if found["part"] else "Nothing could be evaluated"
    examples = f", {found['examples']:,} examples" if found["examples"] else ""
    decoding = found["decoding"]
    if decoding is None:
        return f"{where}{examples}; {_threads(found)}."
    search = DecodingSettings.model_validate(decoding).in_words()
    return f"{where}{examples}, {search}; {_threads(found)}."


def _threads(found: dict[str, Any]) -> str:
    count = found["threads"]
    return f"{count} thread{'' if count == 1 else 's'}"


def _busy(found: dict[str, Any]) -> str:
    """How many cores were busy, from row to row."""
    known = [row["cost"]["cores"]["mean"] for row in found["rows"] if "cores" in row["cost"]]
    if not known:
        return ""
    least, most = f"{min(known):.2g}", f"{max(known):.2g}"
    return f" ({least if least == most else f'{least} to {most}'})"


def _budget(found: dict[str, Any]) -> str:
    match found["budget"]:
        case {"minutes": minutes}:
            return f"Each row was given {minutes:g} minutes of training, turned into steps by the pace measured before."
        case {"tokens": tokens}:
            return f"Each row was given {tokens:,} tokens to learn from."
        case _:
            return "Each row was trained as its recipe says."


def markdown(found: dict[str, Any], table: ComparisonTable) -> str:
    """The table as Markdown."""
    described = [markdown_paragraph(found["description"]), ""] if found["description"] else []
    lines = [f"# {markdown_text(found['name'])}", "", *described]
    lines += ["| " + " | ".join(map(markdown_cell, table.titles)) + " |"]
    lines += ["|" + "|".join([" :-- ", *[" --: "] * (len(table.titles) - 1)]) + "|"]
    for row in table.rows:
        cells = (f"**{markdown_cell(cell.text)}**" if cell.best else markdown_cell(cell.text) for cell in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *(f"- {markdown_text(note)}" for note in table.notes), ""])
