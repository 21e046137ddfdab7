"""`card.md`: what a model is, for whoever finds its folder."""

from seqwright.cli.storage import storage_markdown
from seqwright.cli.terminal import article, command, shown
from seqwright.data.imported import ImportedSettings
from seqwright.kinds import TASKS
from seqwright.runs import Run, parameters
from seqwright.training.counting import Stored
from seqwright.training.journal import Journal

WITHOUT_TEXT = {"forecast"}


def write_card(run: Run) -> None:
    """What the model is, how good it was in training, and how to use it."""
    parts = [f"# {run.recipe.name}", run.recipe.description, _nature(run), _scores(run)]
    if isinstance(run.model, Stored):
        parts.append(f"What it keeps grows with the order:\n\n{storage_markdown(run.model)}")
    verb = verb_of(run)
    use = command(verb, shown(run.folder)) + ("" if verb in WITHOUT_TEXT else ' "…"')
    use += ' --context "…"' if verb == "answer" else ""
    parts.append(f"Use it: `{use}`")
    (run.folder / "card.md").write_text("\n\n".join(filter(None, parts)) + "\n", encoding="utf-8")


def verb_of(run: Run) -> str:
    """The verb that uses what a run has learnt."""
    model = run.recipe.model
    bare = "head" in type(model).model_fields and not model.head
    return "embed" if bare else TASKS[run.recipe.task].verbs[0]


def _nature(run: Run) -> str:
    kind, settings = run.recipe.model.kind, "Every setting stands in `resolved.toml`."
    if isinstance(run.model, Stored):
        return f"A model of kind {kind}, which has counts in place of parameters. {settings}"
    imported = isinstance(run.recipe.data, ImportedSettings)
    made = "imported" if imported else f"trained for {run.step:,} steps by Seqwright"
    return f"{article(kind).capitalize()} {kind} with {parameters(run.model):,} parameters, {made}. {settings}"


def _scores(run: Run) -> str:
    """The validation of the checkpoint in use, if there was one."""
    valid = [line for line in Journal(run.folder / "journal.jsonl").lines() if line["event"] == "valid"]
    best = next((line for line in valid if line["step"] == run.step), valid[-1] if valid else {})
    scores = {name: value for name, value in best.items() if name not in {"step", "event", "epoch"}}
    rows = "".join(f"\n| {name} | {value:.4g} |" for name, value in scores.items())
    return f"| on the validation part, last step | |\n|---|---|{rows}" if rows else ""
