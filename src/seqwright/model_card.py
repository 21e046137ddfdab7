"""What training leaves in its folder for people: `card.md`, which says what the model is, and the curve of its loss."""

from pathlib import Path
from typing import Any

from seqwright.commands import article, command, shown
from seqwright.data.imported import ImportedSettings
from seqwright.escapes import markdown_cell, markdown_code, markdown_paragraph, markdown_text
from seqwright.kinds import TASKS
from seqwright.runs import Run, parameters
from seqwright.training.counting import Stored
from seqwright.training.journal import Journal
from seqwright.whole_file import write_whole

WITHOUT_TEXT = {"forecast"}
EXACT = 10**9  # what is below is written out


def write_card(run: Run) -> None:
    """Write `card.md` into the folder of a run."""
    write_whole(run.folder / "card.md", card_text(run))


def card_text(run: Run) -> str:
    """What the model is, how good it was in training, and how to use it."""
    parts = [
        f"# {markdown_text(run.recipe.name)}",
        markdown_paragraph(run.recipe.description),
        _nature(run),
        _scores(run),
    ]
    if isinstance(run.model, Stored):
        parts.append(f"What it keeps grows with the order:\n\n{storage_markdown(run.model)}")
    verb = verb_of(run)
    use = command(verb, shown(run.folder)) + ("" if verb in WITHOUT_TEXT else ' "…"')
    use += ' --context "…"' if verb == "answer" else ""
    parts.append(f"Use it: {markdown_code(use)}")
    return "\n\n".join(filter(None, parts)) + "\n"


def verb_of(run: Run) -> str:
    """The verb that uses what a run has learnt."""
    model = run.recipe.model
    bare = "head" in type(model).model_fields and not model.head
    return "embed" if bare else TASKS[run.recipe.task].verbs[0]


def _nature(run: Run) -> str:
    kind, settings = run.recipe.model.kind, "Every setting stands in `resolved.toml`."
    if isinstance(run.model, Stored):
        return f"A model of kind {kind}, which has counts in place of parameters. {settings}"
    return f"{article(kind).capitalize()} {kind} with {_learnt(run):,} parameters, {_made(run)}. {settings}"


def _learnt(run: Run) -> int:
    """How many numbers were learnt; what is fitted without gradients keeps them in buffers."""
    return parameters(run.model) or sum(buffer.numel() for buffer in run.model.buffers())


def _made(run: Run) -> str:
    """How the weights came about."""
    if isinstance(run.recipe.data, ImportedSettings):
        return "imported"
    if not run.recipe.descends:
        return "fitted by Seqwright without gradients"
    return f"trained for {run.step:,} step{'' if run.step == 1 else 's'} by Seqwright"


def _scores(run: Run) -> str:
    """The validation of the checkpoint in use, if there was one."""
    if isinstance(run.recipe.data, ImportedSettings):  # a journal in its folder would be that of another run
        return ""
    valid = [line for line in Journal(run.folder / "journal.jsonl").lines() if line.get("event") == "valid"]
    best = next((line for line in valid if line["step"] == run.step), valid[-1] if valid else {})
    scores = {name: value for name, value in best.items() if name not in {"step", "event", "epoch"}}
    scores = {name: value for name, value in scores.items() if isinstance(value, int | float)}
    rows = "".join(f"\n| {markdown_cell(name)} | {value:.4g} |" for name, value in scores.items())
    return f"| on the validation part, last step | |\n|---|---|{rows}" if rows else ""


def draw_curve(folder: Path) -> None:
    """The loss curve of a run, as pictures in its folder."""
    from seqwright.pictures import save
    from seqwright.pictures.curves import loss_curve

    lines = Journal(folder / "journal.jsonl").lines()
    if lines:
        (folder / "pictures").mkdir(exist_ok=True)
        save(loss_curve(lines), folder / "pictures" / "curve")


# ------------------------------------------------------------------------------------------------ what is counted


def storage_markdown(model: Stored) -> str:
    """How what an n-gram model keeps grows with the order, as a table in a file."""
    columns, *rows = storage_rows(model)
    lines = [columns, tuple("---:" for _ in columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def storage_rows(model: Stored) -> list[tuple[str, ...]]:
    """The names of the columns, and for each order how many n-grams are kept, what they take and how many could be.

    How many were left out by pruning stands there where any were.
    """
    found = model.storage()
    pruned = any(order.pruned for order in found)
    ngrams, size, less = (sum(getattr(order, name) for order in found) for name in ("ngrams", "bytes", "pruned"))
    return [
        ("order", "n-grams", *(["pruned"] if pruned else []), "MiB", "possible", "kept of these"),
        *(_row(order, pruned=pruned) for order in found),
        ("all", f"{ngrams:,}", *([f"{less:,}"] if pruned else []), f"{size / 2**20:.2f}", "", ""),
    ]


def _row(order: Any, *, pruned: bool) -> tuple[str, ...]:
    return (
        f"{order.order}",
        f"{order.ngrams:,}",
        *([f"{order.pruned:,}"] if pruned else []),
        f"{order.bytes / 2**20:.2f}",
        f"{order.possible:,}" if order.possible < EXACT else f"{order.possible:.1e}",
        f"{100 * order.ngrams / order.possible:.3g} %",
    )
